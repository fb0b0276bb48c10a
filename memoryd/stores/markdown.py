"""Markdown store: one file per memory, the source of truth, with a full-text index next to it.

Each write goes to the file first, durably, and then to the index. `sync` repairs the index after a crash in between.
Any number of processes may use one home folder. Changes are made under a file lock, and all processes read the same
index.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

import orjson

from memoryd.core import codec
from memoryd.core.db import ODD_CONTENT, remove_database
from memoryd.core.errors import BrokenFileError, IndexDamagedError, StoreError
from memoryd.core.files import (
    STAGED,
    create_exclusive,
    files_below,
    locked,
    make_private_dir,
    replace_all,
    staged,
    sync_dir,
    sync_dirs,
    write_atomic,
)
from memoryd.core.paths import Paths
from memoryd.core.protocols import Clock
from memoryd.core.text import keywords
from memoryd.core.types import Hit, LinkType, MemoryItem, Query
from memoryd.stores import memory_file
from memoryd.stores.fulltext import (
    FullTextIndex,
    IndexedFile,
    IndexedRecord,
    ListPosition,
    Stamp,
    checked_of,
    page_of,
    projects_of,
    span_of,
)
from memoryd.stores.layout import SUFFIX, canonical_path, home_folder, is_at_home, is_named_after, old_path
from memoryd.stores.memory_file import MemoryFile, StoredFile
from memoryd.stores.sync import Synchroniser, SyncReport, content_hash, look, relative_paths, remove_stale_temporaries

# Trash: deleted memory files. They keep their relative path so that they can be restored.

_NUMBER = re.compile(r"\.~(\d+)~\.md\Z", re.IGNORECASE)


class Trash:
    """Stores deleted files under `root`, each at its former relative path.

    If a name is taken, `.~2~`, `.~3~` … is added before the suffix.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder

    def put(self, relative: str) -> Path:
        """Move a memory file to the trash. Return its new path."""
        target = self._folder / relative
        number = 1
        while target.exists():
            number += 1
            target = (self._folder / relative).with_name(f"{Path(relative).stem}.~{number}~{SUFFIX}")
        source = self._root / relative
        move(source, target)
        remove_empty_parents(source, self._root)
        return target

    def newest(self, id: str) -> tuple[Path, str] | None:
        """Return the most recently deleted copy of this memory and its former relative path."""
        copies = [copy for copy in self._copies(f"*{id}*{SUFFIX}") if self._id(*copy) == id]
        # Files of other tools can have any name, so every copy must be read.
        copies = copies or [copy for copy in self._copies(f"*{SUFFIX}") if self._id(*copy) == id]
        return max(copies, key=lambda copy: (copy[0].stat().st_ctime_ns, _number(copy[0])), default=None)

    def take(self, copy: Path, relative: str) -> None:
        """Move a copy back to its original path."""
        move(copy, self._root / relative)
        remove_empty_parents(copy, self._folder)

    def erase(self, id: str) -> bool:
        """Delete every copy of this memory. Return whether there was one."""
        found = [path for path, relative in self._copies(f"*{SUFFIX}") if id in path.name or self._id(path, relative) == id]
        for path in found:
            path.unlink(missing_ok=True)
            remove_empty_parents(path, self._folder)
        return bool(found)

    def items(self) -> Iterator[MemoryItem]:
        """Yield the memories in the trash, in order of path. Files that can't be read are skipped."""
        for path, relative in self._copies(f"*{SUFFIX}"):
            with contextlib.suppress(BrokenFileError, OSError):
                yield memory_file.read(path.read_bytes(), str(path), relative, 0).item

    def _copies(self, pattern: str) -> Iterator[tuple[Path, str]]:
        for path in sorted(files_below(self._folder)):
            if fnmatchcase(path.name, pattern) and path.is_file():
                yield path, _NUMBER.sub(SUFFIX, path.relative_to(self._folder).as_posix())

    def _id(self, path: Path, relative: str) -> str:
        try:
            return memory_file.read(path.read_bytes(), str(path), relative, 0).item.id
        except BrokenFileError:
            return ""  # An older copy that someone edited: keep it, but never restore it.


def _number(path: Path) -> int:
    match = _NUMBER.search(path.name)
    return int(match[1]) if match else 1


