"""Reuse the first phases of another run: which values are inherited, and whether the two runs match."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.results.files import ResultsDir
from memeval.results.store import RunStore
from memeval.run.checkpoint import ORDER, Run, is_complete, is_running
from memeval.run.plan import Plan, capabilities_of

DECIDES: Mapping[Phase, tuple[str, ...]] = MappingProxyType({
    Phase.INGEST: ("benchmark", "provider", "data", "variant", "provider_options", "benchmark_options", "selection"),
    Phase.SEARCH: ("search_k", "granularity", "top_k", "threshold"),
    Phase.ANSWER: ("answering_model", "answer_prompt", "reader", "model_options", "abstain_below", "epochs"),
    Phase.EVALUATE: ("judge", "judge_model", "judge_prompt", "judge_model_options", "embedder"),
})  # fmt: skip
"""Settings that affect each phase."""


IRRELEVANT_KEYS = frozenset({
    "connection", "tags", "targets", "published", "displayName", "description", "metadata", "licence", "citation", "homepage"
})  # fmt: skip
"""Keys of a file that don't affect a run."""


@dataclass(frozen=True, slots=True)
class Source:
    """Another run whose records before phase `first` are reused."""

    run: str
    first: Phase


def adoption(results: ResultsDir, plan: Plan, source: Source) -> dict[str, str]:
    """Return the values to store with a new run that adopts its source. Raises RunError if the two don't match."""
    folder = results.find(source.run).resolve()
    _check_source(plan, folder, source.first)
    return {"folder": str(folder), "first": str(source.first)}


def adopt(run: Run, plan: Plan, wanted: Mapping[str, str]) -> None:
    """Adopt the source run. Safe to repeat after a crash. Raises RunError if the source no longer matches."""
    folder, first = Path(wanted["folder"]), Phase(wanted["first"])
    _check_source(plan, folder, first)
    with RunStore(folder / "run.db", read_only=True) as source:
        run.adopt(source, folder, first)


def check_specs(store: RunStore, plan: Plan, run: str) -> None:
    """Check that the files of the benchmark and the provider have not changed since the run started. Raises RunError."""
    for name, here in (("benchmark", plan.benchmark_json()), ("provider", plan.provider_json())):
        if _comparable(store.meta(f"{name}_spec")) != _comparable(here):
            raise RunError(
                f"The file of {name} {here['name']} has changed since {run} started.",
                fix="Undo the change, or start a new run.",
            )


def _comparable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a file to compare. Empty values are dropped, because older runs lack their keys."""
    return {key: said for key, value in spec.items() if key not in IRRELEVANT_KEYS and (said := _said(value))}


def _said(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: said for key, one in value.items() if (said := _said(one))}
    return [_said(one) for one in value] if isinstance(value, list) else value


def inherited(store: RunStore, first: Phase) -> dict[str, Any]:
    """Return the settings that affect the phases before `first`. Raises RunError if the run has no settings."""
    settings = store.meta("settings")
    if settings is None:
        raise RunError(f"Run {store.path.parent.name} ended before it started any work.", fix="Name another run.")
    decided = (name for phase in ORDER[: ORDER.index(first)] for name in DECIDES[phase])
    return {name: settings[name] for name in decided if name in settings}


def _check_source(plan: Plan, folder: Path, first: Phase) -> None:
    """Check that the source run's phases before `first` match the plan. Raises RunError."""
    with RunStore(folder / "run.db", read_only=True) as source:
        _check_settings(plan, source, folder.name, first)
        check_specs(source, plan, f"run {folder.name}")
        for phase in ORDER[: ORDER.index(first)]:
            if not is_complete(source, phase):
                raise RunError(f"Phase {phase} of run {folder.name} is not complete.", fix=f"memeval eval --resume {folder.name}")
        if source.meta("hypotheses") and first in (Phase.SEARCH, Phase.ANSWER):
            raise RunError(f"Run {folder.name} contains only answers of another program.", fix="Use --phase evaluate.")
    if first is Phase.SEARCH:
        _check_state(folder)


def _check_settings(plan: Plan, source: RunStore, name: str, first: Phase) -> None:
    ours = plan.settings.to_json()
    for key, theirs in inherited(source, first).items():
        if key == "data":
            continue  # The questions are adopted, so the location of the file does not matter.
        if key == "provider_options" and first is Phase.SEARCH:
            theirs, here = _ingest_options(plan, theirs), _ingest_options(plan, ours[key])
        elif key == "top_k" and first is Phase.ANSWER:
            here = max(theirs, ours[key])
        else:
            here = ours[key]
        if _plain(theirs) != _plain(here):
            raise RunError(
                f"Run {name} has --{key.replace('_', '-')} {_plain(theirs)}, not {_plain(here)}.",
                fix=f"--phase {first} reuses all earlier phases; omit that flag, or begin with an earlier phase.",
            )


def _ingest_options(plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provider's options, except those that affect only search."""
    late = capabilities_of(plan).search_options
    return {key: value for key, value in {**plan.provider.options, **given}.items() if key not in late}


def _plain(value: Any) -> Any:
    """Normalize a value through JSON."""
    return json.dumps(value, sort_keys=True, default=list)


def _check_state(folder: Path) -> None:
    """Check that the provider's state exists and no runner is writing to it."""
    if not (folder / "state").is_dir():
        raise RunError(f"Run {folder.name} has no state to search in.", fix="Give a run that ingested, not one that was merged.")
    if is_running(folder):
        raise RunError(f"A runner is working on run {folder.name}.", fix="Wait until it has ended.")
