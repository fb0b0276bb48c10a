"""Maintenance of derived indexes: background embedding, rebuilding after damage, and the token index.

A turn of a stored conversation is encoded after the two turns before it: "She bought it" alone says little, and the
other speaker may have mentioned what "it" is. Other statements are encoded alone.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from memoryd.core.codec import item_digest
from memoryd.core.db import ODD_CONTENT, remove_database
from memoryd.core.errors import EmbeddingError, IndexDamagedError, MemorydError, StoreError
from memoryd.core.protocols import FloatArray, TokenEncoder
from memoryd.core.types import MemoryItem, Query, Status
from memoryd.stores.fulltext import keys_of
from memoryd.stores.primary import PrimaryStore
from memoryd.stores.tokens import TokenEntry, TokenStore
from memoryd.stores.vector import QueryCosines, VectorStore

# Background embedding: a set of pending ids, and one thread that processes them.

log = logging.getLogger(__name__)
BATCH = 64
RETRY_SECONDS = 30.0
TRIES = 5


class Checkable(Protocol):
    """A store that can be checked for damage and closed."""

    def check(self) -> None:
        """Read every page. Raises IndexDamagedError if a page is damaged."""
        ...

    def close(self) -> None:
        """Close the store. Later calls raise StoreError."""
        ...


StoreT = TypeVar("StoreT", bound=Checkable)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """State of the stores.

    Attributes:
        waiting: Number of memories without a vector.
        unsent: Number of changes waiting for the database.
    """

    memories: int
    active: int
    broken: tuple[str, ...]
    waiting: int
    embedder: str
    embedder_error: str
    rebuilt: tuple[str, ...]
    missing_vault: bool = False
    unsent: int = 0


class BackgroundIndexer:
    """Calls `work` with batches of ids. Its thread starts with the first id and ends when idle.

    Pending ids are not stored. They are found again at the next start by comparing the indexes with the Markdown files.
    """

    def __init__(self, work: Callable[[Sequence[str]], None], on_error: Callable[[EmbeddingError], None]) -> None:
        self._work = work
        self._on_error = on_error
        self._waiting: dict[str, None] = {}
        self._busy = 0
        self._batch = 0
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, ids: Iterable[str]) -> None:
        """Add ids to process. Duplicates are ignored."""
        with self._condition:
            self._waiting.update(dict.fromkeys(ids))
            if self._waiting and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="memoryd-indexer", daemon=True)
                self._thread.start()

    def waiting(self) -> int:
        """Return the number of ids that have no vector yet."""
        with self._condition:
            return len(self._waiting) + self._busy

    def settle(self, timeout: float) -> bool:
        """Wait until all ids are processed. Return False on timeout."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def finish_batch(self, timeout: float) -> bool:
        """Wait until the current batch is done. Return False on timeout."""
        with self._condition:
            batch = self._batch
            return self._condition.wait_for(lambda: not self._busy or self._batch != batch, timeout)

    def close(self) -> None:
        """Stop after the current batch."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(timeout=10)

    def _take(self) -> list[str]:
        with self._condition:
            if self._closed or not self._waiting:
                self._thread = None
                return []
            batch = list(self._waiting)[:BATCH]
            for id in batch:
                del self._waiting[id]
            self._busy = len(batch)
            self._batch += 1
            return batch

    def _run(self) -> None:
        while batch := self._take():
            failed = self._attempt(batch)
            with self._condition:
                self._busy = 0
                if failed:
                    self._waiting = {**dict.fromkeys(batch), **self._waiting}
                    self._condition.wait_for(lambda: self._closed, RETRY_SECONDS)
                self._condition.notify_all()

    def _attempt(self, batch: Sequence[str]) -> bool:
        """Process a batch. Return True if it must be retried."""
        try:
            self._work(batch)
        except EmbeddingError as error:
            self._on_error(error)
            return True
        except MemorydError as error:
            log.warning("indexing failed, will be retried: %s", error)
            return True
        return False


class DerivedIndex(Generic[StoreT]):
    """A store derived from the Markdown files. If it is damaged, it is recreated and refilled.

    `refill` is called with the new store, and the index's name is appended to `rebuilt`. Thread-safe: work on a store that
    another thread has just replaced is retried on the new one.
    """

    def __init__(
        self, path: Path, opener: Callable[[Path], StoreT], refill: Callable[[StoreT], None], rebuilt: list[str]
    ) -> None:
        self._path = path
        self._opener = opener
        self._refill = refill
        self._rebuilt = rebuilt
        self._lock = threading.Lock()
        self._store = self._open()

    def _open(self) -> StoreT:
        try:
            return self._opener(self._path)
        except IndexDamagedError as error:
            self._report(error)
            remove_database(self._path)
            return self._opener(self._path)

    def _report(self, error: IndexDamagedError) -> None:
        log.warning("index %s is damaged, rebuilding: %s", self._path.stem, error.message)
        self._rebuilt.append(self._path.stem)

    def use(self, work: Callable[[StoreT], T]) -> T:
        """Run `work` on the store. If the store is damaged, retry on a new one. Other errors are propagated."""
        for _ in range(TRIES):
            store = self._store
            try:
                return work(store)
            except IndexDamagedError as error:
                if self._replace(store):
                    self._report(error)
                    self._refill(self._store)
            except StoreError:
                with self._lock:  # Another thread may be replacing the store.
                    if store is self._store:
                        raise
            except ODD_CONTENT as error:
                if not self._replace_if_damaged(store):
                    raise
                log.warning("reading index %s failed: %s", self._path.stem, type(error).__name__)
        return work(self._store)

    def _replace_if_damaged(self, store: StoreT) -> bool:
        """Return whether the store is damaged. If so, replace and refill it."""
        try:
            store.check()
        except IndexDamagedError as error:
            if self._replace(store):
                self._report(error)
                self._refill(self._store)
            return True
        return False

    def rebuild(self) -> None:
        """Recreate the index from the Markdown files."""
        self._replace(self._store)
        self._refill(self._store)

    def _replace(self, store: StoreT) -> bool:
        """Replace this store with a new one. Return False if another thread has already done so."""
        with self._lock:
            if store is not self._store:
                return False
            store.close()
            remove_database(self._path)
            self._store = self._opener(self._path)
            return True

    def close(self) -> None:
        """Close the store."""
        self._store.close()


class Vectors(Protocol):
    """Vectors of memories, for the Orchestrator and ranking. Methods raise EmbeddingError if embedding fails."""

    def catch_up(self) -> None:
        """Find memories without current vectors, and queue them for embedding in the background."""
        ...

    def write_many(self, items: Sequence[MemoryItem]) -> None:
        """Embed and store items."""
        ...

    def delete(self, id: str) -> None:
        """Remove an item's vectors."""
        ...

    def vectors(self) -> dict[str, FloatArray]:
        """Return the unit vectors of all embedded statements, by id."""
        ...

    def scrub(self) -> None:
        """Erase the remains of deleted items."""
        ...

    def rebuild(self) -> None:
        """Embed everything again."""
        ...

    def maintain(self) -> None:
        """Do deferred work, while no memory is waiting to be embedded."""
        ...

    def close(self) -> None:
        """Stop and close."""
        ...

    def scores(self, query: Query, k: int) -> Mapping[str, float]:
        """Return the cosines of the nearest items by id, nearest first."""
        ...

    def score(self, text: str, ids: Sequence[str]) -> Mapping[str, float]:
        """Return the cosine of each item that has a vector."""
        ...

    def compare(self, text: str, ids: Sequence[str]) -> Mapping[str, QueryCosines]:
        """Return the cosines of the text with each item's statement and keys."""
        ...

    def prepare(self, text: str) -> None:
        """Start embedding a query in the background."""
        ...

    def query_vector(self, text: str) -> FloatArray:
        """Return the unit vector of a query."""
        ...


