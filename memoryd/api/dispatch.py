"""The daemon's API for the CLI, MCP, hooks and console: runs operations, answers hooks and does background work."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from memoryd.api import dreams, machines, team
from memoryd.api.consent import ATTENDED, Consent, SwitchCommands
from memoryd.api.hooks import GUARD_OFF, HookCalls, plugin_options
from memoryd.api.parameters import parse
from memoryd.api.registry import Caller, Operation, operations
from memoryd.api.runtime import Runtime
from memoryd.api.settings import AT_START
from memoryd.clients.base import CLIENT_KEY
from memoryd.clients.registry import client_named
from memoryd.core.codec import is_id
from memoryd.core.config import CLAUDE, IN_CLIENT, Settings, load_settings, options_problem
from memoryd.core.db import require_content
from memoryd.core.errors import ConfigError, InputError
from memoryd.core.files import write_atomic
from memoryd.core.project import ProjectRegistry
from memoryd.core.protocols import Clock
from memoryd.core.state import Job, State
from memoryd.daemon.contract import Slot
from memoryd.daemon.watch import MemoryWatcher, identity
from memoryd.daydream.admission import is_excluded
from memoryd.daydream.pipeline import DayDream
from memoryd.daydream.readers import PROBLEM, models_of, wake
from memoryd.daydream.reconcile import Reconciler
from memoryd.daydream.transcript import cursor_at_end
from memoryd.dream.planner import Planner
from memoryd.dream.sweep import Sweep
from memoryd.embed import make_embedder, make_encoder
from memoryd.llm.claude import Logins, login_of
from memoryd.recall.at_action import AtAction
from memoryd.recall.guard import Guard
from memoryd.recall.injection import Injector
from memoryd.service import EVERY_PROJECT, Orchestrator

log = logging.getLogger(__name__)
MAINTAIN_SECONDS = 30.0
CATCHING_UP_SECONDS = 1.0
SYNC_WAIT_SECONDS = 5.0
# In stores up to this size, deleted text is overwritten before the call returns. In larger ones, it is overwritten
# within MAINTAIN_SECONDS.
SCRUBBED_AT_ONCE = 2_000
MAX_SESSIONS = 1_000_000
MODEL = "model"


@dataclass(frozen=True, slots=True)
class _RuntimeParts:
    """Objects that depend on settings. They are rebuilt when the settings change."""

    settings: Settings
    runtime: Runtime
    hooks: HookCalls
    injector: Injector
    daydream: DayDream


class Api:
    """Answers calls and hooks, and does background work. Thread-safe.

    Args:
        settings: The settings at daemon start.
        clock: The source of the current time.
        login: Credentials for model runs.
        daemon: Returns information on the serving process, for the status.
        watch: Creates a context in which a day dream is monitored.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        login: Mapping[str, str] | None = None,
        daemon: Callable[[], Mapping[str, Any]] | None = None,
        watch: Callable[[], AbstractContextManager[None]] = nullcontext,
        state: Path | None = None,
    ) -> None:
        self._clock = clock
        self._watch = watch
        self._daemon = daemon
        self._logins = Logins()
        self._logins.note("", login or {})
        self._registry = ProjectRegistry(settings.paths.projects)
        if state is None:
            require_content(settings.paths.state_db, settings.paths.index)
        self._state = State(state or settings.paths.state_db, clock, self._registry.folders)
        self._embedder = embedder = make_embedder(settings) if settings.rank != "bm25" else None
        self._service = Orchestrator(settings, clock, embedder, self._state.ledger, make_encoder(settings))
        self._watcher = MemoryWatcher(settings.paths.memories, self._on_files_changed)
        self._lock = identity(settings.paths.daemon_lock)
        self._started = settings
        self._options_lock = threading.Lock()
        self._consent = Consent(clock)
        self._switch_commands = SwitchCommands(clock)
        self._working = threading.Event()
        self._synchronised = threading.Event()
        self._synchronised.set()
        self._sweep(settings).recover()  # Must run before anyone can see the result of an interrupted dream.
        self._parts = self._make_parts(settings)

    def _sweep(self, settings: Settings) -> Sweep:
        planning = Planner(self._service, self._state, settings, self._clock, logins=self._logins)
        return Sweep(self._service, self._state, settings, self._clock, planning)

    def _make_parts(self, settings: Settings) -> _RuntimeParts:
        injector = Injector(self._service, self._state, settings, self._clock, self._registry)
        guard = Guard(self._service, self._state, settings, self._clock)
        runtime = Runtime(
            settings=settings,
            started=self._started,
            clock=self._clock,
            service=self._service,
            state=self._state,
            registry=self._registry,
            injector=injector,
            reconciler=Reconciler(self._service, self._clock),
            sweep=self._sweep(settings),
            logins=self._logins,
            embedder=self._embedder,
            renew=self._renew,
            daemon=self._daemon,
            guard=guard,
        )
        at_action = AtAction(self._service, self._state, settings, self._clock, injector.code)
        hooks = HookCalls(
            injector, self._state, settings, self._registry, self._service, self._clock, (guard.respond, at_action), guard
        )
        self._mark_login(settings)
        daydream = DayDream(
            self._service, self._state, settings, self._clock, embedder=self._embedder, logins=self._logins, watch=self._watch
        )
        return _RuntimeParts(settings, runtime, hooks, injector, daydream)

    # Interface of the daemon

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run one operation. Any call may include `cwd` (the caller's folder) and `caller` ("model" for calls over MCP)."""
        values = dict(params)
        named = values.pop("caller", "")
        caller = Caller(is_model=named in (MODEL, IN_CLIENT), cwd=str(values.pop("cwd", "") or ""))
        operation = operations().get(method)
        if operation is None or (named == MODEL and operation.tool is None):
            raise InputError(
                f"There is no method '{method}'.",
                fix="The client and the daemon may have different versions: restart the daemon.",
            )
        if named == IN_CLIENT:
            operation.refuse_in_client(values)
        return self._run(operation, parse(operation.request, values, method), caller)

    def _run(self, operation: Operation[Any, Any], request: Any, caller: Caller) -> dict[str, Any]:
        runtime = self._parts.runtime
        if not operation.when_off:
            # The first search after a crash must find what was written before it.
            self._synchronised.wait(SYNC_WAIT_SECONDS)
        if caller.is_model and operation.tool is not None and not operation.when_off:
            id = str(getattr(request, "id", ""))
            id = id if is_id(id) else ""
            runtime.refuse_when_off(caller.cwd, getattr(request, "project", ""), id)
            runtime.refuse_foreign_candidate(caller.cwd, id)
        try:
            answer = operation.run(runtime, request, caller)
        finally:
            self._propagate_changes()
        return runtime.visible_to_model(answer) if caller.is_model else dict(answer)

    def _propagate_changes(self) -> None:
        """Update cached hook answers and the indexes after memories change, so that no deleted text remains in them."""
        if touched := self._service.take_touched():
            self._parts.injector.refresh_cache(touched)
        self._service.scrub_if_due(SCRUBBED_AT_ONCE)

    def hook(self, event: str, payload: dict[str, Any], options: dict[str, str]) -> bytes:
        """Return the output of a hook."""
        self._take_options(options)
        self._take_login(str(payload.get("session_id", "")), login_of(options))
        client = client_named(options.get(CLIENT_KEY, ""))
        if event == "UserPromptSubmit" and (reply := self._handle_command(payload, ATTENDED in options)):
            return client.write_answer(event, *reply)
        guard_off = {name: value for name, value in options.items() if name == GUARD_OFF}
        return self._parts.hooks.answer(event, {**payload, **guard_off}, client)

    def undelivered(self, payload: dict[str, Any]) -> None:
        """Take back what counts as shown by an answer that came too late for the hook."""
        self._parts.hooks.take_back(str(payload.get("session_id", "")))

    def _handle_command(self, payload: Mapping[str, Any], attended: bool) -> tuple[str, str] | None:
        """Handle a prompt that is a memoryd command: consent to model runs, or a memory switch."""
        settings, prompt = self._parts.settings, str(payload.get("prompt", ""))

        def change(values: Mapping[str, Any]) -> Mapping[str, str]:
            # A reader set explicitly would override the user's answer.
            reset = {"reader": None} if settings.reader != "auto" else {}
            overruled: Mapping[str, str] = self.call("change_settings", {"values": {**values, **reset}})["overruled"]
            return overruled

        def switch(word: str, session_only: bool) -> str:
            where = {"session": str(payload.get("session_id", ""))} if session_only else {}
            self.call(word, {"cwd": str(payload.get("cwd", "")), **where})
            return f"memory is {word} {'in this session' if session_only else 'for this project and everything below its folder'}"

        reply = self._switch_commands.handle(prompt, attended=attended, switch=switch)
        return reply or self._consent.handle(prompt, attended=attended, agreed=settings.use_claude, change=change)

    def _take_login(self, session: str, login: Mapping[str, str]) -> None:
        """Store a session's login if the user has agreed to model runs with it. The new login may fix runs that failed."""
        if not login or CLAUDE not in models_of(self._parts.settings):
            return
        if self._logins.note(session, login) and self._state.note(PROBLEM):
            wake(self._state)

    def _mark_login(self, settings: Settings) -> None:
        """Create or remove the marker file that makes hooks send the session's login."""
        mark = settings.paths.login_wanted
        if CLAUDE in models_of(settings):
            if not mark.exists():
                write_atomic(mark, b"")
        else:
            mark.unlink(missing_ok=True)
            self._logins.clear()

    def drain_spool_record(self, event: str, payload: dict[str, Any], options: dict[str, str]) -> None:
        """Record an event durably."""
        self._take_options(options)
        self._parts.hooks.note(event, payload, client_named(options.get(CLIENT_KEY, "")))

    def warm(self) -> None:
        """Synchronise the indexes with the files, watch the files and load the embedder."""
        self._parts.injector.close_cache()
        self.catch_up()
        self._propagate_changes()
        if not self._service.listen(self._propagate_changes):
            self._watcher.start()
        self._service.warm()
        self._parts.runtime.guard.warm()

    def catch_up(self) -> None:
        """Synchronise the indexes with the files. Calls wait briefly for this to finish."""
        self._synchronised.clear()
        try:
            self._service.catch_up()
            self._parts.runtime.finish_purge()
        finally:
            self._synchronised.set()

    def slots(self) -> Sequence[Slot]:
        """Return the recurring jobs."""
        recurring = [*dreams.slots(self._parts.runtime), *machines.slots(self._parts.runtime), *team.slots(self._parts.runtime)]
        return [Slot("maintain", self._service.maintain, every_seconds=MAINTAIN_SECONDS), *recurring]

    def tick(self) -> float | None:
        """Run the day dream that is due.

        Returns:
            The seconds until the next day dream is due, or None if none is pending.
        """
        if not self._service.caught_up:
            return CATCHING_UP_SECONDS
        job = self._state.due_job()
        if job is not None:
            self._dream(job)
        elif self._state.next_held() is not None:
            self._read_held()
        dues = [job.due for job in self._state.jobs()[:1]] + [held.job.due for held in self._state.held()[:1]]
        return max(0.0, min(dues) - self._clock.now().timestamp()) if dues else None

    def _read_held(self) -> None:
        self._working.set()
        try:
            run = self._parts.daydream.read_held()
        finally:
            self._working.clear()
        record = self._state.session(run.session) if run else None
        if record is not None and record.cwd:
            self._parts.injector.cache_governance(self._registry.resolve(record.cwd))

    def _dream(self, job: Job) -> None:
        self._working.set()
        try:
            runs = self._parts.daydream.run_job(job)
            if runs:
                self._parts.injector.prepare_offer(runs[-1].session, runs[-1].project)
        except Exception as error:  # Postponed before raising, so that the job does not block others.
            self._state.postpone_job(job, f"Reading failed unexpectedly ({type(error).__name__}); see logs/daemon.log.")
            raise
        finally:
            self._working.clear()
            self._propagate_changes()

    def busy(self) -> bool:
        """Return whether a day dream is running or pending without an error, or vectors are being computed."""
        ready = any(not job.error for job in (*self._state.jobs(), *(held.job for held in self._state.held())))
        return self._working.is_set() or ready or self._service.unembedded() > 0

    def close(self) -> None:
        """Stop watching files and close all stores."""
        self._watcher.stop()
        self._parts.daydream.close()
        self._service.close()
        self._state.close()

    # Files and options

    def _on_files_changed(self, paths: set[Path]) -> None:
        if identity(self._started.paths.daemon_lock) != self._lock:  # The home was deleted, and a sync would recreate it.
            return
        report = self._service.sync(paths)
        for error in report.broken:
            log.warning("broken memory file: %s", error)
        self._propagate_changes()

    def _take_options(self, options: Mapping[str, str]) -> None:
        """Store the plugin options that arrive with each event, and apply them immediately."""
        ours = plugin_options(options)
        path = self._parts.settings.paths.plugin_options
        with self._options_lock:
            if not options or ours == _stored(path):
                return
            if problem := options_problem(ours):
                log.warning("plugin options ignored: %s", problem)
                return
            write_atomic(path, orjson.dumps(ours, option=orjson.OPT_SORT_KEYS))
            try:
                self._read_settings()
            except ConfigError as error:
                log.warning("plugin option ignored: %s", error)

    def _renew(self) -> None:
        """Reload config.toml. Raises ConfigError."""
        with self._options_lock:
            self._read_settings()

    def _read_settings(self) -> None:
        settings = load_settings(home=str(self._started.home))
        self._skip_unread(settings)
        fixed = replace(settings, **{name: getattr(self._started, name) for name in AT_START})
        self._parts.daydream.close()
        self._parts = self._make_parts(fixed)
        wake(self._state)
        self._parts.injector.refresh_cache({EVERY_PROJECT})

    def _skip_unread(self, settings: Settings) -> None:
        """Mark logs in folders that are no longer excluded as read, so that old text is not read later."""
        before = self._parts.settings
        for record in self._state.sessions(MAX_SESSIONS) if before.exclude and before.exclude != settings.exclude else ():
            if is_excluded(before, record.cwd) and (cursor := cursor_at_end(record.transcript, record.session)):
                self._state.set_cursor(cursor)


# Read-only operations that a person may run while state.db is damaged. The switches can't be read then, but they only
# restrict models.
LOOKUPS = frozenset({"recall", "list_memories", "get_memory", "related", "timeline", "overview"})


def look_up(settings: Settings, clock: Clock, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run one of LOOKUPS for a person, in this process and without the state database or a daemon."""
    with tempfile.TemporaryDirectory(prefix="memoryd-") as folder:
        api = Api(settings, clock, state=Path(folder) / "state.db")
        try:
            api.catch_up()
            return api.call(method, params)
        finally:
            api.close()


def _stored(path: Path) -> dict[str, str]:
    try:
        stored: dict[str, str] = orjson.loads(path.read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    return stored
