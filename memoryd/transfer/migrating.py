"""Copy all memories to another store: from files to a database, or back. Texts are copied byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from memoryd.core.config import FILES, Settings, is_address
from memoryd.core.errors import InputError, StoreError
from memoryd.core.postgres import shown_address
from memoryd.core.protocols import Clock, Embedder
from memoryd.service import Orchestrator
from memoryd.stores.primary import PrimaryStore, open_primary

BATCH = 500


def migrate(
    service: Orchestrator,
    settings: Settings,
    clock: Clock,
    embedder: Embedder | None,
    target: str,
    *,
    prepare: bool,
    dry_run: bool,
) -> dict[str, Any]:
    """Copy every memory to the store `target`. The present store is not changed, and stays in use until `store` is set.

    A memory that the target has already is replaced by the present one, so the command can be repeated.

    Args:
        service: The present store.
        settings: The present settings.
        clock: Source of the current time.
        embedder: Embedder whose vectors a new database will hold.
        target: `files`, or the address of a database.
        prepare: Only create or migrate the tables of the database.
        dry_run: Only count.

    Raises:
        InputError: The target is the present store, or neither files nor a database.
        StoreError: The target can't be used, or misses memories afterwards.
    """
    if target == settings.store:
        raise InputError("The memories are in that store already.", fix="Name another store.")
    if target != FILES and not is_address(target):
        raise InputError(f"'{target}' is not a store.", fix="Write files, or postgres://user@host/database.")
    where = "files" if target == FILES else shown_address(target)
    if dry_run and not prepare:
        return {"target": where, "memories": sum(1 for _ in service.all()), "copied": 0}
    store = open_primary(replace(settings, store=target), clock, embedder).store
    try:
        if prepare:
            return {"target": where, "memories": store.size(), "copied": 0}
        copied = sum(_put(store, files) for files in _files(service))
        missing = service.digests().items() - store.digests().items()
        if missing:
            raise StoreError(f"{len(missing)} memories did not arrive as they are here.", fix="Repeat the command.")
        return {"target": where, "memories": store.size(), "copied": copied}
    finally:
        store.close()


def _files(service: Orchestrator) -> Iterator[dict[str, bytes | None]]:
    files: dict[str, bytes | None] = {}
    for item in service.all():
        if (file := service.file_of(item.id)) is not None:
            files[file.path] = file.data
        if len(files) == BATCH:
            yield files
            files = {}
    yield files


def _put(store: PrimaryStore, files: Mapping[str, bytes | None]) -> int:
    paths = store.put_files(files, {})
    store.sync(paths)
    return len(files)
