"""Run one step in its sandbox: start the daemon, run the session, retry where useful, and wait for memory to settle.

Also builds the trajectory (one JSON line per session) and manages the session cache.

The cache stores sessions on disk under a key of everything that affects them, so each is paid for only once across
runs. It contains only sessions whose state is discarded: questions, and tasks of the arm without memory, with their
grades. Sessions that create memory (replays, and tasks of arms with memory) always run again, because they leave
files with paths of their run. The key covers the client version, address, model, arm with the digest of plugin and
settings, limits, prompt, flags, session id (benchmark, sequence, step, repeat), and all remembered text. As with
model calls, an entry records which run paid for it. A run that was killed between a session and its record gets the
entry at its cost, so a resumed run reports the same as an uninterrupted one. Any other run gets it as cached, at no
cost.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import Semaphore
from typing import Any

from memeval.claudecode import memories
from memeval.claudecode.arms import Conditions, setting_value
from memeval.claudecode.clients import FIXES, BenchClient, SessionSpec
from memeval.claudecode.contract import (
    OUTSIDE_FAULTS,
    Arm,
    ErrorKind,
    SessionResult,
    Step,
    StepKind,
    StepSequence,
    ToolCall,
)
from memeval.claudecode.daemon import MemoryDaemon, MemoryReport
from memeval.claudecode.faults import CircuitBreaker, Patience, is_limit
from memeval.claudecode.memories import MEMORY_ID, DeliveredText
from memeval.claudecode.sandbox import State
from memeval.core.calls import Budget, Stop
from memeval.core.errors import BudgetError, MemevalError, ProviderError
from memeval.core.text import estimate_tokens
from memeval.core.types import EMPTY, Phase, Retrieved, Score
from memeval.results.codec import score_from_json, score_to_json, usage_from_json, usage_to_json
from memeval.results.store import RunStore
from memoryd.core.clock import CLOCK_ENV, FILE_MARK, to_iso
from memoryd.core.config import MAX_NUMBER
from memoryd.core.files import write_atomic
from memoryd.core.paths import Paths
from memoryd.core.types import Usage


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of a step, with the result of the last attempt.

    `memory` is the usage of the plugin's own models. `cached` means that another run paid for it.
    """

    result: SessionResult
    attempts: int = 1
    given: tuple[DeliveredText, ...] = ()
    files: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    written: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    daydreams: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    memory: Usage = Usage()
    cached: bool = False

    @property
    def usage(self) -> Usage:
        """Return the usage of the session and of the day dreams after it."""
        return self.result.usage + self.memory

    @property
    def is_fault(self) -> bool:
        """Return whether a fault not caused by the step ended it, so that it must be run again."""
        return self.result.error in OUTSIDE_FAULTS


@dataclass(frozen=True, slots=True)
class Place:
    """The state, working folder and session id of a step, and a function that restores the state before a retry."""

    state: State
    cwd: Path
    session_id: str
    restore: Callable[[], None]


