"""memoryd's guard in normal use: the day dream reads sessions, and the rules that it keeps bind in later sessions.

Whether a rule binds depends on the whole path from the user's words to a check. The sessions are therefore written as
Claude Code logs and read by the offline day dream. Nothing indicates which of the user's sentences is a rule.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from memeval.core.types import HookCall, Session
from memoryd.core.clock import SimulatedClock
from memoryd.core.config import Settings
from memoryd.core.errors import MemorydError
from memoryd.core.project import ProjectRegistry
from memoryd.core.protocols import Embedder
from memoryd.core.state import State
from memoryd.core.tool_calls import ToolCall, ToolReply
from memoryd.daydream.pipeline import DayDream
from memoryd.embed.hashed import HashEmbedder
from memoryd.recall.guard import Guard
from memoryd.service import Orchestrator

NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)
BETWEEN_TURNS = timedelta(seconds=20)


class GuardedProject:
    """A project whose sessions have been read, and its guard. Not thread-safe.

    Its folder is always recreated because rereading the sessions is faster than finding out how far an interrupted run got.
    """

    def __init__(self, folder: Path, settings: Settings, embedder: Embedder, sessions: Sequence[Session]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self._project = folder / "project"
        self._project.mkdir(parents=True)
        settings = replace(settings, home=folder / "home", reader="offline")
        last = max((in_utc(session.at) for session in sessions), default=NO_TIME)
        clock = SimulatedClock(last + timedelta(days=1))
        self._state = State(settings.paths.state_db, clock)
        # Rules bind whether or not a search finds them, and embedding each case once more would take time and memory.
        self._service = Orchestrator(settings, clock, HashEmbedder(), self._state.ledger)
        try:
            projects = ProjectRegistry(settings.paths.projects)
            dream = DayDream(self._service, self._state, settings, clock, None, projects, embedder=embedder)
            for number, session in enumerate(sessions):
                self._read(dream, session, number)
            self._id = projects.resolve(self._project).id
            self._guard = Guard(self._service, self._state, settings, clock)
        except BaseException:
            self.close()
            raise
        self._sessions = count()

    def _read(self, dream: DayDream, session: Session, number: int) -> None:
        log = self._project.parent / f"session-{number}.jsonl"
        log.write_text("".join(json.dumps(line) + "\n" for line in _log_lines(session, log.stem, str(self._project))), "utf-8")
        self._state.enqueue(str(log), log.stem, str(self._project), "import")
        while (job := self._state.due_job()) is not None:
            if failed := next((run.error for run in dream.run_job(job) if run.error), ""):
                raise MemorydError(f"The day dream could not read {log}: {failed}")

    def respond(self, call: HookCall, before: Sequence[HookCall]) -> str:
        """Return the message to the agent, or why the call is refused. Each call is made in a separate session."""
        session = f"agent-{next(self._sessions)}"
        reply: ToolReply | None = None
        for number, one in enumerate((*before, call)):
            made = ToolCall(one.tool, one.input, one.cwd, one.cwd, session, self._id, id=f"{session}-{number}")
            reply = self._guard.respond(made)
        return (reply.reason or reply.context) if reply is not None else ""

    def close(self) -> None:
        """Close the databases."""
        self._service.close()
        self._state.close()


def _log_lines(session: Session, name: str, cwd: str) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of a session in the client's format."""
    start = in_utc(session.at)
    for number, turn in enumerate(session.turns):
        content = turn.text if turn.role == "user" else [{"type": "text", "text": turn.text}]
        yield {
            "type": turn.role,
            "uuid": f"{name}-{number}",
            "parentUuid": f"{name}-{number - 1}" if number else None,
            "isSidechain": False,
            "cwd": cwd,
            "sessionId": name,
            "timestamp": (start + number * BETWEEN_TURNS).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "message": {"role": turn.role, "content": content, **({} if turn.role == "user" else {"model": "m"})},
        }


def in_utc(at: datetime | None) -> datetime:
    """Convert a time to UTC. Without a zone, it is assumed to be in UTC. Without a time, return `NO_TIME`."""
    if at is None:
        return NO_TIME
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
