"""Wilson's score interval of a share: for yes/no values, also few of them and shares near 0 or 1.

    centre = (p + z²/2n) / (1 + z²/n)      half = z √(p(1-p)/n + z²/4n²) / (1 + z²/n)

Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
"""

from __future__ import annotations

import math
from statistics import NormalDist

from memeval.stats.interval import Interval, check_confidence


def wilson(successes: float, total: float, confidence: float = 0.95) -> Interval | None:
    """Interval of successes / total; None for no questions. Raises ValueError if successes are not between 0 and total."""
    check_confidence(confidence)
    if total == 0:
        return None
    if not 0 <= successes <= total:
        raise ValueError(f"{successes} successes of {total} are impossible")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / total
    scale = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / scale
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    # the ends are exact there, but for rounding
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == total else min(1.0, centre + half)
    return Interval(low, high, confidence, "wilson")