class SessionRunner:
    """Runs the steps of one cell.

    `slots` limits concurrent sessions across all cells. `lose` is called with the fault and usage of each session
    whose outcome is not used.
    """

    def __init__(
        self,
        client: BenchClient,
        arm: Arm,
        plugin: Path,
        model: str,
        environment: Mapping[str, str],
        conditions: Conditions,
        budgets: tuple[Budget, ...],
        stop: Stop,
        slots: Semaphore,
        outage: CircuitBreaker,
        patience: Patience,
        lose: Callable[[str, Usage], None],
    ) -> None:
        self._client = client
        self._arm = arm
        self._plugin = plugin
        self._model = model
        self._environment = environment
        self._conditions = conditions
        self._budgets = budgets
        self._stop = stop
        self._slots = slots
        self._outage = outage
        self._patience = patience
        self._lose = lose

    def run(
        self, step: Step, place: Place, resume: str = "", *, dream: bool = False, chance: Callable[[], float] = lambda: 1.0
    ) -> StepOutcome:
        """Run a step. None of its processes survive the call.

        Raises StoppedError, BudgetError, ConfigError for a fault that no retry can fix, or ModelError in an outage.
        """
        attempt = waits = 0
        while True:
            with self._slots:
                self._stop.check()
                outcome = self._once(step, place, resume, dream=dream)
                self._charge(outcome)
                self._stop.check()
                outcome = self._with_limit(outcome, place)
            result = outcome.result
            pause = self._patience.pause(result, attempt, waits, chance())
            if pause is None:
                break
            self._lose(str(result.error), outcome.usage)
            self._stop.sleep(pause)
            waited = self._patience.wait and is_limit(result)
            attempt, waits = (attempt, waits + 1) if waited else (attempt + 1, waits)
            place.restore()
        self._end(outcome)
        return replace(outcome, attempts=attempt + waits + 1)

    def _with_limit(self, outcome: StepOutcome, place: Place) -> StepOutcome:
        """Query the remaining time of a rate limit, if the client gave up without reporting it."""
        result = outcome.result
        if result.error is not ErrorKind.RATE_LIMIT or result.retry_after is not None:
            return outcome
        left = self._client.limit_left(self._environment, self._model, place.state.folder.parent)
        return replace(outcome, result=replace(result, retry_after=left))

    def _end(self, outcome: StepOutcome) -> None:
        """Raise an error if the run can't continue. The session is then not recorded, so its cost is recorded as lost."""
        try:
            if outcome.result.error is ErrorKind.BUDGET:
                raise BudgetError(outcome.result.message, fix="Resume with a larger --budget-usd.")
            self._outage.note(outcome.result)
        except MemevalError:
            self._lose(str(outcome.result.error), outcome.usage)
            raise

    def _charge(self, outcome: StepOutcome) -> None:
        """Charge the cost of the memory's models to the budgets. Raises BudgetError if the cost is unknown."""
        cost = outcome.memory.cost_usd
        limited = any(budget.limit is not None for budget in self._budgets)
        if cost is None and limited:
            self._lose(str(ErrorKind.BUDGET), outcome.usage)
            raise BudgetError(
                "The price of the day dream's model is unknown, so the budget can't be enforced.",
                fix="Add the model to the price table, or omit --budget-usd.",
            )
        for budget in self._budgets:
            budget.add(cost or 0.0)

    def _once(self, step: Step, place: Place, resume: str, *, dream: bool) -> StepOutcome:
        environment = self.environment(place.state)
        before = place.state.builtin_memory()
        kept = step.kind is not StepKind.QUESTION
        if not self._arm.has_plugin:
            return self._seen(self._session(step, place, environment, resume), place, before)
        environment |= clock_of(step.at)
        if not kept:
            environment |= NO_MODEL
        daemon = MemoryDaemon(place.state, environment)
        result = SessionResult("")
        try:
            daemon.start()
            known = daemon.memories()
            result = self._session(step, place, environment, resume)
            settled = self._settled(daemon, dream=dream) if kept else MemoryReport(known)
        except ProviderError as error:
            return _plugin_fault(error, result, _spent_if_known(daemon))
        finally:
            daemon.stop()
        try:
            memory = daemon.spent()
        except ProviderError as error:
            return _plugin_fault(error, result, Usage())
        outcome = self._seen(_with_problem(result, settled), place, before)
        return replace(
            outcome,
            files={**known, **settled.memories},
            written={**outcome.written, "plugin": memories.changed(known, settled.memories)},
            daydreams={"failing": list(settled.failing), "seconds": settled.waited},
            memory=memory,
        )

    def _settled(self, daemon: MemoryDaemon, *, dream: bool) -> MemoryReport:
        settled = daemon.settle(self._conditions.settle_timeout)
        if not dream:
            return settled
        daemon.dream()
        return daemon.settle(self._conditions.settle_timeout)

    def _session(self, step: Step, place: Place, environment: Mapping[str, str], resume: str) -> SessionResult:
        spec = SessionSpec(
            prompt=step.prompt,
            cwd=place.cwd,
            model=self._model,
            environment=environment,
            state=place.state,
            arm=self._arm,
            plugin=self._plugin,
            tools=step.tools,
            system=step.system,
            placebo=step.placebo,
            resume=resume,
            session_id="" if resume else place.session_id,
            max_turns=self._conditions.max_turns,
            timeout=self._conditions.timeout,
        )
        result = self._paid(spec)
        wrong = self._client.check_plugin(result.init, self._arm) if result.init else ""
        if wrong and result.ok:
            result = replace(result, error=ErrorKind.PLUGIN, message=f"Arm {self._arm}: {wrong}.", fix=FIXES[ErrorKind.PLUGIN])
        return replace(result, transcript=self._client.transcript(place.state, result.session_id))

    def _paid(self, spec: SessionSpec) -> SessionResult:
        """Run the session within the budgets.

        The client's own limit is at most the remaining budget, so that no session can exceed it.
        """
        with ExitStack() as stack:
            settles = [stack.enter_context(budget.reserve(None)) for budget in self._budgets]
            left = [budget.limit - budget.spent for budget in self._budgets if budget.limit is not None]
            if left and min(left) <= 0:
                raise BudgetError("The remaining budget is too small for a session.", fix="Resume with a larger --budget-usd.")
            shares = [share_of(budget.limit) for budget in self._budgets if budget.limit is not None]
            most = max(0.0001, min(*left, *shares)) if left else None
            result = self._client.run(replace(spec, budget_usd=most))
            for settle in settles:
                settle(result.usage.cost_usd)
        return result

    def _seen(self, result: SessionResult, place: Place, before: Mapping[str, str]) -> StepOutcome:
        after = place.state.builtin_memory()
        given = [*memories.injected(result), *memories.retrieved(result.tool_calls)]
        if self._arm.has_builtin:
            given = [*memories.loaded(before), *given]
        return StepOutcome(result, given=tuple(given), written={"builtin": memories.changed(before, after)})

    def import_logs(self, logs: Sequence[tuple[Path, datetime | None]], place: Place, *, dream: bool = False) -> StepOutcome:
        """Import logs through the plugin without a client session, each at its own time."""
        started = time.monotonic()
        clock = place.state.folder / "clock"
        dated = [at for _, at in logs if at is not None]
        if dated:
            write_atomic(clock, to_iso(dated[0]).encode())
        environment = self.environment(place.state) | ({CLOCK_ENV: f"{FILE_MARK}{clock}"} if dated else {})
        daemon = MemoryDaemon(place.state, environment)
        settled = MemoryReport()
        with self._slots:
            self._stop.check()
            try:
                daemon.start()
                known = daemon.memories()
                for number, (log, at) in enumerate(logs, 1):
                    self._stop.check()
                    if at is not None:
                        write_atomic(clock, to_iso(at).encode())
                    daemon.remember_log(log)
                    settled = self._settled(daemon, dream=dream and number == len(logs))
                    if settled.problem:
                        break
            except ProviderError as error:
                return _plugin_fault(error, SessionResult(""), _spent_if_known(daemon))
            finally:
                daemon.stop()
        result = _with_problem(SessionResult("", seconds=round(time.monotonic() - started, 3)), settled)
        written = {"plugin": memories.changed(known, settled.memories)}
        failing = {"failing": list(settled.failing)}
        try:
            memory = daemon.spent()
        except ProviderError as error:
            return _plugin_fault(error, SessionResult(""), Usage())
        outcome = StepOutcome(result, files=settled.memories, written=written, daydreams=failing, memory=memory)
        self._charge(outcome)
        return outcome

    def environment(self, state: State) -> dict[str, str]:
        """Return all environment variables of a session."""
        settings = self._conditions.plugin_settings
        own = {f"MEMORYD_{key.upper()}": setting_value(value, os.environ) or "" for key, value in settings.items()}
        plugin = {**self._client.memory_variables(), **NO_DAILY_BUDGET, **PATIENT_HOOKS}
        shared = plugin if self._arm.has_plugin else {}
        return {**self._environment, **state.variables(), **self._client.variables(self._arm), **shared, **own}


