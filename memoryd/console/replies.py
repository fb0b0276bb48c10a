"""The responses of handlers, and the entries of the navigation."""

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
class Nav:
    """An entry of the navigation. Entries are sorted by `order`, for which memoryd's own pages use 10, 20, 30 and so on."""

    label: str
    path: str
    order: int = 100
