"""Power of a paired comparison: the detectable difference, and the required number of questions.

For questions from separate conversations, the power of McNemar's exact test is computed exactly. If questions share
conversations, the conversations are the units of a t-test on their mean differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np

from memeval.stats.intervals import Floats, cluster_sums
from memoryd.core.student import t_quantile

POWER = 0.8
"""The conventional target for the power of a test."""
MAX_QUESTIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class Design:
    """The size of a comparison.

    `spoiled` is the share of questions answered only by the second system, in addition to those behind the difference.
    `correlation` is the correlation of differences within a cluster. `alpha` is the significance level.
    """

    questions: int
    clusters: int
    alpha: float = 0.05
    spoiled: float = 0.05
    correlation: float = 0.1

    @property
    def is_clustered(self) -> bool:
        """Return whether questions share clusters."""
        return self.clusters < self.questions


def observed_design(first: Sequence[float], second: Sequence[float], clusters: Sequence[str], alpha: float) -> Design:
    """Return the design of an actual comparison, with `spoiled` and `correlation` estimated from its values.

    Values are paired by position. Raises ValueError if there are none.
    """
    if not first:
        raise ValueError("no questions")
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    count, groups = len(differences), len(set(clusters))
    spoiled = float(min((differences > 0).sum(), (differences < 0).sum()) / count)
    sums, counts = cluster_sums(differences.tolist(), clusters)
    spread = float(differences.var())
    size = count / groups
    correlation = 0.0
    if 1 < groups < count and spread > 0:
        between = float(((sums - counts * differences.mean()) ** 2).sum()) * groups / (groups - 1) / count**2
        correlation = min(1.0, max(0.0, (between / (spread / count) - 1) / (size - 1)))
    return Design(count, groups, alpha, spoiled, correlation)


def power(design: Design, difference: float) -> float:
    """Return the probability of a significant result if the true difference is `difference`, from 0 to 1."""
    if design.questions < 1 or design.clusters < 1 or (design.is_clustered and design.clusters < 2):
        return 0.0
    won = min(difference + design.spoiled, 1.0)
    lost = min(design.spoiled, 1 - won)
    if not design.is_clustered:
        return mcnemar_power(design.questions, round(won, 6), round(lost, 6), design.alpha)
    error = standard_error(design, difference)
    return t_power(difference / error if error else math.inf, design.clusters - 1, design.alpha)


def standard_error(design: Design, difference: float) -> float:
    """Return the standard error of the mean difference."""
    won = min(difference + design.spoiled, 1.0)
    variance = won + min(design.spoiled, 1 - won) - difference**2
    size = design.questions / design.clusters
    return math.sqrt(max(0.0, variance) * (1 + (size - 1) * design.correlation) / design.questions)


def half_width(design: Design, difference: float, confidence: float = 0.95) -> float:
    """Return half the expected width of the interval if the true difference is `difference`."""
    if design.clusters < 2:
        return 1.0
    reach = t_quantile(confidence, design.clusters - 1)
    return min(1.0, reach * standard_error(design, difference))


def smallest_detectable(design: Design, wanted: float = POWER) -> float | None:
    """Return the smallest difference with the required power, or None if even a difference of 1 has less."""
    return _smallest(lambda difference: power(design, difference), wanted)


def questions_needed(design: Design, difference: float, wanted: float = POWER) -> int | None:
    """Return the number of questions for the required power, with the same cluster size as in the design.

    Return None if more than a million would be required.
    """
    size = design.questions / design.clusters if design.is_clustered else 1.0

    def enough(questions: int) -> bool:
        clusters = max(1, round(questions / size)) if design.is_clustered else questions
        wider = Design(questions, clusters, design.alpha, design.spoiled, design.correlation)
        return power(wider, abs(difference)) >= wanted

    if abs(difference) < 1e-9:
        return None
    high = 2
    while not enough(high):
        high *= 2
        if high > MAX_QUESTIONS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _smallest(chance: Callable[[float], float], wanted: float) -> float | None:
    if chance(1.0) < wanted:
        return None
    low, high = 0.0, 1.0
    while high - low > 0.0005:
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle) >= wanted else (middle, high)
    return high


MAX_COUNTED = 2_000
"""Above this number of questions, the normal approximation replaces the exact sum."""
_TAIL = 6.0


@lru_cache(maxsize=4096)
def mcnemar_power(questions: int, won: float, lost: float, alpha: float) -> float:
    """Return the power of McNemar's exact test.

    `won` and `lost` are the probabilities that only the first or only the second system answers a question correctly.
    """
    apart = won + lost
    if apart <= 0:
        return 0.0
    if questions > MAX_COUNTED:
        error = math.sqrt(max(1e-12, apart - (won - lost) ** 2) / questions)
        critical = NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(apart / questions)
        return 1 - NormalDist().cdf((critical - (won - lost)) / error)
    centre, spread = questions * apart, math.sqrt(questions * apart * (1 - min(apart, 1.0)))
    first = max(0, math.floor(centre - _TAIL * spread - 3))
    last = min(questions, math.ceil(centre + _TAIL * spread + 3))
    chances = _binomial(questions, min(apart, 1.0))[first : last + 1]
    return float(sum(chance * _rejected(first + place, won / apart, alpha) for place, chance in enumerate(chances)))


def _rejected(differing: int, share: float, alpha: float) -> float:
    """Return the probability of a significant result for this many differing questions, each won with probability `share`."""
    critical = _critical(differing, alpha)
    if critical < 0:
        return 0.0
    chances = _binomial(differing, share)
    return float(chances[: critical + 1].sum() + chances[differing - critical :].sum())


@lru_cache(maxsize=65_536)
def _critical(differing: int, alpha: float) -> int:
    """Return the largest value of the smaller count that is still significant, or -1."""
    tails = 2 * np.cumsum(_binomial(differing, 0.5)[: differing // 2 + 1])
    return int(np.searchsorted(tails, alpha, side="left")) - 1


def _binomial(total: int, share: float) -> Floats:
    """Return the probability of each number of successes from 0 to `total`."""
    counts = np.arange(total + 1, dtype=np.float64)
    if share <= 0 or share >= 1:
        return np.where(counts == (total if share >= 1 else 0), 1.0, 0.0)
    logs = _log_factorials()[: total + 1]
    terms = logs[total] - logs - logs[::-1] + counts * math.log(share) + (total - counts) * math.log1p(-share)
    return np.asarray(np.exp(terms), dtype=np.float64)


@cache
def _log_factorials() -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, MAX_COUNTED + 1)))]).astype(np.float64)


def t_power(shift: float, degrees: float, alpha: float) -> float:
    """Return the power of a two-sided t-test for an effect of `shift` standard errors."""
    if math.isinf(shift):
        return 1.0
    critical = t_quantile(1 - alpha, degrees)
    # Integrate over the estimated standard deviation, a scaled chi variable.
    scales = np.linspace(1e-4, 1 + 12 / math.sqrt(2 * degrees), 2_000)
    logs = (degrees - 1) * np.log(scales) - degrees * scales**2 / 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    normal = NormalDist()
    beyond = np.array([normal.cdf(shift - critical * s) + normal.cdf(-shift - critical * s) for s in scales])
    return float((weights * beyond).sum())
