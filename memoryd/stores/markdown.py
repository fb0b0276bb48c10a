"""The Markdown store: one file for each memory, and a literal index beside it. The files are the truth.

Each write goes to the file first, durably, and to the index after it; what a crash leaves
between the two is found by `sync`. Any number of processes may use one home folder: changes are
made under a file lock, and all of them read the same index.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from memoryd import codec
from memoryd.db import ODD_CONTENT, remove_database
from memoryd.errors import BrokenFileError, IndexDamagedError, InputError, StoreError
from memoryd.files import STAGED, locked
from memoryd.paths import Paths
from memoryd.protocols import Clock
from memoryd.stores import inverted, memory_file
from memoryd.stores.browse import Key, page_of, projects_of, span_of
from memoryd.stores.file_writer import FileWriter
from memoryd.stores.literal import Entry, Known, LiteralIndex
from memoryd.stores.scan import look, relative_paths, remove_stale_temporaries
from memoryd.stores.sync import Synchroniser, SyncReport
from memoryd.stores.trash import Trash
from memoryd.types import Hit, MemoryItem, Query

__all__ = ["MarkdownStore", "SyncReport"]

log = logging.getLogger(__name__)
INDEX_NAME = "literal.db"
_CHUNK = 1_000
_STALE_SECONDS = 3_600
_TRIES = 5
T = TypeVar("T")


class MarkdownStore:
    """A MemoryStore over Markdown files. Safe to share between threads and processes.

    The index is opened at the first use; when it is missing, damaged or of another version it is
    rebuilt from the files, which takes about 0.5 ms for each.
    """

    def __init__(self, paths: Paths, clock: Clock) -> None:
        self._paths = paths
        self._clock = clock
        self._root = paths.memories
        self._writer = FileWriter(paths.memories)
        self._trash = Trash(paths.memories, paths.trash)
        self._index: LiteralIndex | None = None
        self._backlog: dict[str, str | None] = {}
        self._mutex = threading.RLock()
        self._depth = 0
        self._tidied = False

    # Locking, and the life of the index

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        with self._mutex, contextlib.ExitStack() as stack:
            if self._depth == 0:
                stack.enter_context(locked(self._paths.state_db.with_name("memories.lock")))
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    def _open(self) -> LiteralIndex:
        index = self._index
        if index is not None and index.in_place():
            return index
        with self._exclusive():
            index = self._index
            if index is not None and index.in_place():
                return index
            self.close()
            try:
                index = self._load()
            except IndexDamagedError as error:
                log.warning("The literal index is rebuilt: %s", error.message)
                remove_database(self._paths.index / INDEX_NAME)
                index = self._load()
            self._index = index
            return index

    def _load(self) -> LiteralIndex:
        index = LiteralIndex(self._paths.index / INDEX_NAME)
        try:
            if not index.fact("complete"):
                self._catch_up(index, "")
                index.set_fact("complete", 1)
        except BaseException:
            index.close()
            raise
        return index

    def _use(self, work: Callable[[LiteralIndex], T]) -> T:
        """Run the work on the index; when the index proves to be damaged, rebuild it and run it again.

        It is run again too when another thread has made the index anew meanwhile, which closes the old one.
        """
        for _ in range(_TRIES):
            index = self._open()
            try:
                return work(index)
            except BrokenFileError:
                raise
            except StoreError as error:
                if index is self._index:
                    if not _is_damaged(index, error):
                        raise
                    log.warning("The literal index is rebuilt: %s", error.message)
                    self.rebuild()
            except ODD_CONTENT as error:
                if not _has_bad_page(index):
                    raise
                log.warning("The literal index is rebuilt: %s", type(error).__name__)
                self.rebuild()
        return work(self._open())

    def rebuild(self) -> None:
        """Throw the index away and make it anew from the files."""
        with self._exclusive():
            self.close()
            remove_database(self._paths.index / INDEX_NAME)
            self._open()

    def close(self) -> None:
        """Close the index; the next use opens it again."""
        with self._mutex:
            index, self._index = self._index, None
            if index is not None:
                index.close()

    # MemoryStore

    def write(self, item: MemoryItem) -> str:
        """Store the item and return its id. See MemoryStore.

        When the file was edited by hand since it was indexed, the edit is kept in all fields that this
        write does not change. Raises InputError for what can't be stored, BrokenFileError when the
        file at hand can't be parsed, StoreError when the disk refuses.
        """
        return self.write_many([item])[0]

    def write_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Store items, each durably, with one index transaction per thousand; their ids in order."""
        ready = [_checked(item) for item in items]
        ids: list[str] = []
        for start in range(0, len(ready), _CHUNK):
            chunk = ready[start : start + _CHUNK]
            with self._exclusive():
                ids += self._write_chunk(chunk)
        return ids

    def get(self, id: str) -> MemoryItem | None:
        """The item, or None."""
        return self._use(lambda index: index.get(id))

    def fetch(self, ids: Sequence[str], query: Query | None = None) -> dict[str, MemoryItem]:
        """The items that exist (and pass the query's filters), by id."""
        return self._use(lambda index: index.fetch(ids, query))

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """At most k hits, best first; `parts` hold `bm25` (the score) and `coverage`, see LiteralSearch."""
        return self._use(lambda index: index.search(query, k))

    def scores(self, query: Query, k: int = 8) -> dict[str, float]:
        """BM25 by id of what `search` finds for a text, in its order."""
        return self._use(lambda index: index.scores(query, k))

    def holds(self, query: Query) -> bool:
        """False when no item can pass the query's filters; its text is not looked at."""
        return self._use(lambda index: index.holds(query))

    def count(self, query: Query) -> int:
        """How many items pass the query's filters."""
        return self._use(lambda index: index.count(query))

    def page(self, query: Query, k: int, after: Key | None = None) -> list[MemoryItem]:
        """The newest items that pass the filters, those behind `after` in that order; the text is ignored."""
        return self._use(lambda index: page_of(index.db, query, k, after))

    def tally(self, query: Query) -> list[tuple[str, str, int]]:
        """(kind, status, number) of the items that pass the filters."""
        return self._use(lambda index: index.tally(query))

    def projects(self) -> dict[str, int]:
        """How many items each project has, whatever their status."""
        return self._use(lambda index: projects_of(index.db))

    def span(self) -> tuple[datetime | None, datetime | None]:
        """When the oldest and the newest item were made."""
        return self._use(lambda index: span_of(index.db))

    def fingerprint(self, id: str) -> str:
        """SHA-256 of the item's file as it is now, edits that were not taken over yet included; empty when there is none."""
        path = self.path_of(id)
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""
        except FileNotFoundError:
            return ""

    def document_frequency(self, word: str) -> int:
        """In how many items the word occurs, by its stem."""
        return self._use(lambda index: index.document_frequency(word))

    def size(self) -> int:
        """How many items there are, whatever their status."""
        return self._use(LiteralIndex.size)

    def all(self) -> Iterator[MemoryItem]:
        """Every item, ordered by id."""
        last = ""
        while page := self._use(lambda index, last=last: index.page_after(last)):  # type: ignore[misc]
            yield from page
            last = page[-1].id

    def delete(self, id: str) -> None:
        """Move the item's file to the trash; absent is fine."""
        with self._exclusive():
            self._use(lambda index: self._delete(index, id))

    def purge(self, id: str) -> bool:
        """Delete the item's file and all copies in the trash; whether there were any."""
        with self._exclusive():
            found = False
            while self.get(id) is not None:  # a file that was put aside since it holds the same id takes its place
                self.delete(id)
                found = True
            return self._trash.erase(id) or found

    def scrub(self) -> None:
        """Overwrite what the index still holds of deleted and replaced texts, and bring `inverted_index.json` up to date."""
        with self._exclusive():
            self.flush()
            self._use(LiteralIndex.scrub)

    def restore(self, id: str) -> MemoryItem | None:
        """Bring the newest trashed copy back. A memory that is still there is left as it is and returned.

        None when there is no copy; StoreError when another file has taken its place.
        """
        with self._exclusive():
            return self._use(lambda index: self._restore(index, id)) if codec.is_id(id) else None

    # Beside it

    def sync(self, changed: Iterable[Path] | None = None) -> SyncReport:
        """Bring the index in step with the files: all of them, or those under the changed paths.

        The first report after the index was made anew tells of every item.
        """
        targets = [""] if changed is None else relative_paths(self._root, changed)
        return self._use(lambda index: self._sync(index, targets))

    def path_of(self, id: str) -> Path | None:
        """Where the item's file lies."""
        known = self._use(lambda index: index.file_of(id))
        return self._root / known.path if known else None

    def digests(self) -> dict[str, str]:
        """Digest of each item's value by id, to find other indexes that are behind."""
        return self._use(lambda index: index.digests())

    def broken(self) -> list[BrokenFileError]:
        """Files that can't be read, by path, as of the last sync."""
        return [self._broken_error(*row) for row in self._use(lambda index: index.broken())]

    def last_sync(self) -> datetime | None:
        """When the whole folder was last compared with the index."""
        seconds = self._use(lambda index: index.fact("synced"))
        return datetime.fromtimestamp(seconds, UTC) if seconds else None

    def flush(self) -> None:
        """Write `inverted_index.json` when memories changed since the last time."""
        self._use(self._flush)

    # Writing

    def _write_chunk(self, items: Sequence[MemoryItem]) -> list[str]:
        written: list[Entry] = []

        def work(index: LiteralIndex) -> None:
            # Files that are written stay so when the index breaks in between: the second run goes on behind them.
            named = {entry.item.id for entry in written}
            try:
                for batch in _batches(items[len(written) :]):
                    if any(item.id in named for item in batch):
                        index.put(written)
                    for entry in self._writer.write_all(index, batch, lambda id: self._find(index, id)):
                        written.append(entry)
                        named.add(entry.item.id)
            finally:  # also when a later item can't be written
                self._writer.settle(written)
                if fresh := _unknown(index, written):
                    index.put(fresh)

        self._use(work)
        return [entry.item.id for entry in written]

    def _find(self, index: LiteralIndex, id: str) -> Known | None:
        """Where the file is; one that was moved by hand is looked for."""
        known = index.file_of(id) if id else None
        if known is not None and look(self._root / known.path) is None:
            self._catch_up(index, "")
            known = index.file_of(id)
        return known

    # Deleting

    def _delete(self, index: LiteralIndex, id: str) -> None:
        known = self._find(index, id)
        if known is None:
            return
        self._trash.put(known.path)
        index.remove([id])
        Synchroniser(self._root, index, self._exclusive).release(id)

    def _restore(self, index: LiteralIndex, id: str) -> MemoryItem | None:
        if live := index.get(id):
            return live
        copy = self._trash.newest(id)
        if copy is None:
            return None
        path, relative = copy
        if (self._root / relative).exists():
            raise StoreError(f"{self._root / relative} is taken by another file.", fix="Move that file away and try again.")
        self._trash.take(path, relative)
        self._catch_up(index, relative)
        self._backlog.pop(id, None)
        return index.get(id)

    # The rest

    def _sync(self, index: LiteralIndex, targets: Sequence[str]) -> SyncReport:
        run = Synchroniser(self._root, index, self._exclusive)
        run.before, self._backlog = {**self._backlog}, {}
        run.run(targets)
        report = run.report()
        if "" not in targets:
            return report
        now = self._clock.now().timestamp()
        index.set_fact("synced", int(now))
        if not self._tidied:  # once is enough: only a killed process leaves temporaries
            remove_stale_temporaries(self._root, now - _STALE_SECONDS)
            self._tidied = True
        return replace(report, broken=tuple(self._broken_error(*row) for row in index.broken()))

    def _catch_up(self, index: LiteralIndex, target: str) -> None:
        """A sync that nobody asked for; the next report tells of it."""
        run = Synchroniser(self._root, index, self._exclusive)
        run.run([target])
        self._backlog = {**run.before, **self._backlog}

    def _broken_error(self, path: str, line: int, problem: str, fix: str) -> BrokenFileError:
        error = BrokenFileError(str(self._root / path), line, problem)
        error.fix = fix
        return error

    def _flush(self, index: LiteralIndex) -> None:
        revision = index.fact("revision")
        if revision != index.fact("flushed") or index.fact("inverted") != inverted.fingerprint(self._root):
            inverted.write(self._root, index.active_texts())
            index.set_fact("flushed", revision)
            index.set_fact("inverted", inverted.fingerprint(self._root))


