"""Reciprocal rank of the first relevant piece; its mean over questions is MRR.

    RR@k = 1 / rank of the first piece that covers something relevant, 0 if there is none among the first k

Source: Voorhees 1999, "The TREC-8 Question Answering Track Report".
"""

from __future__ import annotations

from collections.abc import Sequence

from memeval.metrics.ranking import ranking_metric


@ranking_metric("mrr")
def mrr(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """Reciprocal rank for one question."""
    return next((1 / rank for rank, piece in enumerate(top, start=1) if piece & relevant), 0.0)
