"""Two runs on the same questions: wins, losses, ties, the difference with its interval, and p-values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from memeval.stats.bootstrap import RESAMPLES, bootstrap_difference
from memeval.stats.interval import Interval
from memeval.stats.mcnemar import mcnemar_exact
from memeval.stats.permutation import paired_permutation


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first run against the second over `questions` that both have scored; `left_out` only one has.

    `p_mcnemar` is None unless all values are 0 or 1.
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
    groups = None if clusters is None else [clusters[name] for name in names]
    interval = bootstrap_difference(left, right, seed=seed, clusters=groups, confidence=confidence, resamples=resamples)
    assert interval is not None  # there are names
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
        p_permutation=paired_permutation(left, right, seed=seed),
        p_mcnemar=mcnemar_exact(wins, losses) if {*left, *right} <= {0.0, 1.0} else None,
        seed=seed,
    )
