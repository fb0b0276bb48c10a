"""Operations on the memories of a team that shares a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from memoryd.api.parameters import memory_id, request
from memoryd.api.registry import Caller, operation
from memoryd.api.shared import Memory, brief
from memoryd.core.errors import InputError
from memoryd.core.types import Scope, Status

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime


@request
class OfTeam:
    """The memory."""

    id: str = memory_id()


class TeamMemory(TypedDict):
    """The team's current version of the memory."""

    memory: Memory


@operation(OfTeam, TeamMemory, command="share", person_only=True)
def share(runtime: Runtime, request: OfTeam, caller: Caller) -> TeamMemory:
    """Share an active memory with the team of the database. Its texts are checked for secrets again."""
    from memoryd.daydream.redact import storable_text

    item = runtime.service.require(request.id)
    if not runtime.service.has_team:
        raise InputError(
            "There is no team.", fix="Set 'store' to a Postgres database and 'team' to your team (docs/postgres.md)."
        )
    if item.status is not Status.ACTIVE:
        raise InputError(f"{item.id} is {item.status.value}.", fix=f"Bring it back first: memoryd restore {item.id}")
    found = {kind for text in (item.content, *item.tags, *item.entities, *item.asked_as) for kind in storable_text(text).found}
    if found:
        what = f"{item.id} contains something that must not be shared ({', '.join(sorted(found))})."
        raise InputError(what, fix=f"Remove it first: memoryd edit {item.id}")
    return {"memory": brief(runtime.service.update(item.id, scope=Scope.TEAM))}


@operation(OfTeam, TeamMemory, command="approve", person_only=True)
def approve(runtime: Runtime, request: OfTeam, caller: Caller) -> TeamMemory:
    """Approve a teammate's memory. It can then be a rule for the whole team until its text changes."""
    runtime.service.require(request.id)
    return {"memory": brief(runtime.service.approve(request.id))}
