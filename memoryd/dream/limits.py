"""The numbers of a dream in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from memoryd.types import Kind

_HALF_LIVES = {
    Kind.RULE: 720.0,
    Kind.PREFERENCE: 540.0,
    Kind.DECISION: 360.0,
    Kind.FIX: 270.0,
    Kind.DEAD_END: 270.0,
    Kind.FACT: 180.0,
    Kind.ENVIRONMENT: 120.0,
    Kind.NOTE: 90.0,
    Kind.TODO: 30.0,
}
_AGE_BOUNDS = {Kind.TODO: 60.0, Kind.ENVIRONMENT: 365.0}


@dataclass(frozen=True, slots=True)
class DreamLimits:
    """Bounds of a dream. Ages and half-lives are in days since a memory was recorded or last used.

    `cap` is the number of active memories of a project (and of the user's own); `floor` the value
    (see recall.worth) under which one is archived; `least_step` how far relevancy must be off to be
    written anew; `neighbours` how many of a block a memory is compared with; `rare` in how many
    memories a name may occur to link them, `degree` how many such links one may have; `asked` how many
    pairs a model is asked about, `batch` how many at once; `rounds` how often the stages are gone through
    until nothing changes.
    """

    cap: int = 2_000
    floor: float = 0.03
    half_lives: Mapping[Kind, float] = field(default_factory=lambda: MappingProxyType(_HALF_LIVES))
    age_bounds: Mapping[Kind, float] = field(default_factory=lambda: MappingProxyType(_AGE_BOUNDS))
    least_step: float = 0.1
    neighbours: int = 8
    rare: int = 8
    degree: int = 4
    asked: int = 60
    batch: int = 20
    rounds: int = 8


DEFAULTS = DreamLimits()
