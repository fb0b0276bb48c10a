"""Graph and Results in a browser: by keyboard, without scripts, at every width, and during a run."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.types import LinkType, Status
from tests.memeval.result_files import many, result, write
from tests.memoryd.console.browser.browsing import THEMES, WIDTHS, enter

pytestmark = pytest.mark.slow
ANSWERED = 8
RUN_ENDS_MS = 60_000
RUN_BEGINS_SECONDS = 60.0


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Create two runs of a benchmark, and a run_bench command of two cells."""
    folder = tmp_path_factory.mktemp("results")
    write(folder, result("run-a", many(60, 40)))
    write(folder, result("run-b", many(60, 20), provider={"name": "dense"}))
    for arm, right in (("plugin", 3), ("off", 1)):
        data = result(f"g.{arm}", many(4, right))
        data["claudecode"] = {"group": "g", "arm": arm, "model": "claude-haiku-4-5", "repeat": 1}
        write(folder, data)
    return folder


def of_results(page: Any, store: Any, folder: Path) -> Any:
    """Return the same page with a session that shows this folder."""
    enter(page, store.client.call("console_open", {"results": str(folder)})["url"])
    return page


def linked_memory(store: Any) -> str:
    shown = [item for item in store.items if item.status is Status.ACTIVE]
    return next(str(item.id) for item in reversed(shown) if any(link.type is LinkType.RELATES_TO for link in item.links))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_graph_can_be_used_by_all(opened: Any, checked: Any, full: Any, width: Any, theme: Any) -> None:
    page = opened("full", width, theme)
    for name, path in (
        ("start", "/graph"),
        ("memory", f"/graph?about={linked_memory(full)}"),
        ("deep", f"/graph?about={linked_memory(full)}&depth=2"),
        ("name", "/graph?about=docker&depth=2"),
        ("one-type", "/graph?about=docker&type=CONTRADICTS"),
    ):
        page.goto(page.base + path)
        assert page.title() != "owned"
        checked(page, f"graph-{name}-{width}-{theme}")


