"""Responses of handlers, navigation entries and the program that serves the pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """The response of a handler. With `events`, the body is a stream of server-sent events."""

    body: bytes = b""
    status: int = 200
    media_type: str = HTML
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    events: AsyncIterator[bytes] | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """The program that serves the pages.

    Attributes:
        name: Name shown on every page.
        reopen: Command that prints a new link.
        bug: Advice shown with an unexpected error.
        projects: Whether the pages include the project switcher.
    """

    name: str = "memoryd"
    reopen: str = "memoryd console"
    bug: str = "This is a bug in memoryd: see logs/daemon.log in its home folder, and 'memoryd doctor'."
    projects: bool = True


MEMORYD = Site()


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A navigation entry. Entries are sorted by `order`. memoryd's own pages use 10, 20, 30 and so on."""

    label: str
    path: str
    order: int = 100
