"""The calls behind `memoryd review` and the console's inbox: what was learnt since the last look, and keeping it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryd.api.memories import Caller, MemoryCalls, brief
from memoryd.api.params import Params
from memoryd.api.sessions import is_closed
from memoryd.clock import from_iso, to_iso
from memoryd.config import Settings
from memoryd.daydream.opening import first_prompt
from memoryd.errors import InputError
from memoryd.protocols import Clock
from memoryd.service import Orchestrator
from memoryd.state import State
from memoryd.types import CONFIRMED_TAG, EPOCH, MemoryItem, Query, Source, Status

SHOWN = 50
MOST_AT_ONCE = 200
REVIEWED = (Status.ACTIVE, Status.CANDIDATE)
CONFIRMED_CONFIDENCE = 0.95
EVERYWHERE = "all"
MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many memories nobody has looked at: learnt ones, and candidates that a person could confirm."""

    new: int
    to_confirm: int


def last_look(state: State, project: str | None) -> datetime:
    """When the person last said that they have seen what was learnt, in this project or everywhere; EPOCH when never."""
    looks = [state.note(_note(name)) for name in {project or EVERYWHERE, EVERYWHERE}]
    return max((from_iso(look) for look in looks if look), default=EPOCH)


def count_waiting(service: Orchestrator, project: str, since: datetime, now: datetime) -> Waiting:
    """What was learnt in the project since then and that nobody has settled, by status."""
    found = _unsettled(service, project, since, now)
    to_confirm = sum(item.status is Status.CANDIDATE for item in found)
    return Waiting(len(found) - to_confirm, to_confirm)


def _unsettled(service: Orchestrator, project: str | None, since: datetime, now: datetime) -> list[MemoryItem]:
    """At most MOST_AT_ONCE memories, newest first."""
    query = Query(project=project, statuses=REVIEWED, created_after=since, now=now)
    found = [hit.item for hit in service.search(query, MOST_AT_ONCE) if hit.item.created_at > since]
    return sorted((item for item in found if not _is_settled(item)), key=lambda item: (item.created_at, item.id), reverse=True)


def _note(project: str) -> str:
    return f"reviewed {project}"


class ReviewCalls:
    """review, reviewed, confirm."""

    def __init__(self, service: Orchestrator, state: State, memory: MemoryCalls, settings: Settings, clock: Clock) -> None:
        self._service = service
        self._state = state
        self._memory = memory
        self._settings = settings
        self._clock = clock

    def review(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What was learnt since the last look, newest first, with the session that it comes from.

        With `everything`, what was seen before comes too. `session_title` is the session's first prompt. Memories that
        the person wrote or confirmed are left out: there is nothing to decide about them.
        """
        limit = params.count("limit", SHOWN, low=1, high=MOST_AT_ONCE)
        everything = params.flag("everything")
        project = self._memory.project_of(params, caller)
        params.done()
        now = self._clock.now()
        since = EPOCH if everything else last_look(self._state, project)
        open_ones = _unsettled(self._service, project, since, now)
        titles: dict[str, str] = {}
        return {
            "memories": [brief(item) | {"session_title": self._title(item, titles)} for item in open_ones[:limit]],
            "left_out": max(0, len(open_ones) - limit),
            "since": "" if since == EPOCH else to_iso(since),
            # Not "now": what is written while the person reads must come up the next time.
            "until": to_iso(open_ones[0].created_at if open_ones else now),
            "project": project or "",
        }

    def _title(self, item: MemoryItem, titles: dict[str, str]) -> str:
        if item.session not in titles:
            record = self._state.session(item.session)
            closed = record is None or is_closed(self._state, self._settings, record.session, record.project)
            titles[item.session] = first_prompt(record.transcript) if record and not closed else ""
        return titles[item.session]

    def reviewed(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Note that the person has seen everything that was learnt up to `until` (default: now)."""
        until = params.moment("until") or self._clock.now()
        project = self._memory.project_of(params, caller)
        params.done()
        until = min(until, self._clock.now())
        if until > last_look(self._state, project):
            self._state.set_note(_note(project or EVERYWHERE), to_iso(until))
        return {"project": project or "", "until": to_iso(until)}

    def confirm(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Keep memories on the person's word: candidates become active, and each counts as confirmed.

        Who said it stays as it is: a finding of the agent that was confirmed is still no wish of the user.
        """
        ids = params.texts("ids")
        params.done()
        if not ids or len(ids) > MOST_AT_ONCE:
            raise InputError(f"confirm: expected 1 to {MOST_AT_ONCE} ids.", fix="See 'memoryd review'.")
        with self._service.writing():
            items = [self._service.require(id) for id in dict.fromkeys(ids)]
            for item in items:
                if item.status not in REVIEWED:
                    raise InputError(f"{item.id} is {item.status.value}.", fix=f"Bring it back first: memoryd restore {item.id}")
            return {"memories": [brief(self._confirm(item)) for item in items]}

    def _confirm(self, item: MemoryItem) -> MemoryItem:
        return self._service.update(
            item.id,
            status=Status.ACTIVE,
            confidence=max(item.confidence, CONFIRMED_CONFIDENCE),
            tags=tuple(dict.fromkeys((*item.tags, CONFIRMED_TAG))),
        )


def _is_settled(item: MemoryItem) -> bool:
    """Whether a person has decided about it already: by writing, pinning or confirming it."""
    by_hand = item.source is Source.USER and item.session == MANUAL
    return item.pinned or by_hand or CONFIRMED_TAG in item.tags
