"""Operations that count memories, show the evidence for a memory, and merge two memories on request."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from memoryd.api.parameters import NoParameters, count, flag, memory_id, request, text
from memoryd.api.registry import Caller, operation
from memoryd.api.sessions import is_closed
from memoryd.api.shared import Memory, project_parameter
from memoryd.core.clock import to_iso
from memoryd.core.codec import item_to_dict
from memoryd.core.errors import InputError, TranscriptError
from memoryd.core.types import MemoryItem, Query, Scope, Status, Turn
from memoryd.lineage import merge_links

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime

READ_BYTES = 64 * 2**20
SHOWN_CHARACTERS = 2_000
MAX_TURNS = 60


class ProjectNames(TypedDict):
    """The names of the projects. `current` is the project of the caller's folder, if any."""

    projects: list[dict[str, str]]
    current: str


@operation(NoParameters, ProjectNames)
def project_names(runtime: Runtime, request: NoParameters, caller: Caller) -> ProjectNames:
    """List known projects by name, without counts. `current` is the project of the caller's folder, if any."""
    known = sorted(runtime.registry.known().items(), key=lambda entry: (entry[1].casefold(), entry[0]))
    current = runtime.registry.resolve(caller.cwd).id if caller.cwd else ""
    return {"projects": [{"id": id, "name": name} for id, name in known], "current": current}


@request
class CountMemories:
    """What to count."""

    project: str = project_parameter()
    counts: bool = flag(default=True, help="Count memories; without it only return the times, which is fast in any store.")


class Overview(TypedDict):
    """The number of memories by kind and status, and the creation times of the oldest and the newest."""

    project: NotRequired[str]
    kinds: NotRequired[list[dict[str, Any]]]
    statuses: NotRequired[dict[str, int]]
    all: NotRequired[int]
    first: str
    last: str


@operation(CountMemories, Overview)
def overview(runtime: Runtime, request: CountMemories, caller: Caller) -> Overview:
    """Count memories by kind and status, and return the creation times of the oldest and the newest.

    If `counts` is false, return only the times. This is fast in a store of any size.
    """
    project = runtime.project_of(request.project, caller.cwd)
    first, last = (to_iso(at) if at else "" for at in runtime.service.span())
    if not request.counts:
        return {"first": first, "last": last}
    everything = Query(project=project, statuses=tuple(Status))
    counts: dict[str, Counter[str]] = {}
    for kind, status, number in runtime.service.tally(everything):
        counts.setdefault(kind, Counter())[status] += number
    by_status: Counter[str] = sum(counts.values(), Counter())
    return {
        "project": project or "",
        "kinds": [{"kind": kind, **dict(row), "all": row.total()} for kind, row in sorted(counts.items())],
        "statuses": dict(by_status),
        "all": by_status.total(),
        "first": first,
        "last": last,
    }


@request
class ReadEvidence:
    """A memory, and the number of turns to show around its evidence."""

    id: str = memory_id()
    around: int = count(default=2, high=10, help="Turns before and after each.")


class EvidenceTurns(TypedDict):
    """Turns in the session's log. If there are none, `reason` explains why."""

    id: str
    transcript: str
    turns: list[dict[str, Any]]
    reason: str


@operation(ReadEvidence, EvidenceTurns)
def evidence(runtime: Runtime, request: ReadEvidence, caller: Caller) -> EvidenceTurns:
    """Show the conversation around a memory's evidence, from the session's log.

    A log named in a memory file is opened only if memoryd has read it before.
    """
    item = runtime.service.require(request.id)
    turns, reason = _turns(runtime, item, request.around)
    return {"id": item.id, "transcript": item.evidence.transcript, "turns": turns, "reason": reason}


def _turns(runtime: Runtime, item: MemoryItem, around: int) -> tuple[list[dict[str, Any]], str]:
    evidence, session = item.evidence, item.session
    record = runtime.state.session(session)
    if not evidence.transcript or not evidence.lines:
        return [], "No line of a log is recorded for this memory."
    if is_closed(runtime, session, record.project if record else item.project or ""):
        return [], "Memory is switched off there, so the log is not opened."
    if not _is_known_log(runtime, evidence.transcript, session):
        return [], "memoryd has never read the recorded log, so it is not opened."
    try:
        turns = list(islice(_around(Path(evidence.transcript), frozenset(evidence.lines), around), MAX_TURNS))
    except TranscriptError as error:
        return [], str(error)
    return turns, "" if turns else "The log no longer contains these lines."


