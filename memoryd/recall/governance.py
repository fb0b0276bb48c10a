"""What a session should know at its start: the few rules and facts that matter most.

Chosen by value (see worth: importance × confidence × usage × freshness). Only what the user said is
shown as a rule (do, don't); what an agent or tool found is shown as knowledge. What the user had
forgotten is not shown, in other words neither; what two memories say alike is shown once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryd.recall.fence import fence, fit, item_line, overhead
from memoryd.recall.worth import KIND_WEIGHT, UNUSED, UseCounts, value
from memoryd.statements import Relation, relate, rephrases, shares_words
from memoryd.text import normalise, token_count
from memoryd.types import MemoryItem, Polarity, Source, Trust

__all__ = ["KIND_WEIGHT", "Governance", "govern", "heading", "value"]

RESTATES = 0.75
REASON = "what earlier sessions of this project left behind"


@dataclass(frozen=True, slots=True)
class Governance:
    """The selection, by heading, and the text that is injected (empty when there is nothing)."""

    know: tuple[MemoryItem, ...]
    do: tuple[MemoryItem, ...]
    dont: tuple[MemoryItem, ...]
    text: str
    left_out: int

    @property
    def tokens(self) -> int:
        """Estimated size of the text."""
        return token_count(self.text)

    @property
    def ids(self) -> tuple[str, ...]:
        """Every memory that the text shows."""
        return tuple(item.id for item in (*self.dont, *self.do, *self.know))


def heading(item: MemoryItem) -> Polarity:
    """Where the item is shown: only the user's own words become a rule."""
    return item.polarity if item.trust is Trust.INSTRUCTION else Polarity.KNOW


def _section(title: str, items: Sequence[MemoryItem]) -> list[str]:
    return [title, *map(item_line, items)] if items else []


_TITLES = {Polarity.DONT: "Don't:", Polarity.DO: "Do:", Polarity.KNOW: "Know:"}


def govern(
    items: Iterable[MemoryItem],
    now: datetime,
    budget: int,
    *,
    reason: str = REASON,
    usage: Mapping[str, UseCounts] | None = None,
    forbidden: Iterable[MemoryItem] = (),
) -> Governance:
    """Choose by value what fits the token budget, and lay it out under don't, do and know.

    `usage` counts uses by id (unknown: neutral); `forbidden` are the tombstones of what the user had forgotten.
    """
    counts, tombstones = usage or {}, tuple(forbidden)
    allowed = [item for item in items if not any(restates(item, tombstone) for tombstone in tombstones)]
    ranked = _once(sorted(allowed, key=lambda item: (-value(item, now, counts.get(item.id, UNUSED)), *_later(item))))
    room = budget - overhead(reason) - sum(token_count(title) + 1 for title in _TITLES.values())
    kept, _ = fit(ranked, room)
    under = {polarity: tuple(item for item in kept if heading(item) is polarity) for polarity in Polarity}
    lines = [line for polarity, title in _TITLES.items() for line in _section(title, under[polarity])]
    return Governance(
        know=under[Polarity.KNOW],
        do=under[Polarity.DO],
        dont=under[Polarity.DONT],
        text=fence(lines, reason),
        left_out=len(ranked) - len(kept),
    )


def restates(item: MemoryItem, tombstone: MemoryItem) -> bool:
    """Whether an item says what the user had forgotten, and the user has not said it anew since."""
    if tombstone.id == item.id:
        return True
    since = tombstone.expired_at or tombstone.created_at
    if item.pinned or (item.source is Source.USER and (item.valid_from or item.created_at) > since):
        return False
    if not shares_words(tombstone.content, item.content):  # most pairs, in a tenth of the time
        return False
    dont = item.polarity is Polarity.DONT
    was_dont = tombstone.polarity is Polarity.DONT
    same = relate(tombstone.content, item.content, known_dont=was_dont, new_dont=dont) is Relation.SAME
    return same or rephrases(tombstone.content, item.content, RESTATES, known_dont=was_dont, new_dont=dont)


def _later(item: MemoryItem) -> tuple[float, str, str]:
    """Of two worth the same the one that was said later; ids are drawn at random, and must not decide what a session sees."""
    return -(item.valid_from or item.created_at).timestamp(), item.content, item.id


def _once(ranked: Sequence[MemoryItem]) -> list[MemoryItem]:
    seen: dict[tuple[str, Polarity], MemoryItem] = {}
    for item in ranked:
        seen.setdefault((normalise(item.content), heading(item)), item)
    return list(seen.values())
