"""Export runs for other programs, and the ledger of all finished runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memeval.core.errors import RunError
from memeval.metrics.answers import headline
from memeval.report.runs import QuestionResult, RunResult, number
from memeval.report.table import NONE, Table, dollars, percent, write_csv
from memeval.report.tables import metrics_table, phases_table, run_heading, types_table, whole_table
from memeval.report.verify import scores_of, scores_text
from memeval.results.files import ResultsDir


def export(run: RunResult, form: str, level: str = "") -> str:
    """Export the run as text with a final newline. Raises RunError for an unknown format.

    `level` is the document level in the TREC formats, session or turn. The default is the level of the retrieved passages.
    """
    if form not in FORMATS:
        raise RunError(f"Unknown format: {form!r}.", fix=f"Known: {', '.join(FORMATS)}.")
    if form in TREC:
        return TREC[form](run, level or ("session" if run.setting("granularity") == "session" else "turn"))
    return FORMATS[form](run)


def _dumps(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=True) + "\n"


def as_json(run: RunResult) -> str:
    """Return the content of the result file."""
    return _dumps(run.data, 1)


def as_jsonl(run: RunResult) -> str:
    """Return JSONL with one flat object per question."""
    return "".join(_dumps(_flat(run, question)) for question in run.questions)


def as_csv(run: RunResult) -> str:
    """Return CSV with a row per question and a column per metric.

    An empty cell is unscored, skipped or failed. Its status column says which.
    """
    columns = (*_FIXED, *run.metric_names)
    return write_csv(columns, [[_cell(_flat(run, question)[name]) for name in columns] for question in run.questions])


def as_markdown(run: RunResult) -> str:
    """Return Markdown with a heading, all metrics, the main metric by type, and the run's overall figures."""
    tables = [metrics_table(run), types_table(run), whole_table(run), phases_table(run)]
    return run_heading(run) + "".join("\n" + table.markdown() for table in tables if table.rows)


def as_hypotheses(run: RunResult) -> str:
    """Return the answers in LongMemEval's hypothesis format. Raises RunError if the run has no answers."""
    answered = [question for question in run.questions if question.hypothesis is not None]
    if not answered:
        raise RunError(f"Run {run.run_id} has no answers.", fix="Run it with an answering model (--answering-model).")
    return "".join(_dumps({"question_id": q.id, "hypothesis": q.hypothesis}) for q in answered)


def as_latex(run: RunResult) -> str:
    """Return the table of all metrics as LaTeX that requires the package booktabs."""
    return metrics_table(run).latex()


def trec_run(run: RunResult, level: str) -> str:
    """Return the rankings in TREC's run format, which trec_eval and ir_measures read.

    Scores decrease with the rank, because trec_eval sorts by score and breaks ties by name. Raises RunError for a target
    variant with documents other than sessions or turns.
    """
    _check_documents(run)
    tag = _trec_name(run.provider)
    lines = []
    for question in run.questions:
        found = list(dict.fromkeys(_documents(question, level)))
        for place, name in enumerate(found):
            lines.append(f"{_trec_name(question.key)} Q0 {_trec_name(name)} {place + 1} {len(found) - place} {tag}\n")
    return _some(lines, run, "has no ranking whose sources are known")


def trec_qrels(run: RunResult, level: str) -> str:
    """Return the evidence in TREC's format for relevance judgements. Raises RunError if the run has no evidence."""
    _check_documents(run)
    lines = [
        f"{_trec_name(question.key)} 0 {_trec_name(name)} 1\n"
        for question in run.questions
        for name in dict.fromkeys(question.evidence_sessions if level == "session" else question.evidence_turns)
    ]
    return _some(lines, run, f"has no evidence at the level of the {level}")


def _documents(question: QuestionResult, level: str) -> Iterator[str]:
    for hit in question.retrieved:
        yield from hit.sessions if level == "session" else hit.turns


def _check_documents(run: RunResult) -> None:
    if run.setting("variant") in ("official", "locomo_official"):
        raise RunError(
            f"Run {run.run_id} scores targets of variant {run.setting('variant')}, whose documents TREC's format can't express.",
            fix="Export a run of another --variant.",
        )


def _trec_name(text: str) -> str:
    """Escape spaces and control characters, because whitespace separates TREC's columns."""
    return quote(text, safe="/:._-+@#,;()") or "-"


def _some(lines: list[str], run: RunResult, otherwise: str) -> str:
    if not lines:
        raise RunError(f"Run {run.run_id} {otherwise}.", fix="Export a run that retrieves and reports its sources.")
    return "".join(lines)


def as_scores(run: RunResult) -> str:
    """Return the value of every metric for each question, without any text, in the format read by `memeval verify`."""
    return scores_text(scores_of(run))


TREC: Mapping[str, Callable[[RunResult, str], str]] = {"trec": trec_run, "qrels": trec_qrels}
FORMATS: Mapping[str, Callable[[RunResult], str]] = {
    "csv": as_csv,
    "json": as_json,
    "jsonl": as_jsonl,
    "md": as_markdown,
    "latex": as_latex,
    "scores": as_scores,
    "hypotheses": as_hypotheses,
    "trec": lambda run: export(run, "trec"),
    "qrels": lambda run: export(run, "qrels"),
}
_FIXED = ("question_id", "case_id", "type", "category", "status", "error", "question", "expected", "hypothesis")


def _flat(run: RunResult, question: QuestionResult) -> dict[str, Any]:
    fixed = (question.id, question.case_id, question.type, question.category, question.status, question.error,
             question.text, list(question.answers), question.hypothesis)  # fmt: skip
    return {**dict(zip(_FIXED, fixed, strict=True)), **{name: question.entry(name).value for name in run.metric_names}}


def _cell(value: object) -> object:
    return " | ".join(value) if isinstance(value, list) else "" if value is None else value


def result_files(results: ResultsDir) -> list[Path]:
    """Return all result files, sorted by version and name. Files of a newer schema are included."""
    return sorted(path for path in results.root.glob("v*/*.json") if path.is_file())


def ledger_table(results: ResultsDir, *, last: int | None = None) -> Table:
    """Tabulate the ledger, one line per finished run, newest last. `last` limits the number of lines."""
    columns = ("finished", "benchmark", "provider", "questions", "metric", "value %", "cost", "commit", "run")
    lines = list(results.ledger_lines())
    rows = [_row(line) for line in (lines[-last:] if last else lines)]
    return Table(columns, tuple(rows), frozenset({"questions", "value %", "cost"}))


def _row(line: dict[str, object]) -> tuple[str, ...]:
    metrics = line.get("metrics")
    known = metrics.items() if isinstance(metrics, dict) else ()
    values = {name: value for name, raw in known if (value := number(raw)) is not None}
    named = line.get("primary_metric")
    name = named if isinstance(named, str) and named in values else headline(values)
    questions = number(line.get("questions"))
    return (
        str(line.get("finished_at") or NONE),
        str(line.get("benchmark") or NONE),
        str(line.get("provider") or NONE),
        NONE if questions is None else f"{questions:.0f}",
        name or NONE,
        percent(values[name]) if name else NONE,
        dollars(number(line.get("cost_usd"))),
        str(line.get("commit") or NONE)[:12],
        str(line.get("run_id") or NONE),
    )
