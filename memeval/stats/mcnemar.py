"""McNemar's exact test for two systems with right/wrong answers to the same questions, two-sided.

    b questions only the first has right, c only the second: p = min(1, 2 · P(X <= min(b, c))), X ~ Binomial(b + c, 1/2)

Source: McNemar 1947; the exact form as in Agresti 2002, section 10.1.4.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The p-value; 1 when no question tells the systems apart. Negative counts are a ValueError."""
    if only_first < 0 or only_second < 0:
        raise ValueError("counts can't be negative")
    total = only_first + only_second
    tail = sum(comb(total, wins) for wins in range(min(only_first, only_second) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**total)))
