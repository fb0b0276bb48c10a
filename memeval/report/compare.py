"""Runs against each other, question by question: wins, losses, ties, p-values with Holm's correction over all rows.

A question that failed counts as 0 in a comparison, as it does in the mean; an unscored or skipped one is left out of
the pairs, and counted. Questions of one conversation, sequence or repository count as a cluster in interval and test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from memeval import stats
from memeval.errors import RunError
from memeval.report.numbers import NONE, interval, p_value, percent, points
from memeval.report.primary import primary_metric
from memeval.report.runs import RunResult
from memeval.report.table import Table

OUTCOMES = ("win", "loss", "tie", "left out")


@dataclass(frozen=True, slots=True)
class Row:
    """The first run against the second by one metric. `p` is that of `stats.Comparison.test`.

    `p_holm` is corrected over all rows of the comparison. `pair` None: no question is scored in both.
    """

    first: str
    second: str
    metric: str
    pair: stats.Comparison | None
    p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """All pairs of some runs; `warnings` say what makes them hard to compare."""

    runs: tuple[str, ...]
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]
    seed: int


def compare(runs: Sequence[RunResult], metrics: Sequence[str] = (), *, seed: int = stats.SEED) -> RunComparison:
    """Every pair of runs by every metric (by default the main one). Raises RunError when there is nothing to compare."""
    if len(runs) < 2:
        raise RunError("A comparison needs two runs or more.", fix="Name another run.")
    if len({run.benchmark for run in runs}) > 1:
        found = ", ".join(f"{run.run_id}: {run.benchmark}" for run in runs)
        raise RunError(f"The runs are of different benchmarks ({found}).", fix="Compare runs of the same benchmark.")
    chosen = tuple(metrics) or (primary_metric(runs),)
    for metric in chosen:
        for run in runs:
            run.require(metric)
    rows = [row(a, b, metric, seed=seed) for metric in chosen for a, b in combinations(runs, 2)]
    return RunComparison(tuple(run.run_id for run in runs), tuple(_corrected(rows)), tuple(warnings(runs)), seed)


def row(first: RunResult, second: RunResult, metric: str, *, seed: int) -> Row:
    """One pair by one metric, not corrected."""
    pair = stats.compare(first.values(metric), second.values(metric), seed=seed, clusters=_clusters(first, second))
    return Row(first.run_id, second.run_id, metric, pair, _p(pair))


def _p(pair: stats.Comparison | None) -> float | None:
    if pair is None:
        return None
    return pair.p


def _clusters(first: RunResult, second: RunResult) -> dict[str, str]:
    return {question.key: question.cluster for run in (first, second) for question in run.questions}


def _corrected(rows: Sequence[Row]) -> list[Row]:
    adjusted = stats.holm({str(number): one.p for number, one in enumerate(rows) if one.p is not None})
    return [replace(one, p_holm=adjusted.get(str(number))) for number, one in enumerate(rows)]


def warnings(runs: Sequence[RunResult]) -> list[str]:
    """Differences between runs beyond the system under test that a reader must know of."""
    told = []
    for name, values in (
        ("data", [run.data_hash for run in runs]),
        ("target variant", [run.setting("variant") for run in runs]),
        ("granularity", [run.setting("granularity") for run in runs]),
        ("answering model", [run.answering_model for run in runs]),
        ("judge model", [run.judge_model for run in runs]),
        ("number of pieces read", [run.setting("top_k") for run in runs]),
        ("reader", [run.setting("reader") for run in runs]),
    ):
        if len(set(values)) > 1:
            shown = ", ".join(f"{run.run_id}: {value or 'none'}" for run, value in zip(runs, values, strict=True))
            told.append(f"The runs differ in {name} ({shown}).")
    keys = [frozenset(question.key for question in run.questions) for run in runs]
    if len(set(keys)) > 1:
        told.append("The runs have different questions; only those that both of a pair have scored are compared.")
    told += [line for line in dict.fromkeys(map(few_clusters, runs)) if line]
    return told


def few_clusters(run: RunResult) -> str:
    """A warning where questions come from fewer than 20 clusters; else nothing."""
    if run.clusters is None or run.clusters >= stats.FEW:
        return ""
    if run.clusters == 1:
        return "All questions are of one conversation, sequence or repository: nothing is known of others."
    return f"The questions come from {run.clusters} conversations, sequences or repositories: intervals and p rest on few."


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """One question in both runs; `outcome` is win, loss or tie of the first run, else "left out"."""

    key: str
    type: str
    text: str
    first: float | None
    second: float | None
    outcome: str


def question_pairs(first: RunResult, second: RunResult, metric: str) -> list[QuestionPair]:
    """Every question of either run, as `compare` counts it; wins first, then losses, ties and what is left out."""
    left, right = first.values(metric), second.values(metric)
    asked = {question.key: question for run in (second, first) for question in run.questions}
    pairs = [
        QuestionPair(key, one.type, one.text, left.get(key), right.get(key), _outcome(left.get(key), right.get(key)))
        for key, one in asked.items()
    ]
    return sorted(pairs, key=lambda pair: (OUTCOMES.index(pair.outcome), pair.key))


def _outcome(first: float | None, second: float | None) -> str:
    if first is None or second is None:
        return "left out"
    return "tie" if first == second else "win" if first > second else "loss"


def question_table(pairs: Sequence[QuestionPair], first: str, second: str) -> Table:
    """One line for each question."""
    columns = ("question", "type", first, second, "outcome", "asked")
    rows = [(one.key, one.type, _value(one.first), _value(one.second), one.outcome, one.text) for one in pairs]
    return Table(columns, tuple(rows), frozenset({first, second}))


def _value(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def comparison_table(comparison: RunComparison) -> Table:
    """One line for each pair and metric; shares in per cent, differences in percentage points."""
    columns = ("first", "second", "metric", "questions", "left out", "first %", "second %", "difference", "95 % interval",
               "wins", "losses", "ties", "p", "p (Holm)")  # fmt: skip
    return Table(columns, tuple(_cells(one) for one in comparison.rows), frozenset(columns[3:]))


def _cells(one: Row) -> tuple[str, ...]:
    pair = one.pair
    if pair is None:
        return (one.first, one.second, one.metric, "0", *["–"] * 10)
    return (
        one.first,
        one.second,
        one.metric,
        str(pair.questions),
        str(pair.left_out),
        percent(pair.first),
        percent(pair.second),
        points(pair.difference),
        interval(pair.interval.low, pair.interval.high).replace("–", " to "),
        str(pair.wins),
        str(pair.losses),
        str(pair.ties),
        p_value(one.p),
        p_value(one.p_holm),
    )
