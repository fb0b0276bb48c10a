"""Merge the shards of a run_bench command. Cells, learning metrics and comparisons equal those of an undivided command.

Everything is checked before anything is written, and an interrupted merge can be repeated under the same id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memeval.claudecode.command import Command, GridRow, group_file, load_command, save_command
from memeval.claudecode.contract import Arm, Family, StepKind, StepRecord, StepSequence
from memeval.claudecode.families import FamilyOptions, opened, with_tasks
from memeval.claudecode.faults import LOST, sum_lost
from memeval.claudecode.grid import cell_sequences, write_summary
from memeval.claudecode.result import CellReport, step_records
from memeval.claudecode.sandbox import short_hash
from memeval.core.errors import ConfigError, RunError, UnknownRunError
from memeval.core.types import Phase
from memeval.results.codec import usage_from_json, usage_to_json
from memeval.results.files import ResultsDir
from memeval.results.store import RunStore
from memeval.run.checkpoint import ORDER, Run, is_complete
from memeval.run.engine import report
from memeval.run.merge import check_judged, check_several, check_shards, create_merged, difference
from memeval.run.plan import RunContext
from memeval.run.settings import Settings, Shard
from memoryd.core.types import Usage

_FREE = ("data", "cache")
"""Settings that may differ between shards: the cache, and the data location (the data hashes are compared instead)."""
_ALIKE = ("client", "client_version", "arm", "model", "repeat", "conditions", "differences", "memory_from")


@dataclass(frozen=True, slots=True)
class MergedCell:
    """A cell with its full plan, and the runs of every shard that has part of it, in order."""

    cell: GridRow
    sequences: tuple[StepSequence, ...]
    runs: tuple[str, ...]


def commands_of(results: ResultsDir, names: Sequence[str]) -> list[str]:
    """Return the unique ids of the run_bench commands that made the runs, or nothing if a run is not from run_bench."""
    groups: dict[str, None] = {}
    for name in names:
        with results.open(name) as store:
            stored = store.meta("claudecode")
        if stored is None:
            return []
        groups[stored["group"]] = None
    return list(groups)


def merge_commands(
    results: ResultsDir, groups: Sequence[str], run_id: str, context: RunContext
) -> tuple[dict[str, Any], list[Path]]:
    """Merge the shards. Return the summary and the result files.

    Raises RunError unless the shards are complete and belong to one command.
    """
    check_several(groups)
    commands = {group: load_command(results, group) for group in groups}
    whole = _whole(commands)
    _check_free(results, run_id, whole)
    options = FamilyOptions(context, None, whole.judge, whole.judge_model, whole.options)
    families = with_tasks(opened(whole.benchmarks, options, whole.data), whole.selection, _ignore)
    shards = {name: str(one.selection.shard or "") for name, one in commands.items()}
    check_shards(shards | _empty_shards(commands, whole, families))
    cells = list(_cells(results, commands, whole, families))
    save_command(results, run_id, whole)
    for one in cells:
        _fill(results, run_id, whole, one)
    files = _write(results, run_id, whole, families, cells)
    return write_summary(results, run_id, whole, files), files


def _ignore(text: str) -> None:
    """Ignore a message. The shards have already reported an empty selection."""


# Checks


def _check_free(results: ResultsDir, run_id: str, whole: Command) -> None:
    """Check that no other command uses the id of the merged command."""
    if group_file(results, run_id).exists() and _decides(load_command(results, run_id), shard=True) != _decides(whole):
        raise RunError(f"Command {run_id} already exists.", fix="Give another --run-id.")


def _whole(commands: Mapping[str, Command]) -> Command:
    """Return the command without its shard. The data location comes from any shard whose data still exists."""
    name, first = next(iter(commands.items()))
    for other, command in commands.items():
        if field := difference(_decides(first), _decides(command)):
            raise RunError(f"Commands {name} and {other} differ in {field}.", fix="Only merge shards of one command.")
    data = {benchmark: path for one in commands.values() for benchmark, path in one.data.items() if Path(path).exists()}
    return replace(first, selection=replace(first.selection, shard=None), data=data)


def _decides(command: Command, *, shard: bool = False) -> dict[str, Any]:
    stored = {key: value for key, value in command.to_json().items() if key not in _FREE}
    stored["selection"] = {**stored["selection"], "shard": stored["selection"]["shard"] if shard else None}
    return stored | {"conditions": command.conditions.to_json()}


def _empty_shards(commands: Mapping[str, Command], whole: Command, families: Mapping[str, Family]) -> dict[str, str]:
    """Return the shards without any task. Users can't specify them, because run_bench refuses to start them."""
    count = max(one.selection.shard.count if one.selection.shard else 0 for one in commands.values())
    empty = {}
    for shard in {Shard(number, count) for number in range(1, count + 1)} - {one.selection.shard for one in commands.values()}:
        part = replace(whole, selection=replace(whole.selection, shard=shard))
        if not any(_chosen(family, part) for family in families.values()):
            empty[str(shard)] = str(shard)
    return empty


