"""Normalised discounted cumulative gain, in two formulae that give different numbers.

    ndcg           DCG@k = Σ_{i=1..k} rel_i / log2(i + 1)              Järvelin & Kekäläinen 2002, as trec_eval has it
    ndcg_official  DCG@k = rel_1 + Σ_{i=2..k} rel_i / log2(i)          LongMemEval, src/retrieval/eval_utils.py

Both divide by the DCG of the ideal ranking, min(k, |relevant|) relevant pieces first. rel_i is 1 if piece i brings a
relevant id that no piece before it brought, so a repeat can't lift the value above 1. LongMemEval counts repeats on
both sides of the division; without repeats the values are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from memeval.metrics.ranking import gains, ranking_metric

Discount = Callable[[int], float]


@ranking_metric("ndcg")
def ndcg(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """The standard form."""
    return _normalised(top, relevant, k, lambda rank: math.log2(rank + 1))


@ranking_metric("ndcg_official")
def ndcg_official(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """LongMemEval's form: ranks 1 and 2 weigh the same."""
    return _normalised(top, relevant, k, lambda rank: math.log2(max(rank, 2)))


def _normalised(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int, discount: Discount) -> float:
    ideal = _dcg([True] * min(k, len(relevant)), discount)
    return _dcg(gains(top, relevant), discount) / ideal


def _dcg(relevances: Iterable[bool], discount: Discount) -> float:
    return math.fsum(1 / discount(rank) for rank, gain in enumerate(relevances, start=1) if gain)
