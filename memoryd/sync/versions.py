"""Versions of one memory on several machines, and how two of them become one. Pure functions.

Each machine counts its own changes of a memory. A version carries the counts that it has seen, so of two versions one follows the
other, or they were made apart. Versions that were made apart are merged by meaning, field by field, against the last version that
both know:

- forgetting wins over everything, then an edit of the text over what a dream decided about the old text
- a field that only one machine changed is taken from it; of lists, additions and removals of both
- a text that both changed: the newer one holds, and the other is kept as a superseded version

The result depends only on the versions and not on which machine merges them, so machines that merge at the same time agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any

from memoryd.core.clock import from_iso
from memoryd.core.codec import item_digest
from memoryd.core.text import digest, normalise
from memoryd.core.types import Link, LinkType, MemoryItem, Source, Status

Counts = Mapping[str, int]
VERSION_TAG = "other-version"
_LISTS = ("tags", "entities", "links", "asked_as", "cites")
# Fields that follow the side whose status holds.
_ENDS = ("expired_at", "valid_to")


class Gone(StrEnum):
    """How a memory ceased to exist."""

    NO = ""
    DELETED = "deleted"  # its file was deleted; the text is kept in the trash of each machine
    PURGED = "purged"  # erased on every machine


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory.

    Attributes:
        id: Id of the memory.
        item: Its value, or None if it is gone.
        seen: The number of changes by each machine that this version includes.
        at: When it was made, as ISO text.
        by: The machine that made it.
        gone: Whether and how it was removed.
    """

    id: str
    item: MemoryItem | None
    seen: Counts
    at: str
    by: str
    gone: Gone = Gone.NO

    def digest(self) -> str:
        """Return a digest of what the version says, without its history."""
        return f"gone:{self.gone.value}" if self.item is None else item_digest(self.item)

    def says_same(self, other: Version) -> bool:
        """Return whether both versions say the same, whatever their history."""
        return self.gone is other.gone and self.item == other.item


class Order(Enum):
    """How one version relates to another."""

    SAME = "same"
    BEFORE = "before"
    AFTER = "after"
    APART = "apart"


def order(a: Counts, b: Counts) -> Order:
    """Return how the version with the counts `a` relates to the one with `b`."""
    behind = any(a.get(machine, 0) < count for machine, count in b.items())
    ahead = any(b.get(machine, 0) < count for machine, count in a.items())
    if behind and ahead:
        return Order.APART
    return Order.BEFORE if behind else Order.AFTER if ahead else Order.SAME


def joined(a: Counts, b: Counts) -> dict[str, int]:
    """Return the counts of a version that includes both."""
    return {machine: max(a.get(machine, 0), b.get(machine, 0)) for machine in sorted({*a, *b})}


@dataclass(frozen=True, slots=True)
class MergedVersion:
    """The result of a merge.

    Attributes:
        item: The merged memory, or None if it is gone.
        gone: How it was removed.
        kept: The other text as a memory of its own, if both machines changed the text.
        is_undecided: Both texts are the user's, so the user should decide between them.
    """

    item: MemoryItem | None
    gone: Gone = Gone.NO
    kept: tuple[MemoryItem, ...] = field(default=())
    is_undecided: bool = False


def merge(base: MemoryItem | None, a: Version, b: Version) -> MergedVersion:
    """Merge two versions that were made apart. `base` is the last version that both follow, if it is known."""
    if a.item is None or b.item is None:
        gone = Gone.PURGED if Gone.PURGED in (a.gone, b.gone) else Gone.DELETED
        return MergedVersion(None, gone)
    older, newer = sorted((a, b), key=lambda version: (version.at, version.digest()))
    assert older.item is not None and newer.item is not None
    item = _fields(base, older.item, newer.item)
    item = _with_status(base, older.item, newer.item, item)
    if not _both_changed("content", base, older.item, newer.item):
        return MergedVersion(item)
    kept = _other_version(older.item, item, from_iso(newer.at))
    item = replace(item, links=tuple(dict.fromkeys((*item.links, Link(LinkType.SUPERSEDES, kept.id)))))
    undecided = item.status is Status.ACTIVE and older.item.source is newer.item.source is Source.USER
    return MergedVersion(item, kept=(kept,), is_undecided=undecided)


def _changed(name: str, base: MemoryItem | None, item: MemoryItem) -> bool:
    return base is None or getattr(item, name) != getattr(base, name)


def _both_changed(name: str, base: MemoryItem | None, a: MemoryItem, b: MemoryItem) -> bool:
    differ = getattr(a, name) != getattr(b, name)
    return differ and _changed(name, base, a) and _changed(name, base, b)


def _fields(base: MemoryItem | None, older: MemoryItem, newer: MemoryItem) -> MemoryItem:
    """Return the fields of the newer version, with those that only the older one changed."""
    taken: dict[str, Any] = {}
    for name in MemoryItem.__dataclass_fields__:
        if name in _LISTS:
            taken[name] = _list(name, base, older, newer)
        elif base is not None and not _changed(name, base, newer):
            taken[name] = getattr(older, name)
    return replace(newer, **taken)


def _list(name: str, base: MemoryItem | None, older: MemoryItem, newer: MemoryItem) -> tuple[Any, ...]:
    old, new = getattr(older, name), getattr(newer, name)
    if old == new:
        return tuple(new)
    before = getattr(base, name) if base is not None else ()
    removed = {entry for entry in before if entry not in old or entry not in new}
    return tuple(entry for entry in dict.fromkeys((*new, *old)) if entry not in removed)


def _with_status(base: MemoryItem | None, older: MemoryItem, newer: MemoryItem, item: MemoryItem) -> MemoryItem:
    """Set the status of the merged memory, with the ends that belong to it."""
    if older.status is newer.status:
        return replace(item, pinned=item.pinned and item.status is not Status.BLACKLISTED)
    won = _holding(base, older, newer)
    ends = {name: getattr(won, name) for name in _ENDS}
    return replace(item, status=won.status, pinned=item.pinned and won.status is not Status.BLACKLISTED, **ends)


def _holding(base: MemoryItem | None, older: MemoryItem, newer: MemoryItem) -> MemoryItem:
    """Return the version whose status holds."""
    decided = [item for item in (older, newer) if base is None or item.status is not base.status]
    if len(decided) == 1:
        other = newer if decided[0] is older else older
        reworded = decided[0].status is Status.SUPERSEDED and base is not None and other.content != base.content
        return other if reworded else decided[0]
    return next((item for item in decided if item.status is Status.BLACKLISTED), newer)


def _other_version(item: MemoryItem, winner: MemoryItem, at: datetime) -> MemoryItem:
    """Return the text that lost as a memory of its own. Its id depends on the text, so all machines make the same one."""
    status = Status.BLACKLISTED if winner.status is Status.BLACKLISTED else Status.SUPERSEDED
    return replace(
        item,
        id=f"mem_{digest('version', item.id, normalise(item.content))[:12]}",
        status=status,
        expired_at=at,
        valid_to=item.valid_to or at,
        pinned=False,
        supersedes=None,
        links=(),
        check=None,
        tags=tuple(dict.fromkeys((*item.tags, VERSION_TAG))),
    )
