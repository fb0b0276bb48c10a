"""What decides a run's result, as one frozen value that is kept with the run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memeval.errors import ConfigError
from memeval.sampling import Selection, Shard
from memeval.types import EMPTY

GRANULARITIES = ("session", "round", "turn")
READERS = ("direct", "con")
OPTIONS = ("provider_options", "benchmark_options", "model_options", "judge_model_options")
"""Settings that are mappings."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Names are those of specs, registries and flags; an empty text means what the benchmark says.

    `top_k` pieces are read by the answering model; `search_k` are asked for (0: enough for the retrieval metrics).
    Without an answering model the answer phase is left out, without an embedder the metric relevancy.
    """

    benchmark: str
    provider: str
    answering_model: str = ""
    judge: str = ""
    judge_model: str = ""
    answer_prompt: str = ""
    judge_prompt: str = ""
    top_k: int = 10
    search_k: int = 0
    granularity: str = ""
    reader: str = "direct"
    variant: str = ""
    data: str = ""
    seed: int = 0
    index_timeout: float = 600.0
    embedder: str = ""
    selection: Selection = Selection()
    provider_options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    benchmark_options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    model_options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    judge_model_options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def __post_init__(self) -> None:
        for name, value, known in (("--granularity", self.granularity, GRANULARITIES), ("--reader", self.reader, READERS)):
            if value and value not in known:
                raise ConfigError(f"{name} {value!r} is not known.", fix=f"Known: {', '.join(known)}.")
        if self.top_k < 1 or self.search_k < 0:
            raise ConfigError("--top-k must be 1 or more.", fix="Correct it.")
        if not 0 < self.index_timeout < math.inf:
            raise ConfigError(
                f"--index-timeout {self.index_timeout:g} is no time to wait.", fix="Give a number of seconds above 0."
            )

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values."""
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        chosen = {f.name: getattr(self.selection, f.name) for f in dataclasses.fields(self.selection)}
        chosen["shard"] = str(self.selection.shard) if self.selection.shard else None
        data["selection"] = chosen
        for name in OPTIONS:
            data[name] = dict(data[name])
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """Inverse of `to_json`."""
        chosen = dict(data["selection"])
        chosen["shard"] = Shard.parse(chosen["shard"]) if chosen["shard"] else None
        chosen["types"], chosen["questions"] = tuple(chosen["types"]), tuple(chosen["questions"])
        return cls(**{**data, "selection": Selection(**chosen)})
