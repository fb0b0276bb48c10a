"""What a dream means to do, as values: shown by `--dry-run`, applied and undone by the sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from memoryd.text import digest
from memoryd.types import MemoryItem


class Action(StrEnum):
    """What happens to a memory."""

    CREATE = "create"
    SUPERSEDE = "supersede"
    ARCHIVE = "archive"
    EXPIRE = "expire"
    DECAY = "decay"
    LINK = "link"
    CHECK = "check"
    FORGET = "forget"


# Actions that take a memory out of recall: the shrink guard counts them, and users' own notes are spared.
DROPPING = frozenset({Action.SUPERSEDE, Action.ARCHIVE, Action.EXPIRE})


@dataclass(frozen=True, slots=True)
class Change:
    """One memory before and after. `before` is None for a new one.

    Changes of one `group` stand or fall together (a merge: the new memory and its sources).
    """

    stage: str
    action: Action
    before: MemoryItem | None
    after: MemoryItem
    reason: str
    group: str = ""

    @property
    def id(self) -> str:
        """The memory that is changed."""
        return self.after.id


@dataclass(frozen=True, slots=True)
class Undecided:
    """Two memories that contradict each other, where only the user can say which holds."""

    first: str
    second: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes of a sweep: at most one for each memory, ordered by stage, group and id."""

    changes: tuple[Change, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def dropped(self) -> int:
        """How many memories leave recall."""
        return sum(change.action in DROPPING for change in self.changes)


def merged_id(*sources: str) -> str:
    """The id of the memory that takes the place of these: the same whatever their order, so that a plan is pure."""
    return f"mem_{digest('merge', *sorted(sources))[:12]}"
