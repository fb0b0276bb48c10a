"""Calibrate a reader by comparing its confidences with the judge's scores."""

from __future__ import annotations

from memeval.core.errors import RunError
from memeval.core.types import QuestionType
from memeval.report.runs import RunResult
from memeval.report.table import NONE, Table, percent
from memeval.stats.calibration import Calibration, JudgedAnswer, bins, calibrate


def judged_answers(run: RunResult, metric: str = "") -> list[JudgedAnswer]:
    """Return a run's answers with their confidence and value.

    Raises RunError if the run has no confidences or withheld answers.
    """
    name = metric or run.primary or ""
    if not name or "." in name:
        raise RunError(f"Run {run.run_id} has no metric of answers.", fix="Give --answering-model and a judge.")
    run.require(name)
    found = []
    for question in run.questions:
        entry = question.entry(name)
        if question.confidence is None or entry.value is None:
            continue
        unanswerable = question.type == QuestionType.ABSTENTION
        found.append(JudgedAnswer(question.confidence, entry.value, float(unanswerable), question.cluster or question.key))
    again = (
        f"memeval eval --from {run.run_id} --phase answer --answering-model {run.answering_model or 'MODEL'} --abstain-below 0"
    )
    if any((question.get("answer") or {}).get("withheld") for question in run.data.get("questions", ())):
        raise RunError(
            f"Run {run.run_id} withheld answers, whose values are unknown.",
            fix=f"Ask again and withhold none: {again}",
        )
    if not found:
        raise RunError(f"Run {run.run_id} has no confidences.", fix=f"Ask for them: {again}")
    return found


def calibration_of(run: RunResult, metric: str = "") -> tuple[Calibration, list[JudgedAnswer]]:
    """Return the calibration and the underlying answers."""
    answers = judged_answers(run, metric)
    return calibrate(answers), answers


def calibration_table(made: Calibration) -> Table:
    """Tabulate the calibration, one figure per line."""
    rows = (
        ("questions", str(made.questions)),
        ("mean confidence %", percent(made.confidence)),
        ("value %, all answered", percent(made.value)),
        ("expected calibration error %", percent(made.expected_error)),
        ("Brier score", f"{made.brier:.3f}"),
        (
            "a right answer has higher confidence than a wrong one (AUROC)",
            NONE if made.ranking is None else f"{made.ranking:.3f}",
        ),
        ("best threshold on these questions", f"{made.threshold:.2f}"),
        ("value % with it", percent(made.at_threshold)),
        ("answers withheld by this threshold", str(made.withheld)),
        ("value % with a threshold chosen on the other conversations", percent(made.held_out)),
    )
    return Table(("calibration", "value"), rows, frozenset({"value"}))


def bins_table(answers: list[JudgedAnswer]) -> Table:
    """Tabulate confidence, accuracy and count by tenths of confidence."""
    rows = tuple((percent(sure), percent(value), percent(share)) for sure, value, share in bins(answers))
    return Table(
        ("confidence %", "value %", "share of answers %"), rows, frozenset({"confidence %", "value %", "share of answers %"})
    )


def advice(made: Calibration) -> str:
    """Recommend a threshold for other questions.

    A threshold is recommended only if it helps on questions that were not used to choose it.
    """
    if made.held_out is not None and made.held_out > made.value and made.threshold > 0:
        return f"--abstain-below {made.threshold:.2f}"
    return "always answer: no threshold helps on questions that were not used to choose it"
