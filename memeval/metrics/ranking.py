"""Ranking metrics, which compare the ordered retrieved ids with the relevant ids."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memeval import registry
from memeval.core.overlap import Vector, cosine
from memeval.core.types import Retrieved

CUT_OFFS = (1, 3, 5, 10, 30, 50)
"""LongMemEval's cut-offs, used for every benchmark."""

Formula = Callable[[Sequence[frozenset[str]], frozenset[str], int], float]


@dataclass(frozen=True, slots=True)
class RankingMetric:
    """A pure function of a ranking and the relevant ids at a cut-off.

    The value is None (unscored) if nothing is relevant, k is below 1, or no retrieved passage has a known source. An
    empty ranking is scored, because it means that the system found nothing.
    """

    name: str
    formula: Formula

    def __call__(self, ranked: Sequence[Sequence[str]], relevant: Sequence[str], k: int) -> float | None:
        """Compute the value at a cut-off of k passages. It is between 0 and 1."""
        if not relevant or k < 1 or (ranked and not any(ranked)):
            return None
        return self.formula([frozenset(piece) for piece in ranked[:k]], frozenset(relevant), k)


def ranking_metric(name: str) -> Callable[[Formula], RankingMetric]:
    """Decorate a formula to turn it into a RankingMetric and register it."""

    def make(formula: Formula) -> RankingMetric:
        return registry.metric(name)(RankingMetric(name, formula))

    return make


def gains(top: Sequence[frozenset[str]], relevant: frozenset[str]) -> list[bool]:
    """Return, for each passage, whether it adds a relevant id not covered by an earlier passage."""
    seen: set[str] = set()
    out = []
    for piece in top:
        new = (piece & relevant) - seen
        seen |= new
        out.append(bool(new))
    return out


def rank_by(retrieved: Sequence[Retrieved], level: str) -> list[tuple[str, ...]]:
    """Convert retrieved passages to a ranking at a level, best first.

    At level `turn`, there is one entry per passage with the turns it covers. At level `session`, each session is
    listed once, at its first position, so k counts sessions. LongMemEval widens k in the same way when converting a
    ranking of turns to one of sessions. Passages without a known source keep their rank as an empty entry.
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


def _found(top: Sequence[frozenset[str]], relevant: frozenset[str]) -> frozenset[str]:
    return frozenset().union(*top) & relevant


@ranking_metric("recall_any")
def recall_any(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Return 1 if any relevant id was retrieved, otherwise 0."""
    return float(bool(_found(top, relevant)))


@ranking_metric("recall_all")
def recall_all(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Return 1 if every relevant id was retrieved, otherwise 0."""
    return float(_found(top, relevant) == relevant)


@ranking_metric("recall_fraction")
def recall_fraction(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Return the fraction of relevant ids that were retrieved."""
    return len(_found(top, relevant)) / len(relevant)


@ranking_metric("precision")
def precision(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Return the share of retrieved passages that are relevant. A repeated passage counts each time."""
    return sum(bool(piece & relevant) for piece in top) / len(top) if top else 0.0


@ranking_metric("f1")
def f1(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Compute F1, a value between 0 and 1. It is 0 if nothing relevant was retrieved."""
    found: frozenset[str] = frozenset().union(*top)
    common = len(found & relevant)
    return 2 * common / (len(found) + len(relevant)) if common else 0.0


@ranking_metric("mrr")
def mrr(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Return the reciprocal rank for one question."""
    return next((1 / rank for rank, piece in enumerate(top, start=1) if piece & relevant), 0.0)


Discount = Callable[[int], float]


@ranking_metric("ndcg")
def ndcg(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Compute NDCG in its standard form."""
    return _normalised(top, relevant, k, lambda rank: math.log2(rank + 1))


@ranking_metric("ndcg_official")
def ndcg_official(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Compute NDCG in LongMemEval's form, which gives ranks 1 and 2 the same weight."""
    return _normalised(top, relevant, k, lambda rank: math.log2(max(rank, 2)))


def _normalised(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int, discount: Discount) -> float:
    ideal = _dcg([True] * min(k, len(relevant)), discount)
    return _dcg(gains(top, relevant), discount) / ideal


def _dcg(relevances: Iterable[bool], discount: Discount) -> float:
    return math.fsum(1 / discount(rank) for rank, gain in enumerate(relevances, start=1) if gain)


def recency(ranked: Sequence[Sequence[str]], relevant: Sequence[str], dates: Mapping[str, datetime]) -> float | None:
    """Compute recency for one question.

    `dates` maps ids to their times. If several ids are equally recent, any of them counts. The value is None (unscored) if
    nothing is relevant, a relevant id has no date, or no passage has a known source.
    """
    if not relevant or any(item not in dates for item in relevant) or (ranked and not any(ranked)):
        return None
    newest = max(dates[item] for item in relevant)
    freshest = {item for item in relevant if dates[item] == newest}
    return float(bool(ranked) and not freshest.isdisjoint(ranked[0]))


def relevancy(query: Vector, items: Sequence[Vector]) -> float | None:
    """Compute relevancy for one question, a value between -1 and 1. It is None (unscored) if nothing was retrieved."""
    if not items:
        return None
    return math.fsum(cosine(query, item) for item in items) / len(items)
