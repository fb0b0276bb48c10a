"""Handle faults not caused by the session: limits, outages, crashes and hangs.

A session ended by such a fault is retried if that can help. If it still fails, its question remains unscored, the
steps that need its memory are skipped, and any --resume runs them again. Three such sessions in a row end the run.

The cost of failed sessions is recorded separately (`lost`), so that the figures of a cell equal those of a run without faults.
It still counts towards budgets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from memeval.claudecode.contract import OUTSIDE_FAULTS, ErrorKind, SessionResult
from memeval.core.calls import RetryPolicy
from memeval.core.errors import ConfigError, MemevalError, ModelError
from memeval.core.types import Phase
from memeval.results.codec import usage_from_json, usage_to_json
from memeval.results.store import Key, Record, RunStore
from memeval.run.checkpoint import Run
from memoryd.core.types import Usage

SERVER_FAULTS = frozenset({ErrorKind.RATE_LIMIT, ErrorKind.NETWORK, ErrorKind.SERVER, ErrorKind.HANG})
"""Faults of the server or of the connection to it."""
TRANSIENT = SERVER_FAULTS | {ErrorKind.PLUGIN}
FATAL = frozenset({ErrorKind.LOGIN, ErrorKind.MODEL, ErrorKind.CLIENT})
"""Faults that would affect every other session as well. They end the run, which can be resumed."""
GIVE_UP_AFTER = 3
"""Number of consecutive sessions stopped by the server after which the run ends. The rest is left for --resume."""
PATIENCE_SECONDS = 600.0
"""Longest limit to wait for without --wait. A longer one ends the run at once."""
LIMIT_WORDS = re.compile(r"(usage|rate|session|weekly|hour) limit|limit reached|hit your limit|\b429\b", re.IGNORECASE)


class CircuitBreaker:
    """Counts consecutive sessions stopped by the server, and ends the run after too many. Thread-safe."""

    def __init__(self, limit: int = GIVE_UP_AFTER, resume: str = "--resume") -> None:
        self._limit = limit
        self._resume = resume
        self._row = 0
        self._lock = Lock()

    def note(self, result: SessionResult) -> None:
        """Record the result of a session.

        Raises ConfigError for a fault that no retry can fix, and ModelError after too many faults in a row or for a long limit.
        """
        with self._lock:
            self._row = self._row + 1 if result.error in SERVER_FAULTS else 0
            row = self._row
        if result.error in FATAL:
            raise ConfigError(result.message, fix=f"{result.fix} Continue with {self._resume}.")
        if result.error is ErrorKind.RATE_LIMIT and (result.retry_after or 0.0) > PATIENCE_SECONDS:
            raise self._limited(result)
        if row >= self._limit:
            raise ModelError(
                f"The server stopped {row} sessions in a row, the last one with: {result.message}",
                fix=f"{result.fix} None of them are scored; continue with {self._resume}.",
            )

    def _limited(self, result: SessionResult) -> MemevalError:
        until = datetime.now().astimezone() + timedelta(seconds=result.retry_after or 0.0)
        return ModelError(
            f"{result.message.rstrip('.')}. The limit lasts until {until:%Y-%m-%d %H:%M}.",
            fix=f"Continue with {self._resume} after that, or add --wait to wait for it.",
        )


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait before another attempt. With `wait`, a usage limit is waited out, however long it takes."""

    policy: RetryPolicy
    wait: bool = False
    tell: Callable[[str], None] = lambda text: None

    def pause(self, result: SessionResult, attempt: int, waits: int, share: float) -> float | None:
        """Return the seconds to wait, or None if the session must not be tried again.

        `attempt` and `waits` are the number of attempts, and of limits waited out, so far.
        """
        limited = is_limit(result)
        if result.error not in TRANSIENT and not (limited and self.wait):
            return None
        asked = result.retry_after or 0.0
        if limited and self.wait:
            seconds = max(asked, self.policy.wait(waits, None, share))
            until = datetime.now().astimezone() + timedelta(seconds=seconds)
            self.tell(f"{result.message} Waiting until {until:%Y-%m-%d %H:%M:%S} (--wait).")
            return seconds
        if attempt >= self.policy.retries or asked > PATIENCE_SECONDS:
            return None
        return max(asked, self.policy.wait(attempt, None, share))


