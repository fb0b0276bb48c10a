"""Tokens and cost: plain sums.

    tokens = Σ input + Σ output; cost = Σ cost in US dollars, unknown as soon as one call's cost is unknown

Answers from the cache count as calls that were saved (`cached_calls`), with no tokens and no cost in this run.
"""

from __future__ import annotations

from collections.abc import Iterable

from memoryd.core.types import Usage


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Sum of what many calls used."""
    total = Usage()
    for usage in usages:
        total += usage
    return total
