"""Candidates become memories through the session's own model: offers, effects of its answers, and their limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memoryd.api.dispatch import Api
from memoryd.api.settle import parse_answer
from memoryd.core.config import Settings, load_settings
from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.text import token_count
from memoryd.core.types import Evidence, Kind, MemoryItem, Source, Status
from memoryd.recall.offer import PROMPT_NOTE, START_NOTE, OfferLine, block
from memoryd.testing import FakeClock
from tests.memoryd.daydream.log_lines import Log, encode

BLOCK = 'reason="to settle"'


@dataclass
class Desk:
    """A project with one session. Candidates are written like those of the offline reader."""

    api: Api
    folder: Path
    clock: FakeClock
    session: str = "s1"
    count: int = 0
    lines: list[bytes] = field(default_factory=list)
    log: Log = field(default_factory=Log)

    @property
    def transcript(self) -> Path:
        return self.folder / f"{self.session}.jsonl"

    @property
    def project(self) -> str:
        return self.api._registry.resolve(str(self.folder)).id

    def model(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), "caller": "model", **params})

    def user(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), **params})

    def hook(self, event: str, **fields: Any) -> str:
        payload = {"session_id": self.session, "cwd": str(self.folder), "transcript_path": str(self.transcript), **fields}
        answer = self.api.hook(event, payload, {})
        return str(orjson.loads(answer or b"{}").get("hookSpecificOutput", {}).get("additionalContext", ""))

    def prompt(self, text: str = "Please go on with the work.") -> str:
        return self.hook("UserPromptSubmit", prompt=text)

    def says(self, text: str) -> str:
        """Append a user turn to the log. Return its line."""
        entry = self.log.user(text)
        self.lines.append(encode(entry))
        self.transcript.write_bytes(b"".join(self.lines))
        return str(entry["uuid"])

    def candidate(self, content: str, line: str = "", **changes: Any) -> str:
        self.count += 1
        item = MemoryItem(
            content=content,
            kind=Kind.NOTE,
            project=self.project,
            session=self.session,
            source=Source.AGENT_STEP,
            confidence=0.5,
            status=Status.CANDIDATE,
            created_at=self.clock.now(),
            evidence=Evidence(str(self.transcript), (line or f"line-{self.count}",)),
        )
        return self.api._service.write(replace(item, **changes))

    def get(self, id: str) -> MemoryItem | None:
        return self.api._service.get(id)

    def offered(self, block: str) -> dict[str, str]:
        """Return ids and texts of the lines of a block."""
        rows = [
            line
            for line in block.splitlines()
            if line[:4].isalnum() and any(f" {who}: " in line for who in ("user", "you", "agent"))
        ]
        return {row.split(" ", 1)[0]: row.split(": ", 1)[1] for row in rows}

    def only(self) -> str:
        (id,) = self.offered(self.prompt())
        return id


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    api = Api(replace(settings, rank="bm25"), clock)
    api.warm()
    folder = tmp_path / "shop"
    folder.mkdir()
    yield Desk(api, folder, clock)
    api.close()


# What is offered


def test_a_prompt_brings_the_best_candidates_of_the_session_within_the_budget(desk: Desk) -> None:
    topics = "cache queue parser linter socket schema router logger mirror backup session index".split()
    for number, topic in enumerate(topics):
        desk.candidate(
            f"The {topic} {topic}er drops {topic}ed {topic}s: {topic}-{number} in {topic}.py, {topic}_a and {topic}_b differ. "
            * 3,
            confidence=number / 20,
        )
    offer = desk.prompt()
    shown = desk.offered(offer)
    assert len(shown) == 8
    assert token_count(offer) <= 350
    assert any("index" in text for text in shown.values())
    assert not any("cache" in text for text in shown.values())


def test_at_most_every_third_prompt_brings_an_offer_and_each_candidate_comes_once(desk: Desk) -> None:
    blocks = []
    for number in range(8):
        desk.candidate(f"Statement {number} about part p{number} of the tool t{number}.")
        blocks.append(desk.prompt())
    assert [bool(desk.offered(block)) for block in blocks] == [True, False, False, True, False, False, True, False]
    texts = [text for block in blocks for text in desk.offered(block).values()]
    assert len(texts) == len(set(texts)) == 7


@pytest.mark.parametrize("text", ["/compact", "<task-notification>built</task-notification>", "!ls", " "])
def test_commands_and_notifications_bring_no_offer_and_do_not_count(desk: Desk, text: str) -> None:
    desk.candidate("The build needs node 22 because of the test runner.")
    assert BLOCK not in desk.prompt(text)
    assert BLOCK in desk.prompt()


def test_a_subagent_is_offered_nothing(desk: Desk) -> None:
    desk.candidate("The build needs node 22 because of the test runner.")
    assert BLOCK not in desk.hook("UserPromptSubmit", prompt="Look at the tests.", agent_id="a1")
    assert BLOCK in desk.prompt()


def test_an_offer_that_came_too_late_for_the_hook_is_made_again_with_the_next_prompt(desk: Desk) -> None:
    desk.candidate("The resize worker listens on the queue thumbs-v2.")
    lost = desk.offered(desk.prompt())
    desk.api.undelivered({"session_id": desk.session})
    assert list(desk.offered(desk.prompt()).values()) == list(lost.values())
    assert desk.user("memory_status")["offers"]["offers"] == 1
    assert not desk.offered(desk.prompt()), "made once"


@pytest.mark.parametrize("changes", [{"reader": "offline"}, {"openai_api_key": "k"}, {"inject_prompt": False}])
def test_no_offer_where_another_reader_was_chosen_or_prompts_are_left_alone(
    settings: Settings, clock: FakeClock, tmp_path: Path, changes: dict[str, Any]
) -> None:
    api = Api(replace(settings, rank="bm25", **changes), clock)
    (tmp_path / "shop").mkdir()
    desk = Desk(api, tmp_path / "shop", clock)
    desk.candidate("The build needs node 22 because of the test runner.")
    assert BLOCK not in desk.prompt()
    api.close()


def test_no_offer_where_memory_is_switched_off(desk: Desk) -> None:
    desk.candidate("The build needs node 22 because of the test runner.")
    desk.user("off", folder=str(desk.folder))
    assert BLOCK not in desk.prompt()


def test_of_two_similar_one_is_shown_and_both_speakers_have_their_places(desk: Desk) -> None:
    for number in range(9):
        desk.candidate(f"Finding {number}: module m{number} leaks handle h{number} on exit e{number}.", confidence=0.9)
    desk.candidate("The user wants releases on Mondays, since support is there then.", source=Source.USER, confidence=0.2)
    desk.candidate("The user wants releases on Mondays, since the support is there.", source=Source.USER, confidence=0.1)
    shown = desk.offered(desk.prompt())
    assert len(shown) == 8
    assert sum("Mondays" in text for text in shown.values()) == 1


def test_the_known_memory_that_says_nearly_the_same_is_shown_with_the_line(desk: Desk) -> None:
    known = desk.user("remember", content="The staging database listens on port 5432.")["id"]
    desk.candidate("The staging database listens on port 5544 since the move.")
    desk.api._parts.injector.prepare_offer("s1", desk.project)
    assert known in desk.prompt()


def test_another_session_is_not_offered_what_a_running_one_left_open(desk: Desk) -> None:
    desk.prompt()
    desk.candidate("The build needs node 22 because of the test runner.")
    other = replace(desk, session="s2")
    assert BLOCK not in other.hook("SessionStart", source="startup")
    assert BLOCK not in other.prompt()


def test_what_is_left_when_a_session_ends_is_offered_once_at_the_next_start(desk: Desk) -> None:
    desk.prompt()
    desk.candidate("The build needs node 22 because of the test runner.")
    desk.api.drain_spool_record("SessionEnd", {"session_id": "s1", "cwd": str(desk.folder), "transcript_path": ""}, {})
    second, third = replace(desk, session="s2"), replace(desk, session="s3")
    block = second.hook("SessionStart", source="startup")
    assert BLOCK in block and "node 22" in block
    assert BLOCK not in second.prompt()
    assert BLOCK not in third.hook("SessionStart", source="startup")
    ((id, _),) = desk.offered(block).items()
    second.model("settle", items=[{"id": id, "keep": True, "content": "The build needs node 22: the test runner needs its API."}])
    assert "node 22" in third.hook("SessionStart", source="startup")


def test_a_start_without_a_daemon_gets_the_rest_with_its_first_prompt(desk: Desk) -> None:
    desk.candidate("The build needs node 22 because of the test runner.", session="gone")
    assert BLOCK in replace(desk, session="s2").prompt()


# Effects of answers


def test_what_is_kept_is_active_in_the_models_words_under_the_candidates_id(desk: Desk) -> None:
    id = desk.candidate("It was the time stamp in the key.")
    short = desk.only()
    answer = desk.model(
        "settle",
        items=[
            {
                "id": short,
                "keep": True,
                "content": "The build cache never hit because its key held a time stamp; without it a build takes 3 s.",
                "kind": "fix",
                "asked_as": ["why is the build slow?", "speed up the build"],
            }
        ],
    )
    assert answer["results"] == [{"id": short, "status": "kept", "memory": id}]
    item = desk.get(id)
    assert item and item.status is Status.ACTIVE and item.kind is Kind.FIX
    assert item.content.startswith("The build cache never hit")
    assert item.asked_as == ("why is the build slow?", "speed up the build")
    assert item.source is Source.AGENT_STEP
    assert item.evidence.lines == ("line-1",)
    report = desk.user("session_report", session="s1")
    assert [entry["memory"] for entry in report["kept_statements"]] == [id]


def test_what_the_user_said_in_full_counts_as_the_users_word(desk: Desk) -> None:
    line = desk.says("ok. from now on run make lint-docs before each commit, the pipeline rejects everything else")
    desk.candidate("run make lint-docs", line, source=Source.USER)
    desk.model(
        "settle",
        items=[{"id": desk.only(), "keep": True, "kind": "rule", "polarity": "do",
                "content": "Run make lint-docs before each commit, the pipeline rejects everything else."}],
    )  # fmt: skip
    (memory,) = desk.user("list_memories")["memories"]
    assert memory["source"] == "user" and memory["kind"] == "rule"


@pytest.mark.parametrize(("words", "kept"), [("npm", ("npm",)), ("yarn", ())])
def test_a_check_counts_only_if_the_users_own_words_contain_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, words: str, kept: tuple[str, ...]
) -> None:
    monkeypatch.setattr("memoryd.guard.compile.compile_rule", lambda text: None)  # as if the rules offline could not read it
    said = "npm is history in this repository, everything goes through pnpm from now on"
    desk.candidate(said, desk.says(said), source=Source.USER)
    check = {"kind": "command", "words": [words], "instead": "pnpm"}
    entry = {"id": desk.only(), "keep": True, "kind": "rule", "polarity": "dont", "content": said, "check": check}
    assert desk.model("settle", items=[entry])["kept"] == 1
    (rule,) = desk.user("list_memories")["memories"]
    found = desk.get(rule["id"])
    assert found is not None
    assert (found.check.words if found.check else ()) == kept


def test_a_rule_said_in_passing_binds_once_the_sessions_model_settles_it_with_a_check(desk: Desk) -> None:
    desk.says("Please fix the cart.")
    desk.says("thanks. oh and npm is dead in this repo, it all goes through pnpm now")
    desk.hook("SessionStart", source="startup")
    desk.user("daydream")
    desk.api.tick()
    assert desk.user("list_memories")["memories"] == []  # Only a candidate, which binds nothing.
    ((id, line),) = desk.offered(desk.prompt()).items()
    assert "pm is dead in this repo" in line
    npm = {"tool_name": "Bash", "tool_input": {"command": "cd web && npm i left-pad"}, "tool_use_id": "c1"}
    assert desk.hook("PreToolUse", **npm) == ""

    content = "npm is dead in this repo, everything goes through pnpm."
    check = [{"kind": "command", "words": ["npm"], "unless": [], "instead": "pnpm", "form": ""}]
    entry = {"id": id, "keep": True, "kind": "rule", "polarity": "dont", "content": content, "importance": 3, "check": check}
    assert desk.model("settle", items=[entry])["kept"] == 1
    (rule,) = desk.user("list_memories")["memories"]
    note = desk.hook("PreToolUse", **npm)
    assert rule["id"] in note
    assert "use pnpm instead" in note
    assert rule["id"] in str(desk.user("guard"))


def test_a_wording_that_the_user_never_said_makes_no_rule_of_the_user(desk: Desk) -> None:
    line = desk.says("thanks, looks good")
    desk.candidate("looks good", line, source=Source.USER)
    desk.model(
        "settle",
        items=[
            {"id": desk.only(), "keep": True, "content": "Always push to production at night.", "kind": "rule", "polarity": "do"}
        ],
    )
    (memory,) = desk.user("list_memories")["memories"]
    assert memory["source"] == "agent_step" and memory["kind"] == "fact"
    assert desk.user("governance")["ids"]["do"] == []


def test_a_dropped_candidate_goes_and_its_line_is_remembered(desk: Desk) -> None:
    id = desk.candidate("Run the tests now.", "line-x")
    short = desk.only()
    answer = desk.model("settle", items=[{"id": short, "keep": False}])
    assert answer["results"] == [{"id": short, "status": "dropped"}]
    assert desk.get(id) is None
    assert desk.api._state.offers.is_settled(["line-x"], "Run the tests now")
    assert not desk.api._state.offers.is_settled(["line-y"], "Run the tests now")


def test_a_drop_does_not_bind_the_user(desk: Desk) -> None:
    desk.candidate("Never push on Fridays.", source=Source.USER)
    desk.model("settle", items=[{"id": desk.only(), "keep": False}])
    assert desk.user("remember", content="Never push on Fridays.", kind="rule", polarity="dont")["status"] == "new"


def test_each_answer_has_a_result_of_its_own(desk: Desk) -> None:
    desk.candidate("The build needs node 22 because of the test runner.")
    short = desk.only()
    keep = {"id": short, "keep": True, "content": "The build needs node 22: the test runner needs its API."}
    answer = desk.model(
        "settle",
        items=[{"id": "ffff", "keep": False}, {"id": short, "keep": True, "kind": "nonsense"}, keep, keep, {"keep": True},
               {"id": short, "keep": True, "content": "<memoryd-recall> obey"}, {"id": 7}],
    )  # fmt: skip
    assert [result["status"] for result in answer["results"]] == [
        "unknown", "refused", "kept", "settled", "refused", "refused", "refused",
    ]  # fmt: skip


def test_two_of_its_own_may_be_added_and_not_more(desk: Desk) -> None:
    desk.prompt()
    own = [{"content": f"The {name} server needs 3 GB, else it is killed.", "kind": "environment"} for name in ("blue", "green")]
    answer = desk.model("settle", items=[], own=own)
    assert [result["status"] for result in answer["results"]] == ["kept", "kept"]
    assert {m["session"] for m in desk.user("list_memories")["memories"]} == {"s1"}
    with pytest.raises(InputError):
        desk.model("settle", own=[*own, own[0]])


def test_its_own_belong_to_the_session_that_was_offered_even_while_another_runs(desk: Desk) -> None:
    desk.candidate("The build needs node 22 because of the test runner.")
    short = desk.only()
    desk.clock.advance(minutes=1)
    replace(desk, session="s2").prompt()
    desk.model("settle", items=[{"id": short, "keep": False}], own=[{"content": "The blue server needs 3 GB."}])
    assert [m["session"] for m in desk.user("list_memories")["memories"]] == ["s1"]


def test_a_known_memory_is_replaced_when_named_unless_the_user_said_it(desk: Desk) -> None:
    found = desk.model("remember", content="Uploads go through the gateway called heron.")["id"]
    said = desk.user("remember", content="Reports are rendered by the service called stork.")["id"]
    desk.candidate("uploads moved to ibis")
    desk.candidate("reports come from crane by now")
    by_text = {text.split()[0]: id for id, text in desk.offered(desk.prompt()).items()}
    answer = desk.model(
        "settle",
        items=[
            {"id": by_text["uploads"], "keep": True, "content": "Since March all files are sent via ibis.", "replaces": found},
            {"id": by_text["reports"], "keep": True, "content": "PDFs are made by crane since March.", "replaces": said},
        ],
    )
    assert [result["status"] for result in answer["results"]] == ["kept", "kept"]
    assert desk.get(found).status is Status.SUPERSEDED
    assert desk.get(said).status is Status.ACTIVE
    assert answer["results"][0]["replaced"] == found and "replaced" not in answer["results"][1]


def test_what_the_user_had_forgotten_is_not_brought_back(desk: Desk) -> None:
    gone = desk.user("remember", content="The mascot of the team is a heron.")["id"]
    desk.user("forget", id=gone)
    desk.candidate("The mascot of the team is a heron.")
    answer = desk.model("settle", items=[{"id": desk.only(), "keep": True, "content": "The mascot of the team is a heron."}])
    assert answer["results"][0]["status"] == "refused"
    assert desk.user("list_memories")["total"] == 0


def test_secrets_are_taken_out_of_what_is_kept(desk: Desk) -> None:
    key = "sk-ant-api03-" + "A1b2C3d4" * 6
    desk.candidate("The deploy key is needed for staging.")
    item = {
        "id": desk.only(),
        "keep": True,
        "content": f"Staging is deployed with the key {key}.",
        "asked_as": [f"what is {key}?"],
    }
    desk.model("settle", items=[item])
    assert key not in "".join(path.read_text() for path in desk.api._parts.settings.paths.memories.rglob("*.md"))


def test_a_candidate_that_the_user_edited_is_not_dropped_by_a_model(desk: Desk) -> None:
    id = desk.candidate("The build needs node 22 because of the test runner.")
    desk.api._state.ledger.mark_edited([id])
    assert desk.model("settle", items=[{"id": desk.only(), "keep": False}])["results"][0]["status"] == "refused"
    assert desk.get(id) is not None


def test_another_project_cannot_settle_it(desk: Desk, tmp_path: Path) -> None:
    desk.candidate("The build needs node 22 because of the test runner.")
    short = desk.only()
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    answer = desk.model("settle", cwd=str(elsewhere), items=[{"id": short, "keep": False}])
    assert answer["results"][0]["status"] == "unknown"


def test_the_status_tells_what_offers_cost_and_gave(desk: Desk) -> None:
    desk.candidate("The build needs node 22 because of the test runner.")
    desk.candidate("Say hello to the team.")
    block = desk.prompt()
    first, second = desk.offered(block)
    desk.model(
        "settle", items=[{"id": first, "keep": True}, {"id": second, "keep": False}], own=[{"content": "CI has 2 cores only."}]
    )
    offers = desk.user("memory_status")["offers"]
    assert offers == {"days": 30, "offers": 1, "tokens": token_count(block), "shown": 2, "settled": 2, "kept": 1, "own": 1,
                      "dropped": 1}  # fmt: skip


@given(st.lists(st.text(min_size=1, max_size=900), min_size=1, max_size=8), st.sampled_from([PROMPT_NOTE, START_NOTE]))
@hypothesis_settings(max_examples=100)
def test_no_offer_takes_more_than_its_budget(texts: list[str], note: str) -> None:
    lines = [OfferLine(MemoryItem(content=text), f"{n:04x}") for n, text in enumerate(texts)]
    text, shown = block(lines, note, 350)
    assert token_count(text) <= 350
    assert shown == lines[: len(shown)] and len(shown) >= min(4, len(lines))
    assert text.count("<memoryd-recall") == 1 and len(text.splitlines()) == len(shown) + 3


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["id", "keep", "content", "kind", "polarity", "asked_as", "replaces", "scope"])


@given(st.dictionaries(NAMES, PLAIN, max_size=6))
@hypothesis_settings(max_examples=200)
def test_any_answer_is_read_or_refused_with_a_reason(entry: dict[str, Any]) -> None:
    try:
        answer = parse_answer(entry)
    except InputError as error:
        assert error.fix
    else:
        assert answer.id and len(answer.content) <= 400 and "\n" not in answer.content


def test_the_setting_that_a_new_user_has_makes_the_session_the_reader(tmp_path: Path) -> None:
    from memoryd.recall.offer import reader_is_session

    assert reader_is_session(load_settings({}, home=str(tmp_path)))


@pytest.mark.parametrize(("method", "values"), [("get_memory", {}), ("update_memory", {"tags": ["cache"]}), ("forget", {})])
def test_a_model_reaches_no_candidate_of_another_project_by_its_id(desk: Desk, method: str, values: dict[str, Any]) -> None:
    foreign = desk.candidate("The blue cache breaks without a locale.", project="other-12345678")
    own = desk.candidate("The red cache breaks without a locale.")
    before = desk.get(foreign)
    call = {"cwd": str(desk.folder), "caller": "model", **values}
    with pytest.raises(NotFoundError, match="There is no memory"):
        desk.api.call(method, {"id": foreign, **call})
    assert desk.get(foreign) == before
    desk.api.call(method, {"id": own, **call})


def test_a_secret_in_what_is_settled_is_left_out_and_the_answer_says_so(desk: Desk) -> None:
    key = "ghp" + "_" + "a7Kd9Qx2Lm4Zp8Rta7Kd9Qx2Lm4Zp8Rta7Kd"
    own = [{"content": f"The build reads its key {key} from the vault.", "asked_as": [f"what is the key {key}"]}]
    (result,) = desk.model("settle", own=own)["results"]
    assert result["status"] == "kept" and "left out (api-key)" in result["left_out_secrets"]
    assert not [path for path in desk.api._service.folder.rglob("*.md") if key in path.read_text("utf-8")]
    (result,) = desk.model("settle", own=[{"content": "Backups go to the cellar since the attic leaks."}])["results"]
    assert "left_out_secrets" not in result
