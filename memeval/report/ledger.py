"""The ledger of finished runs, and the result files of a results folder."""

from __future__ import annotations

from pathlib import Path

from memeval.metrics.headline import headline
from memeval.report.numbers import NONE, dollars, percent
from memeval.report.runs import number
from memeval.report.table import Table
from memeval.results.files import ResultsDir


def result_files(results: ResultsDir) -> list[Path]:
    """All result files, by version and name; those of a newer schema, too."""
    return sorted(path for path in results.root.glob("v*/*.json") if path.is_file())


def ledger_table(results: ResultsDir, *, last: int | None = None) -> Table:
    """One line for each finished run, as the ledger says it, the newest last; `last` gives only so many."""
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
