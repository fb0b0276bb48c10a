"""Usage metrics: tokens, cost, latency, and the memory's share of the tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memoryd.core.types import Usage


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Sum the usage of the calls."""
    total = Usage()
    for usage in usages:
        total += usage
    return total


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency in seconds over `count` measured calls."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float


def latency(seconds: Iterable[float]) -> Latency | None:
    """Compute the percentiles of latency. Return None without measurements. The caller must exclude cached answers."""
    ordered = sorted(seconds)
    if not ordered:
        return None
    p50, p95, p99 = (percentile(ordered, share) for share in (0.50, 0.95, 0.99))
    return Latency(len(ordered), math.fsum(ordered) / len(ordered), p50, p95, p99)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return a percentile of values in ascending order. `share` is between 0 and 1.

    Raises ValueError if there are no values or the share is out of range.
    """
    if not ordered or not 0 <= share <= 1:
        raise ValueError("percentile requires values and a share between 0 and 1")
    position = (len(ordered) - 1) * share
    lower = math.floor(position)
    upper = min(lower + 1, len(ordered) - 1)
    low, high = ordered[lower], ordered[upper]
    return min(high, low + (position - lower) * (high - low))


def efficiency(memory_tokens: int, total_tokens: int) -> float | None:
    """Compute the efficiency for one question, between 0 and 1. It is None (unscored) if the total is unknown (0).

    Memory tokens are estimated, while the total is reported by the model, so the value is capped at 1.
    """
    if total_tokens <= 0:
        return None
    return min(1.0, max(0, memory_tokens) / total_tokens)
