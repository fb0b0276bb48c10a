"""What was looked at and left out: counts of all by reason, and the texts of those that came nearest."""

from __future__ import annotations

import heapq
import math
from collections import Counter

from memoryd.daydream.heuristic.units import Unit
from memoryd.types import Refused, Source

MOST = 60
_CHARS = 600


class Skipped:
    """Collects the units that are left out of one passage. Memory is bounded however many there are."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._nearest: list[tuple[float, int, Unit, str]] = []
        self._number = 0

    def add(self, unit: Unit, reason: str, score: float = -math.inf) -> None:
        """Note why a unit is left out; of those without a score the earlier ones count as nearer."""
        self._counts[reason] += 1
        self._number += 1
        entry = (score, -self._number, unit, reason)
        (heapq.heappush if len(self._nearest) < MOST else heapq.heappushpop)(self._nearest, entry)

    @property
    def counts(self) -> dict[str, int]:
        """How many were left out for each reason."""
        return dict(self._counts)

    def nearest(self) -> tuple[Refused, ...]:
        """Up to 60, the nearest first."""
        return tuple(_refused(unit, reason) for _, _, unit, reason in sorted(self._nearest, key=lambda e: e[:2], reverse=True))


def _refused(unit: Unit, reason: str) -> Refused:
    source = Source.USER if unit.by_user and not unit.pasted else Source.AGENT_STEP
    return Refused(unit.text[:_CHARS], reason, source, unit.turn.line, unit.turn.at)
