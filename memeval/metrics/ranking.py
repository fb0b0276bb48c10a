"""What all ranking metrics share: when they are unscored, and how retrieved pieces become a ranking of ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memeval import registry
from memeval.core.types import Retrieved

CUT_OFFS = (1, 3, 5, 10, 30, 50)
"""LongMemEval's cut-offs, used for every benchmark."""

Formula = Callable[[Sequence[frozenset[str]], frozenset[str], int], float]


@dataclass(frozen=True, slots=True)
class RankingMetric:
    """A pure function of a ranking and the relevant ids at a cut-off.

    Unscored (None): nothing is relevant, k is below 1, or no retrieved piece says where it comes from.
    An empty ranking is scored: nothing was found.
    """

    name: str
    formula: Formula

    def __call__(self, ranked: Sequence[Sequence[str]], relevant: Sequence[str], k: int) -> float | None:
        """Value between 0 and 1 at cut-off k, counted in pieces."""
        if not relevant or k < 1 or (ranked and not any(ranked)):
            return None
        return self.formula([frozenset(piece) for piece in ranked[:k]], frozenset(relevant), k)


def ranking_metric(name: str) -> Callable[[Formula], RankingMetric]:
    """Decorator: makes a RankingMetric of a formula and registers it."""

    def make(formula: Formula) -> RankingMetric:
        return registry.metric(name)(RankingMetric(name, formula))

    return make


def gains(top: Sequence[frozenset[str]], relevant: frozenset[str]) -> list[bool]:
    """For each piece whether it brings a relevant id that no piece before it brought: repeats gain nothing."""
    seen: set[str] = set()
    out = []
    for piece in top:
        new = (piece & relevant) - seen
        seen |= new
        out.append(bool(new))
    return out


def rank_by(retrieved: Sequence[Retrieved], level: str) -> list[tuple[str, ...]]:
    """The ranking at a level, best first.

    `turn`: one entry for each piece, with the turns that it covers. `session`: each session once, where it
    came first, so that k counts sessions (LongMemEval widens k in the same way when it turns a ranking of
    turns into one of sessions). Pieces without a known source keep their place as an empty entry.
    """
    if level == "turn":
        return [piece.turns for piece in retrieved]
    if level != "session":
        raise ValueError(f"unknown level {level!r}: session or turn")
    out: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for piece in retrieved:
        new = tuple(dict.fromkeys(session for session in piece.sessions if session not in seen))
        seen.update(new)
        if not piece.sessions:
            out.append(())
        out.extend((session,) for session in new)
    return out
