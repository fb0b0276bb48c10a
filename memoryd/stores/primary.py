"""The store of record: Markdown files on this machine, or the same texts in Postgres."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from memoryd.core.config import FILES, Settings
from memoryd.core.errors import BrokenFileError, StoreError
from memoryd.core.protocols import Clock, Embedder, MemoryStore
from memoryd.core.types import MemoryItem, Query, Source
from memoryd.stores.fulltext import ListPosition
from memoryd.stores.markdown import MarkdownStore
from memoryd.stores.memory_file import StoredFile
from memoryd.stores.postgres import PostgresStore
from memoryd.stores.sync import SyncReport


class PrimaryStore(MemoryStore, Protocol):
    """Interface of the store of record, as used by the Orchestrator. MarkdownStore documents the contract of each method."""

    def write_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Store items durably. Return their ids in order."""
        ...

    def fetch(self, ids: Sequence[str], query: Query | None = None) -> dict[str, MemoryItem]:
        """Return the items that exist and pass the query's filters, by id."""
        ...

    def scores(self, query: Query, k: int = 8) -> dict[str, float]:
        """Return the scores by id, in order, of the hits that `search` would return for a text."""
        ...

    def holds(self, query: Query) -> bool:
        """Return False if no item can pass the query's filters, whatever its text."""
        ...

    def document_frequency(self, word: str) -> int:
        """Return the number of items that contain the word's stem."""
        ...

    def size(self) -> int:
        """Return the number of items of any status."""
        ...

    def count(self, query: Query) -> int:
        """Return the number of items that pass the query's filters."""
        ...

    def page(self, query: Query, k: int, after: ListPosition | None = None) -> list[MemoryItem]:
        """Return the newest items that pass the filters, starting after the key `after`."""
        ...

    def tally(self, query: Query) -> list[tuple[str, str, int]]:
        """Return (kind, status, count) of the items that pass the filters."""
        ...

    def checked(self) -> list[MemoryItem]:
        """Return the items that have a check."""
        ...

    def projects(self) -> dict[str, int]:
        """Return the number of items per project."""
        ...

    def span(self) -> tuple[datetime | None, datetime | None]:
        """Return the creation times of the oldest and the newest item."""
        ...

    def digests(self) -> dict[str, str]:
        """Return the digest of each item by id."""
        ...

    def purge(self, id: str) -> bool:
        """Delete the item and all copies. Return whether there were any."""
        ...

    def restore(self, id: str) -> MemoryItem | None:
        """Restore a deleted item and return it."""
        ...

    def sync(self, changed: Iterable[Path] | None = None) -> SyncReport:
        """Return the changes made elsewhere, by people editing files or by other machines."""
        ...

    def file_of(self, id: str) -> StoredFile | None:
        """Return the item's file with its content."""
        ...

    def read_file(self, relative: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist."""
        ...

    def put_files(self, files: Mapping[str, bytes | None], mtimes_ns: Mapping[str, int]) -> list[Path]:
        """Write these contents. None deletes the file. Return the paths to synchronise."""
        ...

    def path_of(self, id: str) -> Path | None:
        """Return the path of the item's file on this machine, if it has one."""
        ...

    def fingerprint(self, id: str) -> str:
        """Return the SHA-256 of the item's text, or an empty string."""
        ...

    def broken(self) -> list[BrokenFileError]:
        """Return the files that could not be read."""
        ...

    def flush(self) -> None:
        """Write derived files meant for people."""
        ...

    def scrub(self) -> None:
        """Erase the remains of deleted texts."""
        ...

    def rebuild(self) -> None:
        """Rebuild the full-text index."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...


@dataclass(frozen=True, slots=True)
class Primary:
    """The store of record. `database` is the same store if it is a Postgres database."""

    store: PrimaryStore
    database: PostgresStore | None = None


def open_primary(settings: Settings, clock: Clock, embedder: Embedder | None) -> Primary:
    """Open the configured store. A database is connected on first use.

    Raises:
        DependencyError: The store is a database and its library is not installed.
    """
    if settings.store == FILES:
        return Primary(MarkdownStore(settings.paths, clock))
    size = {"dimensions": embedder.dimensions} if embedder else {}
    database = PostgresStore(settings.store, settings.paths.state_db.parent, clock, team=settings.team, **size)
    return Primary(database, database)


_BATCH = 500


def copy_all(source: PrimaryStore, target: PrimaryStore) -> int:
    """Copy every memory with its exact text, replacing memories with the same ids in the target. Return their number.

    Copies of what a team has reviewed in its repository stay behind: elsewhere, nothing would keep them up to date.

    Raises:
        StoreError: The target can't be used, or differs from the source afterwards.
    """
    copied = 0
    of_teams: set[str] = set()
    for files in _batches(source, of_teams):
        target.sync(target.put_files(files, {}))
        copied += len(files)
    wanted = {id: digest for id, digest in source.digests().items() if id not in of_teams}
    if missing := wanted.items() - target.digests().items():
        raise StoreError(f"{len(missing)} memories differ in the target.", fix="Repeat the command.")
    return copied


def _batches(source: PrimaryStore, of_teams: set[str]) -> Iterator[dict[str, bytes | None]]:
    files: dict[str, bytes | None] = {}
    for item in source.all():
        if item.source is Source.TEAM:
            of_teams.add(item.id)
        elif (file := source.file_of(item.id)) is not None:
            files[file.path] = file.data
        if len(files) == _BATCH:
            yield files
            files = {}
    yield files
