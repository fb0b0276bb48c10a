"""Intervals of a mean whose values come in clusters: questions of one conversation, tasks of one repository.

    SE² = (G - 1)/G · Σ_g (m_(-g) - m)²      m_(-g): the mean without cluster g (the jackknife over G clusters)

    graded values   m ± t · SE, with G* - 1 degrees of freedom
    yes/no values   Wilson's interval of the share, for the number of independent questions that would have this SE,
                    n* = m(1-m)/SE², at most as many as were asked, times (z / t)²

G* = (Σ n_g)² / Σ n_g² is the number of clusters, G where all have the same number of questions n_g and less where some
dominate. Sources: Cameron & Miller 2015, "A Practitioner's Guide to Cluster-Robust Inference" (CV3, t with G - 1); Carter,
Schnepel & Steigerwald 2017 for G*; Korn & Graubard 1998 for the effective number of questions.

With few clusters neither a bootstrap that draws clusters nor a normal quantile keeps its confidence; these do (a test
simulates 5, 10 and 20 clusters), yet below `FEW` clusters a result is fragile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from memeval.stats.interval import Interval, check_confidence
from memeval.stats.student import t_quantile, two_sided_p
from memeval.stats.wilson import wilson

FEW = 20
"""Clusters below which a reader is warned."""
Floats = npt.NDArray[np.float64]


def cluster_sums(values: Sequence[float], clusters: Sequence[str]) -> tuple[Floats, Floats]:
    """Sum and number of the values of each cluster, in order of appearance. Lengths that differ are a ValueError."""
    if len(clusters) != len(values):
        raise ValueError(f"{len(clusters)} clusters for {len(values)} values")
    number = {name: position for position, name in enumerate(dict.fromkeys(clusters))}
    places = np.array([number[name] for name in clusters], dtype=np.int64)
    data = np.asarray(values, dtype=np.float64)
    return np.bincount(places, weights=data).astype(np.float64), np.bincount(places).astype(np.float64)


def cluster_mean(
    values: Sequence[float], clusters: Sequence[str], confidence: float = 0.95, *, graded: bool = False
) -> Interval | None:
    """Interval of the mean; None for no values or a single cluster, of which nothing can be said.

    `Interval.clusters` is G, which a reader should see. `graded`: values that are no yes or no even where all are 0 or 1.
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
    """Two-sided p of a mean of 0 by t with G - 1; None for a single cluster. 1 when nothing differs."""
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
    """G* - 1, at least 1."""
    return max(1.0, float(counts.sum() ** 2 / (counts**2).sum()) - 1)


def _share(mean: float, error: float, asked: int, reach: float, confidence: float, size: int) -> Interval:
    normal = NormalDist().inv_cdf(0.5 + confidence / 2)
    free = mean * (1 - mean) / error**2 if error else math.inf
    effective = min(free, asked) * (normal / reach) ** 2
    found = wilson(mean * effective, effective, confidence)
    assert found is not None  # there are at least two clusters, so effective is above 0
    return Interval(found.low, found.high, confidence, "cluster wilson", clusters=size)
