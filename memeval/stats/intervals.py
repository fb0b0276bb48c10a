"""Confidence intervals: Wilson's interval for proportions, the bootstrap for means, and cluster-robust intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from memoryd.core.student import t_quantile, two_sided_p


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with its confidence (0.95) and method and, if applicable, the seed and the number of clusters."""

    low: float
    high: float
    confidence: float
    method: str
    seed: int | None = None
    clusters: int | None = None


def check_confidence(confidence: float) -> None:
    """Raise ValueError unless the confidence is between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")


def wilson(successes: float, total: float, confidence: float = 0.95) -> Interval | None:
    """Compute Wilson's interval. Return None if the total is 0.

    Raises ValueError if the successes are not between 0 and the total.
    """
    check_confidence(confidence)
    if total == 0:
        return None
    if not 0 <= successes <= total:
        raise ValueError(f"{successes} successes of {total} are impossible")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / total
    scale = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / scale
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    # Exactly 0 or 1 at the extremes, which rounding could miss.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == total else min(1.0, centre + half)
    return Interval(low, high, confidence, "wilson")


Floats = npt.NDArray[np.float64]
RESAMPLES = 10_000
_AT_ONCE = 2_000_000  # Number of resampled values in memory.


def bootstrap_mean(
    values: Sequence[float],
    *,
    seed: int,
    clusters: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Compute the interval of a mean with the bootstrap. Return None without values. The same seed gives the same result."""
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
    """Compute the interval of mean(first) - mean(second) with the bootstrap. The values are paired by position."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    return bootstrap_mean(differences, seed=seed, clusters=clusters, confidence=confidence, resamples=resamples)


def _grouped(values: Floats, clusters: Sequence[str] | None) -> tuple[Floats, Floats]:
    """Return the sum and the count of each unit of resampling."""
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


FEW = 20
"""Reports show a warning for fewer clusters than this."""


def cluster_sums(values: Sequence[float], clusters: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the sum and the count of each cluster, in order of appearance. Raises ValueError for different lengths."""
    if len(clusters) != len(values):
        raise ValueError(f"{len(clusters)} clusters for {len(values)} values")
    number = {name: position for position, name in enumerate(dict.fromkeys(clusters))}
    places = np.array([number[name] for name in clusters], dtype=np.int64)
    data = np.asarray(values, dtype=np.float64)
    return np.bincount(places, weights=data).astype(np.float64), np.bincount(places).astype(np.float64)


def cluster_mean(
    values: Sequence[float], clusters: Sequence[str], confidence: float = 0.95, *, graded: bool = False
) -> Interval | None:
    """Compute the cluster-robust interval of a mean. Return None without values or with a single cluster.

    `Interval.clusters` is the number of clusters, G. If `graded` is true, the values aren't treated as yes/no values, even if
    all are 0 or 1.
    """
    check_confidence(confidence)
    sums, counts = cluster_sums(values, clusters) if len(values) else (np.zeros(0), np.zeros(0))
    size = len(sums)
    if size < 2:
        return None
    mean, error = _mean_and_error(sums, counts)
    reach = t_quantile(confidence, _degrees(counts))
    if not graded and all(value in (0.0, 1.0) for value in values):
        return _share(mean, error, len(values), reach, confidence, size)
    return Interval(mean - reach * error, mean + reach * error, confidence, "cluster t", clusters=size)


def cluster_p(differences: Sequence[float], clusters: Sequence[str]) -> float | None:
    """Return the two-sided p-value for a mean of 0, by t with G - 1 degrees of freedom.

    Return None for a single cluster, and 1 if all differences are 0.
    """
    sums, counts = cluster_sums(differences, clusters) if len(differences) else (np.zeros(0), np.zeros(0))
    if len(sums) < 2:
        return None
    mean, error = _mean_and_error(sums, counts)
    if abs(mean) < 1e-12:
        return 1.0
    return two_sided_p(mean / error if error else math.inf, _degrees(counts))


def _mean_and_error(sums: Floats, counts: Floats) -> tuple[float, float]:
    total, asked = float(sums.sum()), float(counts.sum())
    mean = total / asked
    without = (total - sums) / (asked - counts)
    size = len(sums)
    return mean, math.sqrt((size - 1) / size * float(((without - mean) ** 2).sum()))


def _degrees(counts: Floats) -> float:
    """Return G* - 1, but at least 1."""
    return max(1.0, float(counts.sum() ** 2 / (counts**2).sum()) - 1)


def _share(mean: float, error: float, asked: int, reach: float, confidence: float, size: int) -> Interval:
    normal = NormalDist().inv_cdf(0.5 + confidence / 2)
    free = mean * (1 - mean) / error**2 if error else math.inf
    effective = min(free, asked) * (normal / reach) ** 2
    found = wilson(mean * effective, effective, confidence)
    assert found is not None  # With at least two clusters, the effective number is above 0.
    return Interval(found.low, found.high, confidence, "cluster wilson", clusters=size)
