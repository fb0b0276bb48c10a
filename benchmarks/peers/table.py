"""Tables of finished runs: quality with intervals, cost, and the paired difference from the product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.peers.runs import run_name
from memeval import stats
from memeval.core.types import Phase
from memeval.report.compare import row
from memeval.report.runs import RunResult, load_run
from memeval.report.table import p_value
from memeval.results.files import ResultsDir
from memeval.results.store import Status

QUALITY = {
    "locomo": {
        "turn @5": "turn.recall_fraction@5",
        "turn @10": "turn.recall_fraction@10",
        "any @10": "turn.recall_any@10",
        "session @5": "session.recall_fraction@5",
    },
    "longmemeval-s": {
        "session R@1": "session.recall_any@1",
        "session any @5": "session.recall_any@5",
        "session all @5": "session.recall_all@5",
        "turn all @10": "turn.recall_all@10",
    },
}
COMPARED = {"locomo": "turn.recall_fraction@10", "longmemeval-s": "session.recall_all@5"}


def tables(results: ResultsDir, group: str, benchmark: str, systems: Sequence[str]) -> str:
    """Return Markdown for the finished systems, in order. The others are compared with the first one."""
    runs = {system: load_run(results, run_name(group, benchmark, system)) for system in systems}
    if not runs:
        return ""
    parts = [quality(benchmark, runs), cost(results, benchmark, runs), versions(runs)]
    if len(runs) > 1:
        parts.insert(1, differences(benchmark, runs))
    return "\n\n".join(parts)


def quality(benchmark: str, runs: Mapping[str, RunResult]) -> str:
    """Tabulate means with 95 % intervals."""
    names = QUALITY[benchmark]
    lines = [[system, _questions(run), *(_cell(run, metric) for metric in names.values())] for system, run in runs.items()]
    return "\n".join([_markdown(["system", "n (failed)", *names], lines), *_reasons(runs)])


def _reasons(runs: Mapping[str, RunResult]) -> list[str]:
    """Return the first error of each system with errors."""
    errors = {system: next((q.error for q in run.questions if q.error), "") for system, run in runs.items()}
    return [f"\n{system} failed: {error}" for system, error in errors.items() if error]


def differences(benchmark: str, runs: Mapping[str, RunResult]) -> str:
    """Tabulate the first system minus each other one over shared questions, with Holm-corrected p (permutation or McNemar)."""
    (first, own), *others = runs.items()
    metric = COMPARED[benchmark]
    rows = {
        system: row(own, run, metric, seed=stats.SEED)
        for system, run in others
        if own.metrics.get(metric) and metric in run.metrics
    }
    holm = stats.holm({system: one.p for system, one in rows.items() if one.p is not None})
    lines = []
    for system, one in rows.items():
        if one.pair is not None:
            pair = one.pair
            span = f"{_number(pair.difference)} ({_number(pair.interval.low)} to {_number(pair.interval.high)})"
            lines.append(
                [f"{first} − {system}", str(pair.questions), span, f"{pair.wins} / {pair.losses}", p_value(holm[system])]
            )
    return _markdown([f"paired, {metric}", "n", "difference (95 %)", "better / worse", "p (Holm)"], lines)


def cost(results: ResultsDir, benchmark: str, runs: Mapping[str, RunResult]) -> str:
    """Tabulate writes per second, query times, disk and memory.

    LongMemEval has no query times, because each store is queried once and the times would include opening it.
    """
    timed = benchmark == "locomo"
    lines = []
    for system, run in runs.items():
        result = _processes(run)
        lines.append(
            [
                system,
                _write_rate(results, run.run_id),
                *([_milliseconds(run)] if timed else []),
                f"{result[-1].get('disk_mb', 0):.1f}" if result and result[-1].get("disk_mb") else "–",
                f"{result[-1].get('rss_mb', 0):.0f} / {max(one.get('rss_peak_mb', 0) for one in result):.0f}" if result else "–",
            ]
        )
    return _markdown(
        ["system", "turns/s written", *(["query p50 / p95 ms"] if timed else []), "disk MB", "RSS after / peak MB"], lines
    )


def versions(runs: Mapping[str, RunResult]) -> str:
    """Tabulate the versions reported by the processes."""
    lines = []
    for system, run in runs.items():
        result = _processes(run)
        packages = {**result[-1].get("versions", {}), "Python": result[-1].get("python", "?")} if result else {}
        lines.append([system, ", ".join(f"{name} {version}" for name, version in packages.items())])
    return _markdown(["system", "versions"], lines)


def _processes(run: RunResult) -> list[Mapping[str, Any]]:
    found = run.find("provider", "told", "processes")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _questions(run: RunResult) -> str:
    failed = sum(question.status == "failed" for question in run.questions)
    return f"{len(run.questions)} ({failed})" if failed else str(len(run.questions))


def _cell(run: RunResult, metric: str) -> str:
    cell = run.metrics.get(metric)
    if cell is None or cell.value is None:
        return "–"
    return f"{_number(cell.value)} ({_number(cell.low or 0.0)}–{_number(cell.high or 0.0)})"


def _write_rate(results: ResultsDir, run_id: str) -> str:
    """Return the number of items written per second over all cases, up to the time when they can be found."""
    with results.open(run_id) as store:
        done = [record for record in store.whole_records(Phase.INGEST) if record.status is Status.DONE]
    seconds = sum(record.seconds for record in done)
    items = sum(record.payload["provider"].get("items", 0) for record in done)
    return f"{items / seconds:.0f}" if seconds else "–"


def _milliseconds(run: RunResult) -> str:
    spread = run.find("times", "latency", "search")
    return " / ".join(_short(spread[name] * 1000) for name in ("p50", "p95")) if spread else "–"


def _short(value: float) -> str:
    """Format with one decimal where a single digit would be too coarse."""
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def _number(value: float) -> str:
    """Format with three decimals, without the zero before the decimal point."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def _markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in rows)
