"""Operations behind `memoryd review` and the console's inbox: list new memories and confirm them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from memoryd.api.parameters import count, flag, ids, moment, request
from memoryd.api.registry import Caller, operation
from memoryd.api.sessions import session_title
from memoryd.api.shared import Memory, brief, project_parameter
from memoryd.core.clock import SKEW, from_iso, to_iso
from memoryd.core.errors import InputError
from memoryd.core.types import CONFIRMED_TAG, EPOCH, MemoryItem, Query, Source, Status

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.core.state import State
    from memoryd.service import Orchestrator

SHOWN = 50
MAX_AT_ONCE = 200
REVIEWED = (Status.ACTIVE, Status.CANDIDATE)
CONFIRMED_CONFIDENCE = 0.95
EVERYWHERE = "all"
MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class UnreviewedCounts:
    """The number of unreviewed active memories, and of candidates that the user can confirm."""

    new: int
    to_confirm: int


def last_look(state: State, project: str | None) -> datetime:
    """Return when the user last reviewed this project or all projects, or EPOCH if they never did."""
    looks = [state.note(_note(name)) for name in {project or EVERYWHERE, EVERYWHERE}]
    return max((from_iso(look) for look in looks if look), default=EPOCH)


def count_waiting(service: Orchestrator, project: str, since: datetime, now: datetime) -> UnreviewedCounts:
    """Count the project's memories that have been waiting for review since a given time, by status."""
    found = _unsettled(service, project, since, now)
    to_confirm = sum(item.status is Status.CANDIDATE for item in found)
    return UnreviewedCounts(len(found) - to_confirm, to_confirm)


def _unsettled(service: Orchestrator, project: str | None, since: datetime, now: datetime) -> list[MemoryItem]:
    """Return at most MAX_AT_ONCE unreviewed memories, newest first."""
    query = Query(project=project, statuses=REVIEWED, created_after=since, created_before=now + SKEW, now=now)
    found = [hit.item for hit in service.search(query, MAX_AT_ONCE) if hit.item.created_at > since]
    return sorted((item for item in found if not _is_settled(item)), key=lambda item: (item.created_at, item.id), reverse=True)


def _note(project: str) -> str:
    return f"reviewed {project}"


@request
class Review:
    """The filter and the limit for `review`."""

    limit: int = count(default=SHOWN, low=1, high=MAX_AT_ONCE, help="At most this many.")
    everything: bool = flag(flags=("--all",), help="Include what was reviewed before.")
    project: str = project_parameter()


class ToReview(TypedDict):
    """The unreviewed memories. Pass `until` to `reviewed` to mark all of them as seen."""

    memories: list[Memory]
    left_out: int
    since: str
    until: str
    project: str


@operation(Review, ToReview)
def review(runtime: Runtime, request: Review, caller: Caller) -> ToReview:
    """List memories since the last review, newest first, with their sessions.

    With `everything`, include reviewed memories. `session_title` is the session's first prompt. Memories that the
    user wrote or confirmed are omitted because they need no decision.
    """
    project = runtime.project_of(request.project, caller.cwd)
    now = runtime.clock.now()
    since = EPOCH if request.everything else last_look(runtime.state, project)
    open_ones = _unsettled(runtime.service, project, since, now)
    shown = open_ones[: request.limit]
    titles = {item.session: "" for item in shown}
    titles |= {session: session_title(runtime, session) for session in titles if session}
    return {
        "memories": [brief(item) | {"session_title": titles[item.session]} for item in shown],
        "left_out": max(0, len(open_ones) - request.limit),
        "since": "" if since == EPOCH else to_iso(since),
        # Not "now": memories written while the user is reading must be listed next time.
        "until": to_iso(open_ones[0].created_at if open_ones else now),
        "project": project or "",
    }


@request
class MarkReviewed:
    """The time of the review."""

    until: datetime | None = moment(help="Up to this time (default: now).")
    project: str = project_parameter()


class Reviewed(TypedDict):
    """The time up to which all memories count as reviewed."""

    project: str
    until: str


@operation(MarkReviewed, Reviewed, person_only=True)
def reviewed(runtime: Runtime, request: MarkReviewed, caller: Caller) -> Reviewed:
    """Record that the user has reviewed everything up to `until` (default: now)."""
    until = request.until or runtime.clock.now()
    project = runtime.project_of(request.project, caller.cwd)
    until = min(until, runtime.clock.now())
    if until > last_look(runtime.state, project):
        runtime.state.set_note(_note(project or EVERYWHERE), to_iso(until))
    return {"project": project or "", "until": to_iso(until)}


@request
class Confirm:
    """The memories to confirm."""

    ids: tuple[str, ...] = ids("Ids of the memories.", argument=True)


class Confirmed(TypedDict):
    """The confirmed memories."""

    memories: list[Memory]


@operation(Confirm, Confirmed, command="confirm", person_only=True)
def confirm(runtime: Runtime, request: Confirm, caller: Caller) -> Confirmed:
    """Confirm memories. Candidates become active, and each memory is marked as confirmed by you.

    The source does not change: confirming an agent's finding does not turn it into the user's statement.
    """
    if not request.ids or len(request.ids) > MAX_AT_ONCE:
        raise InputError(f"confirm: expected 1 to {MAX_AT_ONCE} ids.", fix="See 'memoryd review'.")
    with runtime.service.writing():
        items = [runtime.service.require(id) for id in dict.fromkeys(request.ids)]
        for item in items:
            if item.status not in REVIEWED:
                raise InputError(f"{item.id} is {item.status.value}.", fix=f"Restore it first: memoryd restore {item.id}")
        return {"memories": [brief(_confirm(runtime, item)) for item in items]}


def _confirm(runtime: Runtime, item: MemoryItem) -> MemoryItem:
    return runtime.service.update(
        item.id,
        status=Status.ACTIVE,
        confidence=max(item.confidence, CONFIRMED_CONFIDENCE),
        tags=tuple(dict.fromkeys((*item.tags, CONFIRMED_TAG))),
    )


def _is_settled(item: MemoryItem) -> bool:
    """Return whether the user has already decided on the memory by writing, pinning or confirming it."""
    by_hand = item.source is Source.USER and item.session == MANUAL
    return item.pinned or by_hand or CONFIRMED_TAG in item.tags