class MeaningIndex(DerivedIndex[VectorStore]):
    """The vector store behind the interface used by ranking. Its methods raise EmbeddingError if embedding fails."""

    def catch_up(self) -> None:
        """Delete surplus vectors, and queue memories without current vectors for embedding."""
        self.use(self._refill)

    def write_many(self, items: Sequence[MemoryItem]) -> None:
        """Embed and store items."""
        self.use(lambda store: store.write_many(items))

    def delete(self, id: str) -> None:
        """Remove an item's vectors."""
        self.use(lambda store: store.delete(id))

    def vectors(self) -> dict[str, FloatArray]:
        """Return the unit vectors of all embedded statements, by id."""
        return self.use(lambda store: store.vectors())

    def scrub(self) -> None:
        """Erase the remains of deleted items."""
        self.use(lambda store: store.scrub())

    def maintain(self) -> None:
        """Rebuild the HNSW index of a large store."""
        self.use(_keep_ann)

    def scores(self, query: Query, k: int) -> Mapping[str, float]:
        """Return the cosines of the nearest items by id, nearest first."""
        return self.use(lambda store: store.scores(query, k))

    def score(self, text: str, ids: Sequence[str]) -> Mapping[str, float]:
        """Return the cosine of each item that has a vector."""
        return self.use(lambda store: store.score(text, ids))

    def compare(self, text: str, ids: Sequence[str]) -> Mapping[str, QueryCosines]:
        """Return the cosines of the text with the statement and the keys of each item that has a vector."""
        return self.use(lambda store: store.compare(text, ids))

    def prepare(self, text: str) -> None:
        """Start embedding a query in the background."""
        self.use(lambda store: store.prepare(text))

    def query_vector(self, text: str) -> FloatArray:
        """Return the unit vector of a query."""
        return self.use(lambda store: store.query_vector(text))


def _keep_ann(store: VectorStore) -> None:
    if store.ann_missing():
        store.rebuild_ann()


def synchronise_index(
    markdown: PrimaryStore,
    held: Mapping[str, str],
    write: Callable[[Sequence[MemoryItem]], object],
    delete: Callable[[str], None],
) -> None:
    """Make an index match the Markdown files by comparing item digests.

    Surplus items are deleted. Outdated or missing ones are written 500 at a time.
    """
    wanted = markdown.digests()
    for id in held.keys() - wanted.keys():
        delete(id)
    behind = sorted(id for id, digest in wanted.items() if held.get(id) != digest)
    for start in range(0, len(behind), 500):
        write(list(markdown.fetch(behind[start : start + 500]).values()))