def _is_known_log(runtime: Runtime, transcript: str, session: str) -> bool:
    record = runtime.state.session(session)
    return (record is not None and record.transcript == transcript) or runtime.state.cursor(transcript).offset > 0


@request
class Merge:
    """Two memories to merge, and the wording of the result."""

    id: str = memory_id(argument=True)
    other: str = memory_id(argument=True)
    content: str = text(help="Wording of the merged memory (default: that of the first).")


class Merged(TypedDict):
    """The new memory, and the two it replaces."""

    memory: Memory
    merged: list[str]
    left_out_secrets: NotRequired[str]


@operation(Merge, Merged, command="merge", person_only=True)
def merge(runtime: Runtime, request: Merge, caller: Caller) -> Merged:
    """Merge two memories with the same meaning into a new one. Both originals remain readable."""
    from memoryd.daydream.redact import left_out, storable_text

    first, second = request.id, request.other
    said = storable_text(request.content, typed=True)
    content = said.text
    if first == second:
        raise InputError("merge: both are the same memory.", fix="Name two memories.")
    with runtime.service.writing():
        pair = [runtime.service.require(id) for id in (first, second)]
        for item in pair:
            if item.status is not Status.ACTIVE:
                raise InputError(f"{item.id} is not active.", fix=f"Restore it first: memoryd restore {item.id}")
        if len({item.project for item in pair if item.scope is not Scope.USER}) > 1:
            raise InputError(
                "merge: the memories belong to different projects, and one of the projects would lose its memory.",
                fix="Keep both, or make one of them apply everywhere first: memoryd edit ID --scope user",
            )
        id = _merged(runtime, pair, content)
    answer = Merged(memory=item_to_dict(runtime.service.require(id)), merged=[first, second])
    if said.found:
        answer["left_out_secrets"] = left_out(said.found)["left_out_secrets"]
    return answer


def _merged(runtime: Runtime, pair: list[MemoryItem], content: str) -> str:
    """Merge the memories like a dream does, so that forgetting or restoring the result also affects its sources."""
    from memoryd.dream.stages import united

    best, now = pair[0], runtime.clock.now()
    links = merge_links(item.id for item in pair)
    whole = united(best, pair)
    pinned = any(item.pinned for item in pair)
    new = replace(whole, id="", content=content or best.content, links=(*whole.links, *links), pinned=pinned)
    id = runtime.service.write(new)
    for item in pair:
        ended = item.valid_to or now
        runtime.service.update(item.id, status=Status.SUPERSEDED, expired_at=now, valid_to=ended, pinned=False)
    return id


def _around(path: Path, uuids: frozenset[str], around: int) -> Iterator[dict[str, Any]]:
    """Yield the turns at the given lines plus `around` turns of context on each side.

    Stops reading once all of them are found.
    """
    before: deque[Turn] = deque(maxlen=around)
    missing, after = set(uuids), 0
    for turn in _read(path):
        if turn.uuid in uuids:
            yield from (_turn(earlier, False) for earlier in before)
            before.clear()
            missing.discard(turn.uuid)
            yield _turn(turn, True)
            after = around
        elif after:
            yield _turn(turn, False)
            after -= 1
        else:
            before.append(turn)
        if not missing and not after and turn.uuid not in uuids:
            return


def _read(path: Path) -> Iterable[Turn]:
    from memoryd.daydream.transcript import read_all

    for piece in read_all(path):
        yield from piece.turns
        if piece.cursor.offset > READ_BYTES:
            return


def _turn(turn: Turn, meant: bool) -> dict[str, Any]:
    text = turn.text if len(turn.text) <= SHOWN_CHARACTERS else f"{turn.text[:SHOWN_CHARACTERS]}…"
    return {
        "who": turn.kind.value,
        "text": text,
        "line": turn.line,
        "at": to_iso(turn.at) if turn.at else "",
        "tool": turn.tool,
        "detail": turn.detail,
        "meant": meant,
    }
