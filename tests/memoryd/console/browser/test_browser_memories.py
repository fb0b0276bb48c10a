"""Home and Memories in a browser: by keyboard, without scripts, with concurrent edits by hand, with hostile text."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.daemon.client import ensure_daemon
from tests.memoryd.console import realistic
from tests.memoryd.console.browser.browsing import Store, enter, purge

pytestmark = pytest.mark.slow


@pytest.fixture
def own(full: Any) -> Iterator[Any]:
    """Create a memory that only this test uses."""
    folder = full.projects / realistic.PROJECTS[0]
    id = full.call("remember", cwd=str(folder), content="The ferry leaves at nine from pier four.", kind="fact", tags=["ferry"])[
        "id"
    ]
    yield id
    purge(full, id)


def path_of(store: Any, id: str) -> Any:
    return store.call("get_memory", id=id)["path"]


def hand_edit(store: Any, id: str, old: str, new: str) -> None:
    from pathlib import Path

    path = Path(path_of(store, id))
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def test_a_search_by_keyboard_leads_to_the_memory_and_says_why(opened: Any, checked: Any, own: int) -> None:
    page = opened()
    page.keyboard.press("/")
    page.wait_for_url("**/memories")
    page.keyboard.press("/")
    page.keyboard.type("when does the ferry leave")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories?q=*")
    first = page.locator(".memories > li").first
    assert "pier four" in first.inner_text()
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    first.locator("dt").first.wait_for()
    checked(page, "search")
    first.locator("a.memory-text").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/memories/{own}")
    checked(page, "memory")


def test_the_first_stop_of_the_keyboard_skips_to_the_content(opened: Any) -> None:
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.locator("#main:focus").wait_for()


def test_g_and_the_first_letter_of_a_page_go_there(opened: Any) -> None:
    page = opened()
    pages = [(link.inner_text()[0].lower(), link.get_attribute("href")) for link in page.locator(".top nav a").all()]
    assert len({letter for letter, _ in pages}) == len(pages)
    assert pages[0][1] == "/"
    for letter, address in [*pages[1:], pages[0]]:  # Each leads elsewhere: a wait for the displayed page would end at once.
        page.keyboard.press("g")
        page.keyboard.press(letter)
        page.wait_for_url(page.base + address)
    page.goto(page.base + "/memories")
    page.locator("input[type=search]").press_sequentially("gh")
    assert page.url == page.base + "/memories"


def test_an_edit_is_saved_and_the_older_wording_stays(opened: Any, checked: Any, full: Any, own: int) -> None:
    page = opened()
    page.goto(f"{page.base}/memories/{own}")
    page.get_by_role("link", name="Edit").click()
    page.wait_for_url(f"**/memories/{own}/edit")
    checked(page, "edit")
    page.get_by_label("Text (Markdown)").fill("The ferry leaves at **ten** from pier four.")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(re.compile(r"/memories/mem_\w+$"))
    assert "Saved as a newer statement" in page.locator(".flash").inner_text()
    assert page.locator("article strong").inner_text() == "ten"
    new = page.url.rsplit("/", 1)[1]
    assert full.call("get_memory", id=own)["memory"]["status"] == "superseded"
    purge(full, new)


def test_a_conflict_with_a_hand_edit_is_shown_and_the_person_chooses(opened: Any, checked: Any, full: Any, own: int) -> None:
    page = opened()
    page.goto(f"{page.base}/memories/{own}/edit")
    page.get_by_label("Text (Markdown)").fill("The ferry leaves at eleven.")
    hand_edit(full, own, "at nine", "at noon")  # type: ignore[arg-type]
    page.expected.append("409")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="The file was changed").wait_for()
    assert "at noon" in page.locator("section[aria-labelledby=theirs]").inner_text()
    assert page.get_by_label("You can still change it").input_value() == "The ferry leaves at eleven."
    checked(page, "conflict")
    assert "at noon" in full.call("get_memory", id=own)["memory"]["content"]
    page.get_by_role("button", name="Use this one").click()
    page.wait_for_url(re.compile(r"/memories/mem_\w+$"))
    assert "eleven" in page.locator("article").inner_text()
    purge(full, page.url.rsplit("/", 1)[1])


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Any]:
    """Return a store whose daemon may be killed."""
    store = Store(tmp_path, 3)
    yield store
    store.stop()


@pytest.mark.parametrize("end", ["killed", "closed"])
def test_a_text_is_not_lost_when_the_daemon_is_killed_or_the_session_closed_under_it(opened: Any, mortal: Any, end: str) -> None:
    page = opened("mortal")
    page.goto(f"{page.base}/memories/{mortal.items[0].id}/edit")
    page.get_by_label("Text (Markdown)").fill("A long text that nobody wants to write twice.")
    if end == "killed":
        os.kill(mortal.client.ping()[1], signal.SIGKILL)
    else:
        page.context.clear_cookies()
    page.get_by_role("button", name="Save").click()
    result = page.get_by_role("alert").inner_text()
    assert ("does not answer" if end == "killed" else "has ended") in result and "memoryd console" in result
    assert page.get_by_label("Text (Markdown)").input_value().startswith("A long text")
    if end == "killed":
        ensure_daemon(mortal.settings, 60)


def test_two_tabs_that_edit_the_same_memory_lose_neither_text(opened: Any, full: Any, own: int) -> None:
    page = opened()
    other = page.context.new_page()
    for tab, text in ((page, "The ferry leaves at eleven."), (other, "The ferry leaves at twelve.")):
        tab.goto(f"{page.base}/memories/{own}/edit")
        tab.get_by_label("Text (Markdown)").fill(text)
    page.get_by_role("button", name="Save").dblclick()  # If pressed twice, it is saved once.
    page.wait_for_url(re.compile(r"/memories/mem_\w+$"))
    newer = page.url.rsplit("/", 1)[1]
    other.get_by_role("button", name="Save").click()
    other.get_by_role("heading", name="A newer statement exists").wait_for()
    assert "at eleven" in other.locator("section[aria-labelledby=theirs]").inner_text()
    other.get_by_role("button", name="Use this one").click()
    other.wait_for_url(re.compile(r"/memories/mem_\w+$"))
    last = other.url.rsplit("/", 1)[1]
    found = full.call("get_memory", id=last)["memory"]
    assert (found["content"], found["status"], found["supersedes"]) == ("The ferry leaves at twelve.", "active", newer)
    purge(full, newer, last)


def test_a_form_of_an_ended_session_is_saved_once_another_is_open(opened: Any, full: Any, own: int) -> None:
    page = opened()
    page.goto(f"{page.base}/memories/{own}/edit")
    page.get_by_label("Tags").fill("ferry, pier")
    page.context.clear_cookies()
    enter(page.context.new_page(), full.link())
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**/memories/{own}")
    assert full.call("get_memory", id=own)["memory"]["tags"] == ["ferry", "pier"]


def test_a_project_is_chosen_by_keyboard_and_no_arrow_leads_away(opened: Any) -> None:
    page = opened()
    chosen = page.get_by_label("Project")
    chosen.focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == "project" and "project=" not in page.url
    wanted = chosen.input_value()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**project={wanted}")


def test_pin_forget_and_restore(opened: Any, own: int) -> None:
    page = opened()
    page.goto(f"{page.base}/memories/{own}")
    for button, result, shown in (
        ("Pin", "Pinned.", "pinned"),
        ("Unpin", "No longer pinned.", "active"),
        ("Forget", "Forgotten", "forgotten"),
        ("Restore", "Restored.", "active"),
    ):
        page.get_by_role("button", name=button, exact=True).click()
        page.locator(".flash", has_text=result).wait_for()
        page.locator(".chip", has_text=shown).first.wait_for()
        assert not page.get_by_role("button", name=button, exact=True).count()


def test_two_memories_are_merged(opened: Any, checked: Any, full: Any, own: int) -> None:
    other = full.call(
        "remember", project="all", content="Pier four: the ferry goes at nine o'clock, says the timetable.", kind="fact"
    )["id"]
    page = opened()
    page.goto(f"{page.base}/memories/{own}")
    page.get_by_label("Id of the other memory").fill(other)
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/merge?*")
    checked(page, "merge")
    page.get_by_role("button", name="Merge").click()
    page.locator(".flash", has_text="Merged").wait_for()
    merged = page.url.rsplit("/", 1)[1]
    purge(full, merged, other)


def test_the_slider_goes_back_in_time_and_the_date_says_so(opened: Any, checked: Any) -> None:
    page = opened()
    page.goto(page.base + "/memories")
    page.get_by_text("Filters", exact=True).click()
    slider = page.locator("#as-of-slider")
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "as-of-slider"  # No arrow leads away.
    page.keyboard.press("Enter")
    page.wait_for_url("**as_of=*")
    day = page.get_by_label("As memory was on").input_value()
    assert f"as of {day}" in page.locator("p[role=status]").inner_text()
    checked(page, "as-of")


def test_everything_can_be_reached_without_scripts(opened: Any, own: int) -> None:
    page = opened(script=False)
    page.goto(page.base + "/memories")
    page.get_by_role("link", name="Older").click()
    page.wait_for_url("**cursor=*")
    page.get_by_label("Ask or search").fill("ferry pier four")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**q=ferry*")
    page.locator("a.memory-text").first.click()
    page.wait_for_url(f"**/memories/{own}")
    page.get_by_role("button", name="Pin", exact=True).click()
    page.locator(".flash", has_text="Pinned.").wait_for()
    page.get_by_role("button", name="dark").click()
    page.locator("html[data-theme=dark]").wait_for()
    page.get_by_label("Project").select_option(label=realistic.PROJECTS[1])
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**project=*")
    assert page.get_by_label("Project").locator("option:checked").inner_text() == realistic.PROJECTS[1]


def test_hostile_text_does_nothing(opened: Any, full: Any) -> None:
    page = opened()
    hostile = [item.id for item in full.items[-len(realistic.HOSTILE) :]]
    for address in (
        *(f"/memories/{id}" for id in hostile),
        *(f"/memories/{id}/edit" for id in hostile),
        "/memories?q=mail+queue",
    ):
        page.goto(page.base + address)
        page.locator("h1").wait_for()
        assert "owned" not in page.title().split("·")[1]
        assert page.title().endswith("memoryd")
    assert page.faults == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_a_memory_and_its_forms_can_be_used_by_all(opened: Any, checked: Any, full: Any, width: Any, theme: Any) -> None:
    page = opened(width=width, theme=theme)
    item = next(item for item in reversed(full.items) if item.evidence.lines and item.links and item.status == "active")
    for name, address in (
        ("memory", f"/memories/{item.id}"),
        ("edit", f"/memories/{item.id}/edit"),
        ("found", "/memories?q=docker+backup"),
    ):
        page.goto(page.base + address)
        for details in page.locator("details > summary").all():
            details.click()
        checked(page, f"{name}-{width}-{theme}")
    page.goto(f"{page.base}/?project={item.project}")
    checked(page, f"home-project-{width}-{theme}")
