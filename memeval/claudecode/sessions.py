"""One step in its sandbox: the daemon started, the session run, tried again where that helps, and its memory settled."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock, Semaphore
from typing import Any

from memeval.calls import Budget, RetryPolicy, Stop
from memeval.claudecode import memories
from memeval.claudecode.arms import ArmSetup, check_plugin
from memeval.claudecode.client import ClaudeCode
from memeval.claudecode.conditions import Conditions, setting_value
from memeval.claudecode.contract import ErrorKind, SessionResult, SessionSpec, Step
from memeval.claudecode.memories import Given
from memeval.claudecode.product import MemoryDaemon
from memeval.claudecode.sandbox import State
from memeval.claudecode.stream import FIXES, Stream
from memeval.errors import BudgetError, ModelError, ProviderError
from memeval.types import EMPTY
from memoryd.types import Usage

TRANSIENT = frozenset({ErrorKind.RATE_LIMIT, ErrorKind.NETWORK, ErrorKind.PLUGIN})
FATAL = frozenset({ErrorKind.LOGIN, ErrorKind.MODEL, ErrorKind.CLIENT})
"""No session can go better than this one: the run ends, and can be resumed."""
GIVE_UP_AFTER = 3
"""So many sessions in a row that a limit or the network stopped end the run: what is left is kept for --resume."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a step: the last try's result, and what memory gave and took. `cached`: another run paid for it."""

    result: SessionResult
    attempts: int = 1
    given: tuple[Given, ...] = ()
    files: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    written: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    daydreams: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step runs, how its state is made good again before another try, and its session's id."""

    state: State
    cwd: Path
    session_id: str
    restore: Callable[[], None]


class Outage:
    """Counts sessions in a row that failed for no reason of their own. Safe for threads."""

    def __init__(self, limit: int = GIVE_UP_AFTER) -> None:
        self._limit = limit
        self._row = 0
        self._lock = Lock()

    def note(self, result: SessionResult) -> None:
        """Raises ModelError when it is enough, or when no session can go better."""
        with self._lock:
            self._row = self._row + 1 if result.error in (ErrorKind.RATE_LIMIT, ErrorKind.NETWORK) else 0
            if result.error in FATAL or self._row >= self._limit:
                raise ModelError(result.message, fix=result.fix)


