"""Registry of benchmark families and their requirements.

`@family("sample-code")` registers a class that takes the arguments `(name, FamilyOptions)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from memeval import registry
from memeval.claudecode.contract import Family
from memeval.core.calls import Budget
from memeval.core.errors import ConfigError, MemevalError
from memeval.core.types import EMPTY
from memeval.registry import unknown_name
from memeval.run.plan import RunContext
from memeval.run.settings import Selection

GROUP = "memeval.families"
FETCHED = "(can be fetched)"
OPTIONAL = "(optional)"
"""Suffix of requirements that block nothing, because they are optional or downloaded when the benchmark starts."""
families = registry.Registry("benchmark family", "memeval.claudecode", GROUP)
family = families


@dataclass(frozen=True, slots=True)
class FamilyOptions:
    """The arguments of a family. If `data` is None, the location in the benchmark's YAML file is used."""

    context: RunContext
    data: Path | None = None
    judge: str = ""
    judge_model: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def options_of(name: str, options: FamilyOptions) -> FamilyOptions:
    """Return the options of a command that apply to the benchmark. Raises ConfigError."""
    known = known_options(name, options)
    return options if known is None else replace(options, options={k: v for k, v in options.options.items() if k in known})


def known_options(name: str, options: FamilyOptions) -> frozenset[str] | None:
    """Return the names of a benchmark's options, or None if its family declares none."""
    return _factory(name).known_options(name, options)


def _factory(name: str) -> type[Family]:
    return cast(type[Family], families.get(name if name in families else "conversation"))


def open_family(name: str, options: FamilyOptions) -> Family:
    """Create the family of a benchmark, with the options that apply to it.

    The default family is conversations. Raises ConfigError.
    """
    make = cast(Callable[[str, FamilyOptions], Family], _factory(name))
    return make(name, options_of(name, options))


ALIASES = {"longmemeval": "longmemeval-s"}
ALL = "all"
ON_REQUEST = "on-request"  # Tag of benchmarks excluded from `all`.


def known(options: FamilyOptions) -> list[str]:
    """Return all names in sorted order."""
    return sorted({*options.context.catalog.benchmarks(), *families.names()} - {"conversation"})


def choose(names: Sequence[str], options: FamilyOptions, data: Mapping[str, str] = EMPTY) -> list[str]:
    """Expand comma-separated lists to full names. `all` means every benchmark that can run here. Raises ConfigError.

    `data` maps full names to the user's own copies.
    """
    parts = [part.strip() for name in names for part in name.split(",") if part.strip()]
    if not parts:
        raise ConfigError("No benchmark is named.", fix=f"Give --benchmark with one of: {', '.join([ALL, *known(options)])}.")
    there = known(options)
    chosen = []
    for part in parts:
        full = ALIASES.get(part, part)
        if part != ALL and full not in there:
            raise unknown_name("benchmark", part, [ALL, *there])
        chosen += [name for name in there if _is_ready(name, options, data)] if part == ALL else [full]
    return list(dict.fromkeys(chosen))


def _is_ready(name: str, options: FamilyOptions, data: Mapping[str, str]) -> bool:
    catalog = options.context.catalog
    if name in catalog.benchmarks() and ON_REQUEST in catalog.benchmark(name).tags:
        return False
    return not missing(name, with_data(options, data, name), fetch=False)


def opened(
    names: Sequence[str], options: FamilyOptions, data: Mapping[str, str], budgets: Mapping[str, Budget] = EMPTY
) -> dict[str, Family]:
    """Create the families of several benchmarks.

    Raises ConfigError for an option unknown to all of them, and DataError for missing data.

    `budgets` maps benchmarks to the budgets of their sessions, which also cover the cost of judges. The empty name applies to
    all benchmarks.
    """
    _check_options(names, options)
    return {name: open_family(name, _paying(with_data(options, data, name), name, budgets)) for name in names}


def _paying(options: FamilyOptions, name: str, budgets: Mapping[str, Budget]) -> FamilyOptions:
    budget = budgets.get("") or budgets.get(name)
    return replace(options, context=replace(options.context, budget=budget)) if budget else options


def check(families: Mapping[str, Family]) -> None:
    """Run the checks of every family before any session is paid for. Raises ConfigError."""
    for family in families.values():
        family.check()


def _check_options(names: Sequence[str], options: FamilyOptions) -> None:
    known = [known_options(name, options) for name in names]
    declared = frozenset[str]().union(*(one for one in known if one is not None))
    if None not in known and (wrong := [key for key in options.options if key not in declared]):
        who = f"{names[0]} has no" if len(names) == 1 else f"None of {', '.join(names)} has an"
        raise ConfigError(f"{who} option {wrong[0]!r}.", fix=f"Known: {', '.join(sorted(declared)) or 'none'}.")


def with_tasks(families: Mapping[str, Family], selection: Selection, tell: Callable[[str], None]) -> dict[str, Family]:
    """Drop families without a selected task. A shard or a list of ids need not match every benchmark.

    Raises ConfigError if no family is left.
    """
    kept: dict[str, Family] = {}
    fault = ConfigError("The selection leaves no task.", fix="Loosen its flags.")
    for name, family in families.items():
        try:
            fits = any(True for _ in family.sequences(selection))
        except ConfigError as error:
            fits, fault = False, error
        if fits:
            kept[name] = family
        elif len(families) > 1:
            tell(f"{name} is left out: {fault.message}")
    if not kept:
        raise fault
    return kept


def with_data(options: FamilyOptions, data: Mapping[str, str], name: str) -> FamilyOptions:
    """Return the options with the location of the user's copy of the benchmark's data."""
    return replace(options, data=Path(data[name])) if name in data else options


def missing(name: str, options: FamilyOptions, *, fetch: bool = True) -> list[str]:
    """Describe unmet requirements, and how to meet them. Without `fetch`, this includes data that could be downloaded."""
    harmless = (OPTIONAL, FETCHED) if fetch else (OPTIONAL,)
    return [
        f"{need['name']}: {need['fix']}"
        for need in needs(name, options)
        if not need["here"] and not need["name"].endswith(harmless)
    ]


def needs(name: str, options: FamilyOptions) -> list[dict[str, Any]]:
    """List a benchmark's requirements as plain values."""
    try:
        return [{"name": one.name, "here": one.here, "fix": one.fix} for one in open_family(name, options).needs()]
    except MemevalError as error:
        return [{"name": error.message, "here": False, "fix": error.fix}]
