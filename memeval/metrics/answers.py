"""Answer metrics (accuracy and abstention), and the choice of a run's headline metric."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memeval.metrics.questions import measures_success


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The outcome of a question.

    A `value` of None means that the question wasn't scored. `status` is then failed, unscored or skipped.
    """

    question_id: str
    group: str
    value: float | None
    status: str = "scored"


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A table row with question counts and the sum of the values."""

    total: int
    scored: int
    failed: int
    unscored: int
    skipped: int
    sum: float

    @property
    def accuracy(self) -> float | None:
        """The accuracy over all questions that weren't skipped, or None if there are none."""
        return self.sum / self.total if self.total else None

    @property
    def accuracy_scored(self) -> float | None:
        """The accuracy over the scored questions, or None if there are none."""
        return self.sum / self.scored if self.scored else None


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The accuracy overall and by group. `task_averaged` is the mean over the non-empty groups."""

    overall: AnswerRow
    groups: Mapping[str, AnswerRow]
    task_averaged: float | None


def accuracy(outcomes: Iterable[AnswerOutcome]) -> Accuracy:
    """Compute the accuracy of a run. Groups are in alphabetical order. Raises ValueError for an unknown status."""
    grouped: dict[str, list[AnswerOutcome]] = defaultdict(list)
    for outcome in outcomes:
        grouped[outcome.group].append(outcome)
    groups = {name: cell(grouped[name]) for name in sorted(grouped)}
    means = [one.accuracy for one in groups.values() if one.accuracy is not None]
    everything = cell([outcome for name in sorted(grouped) for outcome in grouped[name]])
    return Accuracy(everything, groups, math.fsum(means) / len(means) if means else None)


def cell(outcomes: Sequence[AnswerOutcome]) -> AnswerRow:
    """Aggregate the outcomes into one row."""
    counts = dict.fromkeys(("scored", "failed", "unscored", "skipped"), 0)
    for outcome in outcomes:
        status = _status(outcome)
        counts[status] += 1
    values = [outcome.value for outcome in outcomes if outcome.value is not None and _status(outcome) == "scored"]
    return AnswerRow(total=len(outcomes) - counts["skipped"], sum=math.fsum(values), **counts)


def _status(outcome: AnswerOutcome) -> str:
    if outcome.status not in ("scored", "failed", "unscored", "skipped"):
        raise ValueError(f"question {outcome.question_id}: unknown status {outcome.status!r}")
    if outcome.status == "scored" and outcome.value is None:
        return "unscored"
    return outcome.status


@dataclass(frozen=True, slots=True)
class AccuracyGain:
    """The mean values of two runs over the `questions` scored in both, and how many were scored in only one."""

    questions: int
    on: float
    off: float
    gain: float
    left_out: int


def accuracy_gain(on: Mapping[str, float | None], off: Mapping[str, float | None]) -> AccuracyGain | None:
    """Compute the accuracy gain from the values by question id. Return None if no question is scored in both runs."""
    both = sorted(question for question, value in on.items() if value is not None and off.get(question) is not None)
    if not both:
        return None
    with_memory = math.fsum(on[question] or 0.0 for question in both) / len(both)
    without = math.fsum(off[question] or 0.0 for question in both) / len(both)
    return AccuracyGain(len(both), with_memory, without, with_memory - without, len(on.keys() | off.keys()) - len(both))


@dataclass(frozen=True, slots=True)
class Abstention:
    """Counts and ratios of abstention. A ratio is None if its denominator is zero."""

    abstained: int
    unanswerable: int
    both: int

    @property
    def precision(self) -> float | None:
        """The share of abstentions that were correct."""
        return self.both / self.abstained if self.abstained else None

    @property
    def recall(self) -> float | None:
        """The share of unanswerable questions with an abstention."""
        return self.both / self.unanswerable if self.unanswerable else None


def abstention(decisions: Iterable[tuple[bool, bool]]) -> Abstention:
    """Count abstentions from (abstained, unanswerable) pairs."""
    pairs = list(decisions)
    return Abstention(
        abstained=sum(said for said, _ in pairs),
        unanswerable=sum(right for _, right in pairs),
        both=sum(said and right for said, right in pairs),
    )


_PREFERRED = tuple(
    re.compile(pattern)
    for pattern in (
        r"longmemeval_accuracy",
        r"llm_accuracy",
        r"\w*llm_accuracy",
        r"accuracy",
        r"\w*accuracy",
        r"beam_score",
        r"memoryagentbench_score",
        r"precisionmembench_pass",
        r"longmemeval_v2_score",
        r"poisoning_resistance",
        r"rubric",
        r"locomo_f1",
        r"f1",
        r"exact",
        r"[^.@]+",
        r"session\.recall_all@5",
        r"turn\.recall_fraction@10",
        r"\w+\.recall_\w+@\d+",
    )
)


def rank(name: str) -> int:
    """Return the priority of a metric as a run's headline. The highest priority is 0."""
    if not measures_success(name):
        return len(_PREFERRED)
    return next((place for place, pattern in enumerate(_PREFERRED) if pattern.fullmatch(name)), len(_PREFERRED))


def headline(names: Iterable[str]) -> str | None:
    """Choose the headline metric. Return None if there are no names."""
    return min(names, key=lambda name: (rank(name), name), default=None)
