"""Seed a sequence with a conversation as a session log, or with the memory of another run's sequences.

The log contains the messages of both sides with their original times. The client resumes it with one more prompt,
which makes it a real session: hooks fire, the model sees the whole conversation, and the plugin's day dream reads the
resulting log as usual.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memeval.claudecode.contract import Arm, ClientName, StepSequence
from memeval.claudecode.sandbox import State
from memeval.core.errors import ConfigError, RunError
from memeval.core.types import Session, Turn
from memeval.results.files import ResultsDir
from memeval.results.store import RunStore
from memoryd.core.paths import Paths
from memoryd.core.project import ProjectRegistry

CLOSING = "Thank you, that is all for this time."
"""The prompt appended to a replayed conversation, the same in every arm."""
_NAMESPACE = uuid.UUID("6f0a1e52-3c0b-4d6e-9a57-0c5d8f5c2b11")
_NO_TIME = datetime(2024, 1, 1, 12, tzinfo=UTC)


def stable_id(*parts: str) -> str:
    """Return a UUID that is the same in every run, because memory ids are derived from the ids of sessions and lines."""
    return str(uuid.uuid5(_NAMESPACE, "\0".join(parts)))


def write_log(session: Session, session_id: str, folder: Path, cwd: Path, version: str, *, number: int = 0) -> Path:
    """Write a session log to the client's folder for `cwd`.

    Sessions without a date are placed one day apart, in the order of `number`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session_id}.jsonl"
    lines = _lines(session, session_id, cwd, version, number)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return path


def _lines(session: Session, session_id: str, cwd: Path, version: str, number: int) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    for place, (turn, said) in enumerate(zip(session.turns, times_of(session, number), strict=True)):
        own = stable_id(session_id, str(place))
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(cwd),
            "sessionId": session_id,
            "version": version,
            "gitBranch": "",
            "type": turn.role,
            "message": _message(turn, own),
            "uuid": own,
            "timestamp": _utc(said),
        }
        parent = own


def times_of(session: Session, number: int) -> list[datetime]:
    """Return the time of each message, in UTC. Messages without a time are 20 seconds apart."""
    start = session.at or _NO_TIME + timedelta(days=number)
    own = [turn.at if turn.at and turn.at != session.at else None for turn in session.turns]
    return [aware(at or start + timedelta(seconds=20 * place)) for place, at in enumerate(own)]


def end_of(session: Session, number: int) -> datetime:
    """Return the end time of a replayed session."""
    return max(times_of(session, number), default=aware(session.at or _NO_TIME + timedelta(days=number)))


def aware(moment: datetime) -> datetime:
    """Return the time in UTC. Times without a zone are assumed to be UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _message(turn: Turn, own: str) -> dict[str, Any]:
    if turn.role == "user":
        return {"role": "user", "content": turn.text}
    return {
        "id": f"msg_{own}",
        "type": "message",
        "role": "assistant",
        "model": "replayed",
        "content": [{"type": "text", "text": turn.text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _utc(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


_PROJECT = re.compile(r"^project: .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Primer:
    """Fills a fresh state with the memory of another run. `states` contains the saved states of its sequences in order."""

    states: tuple[State, ...]

    def __call__(self, state: State, work: Path) -> None:
        """Copy both kinds of memory and assign them to the project of the new sequence."""
        cwd = (work / "project").resolve()
        project = ProjectRegistry(Paths(state.memory_home).projects).resolve(cwd).id
        index = ""
        for source in self.states:
            for file in sorted(Paths(source.memory_home).memories.rglob("*mem_*.md")):
                target = Paths(state.memory_home).memories / f"project-{project}" / file.parent.name / file.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_PROJECT.sub(f"project: {project}", file.read_text("utf-8"), count=1), "utf-8")
            index += _copy_builtin(source, state.project(cwd) / "memory")
        if index:
            (state.project(cwd) / "memory" / "MEMORY.md").write_text(index, "utf-8")


def _copy_builtin(source: State, target: Path) -> str:
    """Copy the topic files of the built-in memory and return its index."""
    index = ""
    for file in sorted((source.config / "projects").glob("*/memory/*.md")):
        target.mkdir(parents=True, exist_ok=True)
        if file.name == "MEMORY.md":
            index += file.read_text("utf-8").rstrip() + "\n"
        else:
            shutil.copyfile(file, target / file.name)
    return index


def source_cell(results: ResultsDir, run: str, benchmark: str, arm: Arm, client: ClientName = ClientName.CLAUDE_CODE) -> str:
    """Find a run of the command with the same arm and client, preferably on the same benchmark.

    Raises RunError or ConfigError.
    """
    fitting: dict[str, str] = {}
    for name in results.group(run):
        with results.open(name) as store:
            meta, settings = store.meta("claudecode"), store.meta("settings")
        if meta and (other := meta.get("client", ClientName.CLAUDE_CODE)) != client:
            raise ConfigError(
                f"The memory of run {run} was built by sessions of {ClientName(other).label}.",
                fix=f"Name a run of {client.label} with --memory-from.",
            )
        if meta and meta["arm"] == str(arm):
            fitting.setdefault(settings["benchmark"], name)
    if fitting:
        return fitting.get(benchmark) or next(iter(fitting.values()))
    raise ConfigError(f"Run {run} has no arm {arm} to take memory from.", fix="Give a run of the same arm with --memory-from.")


def make_primer(results: ResultsDir, run: str, sequences: Iterable[StepSequence]) -> Primer:
    """Build the primer.

    Raises ConfigError if the other run saw a task of the new one, and RunError if its memory no longer exists.
    """
    with results.open(run) as store:
        _refuse_overlap(store, run, sequences)
        folders = [Path(one) for one in store.meta("shard_sandboxes") or [store.meta("sandboxes")]]
    kept: dict[str, Path] = {}  # A sequence shared by two shards is copied only once.
    for folder in folders:
        found = [path for path in folder.glob("*/kept") if path.is_dir()]
        if not found:
            raise RunError(f"The memory of run {run} is no longer at {folder}.", fix="Run it again, then use it.")
        kept = {path.parent.name: path for path in found} | kept
    return Primer(tuple(State(kept[name]) for name in sorted(kept)))


def _refuse_overlap(store: RunStore, run: str, sequences: Iterable[StepSequence]) -> None:
    seen = {_key(row.payload["question"]) for row in store.questions()}
    for sequence in sequences:
        for step in sequence.steps:
            if step.question is not None and _key({"id": step.question.id, "text": step.question.text}) in seen:
                raise ConfigError(
                    f"Task {step.question.id} was seen by run {run}: its memory may hold the answer.",
                    fix="Choose other tasks, e.g. with --start and --end.",
                )


def _key(question: Mapping[str, str]) -> tuple[str, str]:
    return question["id"], question["text"]
