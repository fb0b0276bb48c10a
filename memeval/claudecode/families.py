"""Families by name of benchmark: `@families.family("sample-code")` registers a factory `(name, FamilyOptions) -> Family`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from memeval import registry
from memeval.assembly import Surroundings
from memeval.claudecode.contract import Family
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

    around: Surroundings
    data: Path | None = None
    judge: str = ""
    judge_model: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def open_family(name: str, options: FamilyOptions) -> Family:
    """The family of a benchmark: one of its own name, else that of conversations. Raises ConfigError."""
    factory = cast(Callable[[str, FamilyOptions], Family], families.get(name if name in families else "conversation"))
    return factory(name, options)
