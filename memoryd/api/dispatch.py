"""The one place behind CLI, MCP, hooks and console: what each interface calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from memoryd.api.admin import MOST_SESSIONS, AdminCalls
from memoryd.api.dreams import DreamCalls
from memoryd.api.graph import GraphCalls
from memoryd.api.hooks import HookCalls, plugin_options
from memoryd.api.memories import Caller, MemoryCalls
from memoryd.api.params import Params
from memoryd.api.reviews import ReviewCalls
from memoryd.api.rights import refuse_in_client
from memoryd.api.routers import RouterCalls
from memoryd.api.sessions import SessionCalls
from memoryd.api.settings import AT_START, SettingsCalls
from memoryd.api.settle import SettleCalls
from memoryd.api.views import ViewCalls
from memoryd.codec import is_id
from memoryd.config import IN_CLIENT, Settings, load_settings, options_problem
from memoryd.daemon.contract import Slot
from memoryd.daemon.watch import MemoryWatcher
from memoryd.daydream.extractors import CLAUDE, models_of
from memoryd.daydream.gate import is_excluded
from memoryd.daydream.handoff import holds
from memoryd.daydream.pipeline import DayDream
from memoryd.daydream.readers import PROBLEM, wake
from memoryd.daydream.transcript import blind_cursor
from memoryd.dream.planning import Planning
from memoryd.dream.sweep import Sweep
from memoryd.embed import make_embedder, make_encoder
from memoryd.errors import ConfigError, InputError
from memoryd.files import write_atomic
from memoryd.llm.logins import Logins, login_of
from memoryd.project import ProjectRegistry
from memoryd.protocols import Clock
from memoryd.recall.inject import Injector
from memoryd.service import EVERY_PROJECT, Orchestrator
from memoryd.state import Job, State
from memoryd.types import Scope

log = logging.getLogger(__name__)
MAINTAIN_SECONDS = 30.0
CATCHING_UP_SECONDS = 1.0
# Up to so many memories what was deleted is overwritten before the call returns, else within MAINTAIN_SECONDS.
SCRUBBED_AT_ONCE = 2_000
MODEL = "model"
_SWITCH_ON = "The user can switch it on: memoryd on"
_LISTS_OF_MEMORIES = ("hits", "weak", "memories", "related", "events")
Call = Callable[[Params, Caller], dict[str, Any]]

MEMORY_METHODS = (
    "recall",
    "remember",
    "get_memory",
    "update_memory",
    "forget",
    "restore",
    "related",
    "timeline",
    "list_memories",
    "governance",
    "handoff",
)
ADMIN_METHODS = (
    "memory_status",
    "log",
    "daydream",
    "jobs",
    "reindex",
    "write_keys",
    "sync",
    "off",
    "on",
    "projects",
    "move_project",
    "export",
    "import_file",
    "import_claude_memory",
    "import_transcripts",
)
VIEW_METHODS = ("project_names", "overview", "evidence", "merge")
GRAPH_METHODS = ("graph", "names")
ROUTER_METHODS = ("train_router", "show_router")
SETTINGS_METHODS = ("settings", "change_settings")
DREAM_METHODS = ("dream", "decide", "undo", "journal", "why", "proposals", "forget_project")
SESSION_METHODS = ("sessions", "session_report")
REVIEW_METHODS = ("review", "reviewed", "confirm")
SETTLE_METHODS = ("settle",)
MODEL_METHODS = frozenset(MEMORY_METHODS) - {"restore"} | {"memory_status", "dream", "settle"}


@dataclass(frozen=True, slots=True)
class _Parts:
    """Everything that depends on the settings; made anew when they change."""

    settings: Settings
    methods: Mapping[str, Call]
    hooks: HookCalls
    injector: Injector
    daydream: DayDream
    dreams: DreamCalls


class Api:
    """Answers calls and hooks, and does the background work. Safe to use from any thread."""

    def __init__(self, settings: Settings, clock: Clock, login: Mapping[str, str] | None = None) -> None:
        self._clock = clock
        self._logins = Logins()
        self._logins.note("", login or {})
        self._state = State(settings.paths.state_db, clock)
        self._registry = ProjectRegistry(settings.paths.projects)
        self._embedder = embedder = make_embedder(settings) if settings.rank != "bm25" else None
        self._service = Orchestrator(settings, clock, embedder, self._state.ledger, make_encoder(settings))
        self._watcher = MemoryWatcher(settings.paths.memories, self._on_files_changed)
        self._started = settings
        self._options_lock = threading.Lock()
        self._working = threading.Event()
        self._sweep(settings).recover()  # before anybody can see what a kill left half done
        self._parts = self._make_parts(settings)

    def _sweep(self, settings: Settings) -> Sweep:
        planning = Planning(self._service, self._state, settings, self._clock, logins=self._logins)
        return Sweep(self._service, self._state, settings, self._clock, planning)

    def _make_parts(self, settings: Settings) -> _Parts:
        injector = Injector(self._service, self._state, settings, self._clock, self._registry)
        memory = MemoryCalls(self._service, injector, self._registry, settings, self._clock)
        admin = AdminCalls(self._service, self._state, settings, self._registry, injector, self._clock, self._logins)
        methods = {name: getattr(memory, name) for name in MEMORY_METHODS}
        methods |= {name: getattr(admin, name) for name in ADMIN_METHODS}
        dreams = DreamCalls(self._sweep(settings), self._service, self._state, self._registry, injector)
        methods |= {name: getattr(dreams, name) for name in DREAM_METHODS}
        sessions = SessionCalls(self._service, self._state, self._registry, settings)
        methods |= {name: getattr(sessions, name) for name in SESSION_METHODS}
        reviews = ReviewCalls(self._service, self._state, memory, settings, self._clock)
        methods |= {name: getattr(reviews, name) for name in REVIEW_METHODS}
        views = ViewCalls(self._service, self._state, self._registry, memory, self._clock)
        methods |= {name: getattr(views, name) for name in VIEW_METHODS}
        graphs = GraphCalls(self._service, memory)
        methods |= {name: getattr(graphs, name) for name in GRAPH_METHODS}
        routers = RouterCalls(self._service, self._embedder, settings, self._state, self._clock)
        methods |= {name: getattr(routers, name) for name in ROUTER_METHODS}
        settling = SettleCalls(self._service, self._state, injector, self._registry, self._clock)
        methods |= {name: getattr(settling, name) for name in SETTLE_METHODS}
        of_settings = SettingsCalls(settings, self._started, self._renew)
        methods |= {name: getattr(of_settings, name) for name in SETTINGS_METHODS}
        hooks = HookCalls(injector, self._state, settings, self._registry, self._service, self._clock)
        self._mark_login(settings)
        daydream = DayDream(self._service, self._state, settings, self._clock, embedder=self._embedder, logins=self._logins)
        return _Parts(settings, methods, hooks, injector, daydream, dreams)

    # What the daemon asks

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run one method. `cwd` (the caller's folder) and `caller` ("model" over MCP) may come with any."""
        values = dict(params)
        named = values.pop("caller", "")
        caller = Caller(is_model=named in (MODEL, IN_CLIENT), cwd=str(values.pop("cwd", "") or ""))
        parts = self._parts
        if named == IN_CLIENT:
            refuse_in_client(method, values)
        if method not in parts.methods or (named == MODEL and method not in MODEL_METHODS):
            raise InputError(
                f"There is no method '{method}'.", fix="Client and daemon may differ in version: restart the daemon."
            )
        if caller.is_model and method in MODEL_METHODS and method != "memory_status":
            self._refuse_when_off(caller, values)
        if method == "forget" and values.get("purge") is True and not caller.is_model:
            parts.dreams.erase(str(values.get("id")))  # first: while a dream is under way it refuses, and nothing is half purged
        if method in ("forget", "forget_project"):
            self._drop_handoffs(values)
        if method == "forget":
            parts.injector.drop_cache(str(values.get("id")))
        try:
            answer = parts.methods[method](Params(method, values), caller)
        finally:
            self._spread_changes()
        if caller.is_model:
            answer = self._without_off(answer)
        if method == "recall" and caller.is_model:
            parts.dreams.note_returned(answer, caller.cwd)
        return answer | {"dreams": parts.dreams.summary()} if method == "memory_status" else answer

    def _drop_handoffs(self, values: Mapping[str, Any]) -> None:
        """What a forgotten memory said may be in what its session, or another one, left off with."""
        if project := str(values.get("project") or ""):
            self._state.drop_handoffs(project=self._registry.find(project) or project)
        id = str(values.get("id") or "")
        found = (self._service.get(each) for each in (id, *self._service.wordings(id)))
        gone = [item for item in found if item is not None]
        sessions = {item.session for item in gone}
        texts = [text for item in gone for text in (item.content, *item.asked_as)]
        for handoff in self._state.all_handoffs() if gone else ():
            if handoff.session in sessions or any(holds(handoff.text, text) for text in texts):
                self._state.drop_handoffs(session=handoff.session)

    def _spread_changes(self) -> None:
        """After memories changed: the answers left for hooks that find no daemon, and the indexes, hold nothing that went."""
        if touched := self._service.take_touched():
            self._parts.injector.refresh_cache(touched)
        self._service.scrub_if_due(SCRUBBED_AT_ONCE)

    def _refuse_when_off(self, caller: Caller, values: Mapping[str, Any]) -> None:
        """What the user switched off is off for tools too, not only for hooks, and from other folders as well."""
        if is_excluded(self._parts.settings, caller.cwd):
            raise InputError("This folder is excluded from memory.", fix="The user can change 'exclude' in config.toml.")
        if caller.cwd and self._state.is_off(self._registry.resolve(caller.cwd).id):
            raise InputError("Memory is switched off for this project.", fix=_SWITCH_ON)
        named = values.get("project")
        project = self._registry.find(named) if isinstance(named, str) and named else None
        item = self._service.get(values["id"]) if is_id(str(values.get("id"))) else None
        if project and self._is_off(project) or item is not None and item.scope is not Scope.USER and self._is_off(item.project):
            raise InputError("Memory is switched off for that project.", fix=_SWITCH_ON)

    def _is_off(self, project: str) -> bool:
        anchors = self._registry.anchors(project)
        excluded = bool(anchors) and all(is_excluded(self._parts.settings, anchor) for anchor in anchors)
        return excluded or self._state.is_off(project)

    def _without_off(self, answer: dict[str, Any]) -> dict[str, Any]:
        """An answer for a model, without memories of projects that are off: it may have asked for all projects."""
        off: dict[str, bool] = {}

        def shown(entry: Any) -> bool:
            memory = entry.get("memory", entry) if isinstance(entry, dict) else {}
            project = str(memory.get("project") or "")
            if not project or memory.get("scope") == Scope.USER:
                return True
            return not off.setdefault(project, self._is_off(project))

        lists = {name: answer[name] for name in _LISTS_OF_MEMORIES if isinstance(answer.get(name), list)}
        return answer | {name: [entry for entry in entries if shown(entry)] for name, entries in lists.items()}

    def hook(self, event: str, payload: dict[str, Any], options: dict[str, str]) -> bytes:
        """What the hook prints."""
        self._take_options(options)
        self._take_login(str(payload.get("session_id", "")), login_of(options))
        return self._parts.hooks.answer(event, payload)

    def _take_login(self, session: str, login: Mapping[str, str]) -> None:
        """Hold what a session logs in with, if the user agreed to model runs with it; a new one may mend what failed."""
        if not login or CLAUDE not in models_of(self._parts.settings):
            return
        if self._logins.note(session, login) and self._state.note(PROBLEM):
            wake(self._state)

    def _mark_login(self, settings: Settings) -> None:
        """Tell hooks whether the session's login is wanted."""
        mark = settings.paths.login_wanted
        if CLAUDE in models_of(settings):
            if not mark.exists():
                write_atomic(mark, b"")
        else:
            mark.unlink(missing_ok=True)
            self._logins.clear()

    def drain_spool_record(self, event: str, payload: dict[str, Any], options: dict[str, str]) -> None:
        """Note an event durably."""
        self._take_options(options)
        self._parts.hooks.note(event, payload)

    def warm(self) -> None:
        """Bring the indexes in step with the files, watch the files, load the embedder."""
        self._service.catch_up()
        self._spread_changes()
        self._watcher.start()
        self._service.warm()

    def slots(self) -> Sequence[Slot]:
        """Recurring work."""
        dreams = self._parts.dreams.slots(self._parts.settings.dream_time)
        return [Slot("maintain", self._service.maintain, every_seconds=MAINTAIN_SECONDS), *dreams]

    def tick(self) -> float | None:
        """Do the day dream that is due; seconds until the next, None when none waits."""
        if not self._service.caught_up:
            return CATCHING_UP_SECONDS
        job = self._state.due_job()
        if job is not None:
            self._dream(job)
        elif self._state.due_held() is not None:
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
        except Exception as error:  # passed on; but first out of the way of the other jobs
            self._state.postpone_job(job, f"Reading failed unexpectedly ({type(error).__name__}); see logs/daemon.log.")
            raise
        finally:
            self._working.clear()
            self._spread_changes()

    def busy(self) -> bool:
        """Whether a day dream runs or waits without having failed, or vectors are being made."""
        ready = any(not job.error for job in (*self._state.jobs(), *(held.job for held in self._state.held())))
        return self._working.is_set() or ready or self._service.health().waiting > 0

    def close(self) -> None:
        """Stop watching and close all stores."""
        self._watcher.stop()
        self._parts.daydream.close()
        self._service.close()
        self._state.close()

    # Files and options

    def _on_files_changed(self, paths: set[Path]) -> None:
        report = self._service.sync(paths)
        for error in report.broken:
            log.warning("broken memory file: %s", error)
        self._spread_changes()

    def _take_options(self, options: Mapping[str, str]) -> None:
        """The plugin's options come with each event, set by the person in the client: they take effect at once."""
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
        """Take over what was written into config.toml. Raises ConfigError."""
        with self._options_lock:
            self._read_settings()

    def _read_settings(self) -> None:
        settings = load_settings(home=str(self._started.home))
        self._pass_over_included(settings)
        fixed = replace(settings, **{name: getattr(self._started, name) for name in AT_START})
        self._parts.daydream.close()
        self._parts = self._make_parts(fixed)
        wake(self._state)
        self._parts.injector.refresh_cache({EVERY_PROJECT})

    def _pass_over_included(self, settings: Settings) -> None:
        """Logs of folders that are excluded no more: what was said before stays unread."""
        before = self._parts.settings
        for record in self._state.sessions(MOST_SESSIONS) if before.exclude and before.exclude != settings.exclude else ():
            if is_excluded(before, record.cwd) and (cursor := blind_cursor(record.transcript, record.session)):
                self._state.set_cursor(cursor)


def _stored(path: Path) -> dict[str, str]:
    try:
        stored: dict[str, str] = orjson.loads(path.read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    return stored
