"""Order of events, as BEAM scores it: Kendall's tau-b of two lists that need not hold the same items.

    tau_b = (C - D) / √((P - T_a)(P - T_b))      C, D concordant and discordant pairs of P; T_a, T_b pairs tied on a side
    tau_norm = (tau_b + 1) / 2                    F1 is that of the items, score = tau_norm · F1

The union of both lists is ranked twice; an item that a list lacks shares the rank after all others there. Undefined (None)
when a side has one rank only. Source: event_ordering_score in src/evaluation/compute_metrics.py of BEAM (Tavakoli et al.
2025); tau-b: Kendall 1945.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True, slots=True)
class EventOrder:
    """`tau_norm` and `score` are None where tau is undefined."""

    precision: float
    recall: float
    f1: float
    tau_norm: float | None

    @property
    def score(self) -> float | None:
        """Order times F1."""
        return None if self.tau_norm is None else self.tau_norm * self.f1


def event_order(gold: Sequence[str], said: Sequence[str]) -> EventOrder:
    """Scores of a list whose items are written as in the gold where they are the same event."""
    common = len(set(gold) & set(said))
    extra = sum(item not in gold for item in said)
    missing = sum(item not in said for item in gold)
    precision = common / (common + extra) if common + extra else 0.0
    recall = common / (common + missing) if common + missing else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    union = list(dict.fromkeys([*gold, *said]))
    tau = tau_b(_ranks(gold, union), _ranks(said, union))
    return EventOrder(precision, recall, f1, None if tau is None else (tau + 1) / 2)


def _ranks(items: Sequence[str], union: Sequence[str]) -> list[int]:
    """The place of each item of the union; of an item that occurs twice the last one, as the script has it."""
    places = {item: place for place, item in enumerate(items, start=1)}
    return [places.get(item, len(union) + 1) for item in union]


def tau_b(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Kendall's tau with ties; None when a side has no two different values."""
    difference = pairs = tied_first = tied_second = 0
    for (a, x), (b, y) in combinations(zip(first, second, strict=True), 2):
        pairs += 1
        tied_first += a == b
        tied_second += x == y
        difference += ((a > b) - (a < b)) * ((x > y) - (x < y))
    scale = (pairs - tied_first) * (pairs - tied_second)
    return difference / math.sqrt(scale) if scale else None
