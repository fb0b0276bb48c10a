"""Families by name of benchmark: `@families.family("sample-code")` registers a factory `(name, FamilyOptions) -> Family`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from memeval import registry
from memeval.claudecode.contract import Family
from memeval.run.plan import RunContext
from memeval.types import EMPTY

GROUP = "memeval.families"
FETCHED = "(can be fetched)"
OPTIONAL = "(optional)"
"""Endings of the names of needs that stop nothing: what a start of the benchmark fetches, and what it can do without."""
families = registry.Registry("benchmark family", "memeval.claudecode", GROUP)
family = families


@dataclass(frozen=True, slots=True)
class FamilyOptions:
    """What a factory gets: the benchmark's data (None: as its YAML says), judge, and what all runs of a command share."""

    context: RunContext
    data: Path | None = None
    judge: str = ""
    judge_model: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def options_of(name: str, options: FamilyOptions) -> FamilyOptions:
    """The options that a benchmark knows, of those that a command has for all of its benchmarks. Raises ConfigError."""
    known = known_options(name, options)
    return options if known is None else replace(options, options={k: v for k, v in options.options.items() if k in known})


def known_options(name: str, options: FamilyOptions) -> frozenset[str] | None:
    """Names of a benchmark's options, from its factory's `known_options(name, options)`; None when it has no such method."""
    ask = getattr(_factory(name), "known_options", None)
    return None if ask is None else cast("frozenset[str] | None", ask(name, options))


def _factory(name: str) -> Callable[[str, FamilyOptions], Family]:
    return cast(Callable[[str, FamilyOptions], Family], families.get(name if name in families else "conversation"))


def open_family(name: str, options: FamilyOptions) -> Family:
    """The family of a benchmark, with the options that it knows: one of its own name, else conversations. Raises ConfigError."""
    return _factory(name)(name, options_of(name, options))
