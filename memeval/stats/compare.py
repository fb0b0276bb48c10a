"""Two runs on the same questions: wins, losses, ties, the difference with its interval, and p-values.

Where several questions share a cluster (a conversation, a sequence of tasks, a repository), the interval is that of
`stats.clusters`, and the permutation test turns the sign of whole clusters. McNemar's test, which takes questions for
independent, is left out then. With so few clusters that turned signs can't give a small p, the t test of clusters decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from memeval.stats.bootstrap import RESAMPLES, bootstrap_difference
from memeval.stats.clusters import cluster_mean, cluster_p, cluster_sums
from memeval.stats.interval import Interval
from memeval.stats.mcnemar import mcnemar_exact
from memeval.stats.permutation import paired_permutation

LEAST_FOR_SIGNS = 8
"""Clusters below which turned signs can't give a p under 2/2^7: a test that could never find anything."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first run against the second over `questions` that both have scored; `left_out` only one has.

    `p_mcnemar` is None unless all values are 0 or 1 and no questions share a cluster; `clusters` and `p_clusters` (t with G - 1)
    are None where none do.
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
        """The test whose p stands for the comparison: mcnemar, cluster t or paired permutation."""
        if self.p_mcnemar is not None:
            return "mcnemar"
        few = self.clusters is not None and self.clusters < LEAST_FOR_SIGNS and self.p_clusters is not None
        return "cluster t" if few else "paired permutation" if self.clusters is None else "cluster permutation"

    @property
    def p(self) -> float:
        """The p of that test."""
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
    """Comparison of values by question id; None if no question is scored in both. `clusters`: cluster by question id."""
    names = sorted(name for name, value in first.items() if value is not None and second.get(name) is not None)
    if not names:
        return None
    left = [float(first[name] or 0.0) for name in names]
    right = [float(second[name] or 0.0) for name in names]
    groups = _shared(None if clusters is None else [clusters[name] for name in names])
    differences = [a - b for a, b in zip(left, right, strict=True)]
    interval = (
        _difference(differences, groups, confidence)
        if groups
        else bootstrap_difference(left, right, seed=seed, confidence=confidence, resamples=resamples)
    )
    assert interval is not None  # there are names
    turned = cluster_sums(differences, groups)[0].tolist() if groups else differences
    wins = sum(a > b for a, b in zip(left, right, strict=True))
    losses = sum(a < b for a, b in zip(left, right, strict=True))
    means = [math.fsum(side) / len(names) for side in (left, right)]
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
        p_mcnemar=mcnemar_exact(wins, losses) if {*left, *right} <= {0.0, 1.0} and not groups else None,
        seed=seed,
        clusters=len(turned) if groups else None,
        p_clusters=cluster_p(differences, groups) if groups else None,
    )


def _shared(groups: list[str] | None) -> list[str] | None:
    """The clusters, if some have several questions and there are at least two."""
    return groups if groups and 1 < len(set(groups)) < len(groups) else None


def _difference(differences: list[float], groups: list[str], confidence: float) -> Interval | None:
    """The interval of a mean difference, whose values are no shares even where all are 0 or 1."""
    found = cluster_mean(differences, groups, confidence, graded=True)
    return found and Interval(max(-1.0, found.low), min(1.0, found.high), confidence, found.method, clusters=found.clusters)
