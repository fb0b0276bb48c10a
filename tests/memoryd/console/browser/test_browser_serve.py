"""`memeval serve` in a browser: boards, charts, prompts and running runs, without memoryd's daemon."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.memeval.result_files import Asked, many, result, write
from tests.memoryd.console.browser.browsing import THEMES, WIDTHS, enter
from tests.memoryd.console.browser.conftest import HANGS_MS, HEIGHT, note
from tests.memoryd.console.browser.test_browser_graph_and_results import ANSWERED, until_answered, until_begun

pytestmark = pytest.mark.slow
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
Served = Callable[..., Any]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a real run with its prompts, three fictitious runs of another board, and a hostile one."""
    folder = tmp_path_factory.mktemp("served")
    command = [sys.executable, "-m", "memeval", "--results-dir", str(folder), "--cache-dir", str(folder / "cache"), "eval"]
    command += ["-b", "sample", "-p", "bm25", "-m", "extractive", "--judge", "f1", "--limit", "4", "--run-id", "real"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    for number, (run, right) in enumerate((("run-a", 40), ("run-b", 20), ("run-c", 50))):
        data = result(run, many(60, right), provider={"name": "dense" if run == "run-b" else "bm25"})
        data["benchmark"] = {**data["benchmark"], "name": "longmemeval-s"}
        data["times"] = {**data["times"], "finished_at": f"2024-0{number + 6}-01T08:10:00Z"}
        write(folder, data)
    evil = [Asked("q1", {HOSTILE: 1.0}, text=HOSTILE, expected=(HOSTILE,), answer=HOSTILE, pieces=(HOSTILE,), reason=HOSTILE)]
    write(folder, result("evil", evil, provider={"name": HOSTILE}))
    return folder


@pytest.fixture
def served(chromium: Any) -> Iterator[Served]:
    """Serve a folder in another process and return a browser's page that has opened the link."""
    ended: list[Callable[[], object]] = []

    def serve(folder: Path, width: int = 1440, theme: str = "light", script: bool = True) -> Any:
        command = [sys.executable, "-m", "memeval", "--results-dir", str(folder), "serve", "--no-browser"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True
        )
        ended.append(lambda: (process.kill(), process.wait(timeout=60)))
        assert process.stdout is not None
        context = chromium.new_context(
            viewport={"width": width, "height": HEIGHT}, color_scheme=theme, java_script_enabled=script, reduced_motion="reduce"
        )
        ended.append(context.close)
        page = context.new_page()
        page.set_default_timeout(HANGS_MS)
        page.faults, page.expected = [], []
        page.on("console", lambda message: note(page, message))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        enter(page, process.stdout.readline().strip())
        page.wait_for_url("**/results")
        page.base = page.url.removesuffix("/results")
        return page

    yield serve
    for end in reversed(ended):
        end()


@pytest.mark.parametrize(("width", "theme"), list(zip(WIDTHS, THEMES, strict=True)))
def test_a_reader_goes_from_the_boards_to_every_prompt(
    served: Served, checked: Any, results: Path, width: int, theme: str
) -> None:
    page, label = served(results, width, theme), f"{width}-{theme}"
    checked(page, f"serve-index-{label}")
    page.get_by_role("link", name="longmemeval-s, judge none").click()
    page.wait_for_url("**/_board?*")
    chart = page.locator("#chart svg")  # strict: more than one is an error
    chart.wait_for()
    assert chart.bounding_box()["width"] <= 521, "a chart is drawn at its own size"
    page.get_by_role("link", name="bm25 over versions", exact=True).click()
    page.locator("#chart h3", has_text="bm25 over versions").wait_for()
    checked(page, f"serve-board-{label}")
    page.goto(f"{page.base}/results/real")
    page.locator(".q > summary").first.click()
    checked(page, f"serve-run-{label}")
    page.get_by_role("link", name="Prompts and replies").first.click()
    page.wait_for_url("**/questions/q-*")
    assert "<memories>" in page.locator(".call").inner_text()
    page.get_by_role("link", name="Next question").click()
    page.get_by_role("link", name="Question before").wait_for()
    checked(page, f"serve-question-{label}")


def test_tables_sort_and_filter_without_scripts(served: Served, results: Path) -> None:
    page = served(results, script=False)
    page.get_by_label("Benchmark").select_option("longmemeval-s")
    page.get_by_role("button", name="Filter").click()
    page.get_by_text("3 of 5 runs").wait_for()
    page.get_by_role("link", name="provider", exact=True).first.click()
    page.wait_for_url("**sort=provider*")
    names = page.locator(".card td[data-column=provider]").all_inner_texts()[:3]
    assert names == ["bm25", "bm25", "dense"] and "benchmark=longmemeval-s" in page.url
    page.get_by_role("link", name="provider").first.click()
    page.wait_for_url("**order=descending*")
    assert page.locator(".card td[data-column=provider]").all_inner_texts()[:1] == ["dense"]
    assert page.locator("th[aria-sort=descending]").count() >= 1


def test_hostile_text_of_a_run_does_nothing(served: Served, checked: Any, results: Path) -> None:
    page = served(results)
    page.goto(f"{page.base}/results/evil")
    address = page.locator(".q a[href*=questions]").first.get_attribute("href")
    for path in ("/results/evil", address):
        page.goto(page.base + path)
        assert page.locator("img").count() == 0 and page.title() != "owned"
        assert page.locator("text=onerror").count() > 0
    checked(page)


def test_a_run_in_another_process_is_followed_and_read(served: Served, checked: Any, tmp_path: Path) -> None:
    folder, script = tmp_path / "results", Path(__file__).with_name("gated_eval.py")
    command = [sys.executable, str(script), "--results-dir", str(folder), "--cache-dir", str(tmp_path / "cache"), "eval"]
    command += ["--benchmark", "sample", "--provider", "bm25", "--limit", str(ANSWERED), "--run-id", "slow"]
    command += ["--answering-model", "gated", "--judge", "f1", "--concurrency", "1"]
    runner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    assert runner.stdin is not None
    try:
        page = served(folder)
        until_begun(page, "slow")
        for number in range(1, 3):
            runner.stdin.write("go\n")
            runner.stdin.flush()
            until_answered(page, number)
        page.reload()
        page.locator("#latest ~ ul a").first.click()
        page.wait_for_url("**/questions/q-*")
        assert "I do not know." in page.locator(".call").first.inner_text()
        checked(page)
        page.go_back()
        runner.stdin.close()
        assert runner.wait(timeout=60) == 0
        page.locator("h2", has_text="Questions").wait_for(timeout=HANGS_MS)
    finally:
        runner.kill()
        runner.wait(timeout=60)
