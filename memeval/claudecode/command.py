"""What a run_bench command was asked for, kept with it, and the cells that it consists of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from memeval.claudecode.conditions import Conditions
from memeval.claudecode.contract import Arm
from memeval.errors import UnknownRunError
from memeval.results.files import ResultsDir
from memeval.run.settings import Selection, Shard
from memeval.types import EMPTY
from memoryd.files import write_atomic

GRID_MODELS = ("claude-haiku-4-5", "claude-sonnet-5-5", "claude-opus-5-5")


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
