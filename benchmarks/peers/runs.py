"""Run one memeval run for each system and benchmark, or resume it. Metrics and intervals are memeval's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.install import CODE, PEERS, is_installed
from memeval.benchmarks.opening import open_benchmark
from memeval.benchmarks.source import Sources
from memeval.core.calls import Budget, Stop
from memeval.core.errors import DependencyError
from memeval.core.types import QuestionType
from memeval.models.guarded import ModelCache
from memeval.registry import Catalog
from memeval.results.files import ResultsDir
from memeval.run import engine
from memeval.run.plan import RunContext
from memeval.run.progress import make_progress
from memeval.run.provider_subject import check, subject_of
from memeval.run.settings import Selection, Settings

OWN = ("memoryd-maxsim", "memoryd-hybrid", "bm25-process")
SYSTEMS = (*OWN, *PEERS)
VARIANTS = {"locomo": "", "longmemeval-s": "official"}
"""LongMemEval as in its official script: the user's messages are indexed, and the user's sessions and turns are retrieved."""
PIECES = 30
SEED = 0
ANSWERABLE = tuple(str(kind) for kind in QuestionType if kind is not QuestionType.ABSTENTION)


@dataclass(frozen=True)
class Cell:
    """A benchmark with its data and the approximate number of questions (None: all)."""

    benchmark: str
    data: Path
    limit: int | None = None


def run_context(home: Path, stop: Stop) -> RunContext:
    """Return the context shared by all runs. The providers' files are in this folder."""
    environ = {**os.environ, "PEERS_HOME": str(home), "PEERS_CODE": str(CODE), "PEERS_PYTHON": sys.executable}
    catalog = Catalog.default((CODE,), environ)
    return RunContext(catalog, ModelCache(None), Budget(None), stop, Sources(offline=True))


def settings(cell: Cell, system: str, context: RunContext) -> Settings:
    """Return the settings, with the same questions and the same number of requested passages for every system."""
    return Settings(
        benchmark=cell.benchmark,
        provider=system,
        search_k=PIECES,
        variant=VARIANTS[cell.benchmark],
        data=str(cell.data.resolve()),
        seed=SEED,
        selection=Selection(types=ANSWERABLE, dev_slice=_share(cell, context), seed=SEED),
    )


def _share(cell: Cell, context: RunContext) -> float | None:
    """Return the share of each question type that results in about `limit` questions."""
    if cell.limit is None:
        return None
    cases = open_benchmark(context.catalog.benchmark(cell.benchmark), cell.data).cases()
    total = sum(question.type is not QuestionType.ABSTENTION for case in cases for question in case.questions)
    return min(1.0, cell.limit / max(1, total))


def run_name(group: str, benchmark: str, system: str) -> str:
    """Return the id of the run."""
    return f"{group}.{benchmark}.{system}"


def perform(results: ResultsDir, group: str, cell: Cell, system: str, home: Path, context: RunContext) -> None:
    """Start the run, or resume it if it exists. Raises MemevalError."""
    if system in PEERS and not is_installed(system, home):
        raise DependencyError(f"{system} is not installed.", fix=f"python -m benchmarks.peers --install --peers {system}")
    name = run_name(group, cell.benchmark, system)
    if name in results.run_ids():
        run, subject = engine.reopen(results, name, subject_of(context))
    else:
        wanted = settings(cell, system, context)
        subject = check(wanted, context)
        run = engine.start(results, name, wanted, subject)
    with run, make_progress() as progress:
        engine.perform(run, subject, context.stop, progress, engine.Work(concurrency=1))


def finished(results: ResultsDir, group: str, benchmark: str, systems: Sequence[str]) -> list[str]:
    """Return the systems with a result."""
    known = results.run_ids()
    out = []
    for system in systems:
        name = run_name(group, benchmark, system)
        with results.open(name) if name in known else nullcontext() as store:
            if store is not None and store.meta("result_file"):
                out.append(system)
    return out
