"""Writing memory files: new ones by exclusive creation, old ones by careful replacement."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from memoryd import codec
from memoryd.errors import StoreError
from memoryd.files import create_exclusive, staged, sync_dirs, write_atomic
from memoryd.stores import memory_file
from memoryd.stores.literal import Entry, Known, LiteralIndex, Stamp
from memoryd.stores.locations import canonical_path
from memoryd.stores.memory_file import MemoryFile
from memoryd.stores.scan import look
from memoryd.stores.sync import content_hash
from memoryd.stores.trash import move, remove_empty_parents
from memoryd.types import MemoryItem

_TRIES = 100


@dataclass(frozen=True, slots=True)
class _Plan:
    """The bytes of an item's file before they are written. `old` is how the file looks that they replace."""

    item: MemoryItem
    path: str
    data: bytes
    old: Stamp | None = None


class FileWriter:
    """Writes below one folder. The caller holds the store's lock and records the entries in the index."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write_all(self, index: LiteralIndex, items: Sequence[MemoryItem], find: Callable[[str], Known | None]) -> Iterator[Entry]:
        """Write items of different ids in order, as `write` does each, with the bytes of many synced together."""
        plans = [self._plan(index, item, find(item.id)) for item in items] if len(items) > 1 else [None]
        files = [(self._root / plan.path, plan.data) for plan in plans if plan]
        with staged(files) as temporaries:
            ready = iter(temporaries)
            for item, plan in zip(items, plans, strict=True):
                entry = self._publish(plan, next(ready)) if plan else None
                yield entry or self.write(index, item, find(item.id))

    def _plan(self, index: LiteralIndex, item: MemoryItem, known: Known | None) -> _Plan | None:
        """None for what is not simply written: a move, and a file that can't be read; `write` deals with those."""
        if known is None:
            named = item if item.id else replace(item, id=self._free_id(index))
            return _Plan(named, canonical_path(named), memory_file.render(named))
        with contextlib.suppress(StoreError):
            old = look(self._root / known.path)
            item, relative, changed, data = self._changed(index, item, known)
            if relative == known.path and changed != data and old is not None:
                return _Plan(item, relative, changed, old)
        return None

    def _publish(self, plan: _Plan, ready: Path | None) -> Entry | None:
        """None when the file must be written by itself after all: the name was taken, or somebody edited the old file."""
        target = self._root / plan.path
        if ready is None or look(target) != plan.old:
            return None
        if plan.old is not None:
            write_atomic(target, plan.data, ready=ready, sync_folder=False)
        elif not create_exclusive(target, plan.data, ready=ready, sync_folder=False):
            return None
        return self._entry(plan.item, plan.path, plan.data)

    def write(self, index: LiteralIndex, item: MemoryItem, known: Known | None) -> Entry:
        """Write one item, whose file is `known` if it has one; the entry for the index.

        The name of a new file is durable after `settle` only. Raises as MarkdownStore.write does.
        """
        if not item.id:
            return self._create(index, item)
        if known is None:
            relative = canonical_path(item)
            data = memory_file.render(item)
            if create_exclusive(self._root / relative, data, sync_folder=False):
                return self._entry(item, relative, data)
            known = Known(relative, _no_stamp(), item.id)
        return self._change(index, item, known)

    def _create(self, index: LiteralIndex, item: MemoryItem) -> Entry:
        for _ in range(_TRIES):
            named = replace(item, id=self._free_id(index))
            relative = canonical_path(named)
            data = memory_file.render(named)
            if create_exclusive(self._root / relative, data, sync_folder=False):
                return self._entry(named, relative, data)
        raise _no_free_id()

    def _free_id(self, index: LiteralIndex) -> str:
        for _ in range(_TRIES):
            if index.file_of(id := codec.new_id()) is None:
                return id
        raise _no_free_id()

    def _changed(self, index: LiteralIndex, item: MemoryItem, known: Known) -> tuple[MemoryItem, str, bytes, bytes]:
        """The item with what was edited by hand, where its file goes, its new bytes and the present ones."""
        data, file = self._read(known.path)
        if file.item.id != item.id:
            raise StoreError(f"{self._root / known.path} holds the memory {file.item.id}.", fix="Run 'memoryd reindex'.")
        if known.hash and known.hash != content_hash(data):
            item = _merged(index.get(item.id), file.item, item)
        relative = self._new_place(file, item, known.path)
        return item, relative, memory_file.update(file, item, str(self._root / relative), relative), data

    def _change(self, index: LiteralIndex, item: MemoryItem, known: Known) -> Entry:
        item, relative, changed, data = self._changed(index, item, known)
        if relative != known.path:
            # Before the bytes change: a crash between leaves the old memory in its new place, whole.
            move(self._root / known.path, self._root / relative)
            remove_empty_parents(self._root / known.path, self._root)
        if changed != data:
            write_atomic(self._root / relative, changed)
        return self._entry(item, relative, changed)

    def _new_place(self, file: MemoryFile, item: MemoryItem, relative: str) -> str:
        """Where the file goes. One that somebody filed by hand stays where it was put."""
        target = canonical_path(item)
        at_home = relative == canonical_path(file.item)
        return target if at_home and not (self._root / target).exists() else relative

    def _read(self, relative: str) -> tuple[bytes, MemoryFile]:
        path = self._root / relative
        try:
            data = path.read_bytes()
            mtime_ns = path.stat().st_mtime_ns
        except OSError as error:
            raise StoreError(f"Can't read {path}: {error.strerror}.", fix="Check the file's permissions.") from error
        return data, memory_file.read(data, str(path), relative, mtime_ns)

    def _entry(self, item: MemoryItem, relative: str, data: bytes) -> Entry:
        return Entry(item, relative, look(self._root / relative) or _no_stamp(), content_hash(data))

    def settle(self, entries: Iterable[Entry]) -> None:
        """Make the names of new files durable."""
        latest = {entry.item.id: entry.path for entry in entries}  # one that was moved twice has left its folder
        try:
            sync_dirs(sorted({(self._root / path).parent for path in latest.values()}))
        except OSError as error:
            raise StoreError(f"Can't write: {error}.", fix="Check free space and permissions.") from error


def _no_free_id() -> StoreError:
    return StoreError("No free memory id was found.", fix="Check the machine's random numbers; try again.")


def _no_stamp() -> Stamp:
    return Stamp(0, 0, 0)


def _merged(base: MemoryItem | None, disk: MemoryItem, wanted: MemoryItem) -> MemoryItem:
    """The wanted item with what was edited on disk since `base`, except where both changed: then the wanted value."""
    if base is None:
        return wanted
    untouched = [field.name for field in fields(wanted) if getattr(wanted, field.name) == getattr(base, field.name)]
    return replace(wanted, **{name: getattr(disk, name) for name in untouched})
