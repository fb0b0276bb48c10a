"""Rankings scored as the official scripts of LongMemEval and LoCoMo score them.

LongMemEval, variant `official`
    At turn granularity the documents of a session are two: its turns with an answer, and the others (the script renames
    the latter `noans_...`). At session level k counts such documents, and only the first kind is evidence.
    ndcg_official counts every indexed turn: DCG = rel_1 + Σ_{i>=2} rel_i / log2(i) over the turns down to the one that
    brings the k-th document, divided by that of all relevant turns of the haystack, cut at as many.
    A haystack that repeats a session id has its turns twice under one name.

LoCoMo, variant `locomo_official`
    recall = entries of the evidence that are among the first k pieces / entries, 1 for a question without evidence

Sources: LongMemEval, src/retrieval/eval_utils.py and run_retrieval.py; LoCoMo, task_eval/evaluation.py.
Tests compare a stored table of what these scripts return.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from memeval.core.protocols import RetrievalMetric
from memeval.core.types import Retrieved
from memeval.metrics.ranking import rank_by
from memeval.metrics.targets import Targets, document, session_of

Scorer = Callable[[RetrievalMetric, int], float | None]
_REST = "#rest"


def ranking(pieces: Sequence[Retrieved], target: Targets, granularity: str) -> list[tuple[str, ...]]:
    """The ranking that `target.ids` are looked for in, each document once at session level."""
    if target.variant != "official":
        return rank_by(pieces, target.level)
    if target.level == "turn":
        return [tuple(document(turn, target.same) for turn in piece.turns) for piece in pieces]
    if granularity == "session":
        return [tuple(target.same.get(name, name) for name in entry) for entry in rank_by(pieces, "session")]
    return [(name,) if name else () for name in dict.fromkeys(_documents(pieces, target))]


def scorer(pieces: Sequence[Retrieved], target: Targets, granularity: str) -> Scorer:
    """A function that gives the value of a metric at a cut-off; None where the metric has none."""
    ranked = ranking(pieces, target, granularity)
    if target.variant == "locomo_official":
        return lambda metric, k: _locomo_recall(ranked, target, k) if metric.name == "recall_fraction" else None

    def score(metric: RetrievalMetric, k: int) -> float | None:
        value = metric(ranked, target.ids, k)
        if value is not None and metric.name == "ndcg_official":
            return _ndcg(pieces, target, granularity, k)
        return value

    return score


def _documents(pieces: Sequence[Retrieved], target: Targets) -> list[str]:
    """The document of each turn that was found, in order; "" for a piece of unknown source."""
    wanted = set(target.turns)
    out = []
    for piece in pieces:
        for turn in piece.turns:
            home = session_of(turn)
            out.append(target.same.get(home, home) + ("" if turn in wanted else _REST))
        if not piece.turns:
            out += [target.same.get(home, home) for home in piece.sessions] or [""]
    return out


def _ndcg(pieces: Sequence[Retrieved], target: Targets, granularity: str, k: int) -> float:
    if target.level == "session" and granularity != "session":
        items = _documents(pieces, target)
        depth = _depth(items, k)
        indexed = len(target.turns)
    else:
        items = [name for entry in ranking(pieces, target, granularity) for name in entry or ("",)]
        depth = k
        indexed = len(target.turns) if target.level == "turn" else len({session_of(turn) for turn in target.turns})
    relevant = set(target.ids)
    return _dcg([item in relevant for item in items[:depth]]) / _dcg([True] * min(depth, indexed))


def _depth(items: Sequence[str], k: int) -> int:
    """How far down the k-th document is: at least k items, and all of them when there are fewer documents."""
    seen: set[str] = set()
    for place, item in enumerate(items, start=1):
        seen.add(item)
        if place >= k and len(seen) >= k:
            return place
    return max(k, len(items))


def _dcg(relevances: Sequence[bool]) -> float:
    return math.fsum(1 / math.log2(max(place, 2)) for place, hit in enumerate(relevances, start=1) if hit)


def _locomo_recall(ranked: Sequence[Sequence[str]], target: Targets, k: int) -> float | None:
    """None when no piece tells where it comes from."""
    if not target.entries:
        return 1.0
    if ranked and not any(ranked):
        return None
    found = {name for entry in ranked[:k] for name in entry}
    return sum(entry in found for entry in target.entries) / len(target.entries)
