"""What a session should know at its start: the few rules and facts that matter most.

value = weight of the kind × confidence × relevancy × freshness, freshness = 0.5 + 0.5·exp(-age/180 days).
Rules age less than facts lose: a rule of last year still holds. Only what the user said
is shown as a rule (do, don't); what an agent or tool found is shown as knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryd.recall.fence import fence, fit, item_line, overhead
from memoryd.text import token_count
from memoryd.types import Kind, MemoryItem, Polarity, Trust

KIND_WEIGHT = {
    Kind.RULE: 1.0,
    Kind.PREFERENCE: 0.9,
    Kind.DECISION: 0.8,
    Kind.ENVIRONMENT: 0.75,
    Kind.DEAD_END: 0.6,
    Kind.FIX: 0.55,
    Kind.FACT: 0.5,
    Kind.TODO: 0.45,
    Kind.NOTE: 0.4,
}
FRESH_DAYS = 180.0
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


def value(item: MemoryItem, now: datetime) -> float:
    """How much a session gains from knowing the item, 0..1; pinned ones come first (above 1)."""
    age_days = max(0.0, (now - item.created_at).total_seconds() / 86400)
    freshness = 0.5 + 0.5 * math.exp(-age_days / FRESH_DAYS)
    pinned = 1.0 if item.pinned else 0.0
    return pinned + KIND_WEIGHT[item.kind] * item.confidence * item.relevancy * freshness


def heading(item: MemoryItem) -> Polarity:
    """Where the item is shown: only the user's own words become a rule."""
    return item.polarity if item.trust is Trust.INSTRUCTION else Polarity.KNOW


def _section(title: str, items: Sequence[MemoryItem]) -> list[str]:
    return [title, *map(item_line, items)] if items else []


_TITLES = {Polarity.DONT: "Don't:", Polarity.DO: "Do:", Polarity.KNOW: "Know:"}


def govern(items: Iterable[MemoryItem], now: datetime, budget: int, *, reason: str = REASON) -> Governance:
    """Choose by value what fits the token budget, and lay it out under don't, do and know."""
    ranked = sorted(items, key=lambda item: (-value(item, now), item.id))
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
