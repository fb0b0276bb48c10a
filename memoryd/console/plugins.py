"""Load pages from other packages. Each entry point of the group `memoryd.console_pages` refers to a Page.

A page that fails to load is skipped and reported on every page. It never prevents the console from opening.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points

from memoryd.console.contract import Page
from memoryd.core.errors import DependencyError, MemorydError

GROUP = "memoryd.console_pages"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")
_logger = logging.getLogger(__name__)


def installed() -> Sequence[EntryPoint]:
    """Return the entry points of all installed packages, by name."""
    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


def load(found: Iterable[EntryPoint], own: Sequence[Page]) -> tuple[list[Page], list[str]]:
    """Load the pages. Return the loaded ones, and an error message for each page that failed."""
    pages: list[Page] = []
    faults: list[str] = []
    for entry in found:
        try:
            pages.append(_checked(_foreign(entry.load, entry.name), [*own, *pages]))
        except MemorydError as error:
            faults.append(f"The page '{entry.name}' could not be loaded: {error}")
    return pages, faults


def _foreign(work: Callable[[], object], name: str) -> object:
    """Import another package's code. This may fail in any way."""
    try:
        return work()
    except Exception as error:
        _logger.exception("console page '%s' failed", name)
        raise DependencyError(f"{type(error).__name__}: {error}", fix="Update or remove the package that provides it.") from error


def _checked(page: object, others: Iterable[Page]) -> Page:
    if not isinstance(page, Page) or not _NAME.fullmatch(page.name):
        raise DependencyError("it is not a Page with a valid name.", fix="Update the package that provides it.")
    taken = {(route.path, method) for other in others for route in other.routes for method in route.methods}
    taken_names = {other.name for other in others}
    if page.name in taken_names or any((route.path, method) in taken for route in page.routes for method in route.methods):
        raise DependencyError("its name or one of its routes is taken.", fix="Remove one of the packages.")
    return page
