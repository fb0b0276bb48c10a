"""Which units are kept: the strongest, each thing once, few per message, and as many as the session has room for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.daydream.heuristic.skipped import Skipped
from memoryd.daydream.heuristic.units import Unit


@dataclass(frozen=True, slots=True)
class Limits:
    """What is kept each time the user has spoken and got an answer.

    A session of n lines has room for about `start + per_root * sqrt(n)` memories, less those that it gave already: long
    sessions hold more, but fewer per line. `bar` is the least log odds; where there is room for less than one memory it
    rises by `steep` times the log of the lack, so that a very good statement is kept all the same.
    Two units are the same when the key words of one lie in the other's by `within`, or their token F1 is `alike`.
    """

    bar: float = -1.45
    start: float = 0.25
    per_root: float = 0.12
    steep: float = 0.3
    per_turn: int = 2
    within: float = 0.8
    alike: float = 0.35

    def room(self, last: int, given: int = 0) -> float:
        """How many more memories the session has room for after its line `last`, when it gave so many."""
        return self.start + self.per_root * math.sqrt(last) - given

    def raised(self, room: float) -> float:
        """The bar for a passage with that room."""
        return self.bar + self.steep * max(0.0, math.log(1.0 / max(room, LEAST_ROOM)))


LEAST_ROOM = 0.05


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its log odds. `sure`: stated so plainly that limits don't hold for it."""

    unit: Unit
    score: float
    sure: bool = False


def choose(
    scored: Sequence[Scored], last: int, limits: Limits, skipped: Skipped, given: Sequence[frozenset[str]] = ()
) -> list[Scored]:
    """The kept ones in the order of their place. Notes in `skipped` why others were left out.

    `last` is the number of the last line that they come from, `given` are the key words of what the session gave before.
    """
    room = limits.room(last, len(given))
    places, bar = max(1, math.ceil(room) if room < 2 else round(room)), limits.raised(room)
    kept: list[Scored] = []
    for one in sorted(scored, key=lambda s: (not s.sure, -s.score)):
        reason = _repeats(one, kept, given, limits) or ("" if one.sure else _refusal(one, kept, bar, places, limits))
        if reason:
            skipped.add(one.unit, reason, one.score)
        else:
            kept.append(one)
    order = {id(s): index for index, s in enumerate(scored)}
    return sorted(kept, key=lambda s: order[id(s)])


def _repeats(one: Scored, kept: Sequence[Scored], given: Sequence[frozenset[str]], limits: Limits) -> str:
    """A sure statement may repeat what was given: it may confirm or correct that."""
    others = [k.unit.words for k in kept] + ([] if one.sure else list(given))
    return "repeated" if any(same(one.unit.words, words, limits) for words in others) else ""


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
