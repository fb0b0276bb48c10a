"""Benchmarks for memory systems. Any provider runs on any benchmark, in resumable phases.

    memeval eval --benchmarks sample --providers memoryd bm25      a run of each; see `memeval --help`
    memeval.evaluate(MyMemory, "sample")                           the same for a Python object
    python -m memeval.claudecode.run_bench                         whether memory helps Claude Code

To add a system, a benchmark, a judge, a metric or a model, register it in `registry` and implement the protocol of
its kind. To run one from a program, create a subject with `run.provider_subject.check` and pass it to `run.engine`.
The names below are public and remain stable between releases. They are imported on first use, so that the command
line starts fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memeval.core.errors import (
        BudgetError,
        ConfigError,
        DataError,
        DependencyError,
        MemevalError,
        ModelError,
        ProviderError,
        RunError,
        StoppedError,
    )
    from memeval.core.protocols import Benchmark, Capabilities, Judge, Memory, Model, Provider, RetrievalMetric
    from memeval.core.types import Answer, Case, Phase, Question, QuestionType, Retrieved, Score, SearchRequest, Session, Turn
    from memeval.registry import Catalog
    from memeval.report.runs import RunResult, load_run
    from memeval.results.files import ResultsDir
    from memeval.run.engine import Subject, Work
    from memeval.run.evaluate import evaluate
    from memeval.run.plan import RunContext
    from memeval.run.settings import Selection, Settings
    from memeval.specs import BenchmarkSpec, ProviderSpec
    from memoryd.core.types import Completion, Message, Usage

_PLACES = {
    "memeval.core.errors": (
        "BudgetError ConfigError DataError DependencyError MemevalError ModelError ProviderError RunError StoppedError"
    ),
    "memeval.core.protocols": "Benchmark Capabilities Judge Memory Model Provider RetrievalMetric",
    "memeval.core.types": "Answer Case Phase Question QuestionType Retrieved Score SearchRequest Session Turn",
    "memeval.registry": "Catalog",
    "memeval.report.runs": "RunResult load_run",
    "memeval.results.files": "ResultsDir",
    "memeval.run.engine": "Subject Work",
    "memeval.run.evaluate": "evaluate",
    "memeval.run.plan": "RunContext",
    "memeval.run.settings": "Selection Settings",
    "memeval.specs": "BenchmarkSpec ProviderSpec",
    "memoryd.core.types": "Completion Message Usage",
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names.split()}

__all__ = [
    "Answer",
    "Benchmark",
    "BenchmarkSpec",
    "BudgetError",
    "Capabilities",
    "Case",
    "Catalog",
    "Completion",
    "ConfigError",
    "DataError",
    "DependencyError",
    "Judge",
    "MemevalError",
    "Memory",
    "Message",
    "Model",
    "ModelError",
    "Phase",
    "Provider",
    "ProviderError",
    "ProviderSpec",
    "Question",
    "QuestionType",
    "ResultsDir",
    "Retrieved",
    "RetrievalMetric",
    "RunContext",
    "RunError",
    "RunResult",
    "Score",
    "SearchRequest",
    "Selection",
    "Session",
    "Settings",
    "StoppedError",
    "Subject",
    "Turn",
    "Usage",
    "Work",
    "evaluate",
    "load_run",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    try:
        return getattr(importlib.import_module(_PLACE_OF[name]), name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
