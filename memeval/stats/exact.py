"""Exact and score intervals for the difference of two paired proportions.

With few questions, the bootstrap has too little to resample: if two out of two differ, all resamples are the same.
This interval inverts the score test of Tango (1998) with its exact distribution at the least favourable nuisance
value, so that its coverage is at least the nominal one.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from memeval.stats.intervals import Floats, Interval, check_confidence

MAX_EXACT = 50
"""Maximum number of pairs. The number of outcomes grows quadratically, and for more pairs the score interval is close enough."""
_NUISANCE = 41
_STEPS = 24


@lru_cache(maxsize=1024)
def exact_difference(wins: int, losses: int, pairs: int, confidence: float = 0.95) -> Interval:
    """Compute the interval of (wins - losses) / pairs.

    Raises ValueError unless the counts are possible and there are between 1 and MAX_EXACT pairs.
    """
    check_confidence(confidence)
    if not (wins >= 0 and losses >= 0 and 1 <= pairs <= MAX_EXACT and wins + losses <= pairs):
        raise ValueError(f"{wins} wins and {losses} losses of {pairs} are impossible or too many")
    return Interval(
        -_upper(losses, wins, pairs, confidence),
        _upper(wins, losses, pairs, confidence),
        confidence,
        "exact score",
        clusters=None,
    )


def score_difference(wins: int, losses: int, pairs: int, confidence: float = 0.95) -> Interval:
    """Compute the interval with the normal approximation of the score, for many pairs. Raises ValueError."""
    check_confidence(confidence)
    if not (wins >= 0 and losses >= 0 and pairs >= 1 and wins + losses <= pairs):
        raise ValueError(f"{wins} wins and {losses} losses of {pairs} are impossible")
    ends = [_score_end(*counts, pairs, confidence) for counts in ((losses, wins), (wins, losses))]
    return Interval(-ends[0], ends[1], confidence, "score")


def _score_end(wins: int, losses: int, pairs: int, confidence: float) -> float:
    reach = NormalDist().inv_cdf(0.5 + confidence / 2)
    won, lost = np.array([float(wins)]), np.array([float(losses)])
    low, high = (wins - losses) / pairs, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if float(_score(won, lost, pairs, middle)[0]) > -reach else (low, middle)
    return high


def _upper(wins: int, losses: int, pairs: int, confidence: float) -> float:
    """Return the largest difference at which an outcome with so few wins and so many losses is not yet rejected."""
    low, high = (wins - losses) / pairs, 1.0
    if low == high:
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _tail(wins, losses, pairs, middle) > (1 - confidence) / 2:
            low = middle
        else:
            high = middle
    return high


def _tail(wins: int, losses: int, pairs: int, difference: float) -> float:
    """Return the maximum probability, over all proportions of losses, of a score no higher than the observed one."""
    first, second, coefficients = _outcomes(pairs)
    scores = _score(first, second, pairs, difference)
    chosen = scores <= float(_score(np.array([wins]), np.array([losses]), pairs, difference)[0]) + 1e-9
    lost = np.linspace(max(0.0, -difference), (1 - difference) / 2, _NUISANCE)[:, None]
    won = np.clip(lost + difference, 0, 1)
    tied = np.clip(1 - lost - won, 0, 1)
    won_counts, lost_counts = first[chosen], second[chosen]
    tied_counts = pairs - won_counts - lost_counts
    logs = coefficients[chosen] + _times_log(won_counts, won) + _times_log(lost_counts, lost) + _times_log(tied_counts, tied)
    return float(np.exp(logs).sum(axis=1).max())


def _times_log(counts: Floats, shares: Floats) -> Floats:
    """Return counts · log(shares), where 0 · log(0) is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts == 0, 0.0, counts * np.log(shares))


@lru_cache(maxsize=8)
def _outcomes(pairs: int) -> tuple[Floats, Floats, Floats]:
    """Return the wins and losses of each possible outcome, and the logarithm of the number of ways to arrange it."""
    won, lost = np.meshgrid(np.arange(pairs + 1), np.arange(pairs + 1), indexing="ij")
    possible = won + lost <= pairs
    first, second = won[possible].astype(np.float64), lost[possible].astype(np.float64)
    logs = np.array([math.lgamma(count + 1) for count in range(pairs + 1)])
    orders = logs[pairs] - logs[first.astype(int)] - logs[second.astype(int)] - logs[(pairs - first - second).astype(int)]
    return first, second, orders


def _score(won: Floats, lost: Floats, pairs: int, difference: float) -> Floats:
    """Return Tango's score of each outcome for a difference. It is low for fewer wins than the difference implies."""
    linear = -won - lost + (2 * pairs - won + lost) * difference
    constant = -lost * difference * (1 - difference)
    share = (np.sqrt(np.maximum(linear**2 - 8 * pairs * constant, 0)) - linear) / (4 * pairs)
    variance = np.maximum(pairs * (2 * share + difference * (1 - difference)), 1e-12)
    return np.asarray((won - lost - pairs * difference) / np.sqrt(variance), dtype=np.float64)
