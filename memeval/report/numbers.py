"""Numbers as tables and charts show them. What is not known is a dash, never a zero."""

from __future__ import annotations

import math

NONE = "–"


def is_number(value: object) -> bool:
    """Whether a value of a result file is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def percent(value: float | None) -> str:
    """A share in per cent, one decimal, without the sign: 0.9661 → 96.6."""
    return NONE if value is None else f"{value * 100:.1f}"


def points(value: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    return NONE if value is None else f"{value * 100:+.1f}"


def interval(low: float | None, high: float | None) -> str:
    """An interval of shares."""
    return NONE if low is None or high is None else f"{percent(low)}–{percent(high)}"


def p_value(value: float | None) -> str:
    """A p-value with three decimals; smaller ones are not made up."""
    if value is None:
        return NONE
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def seconds(value: float | None) -> str:
    """A duration in the unit that fits."""
    if value is None:
        return NONE
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value:,.0f} s"


def dollars(value: float | None) -> str:
    """US dollars; None is unknown."""
    if value is None:
        return NONE
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.3g}"


def cost_so_far(known: float, unknown: int) -> str:
    """What was paid, with how many pieces of work have no known price; "" where nothing was paid."""
    parts = [dollars(known)] if known else []
    if unknown:
        parts.append(f"{unknown} of unknown cost")
    return ", ".join(parts)


def short(value: float | None) -> str:
    """A count or another plain number."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3f}"
