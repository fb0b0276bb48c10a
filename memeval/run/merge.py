"""Merge the shards of one run. The result equals that of an undivided run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.results.files import ResultsDir
from memeval.results.store import RunStore
from memeval.run.checkpoint import ORDER, Run, is_complete
from memeval.run.settings import Settings

_KEPT = ("benchmark_spec", "provider_spec", "provenance", "provider_provenance", "judges")


def merge(results: ResultsDir, runs: Sequence[str], run_id: str) -> Run:
    """Create a run with the questions and records of all shards.

    Raises RunError unless they are complete and belong to one run.
    """
    check_several(runs)
    with ExitStack() as stack:
        stores = {name: stack.enter_context(results.open(name)) for name in runs}
        if cells := [name for name, store in stores.items() if store.meta("claudecode") is not None]:
            raise RunError(f"Run {cells[0]} is a run_bench run.", fix="Give only shards of run_bench, or none.")
        settings = _common_settings(stores)
        for name, store in stores.items():
            for phase in ORDER[:4]:
                if not is_complete(store, phase):
                    raise RunError(f"Phase {phase} of shard {name} is not complete.", fix="Finish all shards, then merge them.")
        first = next(iter(stores.values()))
        about = {key: value for key in _KEPT if (value := first.meta(key)) is not None}
        return create_merged(results, run_id, settings, about, stores)


def create_merged(
    results: ResultsDir, run_id: str, settings: Settings, about: Mapping[str, Any], stores: Mapping[str, RunStore]
) -> Run:
    """Create the merged run. If several shards have the same record, the first shard's record is kept."""
    run = Run.create(results, run_id, settings, {**about, "merged_from": list(stores)})
    try:
        with run.store.transaction():
            for store in reversed(list(stores.values())):
                run.store.copy_from(store, ORDER[:4])
            run.store.set_meta("plan", next(iter(stores.values())).meta("plan"))
    except BaseException:
        run.close()
        raise
    return run


def check_several(names: Sequence[str]) -> None:
    """Reject a single shard. Raises RunError."""
    if len(names) < 2:
        raise RunError("There is nothing to merge.", fix="Name all shards.")


def check_judged(store: RunStore, expected: set[tuple[str, str]], *, of: str, fix: str) -> None:
    """Check that every expected question is evaluated. Raises RunError."""
    judged = {(key.case_id, key.question_id) for key in store.keys(Phase.EVALUATE) if not key.part}
    if missing := len(expected - judged):
        raise RunError(f"Run {store.path.parent.name} still has {missing} {of} to do.", fix=fix)


def difference(one: Any, other: Any, path: str = "") -> str:
    """Return the dotted name of the first differing field, or an empty string if all are equal."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return path if one != other else ""
    for key in dict.fromkeys((*one, *other)):
        inner = f"{path}.{key}".removeprefix(".")
        if (key in one) != (key in other):
            return inner
        if found := difference(one[key], other[key], inner):
            return found
    return ""


def check_shards(shards: Mapping[str, str | None]) -> None:
    """Check that the runs are distinct shards of the same run. `shards` maps run names to `i/n`. Raises RunError."""
    if whole := [name for name, shard in shards.items() if not shard]:
        raise RunError(f"Run {whole[0]} is not a shard.", fix="Merge runs that were started with --shard i/n.")
    owners: dict[str, str] = {}
    for name, shard in shards.items():
        first, other = next(iter(owners.items()), (str(shard), name))
        if str(shard).partition("/")[2] != first.partition("/")[2]:
            raise RunError(
                f"Runs {other} and {name} overlap: they are shards {first} and {shard}.", fix="Only merge shards of one division."
            )
        if str(shard) in owners:
            raise RunError(f"Runs {owners[str(shard)]} and {name} are both shard {shard}.", fix="Give each shard once.")
        owners[str(shard)] = name
    count = int(next(iter(owners)).partition("/")[2])
    if missing := sorted({f"{number}/{count}" for number in range(1, count + 1)} - set(owners)):
        raise RunError(f"Shard {missing[0]} is missing.", fix="Name all shards.")


def _common_settings(stores: Mapping[str, RunStore]) -> Settings:
    """Return the settings without the shard. Raises RunError with the first differing or missing setting."""
    found = {name: store.meta("settings") for name, store in stores.items()}
    plans = {name: store.meta("plan") for name, store in stores.items()}
    if unplanned := [name for name in stores if found[name] is None or plans[name] is None]:
        raise RunError(f"Run {unplanned[0]} did not get far enough.", fix="Finish it first.")
    for store in stores.values():
        asked = {(row.case_id, row.question_id) for row in store.questions()}
        check_judged(store, asked, of="questions", fix="Finish it, then merge the shards.")
    shards = {name: data["selection"].pop("shard") for name, data in found.items()}
    first, *others = found
    for name in others:
        if field := difference(found[first], found[name]):
            raise RunError(f"Runs {first} and {name} differ in {field.partition('.')[0]}.", fix="Only merge shards of one run.")
        if plans[name] != plans[first]:
            raise RunError(f"Runs {first} and {name} use different data.", fix="Only merge shards of one run.")
    check_shards(shards)
    data = found[first]
    return Settings.from_json({**data, "selection": {**data["selection"], "shard": None}})