def move(source: Path, target: Path) -> None:
    """Move a file durably within one file system.

    Raises:
        StoreError: The file can't be moved.
    """
    try:
        make_private_dir(target.parent)
        source.rename(target)
        sync_dir(target.parent)
        sync_dir(source.parent)
    except OSError as error:
        raise StoreError(f"Can't move {source} to {target}: {error.strerror}.", fix="Check the permissions.") from error


def remove_empty_parents(path: Path, root: Path) -> None:
    """Remove the folders left empty by a move, up to the root."""
    for folder in path.parents:
        if folder == root or not folder.is_relative_to(root):
            return
        with contextlib.suppress(OSError):  # The folder is not empty or is in use.
            folder.rmdir()
            continue
        return


# File writer: creates new files exclusively and replaces existing ones.

_WRITE_TRIES = 100
MAX_RELATED = 50


@dataclass(frozen=True, slots=True)
class _Plan:
    """A planned write of a file. `old` is the stamp of the file to replace."""

    item: MemoryItem
    path: str
    data: bytes
    old: Stamp | None = None


class FileWriter:
    """Writes files below one folder. The caller holds the store's lock and records the entries in the index."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.renamed: set[str] = set()  # memories whose files have new names, to which links in other files must lead

    def write_all(
        self, index: FullTextIndex, items: Sequence[MemoryItem], find: Callable[[str], IndexedRecord | None]
    ) -> Iterator[IndexedFile]:
        """Write items with distinct ids in order like `write`, but sync their files together."""
        plans = [self._plan(index, item, find(item.id)) for item in items] if len(items) > 1 else [None]
        files = [(self._root / plan.path, plan.data) for plan in plans if plan]
        with staged(files) as temporaries:
            ready = iter(temporaries)
            for item, plan in zip(items, plans, strict=True):
                entry = self._publish(plan, next(ready)) if plan else None
                yield entry or self.write(index, item, find(item.id))

    def _plan(self, index: FullTextIndex, item: MemoryItem, known: IndexedRecord | None) -> _Plan | None:
        """Prepare a simple write.

        Return None if the file must be moved or can't be read. `write` handles these cases.
        """
        if known is None:
            named = item if item.id else replace(item, id=self._free_id(index))
            return _Plan(named, canonical_path(named), memory_file.render(named, _related(index, named)))
        with contextlib.suppress(StoreError):
            old = look(self._root / known.path)
            item, relative, changed, data = self._changed(index, item, known)
            if relative == known.path and changed != data and old is not None:
                return _Plan(item, relative, changed, old)
        return None

    def _publish(self, plan: _Plan, ready: Path | None) -> IndexedFile | None:
        """Write a prepared file.

        Return None if the name is taken or the old file was edited. The item must then be written individually.
        """
        target = self._root / plan.path
        if ready is None or look(target) != plan.old:
            return None
        if plan.old is not None:
            write_atomic(target, plan.data, ready=ready, sync_folder=False)
        elif not create_exclusive(target, plan.data, ready=ready, sync_folder=False):
            return None
        return self._entry(plan.item, plan.path, plan.data)

    def write(self, index: FullTextIndex, item: MemoryItem, known: IndexedRecord | None) -> IndexedFile:
        """Write one item and return its entry for the index. `known` is the index's record of the item's existing file.

        The name of a new file is durable only after `settle`. Raises the same errors as MarkdownStore.write.
        """
        if not item.id:
            return self._create(index, item)
        if known is None:
            relative = canonical_path(item)
            data = memory_file.render(item, _related(index, item))
            if create_exclusive(self._root / relative, data, sync_folder=False):
                return self._entry(item, relative, data)
            known = IndexedRecord(relative, _no_stamp(), item.id)
        return self._change(index, item, known)

    def _create(self, index: FullTextIndex, item: MemoryItem) -> IndexedFile:
        for _ in range(_WRITE_TRIES):
            named = replace(item, id=self._free_id(index))
            relative = canonical_path(named)
            data = memory_file.render(named, _related(index, named))
            if create_exclusive(self._root / relative, data, sync_folder=False):
                return self._entry(named, relative, data)
        raise _no_free_id()

    def _free_id(self, index: FullTextIndex) -> str:
        for _ in range(_WRITE_TRIES):
            if index.file_of(id := codec.new_id()) is None:
                return id
        raise _no_free_id()

    def _changed(self, index: FullTextIndex, item: MemoryItem, known: IndexedRecord) -> tuple[MemoryItem, str, bytes, bytes]:
        """Return the item merged with manual edits, the new path of its file, the new bytes and the current bytes."""
        data, file = self._read(known.path)
        if file.item.id != item.id:
            raise StoreError(f"{self._root / known.path} contains the memory {file.item.id}.", fix="Run 'memoryd reindex'.")
        if known.hash and known.hash != content_hash(data):
            item = _merged(index.get(item.id), file.item, item)
        relative = self._new_place(file, item, known.path)
        related = _related(index, item)
        return item, relative, memory_file.update(file, item, str(self._root / relative), relative, related), data

    def _change(self, index: FullTextIndex, item: MemoryItem, known: IndexedRecord) -> IndexedFile:
        item, relative, changed, data = self._changed(index, item, known)
        if relative != known.path:
            # Move the file before changing its content. A crash in between then leaves the old memory intact at its new path.
            move(self._root / known.path, self._root / relative)
            remove_empty_parents(self._root / known.path, self._root)
        if changed != data:
            write_atomic(self._root / relative, changed)
        return self._entry(item, relative, changed)

    def _new_place(self, file: MemoryFile, item: MemoryItem, relative: str) -> str:
        """Return the new path of the file. A file that a person placed elsewhere stays there."""
        if not is_at_home(relative, file.item):
            return relative
        ours = relative == old_path(file.item) or is_named_after(relative, file.item)
        target = canonical_path(item) if ours else f"{home_folder(item)}/{relative.rpartition('/')[2]}"
        if target == relative or (self._root / target).exists():
            return relative
        self.renamed.add(item.id)
        return target

    def _read(self, relative: str) -> tuple[bytes, MemoryFile]:
        path = self._root / relative
        try:
            data = path.read_bytes()
            mtime_ns = path.stat().st_mtime_ns
        except OSError as error:
            raise StoreError(f"Can't read {path}: {error.strerror}.", fix="Check the file's permissions.") from error
        return data, memory_file.read(data, str(path), relative, mtime_ns)

    def _entry(self, item: MemoryItem, relative: str, data: bytes) -> IndexedFile:
        return IndexedFile(item, relative, look(self._root / relative) or _no_stamp(), content_hash(data))

    def correct_links(self, index: FullTextIndex, item: MemoryItem) -> IndexedFile | None:
        """Write the wiki links of an item's file again. Return its entry, or None if nothing had to be changed."""
        known = index.file_of(item.id)
        if known is None:
            return None
        with contextlib.suppress(StoreError):  # the file was edited or removed, and is left to the next sync
            data, file = self._read(known.path)
            if known.hash == content_hash(data):
                changed = memory_file.with_links(file, _related(index, item), str(self._root / known.path), known.path)
                if changed != data:
                    write_atomic(self._root / known.path, changed)
                    return self._entry(item, known.path, changed)
        return None

    def settle(self, entries: Iterable[IndexedFile]) -> None:
        """Make the names of new files durable."""
        latest = {entry.item.id: entry.path for entry in entries}  # A file that was moved twice no longer needs its first folder.
        try:
            sync_dirs(sorted({(self._root / path).parent for path in latest.values()}))
        except OSError as error:
            raise StoreError(f"Can't write: {error}.", fix="Check free space and permissions.") from error


