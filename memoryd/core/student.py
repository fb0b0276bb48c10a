"""Student's t distribution: p-values, critical values and the comparison of two means.

The incomplete beta function is computed with its continued fraction (Numerical Recipes, 3rd edition, section 6.4).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_TINY = 1e-300
_STEPS = 500


def two_sided_p(t: float, degrees: float) -> float:
    """Return the two-sided p-value of t. It is 0 for an infinite t.

    Raises ValueError unless the degrees of freedom are positive.
    """
    if degrees <= 0:
        raise ValueError(f"degrees of freedom must be positive, not {degrees}")
    if math.isinf(t):
        return 0.0
    return incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, degrees: float) -> float:
    """Return the two-sided critical value of t at this confidence level."""
    low, high = 0.0, 1.0
    while two_sided_p(high, degrees) > 1 - confidence and high < 1e12:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if two_sided_p(middle, degrees) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Compute the regularised incomplete beta function I_x(a, b) for x from 0 to 1."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    ratio, inverse = 1.0, 1 / _kept(1 - (a + b) * x / (a + 1))
    value = inverse
    for step in range(1, _STEPS):
        for factor in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            inverse = 1 / _kept(1 + factor * inverse)
            ratio = _kept(1 + factor / ratio)
            change = ratio * inverse
            value *= change
        if abs(change - 1) < 1e-14:
            break
    return value


def _kept(value: float) -> float:
    """Return the value, or a tiny one if it is too close to 0 to divide by."""
    return value if abs(value) > _TINY else _TINY


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """MeanDifference of two means (first minus second) with its confidence interval.

    With fewer than two values, the interval is infinite.

    `detectable` is the smallest true difference that samples like these would detect with a power of 80 %.
    """

    first: float
    second: float
    low: float
    high: float
    p: float
    detectable: float

    @property
    def shown(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


POWER = 0.8


def welch(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> MeanDifference:
    """Compare two independent samples, which may differ in variance and size (Welch 1947). Both must have at least one value."""
    means = statistics.fmean(first), statistics.fmean(second)
    if min(len(first), len(second)) < 2:
        return MeanDifference(*means, -math.inf, math.inf, 1.0, math.inf)
    parts = [statistics.variance(sample) / len(sample) for sample in (first, second)]
    error = math.sqrt(sum(parts))
    difference = means[0] - means[1]
    if not error:
        return MeanDifference(*means, difference, difference, 1.0 if not difference else 0.0, 0.0)
    degrees = sum(parts) ** 2 / sum(
        part**2 / (len(sample) - 1) for part, sample in zip(parts, (first, second), strict=True) if part
    )
    reach = t_quantile(confidence, degrees) * error
    detectable = (t_quantile(confidence, degrees) + t_quantile(2 * POWER - 1, degrees)) * error
    return MeanDifference(*means, difference - reach, difference + reach, two_sided_p(difference / error, degrees), detectable)


def sessions_needed(first: Sequence[float], second: Sequence[float], share: float, confidence: float = 0.95) -> int | None:
    """Return the sample size needed to detect a difference of this share of the second mean with a power of 80 %.

    Uses the normal approximation with the pooled variance. Returns None if a sample has fewer than two values or the
    second mean is 0.
    """
    if min(len(first), len(second)) < 2 or not statistics.fmean(second):
        return None
    variance = (statistics.variance(first) + statistics.variance(second)) / 2
    normal = statistics.NormalDist()
    reach = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(POWER)
    return max(2, math.ceil(2 * variance * (reach / (share * statistics.fmean(second))) ** 2))
