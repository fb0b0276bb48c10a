"""The inbox and the home page in a browser: what a session taught is kept, forgotten or sorted, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.memoryd.console.browser.browsing import Store, finish_jobs, read_session

pytestmark = pytest.mark.slow
ASKED = "Could you look at the parser of the invoices first, please?"
SAID = (
    ASKED,
    "Always run make check before a commit.",
    "Never edit docs/setup.md by hand.",
    "From now on write dates as ISO 8601.",
    "The staging database is on port 5544, not on 5432.",
)


@pytest.fixture
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a store that has read one session."""
    store = Store(tmp_path_factory.mktemp("read"), 0)
    (store.projects / "harbour-api").mkdir(parents=True)
    read_session(store, SAID)
    finish_jobs(store)
    yield store
    store.stop()


def by_text(store: Store) -> dict[str, dict[str, Any]]:
    memories = store.call("list_memories", project="all", session="s-read", status="all", limit=100)["memories"]
    return {memory["content"]: memory for memory in memories}


def test_what_a_session_taught_is_sorted_by_the_many_and_forgotten_at_home(opened: Any, checked: Any, read: Any) -> None:
    rules = [text for text in by_text(read) if "make check" in text or "setup.md" in text]
    assert len(rules) == 2
    page = opened("read")
    project = next(iter(by_text(read).values()))["project"]
    page.goto(f"{page.base}/review?project={project}")
    assert page.get_by_role("heading", name=ASKED).is_visible(), "a session's title is its first prompt"
    for text in rules:
        page.get_by_role("checkbox", name=text).check()
    page.get_by_role("button", name="Keep", exact=True).click()
    page.get_by_text("2 memories kept.").wait_for()
    port = next(text for text in by_text(read) if "5544" in text)
    page.get_by_role("checkbox", name=port).check()
    page.get_by_label("Kind").select_option("environment")
    page.get_by_role("button", name="Change kind").click()
    page.get_by_text("1 memory changed.").wait_for()
    page.get_by_role("checkbox", name="Select all").check()
    checked(page, "inbox")
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_text("forgotten.").wait_for()
    assert page.get_by_text("Nothing new.").is_visible()
    known = by_text(read)
    assert [known[text]["status"] for text in (*rules, port)] == ["active", "active", "blacklisted"]
    assert known[port]["kind"] == "environment"

    page.goto(f"{page.base}/?project={project}")
    given = page.locator("section", has=page.get_by_role("heading", name="What the next session receives"))
    assert given.get_by_role("link", name=rules[0]).is_visible() and not given.locator("pre").is_visible()
    given.locator("li", has_text=rules[0]).get_by_role("button").click()
    page.get_by_text("is forgotten").wait_for()
    assert not given.get_by_role("link", name=rules[0]).is_visible()
    assert by_text(read)[rules[0]]["status"] == "blacklisted"
