"""Record hook events and answer those that need an answer. This code must be fast and never wait for a model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memoryd.api.reviews import count_waiting, last_look
from memoryd.clients.base import ClientAdapter, HookEvent
from memoryd.clients.registry import CLAUDE_CODE, log_mark, log_status
from memoryd.core.clock import from_iso
from memoryd.core.config import OPTION_PREFIX, Settings, load_settings
from memoryd.core.errors import ConfigError
from memoryd.core.project import ProjectRegistry, name_of
from memoryd.core.protocols import Clock
from memoryd.core.state import SessionRecord, State
from memoryd.core.text import token_count
from memoryd.core.tool_calls import Permission, Responder, ToolCall, asked_in_turn
from memoryd.core.types import EPOCH, Project
from memoryd.daydream.admission import is_excluded
from memoryd.daydream.readers import PROBLEM_SHOWN, choose, reader_line, spending, unavailable, unreported_problem
from memoryd.recall.guard import Guard
from memoryd.recall.injection import Injector, SessionEvent
from memoryd.recall.offer import model_decides
from memoryd.service import Orchestrator

GUARD_OFF = "MEMORYD_GUARD"  # Hooks pass this variable on if it is "off" in the client's environment.
ANSWERED = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart"})
SUBAGENT_TOOLS = frozenset({"Agent", "Task"})
KEPT_TASKS = 64
KEPT_ANSWERS = 64
TOOL_EVENTS = frozenset({"PreToolUse", "PostToolUseFailure"})
READS_TRANSCRIPT = frozenset({"Stop", "SubagentStop", "PreCompact", "SessionEnd"})
ENDS_ANSWER = frozenset({"Stop", "SessionEnd"})  # an answer that the user interrupts has no Stop
_BEGINS = frozenset({"startup", "resume", ""})
GOVERNANCE_SHOWN = "GovernanceShown"
CATCH_UP_SESSIONS = 200
READER_SHOWN = "reader told"
SHOWN_ONCE = (READER_SHOWN, PROBLEM_SHOWN)


def _call(event: HookEvent, payload: Mapping[str, Any], project: Project) -> ToolCall:
    texts = {key: value for key, value in payload.items() if isinstance(value, str)}
    given = payload.get("tool_input")
    return ToolCall(
        tool=texts.get("tool_name", ""),
        input=given if isinstance(given, dict) else {},
        cwd=event.cwd,
        root=project.root,
        session=event.session,
        project=project.id,
        subagent=texts.get("agent_id", ""),
        id=texts.get("tool_use_id", ""),
        error=texts.get("error", ""),
        transcript=event.transcript,
        guarded=payload.get(GUARD_OFF) is None,
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """What counted as shown before an answer.

    Attributes:
        notes: Notes by name.
        handoffs: The sessions whose handoffs were still to be given.
        injected: The memories that the session had received, or None if its injections must stay.
        governed: Whether it had received its governance.
        offer: The number of its latest offer to settle candidates.
    """

    notes: Mapping[str, str]
    handoffs: tuple[str, ...]
    injected: frozenset[str] | None
    governed: bool
    offer: int


class HookCalls:
    """Answers hooks and records every event.

    Args:
        responders: Asked in this order about each tool call (PreToolUse) and each failed tool call (PostToolUseFailure).
        guard: Called when the agent ended its answer, and asked at the next prompt what that answer left undone.
    """

    def __init__(
        self,
        injector: Injector,
        state: State,
        settings: Settings,
        registry: ProjectRegistry,
        service: Orchestrator,
        clock: Clock,
        responders: Sequence[Responder] = (),
        guard: Guard | None = None,
    ) -> None:
        self._guard = guard
        self._service = service
        self._responders = responders
        self._tasks: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._before: OrderedDict[str, _Shown] = OrderedDict()
        self._clock = clock
        self._injector = injector
        self._state = state
        self._settings = settings
        self._registry = registry

    def answer(self, name: str, payload: Mapping[str, Any], client: ClientAdapter = CLAUDE_CODE) -> bytes:
        """Return the output of the hook, in the client's format."""
        event = client.read_event(name, payload)
        if event is not None and name in TOOL_EVENTS:
            return self._tool_call(event, payload, client)
        if event is None or name not in ANSWERED or self._is_own(event.cwd):
            return b""
        if name == "SubagentStart":
            return self._subagent(event, payload, client)
        places = self._registry.anchors(self._registry.known_project(event.cwd)) if name == "SessionStart" else []
        project = self._project_of(event)
        self._touch(event, project, client)
        if self._is_off(event, project):
            self._injector.cache_governance(project, off=True)
            return b""
        self._remember_shown(event.session, project.id)
        asked = SessionEvent(event.session, project, event.source, event.prompt, event.subagent, event.cwd)
        if name == "UserPromptSubmit":
            undone = self._guard.undone(event.session) if self._guard is not None else ""
            context = self._given(event, "\n".join(filter(None, [undone, self._injector.prompt(asked)])))
            # The very first session starts before there is a daemon, so its first prompt shows the line.
            line = "" if event.subagent or self._state.note(READER_SHOWN) else self._first_line()
            return client.write_answer(name, context, line)
        notice = self._notice(event, project)  # Must run before session_start, which makes this the project's latest session.
        lines = (self._new_place(project, places), self._warning() or self._first_line(), notice)
        context = self._given(event, self._injector.session_start(asked))
        return client.write_answer(name, context, "\n".join(filter(None, lines)))

    def _remember_shown(self, session: str, project: str) -> None:
        """Keep what counts as shown before an answer, in case the answer does not arrive."""
        waiting = tuple(handoff.session for handoff in self._state.handoffs(project) if not handoff.shown)
        record = self._state.session(session)
        notes = {name: self._state.note(name) for name in SHOWN_ONCE}
        injected = frozenset(self._state.injected(session))
        governed = record is not None and record.governed
        self._before[session] = _Shown(notes, waiting, injected, governed, self._state.offers.latest(session))
        self._before.move_to_end(session)
        while len(self._before) > KEPT_ANSWERS:
            self._before.popitem(last=False)

    def take_back(self, session: str) -> None:
        """Undo what the latest answer to this session counts as shown, because the hook did not wait for it.

        On a busy machine, what is shown only once, and memories that a session receives once, would otherwise be lost.
        """
        before = self._before.pop(session, None)
        if before is None:
            return
        for name, value in before.notes.items():
            self._state.set_note(name, value)
        for handoff in before.handoffs:
            self._state.set_handoff_shown(handoff, shown=False)
        self._state.offers.take_back(session, before.offer)
        if before.injected is not None:
            self._state.take_back_injections(session, before.injected, before.governed)

    def _given(self, event: HookEvent, context: str) -> str:
        """Count the tokens of a context that the session is given, and return it."""
        if context:
            self._state.ledger.record_given(event.session, event.name, token_count(context))
        return context

    def _tool_call(self, event: HookEvent, payload: Mapping[str, Any], client: ClientAdapter) -> bytes:
        """Ask all responders about a tool call. The event is not recorded, since there may be thousands of calls."""
        if not self._responders or self._is_own(event.cwd):
            return b""
        project = self._project_of(event)
        if self._is_off(event, project):
            return b""
        calls = [_call(event, reported, project) for reported in client.tool_calls(payload)]
        if tasks := [call for call in calls if call.tool in SUBAGENT_TOOLS]:
            for task in tasks:
                self._keep_task(task)
            return b""
        reply = asked_in_turn(self._responders, calls)
        self._given(event, reply.context or (reply.reason if reply.decision is Permission.DENY else ""))
        return client.write_reply(event.name, reply)

    def _keep_task(self, call: ToolCall) -> None:
        """Keep a subagent's task until it starts, because its start event does not contain the task."""
        kind, task = call.input.get("subagent_type"), call.input.get("prompt")
        if isinstance(task, str):
            self._tasks[(call.session, kind if isinstance(kind, str) else "")] = task
            while len(self._tasks) > KEPT_TASKS:
                self._tasks.popitem(last=False)

    def _subagent(self, event: HookEvent, payload: Mapping[str, Any], client: ClientAdapter) -> bytes:
        """Answer the start of a subagent with the rules, and the memories relevant to its task."""
        project = self._project_of(event)
        if self._is_off(event, project):
            return b""
        kind = str(payload.get("agent_type", ""))
        task = self._tasks.pop((event.session, kind), "") or self._tasks.pop((event.session, ""), "")
        asked = SessionEvent(event.session, project, prompt=task, subagent=True, cwd=event.cwd)
        return client.write_answer("SubagentStart", self._given(event, self._injector.subagent_start(asked)))

    def note(self, name: str, payload: Mapping[str, Any], client: ClientAdapter = CLAUDE_CODE) -> None:
        """Record the event durably, and queue a day dream if the transcript has grown."""
        event = client.read_event(name, payload)
        if event is None or self._is_own(event.cwd):
            return
        project = self._project_of(event)
        self._touch(event, project, client)
        if name == "SessionStart":
            self._catch_up(event.session)
        elif name == GOVERNANCE_SHOWN:
            if event.session in self._before:  # The hook printed the cached governance instead of the answer.
                self._before[event.session] = replace(self._before[event.session], injected=None)
            shown = self._injector.governance(project.id)
            self._state.record_injection(event.session, shown.ids, "SessionStart")
            self._given(event, shown.text)
            self._state.set_governed(event.session)
        elif name in READS_TRANSCRIPT and event.transcript:
            self._state.enqueue(event.transcript, event.session, event.cwd, name)
        if name in ENDS_ANSWER and self._guard is not None and not self._is_off(event, project):
            self._guard.at_stop(_call(event, payload, project))
        if name == "SessionEnd":
            self._state.end_session(event.session)

    def _touch(self, event: HookEvent, project: Project, client: ClientAdapter) -> None:
        name = "" if client is CLAUDE_CODE else client.name
        self._state.touch_session(event.session, project.id, event.cwd, event.transcript, name)

    def _new_place(self, project: Project, places: Sequence[str]) -> str:
        """Return a warning if a known project appears in a new folder, because files in a repository can be forged."""
        here = project.common_dir or project.root
        elsewhere = [place for place in places if place != here and Path(place).exists()]
        if here in places or not elsewhere:
            return ""
        known = elsewhere[0].removesuffix("/.git")
        return (
            f"memoryd: {project.root} was recognised as '{project.name}', known from {known}. Not yours? Run 'memoryd off' in it."
        )

    def _project_of(self, event: HookEvent) -> Project:
        """Return the project of the event's folder. A folder deleted during the session keeps its project."""
        record = self._state.session(event.session)
        if record is not None and record.project and not _exists(event.cwd):
            return Project(record.project, name_of(record.project), event.cwd)
        return self._registry.resolve(event.cwd)

    def _is_own(self, cwd: str) -> bool:
        return Path(cwd).is_relative_to(self._settings.home)

    def _is_off(self, event: HookEvent, project: Project) -> bool:
        record = self._state.session(event.session)
        return (
            self._state.is_off(project.id, event.cwd)
            or (record is not None and record.off)
            or is_excluded(self._settings, event.cwd)
        )

    def _catch_up(self, starting: str) -> None:
        """Queue sessions that ended without an event (after a SIGKILL) and whose logs contain unread text.

        A resumed session is not queued. It is read after its next answer, in one piece rather than two.
        """
        for record in self._state.sessions(CATCH_UP_SESSIONS):
            if record.session == starting:
                continue
            if record.transcript and self._has_unread(record):
                self._state.enqueue(record.transcript, record.session, record.cwd, "catch-up")

    def _has_unread(self, record: SessionRecord) -> bool:
        cursor = self._state.cursor(record.transcript)
        off = record.off or self._state.is_off(record.project, record.cwd) or is_excluded(self._settings, record.cwd)
        try:
            if off or not cursor.fingerprint:  # The log must not be opened, or was not.
                return log_mark(Path(record.transcript)) > cursor.offset
            return log_status(Path(record.transcript)).size > cursor.offset
        except OSError:
            return False

    def _notice(self, event: HookEvent, project: Project) -> str:
        """Return a line for the user about memories that are new since the last review, or a note that memory is on."""
        if event.source not in _BEGINS or self._settings.start_notice == "off":
            return ""
        since = max(last_look(self._state, project.id), self._last_start(event, project))
        waiting = count_waiting(self._service, project.id, since, self._clock.now())
        parts = [f"{waiting.new} new {'memory' if waiting.new == 1 else 'memories'}"] if waiting.new else []
        # A session's model drops most candidates, so it is asked before the user.
        confirms = waiting.to_confirm and not model_decides(self._settings, self._state)
        parts += [f"{waiting.to_confirm} to confirm"] if confirms else []
        if parts:
            return f"memoryd: {', '.join(parts)} (memoryd review)"
        return "memoryd: memory is on" if self._settings.start_notice == "always" else ""

    def _last_start(self, event: HookEvent, project: Project) -> datetime:
        records = self._state.sessions(CATCH_UP_SESSIONS)
        earlier = (r.started_at for r in records if r.project == project.id and r.session != event.session)
        return max((from_iso(at) for at in earlier if at), default=EPOCH)

    def _warning(self) -> str:
        """Return a warning about invalid settings or failing day dreams, which would otherwise go unnoticed."""
        try:
            load_settings(home=str(self._settings.home))
        except ConfigError as error:
            return f"memoryd: invalid settings; keeping the previous ones. {error}"
        if problem := unreported_problem(self._settings, self._state):
            return f"memoryd: reader {unavailable(self._settings, self._state, problem[:300])}. See 'memoryd status'."
        failing = [job for job in self._state.jobs() if job.error]
        if not failing:
            return ""
        return f"memoryd: {len(failing)} session(s) could not be read yet: {failing[0].error[:200]} Run 'memoryd doctor'."

    def _first_line(self) -> str:
        """Return a line about the current reader, at the first start and whenever the reader has changed."""
        chosen = choose(self._settings)
        if self._state.note(READER_SHOWN) == chosen:
            return ""
        self._state.set_note(READER_SHOWN, chosen)
        return f"memoryd: reader {reader_line(self._settings, spending(self._state, self._clock))}"


def plugin_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the plugin options in a record's header."""
    return {name: value for name, value in options.items() if name.startswith(OPTION_PREFIX)}


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False
