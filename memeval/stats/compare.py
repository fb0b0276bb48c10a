"""Compare two systems with McNemar's exact test, the paired permutation test and Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb

import numpy as np
import numpy.typing as npt

from memeval.stats.exact import MAX_EXACT, exact_difference, score_difference
from memeval.stats.intervals import RESAMPLES, Interval, bootstrap_difference, cluster_mean, cluster_p, cluster_sums


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjust p-values by Holm's method, keeping names and order. Raises ValueError for a value outside 0 to 1."""
    if wrong := [name for name, value in p_values.items() if not 0 <= value <= 1]:
        raise ValueError(f"the p-value of {wrong[0]!r} is not between 0 and 1")
    adjusted: dict[str, float] = {}
    running = 0.0
    for position, name in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        running = max(running, min(1.0, (len(p_values) - position) * p_values[name]))
        adjusted[name] = running
    return {name: adjusted[name] for name in p_values}


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return the p-value. It is 1 if the systems agree on every question. Raises ValueError for negative counts."""
    if only_first < 0 or only_second < 0:
        raise ValueError("counts can't be negative")
    total = only_first + only_second
    tail = sum(comb(total, wins) for wins in range(min(only_first, only_second) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**total)))


_EXACT = 14  # Number of differences with 16,384 sign patterns.
_AT_ONCE = 2_000_000


def paired_permutation(first: Sequence[float], second: Sequence[float], *, seed: int, resamples: int = 20_000) -> float:
    """Return the p-value. It is 1 if all pairs are equal. Raises ValueError for different lengths."""
    pairs = np.array(list(zip(first, second, strict=True)), dtype=np.float64).reshape(-1, 2)
    differences = pairs[:, 0] - pairs[:, 1]
    differences = differences[differences != 0]  # Differences of zero don't affect the result.
    if not differences.size:
        return 1.0
    # Allow for rounding, because sums with flipped signs differ in the last digits.
    seen = abs(differences.sum()) - 1e-9 * np.abs(differences).sum()
    if differences.size <= _EXACT:
        return float(np.mean(np.abs(_all_signs(differences.size) @ differences) >= seen))
    extreme = _count_extreme(differences, float(seen), np.random.default_rng(seed), resamples)
    return (1 + extreme) / (1 + resamples)


def _all_signs(size: int) -> npt.NDArray[np.float64]:
    patterns = np.arange(2**size)[:, None] >> np.arange(size) & 1
    return np.where(patterns == 1, 1.0, -1.0)


def _count_extreme(differences: npt.NDArray[np.float64], seen: float, random: np.random.Generator, resamples: int) -> int:
    step = max(1, _AT_ONCE // differences.size)
    extreme = 0
    for start in range(0, resamples, step):
        signs = random.integers(0, 2, size=(min(step, resamples - start), differences.size)) * 2.0 - 1.0
        extreme += int(np.sum(np.abs(signs @ differences) >= seen))
    return extreme


MIN_CLUSTERS_FOR_SIGNS = 8
"""Minimum number of clusters. With fewer, sign flips can't give a p-value below 2/2^7."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two runs over the `questions` scored in both.

    `left_out` counts the questions scored in only one run. `p_mcnemar` is None unless all values are 0 or 1 and no
    questions share a cluster. `clusters` and `p_clusters` (t with G - 1 degrees of freedom) are None if no questions share a
    cluster.
    """

    questions: int
    left_out: int
    wins: int
    losses: int
    ties: int
    first: float
    second: float
    difference: float
    interval: Interval
    p_permutation: float
    p_mcnemar: float | None
    seed: int
    clusters: int | None = None
    p_clusters: float | None = None

    @property
    def test(self) -> str:
        """The name of the test behind `p`: mcnemar, cluster t or paired permutation."""
        if self.p_mcnemar is not None:
            return "mcnemar"
        few = self.clusters is not None and self.clusters < MIN_CLUSTERS_FOR_SIGNS and self.p_clusters is not None
        return "cluster t" if few else "paired permutation" if self.clusters is None else "cluster permutation"

    @property
    def p(self) -> float:
        """The p-value of `test`."""
        if self.p_mcnemar is not None:
            return self.p_mcnemar
        return self.p_clusters if self.test == "cluster t" and self.p_clusters is not None else self.p_permutation


def compare(
    first: Mapping[str, float | None],
    second: Mapping[str, float | None],
    *,
    seed: int,
    clusters: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Comparison | None:
    """Compare values by question id. Return None if no question is scored in both runs.

    `clusters` maps question ids to their clusters.
    """
    names = sorted(name for name, value in first.items() if value is not None and second.get(name) is not None)
    if not names:
        return None
    left = [float(first[name] or 0.0) for name in names]
    right = [float(second[name] or 0.0) for name in names]
    groups = _shared(None if clusters is None else [clusters[name] for name in names])
    differences = [a - b for a, b in zip(left, right, strict=True)]
    turned = cluster_sums(differences, groups)[0].tolist() if groups else differences
    wins = sum(a > b for a, b in zip(left, right, strict=True))
    losses = sum(a < b for a, b in zip(left, right, strict=True))
    means = [math.fsum(side) / len(names) for side in (left, right)]
    binary = {*left, *right} <= {0.0, 1.0}
    p_mcnemar = mcnemar_exact(wins, losses) if binary and not groups else None
    if groups:
        interval = _difference(differences, groups, confidence)
    elif binary and len(names) > MAX_EXACT:
        interval = score_difference(wins, losses, len(names), confidence)
    elif len(names) > MAX_EXACT:
        interval = bootstrap_difference(left, right, seed=seed, confidence=confidence, resamples=resamples)
    else:
        interval = _of_few(differences, confidence, binary=binary)
    if interval and p_mcnemar is not None and p_mcnemar >= 1 - confidence:  # Never exclude 0 without a significant test.
        interval = replace(interval, low=min(0.0, interval.low), high=max(0.0, interval.high))
    assert interval is not None  # There are names.
    return Comparison(
        questions=len(names),
        left_out=len(first.keys() | second.keys()) - len(names),
        wins=wins,
        losses=losses,
        ties=len(names) - wins - losses,
        first=means[0],
        second=means[1],
        difference=means[0] - means[1],
        interval=interval,
        p_permutation=paired_permutation(turned, [0.0] * len(turned), seed=seed),
        p_mcnemar=p_mcnemar,
        seed=seed,
        clusters=len(turned) if groups else None,
        p_clusters=cluster_p(differences, groups) if groups and not _are_equal(differences, groups) else None,
    )


def _shared(groups: list[str] | None) -> list[str] | None:
    """Return the clusters, or None unless there are at least two and at least one has several questions."""
    return groups if groups and 1 < len(set(groups)) < len(groups) else None


def _difference(differences: list[float], groups: list[str], confidence: float) -> Interval | None:
    """Return the interval of a mean difference. The values are never treated as proportions, even if all are 0 or 1."""
    if _are_equal(differences, groups):  # Zero spread doesn't mean certainty, so each cluster counts as one question.
        sums, counts = cluster_sums(differences, groups)
        return replace(_of_equal((sums / counts).tolist(), confidence), clusters=len(sums))
    found = cluster_mean(differences, groups, confidence, graded=True)
    return found and Interval(max(-1.0, found.low), min(1.0, found.high), confidence, found.method, clusters=found.clusters)


def _are_equal(differences: list[float], groups: list[str]) -> bool:
    """Return whether all clusters have the same mean difference. A t-test then has no error estimate."""
    sums, counts = cluster_sums(differences, groups)
    return float(np.ptp(sums / counts)) < 1e-9


def _of_few(differences: list[float], confidence: float, *, binary: bool) -> Interval:
    """Return the interval of a few independent differences: exact for yes/no values, otherwise based on t."""
    if not binary and len(set(differences)) > 1:
        found = cluster_mean(differences, [str(place) for place in range(len(differences))], confidence, graded=True)
        assert found is not None  # There are at least two.
        return Interval(max(-1.0, found.low), min(1.0, found.high), confidence, "t")
    wins, losses = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
    return exact_difference(wins, losses, len(differences), confidence) if binary else _of_equal(differences, confidence)


def _of_equal(differences: list[float], confidence: float) -> Interval:
    """Return the interval of equal differences, computed as for questions that are all won, all lost or all tied."""
    units = differences[:MAX_EXACT]
    wins, losses = sum(one > 0 for one in units), sum(one < 0 for one in units)
    found = exact_difference(wins, losses, len(units), confidence)
    size = abs(differences[0])
    if not wins and not losses:
        return found
    return (
        Interval(min(size, found.low), size, confidence, found.method)
        if wins
        else Interval(-size, max(-size, found.high), confidence, found.method)
    )
