"""Precision at a cut-off: the share of the first k pieces that cover something relevant.

    precision@k = |{i <= min(k, n) : piece_i ∩ relevant ≠ ∅}| / min(k, n)      n pieces retrieved; 0 if none

The denominator is what was returned, not k: a system that returns two right pieces of ten allowed is precise.
Source: Manning, Raghavan & Schütze 2008, "Introduction to Information Retrieval", section 8.3 (set-based form).
"""

from __future__ import annotations

from collections.abc import Sequence

from memeval.metrics.ranking import ranking_metric


@ranking_metric("precision")
def precision(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Share of retrieved pieces that are relevant; a repeated relevant piece counts each time."""
    return sum(bool(piece & relevant) for piece in top) / len(top) if top else 0.0