class SessionRunner:
    """Runs the steps of one cell. `slots` bounds the sessions that run at once, over all cells."""

    def __init__(
        self,
        client: ClaudeCode,
        setup: ArmSetup,
        model: str,
        environment: Mapping[str, str],
        conditions: Conditions,
        budgets: tuple[Budget, ...],
        stop: Stop,
        slots: Semaphore,
        outage: Outage,
    ) -> None:
        self._client = client
        self._setup = setup
        self._model = model
        self._environment = environment
        self._conditions = conditions
        self._budgets = budgets
        self._stop = stop
        self._slots = slots
        self._outage = outage
        self._policy = RetryPolicy(conditions.retries, conditions.backoff, maximum=600.0)

    def run(self, step: Step, place: Place, resume: str = "", chance: Callable[[], float] = lambda: 1.0) -> Outcome:
        """The step's outcome; nothing of it runs afterwards. Raises StoppedError, BudgetError, and ModelError in an outage."""
        attempt = 0
        spent = Usage()
        while True:
            with self._slots:
                self._stop.check()
                outcome = self._once(step, place, resume)
                self._stop.check()
            spent += outcome.result.usage
            if outcome.result.error not in TRANSIENT or attempt >= self._conditions.retries:
                break
            self._stop.sleep(self._policy.wait(attempt, outcome.result.retry_after, chance()))
            attempt += 1
            place.restore()
        self._outage.note(outcome.result)
        return replace(outcome, attempts=attempt + 1, result=replace(outcome.result, usage=spent))

    def _once(self, step: Step, place: Place, resume: str) -> Outcome:
        environment = self.environment(place.state)
        before = place.state.builtin_memory()
        if not self._setup.arm.has_plugin:
            result, stream = self._session(step, place, environment, resume)
            return self._seen(result, stream, place, before)
        daemon = MemoryDaemon(place.state, environment)
        try:
            daemon.start()
            known = daemon.memories()
            result, stream = self._session(step, place, environment, resume)
            settled = daemon.settle(self._conditions.settle_timeout)
        except ProviderError as error:
            failed = SessionResult("", error=ErrorKind.PLUGIN, message=error.message, fix=error.fix or FIXES[ErrorKind.PLUGIN])
            return Outcome(failed)
        finally:
            daemon.stop()
        outcome = self._seen(result, stream, place, before)
        return replace(
            outcome,
            files={**known, **settled.memories},
            written={**outcome.written, "plugin": memories.changed(known, settled.memories)},
            daydreams={"failing": list(settled.failing), "seconds": settled.waited},
        )

    def _session(self, step: Step, place: Place, environment: Mapping[str, str], resume: str) -> tuple[SessionResult, Stream]:
        spec = SessionSpec(
            prompt=step.prompt,
            cwd=place.cwd,
            model=self._model,
            environment=environment,
            flags=(*step.flags, *self._setup.flags),
            resume=resume,
            session_id="" if resume else place.session_id,
            max_turns=self._conditions.max_turns,
            timeout=self._conditions.timeout,
        )
        result, stream = self._paid(spec)
        wrong = check_plugin(stream.init, self._setup.arm) if stream.init else ""
        if wrong and result.ok:
            result = replace(
                result, error=ErrorKind.PLUGIN, message=f"Arm {self._setup.arm}: {wrong}.", fix=FIXES[ErrorKind.PLUGIN]
            )
        return replace(result, transcript=place.state.transcript(result.session_id)), stream

    def _paid(self, spec: SessionSpec) -> tuple[SessionResult, Stream]:
        """Within the budgets: the client is told what is left, so that no session can pass it."""
        with ExitStack() as stack:
            settles = [stack.enter_context(budget.reserve(None)) for budget in self._budgets]
            left = [budget.limit - budget.spent for budget in self._budgets if budget.limit is not None]
            if left and min(left) <= 0:
                raise BudgetError("Nothing is left of the budget for a session.", fix="Resume with a greater --budget-usd.")
            most = max(0.0001, min(left)) if left else None
            result, stream = self._client.run(replace(spec, budget_usd=most))
            for settle in settles:
                settle(result.usage.cost_usd)
        return result, stream

    def _seen(self, result: SessionResult, stream: Stream, place: Place, before: Mapping[str, str]) -> Outcome:
        after = place.state.builtin_memory()
        given = [*memories.injected(stream), *memories.retrieved(result.tool_calls)]
        if self._setup.arm.has_builtin:
            given = [*memories.loaded(before), *given]
        return Outcome(result, given=tuple(given), written={"builtin": memories.changed(before, after)})

    def import_logs(self, logs: Sequence[Path], place: Place) -> Outcome:
        """Let the plugin read logs, without any session of the client."""
        daemon = MemoryDaemon(place.state, self.environment(place.state))
        started = time.monotonic()
        with self._slots:
            self._stop.check()
            try:
                daemon.start()
                known = daemon.memories()
                for log in logs:
                    daemon.remember_log(log)
                settled = daemon.settle(self._conditions.settle_timeout)
            except ProviderError as error:
                failed = SessionResult(
                    "", error=ErrorKind.PLUGIN, message=error.message, fix=error.fix or FIXES[ErrorKind.PLUGIN]
                )
                return Outcome(failed)
            finally:
                daemon.stop()
        result = SessionResult("", seconds=round(time.monotonic() - started, 3))
        written = {"plugin": memories.changed(known, settled.memories)}
        return Outcome(result, files=settled.memories, written=written, daydreams={"failing": list(settled.failing)})

    def environment(self, state: State) -> dict[str, str]:
        """All variables of a session."""
        settings = self._conditions.plugin_settings
        own = {f"MEMORYD_{key.upper()}": setting_value(value, os.environ) or "" for key, value in settings.items()}
        return {**self._environment, **state.variables(), **self._setup.variables, **own}
