"""Paired permutation test of a difference in means, two-sided.

If both systems were the same, each question's difference could as well have the other sign. p is the share of sign
patterns whose mean is at least as far from 0. With few differences all 2^n patterns are counted; otherwise `resamples`
are drawn and p = (1 + extreme) / (1 + drawn), which is never 0.
Source: Fisher 1935; Phipson & Smyth 2010, "Permutation P-values should never be zero".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_EXACT = 14  # differences: 16,384 patterns
_AT_ONCE = 2_000_000


def paired_permutation(first: Sequence[float], second: Sequence[float], *, seed: int, resamples: int = 20_000) -> float:
    """The p-value; 1 when nothing differs. Lengths that differ are a ValueError."""
    pairs = np.array(list(zip(first, second, strict=True)), dtype=np.float64).reshape(-1, 2)
    differences = pairs[:, 0] - pairs[:, 1]
    differences = differences[differences != 0]  # zeros change no pattern
    if not differences.size:
        return 1.0
    seen = abs(differences.sum()) - 1e-9 * np.abs(differences).sum()  # sums of other signs differ by rounding
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
