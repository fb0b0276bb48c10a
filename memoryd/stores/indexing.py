"""Late interaction beside the other indexes: which memory is encoded after which, and a token index that mends itself.

A turn of a stored conversation is read after the two turns before it: "She bought it" alone says nothing, and what "it" is
may have been said by the one who asked before. Statements of other kinds stand for themselves.
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
from memoryd.stores.markdown import MarkdownStore
from memoryd.stores.tokens import TokenEntry, TokenStore
from memoryd.stores.vector import Closeness, VectorStore

# Embedding in the background: a set of ids that wait, and one thread that works them off.

log = logging.getLogger(__name__)
BATCH = 64
RETRY_SECONDS = 30.0
TRIES = 5


class Checkable(Protocol):
    """A store that can be looked through for damage, and closed."""

    def check(self) -> None:
        """Read every page; raises IndexDamagedError when one is bad."""
        ...

    def close(self) -> None:
        """Close the store; its later use raises StoreError."""
        ...


StoreT = TypeVar("StoreT", bound=Checkable)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """State of the derived indexes. `waiting` memories have no vector yet."""

    memories: int
    active: int
    broken: tuple[str, ...]
    waiting: int
    embedder: str
    embedder_error: str
    rebuilt: tuple[str, ...]


class BackgroundIndexer:
    """Calls `work` with batches of ids. The thread starts with the first id and ends when idle.

    What waits is not kept on disk: at the next start the indexes are compared with the
    Markdown, and what is missing waits again.
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
        """Let the ids wait; an id that waits already is not added twice."""
        with self._condition:
            self._waiting.update(dict.fromkeys(ids))
            if self._waiting and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="memoryd-indexer", daemon=True)
                self._thread.start()

    def waiting(self) -> int:
        """How many ids have no vector yet."""
        with self._condition:
            return len(self._waiting) + self._busy

    def settle(self, timeout: float) -> bool:
        """Wait until nothing waits."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def finish_batch(self, timeout: float) -> bool:
        """Wait until the batch at hand is done, whatever else waits."""
        with self._condition:
            batch = self._batch
            return self._condition.wait_for(lambda: not self._busy or self._batch != batch, timeout)

    def close(self) -> None:
        """Stop after the batch at hand."""
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
        """True when the batch must be tried again."""
        try:
            self._work(batch)
        except EmbeddingError as error:
            self._on_error(error)
            return True
        except MemorydError as error:
            log.warning("Indexing failed and is tried again: %s", error)
            return True
        return False


class DerivedIndex(Generic[StoreT]):
    """A store made from the Markdown: one that proves to be damaged is dropped, made anew and filled again.

    `refill` is told the new store, and `rebuilt` the index's name. Safe to use from several threads: work that meets
    a store which another thread has just replaced is done again on the new one.
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
            self._tell(error)
            remove_database(self._path)
            return self._opener(self._path)

    def _tell(self, error: IndexDamagedError) -> None:
        log.warning("index %s is damaged and is rebuilt: %s", self._path.stem, error.message)
        self._rebuilt.append(self._path.stem)

    def use(self, work: Callable[[StoreT], T]) -> T:
        """What the work gives; after damage it is done again on the new store. Raises what the work raises else."""
        for _ in range(TRIES):
            store = self._store
            try:
                return work(store)
            except IndexDamagedError as error:
                if self._replace(store):
                    self._tell(error)
                    self._refill(self._store)
            except StoreError:
                with self._lock:  # another thread may be replacing it
                    if store is self._store:
                        raise
            except ODD_CONTENT as error:
                if not self._replace_if_damaged(store):
                    raise
                log.warning("reading index %s failed: %s", self._path.stem, type(error).__name__)
        return work(self._store)

    def _replace_if_damaged(self, store: StoreT) -> bool:
        """Whether what the work could not make sense of is damage; then the store is new and filled again."""
        try:
            store.check()
        except IndexDamagedError as error:
            if self._replace(store):
                self._tell(error)
                self._refill(self._store)
            return True
        return False

    def rebuild(self) -> None:
        """Begin anew from the Markdown."""
        self._replace(self._store)
        self._refill(self._store)

    def _replace(self, store: StoreT) -> bool:
        """Open a new store in the place of this one; False when another thread has done so."""
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


