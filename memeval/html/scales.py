"""From values to pixels, and the round values that axes name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Linear or logarithmic map of [low, high] to [start, end]; values beyond are clipped, so that nothing leaves its chart."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Pixel of a value, to a tenth."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def steps(high: float, count: int = 5) -> list[float]:
    """About `count` round values from 0 to just above `high` (1, 2 or 5 × a power of ten apart)."""
    if not high > 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(high / count))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * count >= high * (1 - 1e-9))
    return [number * step for number in range(math.ceil(high / step - 1e-9) + 1)]


def decades(values: Sequence[float]) -> list[float]:
    """Powers of ten around all values, at least two; values must be positive."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]
