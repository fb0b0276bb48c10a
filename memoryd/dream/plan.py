"""The plan of a dream as plain values. `--dry-run` shows it, and the sweep applies and undoes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from memoryd.core.text import digest
from memoryd.core.types import KINDS, Kind, Link, LinkType, MemoryItem, Scope, Status
from memoryd.lineage import merge_links, merged_ids

# Tuning constants

_HALF_LIVES = MappingProxyType({kind: traits.half_life_days for kind, traits in KINDS.items()})
_AGE_BOUNDS = MappingProxyType({kind: traits.max_age_days for kind, traits in KINDS.items() if traits.max_age_days is not None})


@dataclass(frozen=True, slots=True)
class DreamLimits:
    """Limits of a dream. Ages and half-lives are in days since a memory was recorded or last used.

    Attributes:
        cap: Maximum number of active memories per project, and for the user.
        floor: Value below which a memory is archived (see recall.governance).
        least_step: Minimum change in relevancy to be written.
        neighbours: Number of other memories in a block with which each memory is compared.
        rare: Maximum number of memories that may share a name for the name to link them.
        degree: Maximum number of such links per memory.
        asked: Maximum number of pairs to ask a model about.
        read: Maximum number of statement pairs to read together (10 ms each), newest statements first.
        batch: Number of pairs per model call.
        rounds: Maximum number of rounds. Stages are repeated until nothing changes.
    """

    cap: int = 2_000
    floor: float = 0.03
    half_lives: Mapping[Kind, float] = field(default_factory=lambda: _HALF_LIVES)
    age_bounds: Mapping[Kind, float] = field(default_factory=lambda: _AGE_BOUNDS)
    least_step: float = 0.1
    neighbours: int = 8
    rare: int = 8
    degree: int = 4
    asked: int = 60
    read: int = 2_000
    batch: int = 20
    rounds: int = 8


DEFAULTS = DreamLimits()


class Action(StrEnum):
    """The kind of change to a memory."""

    CREATE = "create"
    SUPERSEDE = "supersede"
    ARCHIVE = "archive"
    EXPIRE = "expire"
    DECAY = "decay"
    LINK = "link"
    CHECK = "check"
    CITE = "cite"
    FORGET = "forget"
    IMPORT = "import"
    REWORD = "reword"


# Actions that remove a memory from recall. They count for the shrink guard, and never apply to the user's own notes.
DROPPING = frozenset({Action.SUPERSEDE, Action.ARCHIVE, Action.EXPIRE})


@dataclass(frozen=True, slots=True)
class Change:
    """One memory before and after a change. `before` is None for a new memory.

    Changes in a `group` are applied and undone together (for a merge: the new memory and its sources).
    """

    stage: str
    action: Action
    before: MemoryItem | None
    after: MemoryItem
    reason: str
    group: str = ""

    @property
    def id(self) -> str:
        """The id of the changed memory."""
        return self.after.id


@dataclass(frozen=True, slots=True)
class UndecidedConflict:
    """Two contradicting memories. Only the user can decide which one is right."""

    first: str
    second: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes of a sweep, ordered by stage, group and id. There is at most one change per memory."""

    changes: tuple[Change, ...] = ()
    undecided: tuple[UndecidedConflict, ...] = ()
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def dropped(self) -> int:
        """The number of memories removed from recall."""
        return sum(change.action in DROPPING for change in self.changes)


def merged_id(*sources: str) -> str:
    """Return the id of the memory that replaces these, whatever their order, so that plans are deterministic."""
    return f"mem_{digest('merge', *sorted(sources))[:12]}"


# The plan under construction. It holds the planned state of every memory and the corresponding change.
#
# Stages only use these methods, which keep at most one change per memory however many stages touch it, and put dependent
# changes into one group.

STAGES = ("forbidden", "merge_duplicates", "resolve_conflicts", "prune", "link")


