"""The final score: w_r·recency + w_s·relevancy, with small boosts that are named.

recency = exp(-Δt / τ) with Δt the age of the memory and τ in days. Every summand is a part
of the hit, and the parts add up to the score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from memoryd.types import Hit, Kind, MemoryItem, Status

SECONDS_A_DAY = 86_400.0
NEUTRAL_CONFIDENCE = 0.7
PINNED_BOOST = 0.02
CONFIDENCE_BOOST = 0.05
KIND_BOOST = 0.02
DECAY_SHARE = 0.1
MAX_KINDS = 3
# A candidate comes behind what is known, unless it fits much better.
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
    """w_r, w_s and τ (days) of the ranking."""

    recency: float = 0.1
    relevancy: float = 0.9
    days: float = 90.0


def recency(created_at: datetime, now: datetime, days: float) -> float:
    """exp(-Δt / τ), 0..1; a memory from the future (a clock was set back) counts as new."""
    age = max(0.0, (now - created_at).total_seconds())
    return math.exp(-age / (days * SECONDS_A_DAY))


def asked_kinds(text: str) -> tuple[Kind, ...]:
    """Kinds that the wording of a query points to; none when it points everywhere."""
    asked = set(text.casefold().replace("?", " ").split())
    kinds = tuple(
        kind for kind, words in _KIND_WORDS.items() if asked & words or any(not w.isascii() and w in text for w in words)
    )
    return kinds if len(kinds) <= MAX_KINDS else ()


def score_parts(
    item: MemoryItem, relevancy: float, now: datetime, weights: ScoreWeights, kinds: tuple[Kind, ...] = ()
) -> dict[str, float]:
    """Summands of the score.

    recency, relevancy: w_r·exp(-Δt/τ) and w_s·relevancy (0..1). decayed: up to 10 % of the
    latter is taken away as the item's own relevancy decays. confidence: ±0.05 per unit
    around 0.7. pinned and kind: +0.02 when they hold. candidate: a quarter of `relevancy` is taken away
    from what nobody has confirmed. The last five scale with the relevancy, so nothing is lifted that does not fit.
    """
    parts = dict(zip(PARTS, _summands(item, relevancy, now, weights, kinds), strict=True))
    return {name: value for name, value in parts.items() if value or name in ("recency", "relevancy")}


def total_score(item: MemoryItem, relevancy: float, now: datetime, weights: ScoreWeights, kinds: tuple[Kind, ...] = ()) -> float:
    """The sum of `score_parts`."""
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
    """The hit with its final score and parts; `hit.relevancy` is the 0..1 estimate that goes in."""
    parts = score_parts(hit.item, hit.relevancy, now, weights, kinds)
    return replace(hit, score=math.fsum(parts.values()), parts=MappingProxyType(parts))
