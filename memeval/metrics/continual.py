"""Continual learning over sequences of tasks: what earlier tasks give to later ones, and what later ones take.

    success           = Σ values / tasks                   at the first attempt, with the memory so far
    forgetting        = (recent - current) / recent        recent: first attempts; current: the same tasks, asked again later
    backward transfer = current - recent
    forward transfer  = mean(with) - mean(without)         over tasks that have an earlier one in their sequence
    tool efficiency   = successful tool calls / all tool calls
    CL-score          = success · (1 - forgetting) · (1 + 0.5 · forward + 0.5 · backward) · tool efficiency

Source: SWE-Bench-CL (Joshi et al. 2025), section "Evaluation Metrics" of its repository's README, which gives these names
and formulas. "Without" are the same tasks in a run without memory. What can't be known is None, and then so is the CL-score:
a sequence whose tasks were not asked again has no forgetting of 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a task. `position` counts from 1 in its sequence; `again`: after the sequence; value None: unscored."""

    sequence: str
    task: str
    position: int
    value: float | None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Continual:
    """All of it, with the number of tasks behind each figure; None: can't be known from these attempts."""

    success: float | None
    forgetting: float | None
    backward_transfer: float | None
    forward_transfer: float | None
    tool_efficiency: float | None
    cl_score: float | None
    scored: int
    asked_again: int
    compared: int
    curve: Mapping[int, float]


def continual(
    attempts: Iterable[Attempt], without: Mapping[str, float | None] | None = None, *, tool_calls: int = 0, tool_errors: int = 0
) -> Continual:
    """Figures of a run. `without`: values by task of a run without memory. Unscored attempts are in no mean."""
    seen = [attempt for attempt in attempts if attempt.value is not None]
    first = [attempt for attempt in seen if not attempt.again]
    pairs = _pairs(first, [attempt for attempt in seen if attempt.again])
    transfer = _forward(first, without or {})
    success = _mean([attempt.value or 0.0 for attempt in first])
    forgotten, backward = forgetting(pairs), backward_transfer(pairs)
    tools = tool_efficiency(tool_calls, tool_errors)
    forward = _mean([on - off for on, off in transfer])
    return Continual(
        success,
        forgotten,
        backward,
        forward,
        tools,
        cl_score(success, forgotten, forward, backward, tools),
        len(first),
        len(pairs),
        len(transfer),
        learning_curve(first),
    )


def forgetting(pairs: Sequence[tuple[float, float]]) -> float | None:
    """From (first, again) of each task that was asked twice; None without any, or when none was solved at first."""
    recent, current = math.fsum(first for first, _ in pairs), math.fsum(again for _, again in pairs)
    return (recent - current) / recent if recent else None


def backward_transfer(pairs: Sequence[tuple[float, float]]) -> float | None:
    """From (first, again) of each task that was asked twice; above 0 when later tasks helped with earlier ones."""
    return _mean([again - first for first, again in pairs])


def tool_efficiency(calls: int, errors: int) -> float | None:
    """Share of tool calls without an error; None without calls."""
    return (calls - errors) / calls if calls else None


def cl_score(
    success: float | None, forgotten: float | None, forward: float | None, backward: float | None, tools: float | None
) -> float | None:
    """The composite; None as soon as one part is."""
    if success is None or forgotten is None or forward is None or backward is None or tools is None:
        return None
    return success * (1 - forgotten) * (1 + 0.5 * forward + 0.5 * backward) * tools


def learning_curve(attempts: Iterable[Attempt]) -> dict[int, float]:
    """Mean value at each position, over all sequences."""
    values: dict[int, list[float]] = defaultdict(list)
    for attempt in attempts:
        if attempt.value is not None:
            values[attempt.position].append(attempt.value)
    return {position: math.fsum(found) / len(found) for position, found in sorted(values.items())}


def _pairs(first: Sequence[Attempt], again: Sequence[Attempt]) -> list[tuple[float, float]]:
    before = {(attempt.sequence, attempt.task): attempt.value for attempt in first}
    return [
        (earlier, attempt.value)
        for attempt in again
        if attempt.value is not None and (earlier := before.get((attempt.sequence, attempt.task))) is not None
    ]


def _forward(first: Sequence[Attempt], without: Mapping[str, float | None]) -> list[tuple[float, float]]:
    return [
        (attempt.value, off)
        for attempt in first
        if attempt.position > 1 and attempt.value is not None and (off := without.get(attempt.task)) is not None
    ]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