def partition(item: MemoryItem) -> tuple[str, str]:
    """Return the partition of a memory (a project, a team or the user). Only memories in the same partition are compared."""
    return (item.scope.value, "" if item.scope is Scope.USER else item.project)


def said_at(item: MemoryItem) -> datetime:
    """Return when the memory was stated, or when it was recorded if that is unknown."""
    return item.valid_from or item.created_at


@dataclass(frozen=True, slots=True)
class Retirement:
    """How and why a memory is removed from recall.

    Attributes:
        by: The memory that is now valid.
        link: Edge to that memory, used if that memory's file must not change.
        until: When the memory ceased to be true, or now if unset.
        tag: The tag that marks the reason.
    """

    stage: str
    action: Action
    reason: str
    group: str = ""
    by: MemoryItem | None = None
    link: LinkType = LinkType.RELATES_TO
    until: datetime | None = None
    tag: str = ""


@dataclass(slots=True)
class _ChangeDraft:
    before: MemoryItem | None
    after: MemoryItem
    stage: str
    action: Action
    reasons: list[str]
    groups: set[str] = field(default_factory=set)
    sources: tuple[str, ...] = ()


class PlanBuilder:
    """All memories with the changes planned so far. Iterates in the order of ids."""

    def __init__(self, items: Sequence[MemoryItem], now: datetime, protected: frozenset[str]) -> None:
        self.now = now
        self._items = {item.id: item for item in sorted(items, key=lambda item: item.id)}
        self._protected = protected
        self._drafts: dict[str, _ChangeDraft] = {}
        self.version = 0

    def __getitem__(self, id: str) -> MemoryItem:
        return self._items[id]

    def merged_into(self, item: MemoryItem) -> Iterator[MemoryItem]:
        """Yield the memories merged into this one, except those that lost a conflict with it."""
        return (self._items[id] for id in merged_ids(item) if id in self._items)

    def last_stated(self, item: MemoryItem) -> datetime:
        """Return when the memory was last stated. Its sources are included, because a merged memory keeps their earliest time."""
        return max(map(said_at, (item, *self.merged_into(item))))

    def get(self, id: str) -> MemoryItem | None:
        """Return the planned state of the memory, regardless of its status."""
        return self._items.get(id)

    def __contains__(self, id: str) -> bool:
        return id in self._items

    def active(self) -> Iterator[MemoryItem]:
        """Yield the memories that are active in the plan, ordered by id."""
        return (self._items[id] for id in sorted(self._items) if self._items[id].status is Status.ACTIVE)

    def forbidden(self) -> Iterator[MemoryItem]:
        """Yield the memories forgotten by the user, ordered by id."""
        return (self._items[id] for id in sorted(self._items) if self._items[id].status is Status.BLACKLISTED)

    def is_spared(self, item: MemoryItem) -> bool:
        """Return whether the memory must not be removed because it is pinned or maintained by the user."""
        return item.pinned or item.id in self._protected

    def is_fixed(self, item: MemoryItem) -> bool:
        """Return whether the memory must not be changed at all because the user maintains it."""
        return item.id in self._protected

    def is_new(self, id: str) -> bool:
        """Return whether this plan creates the memory."""
        return id in self._drafts and self._drafts[id].before is None

    # Changes

    def touch(self, after: MemoryItem, stage: str, action: Action, reason: str, group: str = "") -> None:
        """Change fields of a memory that stays active."""
        draft = self._drafts.get(after.id)
        if draft is None:
            draft = self._drafts[after.id] = _ChangeDraft(self._items[after.id], after, stage, action, [])
        draft.after = after
        draft.reasons += [reason] if reason not in draft.reasons else []
        draft.groups |= {group} - {""}
        self._put(after)

    def add_link(self, id: str, links: Iterable[Link], stage: str, reason: str, group: str = "") -> None:
        """Add missing links to a memory."""
        item = self._items[id]
        missing = tuple(link for link in dict.fromkeys(links) if link not in item.links)
        if missing:
            self.touch(replace(item, links=item.links + missing), stage, Action.LINK, reason, group)

    def retire(self, id: str, end: Retirement) -> None:
        """Remove a memory from recall. If this plan creates the memory, its sources are removed instead."""
        draft = self._drafts.get(id)
        groups = {end.group, *(draft.groups if draft else ())} - {""}
        if draft is not None and draft.before is None:
            del self._items[id], self._drafts[id]
            self.version += 1
        for each in draft.sources if draft is not None and draft.before is None else (id,):
            self._close(each, end, groups)

    def _close(self, id: str, end: Retirement, groups: set[str]) -> None:
        draft = self._drafts.get(id)
        before = draft.before if draft is not None else self._items[id]
        assert before is not None
        until = max(end.until or self.now, said_at(before))
        keeps_end = end.action is Action.ARCHIVE or before.valid_to is not None  # Archived memories remain true.
        after = replace(
            before,
            status=Status.SUPERSEDED,
            expired_at=max(self.now, before.created_at),
            valid_to=before.valid_to if keeps_end else until,
            tags=(*before.tags, end.tag) if end.tag and end.tag not in before.tags else before.tags,
        )
        if end.by is not None and self.is_fixed(end.by):
            # The survivor's file must not change, so the link starts at the retired memory.
            link = Link(end.link, end.by.id)
            after = replace(after, links=after.links if link in after.links else (*after.links, link))
        self._drafts[id] = _ChangeDraft(before, after, end.stage, end.action, [end.reason], groups)
        self._put(after)

    def merge(self, after: MemoryItem, sources: Sequence[MemoryItem], stage: str, reason: str) -> bool:
        """Replace the sources with a new memory.

        Return False if its id exists, which means that the user undid this merge before.
        """
        origins = sorted({origin for item in sources for origin in self._origins(item.id)})
        id = merged_id(*origins)
        if id in self._items and not self.is_new(id):
            return False
        groups = {f"merge:{id}"}
        for item in sources:
            groups |= self._drafts[item.id].groups if item.id in self._drafts else set()
        links = dict.fromkeys((*after.links, *merge_links(origins)))
        made = {item.id for item in sources if self.is_new(item.id)}
        new = replace(
            after,
            id=id,
            supersedes=after.supersedes if after.supersedes in origins else origins[0],
            links=tuple(link for link in links if link.target not in made),
        )
        for item in sources:
            self.retire(item.id, Retirement(stage, Action.SUPERSEDE, reason, f"merge:{id}", by=new))
        self._drafts[id] = _ChangeDraft(None, new, stage, Action.CREATE, [reason], groups, tuple(origins))
        self._put(new)
        return True

    def _origins(self, id: str) -> tuple[str, ...]:
        return self._drafts[id].sources if self.is_new(id) else (id,)

    def _put(self, item: MemoryItem) -> None:
        self._items[item.id] = item
        self.version += 1

    # The plan

    def changes(self) -> tuple[Change, ...]:
        """Return one change per changed memory, ordered by stage, group and id."""
        groups = _united(draft.groups for draft in self._drafts.values())
        out = []
        for draft in self._drafts.values():
            if draft.before != draft.after:
                group = groups[min(draft.groups)] if draft.groups else ""
                out.append(Change(draft.stage, draft.action, draft.before, draft.after, "; ".join(draft.reasons), group))
        return tuple(sorted(out, key=lambda change: (STAGES.index(change.stage), change.group, change.id)))


def _united(sets: Iterable[set[str]]) -> Mapping[str, str]:
    """Unite groups that share a memory (union-find), and map each group to the representative of its union."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for names in sets:
        first, *rest = sorted(names) or [""]
        for name in rest:
            a, b = sorted((root(first), root(name)))
            parent[b] = a
        root(first)
    return {name: root(name) for name in parent}
