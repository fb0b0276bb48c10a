"""Which units are kept: the strongest, each thing once, few per message and few per passage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.daydream.heuristic.skipped import Skipped
from memoryd.daydream.heuristic.units import Unit
from memoryd.types import Turn


@dataclass(frozen=True, slots=True)
class Limits:
    """What is kept of a passage.

    A session of n lines has room for about `start + per_root * sqrt(n)` memories: long ones hold more, but fewer per
    line. A passage out of the middle gets its part of that. `bar` is the least log odds; where there is room for less
    than one memory it rises by `steep` times the log of the lack.
    Two units are the same when the key words of one lie in the other's by `within`, or their token F1 is `alike`.
    """

    bar: float = -1.5
    start: float = 2.5
    per_root: float = 0.24
    steep: float = 0.3
    per_turn: int = 2
    within: float = 0.8
    alike: float = 0.35

    def room(self, turns: Sequence[Turn]) -> float:
        """How many memories the turns have room for, by their place in the log."""
        lines = [turn.line for turn in turns if turn.line > 0] or [1, max(1, len(turns))]
        first, last = min(lines), max(lines)
        part = self.per_root * (math.sqrt(last) - math.sqrt(first - 1))
        return part + (self.start if first <= OPENING_LINES else 0.0)

    def raised(self, room: float) -> float:
        """The bar for a passage with that room."""
        return self.bar + self.steep * max(0.0, math.log(1.0 / max(room, 0.05)))


# The lines with which a log opens (settings, snapshots) before anybody speaks.
OPENING_LINES = 8


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its log odds. `sure`: stated so plainly that limits don't hold for it."""

    unit: Unit
    score: float
    sure: bool = False


def choose(scored: Sequence[Scored], turns: Sequence[Turn], limits: Limits, skipped: Skipped) -> list[Scored]:
    """The kept ones in the order of their place. Notes in `skipped` why others were left out."""
    room = limits.room(turns)
    places, bar = max(1, math.ceil(room) if room < 2 else round(room)), limits.raised(room)
    kept: list[Scored] = []
    for one in sorted(scored, key=lambda s: (not s.sure, -s.score)):
        reason = _repeats(one, kept, limits) or ("" if one.sure else _refusal(one, kept, bar, places, limits))
        if reason:
            skipped.add(one.unit, reason, one.score)
        else:
            kept.append(one)
    order = {id(s): index for index, s in enumerate(scored)}
    return sorted(kept, key=lambda s: order[id(s)])


def _repeats(one: Scored, kept: Sequence[Scored], limits: Limits) -> str:
    return "repeated" if any(same(one.unit.words, k.unit.words, limits) for k in kept) else ""


def _refusal(one: Scored, kept: Sequence[Scored], bar: float, places: int, limits: Limits) -> str:
    if one.score < bar:
        return "weak"
    if sum(k.unit.turn is one.unit.turn for k in kept) >= limits.per_turn:
        return "enough of this message"
    return "enough of this passage" if len(kept) >= places else ""


def same(a: frozenset[str], b: frozenset[str], limits: Limits) -> bool:
    """Whether two sets of key words stand for the same statement."""
    both = len(a & b)
    return both > 0 and (both >= limits.within * min(len(a), len(b)) or 2 * both >= limits.alike * (len(a) + len(b)))
