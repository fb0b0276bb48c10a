"""Build the tables of one run or of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import stdev

from memeval.report.runs import MetricCell, RunResult, number, primary_metric, widest_metric
from memeval.report.table import NONE, Table, dollars, interval, percent, seconds

_COUNTS = ("total", "scored", "failed", "unscored", "skipped")
_LEADERS = ("session.recall_any@1", "session.recall_all@5", "turn.recall_fraction@10")
_SHORT = ("R@1 %", "all@5 %", "turn frac@10 %")
"""Headings of the columns in `_LEADERS`: session recall at rank 1, all sessions within 5, and fraction of turns within 10."""

PHASES = ("ingest", "search", "answer", "evaluate")


def run_heading(run: RunResult) -> str:
    """Return a Markdown heading that describes the run."""
    parts = [f"{len(run.questions)} questions"]
    parts += [f"answered by {run.answering_model}"] if run.answering_model else []
    parts += [f"judged by {run.judge_model}"] if run.judge_model else []
    parts += [f"retrieval by {run.setting('variant')} targets"] if run.setting("variant") else []
    parts += [f"{run.clusters} conversations, sequences or repositories"] if (run.clusters or 0) > 1 else []
    parts += [f"finished {run.finished_at}"] if run.finished_at else []
    return f"# {run.benchmark} with {run.provider}: {run.run_id}\n\n{', '.join(parts)}.\n{_headline(run)}"


def _headline(run: RunResult) -> str:
    """Return one line with the run's primary metric and its cost."""
    if run.fault:
        return f"\nNot finished: {run.fault}. {run.fault_fix}\n"
    if run.primary is None:
        return ""
    cell = run.metrics[run.primary]
    took = [f"search p50 {seconds(p50)}"] if (p50 := number(run.find("times", "latency", "search", "p50"))) is not None else []
    took += [f"{tokens:,.0f} tokens handed over"] if (tokens := number(run.find("handed_over", "mean"))) is not None else []
    took += [f"cost {dollars(run.cost)}"] if run.answering_model else []
    value = f"{run.primary} {percent(cell.value)} % (95 %: {interval(cell.low, cell.high)})"
    return f"\n{', '.join([value, *took])}.\n"


def counts(cell: MetricCell) -> tuple[str, ...]:
    """Format the denominators of a metric cell."""
    return tuple(str(getattr(cell, name)) for name in _COUNTS)


def metrics_table(run: RunResult) -> Table:
    """Tabulate all metrics. Shares are in per cent."""
    columns = ("metric", "value %", "95 % interval", "scored only %", *_COUNTS)
    rows = [
        (name, percent(cell.value), interval(cell.low, cell.high), percent(cell.value_scored), *counts(cell))
        for name, cell in run.metrics.items()
    ]
    return Table(columns, tuple(rows), frozenset(columns[1:]))


def rankings_table(run: RunResult) -> Table:
    """Tabulate retrieval metrics in per cent, with a row per level and metric and a column per cut-off."""
    rows: dict[str, dict[str, str]] = {}
    for name, cell in run.metrics.items():
        stem, _, cut_off = name.partition("@")
        if "." in name:
            rows.setdefault(stem, {})[cut_off] = percent(cell.value)
    cut_offs = sorted({k for row in rows.values() for k in row}, key=lambda k: (len(k), k))
    columns = ("retrieval", *(f"@{k}" if k else "first" for k in cut_offs))
    return Table(
        columns, tuple((stem, *(row.get(k, "") for k in cut_offs)) for stem, row in rows.items()), frozenset(columns[1:])
    )


def types_table(run: RunResult, metric: str = "") -> Table:
    """Tabulate one metric, by default the main one, by question type and overall. The table is empty without a metric."""
    if not any(run.has_value(name) for name in run.metric_names):
        return Table((), ())
    name = metric or run.primary or primary_metric([run])
    run.require(name)
    cell = run.metrics[name]
    columns = (name, "value %", "95 % interval", *_COUNTS)
    rows = [
        (label, percent(one.value), interval(one.low, one.high), *counts(one))
        for label, one in [*cell.by_type.items(), ("all", cell)]
    ]
    return Table(columns, tuple(rows), frozenset(columns[1:]))