PATIENT_HOOKS = {"MEMORYD_HOOK_SECONDS": "4"}
"""Longer timeout for hooks. On a busy machine, a hook would give up early and use an earlier session's start text, or nothing."""
NO_DAILY_BUDGET = {"MEMORYD_DAILY_TOKEN_BUDGET": str(MAX_NUMBER)}
"""No daily limit for day dreams.

A run replays weeks of sessions within an hour, and a daily limit would leave most of them unread.
"""
NO_MODEL = {"MEMORYD_DAILY_TOKEN_BUDGET": "0"}
"""No model for day dreams. The memory of a question's session is discarded, so there is no point in reading its log."""


def _spent_if_known(daemon: MemoryDaemon) -> Usage:
    """Return what memory cost before another fault, which is reported instead of this one."""
    try:
        return daemon.spent()
    except ProviderError:
        return Usage()


def _plugin_fault(error: ProviderError, result: SessionResult, memory: Usage) -> StepOutcome:
    """Return the outcome of a step whose plugin failed. What its session cost is kept."""
    fix = error.fix or FIXES[ErrorKind.PLUGIN]
    failed = replace(result, text="", error=ErrorKind.PLUGIN, message=error.message, fix=fix)
    return StepOutcome(failed, memory=memory)


def _with_problem(result: SessionResult, report: MemoryReport) -> SessionResult:
    """Return the result as a fault if the session's day dream failed, because its memory is then incomplete."""
    if not report.problem or result.error in OUTSIDE_FAULTS:
        return result
    message = f"The day dream failed: {report.problem}"
    return replace(result, error=ErrorKind.DAYDREAM, message=message, fix=FIXES[ErrorKind.DAYDREAM])