def test_the_picture_is_walked_by_keyboard_and_the_list_says_the_same(opened: Any, checked: Any, full: Any) -> None:
    page = opened("full")
    page.goto(f"{page.base}/graph?about=docker")
    nodes = page.locator("#graph a.node")
    assert nodes.count() == page.locator("#list ~ ul > li").count() + 1 <= 60
    assert page.locator("#graph a[tabindex='0']").count() == 1
    page.locator("#graph [data-zoom=all]").focus()
    page.keyboard.press("Tab")
    centre = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert centre.startswith("name: docker")
    page.keyboard.press("ArrowRight")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label != centre and page.locator("#graph .description").inner_text() == label
    checked(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/graph?about=mem_*")


def test_the_same_data_give_the_same_picture_and_buttons_change_the_view(opened: Any, full: Any) -> None:
    def view(page: Any) -> Any:
        return page.locator("#graph .canvas svg").get_attribute("viewBox")

    places = []
    for _ in range(2):
        page = opened("full")
        page.goto(f"{page.base}/graph?about=docker")
        places.append(page.eval_on_selector_all("#graph a.node", "all => all.map(one => one.getAttribute('transform'))"))
    assert places[0] == places[1]
    whole = view(page)
    page.locator("[data-zoom=in]").click()
    assert view(page) != whole
    page.locator("[data-zoom=all]").click()
    assert view(page) == whole


def test_without_scripts_the_list_is_there_and_the_filter_works(opened: Any, full: Any) -> None:
    page = opened("full", script=False)
    page.goto(f"{page.base}/graph?about=docker&depth=2")
    assert not page.locator("#graph").is_visible() and page.locator("#list ~ ul > li").count() == 59
    for name in ("relates to", "contradicts", "supersedes"):
        page.get_by_label(name).uncheck()
    page.get_by_role("button", name="Show", exact=True).last.click()
    page.wait_for_url("**type=MENTIONS*")
    assert "type=RELATES_TO" not in page.url


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_results_can_be_used_by_all(opened: Any, checked: Any, empty: Any, results: Any, width: Any, theme: Any) -> None:
    page = of_results(opened("empty", width, theme), empty, results)
    for name, path in (
        ("index", "/results"),
        ("run", "/results/run-a?mark=wrong"),
        ("compare", "/results/_compare?first=run-a&second=run-b"),
        ("grid", "/results/_grid?group=g"),
    ):
        page.goto(page.base + path)
        if name == "run":
            page.locator(".q > summary").first.click()
        cut = "[...document.querySelectorAll('.stacked')].filter(one => one.scrollWidth > one.clientWidth).length"
        assert page.evaluate(cut) == 0, f"a column of a table of {name} is cut"
        checked(page, f"results-{name}-{width}-{theme}")


def test_two_runs_are_compared_by_keyboard_down_to_one_question(opened: Any, checked: Any, empty: Any, results: Any) -> None:
    page = of_results(opened("empty"), empty, results)
    page.goto(f"{page.base}/results/run-a")
    page.get_by_label("Compare with").select_option("run-b")
    page.get_by_role("button", name="Compare").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/results/_compare?*")
    page.get_by_label("For the first").select_option("win")
    page.get_by_role("button", name="Show", exact=True).last.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**outcome=win*")
    page.get_by_role("link", name="in the second").last.click()
    page.wait_for_url("**/results/run-b?*")
    page.locator(".q[open]").wait_for()
    checked(page)


def test_a_task_of_a_grid_leads_to_its_question(opened: Any, checked: Any, empty: Any, results: Any) -> None:
    page = of_results(opened("empty"), empty, results)
    page.goto(f"{page.base}/results/_grid?group=g")
    page.locator("a:has(.mark.wrong)").first.click()
    page.wait_for_url("**/results/g.*#q-*")
    page.locator(".q[open]").wait_for()
    page.goto(f"{page.base}/results/run-a#" + page.evaluate("location.hash.slice(1)"))
    checked(page)


def until_answered(page: Any, number: int) -> None:
    page.locator("[data-count=answer]", has_text=f"{number} of {ANSWERED}").wait_for()


def until_begun(page: Any, run: str) -> None:
    """Open a run's page, which exists as soon as its process has started."""
    until = time.monotonic() + RUN_BEGINS_SECONDS
    while not page.get_by_role("link", name=run, exact=True).count():
        assert time.monotonic() < until, "the run has not begun"
        page.wait_for_timeout(100)
        page.reload()
    page.get_by_role("link", name=run, exact=True).click()
    page.wait_for_url(f"**/results/{run}")


def test_a_run_in_another_process_is_followed_until_it_ends(opened: Any, checked: Any, empty: Any, tmp_path: Path) -> None:
    folder, script = tmp_path / "results", Path(__file__).with_name("gated_eval.py")
    command = [sys.executable, str(script), "--results-dir", str(folder), "--cache-dir", str(tmp_path / "cache"), "eval"]
    command += ["--benchmark", "sample", "--provider", "bm25", "--limit", str(ANSWERED), "--run-id", "slow"]
    command += ["--answering-model", "gated", "--judge", "f1", "--concurrency", "1"]
    going = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        folder.mkdir(exist_ok=True)
        page = of_results(opened("empty"), empty, folder)
        page.goto(f"{page.base}/results")
        until_begun(page, "slow")
        until_answered(page, 0)
        checked(page, "results-live")
        page.expected.append("ERR_FAILED")
        page.route("**/events", lambda route: route.abort())  # As when the daemon ended.
        page.reload()
        page.locator("[data-live=status]", has_text="does not answer").wait_for()
        page.unroute("**/events")
        page.locator("[data-live=status]", has_text="follows the run").wait_for()
        for number in range(1, 4):
            going.stdin.write("go\n")
            going.stdin.flush()
            until_answered(page, number)
        page.locator("[data-live=cost]", has_text="$0.03").wait_for()
        assert page.locator("#live progress").last.get_attribute("value") == "0"
        going.stdin.close()
        assert going.wait(timeout=60) == 0
        page.locator("h2", has_text=re.compile("^Questions$")).wait_for(timeout=RUN_ENDS_MS)
        page.wait_for_load_state()
        assert page.locator(".q").count() == ANSWERED
        checked(page)
    finally:
        going.kill()
        going.wait(timeout=60)