def _related(index: FullTextIndex, item: MemoryItem) -> list[str]:
    """Return wiki links to the files of the memories that the item is linked with."""
    targets = dict.fromkeys(link.target for link in item.links if link.type is not LinkType.MENTIONS)
    files = [index.file_of(id) for id in [*targets, *([item.supersedes] if item.supersedes else [])][:MAX_RELATED]]
    return list(dict.fromkeys(memory_file.wiki_link(file.path) for file in files if file is not None))


def _no_free_id() -> StoreError:
    return StoreError("Could not find a free memory id.", fix="Check the system's random number source and try again.")


def _no_stamp() -> Stamp:
    return Stamp(0, 0, 0)


def _merged(base: MemoryItem | None, disk: MemoryItem, wanted: MemoryItem) -> MemoryItem:
    """Return the wanted item with the manual edits since `base`, except in fields that both have changed."""
    if base is None:
        return wanted
    untouched = [field.name for field in fields(wanted) if getattr(wanted, field.name) == getattr(base, field.name)]
    return replace(wanted, **{name: getattr(disk, name) for name in untouched})


# `inverted_index.json` maps keywords to file paths, for people and other tools. memoryd never reads this file. It is beside the
# other indexes, so that the vault holds only memories.

NAME = "inverted_index.json"


