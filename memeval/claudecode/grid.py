"""The cells of a command, what it was asked for, and how it is done, from the first cell to the verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from threading import Semaphore
from typing import Any

from memeval.assembly import Surroundings
from memeval.calls import Budget
from memeval.checkpoint import Run
from memeval.claudecode.arms import ArmSetup
from memeval.claudecode.cell import CellWork, run_cell
from memeval.claudecode.client import ClaudeCode
from memeval.claudecode.conditions import TRANSCRIPTS, Conditions
from memeval.claudecode.contract import Arm, Family, StepRecord, StepSequence
from memeval.claudecode.families import FamilyOptions, options_of
from memeval.claudecode.outcome import step_records, write_result
from memeval.claudecode.planned import plan_cell
from memeval.claudecode.priming import Primer, make_primer, source_cell
from memeval.claudecode.progress import Progress
from memeval.claudecode.sandbox import short_hash
from memeval.claudecode.session_cache import SessionCache
from memeval.claudecode.sessions import Outage, SessionRunner
from memeval.claudecode.staging import Staged
from memeval.claudecode.verdict import ENDS, cell_values, compare_all
from memeval.errors import DataError, UnknownRunError
from memeval.results.files import ResultsDir
from memeval.results.provenance import provenance
from memeval.sampling import Selection, Shard
from memeval.settings import Settings
from memeval.types import EMPTY, Phase
from memoryd.files import write_atomic

GRID_MODELS = ("claude-haiku-4-5", "claude-sonnet-5-5", "claude-opus-5-5")
_ADDRESS = re.compile(r"ANTHROPIC_\w*(URL|MODEL)|CLAUDE_CODE_USE_\w+")
_SECRET = re.compile(r"key|token|secret|password", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of the grid."""

    benchmark: str
    arm: Arm
    model: str
    repeat: int = 1

    def run_id(self, group: str) -> str:
        """Id of its run."""
        model = re.sub(r"[^A-Za-z0-9._-]", "-", self.model)
        return f"{group}.{self.benchmark}.{self.arm}.{model}" + (f".r{self.repeat}" if self.repeat > 1 else "")

    @property
    def baseline(self) -> Cell:
        """The same without memory."""
        return replace(self, arm=Arm.OFF)

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.benchmark} {self.arm} {self.model}" + (f" #{self.repeat}" if self.repeat > 1 else "")


@dataclass(frozen=True, slots=True)
class Command:
    """All that decides the results of a command, kept with it. `data`: own copies of data, by benchmark."""

    benchmarks: tuple[str, ...]
    cells: tuple[tuple[str, str], ...]
    repeat: int = 1
    selection: Selection = Selection()
    conditions: Conditions = Conditions()
    judge: str = ""
    judge_model: str = ""
    data: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    memory_from: str = ""
    version: str = ""
    seed: int = 0
    cache: bool = True

    def all_cells(self) -> list[Cell]:
        """In the order in which they are run: benchmark by benchmark, so that the first verdict comes early."""
        return [
            Cell(benchmark, Arm(arm), model, repeat)
            for benchmark in self.benchmarks
            for repeat in range(1, self.repeat + 1)
            for arm, model in self.cells
        ]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        data = {one.name: getattr(self, one.name) for one in fields(self)}
        shard = self.selection.shard
        data["selection"] = asdict(replace(self.selection, shard=None)) | {"shard": str(shard) if shard else None}
        data["conditions"] = self.conditions.to_json() | {"workers": self.conditions.workers}
        data.update(data=dict(self.data), options=dict(self.options))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Command:
        """Inverse of `to_json`."""
        chosen = dict(data["selection"])
        chosen["shard"] = Shard.parse(chosen["shard"]) if chosen["shard"] else None
        chosen["types"], chosen["questions"] = tuple(chosen["types"]), tuple(chosen["questions"])
        return cls(
            **{
                **data,
                "benchmarks": tuple(data["benchmarks"]),
                "cells": tuple((arm, model) for arm, model in data["cells"]),
                "selection": Selection(**chosen),
                "conditions": Conditions(**data["conditions"]),
            }
        )


def grid_cells(on: Sequence[Arm], models: Sequence[str] = GRID_MODELS) -> tuple[tuple[str, str], ...]:
    """Haiku with memory, then Haiku, Sonnet and Opus without: the cheapest first."""
    haiku = models[0]
    return (*((str(arm), haiku) for arm in on if arm is not Arm.OFF), *((str(Arm.OFF), model) for model in models))


@dataclass(frozen=True, slots=True)
class Machine:
    """What a command runs on."""

    client: ClaudeCode
    client_version: str
    environment: Mapping[str, str]
    plugin: Staged
    root: Path
    results: ResultsDir
    around: Surroundings
    progress: Progress
    budgets: Mapping[str, Budget] = field(default_factory=lambda: EMPTY)
    retry_failed: bool = False
    cache: SessionCache = SessionCache(None)


