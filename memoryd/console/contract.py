"""What a page of the console is made of; `memoryd.console.pages` explains how to build with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from memoryd.console.context import Context
from memoryd.console.replies import Nav, Reply

__all__ = ["Context", "Handler", "Nav", "Page", "Reply", "Route"]

Handler = Callable[[Context], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Route:
    """A path such as "/memories/{id}" and who answers it.

    `{id}` lets through memory ids only, any other name 1 to 128 letters, digits and "._-" without a leading dot; the rest
    is 404 before the handler is called. A `stream` does not count as use of the daemon, so that a forgotten tab can't keep
    it from ending.
    """

    path: str
    handler: Handler
    methods: tuple[str, ...] = ("GET",)
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its name (letters, digits, "-"), its routes and its place in the navigation.

    A page from another package has a `folder` with `templates/` and `static/` in it. Its templates are then called
    "NAME/file.html", its static files `static("NAME/file.js")`.
    """

    name: str
    routes: tuple[Route, ...]
    nav: Nav | None = None
    folder: Path | None = None
