"""The final score of a hit: w_r·recency + w_s·relevancy, plus small named boosts.

recency = exp(-Δt / τ), where Δt is the age of the memory and τ is in days. Each summand is one of the hit's parts, which add up
to the score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from memoryd.core.types import Backend, Hit, Kind, MemoryItem, Status

# Fusion of several lists by the weighted sum of z-scores over the union of the candidates.
#
# It measured better than reciprocal rank fusion, which discards distances. An item's signals come from different indexes: bm25,
# coverage, cosine, graph (higher is better for all).

Signals = Mapping[str, Mapping[str, float]]
WEIGHTS: Mapping[str, float] = MappingProxyType({"cosine": 1.0, "bm25": 0.5, "coverage": 0.5, "graph": 0.3})
MAIN_SIGNAL = MappingProxyType(
    {Backend.MARKDOWN: "bm25", Backend.VECTOR: "cosine", Backend.GRAPH: "graph", Backend.HYBRID: "fused"}
)
# A missing value of these signals is truly zero (no common word, no connection). A cosine that was not computed is unknown.
ZERO_WHEN_MISSING = frozenset({"bm25", "coverage", "graph"})
# Relative to the largest value. A smaller spread is rounding error between equal values.
SMALLEST_SPREAD = 1e-9


@dataclass(frozen=True, slots=True)
class Fused:
    """A ranked candidate. `score` is the sum of `parts`, which contain one weighted z-score per signal."""

    id: str
    score: float
    parts: Mapping[str, float]


def fuse(signals: Signals, weights: Mapping[str, float] = WEIGHTS) -> list[Fused]:
    """Rank candidates by descending score, then id. The input maps each item id to the values of its signals.

    A missing signal counts as 0 for bm25, coverage and graph. For any other, it counts as the lowest value present
    (the item was not among that list's best). Signals without a weight or spread, and non-finite values, count as 0.
    """
    ids = sorted(signals)
    columns = {name: z_scores(signals, ids, name) for name in sorted(weights) if weights[name]}
    out = []
    for position, id in enumerate(ids):
        parts = {name: weights[name] * column[position] for name, column in columns.items() if column}
        out.append(Fused(id, math.fsum(parts.values()), MappingProxyType(parts)))
    return sorted(out, key=lambda fused: (-fused.score, fused.id))


def z_scores(signals: Signals, ids: Sequence[str], name: str) -> list[float]:
    """Return the z-score of each id in order, or nothing if no item has the signal. Missing values are treated as in `fuse`."""
    present = [value for id in ids if math.isfinite(value := signals[id].get(name, math.nan))]
    if not present:
        return []
    missing = 0.0 if name in ZERO_WHEN_MISSING else min(present)
    values = [value if math.isfinite(value := signals[id].get(name, math.nan)) else missing for id in ids]
    scale = max(map(abs, values)) or 1.0
    values = [value / scale for value in values]
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return [0.0 if spread < SMALLEST_SPREAD else (value - mean) / spread for value in values]


def signals_of(lists: Mapping[Backend, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Convert each backend's scores by id to signals by item id, using the backend's main signal."""
    out: dict[str, dict[str, float]] = {}
    for backend in sorted(lists):
        name = MAIN_SIGNAL[backend]
        for id, score in lists[backend].items():
            out.setdefault(id, {})[name] = score
    return out


SECONDS_A_DAY = 86_400.0
NEUTRAL_CONFIDENCE = 0.7
PINNED_BOOST = 0.02
CONFIDENCE_BOOST = 0.05
KIND_BOOST = 0.02
DECAY_SHARE = 0.1
MAX_KINDS = 3
# A candidate ranks after confirmed memories unless it fits much better.
CANDIDATE_SHARE = 0.25
PARTS = ("recency", "relevancy", "decayed", "confidence", "pinned", "kind", "candidate")
_KIND_WORDS: Mapping[Kind, frozenset[str]] = MappingProxyType(
    {
        Kind.PREFERENCE: frozenset("prefer preference preferences preferred favourite favorite style 喜欢 偏好".split()),
        Kind.RULE: frozenset("rule rules allowed forbidden may must never always policy правило правила 规则".split()),
        Kind.DECISION: frozenset("decide decided decision chose chosen agreed решили решение 决定".split()),
        Kind.FIX: frozenset("fix fixed cause solved repair solution crash исправить 修复 解决".split()),
        Kind.DEAD_END: frozenset("tried failed attempt attempts abandoned".split()),
        Kind.ENVIRONMENT: frozenset("install installed host machine version environment port interpreter".split()),
        Kind.TODO: frozenset("todo todos left remaining next planned plan".split()),
    }
)


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """The weights w_r and w_s and the time constant τ (in days) of the ranking."""

    recency: float = 0.1
    relevancy: float = 0.9
    days: float = 90.0


def recency(created_at: datetime, now: datetime, days: float) -> float:
    """Return exp(-Δt / τ), from 0 to 1. A memory from the future (the clock was set back) counts as new."""
    age = max(0.0, (now - created_at).total_seconds())
    return math.exp(-age / (days * SECONDS_A_DAY))


def asked_kinds(text: str) -> tuple[Kind, ...]:
    """Return the kinds suggested by a query's wording, or none if it suggests too many."""
    asked = set(text.casefold().replace("?", " ").split())
    kinds = tuple(
        kind for kind, words in _KIND_WORDS.items() if asked & words or any(not w.isascii() and w in text for w in words)
    )
    return kinds if len(kinds) <= MAX_KINDS else ()


def score_parts(
    item: MemoryItem, relevancy: float, now: datetime, weights: ScoreWeights, kinds: tuple[Kind, ...] = ()
) -> dict[str, float]:
    """Return the summands of a hit's score.

    recency and relevancy: w_r·exp(-Δt/τ) and w_s·relevancy (0 to 1). decayed: up to 10 % less relevancy as the item's
    own relevancy decays. confidence: ±0.05 per unit around 0.7. pinned and kind: +0.02 each. candidate: a quarter
    less relevancy for unconfirmed memories. The last five scale with the relevancy, so they can't lift an item that
    does not fit.
    """
    parts = dict(zip(PARTS, _summands(item, relevancy, now, weights, kinds), strict=True))
    return {name: value for name, value in parts.items() if value or name in ("recency", "relevancy")}


def total_score(item: MemoryItem, relevancy: float, now: datetime, weights: ScoreWeights, kinds: tuple[Kind, ...] = ()) -> float:
    """Return the sum of `score_parts`."""
    return math.fsum(_summands(item, relevancy, now, weights, kinds))


def _summands(
    item: MemoryItem, relevancy: float, now: datetime, weights: ScoreWeights, kinds: tuple[Kind, ...]
) -> tuple[float, ...]:
    return (
        weights.recency * recency(item.created_at, now, weights.days) if weights.recency else 0.0,
        weights.relevancy * relevancy,
        -DECAY_SHARE * weights.relevancy * relevancy * (1.0 - item.relevancy),
        CONFIDENCE_BOOST * (item.confidence - NEUTRAL_CONFIDENCE) * relevancy,
        PINNED_BOOST * relevancy if item.pinned else 0.0,
        KIND_BOOST * relevancy if item.kind in kinds else 0.0,
        -CANDIDATE_SHARE * weights.relevancy * relevancy if item.status is Status.CANDIDATE else 0.0,
    )


def score_hit(hit: Hit, now: datetime, weights: ScoreWeights, kinds: tuple[Kind, ...] = ()) -> Hit:
    """Return the hit with its final score and parts, computed from the relevancy estimate (0 to 1)."""
    parts = score_parts(hit.item, hit.relevancy, now, weights, kinds)
    return replace(hit, score=math.fsum(parts.values()), parts=MappingProxyType(parts))