def _cells(
    results: ResultsDir, commands: Mapping[str, Command], whole: Command, families: Mapping[str, Family]
) -> Iterator[MergedCell]:
    for name, family in families.items():
        for cell in (cell for cell in whole.all_cells() if cell.benchmark == name):
            every = _chosen(family, whole, cell)
            parts = {group: _chosen(family, command, cell) for group, command in commands.items()}
            runs = {group: cell.run_id(group) for group, part in parts.items() if part}
            with ExitStack() as stack:
                stores = {group: stack.enter_context(_opened(results, group, run)) for group, run in runs.items()}
                _check_stores(cell, family, stores, parts)
            _check_cuts(cell, every, [parts[group] for group in runs])
            yield MergedCell(cell, every, tuple(runs.values()))


def _chosen(family: Family, command: Command, cell: GridRow | None = None) -> tuple[StepSequence, ...]:
    """Return a shard's sequences in the form used by the cell's arm. May be empty if a benchmark has few tasks."""
    try:
        return tuple(cell_sequences(family, cell, command.selection) if cell else family.sequences(command.selection))
    except ConfigError:
        return ()


def _opened(results: ResultsDir, group: str, run: str) -> RunStore:
    try:
        return results.open(run)
    except UnknownRunError:
        raise RunError(f"Command {group} has no run {run}.", fix=_finish(group)) from None


def _finish(group: str) -> str:
    return f"Finish it first: python -m memeval.claudecode.run_bench --resume {group}"


def _check_stores(
    cell: GridRow, family: Family, stores: Mapping[str, RunStore], parts: Mapping[str, Sequence[StepSequence]]
) -> None:
    name, facts = "", dict[str, Any]()
    for group, store in stores.items():
        own = _facts(store)
        if own["data"] != family.about().get("data_hash"):
            raise RunError(
                f"Command {group} used other {cell.benchmark} data: benchmark.data_hash differs from the local one.",
                fix="Merge on a machine that has the same data.",
            )
        if name and (field := difference(facts, own)):
            raise RunError(
                f"Commands {name} and {group} differ in {field} ({cell.label}).", fix="Only merge shards of one command."
            )
        name, facts = group, own
        _check_complete(group, store, _keys(parts[group]))


def _facts(store: RunStore) -> dict[str, Any]:
    """Return the values that must be equal in all shards of a cell."""
    stored, about = store.meta("claudecode"), store.meta("benchmark_about")
    spec = {key: value for key, value in about.get("spec", {}).items() if key not in ("source", "origin")}
    return {
        "data": about.get("data_hash"),
        "benchmark": {"spec": spec},
        "memeval_version": store.meta("provenance")["memeval_version"],
        **{key: stored[key] for key in _ALIKE},
    }


def _check_complete(group: str, store: RunStore, expected: set[tuple[str, str]]) -> None:
    run = store.path.parent.name
    check_judged(store, expected, of="tasks", fix=_finish(group))
    if not all(is_complete(store, phase) for phase in ORDER[:4]):
        raise RunError(f"Run {run} is not complete.", fix=_finish(group))
    if {(row.case_id, row.question_id) for row in store.questions()} != expected:
        raise RunError(
            f"The tasks of run {run} differ from those of its shard here.", fix="Merge with the version that ran the shards."
        )


