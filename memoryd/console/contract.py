"""Building blocks of console pages. `memoryd.console.pages` explains how to use them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from memoryd.console.context import Context
from memoryd.console.replies import NavEntry, Reply

__all__ = ["Context", "Handler", "NavEntry", "Page", "Reply", "Route"]

Handler = Callable[[Context], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Route:
    """A path such as "/memories/{id}" and its handler.

    `{id}` matches only memory ids. Other parameters match 1 to 128 letters, digits and "._-" without a leading dot.
    Other paths return 404. A `stream` does not count as use of the daemon, so a forgotten tab can't keep it running.
    """

    path: str
    handler: Handler
    methods: tuple[str, ...] = ("GET",)
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its name (letters, digits, "-"), routes and navigation entry.

    A page from another package has a `folder` with `templates/` and `static/`, available as "NAME/file.html" and
    `static("NAME/file.js")`.
    """

    name: str
    routes: tuple[Route, ...]
    nav: NavEntry | None = None
    folder: Path | None = None
