"""Bringing the literal index in step with the files. The files are never touched."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from memoryd.errors import BrokenFileError
from memoryd.files import read_regular
from memoryd.stores import memory_file
from memoryd.stores.literal import Broken, Entry, Known, LiteralIndex, Stamp
from memoryd.stores.scan import look, scan
from memoryd.types import MemoryItem

log = logging.getLogger(__name__)
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a `sync` found: items added or altered, ids that are gone, files that can't be read."""

    changed: tuple[MemoryItem, ...] = ()
    removed: tuple[str, ...] = ()
    broken: tuple[BrokenFileError, ...] = ()


def content_hash(data: bytes) -> str:
    """Identity of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def _rank(id: str, path: str) -> tuple[bool, str]:
    """Of two files with one id the file of that name comes first, then the first path."""
    return (path.rpartition("/")[2] != f"{id}.md", path)


class Synchroniser:
    """One run. `exclusive` is held while the index is changed, never while folders are read.

    `before` holds the digest of each item that was touched as it was at first, None for a new one.
    """

    def __init__(self, root: Path, index: LiteralIndex, exclusive: Callable[[], AbstractContextManager[None]]) -> None:
        self._root = root
        self._index = index
        self._exclusive = exclusive
        self.before: dict[str, str | None] = {}
        self._broken: list[BrokenFileError] = []
        self._odd: dict[str, tuple[Stamp, str]] = {}

    def run(self, targets: Iterable[str]) -> None:
        """Compare the files and folders of these relative paths with the index and apply the differences."""
        suspects: set[str] = set()
        for target in targets:
            known, seen = self._index.known(target), scan(self._root, target)
            stamps = seen.stamps
            suspects |= {p for p in known.keys() | stamps.keys() if p not in known or known[p].stamp != stamps.get(p)}
            self._odd |= {path: (stamps[path], problem) for path, problem in seen.problems.items()}
        paths = iter(sorted(suspects))
        while chunk := list(islice(paths, _CHUNK)):
            with self._exclusive(), self._index.db.transaction():
                self._apply(chunk)

    def report(self) -> SyncReport:
        """What the runs changed."""
        after = {id: self._index.digest_of(id) for id in sorted(self.before)}
        changed = [id for id, digest in after.items() if digest is not None and digest != self.before[id]]
        items = self._index.fetch(changed)
        removed = tuple(id for id, digest in after.items() if digest is None and self.before[id] is not None)
        return SyncReport(tuple(items[id] for id in changed if id in items), removed, tuple(self._broken))

    def release(self, id: str) -> None:
        """An id became free: a copy that was put aside may take it."""
        self._apply(self._index.duplicates_of(id), anew=True)

    def _apply(self, paths: Sequence[str], anew: bool = False) -> None:
        known = self._index.known_of(paths) if paths else {}
        for path in paths:
            if path in self._odd:
                seen, problem = self._odd[path]
                self._set_aside(Broken(path, seen, self._not_readable(path, problem)), known.get(path))
                continue
            stamp = look(self._root / path)
            if stamp is None:
                self._forget(known.get(path))
            elif anew or path not in known or known[path].stamp != stamp:
                self._read(path, stamp, known.get(path))

    def _note(self, id: str) -> None:
        if id not in self.before:
            self.before[id] = self._index.digest_of(id)

    def _forget(self, known: Known | None) -> None:
        if known is None:
            return
        self._index.remove_broken(known.path)
        file = self._index.file_of(known.id) if known.id else None
        if file is not None and file.path == known.path:
            self._note(known.id)
            self._index.remove([known.id])
            self.release(known.id)

    def _read(self, path: str, stamp: Stamp, known: Known | None) -> None:
        full = self._root / path
        try:
            data = read_regular(full, memory_file.MAX_BYTES + 1)
            if known is not None and known.hash == content_hash(data):
                self._index.set_stamp(path, stamp)
                return
            item = memory_file.read(data, str(full), path, stamp.mtime_ns).item
        except (FileNotFoundError, memory_file.EmptyNoteError):
            self._forget(known)
        except BrokenFileError as error:
            self._set_aside(Broken(path, stamp, error), known)
        except OSError as error:
            self._set_aside(Broken(path, stamp, self._not_readable(path, f"the file can't be read: {error.strerror}")), known)
        except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
            log.exception("reading %s failed", full)  # whatever one file holds costs that file alone
            problem = f"the file can't be read ({type(error).__name__})"
            self._set_aside(Broken(path, stamp, self._not_readable(path, problem)), known)
        else:
            self._accept(Entry(item, path, stamp, content_hash(data)), known)

    def _not_readable(self, path: str, problem: str) -> BrokenFileError:
        error = BrokenFileError(str(self._root / path), 1, problem)
        error.fix = "Replace it by a plain file that only you may write, or move it out of the folder."
        return error

    def _set_aside(self, broken: Broken, known: Known | None) -> None:
        self._forget(known)
        self._index.put_broken(broken)
        self._broken.append(broken.error)

    def _accept(self, entry: Entry, known: Known | None) -> None:
        id = entry.item.id
        holder = self._index.file_of(id)
        if holder is not None and holder.path != entry.path and (stamp := look(self._root / holder.path)) is not None:
            if _rank(id, holder.path) < _rank(id, entry.path):
                self._set_aside(self._duplicate(id, entry.path, entry.stamp, holder.path), known)
                return
            self._set_aside(self._duplicate(id, holder.path, stamp, entry.path), None)
        if known is not None and known.id != id:
            self._forget(known)
        self._note(id)
        self._index.put([entry])

    def _duplicate(self, id: str, path: str, stamp: Stamp, holder: str) -> Broken:
        error = BrokenFileError(str(self._root / path), 1, f"its id {id} belongs to {holder} already")
        error.fix = "Delete the line with the id to make it a memory of its own, or delete the file."
        return Broken(path, stamp, error, duplicate=id)