SESSION_SHARE, LEAST_USD = 0.25, 1.0


def share_of(limit: float) -> float:
    """Return the limit of a session. It is constant as long as the remaining budget exceeds it.

    The client shows the limit to the model. The remaining budget would differ between sessions, and even more between arms.
    """
    return max(SESSION_SHARE * limit, min(limit, LEAST_USD))


def clock_of(at: datetime | None) -> dict[str, str]:
    """Return the variable that sets the clock of memoryd's daemon to the time of a step.

    It is omitted for a step without a time.
    """
    return {CLOCK_ENV: to_iso(at)} if at else {}


SHOWN_TEXT = 2000
SHOWN_EVIDENCE = 20_000


def trajectory(
    sequence: StepSequence, step: Step, outcome: StepOutcome, found: Sequence[Retrieved], grades: Sequence[Score] = ()
) -> dict[str, Any]:
    """Describe the memories written, retrieved, injected and used in a step.

    All token counts except those of the session are estimates.
    """
    result = outcome.result
    injected = [one for one in outcome.given if not one.via.startswith("tool:")]
    asked = [one for one in outcome.given if one.via.startswith("tool:")]
    return {
        "sequence": sequence.id,
        "step": step.id,
        "kind": str(step.kind),
        "session": result.session_id,
        "prompt": step.prompt[:SHOWN_TEXT],
        "answer": result.text[:SHOWN_TEXT],
        "status": "done" if result.ok else str(result.error),
        "message": result.message,
        "attempts": outcome.attempts,
        "cached": outcome.cached,
        "turns": result.turns,
        "usage": usage_to_json(result.usage),
        "calls": [
            {"name": call.name, "arguments": dict(call.arguments), "result": call.result[:SHOWN_TEXT], "is_error": call.is_error}
            for call in result.tool_calls
        ],
        "injected": _summarize_given(injected),
        "retrieved": _summarize_given(asked),
        "used": memories.used(outcome.given, result),
        "written": {name: _written(change) for name, change in outcome.written.items()},
        "daydreams": {"failing": list(outcome.daydreams.get("failing", ()))},
        "memory_usage": usage_to_json(outcome.memory),
        "graded": {name: _shown_end(text) for score in grades for name, text in score.evidence.items()},
        "sources": {piece.metadata["id"] or piece.metadata["via"]: list(piece.turns) for piece in found if piece.turns},
    }


def _shown_end(text: str) -> str:
    """Return the last part of a text, where test runners report failures."""
    return text if len(text) <= SHOWN_EVIDENCE else f"…{text[-SHOWN_EVIDENCE:]}"


def _summarize_given(given: Sequence[memories.DeliveredText]) -> dict[str, Any]:
    items = [{"via": one.via, "id": one.id, "text": one.text[:SHOWN_TEXT], "tokens": estimate_tokens(one.text)} for one in given]
    return {"tokens": memories.tokens(given), "items": items}


def _written(change: dict[str, Any]) -> dict[str, Any]:
    shown = {kind: {key: text[:SHOWN_TEXT] for key, text in change[kind].items()} for kind in ("new", "changed")}
    tokens = sum(estimate_tokens(text) for kind in ("new", "changed") for text in change[kind].values())
    return {**shown, "removed": change["removed"], "tokens": tokens}


def trajectories(store: RunStore) -> Iterator[dict[str, Any]]:
    """Return all trajectories of a run: histories first, then questions in report order."""
    for key in store.keys(Phase.INGEST):
        record = store.get(key)
        if key.part and record is not None:
            yield {**record.payload["trajectory"], "seconds": record.seconds}
    for record in store.whole_records(Phase.ANSWER):
        if "trajectory" in record.payload:  # A step blocked by another one's fault has none.
            yield {**record.payload["trajectory"], "seconds": record.seconds}


