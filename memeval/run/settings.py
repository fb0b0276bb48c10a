"""The settings that affect the result of a run, and the selection of its questions.

Settings are stored with the run as one frozen value.

Selection is pure and seeded, so its result is the same on every machine. The steps are applied in this order: question types
and ids, dev slice, start/end, limit, shard. Merging all shards of a selection therefore gives the whole selection.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memeval.core.errors import ConfigError
from memeval.core.types import EMPTY, GRANULARITIES, QuestionType


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` (starting at 1) of `count`."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse `i/n`. Raises ConfigError."""
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise ConfigError(f"{text!r} is not a shard.", fix="Write i/n with 1 <= i <= n, e.g. 2/4.")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The questions to run.

    `start` and `end` count from 1 and are inclusive. `types` contains unified type names or the benchmark's own.
    """

    limit: int | None = None
    start: int | None = None
    end: int | None = None
    shard: Shard | None = None
    types: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    dev_slice: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"--limit {self.limit} leaves no question.", fix="Give 1 or more.")
        if self.dev_slice is not None and not 0 < self.dev_slice <= 1:
            raise ConfigError(
                f"--dev-slice {self.dev_slice} is not a share between 0 and 1.", fix="Give a number above 0 and at most 1."
            )
        first = 1 if self.start is None else self.start
        if first < 1 or (self.end is not None and self.end < first):
            raise ConfigError(
                f"--start {first} --end {self.end} is not a range.", fix="Numbers start at 1, and both ends are included."
            )

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return data | {"shard": str(self.shard) if self.shard else None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Selection:
        """Create the selection from the output of `to_json`."""
        shard = Shard.parse(data["shard"]) if data["shard"] else None
        return cls(**{**data, "shard": shard, "types": tuple(data["types"]), "questions": tuple(data["questions"])})


@dataclass(frozen=True, slots=True)
class Ref:
    """The properties of a question used for selection."""

    case_id: str
    question_id: str
    type: QuestionType
    category: str = ""


def select(refs: Sequence[Ref], selection: Selection) -> list[int]:
    """Return the positions of the selected questions in ascending order.

    Raises ConfigError if a name matches nothing or the selection is empty.
    """
    chosen = _by_name(refs, selection)
    if selection.dev_slice is not None:
        chosen = _dev_slice(refs, chosen, selection.dev_slice, selection.seed)
    chosen = _range(chosen, selection)
    if selection.limit is not None:
        chosen = chosen[: selection.limit]
    if not chosen:
        raise ConfigError(f"The selection leaves none of {len(refs)} questions.", fix="Loosen its flags.")
    return _shard(refs, chosen, selection.shard) if selection.shard else chosen


def _by_name(refs: Sequence[Ref], selection: Selection) -> list[int]:
    types, ids = set(selection.types), set(selection.questions)
    known = {str(r.type) for r in refs} | {r.category for r in refs if r.category} | {str(t) for t in QuestionType}
    if wrong := sorted(types - known):
        raise ConfigError(f"No question is of type {wrong[0]!r}.", fix=f"Known: {', '.join(sorted(known))}.")
    if wrong := sorted(ids - {r.question_id for r in refs}):
        raise ConfigError(f"There is no question {wrong[0]!r}.", fix="See `memeval show-question` or the data.")
    return [
        position
        for position, ref in enumerate(refs)
        if (not types or ref.type in types or ref.category in types) and (not ids or ref.question_id in ids)
    ]


def _dev_slice(refs: Sequence[Ref], chosen: list[int], fraction: float, seed: int) -> list[int]:
    """Take a fraction of each stratum (type and category), but at least one question. Questions are chosen by seeded hashes."""
    strata: dict[tuple[str, str], list[int]] = defaultdict(list)
    for position in chosen:
        strata[refs[position].type, refs[position].category].append(position)
    kept: list[int] = []
    for members in strata.values():
        members.sort(key=lambda position: _hash(seed, refs[position]))
        kept += members[: max(1, math.floor(fraction * len(members) + 0.5))]
    return sorted(kept)


def _hash(seed: int, ref: Ref) -> bytes:
    return hashlib.sha256(f"{seed}\0{ref.case_id}\0{ref.question_id}".encode()).digest()


def _range(chosen: list[int], selection: Selection) -> list[int]:
    first = 1 if selection.start is None else selection.start
    last = len(chosen) if selection.end is None else selection.end
    return chosen[first - 1 : last]


def _shard(refs: Sequence[Ref], chosen: list[int], shard: Shard) -> list[int]:
    """Split by case so that no case is ingested twice, or by question if there are fewer cases than shards."""
    cases = {case: number for number, case in enumerate(dict.fromkeys(refs[p].case_id for p in chosen))}
    if len(cases) < shard.count:
        return [p for number, p in enumerate(chosen) if number % shard.count == shard.index - 1]
    return [p for p in chosen if cases[refs[p].case_id] % shard.count == shard.index - 1]


READERS = ("direct", "con", "con-session")
OPTIONS = ("provider_options", "benchmark_options", "model_options", "judge_model_options")
"""The names of settings that are mappings."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run. Names refer to specs, registry entries and flags. An empty string means the benchmark's default.

    The answering model gets `top_k` pieces. `search_k` pieces are requested (0 means enough for the retrieval metrics), and
    pieces with a score below `threshold` are dropped. With `abstain_below`, the model states its confidence (0 to 1), and an
    answer with a lower confidence is withheld. Each question is answered and judged `epochs` times. `suite` identifies the
    suite that the run belongs to, and `suite_entry` is the name of its entry. With `allow_empty`, a run in which no search
    found anything is a result rather than a broken set-up.
    Without an answering model, the answer phase is skipped. Without an embedder, the relevancy metric is omitted.
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
    threshold: float | None = None
    granularity: str = ""
    reader: str = "direct"
    abstain_below: float | None = None
    epochs: int = 1
    variant: str = ""
    data: str = ""
    seed: int = 0
    index_timeout: float = 600.0
    allow_empty: bool = False
    embedder: str = ""
    suite: str = ""
    suite_entry: str = ""
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
            raise ConfigError("--top-k must be at least 1.", fix="Correct it.")
        if self.epochs < 1:
            raise ConfigError(f"--epochs must be at least 1, not {self.epochs}.", fix="Give 1 or more.")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise ConfigError(f"--threshold {self.threshold} is not a valid score.", fix="Give a finite number.")
        if self.abstain_below is not None and not 0 <= self.abstain_below <= 1:
            raise ConfigError(f"--abstain-below {self.abstain_below} is not a probability.", fix="Give a number from 0 to 1.")
        if not 0 < self.index_timeout < math.inf:
            raise ConfigError(
                f"--index-timeout {self.index_timeout:g} is not a valid timeout.", fix="Give a positive number of seconds."
            )

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        data["selection"] = self.selection.to_json()
        for name in OPTIONS:
            data[name] = dict(data[name])
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """Create the settings from the output of `to_json`."""
        return cls(**{**data, "selection": Selection.from_json(data["selection"])})
