"""Cosine similarity of two vectors.

cos(a, b) = a·b / (|a| |b|)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def cosine(left: Vector, right: Vector) -> float:
    """Between -1 and 1; 0 when one of them is zero. Different lengths are a ValueError."""
    dot = math.fsum(a * b for a, b in zip(left, right, strict=True))
    length = math.hypot(*left) * math.hypot(*right)
    return max(-1.0, min(1.0, dot / length)) if length else 0.0
