"""Timeline, dreams and settings in a browser: view, undo and change, at every width and in both themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.memoryd.console.browser.browsing import THEMES, WIDTHS, Store, finish_jobs, read_session, write_twice

pytestmark = pytest.mark.slow
SAID = (
    "Always run make check before a commit.",
    "We decided to keep the mail queue in redis, because the old way broke twice.",
    "Could you look at the tests of the parser first, please?",
    "<script>document.title='owned'</script> is what the page printed.",
    "Never edit docs/setup.md by hand.",
)
RULES = ("Run the linter before each commit.", "Before each commit, run the linter.")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a store with some memories, a read session, two equivalent rules, and one pending proposal."""
    store = Store(tmp_path_factory.mktemp("small"), 60)
    read_session(store, SAID)
    write_twice(store, "ab", "shop", RULES)
    finish_jobs(store)
    assert store.call("dream", dry_run=False)["entry"]
    store.call("change_settings", values={"dream_max_items": "0"})  # From here on, each merge is asked first.
    for names, project in (("cd", "tram"), ("ef", "dots")):
        write_twice(store, names, project, RULES)
    store.call("dream", dry_run=False)
    yield store
    store.stop()


def pages(store: Store) -> list[tuple[str, str]]:
    entry = store.call("journal")["entries"][-1]["id"]
    project = store.call("projects")["projects"][0]["id"]
    return [
        ("sessions", "/sessions"),
        ("session", "/sessions/s-read"),
        ("learnt", "/sessions/changes"),
        ("dreams", "/dreams"),
        ("dream", f"/dreams/{entry}"),
        ("undo", f"/dreams/{entry}/undo"),
        ("guard", "/guard"),
        ("settings", "/settings"),
        ("forget", f"/settings/forget/{project}"),
    ]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_each_page_can_be_used_by_all(opened: Any, checked: Any, small: Any, width: Any, theme: Any) -> None:
    page = opened("small", width, theme)
    for name, path in pages(small):
        answer = page.goto(page.base + path)
        assert answer.ok, path
        assert page.locator("h1").count() == 1, path
        assert page.title() != "owned"
        checked(page, f"trust-{name}-{width}-{theme}")


@pytest.mark.parametrize("script", [True, False])
def test_a_dream_is_undone_and_redone_by_keyboard(opened: Any, checked: Any, small: Any, script: Any) -> None:
    entry = small.call("journal")["entries"][-1]["id"]
    page = opened("small", script=script)
    page.goto(f"{page.base}/dreams/{entry}")
    page.get_by_role("link", name="Undo all of it…").press("Enter")
    page.get_by_role("button", name="Undo").press("Enter")
    page.wait_for_url("**/dreams/undo-*")
    assert small.call("get_memory", id="mem_00000000000a")["memory"]["status"] == "active"
    page.get_by_role("link", name="Undo all of it…").press("Enter")
    page.get_by_role("button", name="Undo").press("Enter")
    page.wait_for_url("**/dreams/undo-*")
    assert small.call("get_memory", id="mem_00000000000a")["memory"]["status"] == "superseded"


PRESSED_TWICE = """() => {
  const button = document.querySelector("button[name=dry]"), stopped = [];
  button.form.addEventListener("submit", (event) => (stopped.push(event.defaultPrevented), event.preventDefault()));
  button.click();
  button.click();
  return [stopped, document.querySelector("[data-busy]").hidden];
}"""


def test_a_button_that_is_pressed_twice_counts_once(opened: Any, small: Any) -> None:
    page = opened("small")
    page.goto(page.base + "/dreams")
    assert page.evaluate(PRESSED_TWICE) == [[False, True], False]


def test_one_proposal_is_accepted_and_the_rest_refused(opened: Any, small: Any) -> None:
    first, second = [proposal["id"] for proposal in small.call("proposals")["proposals"]]
    page = opened("small")
    page.goto(f"{page.base}/dreams")
    page.get_by_role("button", name=f"Accept {first}").click()
    page.wait_for_url("**/dreams/accept-*")
    page.goto(f"{page.base}/dreams")
    page.get_by_role("button", name=f"Refuse {second}").click()
    page.get_by_text("1 proposal refused").wait_for()
    assert small.call("proposals")["proposals"] == []


def test_a_setting_is_changed_a_wrong_one_is_reported_and_kept(opened: Any, checked: Any, small: Any) -> None:
    page = opened("small", 390)
    page.goto(f"{page.base}/settings")
    page.get_by_label("session budget", exact=True).fill("450")
    page.get_by_label("session budget", exact=True).press("Enter")
    page.get_by_role("status").filter(has_text="Saved: session_budget.").wait_for()
    assert "session_budget = 450" in small.settings.paths.config.read_text("utf-8")
    page.get_by_label("floor", exact=True).fill("7")
    page.expected.append("400")
    page.get_by_role("button", name="Save handing over", exact=True).click()
    page.get_by_role("alert").filter(has_text="floor").wait_for()
    assert page.get_by_label("floor", exact=True).input_value() == "7"
    checked(page, "trust-wrong-setting-390-light")
    page.goto(f"{page.base}/settings")
    page.get_by_role("button", name="session budget: reset to the default").click()
    page.get_by_role("status").filter(has_text="session_budget").wait_for()
    assert "session_budget" not in small.settings.paths.config.read_text("utf-8")


def test_everything_is_downloaded(opened: Any, small: Any) -> None:
    page = opened("small")
    page.goto(f"{page.base}/settings")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename.endswith(".tar.gz")
