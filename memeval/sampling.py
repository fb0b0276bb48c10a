"""Which questions of a benchmark a run asks. Pure and seeded: the same selection on every machine.

Order of the steps: question types and ids, dev slice, start/end, limit, shard. So the shards of a selection, put
together, are that selection.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from memeval.errors import ConfigError
from memeval.types import QuestionType


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` (from 1) of `count`."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From `i/n`. Raises ConfigError."""
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise ConfigError(f"{text!r} is no shard.", fix="Write i/n with 1 <= i <= n, e.g. 2/4.")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True, slots=True)
class Selection:
    """`start` and `end` count from 1 and are both included. `types` hold unified or the benchmark's own names."""

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
            raise ConfigError(f"--dev-slice {self.dev_slice} is no share.", fix="Give a number above 0, at most 1.")
        first = 1 if self.start is None else self.start
        if first < 1 or (self.end is not None and self.end < first):
            raise ConfigError(f"--start {first} --end {self.end} is no range.", fix="Count from 1; both ends are included.")


@dataclass(frozen=True, slots=True)
class Ref:
    """A question, by what a selection looks at."""

    case_id: str
    question_id: str
    type: QuestionType
    category: str = ""


def select(refs: Sequence[Ref], selection: Selection) -> list[int]:
    """Positions of the chosen questions, rising. Raises ConfigError when a name fits none or nothing is left."""
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
    """From each stratum (type and category) a share, at least one, by the order of seeded hashes."""
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
    """By case, so that no case is ingested twice; by question when there are fewer cases than shards."""
    cases = {case: number for number, case in enumerate(dict.fromkeys(refs[p].case_id for p in chosen))}
    if len(cases) < shard.count:
        return [p for number, p in enumerate(chosen) if number % shard.count == shard.index - 1]
    return [p for p in chosen if cases[refs[p].case_id] % shard.count == shard.index - 1]
