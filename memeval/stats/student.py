"""Student's t distribution: its tail and its quantiles, which the standard library lacks.

    P(|T| > t) = I_x(ν/2, 1/2) with x = ν / (ν + t²)      I: the regularised incomplete beta function

The function I is computed by its continued fraction (modified Lentz). Source: Abramowitz & Stegun 1964, 26.5.8 and 26.7.1.
"""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_STEPS = 500


def two_sided_p(t: float, degrees: float) -> float:
    """The chance of a value at least as far from 0; 0 for an infinite t. Degrees of freedom must be positive."""
    if degrees <= 0:
        raise ValueError(f"degrees of freedom must be positive, not {degrees}")
    if math.isinf(t):
        return 0.0
    return incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, degrees: float) -> float:
    """The t that a value stays within with this confidence, on both sides."""
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
    """I_x(a, b) for x from 0 to 1."""
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
    """Away from 0, so that it can be divided by."""
    return value if abs(value) > _TINY else _TINY
