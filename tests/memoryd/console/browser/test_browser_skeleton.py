"""Every page of the navigation, with an empty and a full store, narrow and wide, light and dark."""

from __future__ import annotations

from typing import Any

import pytest

from memoryd.service import Orchestrator
from tests.memoryd.console.browser.browsing import THEMES, WIDTHS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("store", ["empty", "full"])
def test_each_page_of_the_navigation_can_be_used_by_all(
    opened: Any, checked: Any, store: Orchestrator, width: Any, theme: Any
) -> None:
    page = opened(store, width, theme)
    paths = page.eval_on_selector_all("nav[aria-label=Pages] a", "links => links.map(link => link.getAttribute('href'))")
    assert "/memories" in paths
    for path in paths:
        page.goto(page.base + path)
        assert page.locator("h1").count() == 1
        checked(page, f"{store}-{path.strip('/').replace('/', '-') or 'home'}-{width}-{theme}")


@pytest.mark.parametrize("width", WIDTHS)
def test_each_form_under_more_can_be_used_by_all(opened: Any, checked: Any, width: Any) -> None:
    page = opened("full", width, "dark")
    page.goto(page.base + "/operations")
    forms = page.eval_on_selector_all("main dl a", "links => links.map(link => link.getAttribute('href'))")
    assert len(forms) > 3
    for path in forms:
        page.goto(page.base + path)
        checked(page, f"form-{path.rsplit('/', 1)[-1]}-{width}")
    for name in ("show_router", "log"):
        page.goto(f"{page.base}/operations/{name}")
        page.locator("main form button").click()
        page.get_by_role("heading", name="Answer", exact=True).wait_for()
        checked(page, f"answer-{name}-{width}")
