"""The parameters of a run_bench command: read from flags, stored, and expanded into cells.

Invalid flags are reported before any money is spent.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from memeval.claudecode import families
from memeval.claudecode.arms import Conditions, arms_of, setting_value
from memeval.claudecode.contract import Arm, ClientName, Family
from memeval.claudecode.daemon import check_settings
from memeval.claudecode.families import FamilyOptions
from memeval.claudecode.seeding import make_primer, source_cell
from memeval.core.calls import Budget
from memeval.core.errors import ConfigError, UnknownRunError
from memeval.core.types import EMPTY
from memeval.results.files import ResultsDir
from memeval.run.engine import count_spent
from memeval.run.settings import Selection, Shard
from memeval.specs import parse_yaml
from memoryd.core.files import write_atomic

GRID_MODELS = ("claude-haiku-4-5", "claude-sonnet-5-5", "claude-opus-5-5")


@dataclass(frozen=True, slots=True)
class GridRow:
    """One row of the grid."""

    benchmark: str
    arm: Arm
    model: str
    repeat: int = 1

    def run_id(self, group: str) -> str:
        """Return the id of the run of this row."""
        model = re.sub(r"[^A-Za-z0-9._-]", "-", self.model)
        return f"{group}.{self.benchmark}.{self.arm}.{model}" + (f".r{self.repeat}" if self.repeat > 1 else "")

    @property
    def baseline(self) -> GridRow:
        """Return the corresponding row without memory."""
        return replace(self, arm=Arm.OFF)

    @property
    def label(self) -> str:
        """Return a readable label."""
        return f"{self.benchmark} {self.arm} {self.model}" + (f" #{self.repeat}" if self.repeat > 1 else "")


@dataclass(frozen=True, slots=True)
class Command:
    """All parameters that affect the results of a command.

    `data` maps benchmarks to the user's own copies of their data. `primary` is the primary comparison, as ARM:ARM or
    `grid`. It is chosen before the run, and only it is tested for a verdict.
    """

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
    primary: str = ""
    client: ClientName = ClientName.CLAUDE_CODE

    def all_cells(self) -> list[GridRow]:
        """Return all rows in execution order.

        Each benchmark is completed before the next, so that a first comparison is available early.
        """
        return [
            GridRow(benchmark, Arm(arm), model, repeat)
            for benchmark in self.benchmarks
            for repeat in range(1, self.repeat + 1)
            for arm, model in self.cells
        ]

    def to_json(self) -> dict[str, Any]:
        """Convert to plain JSON values."""
        data = {one.name: getattr(self, one.name) for one in fields(self)}
        data["selection"] = self.selection.to_json()
        data["conditions"] = self.conditions.to_json() | {"workers": self.conditions.workers}
        data.update(data=dict(self.data), options=dict(self.options))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Command:
        """Return the command from the output of `to_json`."""
        return cls(
            **{
                **data,
                "benchmarks": tuple(data["benchmarks"]),
                "cells": tuple((arm, model) for arm, model in data["cells"]),
                "selection": Selection.from_json(data["selection"]),
                "conditions": Conditions(**data["conditions"]),
                "client": ClientName(data.get("client", ClientName.CLAUDE_CODE)),
            }
        )


def grid_cells(on: Sequence[Arm], models: Sequence[str] = GRID_MODELS) -> tuple[tuple[str, str], ...]:
    """Return the cells of the grid: Haiku with memory, and Haiku, Sonnet and Opus without it.

    The cheapest one comes first.
    """
    haiku = models[0]
    return (*((str(arm), haiku) for arm in on if arm is not Arm.OFF), *((str(Arm.OFF), model) for model in models))


def group_file(results: ResultsDir, group: str) -> Path:
    """Return the path of the file that stores a command."""
    return results.run_dir(group) / "command.json"


def save_command(results: ResultsDir, group: str, command: Command) -> None:
    """Store the command so that it can be resumed."""
    write_atomic(group_file(results, group), json.dumps(command.to_json(), indent=1).encode(), private=False)


def load_command(results: ResultsDir, group: str) -> Command:
    """Load a command by its id. Raises RunError."""
    try:
        return Command.from_json(json.loads(group_file(results, group).read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise UnknownRunError(
            f"There is no run_bench command {group!r} in {results.root}.", fix="Give the id that it printed."
        ) from None


WITH_RESUME = frozenset(
    (
        "resume",
        "retry_failed",
        "wait",
        "budgets",
        "auth",
        "base_url",
        "claude",
        "opencode",
        "plugin_dir",
        "results_dir",
        "work_dir",
    )
    + ("no_probe", "no_cache", "offline", "dry_run", "validate", "yes", "as_json")
)
"""Flags allowed with --resume. They only control execution. All other flags come from the stored command."""
_VERSION = re.compile(r"v\d+\.\d+")


def refuse_with_resume() -> None:
    """Reject flags that a resumed command would ignore. Raises ConfigError."""
    context = click.get_current_context()
    for param in context.command.params:
        given = context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
        if given and param.name not in WITH_RESUME:
            raise ConfigError(
                f"With --resume, the command's own settings apply; omit {param.opts[0]}.", fix="Or start a new one."
            )


def command_of(values: Mapping[str, Any], options: FamilyOptions) -> Command:
    """Build the command from the flags. Raises ConfigError."""
    named = tuple(entry for entry in values["data"] if "=" in entry)
    names = families.choose(values["benchmarks"], options, _data(named, []))
    client = ClientName(values["client"])
    arms = arms_of(values["mode"], client)
    models = [part.strip() for part in values["grid_models"].split(",")]
    cells = grid_cells(arms, models) if values["grid"] else tuple((str(arm), values["model"]) for arm in arms)
    return Command(
        benchmarks=tuple(names),
        cells=cells,
        repeat=values["repeat"],
        selection=_selection(values),
        conditions=_conditions(values),
        judge=values["judge"],
        judge_model=values["judge_model"],
        data=_fitting(_data(values["data"], names), names, "--data"),
        options=options.options,
        memory_from=values["memory_from"],
        version=_version(values["version_of"]),
        seed=values["seed"],
        cache=not values["no_cache"],
        primary=primary_of(values["primary"], cells, grid=values["grid"]),
        client=client,
    )


GRID = "grid"


def primary_of(named: str, cells: Sequence[tuple[str, str]], *, grid: bool) -> str:
    """Return the primary comparison: the given one, or the plugin (else the first memory) against no memory.

    The default for a grid is `grid`. Return an empty string if there are no two arms to compare. Raises ConfigError.
    """
    arms = list(dict.fromkeys(arm for arm, _ in cells))
    if named:
        sides = named.split(":")
        if (named == GRID and grid) or (len(sides) == 2 and sides[0] != sides[1] and set(sides) <= set(arms)):
            return named
        raise ConfigError(
            f"--primary {named!r} does not consist of two arms of this command.",
            fix=f"Write ARM:ARM with two of: {', '.join(arms)}.",
        )
    if grid:
        return GRID
    order = [str(arm) for arm in (Arm.PLUGIN, Arm.BOTH, Arm.DREAMED, Arm.BUILTIN) if arm in arms]
    others = [arm for arm in (*order, *arms) if arm != Arm.OFF]
    if not others:
        return ""
    if Arm.OFF in arms:
        return f"{others[0]}:{Arm.OFF}"
    second = next((arm for arm in (Arm.BUILTIN, *reversed(arms)) if arm in arms and arm != others[0]), None)
    return f"{others[0]}:{second}" if second else ""


def _conditions(values: Mapping[str, Any]) -> Conditions:
    settings = pairs(values["settings"], "--plugin-setting")
    values_by_key = resolved(settings)
    _check_kept(settings, values_by_key)
    check_settings(values_by_key, "--plugin-setting")
    return Conditions(
        ingest=values["ingest"],
        max_turns=values["max_turns"],
        timeout=values["timeout"],
        settle_timeout=values["settle_timeout"],
        retries=values["retries"],
        backoff=values["backoff"],
        workers=values["workers"],
        embedder=values["embedder"],
        plugin_settings=settings,
    )


def resolved(settings: Mapping[str, str]) -> dict[str, str]:
    """Substitute environment variables in plugin settings. Raises ConfigError if a variable is not set."""
    found = {name: setting_value(text, os.environ) for name, text in settings.items()}
    if missing := [name for name, value in found.items() if value is None]:
        name = missing[0]
        raise ConfigError(f"--plugin-setting {name}={settings[name]}: that variable is not set.", fix="Set it.")
    return {name: value for name, value in found.items() if value is not None}


def _check_kept(settings: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Reject literal API keys. A command is stored in a file, so keys must come from environment variables."""
    for name, text in settings.items():
        if name.endswith("_api_key") and values[name] == text:
            raise ConfigError(
                f"--plugin-setting {name} would be stored in a file.", fix=f"Write '{name}=$NAME' with a variable's name."
            )