def whole_table(run: RunResult, more: Sequence[tuple[str, str, str]] = ()) -> Table:
    """Tabulate the run's overall figures.

    The figures are `more`, the main metric averaged over the benchmark's types, and abstention.
    """
    rows = list(more)
    name = run.primary
    if name is not None and "." not in name and (averaged := run.metrics[name].task_averaged) is not None:
        rows.append((f"{name}, task-averaged", percent(averaged), "mean over the benchmark's own types"))
    if name is not None and len(epochs := run.metrics[name].epochs) > 1:
        shown = ", ".join(map(percent, epochs))
        rows.append((f"{name}, sd between epochs", percent(stdev(epochs)), f"{len(epochs)} epochs: {shown}"))
    abstention = run.find("abstention") or {}
    judged = abstention.get("judged") or {}
    if judged:
        rows.append(
            ("abstention accuracy", percent(number(judged.get("accuracy"))),
             f"by the judge ({judged.get('metric')}), {_whole(judged.get('questions'))} questions without an answer")
        )  # fmt: skip
    both = _whole(abstention.get("both"))
    for part, of, what in (("precision", "abstained", "abstentions were right"), ("recall", "unanswerable", "without an answer")):
        if abstention.get(of):
            rows.append(
                (
                    f"abstention {part} by pattern",
                    percent(number(abstention.get(part))),
                    f"{both} of {_whole(abstention[of])} {what}",
                )
            )
    columns = ("of the whole run", "value %", "counted")
    return Table(columns, tuple(rows), frozenset(columns[1:2]))


def phases_table(run: RunResult) -> Table:
    """Tabulate times and model calls by phase. Times exclude cached answers."""
    rows = []
    for phase in (*PHASES, "total"):
        spread, used = run.find("times", "latency", phase) or {}, run.find("usage", phase) or {}
        if not spread and not used.get("calls") and not used.get("cached_calls") and phase != "total":
            continue
        times = (seconds(number(spread.get(name))) for name in ("p50", "p95", "p99"))
        counts = (_whole(used.get(name)) for name in ("calls", "cached_calls", "input_tokens", "output_tokens"))
        rows.append((phase, *times, *counts, dollars(number(used.get("cost_usd")))))
    columns = ("phase", "p50", "p95", "p99", "model calls", "cached", "tokens in", "tokens out", "cost")
    return Table(columns, tuple(rows), frozenset(columns[1:]))


def _whole(value: object) -> str:
    return f"{number(value) or 0:,.0f}"


def leaderboard(runs: Sequence[RunResult], metric: str = "") -> Table:
    """Tabulate one line per run, best first. Runs without the metric come last. All runs should belong to one board.

    Also shows the gain over a run without memory (provider none) with the same answering model, the latency, the mean
    number of tokens returned by a search, and the cost.
    """
    name = metric or widest_metric(runs) or "no metric"
    off = {run.answering_model: run for run in runs if run.provider == "none" and "." not in name and run.has_value(name)}
    extra = [one for one in _LEADERS if one != name and any(run.has_value(one) for run in runs)]
    columns = ("run", "provider", "answering model", "questions", "failed", f"{name} %", "95 % interval",
               *(("gain",) if off else ()), *(_SHORT[_LEADERS.index(one)] for one in extra),
               "search p50", "tokens", "cost")  # fmt: skip
    ordered = sorted(runs, key=lambda run: (not run.has_value(name), -(run.value_of(name) or 0.0), run.run_id))
    rows = [_leader(run, name, extra, off) for run in ordered]
    return Table(columns, tuple(rows), frozenset(columns[3:]))


def _leader(run: RunResult, metric: str, extra: Sequence[str], off: Mapping[str, RunResult]) -> tuple[str, ...]:
    cell = run.metrics.get(metric)
    value, base = run.value_of(metric), off.get(run.answering_model)
    without = base.value_of(metric) if base else None
    gain = NONE if value is None or without is None or run.provider == "none" else f"{100 * (value - without):+.1f}"
    return (
        run.run_id,
        run.provider,
        run.answering_model or NONE,
        str(len(run.questions)),
        str(sum(question.status == "failed" for question in run.questions)),
        percent(run.value_of(metric)),
        interval(cell.low, cell.high) if cell else NONE,
        *((gain,) if off else ()),
        *(percent(run.value_of(one)) for one in extra),
        seconds(number(run.find("times", "latency", "search", "p50"))),
        NONE if (handed := number(run.find("handed_over", "mean"))) is None else f"{handed:,.0f}",
        dollars(run.cost),
    )
