"""What became of memories: merged, corrected, forgotten, said again. The only place that reads one from links and dates.

- MERGED: the target said the same, and this memory took its place. Its sessions and uses count for this one.
- SUPERSEDES: the target was true until this was said (a correction, another answer). Who said the old counts for the old.
- SUPERSEDES with CONTRADICTS: the target lost against this one.

Files of versions before 0.9 have SUPERSEDES for both; `with_merges` tells them apart by their dates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from memoryd.core.types import Link, LinkType, MemoryItem, Status

Get = Callable[[str], MemoryItem | None]
SUCCESSION = (LinkType.MERGED, LinkType.SUPERSEDES)
"""Links to what a memory took the place of, for whatever reason."""


def merge_links(sources: Iterable[str]) -> tuple[Link, ...]:
    """The links of a memory to those that were merged into it."""
    return tuple(Link(LinkType.MERGED, id) for id in sources)


def merged_ids(item: MemoryItem) -> tuple[str, ...]:
    """Ids of the memories that were merged into this one, because they said the same."""
    return tuple(dict.fromkeys(link.target for link in item.links if link.type is LinkType.MERGED))


def merged_from(item: MemoryItem, get: Get) -> list[MemoryItem]:
    """The memories that were merged into this one, as far as they are kept and were not brought back since."""
    found = [old for id in merged_ids(item) if (old := get(id)) is not None]
    return [old for old in found if old.status is not Status.ACTIVE]


def replaced_ids(item: MemoryItem) -> tuple[str, ...]:
    """Ids of all that this memory took the place of: merged, corrected or lost."""
    linked = (link.target for link in item.links if link.type in SUCCESSION)
    return tuple(dict.fromkeys([*linked, *([item.supersedes] if item.supersedes else [])]))


def corrected_ids(item: MemoryItem) -> tuple[str, ...]:
    """Ids of the memories that ceased to be true with this one."""
    merged = set(merged_ids(item))
    return tuple(id for id in replaced_ids(item) if id not in merged)


def earlier_wordings(item: MemoryItem, get: Get) -> list[str]:
    """Ids of what was merged into this memory, and of its versions before it was edited."""
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
    """The memory with MERGED links where an older version wrote SUPERSEDES for a merge; the same object if there are none.

    A merged memory has the date of its earliest source, while what a correction replaced is older than the correction.
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
    """The bytes of a memory file as they were before `with_merges`: an undo must not take that for an edit."""
    return data.replace(b"type: MERGED,", b"type: SUPERSEDES,")
