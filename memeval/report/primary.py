"""Which metric stands for a run where one must: the protocol's accuracy, else an answer score, else retrieval."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from memeval.errors import RunError
from memeval.report.runs import RunResult

_PREFERRED = tuple(
    re.compile(pattern)
    for pattern in (
        r"(longmemeval_|llm_)accuracy",
        r"\w*llm_accuracy",
        r"accuracy",
        r"\w*accuracy",
        r"\w*rubric\w*",
        r"locomo_f1",
        r"f1",
        r"exact",
        r"(?!efficiency$)[^.@]+",
        r"session\.recall_all@5",
        r"turn\.recall_fraction@10",
        r"\w+\.recall_\w+@\d+",
    )
)


def primary_metric(runs: Sequence[RunResult]) -> str:
    """The best known metric that all runs have a value of. Raises RunError when there is none."""
    shared = [name for name in runs[0].metric_names if all(run.has_value(name) for run in runs)]
    if not shared:
        raise RunError("The runs share no metric with a value.", fix="Name one with --metric; `memeval results RUN` lists them.")
    return min(shared, key=_rank)


def widest_metric(runs: Sequence[RunResult]) -> str | None:
    """The metric that most runs have a value of, the best known one of several; None when no run has any."""
    covered = Counter(name for run in runs for name in run.metric_names if run.has_value(name))
    return min(covered, key=lambda name: (-covered[name], _rank(name), name), default=None)


def best_name(names: Iterable[str]) -> str | None:
    """The metric that stands for the others; None for no names."""
    return min(names, key=lambda name: (_rank(name), name), default=None)


def _rank(name: str) -> int:
    return next((place for place, pattern in enumerate(_PREFERRED) if pattern.fullmatch(name)), len(_PREFERRED))
