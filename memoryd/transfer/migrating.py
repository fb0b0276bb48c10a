"""Copy all memories to another store: from files to a database, or back."""

from __future__ import annotations

from typing import Any

from memoryd.core.config import FILES, Settings, is_address
from memoryd.core.errors import InputError
from memoryd.core.postgres import shown_address
from memoryd.core.types import Query, Source, Status
from memoryd.service import Orchestrator


def migrate(service: Orchestrator, settings: Settings, target: str, *, prepare: bool, dry_run: bool) -> dict[str, Any]:
    """Copy every memory to the store `target`. The current store is unchanged and stays in use until `store` is set.

    Memories that already exist in the target are replaced, so the command can be repeated. What a team reviews in its repository
    stays behind.

    Args:
        service: The current store.
        settings: The current settings.
        target: `files`, or the address of a database.
        prepare: Only create or update the tables of the database.
        dry_run: Only count.

    Raises:
        InputError: The target is the current store, or neither files nor a database.
        StoreError: The target can't be used, or is missing memories afterwards.
    """
    if target == settings.store:
        raise InputError("The memories are already in that store.", fix="Name another store.")
    if target != FILES and not is_address(target):
        raise InputError("migrate: the target is not a store.", fix="Write files, or postgres://user@host/database.")
    where = "files" if target == FILES else shown_address(target)
    if dry_run and not prepare:
        sources = tuple(source for source in Source if source is not Source.TEAM)
        return {"target": where, "memories": service.count(Query(statuses=tuple(Status), sources=sources)), "copied": 0}
    memories, copied = service.migrate(target, prepare=prepare)
    return {"target": where, "memories": memories, "copied": copied}
