"""Relevancy: how near what was retrieved is to the question.

    relevancy = mean over retrieved items of cos(query, item)

Source: own (the platform's design). It depends on the embedder, which results record; it needs no gold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def relevancy(query: Vector, items: Sequence[Vector]) -> float | None:
    """Value for one question, between -1 and 1; unscored when nothing was retrieved."""
    if not items:
        return None
    return math.fsum(cosine(query, item) for item in items) / len(items)


def cosine(left: Vector, right: Vector) -> float:
    """Cosine of two vectors; 0 when one of them is zero. Different lengths are a ValueError."""
    dot = math.fsum(a * b for a, b in zip(left, right, strict=True))
    length = math.hypot(*left) * math.hypot(*right)
    return max(-1.0, min(1.0, dot / length)) if length else 0.0
