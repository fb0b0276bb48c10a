"""What a memory is worth: importance × confidence × usage × freshness. Pure functions.

- importance: weight of the kind × relevancy (which the dream lets decay, and halves for each contradiction)
- usage: 1 when nothing is known; each doubling of its uses adds a quarter, up to 1.5
- freshness: 0.5 + 0.5·exp(-age/180 days), age since it was recorded or last used
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from types import MappingProxyType

from memoryd.clock import from_iso
from memoryd.ledger import How, Use
from memoryd.types import CONFIRMED_TAG, Kind, LinkType, MemoryItem, Source

KIND_WEIGHT: Mapping[Kind, float] = MappingProxyType(
    {
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
)
FRESH_DAYS = 180.0
USAGE_STEP = 0.25
MOST_USAGE = 1.5
PINNED = 2.0
DAY = 86400.0


@dataclass(frozen=True, slots=True)
class UseCounts:
    """How often a memory was used (cited, or returned to a question) or contradicted by the user; when it was last used."""

    used: int = 0
    contradicted: int = 0
    last_used: datetime | None = None


UNUSED = UseCounts()


def count_uses(uses: Iterable[Use]) -> UseCounts:
    """Counts of the uses of one memory. Being injected is no use: what is shown often would else stay for being shown."""
    used = contradicted = 0
    last: datetime | None = None
    for use in uses:
        if use.how is How.CONTRADICTED:
            contradicted += 1
        elif use.how in (How.CITED, How.RETURNED):
            used += 1
            at = from_iso(use.at)
            last = at if last is None else max(last, at)
    return UseCounts(used, contradicted, last)


def inherited(item: MemoryItem, usage: Mapping[str, UseCounts], get: Callable[[str], MemoryItem | None]) -> UseCounts:
    """Counts of a memory and of those that were merged into it; that one of these was recorded counts as a use's time.

    A memory which lost against it (CONTRADICTS) leaves it nothing.
    """
    own = usage.get(item.id, UNUSED)
    lost = {link.target for link in item.links if link.type is LinkType.CONTRADICTS}
    merged = {link.target for link in item.links if link.type is LinkType.SUPERSEDES} - lost
    parts = [own, *(usage.get(id, UNUSED) for id in sorted(merged))]
    recorded = [found.created_at for found in map(get, sorted(merged)) if found is not None]
    times = [*(part.last_used for part in parts if part.last_used), *recorded]
    return UseCounts(sum(p.used for p in parts), max(p.contradicted for p in parts), max(times, default=None))


def age_days(item: MemoryItem, now: datetime, counts: UseCounts = UNUSED) -> float:
    """Days since the memory was recorded or last used; 0 when that lies ahead (a clock that jumped)."""
    since = max(item.created_at, counts.last_used) if counts.last_used else item.created_at
    return max(0.0, (now - since).total_seconds() / DAY)


def usage_factor(counts: UseCounts) -> float:
    """1 when unused, up to 1.5 when often used."""
    return min(MOST_USAGE, 1.0 + USAGE_STEP * math.log2(1 + counts.used))


class Evidence(IntEnum):
    """How well a memory is vouched for, weakest first. What a session is given is ranked by it before anything else."""

    TOOL = 0
    AGENT = 1
    USED = 2
    USER = 3
    PINNED = 4


def evidence_of(item: MemoryItem, counts: UseCounts = UNUSED) -> Evidence:
    """Who vouches for the item: the user by pinning, saying or confirming it, a session by using it, or its source."""
    if item.pinned:
        return Evidence.PINNED
    if item.source is Source.USER or CONFIRMED_TAG in item.tags:
        return Evidence.USER
    if counts.used > counts.contradicted:
        return Evidence.USED
    return Evidence.TOOL if item.source is Source.TOOL else Evidence.AGENT


def value(item: MemoryItem, now: datetime, counts: UseCounts = UNUSED) -> float:
    """How much a session gains from knowing the item, 0..1.5; pinned ones come first (2 and more)."""
    importance = KIND_WEIGHT[item.kind] * item.relevancy
    freshness = 0.5 + 0.5 * math.exp(-age_days(item, now, counts) / FRESH_DAYS)
    return (PINNED if item.pinned else 0.0) + importance * item.confidence * usage_factor(counts) * freshness
