"""Which metric stands for a run or for several, where one must. A run names its own (`RunResult.primary`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memeval.errors import RunError
from memeval.metrics.headline import rank
from memeval.report.runs import RunResult


def primary_metric(runs: Sequence[RunResult]) -> str:
    """The metric that stands for all runs, else the best known one that all have a value of. Raises RunError without any."""
    own = {run.primary for run in runs}
    if len(own) == 1 and (name := own.pop()) is not None:
        return name
    shared = [name for name in runs[0].metric_names if all(run.has_value(name) for run in runs)]
    if not shared:
        raise RunError("The runs share no metric with a value.", fix="Name one with --metric; `memeval results RUN` lists them.")
    return min(shared, key=rank)


def widest_metric(runs: Sequence[RunResult]) -> str | None:
    """The metric that stands for most runs; else that which most have a value of. None when no run has any."""
    named = Counter(run.primary for run in runs if run.primary is not None)
    if named:
        return min(named, key=lambda name: (-named[name], rank(name), name))
    covered = Counter(name for run in runs for name in run.metric_names if run.has_value(name))
    return min(covered, key=lambda name: (-covered[name], rank(name), name), default=None)
