"""One list out of several: the weighted sum of z-scores over the union of the candidates.

Measured better than reciprocal rank fusion, which throws the distances away. Signals of one
item come from different indexes: bm25, coverage, cosine, graph (higher is better in all).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from memoryd.types import Backend

Signals = Mapping[str, Mapping[str, float]]
WEIGHTS: Mapping[str, float] = MappingProxyType({"cosine": 1.0, "bm25": 0.5, "coverage": 0.5, "graph": 0.3})
MAIN_SIGNAL = MappingProxyType(
    {Backend.MARKDOWN: "bm25", Backend.VECTOR: "cosine", Backend.GRAPH: "graph", Backend.HYBRID: "fused"}
)
# Without a common word or a connection these are truly zero; a cosine that nobody computed is not.
ZERO_WHEN_MISSING = frozenset({"bm25", "coverage", "graph"})
# Of the largest value: less is what rounding leaves of equal ones.
SMALLEST_SPREAD = 1e-9


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate's place: `score` is the sum of `parts`, one for each signal (weighted z-scores, around 0)."""

    id: str
    score: float
    parts: Mapping[str, float]


def fuse(signals: Signals, weights: Mapping[str, float] = WEIGHTS) -> list[Fused]:
    """Candidates best first (score descending, then id), from item id -> signal -> value.

    A signal that an item lacks counts as 0 for bm25, coverage and graph, and as the lowest
    value present for any other (it was not among that list's best). Signals without a
    weight, without a spread or that are not finite numbers say nothing and count 0.
    """
    ids = sorted(signals)
    columns = {name: z_scores(signals, ids, name) for name in sorted(weights) if weights[name]}
    out = []
    for position, id in enumerate(ids):
        parts = {name: weights[name] * column[position] for name, column in columns.items() if column}
        out.append(Fused(id, math.fsum(parts.values()), MappingProxyType(parts)))
    return sorted(out, key=lambda fused: (-fused.score, fused.id))


def z_scores(signals: Signals, ids: Sequence[str], name: str) -> list[float]:
    """Z-score of each id, in the order of the ids; an empty list when nobody has the signal. See `fuse` for missing values."""
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
    """Item id -> signal -> value from what each backend found: its scores by id, under the backend's main signal."""
    out: dict[str, dict[str, float]] = {}
    for backend in sorted(lists):
        name = MAIN_SIGNAL[backend]
        for id, score in lists[backend].items():
            out.setdefault(id, {})[name] = score
    return out