def group_file(results: ResultsDir, group: str) -> Path:
    """Where a command is kept."""
    return results.run_dir(group) / "command.json"


def save_command(results: ResultsDir, group: str, command: Command) -> None:
    """Keep it, so that it can be resumed."""
    write_atomic(group_file(results, group), json.dumps(command.to_json(), indent=1).encode(), private=False)


def load_command(results: ResultsDir, group: str) -> Command:
    """The command of an id. Raises RunError."""
    try:
        return Command.from_json(json.loads(group_file(results, group).read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise UnknownRunError(
            f"There is no run_bench command {group!r} in {results.root}.", fix="Give the id that it printed."
        ) from None


def perform(machine: Machine, group: str, command: Command, families: Mapping[str, Family]) -> dict[str, Any]:
    """Run all cells, cheapest first, and compare them. Raises MemevalError; what was done is kept."""
    slots, outage = Semaphore(command.conditions.workers), Outage()
    files: dict[Cell, Path] = {}
    without: dict[Cell, list[StepRecord]] = {}
    early: list[Cell] = []
    for cell in (cell for cell in command.all_cells() if cell.benchmark in families):
        family = families[cell.benchmark]
        sequences = list(family.sequences(command.selection))
        with _open(machine, group, command, cell, family, sequences) as run:
            _run(machine, command, cell, family, sequences, run, slots, outage)
            baseline = without.get(cell.baseline, [])
            files[cell] = write_result(run, family, sequences, command.version, baseline)
            if cell.arm is Arm.OFF:
                without[cell] = step_records(run, sequences)
            elif not baseline:
                early.append(cell)
    for cell in early:  # in a grid the cell without memory comes later
        if cell.baseline in without:
            family = families[cell.benchmark]
            with Run.resume(machine.results, cell.run_id(group)) as run:
                write_result(run, family, list(family.sequences(command.selection)), command.version, without[cell.baseline])
    return write_summary(machine.results, group, command, files.values())


def write_summary(results_dir: ResultsDir, group: str, command: Command, files: Iterable[Path]) -> dict[str, Any]:
    """The cells of a command, from their result files, and the comparisons between them."""
    results = [json.loads(file.read_text("utf-8")) for file in files]
    summary = {
        "schema_version": 1,
        "kind": "run-bench-summary",
        "group": group,
        "cells": [_shown(result) for result in results],
        **compare_all(cell_values(results), command.seed, _ends(command)),
    }
    write_atomic(results_dir.run_dir(group) / "summary.json", (json.dumps(summary, indent=1) + "\n").encode(), private=False)
    return summary


def _ends(command: Command) -> tuple[str, str]:
    """The grid's small and large model: the one with memory, and the last of several without."""
    small = {model for arm, model in command.cells if arm != Arm.OFF}
    without = [model for arm, model in command.cells if arm == Arm.OFF]
    return (small.pop(), without[-1]) if len(small) == 1 and len(without) > 1 else ENDS


def _run(
    machine: Machine,
    command: Command,
    cell: Cell,
    family: Family,
    sequences: Sequence[StepSequence],
    run: Run,
    slots: Semaphore,
    outage: Outage,
) -> None:
    around = machine.around
    budgets = tuple(budget for name, budget in machine.budgets.items() if name in ("", cell.benchmark))
    setup = ArmSetup(cell.arm, machine.plugin.folder)
    sessions = SessionRunner(
        machine.client, setup, cell.model, machine.environment, command.conditions, budgets, around.stop, slots, outage
    )
    total, done = _steps(cell, command, sequences, run)
    machine.progress.begin(cell.label, total, done)
    run_cell(
        CellWork(
            run=run,
            family=family,
            sessions=sessions,
            conditions=command.conditions,
            arm=cell.arm,
            client_version=machine.client_version,
            folder=Path(run.store.meta("sandboxes")),
            stop=around.stop,
            progress=machine.progress,
            label=cell.label,
            repeat=cell.repeat,
            primed=_primer(machine, command, cell, sequences),
            cache=machine.cache if command.cache else SessionCache(None),
            decides=_decides(machine, command, cell),
        ),
        sequences,
    )
    machine.progress.end(cell.label)


def _decides(machine: Machine, command: Command, cell: Cell) -> dict[str, Any]:
    """What the sessions of a cell have in common, as far as it decides what comes of them."""
    conditions = command.conditions
    setup = ArmSetup(cell.arm)
    where = {name: value for name, value in machine.environment.items() if _ADDRESS.fullmatch(name)}
    shared = {
        "client": machine.client_version,
        "where": where,
        "model": cell.model,
        "arm": {"variables": setup.variables, "flags": setup.flags[:1]},
        "limits": [conditions.max_turns, conditions.timeout],
    }
    if cell.arm.has_plugin:
        return shared | {"plugin": machine.plugin.digest, "settings": dict(conditions.plugin_settings)}
    return shared


def _primer(machine: Machine, command: Command, cell: Cell, sequences: Sequence[StepSequence]) -> Primer | None:
    if not command.memory_from or cell.arm is Arm.OFF:
        return None
    return make_primer(machine.results, source_cell(machine.results, command.memory_from, cell.benchmark, cell.arm), sequences)


def _steps(cell: Cell, command: Command, sequences: Sequence[StepSequence], run: Run) -> tuple[int, int]:
    imported = command.conditions.ingest == TRANSCRIPTS and not cell.arm.has_builtin
    total = 0
    for sequence in sequences:
        replays = sum(step.session is not None for step in sequence.steps)
        total += sum(step.question is not None for step in sequence.steps)
        total += 0 if cell.arm is Arm.OFF else min(1, replays) if imported else replays
    done = len(run.store.keys(Phase.EVALUATE)) + sum(bool(key.part) for key in run.store.keys(Phase.INGEST))
    return total, done


def _open(machine: Machine, group: str, command: Command, cell: Cell, family: Family, sequences: Sequence[StepSequence]) -> Run:
    """The cell's run, new or as it was left."""
    run_id = cell.run_id(group)
    if run_id in machine.results.run_ids():
        run = Run.resume(machine.results, run_id)
        try:
            _check_same(run, family)
            if machine.retry_failed:
                run.forget_failed()
                forget_failed_parts(run)
            if not run.planned:
                plan_cell(run, family, sequences)
        except BaseException:
            run.close()
            raise
        return run
    run = Run.create(
        machine.results, run_id, _settings(machine.around, command, cell), _about(machine, group, command, cell, family)
    )
    plan_cell(run, family, sequences)
    return run


def forget_failed_parts(run: Run) -> None:
    """A sequence with a failed replay is done anew: what came after it was remembered without it."""
    cases = {
        record.key.case_id for record in run.store.records(Phase.INGEST) if record.payload.get("status") not in (None, "done")
    }
    with run.store.transaction():
        for key in [key for phase in (Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE, Phase.INGEST) for key in run.store.keys(phase)]:
            if key.case_id in cases:
                run.store.delete_one(key)
        if cases:
            run.reopen()


def _check_same(run: Run, family: Family) -> None:
    if run.store.meta("benchmark_about").get("data_hash") != family.about().get("data_hash"):
        raise DataError(
            f"The data of {family.name} are not those that the run began with.", fix="Restore them, or start a new run."
        )


def _settings(around: Surroundings, command: Command, cell: Cell) -> Settings:
    own = options_of(cell.benchmark, FamilyOptions(around, options=command.options))
    return Settings(
        benchmark=cell.benchmark,
        provider=f"claude-code-{cell.arm}",
        answering_model=cell.model,
        judge=command.judge,
        judge_model=command.judge_model,
        data=command.data.get(cell.benchmark, ""),
        seed=command.seed,
        selection=command.selection,
        benchmark_options=own.options,
    )


def _about(machine: Machine, group: str, command: Command, cell: Cell, family: Family) -> dict[str, Any]:
    conditions = command.conditions.to_json()
    conditions["plugin_settings"] = {
        key: "***" if _SECRET.search(key) else value for key, value in conditions["plugin_settings"].items()
    }
    return {
        "benchmark_about": dict(family.about()),
        "provenance": provenance(),
        "sandboxes": str(machine.root / short_hash(cell.run_id(group))),
        "claudecode": {
            "group": group,
            "arm": str(cell.arm),
            "model": cell.model,
            "repeat": cell.repeat,
            "client_version": machine.client_version,
            "conditions": conditions,
            "differences": ArmSetup(cell.arm).differences(history_of(cell.arm, command.conditions)),
            "memory_from": command.memory_from or None,
        },
    }


def history_of(arm: Arm, conditions: Conditions) -> str:
    """How the history of a conversation reaches this arm's memory."""
    if arm is Arm.OFF:
        return "none: nothing of it could be remembered"
    return "imported from session logs" if conditions.ingest == TRANSCRIPTS and not arm.has_builtin else "replayed in sessions"


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    told = result["claudecode"]
    return {
        "run_id": result["run_id"],
        "benchmark": result["benchmark"]["name"],
        "arm": told["arm"],
        "model": told["model"],
        "repeat": told["repeat"],
        "history": told["differences"]["history"],
        "questions": result["totals"],
        "sessions": told["sessions"],
        "metrics": told["four_metrics"],
        "summary": told["summary"],
        "cost_usd": result["usage"]["total"]["cost_usd"],
        "tokens": result["usage"]["total"]["input_tokens"] + result["usage"]["total"]["output_tokens"],
    }
