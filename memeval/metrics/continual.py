"""Continual-learning metrics over sequences of tasks: transfer, forgetting, plasticity and stability.

a_ij is the value of task j after i tasks of its sequence, a_0j is its value without memory, and N is the number of tasks:

    accuracy          ACC = 1/N · Σ_j a_Nj                         each task after all N; for the last one, its first attempt
    forgetting        F   = 1/(N-1) · Σ_{j<N} (max_{k<=j} a_kj - a_Nj)
    backward transfer BWT = 1/(N-1) · Σ_{i<N} (a_Ni - a_ii)
    forward transfer  FT  = 1/(N-1) · Σ_{i<N} (a_i,i+1 - a_0,i+1)
    learning curve    AULC = 1/N · Σ_i (1/i · Σ_{k<=i} a_kk)
    plasticity        CL-P = 1/N · Σ_i a_ii                        stability  CL-S = 1 - F
    CL-F              (1 + β²) · CL-P · CL-S / (β² · CL-P + CL-S), 0 where both are 0; β = 1
    tool use          TUE = median seconds of solved tasks / median seconds of all
    CL-score          ACC - F + FT + BWT + AULC + CL-F             all weights λ = 1

Source: SWE-Bench-CL (Joshi et al. 2025), sections 7 and 7.1 of the paper in its repository. The paper leaves the
weights and β to the user, and its CL-score formula has no term for TUE although it defines a weight for it. It
measures all tasks after each task. Here, a task is measured at its first attempt and again after the sequence (a_Nj).
The first attempt gives a_jj, and also a_i,i+1 for transfer, because the memory then contains the i tasks before it.
The maximum in F is therefore the first attempt, and BWT = -F. Figures are means over sequences. Unknown figures, and
figures that depend on them, are None. For example, without second attempts forgetting is None rather than 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

BETA = 1.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a task.

    `position` is the task's position in its sequence, starting at 1. `again` marks an attempt after the end of the
    sequence. A value of None means that the attempt wasn't scored.
    """

    sequence: str
    task: str
    position: int
    value: float | None
    again: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Continual:
    """All figures, with the number of tasks behind each. A figure is None if the attempts don't determine it."""

    accuracy: float | None
    plasticity: float | None
    forgetting: float | None
    stability: float | None
    backward_transfer: float | None
    forward_transfer: float | None
    learning_curve_area: float | None
    cl_f: float | None
    cl_score: float | None
    tool_use_efficiency: float | None
    scored: int
    asked_again: int
    compared: int
    curve: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class _Sequence:
    """The figures of one sequence."""

    accuracy: float | None
    plasticity: float | None
    forgetting: float | None
    forward: float | None
    area: float | None
    pairs: int
    compared: int


def continual(attempts: Iterable[Attempt], without: Mapping[str, float | None] | None = None) -> Continual:
    """Compute the figures of a run. Unscored attempts are ignored.

    `without` maps each task to its value in a run without memory.
    """
    seen = [attempt for attempt in attempts if attempt.value is not None]
    first = [attempt for attempt in seen if not attempt.again]
    found = [_of_sequence(group, without or {}) for group in _grouped(seen)]
    accuracy, plasticity, forgotten, forward, area = (
        _mean([value for one in found if (value := getattr(one, name)) is not None])
        for name in ("accuracy", "plasticity", "forgetting", "forward", "area")
    )
    stability = None if forgotten is None else 1 - forgotten
    backward = None if forgotten is None else 0.0 - forgotten
    balanced = cl_f(plasticity, stability)
    return Continual(
        accuracy,
        plasticity,
        forgotten,
        stability,
        backward,
        forward,
        area,
        balanced,
        cl_score(accuracy, forgotten, forward, backward, area, balanced),
        tool_use_efficiency(first),
        len(first),
        sum(one.pairs for one in found),
        sum(one.compared for one in found),
        learning_curve(first),
    )


def _grouped(attempts: Sequence[Attempt]) -> list[list[Attempt]]:
    groups: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        groups[attempt.sequence].append(attempt)
    return list(groups.values())


def _of_sequence(attempts: Sequence[Attempt], without: Mapping[str, float | None]) -> _Sequence:
    first = sorted((attempt for attempt in attempts if not attempt.again), key=lambda attempt: attempt.position)
    before = {attempt.task: attempt.value or 0.0 for attempt in first}
    pairs = [(before[one.task], one.value or 0.0) for one in attempts if one.again and one.task in before]
    transfer = [(one.value or 0.0) - off for one in first if one.position > 1 and (off := without.get(one.task)) is not None]
    values = [attempt.value or 0.0 for attempt in first]
    return _Sequence(
        accuracy=_mean([*(after for _, after in pairs), values[-1]]) if pairs else None,
        plasticity=_mean(values),
        forgetting=_mean([earlier - after for earlier, after in pairs]),
        forward=_mean(transfer),
        area=_mean([math.fsum(values[:count]) / count for count in range(1, len(values) + 1)]),
        pairs=len(pairs),
        compared=len(transfer),
    )


def cl_f(plasticity: float | None, stability: float | None, beta: float = BETA) -> float | None:
    """Compute the balance of plasticity and stability. A beta below 1 favours plasticity."""
    if plasticity is None or stability is None:
        return None
    scale = beta * beta * plasticity + stability
    return (1 + beta * beta) * plasticity * stability / scale if scale else 0.0


def cl_score(
    accuracy: float | None,
    forgotten: float | None,
    forward: float | None,
    backward: float | None,
    area: float | None,
    balanced: float | None,
) -> float | None:
    """Compute the composite score with all weights 1. Return None if any part is None."""
    if accuracy is None or forgotten is None or forward is None or backward is None or area is None or balanced is None:
        return None
    return accuracy - forgotten + forward + backward + area + balanced


def tool_use_efficiency(attempts: Iterable[Attempt]) -> float | None:
    """Return the median seconds of the solved tasks divided by the median of all tasks.

    Return None if no task was solved or the times are unknown.
    """
    timed = [attempt for attempt in attempts if attempt.seconds is not None]
    everything = [attempt.seconds or 0.0 for attempt in timed]
    solved = [attempt.seconds or 0.0 for attempt in timed if attempt.value == 1.0]
    return median(solved) / median(everything) if solved and median(everything) else None


def learning_curve(attempts: Iterable[Attempt]) -> dict[int, float]:
    """Return the mean value at each position over all sequences."""
    values: dict[int, list[float]] = defaultdict(list)
    for attempt in attempts:
        if attempt.value is not None:
            values[attempt.position].append(attempt.value)
    return {position: math.fsum(found) / len(found) for position, found in sorted(values.items())}


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
