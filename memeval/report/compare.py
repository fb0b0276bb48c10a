"""Compare runs of one benchmark pairwise, and a run against a baseline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from memeval import stats
from memeval.core.errors import ConfigError, RunError, UnknownRunError
from memeval.report.runs import RunResult, client_label, ledger_file, load_run, primary_metric
from memeval.report.table import NONE, Table, interval, p_value, percent, points
from memeval.results.files import ResultsDir
from memoryd.core.files import write_atomic

OUTCOMES = ("win", "loss", "tie", "left out")


@dataclass(frozen=True, slots=True)
class MetricRow:
    """The comparison of two runs by one metric. `p` is the p-value of `stats.Comparison.test`.

    `p_holm` is corrected over all rows of the comparison. `pair` is None if the runs share no scored question.
    """

    first: str
    second: str
    metric: str
    pair: stats.Comparison | None
    p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Comparisons of all pairs of several runs. `warnings` lists differences that make the runs hard to compare."""

    runs: tuple[str, ...]
    rows: tuple[MetricRow, ...]
    warnings: tuple[str, ...]
    seed: int


def compare(runs: Sequence[RunResult], metrics: Sequence[str] = (), *, seed: int = stats.SEED) -> RunComparison:
    """Compare every pair of runs by the given metrics, by default the main one.

    Raises RunError if there is nothing to compare.
    """
    if len(runs) < 2:
        raise RunError("A comparison requires at least two runs.", fix="Name another run.")
    if len({run.benchmark for run in runs}) > 1:
        found = ", ".join(f"{run.run_id}: {run.benchmark}" for run in runs)
        raise RunError(f"The runs are of different benchmarks ({found}).", fix="Compare runs of the same benchmark.")
    if broken := next((run for run in runs if run.fault), None):
        raise RunError(
            f"Run {broken.run_id} is not finished: {broken.fault}.",
            fix=broken.fault_fix,
        )
    chosen = tuple(metrics) or (primary_metric(runs),)
    for metric in chosen:
        for run in runs:
            run.require(metric)
    rows = [row(a, b, metric, seed=seed) for metric in chosen for a, b in combinations(runs, 2)]
    return RunComparison(tuple(run.run_id for run in runs), tuple(_corrected(rows)), tuple(warnings(runs)), seed)


def row(first: RunResult, second: RunResult, metric: str, *, seed: int) -> MetricRow:
    """Compare one pair of runs by one metric, without correction of the p-value."""
    pair = stats.compare(first.values(metric), second.values(metric), seed=seed, clusters=_clusters(first, second))
    return MetricRow(first.run_id, second.run_id, metric, pair, _p(pair))


def _p(pair: stats.Comparison | None) -> float | None:
    if pair is None:
        return None
    return pair.p


def _clusters(first: RunResult, second: RunResult) -> dict[str, str]:
    return {question.key: question.cluster for run in (first, second) for question in run.questions}


def _corrected(rows: Sequence[MetricRow]) -> list[MetricRow]:
    adjusted = stats.holm({str(number): one.p for number, one in enumerate(rows) if one.p is not None})
    return [replace(one, p_holm=adjusted.get(str(number))) for number, one in enumerate(rows)]


def warnings(runs: Sequence[RunResult]) -> list[str]:
    """Describe differences between runs other than the system under test."""
    messages = []
    for name, values in (
        ("data", [run.data_hash for run in runs]),
        ("target variant", [run.setting("variant") for run in runs]),
        ("granularity", [run.setting("granularity") for run in runs]),
        ("answering model", [run.answering_model for run in runs]),
        ("judge model", [run.judge_model for run in runs]),
        ("number of pieces read", [run.setting("top_k") for run in runs]),
        ("reader", [run.setting("reader") for run in runs]),
        ("client", [_client(run) for run in runs]),
    ):
        if len(set(values)) > 1:
            shown = ", ".join(f"{run.run_id}: {value or 'none'}" for run, value in zip(runs, values, strict=True))
            messages.append(f"The runs differ in {name} ({shown}).")
    keys = [frozenset(question.key for question in run.questions) for run in runs]
    if len(set(keys)) > 1:
        messages.append("The runs have different questions; each pair is compared only on questions scored in both runs.")
    messages += [line for line in dict.fromkeys(few_clusters(run.clusters) for run in runs) if line]
    return messages


def _client(run: RunResult) -> str:
    client = run.find("claudecode")
    return client_label(client) if isinstance(client, Mapping) else ""


def few_clusters(clusters: int | None) -> str:
    """Return a warning if the questions come from fewer than 20 clusters, otherwise an empty string."""
    if clusters is None or clusters >= stats.FEW:
        return ""
    if clusters == 1:
        return "All questions are from one conversation, sequence or repository, so the result says nothing about others."
    return (
        f"The questions come from {clusters} conversations, sequences or repositories: intervals and p-values are based on few."
    )


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """A question in both runs. `outcome` is a win, loss or tie of the first run, or "left out"."""

    key: str
    type: str
    text: str
    first: float | None
    second: float | None
    outcome: str


