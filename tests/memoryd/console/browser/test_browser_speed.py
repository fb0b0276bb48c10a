"""First paint and size of every page with 5,000 memories, measured by a browser.

    python -m pytest -m slow -s tests/memoryd/console/browser/test_browser_speed.py

prints the lines of the table in docs/console.md.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.memeval.result_files import many, result, write
from tests.memoryd.console.browser.browsing import enter, read_session, write_twice

pytestmark = pytest.mark.slow
FIRST_PAINT_MS = 300
PAGE_BYTES = 200_000
TRIES, MAX_TRIES = 7, 50
QUESTIONS = 500
FIRST_PAINT = """new Promise(done => new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (entry.name === "first-contentful-paint") done(entry.startTime);
}).observe({ type: "paint", buffered: true }))"""
PAGES = {
    "Home": "/",
    "Memories": "/memories",
    "Memories: a search": "/memories?q=invoice+export+docker",
    "A memory": "/memories/{memory}",
    "Edit": "/memories/{memory}/edit",
    "Graph": "/graph",
    "Graph around a name": "/graph?about=docker&depth=2",
    "Timeline": "/sessions",
    "A session": "/sessions/s-read",
    "What memory learnt": "/sessions/changes",
    "Dreams": "/dreams",
    "Checks": "/guard",
    "A dream": "/dreams/{dream}",
    "Results": "/results",
    "A run": "/results/run-a",
    "Two runs": "/results/_compare?first=run-a&second=run-b",
    "A grid": "/results/_grid?group=g",
    "Settings": "/settings",
}


@pytest.fixture(scope="module")
def places(full: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Create what the addresses refer to: memories, a session and a dream for these tests, results of two runs and a grid."""
    results = tmp_path_factory.mktemp("results")
    write(results, result("run-a", many(QUESTIONS, QUESTIONS // 2)))
    write(results, result("run-b", many(QUESTIONS, QUESTIONS // 3), provider={"name": "dense"}))
    for arm, right in (("plugin", 30), ("off", 10)):
        data = result(f"g.{arm}", many(40, right))
        data["claudecode"] = {"group": "g", "arm": arm, "model": "claude-haiku-4-5", "repeat": 1}
        write(results, data)
    read_session(full, ["We decided to keep the mail queue in redis, because the old way broke twice."])
    write_twice(full, "ab", "speed", ("Run the linter before each commit.", "Before each commit, run the linter."))
    dream = full.call("dream", dry_run=False)["entry"]
    assert dream
    return {"memory": full.items[-20].id, "dream": dream, "results": str(results)}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_painted_at_once_and_weighs_little(
    opened: Any, full: Any, places: Any, name: str, record_property: Any
) -> None:
    page = opened()
    enter(page, full.client.call("console_open", {"results": places["results"]})["url"])
    address = page.base + PAGES[name].format(**places)
    paints: list[Any] = []
    while len(paints) < TRIES or (min(paints) >= FIRST_PAINT_MS and len(paints) < MAX_TRIES):  # A busy machine gets more time.
        assert page.goto(address).ok
        paints.append(page.evaluate(FIRST_PAINT))
    weight = weighed(page, address)
    record_property("first_paint_ms", round(sorted(paints)[len(paints) // 2]))
    record_property("bytes", weight)
    print(f"\n| {name} | {sorted(paints)[len(paints) // 2]:.0f} ms | {max(paints):.0f} ms | {weight / 1000:.1f} kB |")
    assert min(paints) < FIRST_PAINT_MS
    assert 0 < weight < PAGE_BYTES
    assert not page.faults


def weighed(page: Any, address: str) -> int:
    """Return the bytes transferred for the page and everything it loads, including headers, with an empty cache."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes: list[float] = []
    devtools.on("Network.loadingFinished", lambda outcome: sizes.append(outcome["encodedDataLength"]))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return round(sum(sizes))
