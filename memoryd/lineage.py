"""Lineage of memories: merged, corrected, forgotten, repeated. No other module interprets links and dates for this.

- MERGED: the target said the same and was replaced by this memory, which inherits its sessions and uses.
- SUPERSEDES: the target was true until this was said (a correction or a new answer). Its sessions remain its own.
- SUPERSEDES with CONTRADICTS: the target lost against this memory.

Files written before version 0.9 use SUPERSEDES for both; `with_merges` distinguishes them by their dates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from memoryd.core.types import Link, LinkType, MemoryItem, Status

Get = Callable[[str], MemoryItem | None]
# Link types to memories that were replaced, for whatever reason.
SUCCESSION = (LinkType.MERGED, LinkType.SUPERSEDES)


def merge_links(sources: Iterable[str]) -> tuple[Link, ...]:
    """Create the links of a memory to those merged into it."""
    return tuple(Link(LinkType.MERGED, id) for id in sources)


def merged_ids(item: MemoryItem) -> tuple[str, ...]:
    """Return the ids of memories merged into this one because they said the same."""
    return tuple(dict.fromkeys(link.target for link in item.links if link.type is LinkType.MERGED))


def merged_from(item: MemoryItem, get: Get) -> list[MemoryItem]:
    """Return the memories merged into this one that still exist and were not restored since."""
    found = [old for id in merged_ids(item) if (old := get(id)) is not None]
    return [old for old in found if old.status is not Status.ACTIVE]


def replaced_ids(item: MemoryItem) -> tuple[str, ...]:
    """Return the ids of all memories that this one replaced: merged, corrected or lost."""
    linked = (link.target for link in item.links if link.type in SUCCESSION)
    return tuple(dict.fromkeys([*linked, *([item.supersedes] if item.supersedes else [])]))


def corrected_ids(item: MemoryItem) -> tuple[str, ...]:
    """Return the ids of memories that this one made untrue."""
    merged = set(merged_ids(item))
    return tuple(id for id in replaced_ids(item) if id not in merged)


def earlier_wordings(item: MemoryItem, get: Get) -> list[str]:
    """Return the ids of memories merged into this one, and of its versions before edits."""
    found = {old.id: None for old in merged_from(item, get)}
    version = item
    while version.supersedes and version.supersedes not in found:
        old = get(version.supersedes)
        if old is None or (old.session, old.source, old.evidence) != (item.session, item.source, item.evidence):
            break
        found[old.id] = None
        version = old
    return list(found)


def with_merges(item: MemoryItem, get: Get) -> MemoryItem:
    """Convert SUPERSEDES links that older versions wrote for merges to MERGED; return the same object if there are none.

    A merged memory has the date of its earliest source, while a corrected memory is older than its correction.
    """
    lost = {link.target for link in item.links if link.type is LinkType.CONTRADICTS}
    links = tuple(
        Link(LinkType.MERGED, link.target)
        if link.type is LinkType.SUPERSEDES and link.target not in lost and _is_source(get(link.target), item)
        else link
        for link in item.links
    )
    return item if links == item.links else replace(item, links=links)


def _is_source(old: MemoryItem | None, item: MemoryItem) -> bool:
    return old is not None and old.status is not Status.ACTIVE and old.created_at >= item.created_at


def as_before_merged(data: bytes) -> bytes:
    """Return a memory file's bytes as they were before `with_merges`, so that an undo does not mistake it for an edit."""
    return data.replace(b"type: MERGED,", b"type: SUPERSEDES,")
