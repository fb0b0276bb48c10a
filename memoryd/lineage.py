"""Lineage of memories: merged, corrected, forgotten, repeated. No other module interprets links and dates for this purpose.

- MERGED: the target makes the same statement as this memory, which replaced it and inherited its sessions and uses.
- SUPERSEDES: the target was true until this memory corrected it or gave a new answer. It keeps its own sessions.
- SUPERSEDES with CONTRADICTS: the target contradicted this memory and was dropped in its favour.

Files written before version 0.9 use SUPERSEDES for both merges and corrections. `with_merges` distinguishes them by date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from memoryd.core.types import Link, LinkType, MemoryItem, Status

Get = Callable[[str], MemoryItem | None]
# Link types to replaced memories, whatever the reason.
SUCCESSION = (LinkType.MERGED, LinkType.SUPERSEDES)


def merge_links(sources: Iterable[str]) -> tuple[Link, ...]:
    """Create the links from a memory to those merged into it."""
    return tuple(Link(LinkType.MERGED, id) for id in sources)


def merged_ids(item: MemoryItem) -> tuple[str, ...]:
    """Return the ids of the duplicates merged into this memory."""
    return tuple(dict.fromkeys(link.target for link in item.links if link.type is LinkType.MERGED))


def merged_from(item: MemoryItem, get: Get) -> list[MemoryItem]:
    """Return the memories merged into this one that still exist and have not been restored."""
    found = [old for id in merged_ids(item) if (old := get(id)) is not None]
    return [old for old in found if old.status is not Status.ACTIVE]


def replaced_ids(item: MemoryItem) -> tuple[str, ...]:
    """Return the ids of all memories that this one replaced by merging, correcting or contradicting them."""
    linked = (link.target for link in item.links if link.type in SUCCESSION)
    return tuple(dict.fromkeys([*linked, *([item.supersedes] if item.supersedes else [])]))


def corrected_ids(item: MemoryItem) -> tuple[str, ...]:
    """Return the ids of the memories that are no longer true according to this one."""
    merged = set(merged_ids(item))
    return tuple(id for id in replaced_ids(item) if id not in merged)


def earlier_wordings(item: MemoryItem, get: Get) -> list[str]:
    """Return the ids of the memories merged into this one, and of its own versions before edits."""
    found = {old.id: None for old in merged_from(item, get)}
    version = item
    while version.supersedes and version.supersedes not in found:
        old = get(version.supersedes)
        if old is None or old.status is Status.ACTIVE or not _is_version(old, item):
            break
        found[old.id] = None
        version = old
    return list(found)


def is_undone(later: MemoryItem, item: MemoryItem) -> bool:
    """Return whether `later` was made from this memory, by an edit or a merge, and has been forgotten since."""
    return later.status is Status.BLACKLISTED and (item.id in merged_ids(later) or _is_version(later, item))


def _is_version(one: MemoryItem, other: MemoryItem) -> bool:
    """Return whether an edit, which keeps the origin, may have made one of these memories from the other."""
    return (one.session, one.source, one.evidence) == (other.session, other.source, other.evidence)


def with_merges(item: MemoryItem, get: Get) -> MemoryItem:
    """Convert the SUPERSEDES links written by older versions for merges to MERGED. Return the same object if there are none.

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
    """Return the bytes of a memory file as they were before `with_merges`.

    This prevents an undo from mistaking the conversion for an edit.
    """
    return data.replace(b"type: MERGED,", b"type: SUPERSEDES,")
