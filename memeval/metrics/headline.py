"""The one metric that stands for a run: the protocol's accuracy, else an answer score, else retrieval."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PREFERRED = tuple(
    re.compile(pattern)
    for pattern in (
        r"(longmemeval_|llm_)accuracy",
        r"\w*llm_accuracy",
        r"accuracy",
        r"\w*accuracy",
        r"beam_score",
        r"memoryagentbench_score",
        r"rubric",
        r"locomo_f1",
        r"f1",
        r"exact",
        r"(?!efficiency$|relevancy$)[^.@]+",
        r"session\.recall_all@5",
        r"turn\.recall_fraction@10",
        r"\w+\.recall_\w+@\d+",
    )
)


def rank(name: str) -> int:
    """The place of a metric among those that can stand for a run, from 0."""
    return next((place for place, pattern in enumerate(_PREFERRED) if pattern.fullmatch(name)), len(_PREFERRED))


def headline(names: Iterable[str]) -> str | None:
    """The metric that stands for the others; None for no names."""
    return min(names, key=lambda name: (rank(name), name), default=None)
