"""Put the figures of a run in context: the gain over no memory, targets, published figures, and earlier versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memeval import stats
from memeval.core.errors import ConfigError, RunError
from memeval.metrics.answers import AccuracyGain, accuracy_gain
from memeval.registry import Catalog
from memeval.report.boards import board_parts
from memeval.report.compare import row
from memeval.report.runs import RunResult, ledger_file, read_run
from memeval.report.table import NONE, Table, interval, p_value, percent, points
from memeval.results.files import ResultsDir
from memeval.specs import PublishedSpec

NOTHING = "none"
"""The provider without memory."""
_FREE = ("asked for", "threshold", "prepared")
"""Settings that may differ between a run with memory and one without, because the latter retrieves nothing."""


def baseline_of(run: RunResult, others: Iterable[RunResult]) -> RunResult | None:
    """Return the newest run without memory that has the same questions, answering model and judge, or None."""
    if run.provider == NOTHING or not run.answering_model:
        return None
    wanted = _parts(run)
    fitting = [one for one in others if one.provider == NOTHING and not one.fault and _parts(one) == wanted]
    return max(fitting, key=lambda one: one.finished_at, default=None)


def _parts(run: RunResult) -> tuple[object, ...]:
    kept = tuple(part for part in board_parts(run) if part[0] not in _FREE)
    return (run.benchmark, run.answering_model, run.setting("reader"), kept)


def gain_of(run: RunResult, others: Iterable[RunResult]) -> AccuracyGain | None:
    """Return the accuracy with memory minus the accuracy without it, or None if there is no matching run without memory."""
    name = run.primary
    base = baseline_of(run, others)
    if base is None or name is None or "." in name or name not in base.metrics:
        return None
    return accuracy_gain(run.values(name), base.values(name))


def runs_without_memory(results: ResultsDir, benchmark: str) -> list[RunResult]:
    """Return the finished runs of provider `none` on a benchmark. Unreadable results are skipped."""
    found = []
    for line in results.ledger_lines():
        if line.get("benchmark") != benchmark or line.get("provider") != NOTHING:
            continue
        if (path := ledger_file(results, str(line.get("run_id")))) is not None:
            try:
                found.append(read_run(path))
            except RunError:
                continue  # Reported by `memeval html`.
    return found


def gain_row(gain: AccuracyGain) -> tuple[str, str, str]:
    """Format the gain as a row for the run's table of overall figures."""
    left = f", {gain.left_out} in only one run" if gain.left_out else ""
    detail = f"{percent(gain.on)} with, {percent(gain.off)} without memory, {gain.questions} questions{left}"
    return ("accuracy gain", f"{100 * gain.gain:+.1f}", detail)


def targets_of(run: RunResult) -> dict[str, float]:
    """Return the benchmark's targets at the time of the run."""
    found = run.find("benchmark", "spec", "targets")
    return {str(name): float(value) for name, value in found.items()} if isinstance(found, Mapping) else {}


def missed(run: RunResult) -> list[str]:
    """Return the metrics below their target. A metric without a value counts as missed."""
    reached = {name: value for name in targets_of(run) if (value := run.value_of(name)) is not None}
    return [name for name, target in targets_of(run).items() if name not in reached or reached[name] < target]


def targets_table(run: RunResult) -> Table:
    """Tabulate each target with the value and whether it was reached.

    The result is undecided if the interval contains the target.
    """
    rows = []
    for name, target in targets_of(run).items():
        value = run.value_of(name)
        cell = run.metrics.get(name)
        unsure = cell is not None and cell.low is not None and cell.high is not None and cell.low < target < cell.high
        verdict = "not measured" if value is None else "reached" if value >= target else "missed"
        shown = interval(cell.low, cell.high) if cell else NONE
        rows.append((name, percent(target), percent(value), shown, f"{verdict}, not surely" if unsure else verdict))
    return Table(
        ("target", "at least %", "value %", "95 % interval", "verdict"), tuple(rows), frozenset({"at least %", "value %"})
    )


def published_of(catalog: Catalog, benchmark: str) -> tuple[PublishedSpec, ...]:
    """Return the published figures from the benchmark's file, or nothing if the file is unavailable."""
    try:
        return catalog.benchmark(benchmark).published
    except ConfigError:
        return ()


def published_table(figures: Sequence[PublishedSpec]) -> Table:
    """Tabulate published figures with their sources."""
    rows = tuple((one.system, one.metric, f"{one.value:g}", one.note, one.source) for one in figures)
    return Table(("published system", "metric", "value %", "note", "source"), rows, frozenset({"value %"}))


PUBLISHED_NOTE = "Figures published by others: models, judges or questions differ from those here unless noted otherwise."


def version_of(run: RunResult) -> str:
    """Return the version and commit of the program that produced a run."""
    version = str(run.find("provenance", "memeval_version") or "")
    commit = str(run.find("provenance", "git", "commit") or "")[:9]
    return " ".join(part for part in (version, commit) if part) or NONE


def trends(runs: Iterable[RunResult]) -> list[list[RunResult]]:
    """Group comparable runs of one provider in chronological order. Groups with a single run are dropped."""
    grouped: dict[tuple[object, ...], list[RunResult]] = {}
    for run in runs:
        if not run.fault and run.primary is not None:
            options = str(run.find("settings", "provider_options") or "")
            key = (run.benchmark, run.provider, run.answering_model, options, board_parts(run))
            grouped.setdefault(key, []).append(run)
    series = [sorted(some, key=lambda run: run.finished_at) for some in grouped.values() if len(some) > 1]
    return sorted(series, key=lambda some: (some[0].benchmark, some[0].provider))


def trend_table(series: Sequence[RunResult], metric: str = "") -> Table:
    """Tabulate a provider's value for each version, and the difference from the previous version on shared questions."""
    name = metric or series[-1].primary or ""
    rows = []
    before: RunResult | None = None
    for run in series:
        cell = run.metrics.get(name)
        change, p = NONE, NONE
        if before is not None and cell is not None and name in before.metrics:
            pair = row(run, before, name, seed=stats.SEED).pair
            change = points(pair.difference) if pair else NONE
            p = p_value(pair.p) if pair else NONE
        value = percent(cell.value) if cell else NONE
        spread = interval(cell.low, cell.high) if cell else NONE
        rows.append((run.finished_at[:16], version_of(run), value, spread, change, p, run.run_id))
        before = run
    columns = ("finished", "version", f"{name} %", "95 % interval", "change", "p", "run")
    return Table(columns, tuple(rows), frozenset({f"{name} %", "change", "p"}))
