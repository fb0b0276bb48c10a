"""Home and Memories with a real API: display, forms, and concurrent changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.errors import StoreError
from memoryd.core.types import Kind, LinkType, MemoryItem, Polarity, Status
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock
from tests.memoryd.console.console_client import Console


@pytest.fixture
def store(real_console: Console) -> Orchestrator:
    return real_console.api._service  # type: ignore[no-any-return]


@pytest.fixture
def remember(store: Orchestrator, clock: FakeClock) -> Callable[..., Any]:
    def write(content: str, **fields: Any) -> str:
        clock.advance(minutes=1)
        return store.write(MemoryItem(content, **{"project": "shop", "created_at": clock.now(), **fields}))

    return write


def hidden(html: str, name: str) -> str:
    return re.search(rf'name="{name}" value="([^"]*)"', html)[1]


def form_of(console: Console, id: str, **changes: str) -> dict[str, Any]:
    page = console.get(f"/memories/{id}/edit").text
    values = {"digest": hidden(page, "digest"), "content": "", "kind": "note", "polarity": "know", "scope": "project", "tags": ""}
    return {**values, **changes}


# Home


def test_home_of_an_empty_store_says_how_memories_come(real_console: Console) -> None:
    answer = real_console.get("/")
    assert answer.status_code == 200
    assert "memoryd remember" in answer.text


def test_home_counts_by_kind_and_status(real_console: Console, remember: Callable[..., Any]) -> None:
    remember("The shop runs on port 8080.", kind=Kind.FACT)
    remember("Old.", kind=Kind.FACT, status=Status.SUPERSEDED)
    for proposed in ("The shop may move.", "The lift may be slow."):
        remember(proposed, kind=Kind.FACT, status=Status.CANDIDATE)
    text = real_console.get("/").text
    numbers = r"".join(rf'<td class="number">{number}</td>\s*' for number in (1, 2, 1, 0))
    assert re.search(rf'kind=fact">fact</a></th>\s*{numbers}', text), "active, candidates, superseded, forgotten"


def test_home_shows_the_governance_of_the_chosen_project_exactly_as_it_is_injected(
    real_console: Console, remember: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    project = real_console.api.call("project_names", {"cwd": str(tmp_path / "shop")})["current"]
    remember("Always run `make check` first & last.", kind=Kind.RULE, project=project)
    given = real_console.api.call("governance", {"project": project})
    text = real_console.get("/", project=project).text
    shown = re.search(r"<pre class=\"injected\"[^>]*>(.*?)</pre>", text, re.DOTALL)[1]
    for entity, plain in (("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&#34;", '"'), ("&amp;", "&")):
        shown = shown.replace(entity, plain)
    assert shown == given["text"].lstrip("\n")
    assert f"{given['tokens']} tokens" in text


def test_one_part_of_home_that_fails_leaves_the_rest(console: Console) -> None:
    console.answers |= {
        name: StoreError("The disk is full.", fix="Free some space.")
        for name in ("overview", "memory_status", "sessions", "review")
    }
    answer = console.get("/")
    assert answer.status_code == 200
    assert answer.text.count("Free some space.") == 3


def test_home_tells_each_failure_with_its_fix() -> None:
    from memoryd.console.pages.home import findings

    status = {
        "projects_off": ["shop"],
        "tokens_today": 9, "daily_token_budget": 9, "reader": "endpoint", "reader_line": "endpoint: m-1", "reader_problem": "",
        "daydreams": {"waiting": 1, "failing": [{"session": "s1", "attempts": 3, "error": "no key"}]},
        "sessions": [{"last": "2026-01-01T10:00:00Z"}],
        "dreams": {"proposals": 1, "undecided": 1, "last_run": "", "last_error": "broke"},
        "index": {"embedder": "hash", "waiting_for_vectors": 3, "embedder_error": "gone", "rebuilt": ["graph"],
                  "broken_files": ["a.md:3: x"]},
        "daemon": {"errors": [{"at": "2026-01-01T10:00:00Z", "where": "spool", "what": "odd"}]},
    }  # fmt: skip
    found = list(findings(status, "shop"))
    assert [finding.tone for finding in found] == ["warn", "warn", "ok", "bad", "warn", "bad", "bad", "warn", "bad", "warn"]
    assert all(finding.fix for finding in found if finding.name in ("Memory", "Extractor", "Search by meaning", "Daemon"))


# The project


def test_the_chosen_project_is_remembered_by_the_session(
    real_console: Console, remember: Callable[..., Any], tmp_path: Path
) -> None:
    ids = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        ids.append(real_console.api.call("project_names", {"cwd": str(tmp_path / name)})["current"])
        remember(f"A fact of project {name}.", project=ids[-1])
    assert "project two" not in real_console.get("/memories", project=ids[0]).text
    assert "project two" not in real_console.get("/memories").text
    assert "project two" in real_console.get("/memories", project="all").text


def test_a_project_that_does_not_exist_is_refused(real_console: Console) -> None:
    assert real_console.get("/", project="nope").status_code == 404


# Lists and searches


def test_the_list_is_paged_by_cursor(real_console: Console, store: Orchestrator, clock: FakeClock) -> None:
    moments = [clock.now() + timedelta(minutes=number) for number in range(60)]
    store.write_many([MemoryItem(f"Fact number {n} of the shop.", created_at=at) for n, at in enumerate(moments)])
    first = real_console.get("/memories").text
    assert "60 memories" in first
    assert "Fact number 59 " in first and "Fact number 9 " not in first
    address = re.search(r'rel="next" href="([^"]+)"', first)[1].replace("&amp;", "&")
    second = real_console.client.get(address).text
    assert "Fact number 9 " in second and "Fact number 59 " not in second
    assert 'rel="next"' not in second


def test_filters_narrow_the_list(real_console: Console, remember: Callable[..., Any]) -> None:
    remember("A rule of the shop.", kind=Kind.RULE, tags=("build",), session="s1")
    remember("A fact of the shop.", kind=Kind.FACT, session="s2")
    remember("A forgotten one.", status=Status.BLACKLISTED)
    for query, shown in (
        ({"kind": "rule"}, "A rule"),
        ({"tag": "#build"}, "A rule"),
        ({"session": "s2"}, "A fact"),
        ({"status": "blacklisted"}, "A forgotten"),
    ):
        text = real_console.get("/memories", **query).text
        assert [name for name in ("A rule", "A fact", "A forgotten") if f">{name}" in text] == [shown], query


def test_as_of_shows_what_memory_held_at_the_end_of_that_day(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any], clock: FakeClock
) -> None:
    old = remember("The shop runs on port 80.")
    day = clock.now().date().isoformat()
    clock.advance(days=2)
    store.supersede(old, MemoryItem("The shop runs on port 8080.", project="shop", created_at=clock.now()))
    then, now = real_console.get("/memories", as_of=day).text, real_console.get("/memories").text
    assert ("port 80." in then, "port 8080." in then) == (True, False)
    assert ("port 80." in now, "port 8080." in now) == (False, True)


def test_a_search_explains_itself(real_console: Console, remember: Callable[..., Any]) -> None:
    remember("Invoices are exported by the nightly job in scripts/export.py.")
    text = real_console.get("/memories", q="who exports the invoices").text
    assert "found by <strong>" in text
    assert "Why: score" in text
    assert "<meter" in text


# One memory


def test_a_memory_shows_links_history_and_uses(real_console: Console, store: Orchestrator, remember: Callable[..., Any]) -> None:
    other = remember("The export is slow.")
    id = remember("The export runs **nightly**.", tags=("export",))
    from memoryd.core.types import Link

    store.update(id, links=(Link(LinkType.RELATES_TO, other),))
    store.settle()
    text = real_console.get(f"/memories/{id}").text
    assert "<strong>nightly</strong>" in text
    assert f"/memories/{other}" in text
    assert "Not used by any session yet." in text
    assert "No line of a log is recorded" in text


def test_signs_that_turn_or_hide_text_are_shown_as_such_and_stay_in_the_form(
    real_console: Console, remember: Callable[..., Any]
) -> None:
    id = remember("The gate \u202eopens at\U000e0041 six.", tags=("gate",))
    for path in ("/memories", "/memories?q=gate", f"/memories/{id}", f"/graph?id={id}"):
        text = real_console.client.get(path).text
        assert "\u202e" not in text and "\U000e0041" not in text, path
        assert "The gate \ufffdopens at\ufffd six." in text, path
    assert "The gate \u202eopens at\U000e0041 six." in real_console.get(f"/memories/{id}/edit").text


def test_a_memory_that_never_was_is_a_plain_page(real_console: Console) -> None:
    answer = real_console.get("/memories/mem_0123456789ab")
    assert answer.status_code == 404
    assert "What to do" in answer.text


def test_an_edit_writes_the_file_and_keeps_the_older_wording(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id = remember("Deploy with make ship.", tags=("deploy",))
    answer = real_console.post(f"/memories/{id}/edit", **form_of(real_console, id, content="Deploy with\r\nmake deploy."))
    new = answer.headers["location"].rsplit("/", 1)[1]
    assert new != id
    assert "Deploy with\nmake deploy." in store.path_of(new).read_text()
    assert store.require(id).status is Status.SUPERSEDED
    assert store.require(new).tags == ()
    assert f'replaces <a href="/memories/{id}">' in real_console.get(f"/memories/{new}").text


def test_the_keys_of_a_memory_are_shown_and_edited_and_survive_a_conflict(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id = remember("Deploy with make ship.", asked_as=("how do I release?",))
    assert "how do I release?" in real_console.get(f"/memories/{id}").text
    assert "how do I release?</textarea>" in real_console.get(f"/memories/{id}/edit").text
    keys = "put it live\r\n\r\nwie bringe ich es raus?"
    form = form_of(real_console, id, content="Deploy with make ship.", asked_as=keys)
    real_console.post(f"/memories/{id}/edit", **form)
    assert store.require(id).asked_as == ("put it live", "wie bringe ich es raus?")
    conflict = real_console.post(f"/memories/{id}/edit", **{**form, "content": "Deploy with just ship."}).text
    assert 'name="asked_as" value="put it live\nwie bringe ich es raus?"' in conflict


def test_an_edit_over_a_hand_edit_shows_both_and_overwrites_nothing(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id = remember("Deploy with make ship.")
    form = form_of(real_console, id, content="Deploy with just ship.")
    path = store.path_of(id)
    path.write_text(path.read_text().replace("make ship", "make by hand"))
    answer = real_console.post(f"/memories/{id}/edit", **form)
    assert answer.status_code == 409
    assert "make by hand" in answer.text and "just ship" in answer.text
    assert "make by hand" in path.read_text()
    again = real_console.post(f"/memories/{id}/edit", **{**form, "digest": hidden(answer.text, "digest")})
    assert again.status_code == 303
    assert store.require(again.headers["location"].rsplit("/", 1)[1]).content == "Deploy with just ship."


def test_an_edit_of_a_file_that_was_deleted_meanwhile_keeps_the_text_in_the_form(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id = remember("Deploy with make ship.")
    form = form_of(real_console, id, content="Deploy with just ship.")
    store.path_of(id).unlink()
    answer = real_console.post(f"/memories/{id}/edit", **form)
    assert answer.status_code == 409
    assert "just ship" in answer.text
    assert "no memory" in answer.text


def test_an_edit_over_a_newer_statement_shows_that_and_takes_its_place(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id = remember("The crane lifts forty tons.")
    form = form_of(real_console, id, content="The crane lifts sixty tons.")
    other = real_console.post(f"/memories/{id}/edit", **{**form, "content": "The crane lifts fifty tons."})
    newer = other.headers["location"].rsplit("/", 1)[1]
    answer = real_console.post(f"/memories/{id}/edit", **form)
    assert answer.status_code == 409
    assert "fifty tons" in answer.text and "sixty tons" in answer.text and "forty tons" not in answer.text
    assert f'action="/memories/{newer}/edit"' in answer.text
    again = real_console.post(f"/memories/{newer}/edit", **{**form, "digest": hidden(answer.text, "digest")})
    last = store.require(again.headers["location"].rsplit("/", 1)[1])
    assert (last.content, last.status, last.supersedes) == ("The crane lifts sixty tons.", Status.ACTIVE, newer)


def test_an_edit_that_is_sent_twice_is_saved_once(real_console: Console, remember: Callable[..., Any]) -> None:
    id = remember("The crane lifts forty tons.", tags=("crane",))
    form = form_of(real_console, id, content="The crane lifts sixty tons.", tags="crane")
    first, second = (real_console.post(f"/memories/{id}/edit", **form) for _ in range(2))
    assert second.status_code == 303 and second.headers["location"] == first.headers["location"]


def test_an_edit_of_what_was_forgotten_meanwhile_does_not_bring_it_back(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id = remember("The gate opens at six.")
    form = form_of(real_console, id, content="The gate opens at seven.")
    real_console.post(f"/memories/{id}/forget")
    answer = real_console.post(f"/memories/{id}/edit", **form)
    assert answer.status_code == 409
    assert "forgotten in the meantime" in answer.text and "opens at seven" in answer.text
    assert "Use this one" not in answer.text
    assert [(item.id, item.status) for item in store.all()] == [(id, Status.BLACKLISTED)]


def test_only_an_active_memory_has_a_form(real_console: Console, remember: Callable[..., Any]) -> None:
    id = remember("The gate opens at six.")
    real_console.post(f"/memories/{id}/forget")
    answer = real_console.client.get(f"/memories/{id}/edit", follow_redirects=True)
    assert answer.url.path == f"/memories/{id}"
    assert "is not active" in answer.text


def test_a_refused_edit_comes_back_as_it_was_typed(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id = remember("The gate opens at six.")
    answer = real_console.post(
        f"/memories/{id}/edit", **form_of(real_console, id, content="The gate opens at seven.", tags="x," * 1_500)
    )
    assert answer.status_code == 400
    assert "characters; the maximum is" in answer.text
    assert "The gate opens at seven.</textarea>" in answer.text and hidden(answer.text, "digest")
    assert store.require(id).content == "The gate opens at six."


def test_a_memory_that_is_too_long_for_a_form_keeps_its_text_and_takes_the_rest(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id, other = remember("The lamp is lit. " * 2_000), remember("A lamp is on the pier.")
    page = real_console.get(f"/memories/{id}/edit").text
    assert 'name="content"' not in page and len(page) < 20_000
    form = form_of(real_console, id, tags="lamp")
    del form["content"]
    saved = real_console.post(f"/memories/{id}/edit", **form, whole="1")
    assert saved.headers["location"] == f"/memories/{id}"
    assert store.require(id).tags == ("lamp",)
    page = real_console.get(f"/memories/{id}/merge", other=other).text
    assert "<textarea" not in page and len(page) < 60_000
    merged = real_console.post(f"/memories/{id}/merge", other=other, whole="1").headers["location"].rsplit("/", 1)[1]
    assert store.require(merged).content == store.require(id).content


def test_what_cannot_be_merged_is_reported_before_anything_is_typed(real_console: Console, remember: Callable[..., Any]) -> None:
    first, second = remember("Deploy with make ship."), remember("The gate opens at six.")
    assert real_console.get(f"/memories/{first}/merge", other=first).status_code == 400
    real_console.post(f"/memories/{second}/forget")
    answer = real_console.get(f"/memories/{first}/merge", other=second)
    assert answer.status_code == 400 and "is not active" in answer.text


def test_pin_forget_and_restore_are_one_press_each(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    id = remember("Deploy with make ship.")
    real_console.post(f"/memories/{id}/pin", pinned="1")
    assert store.require(id).pinned
    real_console.post(f"/memories/{id}/pin", pinned="")
    assert not store.require(id).pinned
    real_console.post(f"/memories/{id}/forget")
    assert store.require(id).status is Status.BLACKLISTED
    assert "Restored" in real_console.client.get(real_console.post(f"/memories/{id}/restore").headers["location"]).text
    assert store.require(id).status is Status.ACTIVE


def test_two_memories_are_merged_after_both_were_shown(
    real_console: Console, store: Orchestrator, remember: Callable[..., Any]
) -> None:
    first, second = remember("Deploy with make ship."), remember("To deploy: make ship.")
    page = real_console.get(f"/memories/{first}/merge", other=second).text
    assert "Deploy with make ship." in page and "To deploy: make ship." in page
    answer = real_console.post(f"/memories/{first}/merge", other=second, content="Deploy by make ship.")
    merged = store.require(answer.headers["location"].rsplit("/", 1)[1])
    assert merged.content == "Deploy by make ship."
    assert {store.require(id).status for id in (first, second)} == {Status.SUPERSEDED}


def test_a_fault_of_ours_is_a_page_and_is_reported(console: Console) -> None:
    console.answers["why"] = lambda params: {}[0]  # type: ignore[index]
    answer = console.get("/memories/mem_0123456789ab")
    assert answer.status_code == 500
    assert "This is a bug in memoryd" in answer.text
    assert len(console.faults) == 1


def test_home_lists_what_the_next_session_gets_and_forgets_one_of_them(
    real_console: Console, remember: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    project = real_console.api.call("project_names", {"cwd": str(tmp_path / "shop")})["current"]
    kept = remember("Always sign commits.", kind=Kind.RULE, polarity=Polarity.DO, project=project)
    gone = remember("Never squash merges.", kind=Kind.RULE, polarity=Polarity.DONT, project=project)
    text = real_console.get("/", project=project).text
    assert f'href="/memories/{kept}"' in text and f'value="{gone}"' in text
    real_console.post("/forget", forget=gone)
    assert real_console.api.call("get_memory", {"id": gone})["memory"]["status"] == "blacklisted"
