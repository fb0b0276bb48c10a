"""List the questions that a run got wrong, with the cause if known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memeval.report.runs import QuestionResult, RunResult, primary_metric
from memeval.report.table import Table

THRESHOLD = 0.5
"""Values below this threshold are failures: a no for yes/no metrics, less than half right for F1."""


@dataclass(frozen=True, slots=True)
class FailedQuestion:
    """A question and its kind of failure: failed (with the error), unscored, or wrong.

    `retrieval` is whether all, part or none of the evidence was found, or unknown.
    """

    question: QuestionResult
    kind: str
    value: float | None
    reason: str
    retrieval: str


def failures(run: RunResult, metric: str = "", *, threshold: float = THRESHOLD) -> list[FailedQuestion]:
    """Return failed questions first, then unscored ones, then wrong ones, worst first.

    Raises RunError if there is no metric.
    """
    name = metric or run.primary or primary_metric([run])
    run.require(name)
    found = [failure for question in run.questions if (failure := _failure(question, name, threshold))]
    order = {"failed": 0, "unscored": 1, "wrong": 2}
    return sorted(found, key=lambda one: (order[one.kind], one.value or 0.0))


def _failure(question: QuestionResult, metric: str, threshold: float) -> FailedQuestion | None:
    score = question.scores.get(metric)
    retrieval = evidence_found(question)
    if question.error or (score is not None and score.status == "failed"):
        return FailedQuestion(question, "failed", 0.0, question.error or (score.reason if score else ""), retrieval)
    if score is None or score.status == "skipped":
        return None
    if score.value is None:
        return FailedQuestion(question, "unscored", None, score.reason, retrieval)
    if score.value < threshold:
        return FailedQuestion(question, "wrong", score.value, score.reason, retrieval)
    return None


def evidence_found(question: QuestionResult) -> str:
    """Return the retrieved share of the evidence: all, part, none or unknown.

    It is counted in turns if both sides specify turns, otherwise in sessions.
    """
    for wanted, got in (
        (question.evidence_turns, {turn for piece in question.retrieved for turn in piece.turns}),
        (question.evidence_sessions, {session for piece in question.retrieved for session in piece.sessions}),
    ):
        if wanted and got:
            hits = len(got.intersection(wanted))
            return "all" if hits == len(set(wanted)) else "part" if hits else "none"
    return "unknown" if question.retrieved or not question.evidence_sessions else "none"


def failures_table(found: Sequence[FailedQuestion]) -> Table:
    """Tabulate the failures, one line each."""
    columns = ("question", "type", "kind", "value", "evidence found", "asked", "expected", "answered", "reason")
    rows = [
        (
            one.question.key,
            one.question.type,
            one.kind,
            "–" if one.value is None else f"{one.value:.2f}",
            one.retrieval,
            _cut(one.question.text),
            _cut(" | ".join(one.question.answers)),
            _cut(one.question.hypothesis or ""),
            _cut(one.reason),
        )
        for one in found
    ]
    return Table(columns, tuple(rows), frozenset({"value"}))


def _cut(text: str, length: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def summary(found: Sequence[FailedQuestion]) -> dict[str, int]:
    """Count failures by kind, most frequent first."""
    return dict(Counter(one.kind for one in found).most_common())
