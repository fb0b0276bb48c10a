"""Is a run significantly worse than a named baseline? Made for CI: the exit code says it.

A baseline is a name for a result file, kept in `<results>/baselines.json`; a run id or a path does as well.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memeval import stats
from memeval.errors import ConfigError, RunError, UnknownRunError
from memeval.report.compare import Row, RunComparison, compare
from memeval.report.runs import RunResult, ledger_file, load_run
from memeval.results.files import ResultsDir
from memoryd.core.files import write_atomic

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Regression:
    """The comparison of run and baseline, and the rows by which the run is significantly worse."""

    comparison: RunComparison
    drops: tuple[Row, ...]
    alpha: float
    tolerance: float

    @property
    def exit_code(self) -> int:
        """1 on a significant drop, else 0."""
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
    """A drop counts if it is greater than `tolerance` (a share) and its p-value, corrected by Holm, is below `alpha`.

    Raises RunError when a metric can't be compared: a check that sees nothing must not pass.
    """
    if not 0 < alpha < 1 or not 0 <= tolerance < 1:
        raise ConfigError("--alpha must lie between 0 and 1, --tolerance from 0 to below 1.", fix="Correct it.")
    comparison = compare([run, baseline], metrics or _metric_of(baseline, run), seed=seed)
    if blind := [row.metric for row in comparison.rows if row.pair is None]:
        raise RunError(
            f"No question has a value of {blind[0]} in both {run.run_id} and {baseline.run_id}.",
            fix="Compare runs of the same questions, by a metric that both have.",
        )
    drops = [row for row in comparison.rows if _is_drop(row, alpha, tolerance)]
    return Regression(comparison, tuple(drops), alpha, tolerance)


def _metric_of(baseline: RunResult, run: RunResult) -> tuple[str, ...]:
    """The baseline's own metric: the check never changes to another one because the run lacks it. Raises RunError."""
    name = baseline.primary
    if name is None:
        raise RunError(f"The baseline {baseline.run_id} has no metric with a value.", fix="Name another baseline.")
    if not run.has_value(name):
        raise RunError(
            f"Run {run.run_id} has no value of {name}, the metric of the baseline {baseline.run_id}.",
            fix="Finish the run (memeval eval --resume), or name a metric that both have with --metric.",
        )
    return (name,)


def _is_drop(row: Row, alpha: float, tolerance: float) -> bool:
    return row.pair is not None and row.p_holm is not None and row.pair.difference < -tolerance and row.p_holm < alpha


def baselines_path(results: ResultsDir) -> Path:
    """Where the names of baselines are kept."""
    return results.root / "baselines.json"


def baselines(results: ResultsDir) -> dict[str, str]:
    """Result file of each named baseline, relative to the results folder. Raises RunError for a broken file."""
    path = baselines_path(results)
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path} can't be read: {error}.", fix="Correct it: an object of names and result files.") from None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise RunError(f"{path} is no object of names and result files.", fix="Correct it.")
    return data


def set_baseline(results: ResultsDir, name: str, run: str) -> str:
    """Name a run's result file a baseline; gives its path. An earlier one of the name is replaced. Raises RunError."""
    if not name or name != name.strip():
        raise RunError(f"{name!r} is no name for a baseline.", fix="Give a word, such as main.")
    file = result_path(results, run)
    load_run(results, str(results.root / file))
    names = {**baselines(results), name: file}
    text = json.dumps(names, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomic(baselines_path(results), text.encode(), private=False)
    return file


def result_path(results: ResultsDir, run: str) -> str:
    """Path of a run's result file, relative to the results folder if it lies there. Raises RunError."""
    path = Path(run)
    if not (path.suffix == ".json" and path.is_file()):
        found = ledger_file(results, run)
        if found is None:
            raise UnknownRunError(f"The ledger has no run {run!r} with a result file.", fix="`memeval status` lists the runs.")
        path = found
    inside, root = path.resolve(), results.root.resolve()
    return inside.relative_to(root).as_posix() if inside.is_relative_to(root) else inside.as_posix()


def load_baseline(results: ResultsDir, name: str) -> RunResult:
    """The run that a name stands for. Raises RunError with the known names."""
    known = baselines(results)
    if name in known:
        return load_run(results, str(results.root / known[name]))
    try:
        return load_run(results, name)
    except RunError as error:
        names = ", ".join(sorted(known)) or "none yet"
        raise type(error)(f"There is no baseline {name!r}: {error.message}", fix=f"Named baselines: {names}.") from None