def is_limit(result: SessionResult) -> bool:
    """Return whether a rate or usage limit ended the session or its day dream."""
    return result.error is ErrorKind.RATE_LIMIT or (
        result.error is ErrorKind.DAYDREAM and LIMIT_WORDS.search(result.message) is not None
    )


class MemoryBreaker:
    """Stops a cell after too many consecutive failures of the plugin or its day dreams. Later ones would fail as well."""

    def __init__(self, limit: int = GIVE_UP_AFTER) -> None:
        self._limit = limit
        self._row = 0
        self._lock = Lock()
        self._fault: SessionResult | None = None

    def note(self, result: SessionResult) -> None:
        """Record the result of a step that carries memory."""
        with self._lock:
            failed = result.error in (ErrorKind.DAYDREAM, ErrorKind.PLUGIN)
            self._row = self._row + 1 if failed else 0
            if self._row >= self._limit:
                self._fault = result

    @property
    def fault(self) -> SessionResult | None:
        """Return the fault that prevents the start of further sequences in the cell, or None."""
        return self._fault


# Costs of failed sessions

LOST = "lost"


def add_lost(store: RunStore, kind: str, usage: Usage) -> None:
    """Record the cost of a session whose outcome is not used."""
    with store.transaction():
        known = lost_of(store)
        store.set_meta(
            LOST,
            {
                "sessions": known["sessions"] + 1,
                "by_kind": {**known["by_kind"], kind: known["by_kind"].get(kind, 0) + 1},
                "usage": usage_to_json(usage_from_json(known["usage"]) + usage),
            },
        )


def lost_of(store: RunStore) -> dict[str, Any]:
    """Return the number and usage of sessions whose outcome is not used, and the faults that ended them."""
    empty = {"sessions": 0, "by_kind": {}, "usage": usage_to_json(Usage())}
    return {**empty, **store.meta(LOST, {})}


def sum_lost(stores: Sequence[RunStore]) -> dict[str, Any]:
    """Sum the failed sessions of several runs."""
    every = [lost_of(store) for store in stores]
    kinds = sorted({kind for one in every for kind in one["by_kind"]})
    return {
        "sessions": sum(one["sessions"] for one in every),
        "by_kind": {kind: sum(one["by_kind"].get(kind, 0) for one in every) for kind in kinds},
        "usage": usage_to_json(sum((usage_from_json(one["usage"]) for one in every), Usage())),
    }


# Resuming

JUDGE_FAULT = "the judge failed: "
"""Prefix of the reason for a score that is missing because the judge failed."""


def ended_by(payload: Mapping[str, Any]) -> str:
    """Return the fault that ended a record's session, `blocked` if a fault ended an earlier step, or an empty string."""
    if payload.get("blocked"):
        return "blocked"
    status = payload.get("trajectory", {}).get("status", "")
    return status if status in OUTSIDE_FAULTS else ""


def forget_faults(run: Run, *, cached: bool) -> int:
    """Delete the records of sessions ended by a fault, and of the steps blocked by it. Return their number.

    With `cached`, a question with a failed judge gets its session from the cache at the original cost.
    """
    store = run.store
    forgotten = 0
    with store.transaction():
        for record in [*store.records(Phase.INGEST), *store.records(Phase.ANSWER)]:
            fault = ended_by(record.payload)
            judge = not fault and record.key.phase is Phase.ANSWER and _judge_failed(store, record.key)
            if not fault and not judge:
                continue
            forgotten += 1
            if fault not in ("", "blocked") or (judge and not cached):
                add_lost(store, fault or "judge", usage_of(record))
            _delete(store, record.key)
        if forgotten:
            run.reopen()
    return forgotten


def usage_of(record: Record) -> Usage:
    """Return the usage stored in a record."""
    return usage_from_json(record.payload.get("usage", {}))


def _judge_failed(store: RunStore, key: Key) -> bool:
    judged = store.get(Key(Phase.EVALUATE, key.case_id, key.question_id))
    return judged is not None and any(
        score.get("reason", "").startswith(JUDGE_FAULT) for score in judged.payload.get("scores", ())
    )


def _delete(store: RunStore, key: Key) -> None:
    if key.phase is Phase.INGEST:
        store.delete_row(key)
        store.delete_row(Key(Phase.INGEST, key.case_id))
        return
    for phase in (Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE):
        store.delete_one(Key(phase, key.case_id, key.question_id))
