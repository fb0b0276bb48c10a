"""Abstention: does the system say that it does not know when, and only when, nothing is known.

    precision = |abstained ∩ unanswerable| / |abstained|
    recall    = |abstained ∩ unanswerable| / |unanswerable|

Source: precision and recall of a binary decision (van Rijsbergen 1979); LongMemEval reports the recall as abstention accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Abstention:
    """Counts and both ratios; a ratio without a denominator is None."""

    abstained: int
    unanswerable: int
    both: int

    @property
    def precision(self) -> float | None:
        """Of the abstentions, how many were right."""
        return self.both / self.abstained if self.abstained else None

    @property
    def recall(self) -> float | None:
        """Of the unanswerable questions, how many were left unanswered."""
        return self.both / self.unanswerable if self.unanswerable else None


def abstention(decisions: Iterable[tuple[bool, bool]]) -> Abstention:
    """From (abstained, unanswerable) for each question."""
    pairs = list(decisions)
    return Abstention(
        abstained=sum(said for said, _ in pairs),
        unanswerable=sum(right for _, right in pairs),
        both=sum(said and right for said, right in pairs),
    )