class MeaningIndex(DerivedIndex[VectorStore]):
    """The vectors, as the ranking asks them. Raises EmbeddingError."""

    def scores(self, query: Query, k: int) -> Mapping[str, float]:
        """Cosine by id of the nearest items, in their order."""
        return self.use(lambda store: store.scores(query, k))

    def score(self, text: str, ids: Sequence[str]) -> Mapping[str, float]:
        """Cosine of each item that has a vector."""
        return self.use(lambda store: store.score(text, ids))

    def compare(self, text: str, ids: Sequence[str]) -> Mapping[str, Closeness]:
        """The cosines of each item that has a vector, with its statement and with its keys."""
        return self.use(lambda store: store.compare(text, ids))

    def prepare(self, text: str) -> None:
        """Begin to embed a query."""
        self.use(lambda store: store.prepare(text))

    def query_vector(self, text: str) -> FloatArray:
        """The unit vector of a query."""
        return self.use(lambda store: store.query_vector(text))


def bring_in_step(
    markdown: MarkdownStore,
    held: Mapping[str, str],
    write: Callable[[Sequence[MemoryItem]], object],
    delete: Callable[[str], None],
) -> None:
    """Delete what an index holds (item digests by id) and the Markdown does not; write what differs, 500 at a time."""
    wanted = markdown.digests()
    for id in held.keys() - wanted.keys():
        delete(id)
    behind = sorted(id for id, digest in wanted.items() if held.get(id) != digest)
    for start in range(0, len(behind), 500):
        write(list(markdown.fetch(behind[start : start + 500]).values()))


SESSION_TURNS = 5_000
# Turns that a turn is read after: the second adds a point of recall at 10, a third next to nothing (docs/quality.md).
READ_BEFORE = 2
_DIGITS = re.compile(r"(\d+)")


def place_in_session(item: MemoryItem) -> tuple[datetime, list[tuple[int, str]], str]:
    """Sort key of the turns of a session: time, then the name of the first line with its numbers as numbers."""
    name = item.evidence.lines[0] if item.evidence.lines else ""
    parts = [(int(part), "") if part.isdecimal() else (0, part) for part in _DIGITS.split(name)]
    return item.created_at, parts, item.id


class LateIndex(DerivedIndex[TokenStore]):
    """The token index `tokens.db`. `enqueue` gets the ids that must be encoded; they come back to `write`."""

    def __init__(
        self,
        path: Path,
        encoder: TokenEncoder,
        markdown: MarkdownStore,
        enqueue: Callable[[Sequence[str]], None],
        rebuilt: list[str],
    ) -> None:
        """`rebuilt` is told the index's name when damage was found."""
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
        """Drop what is no longer there and let wait what is missing, changed or of another model."""
        self._enqueue(self.use(self._missing))

    def _missing(self, store: TokenStore) -> list[str]:
        held, wanted = store.digests(), self._markdown.digests()
        for id in held.keys() - wanted.keys():
            store.delete(id)
        return sorted(id for id, digest in wanted.items() if held.get(id) != digest)

    def write(self, items: Mapping[str, MemoryItem]) -> None:
        """Encode the items, and turns that now have others before them. Raises EmbeddingError."""
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
                if item.id in changed or (item.id in stored and any(one.id in changed for one in before)):
                    out.append(_entry(item, before))
        return out

    def delete(self, id: str) -> None:
        """Remove a memory's vectors."""
        self.use(lambda store: store.delete(id))

    def prepare(self, text: str) -> None:
        """Begin to encode a query for `matches`, which waits for it."""
        self.use(lambda store: store.prepare(text))

    def matches(self, text: str, ids: Sequence[str], weight: Callable[[str], float]) -> dict[str, FloatArray]:
        """See TokenStore.matches; nothing while the index is rebuilt. Raises EmbeddingError."""
        return self.use(lambda store: store.matches(text, ids, weight))

    def linked(self) -> bool:
        """Whether there are turns that follow others, so that `neighbours` tells anything."""
        return self.use(lambda store: store.linked())

    def neighbours(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """For each memory with vectors the ids of those said just before and just after in its session; empty: none."""
        return self.use(lambda store: store.neighbours(ids))

    def warm(self) -> None:
        """Load the model. Raises EmbeddingError."""
        self._encoder.encode_query("warm")


def _is_moved(item: MemoryItem, before: Sequence[MemoryItem], stored: Mapping[str, str]) -> bool:
    """Whether the turn is stored as one that follows another."""
    return item.id in stored and stored[item.id] != (before[-1].id if before else "")


def _entry(item: MemoryItem, before: Sequence[MemoryItem]) -> TokenEntry:
    last = before[-1].id if before else ""
    return TokenEntry(item.id, item_digest(item), item.content, last, " ".join(one.content for one in before), keys_of(item))