def injected_tokens(store: RunStore) -> dict[str, int]:
    """Return the number of tokens that the plugin injected into each question or task, keyed by its name within the run."""
    records = store.whole_records(Phase.ANSWER)
    payloads = (record.payload["trajectory"] for record in records if "trajectory" in record.payload)
    return {f"{one['sequence']}/{one['step']}": int(one["injected"]["tokens"]) for one in payloads}


FORM = 4
_OF_THE_RUN = re.compile(r"^(?:project|created_at|updated_at|expired_at|valid_to): .*$|transcript: [^,}]*", re.MULTILINE)


class SessionCache:
    """A cache with one JSON file per session. Without a folder, nothing is cached. A corrupt file counts as a miss."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def enabled(self) -> bool:
        """Return whether sessions are stored."""
        return self._folder is not None

    def get(self, key: str, payer: str) -> tuple[StepOutcome, tuple[Score, ...]] | None:
        """Return the cached session with its grades, or None if it is not cached."""
        if self._folder is None:
            return None
        try:
            data = json.loads(self._path(key).read_bytes())
            own = bool(payer) and data["payer"] == payer
            found = zip(data["scores"], data["evidence"], strict=True)
            return _cached_outcome(data, own=own), tuple(replace(score_from_json(one), evidence=texts) for one, texts in found)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, payer: str, outcome: StepOutcome, scores: Sequence[Score] = ()) -> None:
        """Store a session that ended with an answer."""
        if self._folder is None or not outcome.result.ok:
            return
        given_ids = {one.id for one in outcome.given}
        result = asdict(replace(outcome.result, transcript=None, init={}, tool_calls=(), injected=()))
        data = {
            "payer": payer,
            "result": result | {"usage": usage_to_json(outcome.result.usage), "init": dict(outcome.result.init)},
            "tool_calls": [_call(call) for call in outcome.result.tool_calls],
            "attempts": outcome.attempts,
            "given": [asdict(one) for one in outcome.given],
            "files": {name: text for name, text in outcome.files.items() if name in given_ids},
            "written": dict(outcome.written),
            "daydreams": dict(outcome.daydreams),
            "scores": [score_to_json(score) for score in scores],
            "evidence": [dict(score.evidence) for score in scores],
        }
        write_atomic(self._path(key), json.dumps(data, ensure_ascii=False, sort_keys=True, default=str).encode())

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / key[:2] / f"{key}.json"


def _call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": dict(call.arguments), "result": call.result, "is_error": call.is_error}


def _cached_outcome(data: Mapping[str, Any], *, own: bool) -> StepOutcome:
    stored = data["result"]
    paid = usage_from_json(stored["usage"])
    usage = paid if own else Usage(0, paid.input_tokens, paid.output_tokens, 0.0, cached_calls=max(1, paid.calls))
    calls = tuple(ToolCall(**call) for call in data["tool_calls"])
    return StepOutcome(
        SessionResult(**{**stored, "usage": usage, "tool_calls": calls, "error": ErrorKind.NONE, "injected": ()}),
        data["attempts"] if own else 0,
        tuple(DeliveredText(**one) for one in data["given"]),
        data["files"],
        data["written"],
        data["daydreams"],
        cached=not own,
    )


def session_key(decides: Mapping[str, Any], step: Step, session_id: str, memory: Sequence[str]) -> str:
    """Return the SHA-256 cache key of a session. `decides` contains the values shared by all sessions of a cell."""
    asked = [step.prompt, step.system, clock_of(step.at), step.folder, list(step.tools), step.placebo]
    content = [FORM, dict(decides), *asked, session_id, sorted(memory)]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True, default=str).encode()).hexdigest()


def remembered(state: State, root: Path) -> list[str]:
    """Return the text of both memories without the run-specific parts.

    Those are ids, the project, and creation and end times.
    """
    builtin = [f"{path.partition('/memory/')[2]}\n{text}" for path, text in state.builtin_memory().items()]
    files = sorted(Paths(state.memory_home).memories.rglob("*mem_*.md"))
    plugin = [MEMORY_ID.sub("", _OF_THE_RUN.sub("", path.read_text("utf-8", "replace"))) for path in files]
    return [text.replace(str(root), "") for text in (*builtin, *plugin)]