def _keys(sequences: Sequence[StepSequence]) -> set[tuple[str, str]]:
    return {(one.id, step.question.id) for one in sequences for step in one.steps if step.question is not None}


def _check_cuts(cell: GridRow, every: Sequence[StepSequence], parts: Sequence[Sequence[StepSequence]]) -> None:
    """Check that no sequence is split across shards, because its tasks depend on earlier ones."""
    pieces = [one.id for part in parts for one in part if any(step.kind is StepKind.TASK for step in one.steps)]
    cut = [name for name in dict.fromkeys(pieces) if pieces.count(name) > 1]
    whole = set[tuple[str, str]]().union(*map(_keys, parts)) == _keys(every)
    if (cut and cell.arm is not Arm.OFF) or not whole:
        what = f"Sequence {cut[0]}" if cut else "A sequence"
        raise RunError(
            f"The shards split {what} of {cell.benchmark}, so their tasks did not share a memory.",
            fix="Run it again with no more shards than there are sequences.",
        )


# Merging


def _fill(results: ResultsDir, run_id: str, whole: Command, merged: MergedCell) -> None:
    """Copy all records to the run of the cell. Do nothing if an earlier attempt has completed the run."""
    with ExitStack() as stack:
        stores = {name: stack.enter_context(results.open(name)) for name in merged.runs}
        target = merged.cell.run_id(run_id)
        if target in results.run_ids():
            with results.open(target) as known:
                if known.meta("plan") is not None and known.meta("merged_from") == list(merged.runs):
                    return
        first, *_ = stores.values()
        about = _about(run_id, target, merged, list(stores.values()))
        create_merged(results, target, _settings(first, whole), about, stores).close()


def _settings(store: RunStore, whole: Command) -> Settings:
    stored = store.meta("settings")
    selection = {**stored["selection"], "shard": None}
    return Settings.from_json({**stored, "selection": selection, "data": whole.data.get(stored["benchmark"], "")})


def _about(run_id: str, target: str, merged: MergedCell, stores: Sequence[RunStore]) -> dict[str, Any]:
    first = stores[0]
    sandboxes = [store.meta("sandboxes") for store in stores]
    return {
        **{key: first.meta(key) for key in ("benchmark_about", "provenance")},
        "resumed_with": [one for store in stores for one in store.meta("resumed_with", [])],
        "sandboxes": str(Path(sandboxes[0]).parent / short_hash(target)),
        "shard_sandboxes": sandboxes,
        LOST: sum_lost(stores),
        "claudecode": {**first.meta("claudecode"), "group": run_id, "repeated_histories": _repeated(stores)},
    }


def _repeated(stores: Sequence[RunStore]) -> dict[str, Any]:
    """Count the histories replayed by more than one shard, and their cost. The totals include each of them once."""
    seen: set[str] = set()
    count, usage = 0, Usage()
    for store in stores:
        for record in store.whole_records(Phase.INGEST):
            if record.key.case_id in seen and record.payload["batches"]:
                count += 1
                usage += usage_from_json(record.payload["usage"])
            seen.add(record.key.case_id)
    return {"sequences": count, "usage": usage_to_json(usage)}


def _write(
    results: ResultsDir, run_id: str, whole: Command, families: Mapping[str, Family], cells: Sequence[MergedCell]
) -> list[Path]:
    without: dict[GridRow, list[StepRecord]] = {}
    for one in cells:
        if one.cell.arm is Arm.OFF:
            with Run.resume(results, one.cell.run_id(run_id)) as run:
                without[one.cell] = step_records(run, one.sequences)
    files = []
    for one in cells:
        baseline = [] if one.cell.arm is Arm.OFF else without.get(one.cell.baseline, [])
        with Run.resume(results, one.cell.run_id(run_id)) as run:
            files.append(report(run, CellReport(families[one.cell.benchmark], one.sequences, whole.version, baseline)))
    return files
