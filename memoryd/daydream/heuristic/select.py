"""Which statements are proposed: the most promising, each thing once, and no more than a reader can judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoryd.daydream.heuristic.skipped import Skipped
from memoryd.daydream.heuristic.units import Unit

# A model that settles proposals reads eight per three prompts of the user; measured in docs/quality.md.
PER_PROMPT, PER_THREE = 3, 8
# Log odds below which nothing is proposed: on labelled logs it costs no recall, and leaves the room to later prompts.
LEAST = -2.7
# Two statements are the same when the key words of one lie in the other's by `WITHIN`, or their token F1 is `ALIKE`.
WITHIN, ALIKE = 0.8, 0.5


def room(proposed: int) -> int:
    """How many statements may be proposed of the next prompt, when the session has proposed so many: three, three, two."""
    return min(PER_PROMPT, PER_THREE - proposed % PER_THREE)


def best(
    scored: Iterable[tuple[float, Unit]], known: Sequence[frozenset[str]], most: int, skipped: Skipped
) -> list[tuple[float, Unit]]:
    """The best `most`, the best first. `known` are the key words of what the session gave before."""
    out: list[tuple[float, Unit]] = []
    words = list(known)
    for score, unit in sorted(scored, key=lambda pair: -pair[0]):
        if any(same(unit.words, other) for other in words):
            skipped.add(unit, "repeated", score)
        elif score < LEAST:
            skipped.add(unit, "weak", score)
        elif len(out) >= most:
            skipped.add(unit, "enough of this prompt", score)
        else:
            out.append((score, unit))
            words.append(unit.words)
    return out


def same(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether two sets of key words stand for the same statement."""
    both = len(a & b)
    return both > 0 and (both >= WITHIN * min(len(a), len(b)) or 2 * both >= ALIKE * (len(a) + len(b)))
