"""A run for other programs: csv and jsonl hold one line for each question, json the whole result, md its tables.

`hypotheses` is LongMemEval's own file, {"question_id", "hypothesis"} on each line; failed questions have no line in it,
as the official script counts what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from memeval.errors import RunError
from memeval.report.runs import QuestionResult, RunResult
from memeval.report.table import write_csv
from memeval.report.tables import metrics_table, phases_table, run_heading, types_table, whole_table


def export(run: RunResult, form: str) -> str:
    """The run as text with its line end. Raises RunError for an unknown format."""
    if form not in FORMATS:
        raise RunError(f"The format {form!r} is not known.", fix=f"Known: {', '.join(FORMATS)}.")
    return FORMATS[form](run)


def _dumps(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=True) + "\n"


def as_json(run: RunResult) -> str:
    """The result file's content."""
    return _dumps(run.data, 1)


def as_jsonl(run: RunResult) -> str:
    """One flat object for each question."""
    return "".join(_dumps(_flat(run, question)) for question in run.questions)


def as_csv(run: RunResult) -> str:
    """One row for each question, one column for each metric; an empty cell is unscored, skipped or failed (see status)."""
    columns = (*_FIXED, *run.metric_names)
    return write_csv(columns, [[_cell(_flat(run, question)[name]) for name in columns] for question in run.questions])


def as_markdown(run: RunResult) -> str:
    """Heading, all metrics, the main metric by type, and what is said of the run as a whole."""
    tables = [metrics_table(run), types_table(run), whole_table(run), phases_table(run)]
    return run_heading(run) + "".join("\n" + table.markdown() for table in tables if table.rows)


def as_hypotheses(run: RunResult) -> str:
    """LongMemEval's hypothesis file. Raises RunError when the run has no answers."""
    answered = [question for question in run.questions if question.hypothesis is not None]
    if not answered:
        raise RunError(f"Run {run.run_id} has no answers.", fix="Run it with an answering model (--answering-model).")
    return "".join(_dumps({"question_id": q.id, "hypothesis": q.hypothesis}) for q in answered)


FORMATS: Mapping[str, Callable[[RunResult], str]] = {
    "csv": as_csv,
    "json": as_json,
    "jsonl": as_jsonl,
    "md": as_markdown,
    "hypotheses": as_hypotheses,
}
_FIXED = ("question_id", "case_id", "type", "category", "status", "error", "question", "expected", "hypothesis")


def _flat(run: RunResult, question: QuestionResult) -> dict[str, Any]:
    fixed = (question.id, question.case_id, question.type, question.category, question.status, question.error,
             question.text, list(question.answers), question.hypothesis)  # fmt: skip
    return {**dict(zip(_FIXED, fixed, strict=True)), **{name: question.entry(name).value for name in run.metric_names}}


def _cell(value: object) -> object:
    return " | ".join(value) if isinstance(value, list) else "" if value is None else value
