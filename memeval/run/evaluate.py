"""Evaluate a Python object on a benchmark in one call: `memeval.evaluate(memory, "sample")`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from memeval.benchmarks.source import CACHE, Downloader, DownloadLines, Sources
from memeval.core.calls import Budget, Stop
from memeval.core.errors import ConfigError, RunError
from memeval.core.types import EMPTY
from memeval.models.guarded import ModelCache
from memeval.providers.python import Holder
from memeval.registry import Catalog
from memeval.report.runs import RunResult, load_run
from memeval.results.files import ResultsDir
from memeval.run import engine
from memeval.run.checkpoint import new_group
from memeval.run.engine import Work
from memeval.run.hypotheses import as_id
from memeval.run.plan import RunContext, with_defaults
from memeval.run.progress import QuietProgress, make_progress
from memeval.run.provider_subject import check
from memeval.run.settings import Selection, Settings
from memeval.specs import ProviderSpec, ProviderType, SpecOrigin


def evaluate(
    memory: Any,
    benchmark: str = "sample",
    *,
    name: str = "",
    limit: int | None = None,
    question_types: Sequence[str] = (),
    data: str | Path | None = None,
    answering_model: str = "",
    judge: str = "",
    judge_model: str = "",
    top_k: int = 10,
    options: Mapping[str, Any] = EMPTY,
    results_dir: str | Path | None = None,
    cache_dir: str | Path | None = None,
    config_dirs: Sequence[str | Path] = (),
    offline: bool = False,
    concurrency: int | None = None,
    budget_usd: float | None = None,
    progress: bool = False,
    **settings: Any,
) -> RunResult:
    """Run a benchmark on a memory system that is a Python object, and return the result.

    `memory` is an object, or a class or function that creates one for each case from the arguments in `options`. See
    `memeval.Memory` for the required methods. Without an `answering_model`, only retrieval is measured. `benchmark` is
    a name or the path of a YAML file. Further `settings` are fields of `memeval.Settings`, such as `granularity` or
    `variant`.

    The run is stored in `results_dir`, which defaults to `MEMEVAL_RESULTS` or `results`, so that `memeval compare`
    and `memeval html` find it. Raises ConfigError before any work if an argument is wrong, and RunError if the run
    measures nothing.
    """
    name = as_id(name or _name_of(memory))
    holder = Holder(memory, options)
    catalog = _catalog(name, config_dirs)
    context = _context(catalog, cache_dir, offline=offline, budget=budget_usd, memories={name: holder})
    wanted = _settings(
        benchmark,
        provider=name,
        answering_model=answering_model,
        judge=judge,
        judge_model=judge_model,
        top_k=top_k,
        data=str(Path(data).resolve()) if data is not None else "",
        selection=Selection(limit=limit, types=tuple(question_types)),
        **settings,
    )
    results = ResultsDir(Path(results_dir or os.environ.get("MEMEVAL_RESULTS") or "results").expanduser())
    run_id = f"{new_group()}.{Path(benchmark).stem}.{name}"
    try:
        _run(results, run_id, with_defaults(wanted, catalog), context, Work(concurrency), progress=progress)
    finally:
        holder.close(name)
    return _measured(results, run_id)


def _catalog(name: str, config_dirs: Sequence[str | Path]) -> Catalog:
    """Return a catalog that includes the object as a provider."""
    origin = SpecOrigin(Path(f"<{name}>"))
    spec = ProviderSpec(name, ProviderType.LOCAL, description="A Python object.", implementation="python", origin=origin)
    return replace(Catalog.default([Path(folder) for folder in config_dirs]), own={name: spec})


def _settings(benchmark: str, **values: Any) -> Settings:
    named = str(Path(benchmark).resolve()) if benchmark.endswith((".yaml", ".yml")) else benchmark
    try:
        return Settings(benchmark=named, **values)
    except TypeError as error:
        raise ConfigError(f"Unknown setting: {error}.", fix="See the fields of memeval.Settings.") from None


def _run(results: ResultsDir, run_id: str, wanted: Settings, context: RunContext, work: Work, *, progress: bool) -> None:
    subject = check(wanted, context)
    with engine.start(results, run_id, wanted, subject) as run, make_progress() if progress else QuietProgress() as shown:
        engine.perform(run, subject, context.stop, shown, work)


def _measured(results: ResultsDir, run_id: str) -> RunResult:
    """Return the result. Raises RunError if the run measures nothing."""
    result = load_run(results, run_id)
    if result.fault:
        first = next((question.error for question in result.questions if question.error), "")
        raise RunError(f"Run {run_id} is not finished: {result.fault}. {first}".strip(), fix="Correct this and run it again.")
    return result


def _name_of(memory: Any) -> str:
    return str(getattr(memory, "__name__", "") or type(memory).__name__).strip("<>")


def _context(
    catalog: Catalog, cache_dir: str | Path | None, *, offline: bool, budget: float | None, memories: Mapping[str, Any]
) -> RunContext:
    cache = Path(cache_dir or os.environ.get("MEMEVAL_CACHE") or "~/.cache/memeval").expanduser()
    datasets = cache / "datasets" if cache_dir or "MEMEVAL_CACHE" in os.environ else CACHE
    sources = Sources(datasets, Downloader(DownloadLines(lambda line: None)), offline)
    return RunContext(catalog, ModelCache(cache / "models"), Budget(budget), Stop(), sources, memories)
