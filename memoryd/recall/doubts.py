"""Of two memories that speak against each other only one is given: whose words weigh more, else the newer. Pure.

Both stay active, found by whoever looks for them, and the pair waits among the proposals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from memoryd.types import LinkType, MemoryItem, Source, Status


def undoubted(items: Sequence[MemoryItem]) -> list[MemoryItem]:
    """The items without those that lose against another of them, in the same order."""
    known = {item.id: item for item in items}
    lost = {_loser(item, known[id]).id for item in items for id in _opposed(item) if id in known}
    return [item for item in items if item.id not in lost]


def _opposed(item: MemoryItem) -> Iterable[str]:
    """What a memory speaks against. A candidate speaks against nothing yet."""
    links = item.links if item.status is Status.ACTIVE else ()
    replaced = {link.target for link in links if link.type is LinkType.SUPERSEDES}
    # What it replaced and the user brought back is given beside it.
    return [link.target for link in links if link.type is LinkType.CONTRADICTS and link.target not in replaced]


def _loser(one: MemoryItem, other: MemoryItem) -> MemoryItem:
    return min(one, other, key=_weight)


def _weight(item: MemoryItem) -> tuple[bool, bool, datetime, str]:
    return (item.pinned, item.source is Source.USER, item.valid_from or item.created_at, item.id)
