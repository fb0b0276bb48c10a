"""A real daemon with a store, and a real browser. Tests that use it are marked slow.

`opened(store, width=1440, theme="light")` returns a logged-in Playwright page; `store` is "empty" or "full" (5,000
memories, shared by all tests of the run: only change what your test created). `checked(page)` runs axe-core and the
other checks for every page. Screenshots are written to $CONSOLE_SCREENSHOTS if it is set.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.memoryd.console.browser.browsing import THEMES, WIDTHS, Store, enter

CHROMIUM = os.environ.get("CHROMIUM_BIN") or shutil.which("chromium")
HEIGHT = 900
HANGS_MS = 60_000
__all__ = ["THEMES", "WIDTHS", "Store"]
Opened = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Start one browser for all tests."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium (set CHROMIUM_BIN)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=3 * HANGS_MS)
        yield browser
        browser.close()


def _store(tmp_path_factory: pytest.TempPathFactory, name: str, count: int) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp(name), count)
    yield store
    store.stop()


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Return a store without memories."""
    yield from _store(tmp_path_factory, "empty", 0)


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Return a store with 5,000 memories."""
    yield from _store(tmp_path_factory, "full", 5_000)


def note(page: Any, message: Any) -> None:
    """Record an error or a warning of the browser's console, unless the test expects it."""
    if message.type in ("error", "warning") and not any(text in message.text for text in page.expected):
        page.faults.append(message.text)


@pytest.fixture
def opened(chromium: Any, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """Open a page of the console. Its errors (console errors, refused resources) are in `page.faults`.

    A test must first list the errors that it provokes in `page.expected`, because the browser may report them late.
    """
    contexts = []

    def make(store: str = "full", width: int = 1440, theme: str = "light", script: bool = True) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": HEIGHT}, color_scheme=theme, java_script_enabled=script, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(HANGS_MS)
        page.faults, page.expected = [], []
        page.on("console", lambda message: note(page, message))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: (page.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        enter(page, request.getfixturevalue(store).link())
        page.base = page.url.rstrip("/")
        return page

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def checked(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Check a page: no errors, no violation reported by axe-core (WCAG A and AA), no horizontal overflow."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def check(page: Any, name: str = "") -> None:
        assert not page.faults, page.faults
        result = axe.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
        assert result.violations_count == 0, result.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), "sticks out"
        page.faults.clear()
        folder = os.environ.get("CONSOLE_SCREENSHOTS")
        if folder and name:
            page.screenshot(path=f"{folder}/{name}.png", full_page=True, timeout=60_000)

    return check