def _version(text: str) -> str:
    if text and not _VERSION.fullmatch(text):
        raise ConfigError(f"--version {text!r} is not a results version.", fix="Write vX.Y, such as v0.1.")
    return text


def _selection(values: Mapping[str, Any]) -> Selection:
    return Selection(
        limit=values["limit"],
        start=values["start"],
        end=values["end"],
        shard=Shard.parse(values["shard"]) if values["shard"] else None,
        questions=tuple(part.strip() for part in values["questions"].split(",") if part.strip()),
        dev_slice=values["dev_slice"],
        seed=values["seed"],
    )


def _data(given: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Parse --data into a mapping of benchmarks to paths. With only one benchmark, a path needs no name."""
    found = {}
    for entry in given:
        name, sign, path = entry.partition("=")
        if not sign and len(names) != 1:
            raise ConfigError(f"--data {entry!r} does not specify a benchmark.", fix="Write NAME=PATH.")
        full = families.ALIASES.get(name, name) if sign else names[0]
        place = Path(path if sign else entry).expanduser().absolute()
        if not place.exists():
            raise ConfigError(f"--data {place} does not exist.", fix="Correct the path.")
        found[full] = str(place)
    return found


def _fitting(found: dict[str, str], names: Sequence[str], flag: str) -> dict[str, str]:
    """Reject values for a benchmark that is not part of the command."""
    if other := [name for name in found if name and name not in names]:
        raise ConfigError(f"{flag} refers to {other[0]!r}, which is not run.", fix=f"This command runs {', '.join(names)}.")
    return found


def pairs(given: Sequence[str], flag: str, *, typed: bool = False) -> dict[str, Any]:
    """Parse KEY=VALUE pairs into a mapping. With `typed`, values are parsed as YAML. Raises ConfigError."""
    found = {}
    for entry in given:
        key, sign, value = entry.partition("=")
        if not sign or not key:
            raise ConfigError(f"{flag} {entry!r} is not KEY=VALUE.", fix="Correct it.")
        found[key] = parse_yaml(value, flag) if typed else value
    return found


def budgets_of(given: Sequence[str], names: Sequence[str]) -> dict[str, Budget]:
    """Parse the budgets of benchmarks. The empty name applies to all benchmarks. Raises ConfigError."""
    limits: dict[str, str] = {}
    for entry in given:
        name, _, amount = entry.rpartition("=")
        limits[families.ALIASES.get(name, name)] = amount
    return {name: Budget(_amount(amount)) for name, amount in _fitting(limits, names, "--budget-usd").items()}


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise ConfigError(f"--budget-usd {text!r} is not an amount.", fix="Write USD or NAME=USD, from 0.")
    return amount


def count_paid(results: ResultsDir, group: str, budgets: Mapping[str, Budget]) -> None:
    """Charge the costs of earlier starts of the command to its budgets."""
    for name, budget in budgets.items():
        begin = f"{group}.{name}." if name else f"{group}."
        for run in results.run_ids():
            if run.startswith(begin):
                count_spent(results, run, budget)


def refuse_taken(results: ResultsDir, group: str) -> None:
    """Reject an id used by another command, because the cells of the two would be mixed up. Raises ConfigError."""
    if group_file(results, group).exists() or any(run.startswith(f"{group}.") for run in results.run_ids()):
        raise ConfigError(
            f"Command {group!r} already exists.", fix=f"Resume it with --resume {group}, or choose another --run-id."
        )


def check_memory(results: ResultsDir, command: Command, families: Mapping[str, Family]) -> None:
    """Check that every arm can start from --memory-from before any session is paid for. Raises ConfigError or RunError."""
    if not command.memory_from:
        return
    arms = {Arm(arm) for arm, _ in command.cells} - {Arm.OFF}
    if not arms:
        raise ConfigError("--memory-from requires arms with a memory.", fix="Choose another --mode, or omit it.")
    for name, family in families.items():
        sequences = list(family.sequences(command.selection))
        for arm in sorted(arms):
            make_primer(results, source_cell(results, command.memory_from, name, arm, command.client), sequences)