SESSION_TURNS = 5_000
# Number of previous turns used as context. The second adds a point of recall at 10, a third almost nothing
# (docs/design/quality-notes.md).
READ_BEFORE = 2
_DIGITS = re.compile(r"(\d+)")


def place_in_session(item: MemoryItem) -> tuple[datetime, list[tuple[int, str]], str]:
    """Return the sort key for the turns of a session: their time, then the name of the first line in natural order."""
    name = item.evidence.lines[0] if item.evidence.lines else ""
    parts = [(int(part), "") if part.isdecimal() else (0, part) for part in _DIGITS.split(name)]
    return item.created_at, parts, item.id


class LateIndex(DerivedIndex[TokenStore]):
    """The token index `tokens.db`. Ids to encode are passed to `enqueue`, which later passes them back to `write`."""

    def __init__(
        self,
        path: Path,
        encoder: TokenEncoder,
        markdown: PrimaryStore,
        enqueue: Callable[[Sequence[str]], None],
        rebuilt: list[str],
    ) -> None:
        """Open the index. If it was damaged, its name is appended to `rebuilt`."""
        self._encoder = encoder
        self._markdown = markdown
        self._enqueue = enqueue
        super().__init__(path, lambda place: TokenStore(place, encoder), self._enqueue_all, rebuilt)

    @property
    def name(self) -> str:
        """Identity of the token model."""
        return self._encoder.name

    def _enqueue_all(self, _store: TokenStore) -> None:
        self._enqueue(sorted(self._markdown.digests()))

    def catch_up(self) -> None:
        """Delete the entries of removed memories. Enqueue memories that are missing, changed or encoded by another model."""
        self._enqueue(self.use(self._missing))

    def _missing(self, store: TokenStore) -> list[str]:
        held, wanted = store.digests(), self._markdown.digests()
        for id in held.keys() - wanted.keys():
            store.delete(id)
        return sorted(id for id, digest in wanted.items() if held.get(id) != digest)

    def write(self, items: Mapping[str, MemoryItem]) -> None:
        """Encode items, and also turns whose predecessors have changed.

        Raises:
            EmbeddingError: Encoding failed.
        """
        self.use(lambda store: store.write_many(self._entries(store, items)))

    def _entries(self, store: TokenStore, items: Mapping[str, MemoryItem]) -> list[TokenEntry]:
        entries = [_entry(item, ()) for item in items.values() if not item.is_turn]
        turns = [item for item in items.values() if item.is_turn]
        for session in sorted({item.session for item in turns}):
            entries += self._entries_of(store, session, items)
        return entries

    def _entries_of(self, store: TokenStore, session: str, items: Mapping[str, MemoryItem]) -> list[TokenEntry]:
        query = Query(session=session, statuses=tuple(Status))
        found = [hit.item for hit in self._markdown.search(query, SESSION_TURNS) if hit.item.is_turn]
        stored = store.before([item.id for item in found])
        out = []
        for project in sorted({item.project for item in found}):
            turns = sorted((item for item in found if item.project == project), key=place_in_session)
            befores = [turns[max(0, place - READ_BEFORE) : place] for place in range(len(turns))]
            moved = {item.id for item, before in zip(turns, befores, strict=True) if _is_moved(item, before, stored)}
            changed = moved | items.keys()
            for item, before in zip(turns, befores, strict=True):
                if item.id in changed or (item.id in stored and any(turn.id in changed for turn in before)):
                    out.append(_entry(item, before))
        return out

    def delete(self, id: str) -> None:
        """Remove a memory's vectors."""
        self.use(lambda store: store.delete(id))

    def prepare(self, text: str) -> None:
        """Start encoding a query in the background."""
        self.use(lambda store: store.prepare(text))

    def matches(self, text: str, ids: Sequence[str], weight: Callable[[str], float]) -> dict[str, FloatArray]:
        """Return token matches (see TokenStore.matches), or none while the index is being rebuilt."""
        return self.use(lambda store: store.matches(text, ids, weight))

    def linked(self) -> bool:
        """Return whether any turn has a predecessor."""
        return self.use(lambda store: store.linked())

    def neighbours(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return the ids of the previous and next turn of each memory with vectors.

        An id is empty if there is no such turn.
        """
        return self.use(lambda store: store.neighbours(ids))

    def warm(self) -> None:
        """Load the model.

        Raises:
            EmbeddingError: The model can't be loaded.
        """
        self._encoder.encode_query("warm")


def _is_moved(item: MemoryItem, before: Sequence[MemoryItem], stored: Mapping[str, str]) -> bool:
    """Return whether the turn's current predecessor differs from the stored one."""
    return item.id in stored and stored[item.id] != (before[-1].id if before else "")


def _entry(item: MemoryItem, before: Sequence[MemoryItem]) -> TokenEntry:
    last = before[-1].id if before else ""
    return TokenEntry(item.id, item_digest(item), item.content, last, " ".join(turn.content for turn in before), keys_of(item))
