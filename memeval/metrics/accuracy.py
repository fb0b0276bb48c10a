"""Accuracy: overall, per type, and task-averaged, with every denominator told.

    accuracy = Σ values / total        over all questions: what failed counts as 0
    accuracy over scored = Σ values / scored
    task-averaged = mean over types of the type's accuracy; a report gives the benchmark's own types for it (LongMemEval:
                    six, with an abstention question in the type that it is a variant of)

A question that the protocol skips is in neither; one that the judge could not score is in `total` (and `unscored`)
but not in `scored`. Source: LongMemEval, src/evaluation/print_qa_metrics.py, for overall and task-averaged.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question. `value` None: not scored; then `status` is failed, unscored or skipped."""

    question_id: str
    group: str
    value: float | None
    status: str = "scored"


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of a table: how many questions, and what they add up to."""

    total: int
    scored: int
    failed: int
    unscored: int
    skipped: int
    sum: float

    @property
    def accuracy(self) -> float | None:
        """Over all questions but skipped ones; None if there are none."""
        return self.sum / self.total if self.total else None

    @property
    def accuracy_scored(self) -> float | None:
        """Over scored questions; None if there are none."""
        return self.sum / self.scored if self.scored else None


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Overall and per group. `task_averaged` is over groups that have a question."""

    overall: Cell
    groups: Mapping[str, Cell]
    task_averaged: float | None


def accuracy(outcomes: Iterable[Outcome]) -> Accuracy:
    """Accuracy of a run; groups in alphabetical order. A status that is unknown is a ValueError."""
    grouped: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        grouped[outcome.group].append(outcome)
    groups = {name: cell(grouped[name]) for name in sorted(grouped)}
    means = [one.accuracy for one in groups.values() if one.accuracy is not None]
    everything = cell([outcome for name in sorted(grouped) for outcome in grouped[name]])
    return Accuracy(everything, groups, math.fsum(means) / len(means) if means else None)


def cell(outcomes: Sequence[Outcome]) -> Cell:
    """Counts and sum of some outcomes."""
    counts = dict.fromkeys(("scored", "failed", "unscored", "skipped"), 0)
    for outcome in outcomes:
        status = _status(outcome)
        counts[status] += 1
    values = [outcome.value for outcome in outcomes if outcome.value is not None and _status(outcome) == "scored"]
    return Cell(total=len(outcomes) - counts["skipped"], sum=math.fsum(values), **counts)


def _status(outcome: Outcome) -> str:
    if outcome.status not in ("scored", "failed", "unscored", "skipped"):
        raise ValueError(f"question {outcome.question_id}: unknown status {outcome.status!r}")
    if outcome.status == "scored" and outcome.value is None:
        return "unscored"
    return outcome.status