def _checked(item: MemoryItem) -> MemoryItem:
    if item.id and not codec.is_id(item.id):
        raise InputError(f"'{item.id}' is not a memory id.", fix="Ids look like mem_0123456789ab; leave it empty for a new one.")
    return memory_file.storable(item)


def _batches(items: Sequence[MemoryItem]) -> Iterator[list[MemoryItem]]:
    """Runs of items that can be written together: none of them twice."""
    batch: list[MemoryItem] = []
    ids: set[str] = set()
    for item in items:
        if len(batch) == STAGED or item.id in ids:
            yield batch
            batch, ids = [], set()
        batch.append(item)
        ids |= {item.id} - {""}
    if batch:
        yield batch


def _unknown(index: LiteralIndex, entries: Sequence[Entry]) -> list[Entry]:
    """Those that the index does not hold as they are (at most a thousand)."""
    known = index.known_of([entry.path for entry in entries])
    return [entry for entry in entries if known.get(entry.path) != Known(entry.path, entry.stamp, entry.item.id, entry.hash)]


def _has_bad_page(index: LiteralIndex) -> bool:
    try:
        index.db.check()
    except StoreError:
        return True
    return False


def _is_damaged(index: LiteralIndex, error: StoreError) -> bool:
    if isinstance(error, IndexDamagedError):
        return True
    try:
        index.check_schema()
    except StoreError:
        return True
    return False
