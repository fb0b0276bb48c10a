"""Pictures of the console for docs/img: `python tests/memoryd/console/browser/screenshots.py docs/img [NAME…] [--png]`.

Uses a scratch home with 5,000 memories and its own daemon. All pages are shown at 390 and 1440 pixels, light and
dark. The scratch folder is shown as /home/ada, so that pictures don't identify a machine. The format is WebP as
written by Chromium, because it is small and needs no other library.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.memeval.result_files import many, result, write  # noqa: E402
from tests.memoryd.console.browser.browsing import (  # noqa: E402
    THEMES,
    WIDTHS,
    Store,
    enter,
    finish_jobs,
    read_session,
    write_twice,
)

HEIGHTS = {390: 844, 1440: 900}
QUALITIES = (80, 65, 50, 35)
MAX_BYTES = 60_000
SAID = (
    "Always run make check before a commit.",
    "Could you look at the tests of the parser first, please?",
    "We decided to keep the mail queue in redis, because the old way lost messages twice.",
    "Thanks, that looks good.",
    "Never edit docs/setup.md by hand: it is made by the release script.",
    "I prefer short commit messages in the imperative.",
    "Hm, let me think about the price table again.",
)
MERGED = ("Run the linter before each commit.", "Before each commit, run the linter.")
WAITING = ("Keep the changelog for users, not for us.", "The changelog is for users, not for us: keep it so.")
GRID, LIVE, ANSWERED = "20261101-coding", "20261102-sample", 7
QUESTION = "why does the mail queue use redis"
HIDE = """folder => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) walk.currentNode.nodeValue = walk.currentNode.nodeValue.replaceAll(folder, "/home/ada");
  for (const field of document.querySelectorAll("input, textarea")) field.value = field.value.replaceAll(folder, "/home/ada");
}"""


@contextmanager
def lived_in(count: int) -> Iterator[tuple[Store, Path]]:
    """Return the store with a read session, a dream that merged and one whose merge needs consent, and its folder."""
    with tempfile.TemporaryDirectory(prefix="memoryd-pictures-") as name:
        store = Store(Path(name), count, hostile=False)
        try:
            read_session(store, SAID)
            write_twice(store, "ab", "shop", MERGED)
            finish_jobs(store)
            store.call("dream", dry_run=False)
            store.call("change_settings", values={"dream_max_items": "0"})
            write_twice(store, "cd", "shop", WAITING)
            store.call("dream", dry_run=False)
            store.call("change_settings", values={"dream_max_items": None})
            evaluate(Path(name) / "results")
            with going_on(Path(name) / "results"):
                yield store, Path(name)
        finally:
            store.client.stop()


def evaluate(results: Path) -> None:
    """Create two runs of the sample benchmark, and a fictitious run_bench command with and without memory."""
    command = [str(Path(sys.executable).with_name("memeval")), *_folders(results), "--offline"]
    command += "eval --benchmarks sample --providers bm25 none --answering-model extractive --judge f1".split()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for arm, right in (("plugin", 17), ("off", 6)):
        data = result(f"{GRID}.{arm}", many(24, right))
        data["claudecode"] = {"group": GRID, "arm": arm, "model": "claude-haiku-4-5", "repeat": 1}
        write(results, data)


def _folders(results: Path) -> list[str]:
    return ["--results-dir", str(results), "--cache-dir", str(results / "cache")]


@contextmanager
def going_on(results: Path) -> Iterator[None]:
    """Start a run in another process, which stops after ANSWERED answers with a fictitious price."""
    command = [sys.executable, str(Path(__file__).with_name("gated_eval.py")), *_folders(results), "eval", "--run-id", LIVE]
    command += "--benchmark sample --provider bm25 --limit 20 --answering-model gated --judge f1 --concurrency 1".split()
    going = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    assert going.stdin is not None
    try:
        going.stdin.write("go\n" * ANSWERED)
        going.stdin.flush()
        yield
    finally:
        going.kill()
        going.wait(timeout=10)


def addresses(store: Store, results: Path) -> dict[str, str]:
    """Return the address of each page by the name of its screenshot."""
    entries = store.call("journal")["entries"]
    entry = min(entries, key=lambda one: one["id"])["id"]
    learnt = store.call("list_memories", project="all", session="s-read")["memories"][0]["id"]
    second = store.call("list_memories", project="all", kinds=["decision"], limit=2)["memories"][1]["id"]
    project, busy = (entry["id"] for entry in store.call("projects")["projects"][:2])
    run, other = (
        next(path.name for path in sorted((results / "runs").iterdir()) if word in path.name) for word in ("bm25", "none")
    )
    return {
        "home": f"/?project={busy}",
        "memories": f"/memories?project=all&q={QUESTION.replace(' ', '+')}",
        "memory": f"/memories/{learnt}",
        "edit": f"/memories/{learnt}/edit",
        "conflict": f"/memories/{learnt}/edit",
        "merge": f"/memories/{learnt}/merge?other={second}",
        "graph": "/graph?about=redis",
        "timeline": "/sessions",
        "session": "/sessions/s-read",
        "learnt": "/sessions/changes",
        "dreams": "/dreams",
        "dream": f"/dreams/{entry}",
        "results": "/results",
        "run": f"/results/{run}",
        "compare": f"/results/_compare?first={run}&second={other}",
        "grid": f"/results/_grid?group={GRID}",
        "live": f"/results/{LIVE}",
        "settings": "/settings",
        "forget": f"/settings/forget/{project}",
    }


def conflict(store: Store, page: Any) -> Callable[[], object]:
    """Change the file by hand on the edit page, then send the form. Return a function that restores the file."""
    path = Path(store.call("get_memory", id=page.url.split("/")[-2])["path"])
    before = path.read_bytes()
    field = page.get_by_label("Text (Markdown)")
    words = field.input_value()
    field.fill(f"{words} It takes two minutes.")
    path.write_bytes(before.replace(words.encode(), f"{words} Ask Ben first.".encode()))
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="The file was changed").wait_for()
    return partial(path.write_bytes, before)


def still(page: Any) -> None:
    """Wait until nothing is loading. A page that follows a run never finishes, so wait until it shows progress."""
    if page.url.endswith(f"/results/{LIVE}"):
        page.locator("[data-count=answer]", has_text=f"{ANSWERED} of").wait_for()
    else:
        page.wait_for_load_state("networkidle")


def picture(page: Any, target: Path, png: bool) -> None:
    """Take a screenshot of at most MAX_BYTES, with the best quality that fits."""
    if png:
        page.screenshot(path=target.with_suffix(".png"), full_page=True)
        return
    devtools = page.context.new_cdp_session(page)
    for quality in QUALITIES:
        data = base64.b64decode(devtools.send("Page.captureScreenshot", {"format": "webp", "quality": quality})["data"])
        if len(data) <= MAX_BYTES:
            break
    target.with_suffix(".webp").write_bytes(data)


def take(store: Store, folder: Path, target: Path, names: list[str], png: bool = False) -> None:
    """Take all screenshots."""
    from playwright.sync_api import ViewportSize, sync_playwright

    chromium = os.environ.get("CHROMIUM_BIN") or shutil.which("chromium")
    found = {name: path for name, path in addresses(store, folder / "results").items() if not names or name in names}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in WIDTHS:
            for theme in THEMES:
                view = ViewportSize(width=width, height=HEIGHTS[width])
                page = browser.new_context(viewport=view, color_scheme=theme, reduced_motion="reduce").new_page()
                enter(page, store.client.call("console_open", {"results": str(folder / "results")})["url"])
                base = page.url.rstrip("/")
                for name, path in found.items():
                    page.goto(base + path)
                    restore: Callable[[], object] = conflict(store, page) if name == "conflict" else lambda: None
                    still(page)
                    page.evaluate(HIDE, str(folder))
                    picture(page, target / f"{name}-{width}-{theme}", png)
                    restore()
        browser.close()


def main() -> None:
    """Parse the arguments and take the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--png", action="store_true", help="whole pages as PNG, to look at")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with lived_in(given.count) as (store, folder):
        take(store, folder, given.folder, given.names, given.png)


if __name__ == "__main__":
    main()
