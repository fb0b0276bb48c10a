"""Phase 1: a case's sessions reach the provider, in time order and in batches, without anything that gives gold away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from memeval.metrics.targets import user_side
from memeval.specs import IngestionMode
from memeval.types import EMPTY, Session

BULK = 50
"""Sessions in one call, so that a checkpoint is never far away."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Sessions of one call; with `wait`, indexing is awaited after it."""

    part: str
    sessions: tuple[Session, ...]
    wait: bool


def case_tag(benchmark: str, case_id: str) -> str:
    """A case's name for systems under test: a digest, for the end of LongMemEval's ids (`_abs`) tells that there is no answer."""
    return sha256(f"{benchmark}|{case_id}".encode()).hexdigest()[:16]


def scope_of(template: str, run_id: str, benchmark: str, case_id: str) -> str:
    """The provider's name for a case of a run: the template filled in, in characters that any system takes."""
    values = {"runId": run_id, "benchmark": benchmark, "caseId": case_tag(benchmark, case_id)}
    raw = re.sub(r"\$\{(\w+)\}", lambda match: values.get(match[1], match[0]), template)
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", raw)
    unique = "${runId}" in template and "${caseId}" in template
    if safe == raw and len(safe) <= 100 and unique:
        return safe
    return f"{safe[:80]}-{sha256(f'{raw}|{run_id}|{case_id}'.encode()).hexdigest()[:12]}"


def visible(session: Session) -> Session:
    """A session as a system under test may see it: no source id, no metadata, which can hold gold."""
    return replace(session, source_id="", turns=tuple(replace(turn, metadata=EMPTY) for turn in session.turns))


def batches(sessions: Sequence[Session], mode: IngestionMode, *, user_only: bool = False) -> Iterator[Batch]:
    """The calls for a case. Sessions without a time keep their place behind the one before them."""
    seen = [visible(user_side(session) if user_only else session) for session in in_time_order(sessions)]
    size = BULK if mode is IngestionMode.BULK else 1
    for number, start in enumerate(range(0, len(seen), size), start=1):
        yield Batch(f"{number:06d}", tuple(seen[start : start + size]), mode is IngestionMode.SESSION_BASED)


def in_time_order(sessions: Sequence[Session]) -> list[Session]:
    """Sorted by time as far as it is known; sessions that can't be compared stay as the benchmark has them."""
    if any(session.at is None for session in sessions):
        return list(sessions)
    if len({session.at.tzinfo is None for session in sessions if session.at}) > 1:
        return list(sessions)
    return sorted(sessions, key=lambda session: session.at.timestamp() if session.at else 0.0)
