"""Relevancy: how near what was retrieved is to the question.

    relevancy = mean over retrieved items of cos(query, item)

Source: own (the platform's design). It depends on the embedder, which results record; it needs no gold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from memeval.core.overlap import Vector, cosine


def relevancy(query: Vector, items: Sequence[Vector]) -> float | None:
    """Value for one question, between -1 and 1; unscored when nothing was retrieved."""
    if not items:
        return None
    return math.fsum(cosine(query, item) for item in items) / len(items)
