"""Percentile bootstrap intervals of a mean and of a paired difference.

Draw n values with replacement, take the mean, do it `resamples` times; the interval lies between the quantiles. With
`clusters` whole clusters are drawn (LoCoMo asks 200 questions of one conversation: they are not independent).
Source: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13; clusters: Cameron, Gelbach & Miller 2008.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memeval.stats.interval import Interval, check_confidence

Floats = npt.NDArray[np.float64]
RESAMPLES = 10_000
_AT_ONCE = 2_000_000  # drawn values in memory


def bootstrap_mean(
    values: Sequence[float],
    *,
    seed: int,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Interval of the mean of any values; None for no values. The same seed gives the same interval."""
    check_confidence(confidence)
    if not values:
        return None
    sums, counts = _grouped(np.asarray(values, dtype=np.float64), clusters)
    means = _resampled_means(sums, counts, np.random.default_rng(seed), resamples)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    method = "bootstrap" if clusters is None else "cluster bootstrap"
    return Interval(float(low), float(high), confidence, method, seed)


def bootstrap_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    seed: int,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Interval of mean(first) - mean(second), paired by position."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    return bootstrap_mean(differences, seed=seed, clusters=clusters, confidence=confidence, resamples=resamples)


def _grouped(values: Floats, clusters: Sequence[str] | None) -> tuple[Floats, Floats]:
    """Sum and count of each unit that is drawn."""
    if clusters is None:
        return values, np.ones_like(values)
    if len(clusters) != len(values):
        raise ValueError(f"{len(clusters)} clusters for {len(values)} values")
    number = {name: position for position, name in enumerate(dict.fromkeys(clusters))}
    units = np.array([number[name] for name in clusters])
    return np.bincount(units, weights=values).astype(np.float64), np.bincount(units).astype(np.float64)


def _resampled_means(sums: Floats, counts: Floats, random: np.random.Generator, resamples: int) -> Floats:
    units = len(sums)
    step = max(1, _AT_ONCE // units)
    parts = []
    for start in range(0, resamples, step):
        drawn = random.integers(0, units, size=(min(step, resamples - start), units))
        parts.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    return np.concatenate(parts)
