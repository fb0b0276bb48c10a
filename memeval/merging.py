"""Shards of one run, joined: the result is that of a run that was never cut up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memeval.checkpoint import ORDER, Run
from memeval.errors import RunError
from memeval.results.files import ResultsDir
from memeval.results.store import RunStore
from memeval.settings import Settings
from memeval.types import Phase

_KEPT = ("benchmark_spec", "provider_spec", "provenance", "provider_provenance", "judges")


def merge(results: ResultsDir, runs: Sequence[str], run_id: str) -> Run:
    """A new run with the questions and records of all. Raises RunError unless they are all shards of one run, and complete."""
    if len(runs) < 2:
        raise RunError("There is nothing to join.", fix="Name all shards.")
    stores = {name: results.open(name) for name in runs}
    try:
        if cells := [name for name, store in stores.items() if store.meta("claudecode") is not None]:
            raise RunError(f"Run {cells[0]} is one of run_bench.", fix="Name shards of run_bench only, or none.")
        settings = _common_settings(stores)
        first = next(iter(stores.values()))
        about = {
            key: first.meta(key) for key in ("benchmark_spec", "provider_spec", "provenance", "provider_provenance", "judges")
        }
        run = Run.create(results, run_id, settings, {**_clean(about), "merged_from": list(runs)})
        try:
            _fill(run, stores)
            for phase in ORDER[:4]:
                if not run.is_complete(phase):
                    raise RunError(f"Phase {phase} of a shard is not complete.", fix="Finish all shards, then join them.")
        except BaseException:
            run.close()
            raise
        return run
    finally:
        for store in stores.values():
            store.close()


def _clean(about: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in about.items() if value is not None}


def _common_settings(stores: dict[str, RunStore]) -> Settings:
    """The settings of all but the shard. Raises RunError naming what differs or is missing."""
    found = {name: store.meta("settings") for name, store in stores.items()}
    plans = {name: store.meta("plan") for name, store in stores.items()}
    if unplanned := [name for name in stores if found[name] is None or plans[name] is None]:
        raise RunError(f"Run {unplanned[0]} did not get far enough.", fix="Finish it first.")
    for store in stores.values():
        _check_complete(store)
    shards = {name: data["selection"].pop("shard") for name, data in found.items()}
    names = list(found)
    for name in names[1:]:
        if differing := [key for key in found[name] if found[name][key] != found[names[0]][key]]:
            raise RunError(f"Runs {names[0]} and {name} differ in {differing[0]}.", fix="Join shards of one run only.")
        if plans[name] != plans[names[0]]:
            raise RunError(f"Runs {names[0]} and {name} are of different data.", fix="Join shards of one run only.")
    check_shards(shards)
    data = found[names[0]]
    return Settings.from_json({**data, "selection": {**data["selection"], "shard": None}})


def _check_complete(store: RunStore) -> None:
    asked = {(row.case_id, row.question_id) for row in store.questions()}
    judged = {(key.case_id, key.question_id) for key in store.keys(Phase.EVALUATE)}
    if missing := len(asked - judged):
        raise RunError(f"Run {store.path.parent.name} has {missing} questions to go.", fix="Finish it, then join the shards.")


def check_shards(shards: Mapping[str, str | None]) -> None:
    """Raises RunError unless runs, by name with their `i/n`, are all shards of one run and each is there once."""
    if whole := [name for name, shard in shards.items() if not shard]:
        raise RunError(f"Run {whole[0]} is no shard.", fix="Join runs that were started with --shard i/n.")
    owners: dict[str, str] = {}
    for name, shard in shards.items():
        first, other = next(iter(owners.items()), (str(shard), name))
        if str(shard).partition("/")[2] != first.partition("/")[2]:
            raise RunError(
                f"Runs {other} and {name} overlap: they are shards {first} and {shard}.", fix="Join shards of one division only."
            )
        if str(shard) in owners:
            raise RunError(f"Runs {owners[str(shard)]} and {name} are both shard {shard}.", fix="Name each shard once.")
        owners[str(shard)] = name
    count = int(next(iter(owners)).partition("/")[2])
    if missing := sorted({f"{number}/{count}" for number in range(1, count + 1)} - set(owners)):
        raise RunError(f"Shard {missing[0]} is missing.", fix="Name all shards.")


def _fill(run: Run, stores: dict[str, RunStore]) -> None:
    with run.store.transaction():
        for store in stores.values():
            run.store.copy_from(store, ORDER[:4])
        run.store.set_meta("plan", next(iter(stores.values())).meta("plan"))