def question_pairs(first: RunResult, second: RunResult, metric: str) -> list[QuestionPair]:
    """Pair the questions of both runs, counted as in `compare`. Wins come first, then losses, ties and omitted questions."""
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
    """Tabulate the pairs with one line per question."""
    columns = ("question", "type", first, second, "outcome", "asked")
    rows = [(one.key, one.type, _value(one.first), _value(one.second), one.outcome, one.text) for one in pairs]
    return Table(columns, tuple(rows), frozenset({first, second}))


def _value(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def comparison_table(comparison: RunComparison) -> Table:
    """Tabulate the comparison, one line per pair and metric. Shares are in per cent and differences in percentage points."""
    columns = ("first", "second", "metric", "questions", "left out", "first %", "second %", "difference", "95 % interval",
               "wins", "losses", "ties", "p", "p (Holm)")  # fmt: skip
    return Table(columns, tuple(_cells(one) for one in comparison.rows), frozenset(columns[3:]))


def _cells(one: MetricRow) -> tuple[str, ...]:
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


ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Regression:
    """The comparison of a run with a baseline, and the rows with a significant drop."""

    comparison: RunComparison
    drops: tuple[MetricRow, ...]
    alpha: float
    tolerance: float

    @property
    def exit_code(self) -> int:
        """Return 1 on a significant drop, otherwise 0."""
        return 1 if self.drops else 0


def regress(
    run: RunResult,
    baseline: RunResult,
    metrics: Sequence[str] = (),
    *,
    alpha: float = ALPHA,
    tolerance: float = 0.0,
    seed: int = stats.SEED,
) -> Regression:
    """Check for drops greater than `tolerance` (a share) with a Holm-corrected p-value below `alpha`.

    Raises RunError if a metric can't be compared, because a check without data must not pass.
    """
    if not 0 < alpha < 1 or not 0 <= tolerance < 1:
        raise ConfigError("--alpha must be between 0 and 1, and --tolerance at least 0 and below 1.", fix="Correct it.")
    comparison = compare([run, baseline], metrics or _metric_of(baseline, run), seed=seed)
    if blind := [row.metric for row in comparison.rows if row.pair is None]:
        raise RunError(
            f"No question has a value of {blind[0]} in both {run.run_id} and {baseline.run_id}.",
            fix="Compare runs of the same questions, on a metric that both have.",
        )
    drops = [row for row in comparison.rows if _is_regression(row, alpha, tolerance)]
    return Regression(comparison, tuple(drops), alpha, tolerance)


def _metric_of(baseline: RunResult, run: RunResult) -> tuple[str, ...]:
    """Return the baseline's metric. Raises RunError if the run lacks it, instead of choosing another one."""
    name = baseline.primary
    if name is None:
        raise RunError(f"The baseline {baseline.run_id} has no metric with a value.", fix="Name another baseline.")
    if not run.has_value(name):
        raise RunError(
            f"Run {run.run_id} has no value of {name}, the metric of the baseline {baseline.run_id}.",
            fix="Finish the run (memeval eval --resume), or give a metric that both have with --metric.",
        )
    return (name,)


def _is_regression(row: MetricRow, alpha: float, tolerance: float) -> bool:
    return row.pair is not None and row.p_holm is not None and row.pair.difference < -tolerance and row.p_holm < alpha


def baselines_path(results: ResultsDir) -> Path:
    """Return the file that stores the named baselines."""
    return results.root / "baselines.json"


def baselines(results: ResultsDir) -> dict[str, str]:
    """Return the result file of each baseline by name, relative to the results folder.

    Raises RunError if the list is malformed.
    """
    path = baselines_path(results)
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(
            f"{path} can't be read: {error}.", fix="Correct it: it must be an object of names and result files."
        ) from None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise RunError(f"{path} is not an object of names and result files.", fix="Correct it.")
    return data


def set_baseline(results: ResultsDir, name: str, run: str) -> str:
    """Store a run's result file as a baseline under a name, and return the file's path.

    An existing baseline with that name is replaced. Raises RunError.
    """
    if not name or name != name.strip():
        raise RunError(f"{name!r} is not a valid baseline name.", fix="Use a word, such as main.")
    file = result_path(results, run)
    load_run(results, str(results.root / file))
    names = {**baselines(results), name: file}
    text = json.dumps(names, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomic(baselines_path(results), text.encode(), private=False)
    return file


def result_path(results: ResultsDir, run: str) -> str:
    """Return the path of a run's result file. It is relative if the file is in the results folder. Raises RunError."""
    path = Path(run)
    if not (path.suffix == ".json" and path.is_file()):
        found = ledger_file(results, run)
        if found is None:
            raise UnknownRunError(f"The ledger has no run {run!r} with a result file.", fix="`memeval status` lists the runs.")
        path = found
    inside, root = path.resolve(), results.root.resolve()
    return inside.relative_to(root).as_posix() if inside.is_relative_to(root) else inside.as_posix()


def load_baseline(results: ResultsDir, name: str) -> RunResult:
    """Load the run of a named baseline. Raises RunError with the known names if there is no such baseline."""
    known = baselines(results)
    if name in known:
        return load_run(results, str(results.root / known[name]))
    try:
        return load_run(results, name)
    except RunError as error:
        names = ", ".join(sorted(known)) or "none yet"
        raise type(error)(f"There is no baseline {name!r}: {error.message}", fix=f"Named baselines: {names}.") from None
