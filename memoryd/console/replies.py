"""What goes back to the browser, and the navigation's entries. Values only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler answers. With `events` the body is a stream of server-sent events."""

    body: bytes = b""
    status: int = 200
    media_type: str = HTML
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    events: AsyncIterator[bytes] | None = None


@dataclass(frozen=True, slots=True)
class Nav:
    """An entry of the navigation. Lower `order` comes first; the pages of memoryd take 10, 20, 30 and so on."""

    label: str
    path: str
    order: int = 100
