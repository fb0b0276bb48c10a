"""The calls that look at memory as a whole, or behind one memory; and the merge of two, which only a person asks for."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from memoryd.api.memories import Caller, MemoryCalls
from memoryd.api.params import Params
from memoryd.clock import to_iso
from memoryd.codec import item_to_dict
from memoryd.daydream.redact import left_out, redact
from memoryd.daydream.transcript import read_all
from memoryd.dream.dedupe import united
from memoryd.errors import InputError, TranscriptError
from memoryd.project import ProjectRegistry
from memoryd.protocols import Clock
from memoryd.service import Orchestrator
from memoryd.state import State
from memoryd.types import Evidence, Link, LinkType, MemoryItem, Query, Status, Turn

READ_BYTES = 64 * 2**20
SHOWN_CHARACTERS = 2_000
MOST_TURNS = 60


class ViewCalls:
    """project_names, overview, evidence, merge."""

    def __init__(self, service: Orchestrator, state: State, registry: ProjectRegistry, memory: MemoryCalls, clock: Clock) -> None:
        self._service = service
        self._state = state
        self._registry = registry
        self._memory = memory
        self._clock = clock

    def project_names(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Known projects by name, without counting; `current` is the one of the caller's folder, if any."""
        params.done()
        known = sorted(self._registry.known().items(), key=lambda entry: (entry[1].casefold(), entry[0]))
        current = self._registry.resolve(caller.cwd).id if caller.cwd else ""
        return {"projects": [{"id": id, "name": name} for id, name in known], "current": current}

    def overview(self, params: Params, caller: Caller) -> dict[str, Any]:
        """How many memories there are, by kind and by status; when the oldest and the newest were made.

        With `counts` false only the latter, which is quick in the largest store.
        """
        project = self._memory.project_of(params, caller)
        counted = params.flag("counts", True)
        params.done()
        if not counted:
            return self._span()
        everything = Query(project=project, statuses=tuple(Status))
        counts: dict[str, Counter[str]] = {}
        for kind, status, number in self._service.markdown.tally(everything):
            counts.setdefault(kind, Counter())[status] += number
        by_status: Counter[str] = sum(counts.values(), Counter())
        return {
            "project": project or "",
            "kinds": [{"kind": kind, **dict(row), "all": row.total()} for kind, row in sorted(counts.items())],
            "statuses": dict(by_status),
            "all": by_status.total(),
            **self._span(),
        }

    def _span(self) -> dict[str, str]:
        first, last = self._service.markdown.span()
        return {"first": to_iso(first) if first else "", "last": to_iso(last) if last else ""}

    # Evidence

    def evidence(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What was said around a memory's evidence, from the session's log; `reason` says why there is nothing.

        A path that stands in a memory file is opened only if memory itself has read that log before.
        """
        item = self._service.require(params.id())
        around = params.count("around", 2, high=10)
        params.done()
        turns, reason = self._turns(item.evidence, item.session, around)
        return {"id": item.id, "transcript": item.evidence.transcript, "turns": turns, "reason": reason}

    def _turns(self, evidence: Evidence, session: str, around: int) -> tuple[list[dict[str, Any]], str]:
        record = self._state.session(session)
        if record is not None and (record.off or self._state.is_off(record.project)):
            return [], "Memory is switched off there, so the log is not opened."
        if not evidence.transcript or not evidence.lines:
            return [], "No line of a log is noted for this memory."
        if not self._is_known_log(evidence.transcript, session):
            return [], "The log that is noted is not one that memory has read, so it is not opened."
        try:
            turns = list(islice(_around(Path(evidence.transcript), frozenset(evidence.lines), around), MOST_TURNS))
        except TranscriptError as error:
            return [], str(error)
        return turns, "" if turns else "The log no longer holds these lines."

    def _is_known_log(self, transcript: str, session: str) -> bool:
        record = self._state.session(session)
        return (record is not None and record.transcript == transcript) or self._state.cursor(transcript).offset > 0

    # Merging

    def merge(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Put one memory in the place of two that say the same; the wording is that of the first unless `content` is given."""
        first, second = params.id("id"), params.id("other")
        said = redact(params.text("content"))
        content = said.text
        params.done()
        if first == second:
            raise InputError("merge: both are the same memory.", fix="Name two memories.")
        with self._service.writing():
            pair = [self._service.require(id) for id in (first, second)]
            for item in pair:
                if item.status is not Status.ACTIVE:
                    raise InputError(f"{item.id} is not active.", fix=f"Bring it back first: memoryd restore {item.id}")
            id = self._merged(pair, content)
        return {"memory": item_to_dict(self._service.require(id)), "merged": [first, second], **left_out(said.found)}

    def _merged(self, pair: list[MemoryItem], content: str) -> str:
        """As the dream merges (dream/dedupe), so that forgetting and restoring the merged one reaches its sources."""
        best, now = pair[0], self._clock.now()
        links = tuple(Link(LinkType.SUPERSEDES, item.id) for item in pair)
        whole = united(best, pair)
        pinned = any(item.pinned for item in pair)
        new = replace(whole, id="", content=content or best.content, links=(*whole.links, *links), pinned=pinned)
        id = self._service.write(new)
        for item in pair:
            ended = item.valid_to or now
            self._service.update(item.id, status=Status.SUPERSEDED, expired_at=now, valid_to=ended, pinned=False)
        return id


def _around(path: Path, uuids: frozenset[str], around: int) -> Iterator[dict[str, Any]]:
    """The turns of these lines with `around` turns before and after each; reading ends when all were found."""
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
