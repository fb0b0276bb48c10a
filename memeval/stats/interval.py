"""An interval of confidence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends, the confidence (0.95), how it was made, the seed if chance had a part, and the number of clusters if any."""

    low: float
    high: float
    confidence: float
    method: str
    seed: int | None = None
    clusters: int | None = None


def check_confidence(confidence: float) -> None:
    """Raises ValueError unless the confidence lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
