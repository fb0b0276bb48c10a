"""Accuracy with memory on against off, on the same questions.

    gain = mean(on) - mean(off) over the questions that are scored in both runs

Source: own (the platform's design). `stats.compare` gives the interval and p-values from the same arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gain:
    """Means of both runs over `questions` common ones, and how many either run has alone."""

    questions: int
    on: float
    off: float
    gain: float
    left_out: int


def accuracy_gain(on: Mapping[str, float | None], off: Mapping[str, float | None]) -> Gain | None:
    """Gain from values by question id; None if no question is scored in both."""
    both = sorted(question for question, value in on.items() if value is not None and off.get(question) is not None)
    if not both:
        return None
    with_memory = math.fsum(on[question] or 0.0 for question in both) / len(both)
    without = math.fsum(off[question] or 0.0 for question in both) / len(both)
    return Gain(len(both), with_memory, without, with_memory - without, len(on.keys() | off.keys()) - len(both))