def build(texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Map sorted keywords to sorted paths, given (path, text) pairs."""
    index: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in texts:
        for word in keywords(text):
            index[word].append(path)
    return {word: sorted(index[word]) for word in sorted(index)}


def fingerprint(folder: Path) -> int:
    """Return a number that identifies the file's bytes and fits an SQLite integer, or 0 if there is no file."""
    try:
        with (folder / NAME).open("rb") as stream:
            return int.from_bytes(hashlib.file_digest(stream, "sha256").digest()[:7], "big") + 1
    except OSError:
        return 0


def write(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Write the file atomically."""
    write_atomic(folder / NAME, orjson.dumps(build(texts), option=orjson.OPT_INDENT_2))


__all__ = ["MarkdownStore", "SyncReport"]

log = logging.getLogger(__name__)
INDEX_NAME = "literal.db"
_CHUNK = 1_000
_STALE_SECONDS = 3_600
_TRIES = 5
T = TypeVar("T")


class MarkdownStore:
    """A MemoryStore over Markdown files, which threads and processes can share safely.

    The index is opened on first use. A missing, damaged or outdated index is rebuilt from the files, which takes about
    0.5 ms per file.
    """

    def __init__(self, paths: Paths, clock: Clock) -> None:
        self._paths = paths
        self._clock = clock
        self._root = paths.memories
        self._writer = FileWriter(paths.memories)
        self._trash = Trash(paths.memories, paths.trash)
        self._index: FullTextIndex | None = None
        self._backlog: dict[str, str | None] = {}
        self._misnamed: dict[str, str] = {}
        self._mutex = threading.RLock()
        self._depth = 0
        self._tidied = False

    # Locking and index lifecycle

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

    def _open(self) -> FullTextIndex:
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
                log.warning("Rebuilding the full-text index: %s", error.message)
                remove_database(self._paths.index / INDEX_NAME)
                index = self._load()
            self._index = index
            return index

    def _load(self) -> FullTextIndex:
        index = FullTextIndex(self._paths.index / INDEX_NAME)
        try:
            if not index.fact("complete"):
                self._catch_up(index, "")
                index.set_fact("complete", 1)
        except BaseException:
            index.close()
            raise
        return index

    def _use(self, work: Callable[[FullTextIndex], T]) -> T:
        """Run `work` on the index. If the index is damaged, rebuild it and retry.

        The work is also retried if another thread has replaced the index in the meantime, which closes the old one.
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
                    log.warning("Rebuilding the full-text index: %s", error.message)
                    self.rebuild()
            except ODD_CONTENT as error:
                if not _has_bad_page(index):
                    raise
                log.warning("Rebuilding the full-text index: %s", type(error).__name__)
                self.rebuild()
        return work(self._open())

    def rebuild(self) -> None:
        """Discard the index and rebuild it from the files."""
        with self._exclusive():
            self.close()
            remove_database(self._paths.index / INDEX_NAME)
            self._open()

    def close(self) -> None:
        """Close the index. It is reopened on next use."""
        with self._mutex:
            index, self._index = self._index, None
            if index is not None:
                index.close()

    # MemoryStore

    def write(self, item: MemoryItem) -> str:
        """Store the item and return its id (see MemoryStore).

        If the file was edited manually since it was indexed, the edit is kept in all fields that this write does not change.

        Raises:
            InputError: The item can't be stored.
            BrokenFileError: The existing file can't be parsed.
            StoreError: The file can't be written.
        """
        return self.write_many([item])[0]

    def write_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Store items durably, in one index transaction per thousand. Return their ids in order."""
        ready = [memory_file.checked(item) for item in items]
        ids: list[str] = []
        for start in range(0, len(ready), _CHUNK):
            chunk = ready[start : start + _CHUNK]
            with self._exclusive():
                ids += self._write_chunk(chunk)
        return ids

    def get(self, id: str) -> MemoryItem | None:
        """Return the item, or None if it does not exist."""
        return self._use(lambda index: index.get(id))

    def fetch(self, ids: Sequence[str], query: Query | None = None) -> dict[str, MemoryItem]:
        """Return the items that exist and pass the query's filters, by id."""
        return self._use(lambda index: index.fetch(ids, query))

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Return up to k hits, best first. `parts` contains `bm25` (the score) and `coverage` (see FullTextSearch)."""
        return self._use(lambda index: index.search(query, k))

    def scores(self, query: Query, k: int = 8) -> dict[str, float]:
        """Return the BM25 scores by id, in order, of the hits that `search` would return for a text."""
        return self._use(lambda index: index.scores(query, k))

    def holds(self, query: Query) -> bool:
        """Return False if no item can pass the query's filters, whatever its text."""
        return self._use(lambda index: index.holds(query))

    def count(self, query: Query) -> int:
        """Return the number of items that pass the query's filters."""
        return self._use(lambda index: index.count(query))

    def page(self, query: Query, k: int, after: ListPosition | None = None) -> list[MemoryItem]:
        """Return the newest items that pass the filters, starting after the key `after`. The query's text is ignored."""
        return self._use(lambda index: page_of(index.db, query, k, after))

    def checked(self) -> list[MemoryItem]:
        """Return the items that have a check."""
        return self._use(lambda index: checked_of(index.db))

    def tally(self, query: Query) -> list[tuple[str, str, int]]:
        """Return (kind, status, count) of the items that pass the filters."""
        return self._use(lambda index: index.tally(query))

    def projects(self) -> dict[str, int]:
        """Return the number of items per project, whatever their status."""
        return self._use(lambda index: projects_of(index.db))

    def span(self) -> tuple[datetime | None, datetime | None]:
        """Return the creation times of the oldest and the newest item."""
        return self._use(lambda index: span_of(index.db))

    def fingerprint(self, id: str) -> str:
        """Return the SHA-256 of the item's file on disk, including edits that are not indexed yet.

        Returns an empty string if there is no file.
        """
        path = self.path_of(id)
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""
        except FileNotFoundError:
            return ""

    def file_of(self, id: str) -> StoredFile | None:
        """Return the item's file with its content on disk, including edits that are not indexed yet."""
        path = self.path_of(id)
        if path is None or not path.is_file():
            return None
        return StoredFile(path.relative_to(self._root).as_posix(), path.read_bytes(), path.stat().st_mtime_ns)

    def read_file(self, relative: str) -> bytes | None:
        """Return the content of a file below the memories folder, or None if it does not exist."""
        try:
            return (self._root / relative).read_bytes()
        except FileNotFoundError:
            return None

    def put_files(self, files: Mapping[str, bytes | None], mtimes_ns: Mapping[str, int]) -> list[Path]:
        """Write these contents. None deletes the file. Return the paths for `sync` to index.

        Raises:
            StoreError: A file can't be written.
        """
        replace_all([(self._root / path, data) for path, data in sorted(files.items()) if data is not None])
        for path, mtime_ns in mtimes_ns.items():
            os.utime(self._root / path, ns=(mtime_ns, mtime_ns))
        for path in sorted(path for path, data in files.items() if data is None):
            (self._root / path).unlink(missing_ok=True)
            remove_empty_parents(self._root / path, self._root)
        return [self._root / path for path in files]

    def document_frequency(self, word: str) -> int:
        """Return the number of items that contain the word's stem."""
        return self._use(lambda index: index.document_frequency(word))

    def size(self) -> int:
        """Return the number of items of any status."""
        return self._use(FullTextIndex.size)

    def all(self) -> Iterator[MemoryItem]:
        """Yield every item, ordered by id."""
        last = ""
        while page := self._use(lambda index, last=last: index.page_after(last)):  # type: ignore[misc]
            yield from page
            last = page[-1].id

    def delete(self, id: str) -> None:
        """Move the item's file to the trash, if it exists."""
        with self._exclusive():
            self._use(lambda index: self._delete(index, id))

    def purge(self, id: str) -> bool:
        """Delete the item's file and all copies in the trash. Return whether there were any.

        The next `tidy_names` removes the links to it, which contain its title, from other files.
        """
        with self._exclusive():
            found = False
            self._writer.renamed.add(id)
            while self.get(id) is not None:  # A duplicate that was set aside takes the place of the deleted file.
                self.delete(id)
                found = True
            return self._trash.erase(id) or found

    def in_trash(self) -> list[MemoryItem]:
        """Return the memories in the trash."""
        return list(self._trash.items())

    def scrub(self) -> None:
        """Erase the remains of deleted and replaced texts, and update `inverted_index.json`."""
        with self._exclusive():
            self.flush()
            self._use(FullTextIndex.scrub)

    def restore(self, id: str) -> MemoryItem | None:
        """Restore the newest copy from the trash and return its item. An existing memory is returned unchanged.

        Returns None if there is no copy.

        Raises:
            StoreError: Another file has taken its path.
        """
        with self._exclusive():
            return self._use(lambda index: self._restore(index, id)) if codec.is_id(id) else None

    def rename_old(self) -> int:
        """Give files that are named by their id alone a name that begins with the statement. Return their number.

        A file that a person renamed or moved is left alone, and so is a name that is taken. The index of words that earlier
        versions kept in the vault is removed.
        """
        with self._exclusive():
            (self._root / NAME).unlink(missing_ok=True)
            return self._use(self._rename_old)

    def _rename_old(self, index: FullTextIndex) -> int:
        moved: list[str] = []
        last = ""
        while page := index.page_after(last):
            last = page[-1].id
            for item in page:
                known = index.file_of(item.id)
                if known is not None and known.path == old_path(item):
                    moved += self._rename(item)
        self._take_over(index, moved)
        return len(moved) // 2

    def _rename(self, item: MemoryItem, old: str = "") -> list[str]:
        """Give a file its present name, unless that is taken. Return its paths before and after."""
        source, target = old or old_path(item), canonical_path(item)
        if source == target or not (self._root / source).is_file() or (self._root / target).exists():
            return []
        (self._root / source).rename(self._root / target)
        return [source, target]

    def _take_over(self, index: FullTextIndex, moved: Sequence[str]) -> None:
        """Index files that were renamed."""
        sync_dirs(sorted({(self._root / path).parent for path in moved}))
        self._catch_up(index, *moved)

    def tidy_names(self, settled_seconds: float = 0.0) -> None:
        """Name files that a person edited after their new statements, and correct links in other files.

        A file that was changed within `settled_seconds` may still be open in an editor, and keeps its name for now.
        """
        if not (self._misnamed or self._writer.renamed):
            return
        with self._exclusive():
            self._use(lambda index: self._tidy_names(index, settled_seconds))

    def _tidy_names(self, index: FullTextIndex, settled_seconds: float) -> None:
        moved: list[str] = []
        left: dict[str, str] = {}
        for id, path in sorted(self._misnamed.items()):
            item, known, stamp = index.get(id), index.file_of(id), look(self._root / path)
            if item is None or known is None or known.path != path or stamp is None:
                continue
            if time.time() - stamp.mtime_ns / 1e9 < settled_seconds:
                left[id] = path
            elif paths := self._rename(item, path):
                moved += paths
                self._writer.renamed.add(id)
        self._misnamed = left
        self._take_over(index, moved)
        renamed, self._writer.renamed = self._writer.renamed, set()
        self._correct_links(index, renamed)

    def _correct_links(self, index: FullTextIndex, renamed: Collection[str]) -> None:
        """Rewrite the links of memories to files that have a new name."""
        last = ""
        while renamed and (page := index.page_after(last)):
            last = page[-1].id
            linked = [item for item in page if any(link.target in renamed for link in item.links) or item.supersedes in renamed]
            entries = [entry for item in linked if (entry := self._writer.correct_links(index, item))]
            if entries:
                index.put(entries)

    # Synchronisation

    def sync(self, changed: Iterable[Path] | None = None) -> SyncReport:
        """Synchronise the index with the files: all of them, or those under the changed paths.

        The first report after a rebuild contains every item.
        """
        targets = [""] if changed is None else relative_paths(self._root, changed)
        return self._use(lambda index: self._sync(index, targets))

    def path_of(self, id: str) -> Path | None:
        """Return the path of the item's file."""
        known = self._use(lambda index: index.file_of(id))
        return self._root / known.path if known else None

    def digests(self) -> dict[str, str]:
        """Return the digest of each item by id. Used to find outdated entries in other indexes."""
        return self._use(lambda index: index.digests())

    def broken(self) -> list[BrokenFileError]:
        """Return the files that could not be read in the last sync, in order of path."""
        return [self._broken_error(*row) for row in self._use(lambda index: index.broken())]

    def last_sync(self) -> datetime | None:
        """Return when the whole folder was last compared with the index."""
        seconds = self._use(lambda index: index.fact("synced"))
        return datetime.fromtimestamp(seconds, UTC) if seconds else None

    def flush(self) -> None:
        """Write `inverted_index.json` if memories have changed since it was last written."""
        self._use(self._flush)

    # Writing

    def _write_chunk(self, items: Sequence[MemoryItem]) -> list[str]:
        written: list[IndexedFile] = []

        def work(index: FullTextIndex) -> None:
            # Files already written remain if the index breaks in between. The retry continues after them.
            named = {entry.item.id for entry in written}
            try:
                for batch in _batches(items[len(written) :]):
                    if any(item.id in named for item in batch):
                        index.put(written)
                    for entry in self._writer.write_all(index, batch, lambda id: self._find(index, id)):
                        written.append(entry)
                        named.add(entry.item.id)
            finally:  # Also required if a later item can't be written.
                self._writer.settle(written)
                if fresh := _unknown(index, written):
                    index.put(fresh)

        self._use(work)
        return [entry.item.id for entry in written]

    def _find(self, index: FullTextIndex, id: str) -> IndexedRecord | None:
        """Return the item's file. If the file was moved manually, search for it."""
        known = index.file_of(id) if id else None
        if known is not None and look(self._root / known.path) is None:
            self._catch_up(index, "")
            known = index.file_of(id)
        return known

    # Deleting

    def _delete(self, index: FullTextIndex, id: str) -> None:
        known = self._find(index, id)
        if known is None:
            return
        self._trash.put(known.path)
        index.remove([id])
        Synchroniser(self._root, index, self._exclusive).release(id)

    def _restore(self, index: FullTextIndex, id: str) -> MemoryItem | None:
        if live := index.get(id):
            return live
        copy = self._trash.newest(id)
        if copy is None:
            return None
        path, relative = copy
        if (self._root / relative).exists():
            raise StoreError(
                f"Another file already exists at {self._root / relative}.", fix="Move that file elsewhere and try again."
            )
        self._trash.take(path, relative)
        self._catch_up(index, relative)
        self._backlog.pop(id, None)
        return index.get(id)

    # Internals

    def _sync(self, index: FullTextIndex, targets: Sequence[str]) -> SyncReport:
        run = Synchroniser(self._root, index, self._exclusive)
        run.before, self._backlog = {**self._backlog}, {}
        run.run(targets)
        self._misnamed |= run.misnamed
        report = run.report()
        if "" not in targets:
            return report
        now = self._clock.now().timestamp()
        index.set_fact("synced", int(now))
        if not self._tidied:  # Once is enough, because only killed processes leave temporary files.
            remove_stale_temporaries(self._root, now - _STALE_SECONDS)
            self._tidied = True
        return replace(report, broken=tuple(self._broken_error(*row) for row in index.broken()))

    def _catch_up(self, index: FullTextIndex, *targets: str) -> None:
        """Synchronise for the store's own purposes. The next report includes the result."""
        run = Synchroniser(self._root, index, self._exclusive)
        run.run(targets)
        self._backlog = {**run.before, **self._backlog}

    def _broken_error(self, path: str, line: int, problem: str, fix: str) -> BrokenFileError:
        return BrokenFileError(str(self._root / path), line, problem, fix)

    def _flush(self, index: FullTextIndex) -> None:
        if not self._root.is_dir():  # If the old folder was moved and is moved back, a new folder would be in the way.
            return
        revision = index.fact("revision")
        if revision != index.fact("flushed") or index.fact("inverted") != fingerprint(self._paths.index):
            write(self._paths.index, index.active_texts())
            index.set_fact("flushed", revision)
            index.set_fact("inverted", fingerprint(self._paths.index))


def _batches(items: Sequence[MemoryItem]) -> Iterator[list[MemoryItem]]:
    """Split items into batches that can be written together. No batch contains an id twice."""
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


def _unknown(index: FullTextIndex, entries: Sequence[IndexedFile]) -> list[IndexedFile]:
    """Return the entries that differ from the index. Pass at most a thousand."""
    known = index.known_of([entry.path for entry in entries])
    return [
        entry for entry in entries if known.get(entry.path) != IndexedRecord(entry.path, entry.stamp, entry.item.id, entry.hash)
    ]


def _has_bad_page(index: FullTextIndex) -> bool:
    try:
        index.db.check()
    except StoreError:
        return True
    return False


def _is_damaged(index: FullTextIndex, error: StoreError) -> bool:
    if isinstance(error, IndexDamagedError):
        return True
    try:
        index.check_schema()
    except StoreError:
        return True
    return False
