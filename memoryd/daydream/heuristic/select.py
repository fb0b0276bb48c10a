"""Which units are kept: the strongest, each thing once, few per message and few per passage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.daydream.heuristic.units import Unit


@dataclass(frozen=True, slots=True)
class Limits:
    """`bar`: least log odds. A long passage offers much to choose from, so its bar may be lower and its number is capped.

    At most `base + per_root * sqrt(n)` units are kept of a passage in which the user spoke n times, and `per_turn` of
    one turn. Two units are the same when the smaller one's key words lie in the other's by `same` or more.
    """

    bar: float = -1.5
    base: float = 1.0
    per_root: float = 2.0
    per_turn: int = 2
    same: float = 0.6


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its log odds. `sure`: stated so plainly that limits don't hold for it."""

    unit: Unit
    score: float
    sure: bool = False


def covered(a: frozenset[str], b: frozenset[str]) -> float:
    """The share of the smaller set that lies in the larger one, 0..1."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def choose(scored: Sequence[Scored], spoken: int, limits: Limits, skipped: Counter[str]) -> list[Scored]:
    """The kept ones in the order of their place. Counts in `skipped` why others were left out."""
    room = max(1, round(limits.base + limits.per_root * math.sqrt(max(1, spoken))))
    kept: list[Scored] = []
    turns: Counter[int] = Counter()
    for one in sorted(scored, key=lambda s: (not s.sure, -s.score)):
        reason = _refusal(one, kept, turns, room, limits)
        if reason:
            skipped[reason] += 1
            continue
        turns[id(one.unit.turn)] += 1
        kept.append(one)
    places = {id(s): index for index, s in enumerate(scored)}
    return sorted(kept, key=lambda s: places[id(s)])


def _refusal(one: Scored, kept: Sequence[Scored], turns: Counter[int], room: int, limits: Limits) -> str:
    if any(covered(one.unit.words, other.unit.words) >= limits.same for other in kept):
        return "repeated"
    if one.sure:
        return ""
    if one.score < limits.bar:
        return "weak"
    if turns[id(one.unit.turn)] >= limits.per_turn:
        return "enough of this message"
    return "enough of this passage" if len(kept) >= room else ""
