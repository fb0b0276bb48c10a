"""Holm's step-down correction for many comparisons.

    sorted p_1 <= ... <= p_m: adjusted p_i = max over j <= i of min(1, (m - j + 1) · p_j)

Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
"""

from __future__ import annotations

from collections.abc import Mapping


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p-values under the same names, in the same order. A value outside 0 to 1 is a ValueError."""
    if wrong := [name for name, value in p_values.items() if not 0 <= value <= 1]:
        raise ValueError(f"the p-value of {wrong[0]!r} is not between 0 and 1")
    adjusted: dict[str, float] = {}
    running = 0.0
    for position, name in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        running = max(running, min(1.0, (len(p_values) - position) * p_values[name]))
        adjusted[name] = running
    return {name: adjusted[name] for name in p_values}
