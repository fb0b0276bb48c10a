"""Synchronisation of the full-text index with the files. Files are never modified."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG

from memoryd.core.errors import BrokenFileError
from memoryd.core.files import TEMPORARY_PREFIX, read_regular, temporaries
from memoryd.core.types import MemoryItem
from memoryd.stores import memory_file
from memoryd.stores.fulltext import Broken, FullTextIndex, IndexedFile, IndexedRecord, Stamp
from memoryd.stores.layout import id_in_name, is_memory_name, is_memory_path, is_named_after

# Scanning the memories folder

log = logging.getLogger(__name__)
_TEMPORARY = re.compile(re.escape(TEMPORARY_PREFIX) + "[0-9a-f]{12}")
_BITS = (1 << 63) - 1  # SQLite's integers are signed.


def stamp_of(stat: os.stat_result) -> Stamp:
    """Convert a stat result to a stamp."""
    return Stamp(max(-_BITS, min(stat.st_mtime_ns, _BITS)), stat.st_size, stat.st_ino & _BITS)


def look(path: Path) -> Stamp | None:
    """Return the stamp of a file, or None if it is missing, inaccessible or not a regular file."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        log.warning("Can't look at %s: %s", path, error.strerror)
        return None
    return stamp_of(found) if S_ISREG(found.st_mode) else None


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Result of a scan: stamps by path relative to the root, and the problems of files that can't be indexed."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def scan(root: Path, under: str = "") -> ScanResult:
    """Scan all memory files below `root`/`under`, which may be a folder or a file.

    Links to folders and links out of the root are not followed. Entries that are outside the root, or are not regular
    files, are returned with a problem. Entries that can't be examined are logged and skipped.
    """
    seen = ScanResult()
    start = root / under if under else root
    if any((root / part).is_symlink() for part in PurePosixPath(under).parents if str(part) != "."):
        return seen
    if under and (start.is_symlink() or not start.is_dir()):
        if is_memory_path(under) or (start.is_symlink() and start.is_dir() and not start.name.startswith(".")):
            _note(seen, start, under, root.resolve())
        return seen
    real_root = root.resolve()
    waiting = [(str(start), f"{under}/" if under else "")]
    while waiting:  # A recursion would fail on a thousand nested folders.
        folder, prefix = waiting.pop()
        for entry in _entries(folder):
            relative = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{relative}/"))
            else:
                _visit(entry, relative, seen, real_root)
    return seen


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries that are not hidden."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        log.warning("Can't look into %s: %s", folder, error.strerror)
        return []


def _visit(entry: os.DirEntry[str], relative: str, seen: ScanResult, real_root: Path) -> None:
    if is_memory_name(entry.name) and entry.is_file(follow_symlinks=False) and relative.isascii():
        try:
            seen.stamps[relative] = stamp_of(entry.stat())
        except OSError as error:  # The file was just deleted.
            log.info("Can't look at %s: %s", entry.path, error.strerror)
    elif is_memory_name(entry.name) or (entry.is_symlink() and entry.is_dir()):
        _note(seen, Path(entry.path), relative, real_root)


def _note(seen: ScanResult, path: Path, relative: str, real_root: Path) -> None:
    """Add an unusual entry: a link, a special file, or a name that is not valid UTF-8."""
    try:
        problem = _problem_of(path, real_root)
        stamp = stamp_of(path.lstat() if problem else path.stat())
    except (OSError, RuntimeError, ValueError) as error:  # The link is dangling or circular, or was just deleted.
        log.info("Can't look at %s: %s", path, error)
        return
    if path.is_dir() and not problem:
        return  # A link to a folder in the vault. The files there are scanned at their own path.
    known_as = relative.encode("utf-8", "backslashreplace").decode("utf-8")
    seen.stamps[known_as] = stamp
    if problem:
        seen.problems[known_as] = problem


def _problem_of(path: Path, real_root: Path) -> str:
    """Return why the path can't be indexed, or an empty string if it can."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not valid UTF-8; rename the file to index it"
    if path.is_symlink() and not path.resolve(strict=True).is_relative_to(real_root):
        return "it links to a file outside the memories folder; such links are not followed"
    mode = path.stat().st_mode
    return "" if S_ISREG(mode) or S_ISDIR(mode) else "it is a pipe, socket or device, not a regular file"


def remove_stale_temporaries(root: Path, before: float) -> int:
    """Delete temporary files left by killed writers before `before` (seconds since 1970). Return their number."""
    removed = 0
    for path in temporaries(root):
        try:
            if _TEMPORARY.fullmatch(path.name) and path.stat().st_mtime < before:
                path.unlink()
                removed += 1
        except OSError as error:
            log.info("Can't remove %s: %s", path, error.strerror)
    return removed


def relative_paths(root: Path, changed: Iterable[Path]) -> list[str]:
    """Return paths relative to the root. The root itself becomes `""`. Hidden paths and paths outside the root are skipped."""
    out = set()
    real = root.resolve()
    for path in changed:
        for base in (root, real):
            if path.is_absolute() and path.is_relative_to(base):
                path = path.relative_to(base)
        if not path.is_absolute() and not any(part.startswith(".") for part in path.parts):
            out.add("" if path == Path() else path.as_posix())
    return [""] if "" in out else sorted(out)


_CHUNK = 500


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Result of a `sync`: the added or changed items, the removed ids, and the unreadable files."""

    changed: tuple[MemoryItem, ...] = ()
    removed: tuple[str, ...] = ()
    broken: tuple[BrokenFileError, ...] = ()


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(data).hexdigest()


def _rank(id: str, path: str, stamp: Stamp) -> tuple[bool, int, str]:
    """Sort key for files with the same id.

    Files named after the id come first, the latest of them before the others: an editor that was open while its file got another
    name saves it under the old one. The rest are sorted by path.
    """
    named = id_in_name(path) == id
    return (not named, -stamp.mtime_ns if named else 0, path)


class Synchroniser:
    """One synchronisation. `exclusive` is held while the index changes, but not while folders are scanned.

    `before` maps the ids of touched items to their original digests, or to None for new items. `misnamed` maps the ids of edited
    items to the paths of their files, which are named after the earlier statement.
    """

    def __init__(self, root: Path, index: FullTextIndex, exclusive: Callable[[], AbstractContextManager[None]]) -> None:
        self._root = root
        self._index = index
        self._exclusive = exclusive
        self.before: dict[str, str | None] = {}
        self.misnamed: dict[str, str] = {}
        self._broken: list[BrokenFileError] = []
        self._odd: dict[str, tuple[Stamp, str]] = {}

    def run(self, targets: Iterable[str]) -> None:
        """Compare these relative files and folders with the index, and apply the differences."""
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
        """Return all changes made by calls of `run`."""
        after = {id: self._index.digest_of(id) for id in sorted(self.before)}
        changed = [id for id, digest in after.items() if digest is not None and digest != self.before[id]]
        items = self._index.fetch(changed)
        removed = tuple(id for id, digest in after.items() if digest is None and self.before[id] is not None)
        return SyncReport(tuple(items[id] for id in changed if id in items), removed, tuple(self._broken))

    def release(self, id: str) -> None:
        """Index a duplicate that had been set aside because another file had this id."""
        self._apply(self._index.duplicates_of(id), force=True)

    def _apply(self, paths: Sequence[str], force: bool = False) -> None:
        known = self._index.known_of(paths) if paths else {}
        for path in paths:
            if path in self._odd:
                seen, problem = self._odd[path]
                self._set_aside(Broken(path, seen, self._not_readable(path, problem)), known.get(path))
                continue
            stamp = look(self._root / path)
            if stamp is None:
                self._forget(known.get(path))
            elif force or path not in known or known[path].stamp != stamp:
                self._read(path, stamp, known.get(path))

    def _note(self, id: str) -> None:
        if id not in self.before:
            self.before[id] = self._index.digest_of(id)

    def _forget(self, known: IndexedRecord | None) -> None:
        if known is None:
            return
        self._index.remove_broken(known.path)
        file = self._index.file_of(known.id) if known.id else None
        if file is not None and file.path == known.path:
            self._note(known.id)
            self._index.remove([known.id])
            self.release(known.id)

    def _read(self, path: str, stamp: Stamp, known: IndexedRecord | None) -> None:
        full = self._root / path
        try:
            data = read_regular(full, memory_file.MAX_BYTES + 1)
            if known is not None and known.hash == content_hash(data):
                self._index.set_stamp(path, stamp)
                return
            file = memory_file.read(data, str(full), path, stamp.mtime_ns)
        except (FileNotFoundError, memory_file.EmptyNoteError):
            self._forget(known)
        except BrokenFileError as error:
            self._set_aside(Broken(path, stamp, error), known)
        except OSError as error:
            self._set_aside(Broken(path, stamp, self._not_readable(path, f"the file can't be read: {error.strerror}")), known)
        except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
            log.exception("reading %s failed", full)  # One bad file must not affect the others.
            problem = f"the file can't be read ({type(error).__name__})"
            self._set_aside(Broken(path, stamp, self._not_readable(path, problem)), known)
        else:
            self._accept(IndexedFile(file.item, path, stamp, content_hash(data)), known)
            if file.warning is not None:
                self._index.put_broken(Broken(path, stamp, file.warning))
                self._broken.append(file.warning)

    def _not_readable(self, path: str, problem: str) -> BrokenFileError:
        fix = "Replace it with a regular file that only you can write, or move it out of the folder."
        return BrokenFileError(str(self._root / path), 1, problem, fix)

    def _set_aside(self, broken: Broken, known: IndexedRecord | None) -> None:
        self._forget(known)
        self._index.put_broken(broken)
        self._broken.append(broken.error)

    def _accept(self, entry: IndexedFile, known: IndexedRecord | None) -> None:
        id = entry.item.id
        holder = self._index.file_of(id)
        if holder is not None and holder.path != entry.path and (stamp := look(self._root / holder.path)) is not None:
            if _rank(id, holder.path, stamp) < _rank(id, entry.path, entry.stamp):
                self._set_aside(self._duplicate(id, entry.path, entry.stamp, holder.path), known)
                return
            self._set_aside(self._duplicate(id, holder.path, stamp, entry.path), None)
        if known is not None and known.id != id:
            self._forget(known)
        self._note(id)
        before = self._index.get(id) if known is not None and known.id == id else None
        if before is not None and is_named_after(entry.path, before) and not is_named_after(entry.path, entry.item):
            self.misnamed[id] = entry.path
        self._index.put([entry])

    def _duplicate(self, id: str, path: str, stamp: Stamp, holder: str) -> Broken:
        fix = "Delete its id line to make it a separate memory, or delete the file."
        error = BrokenFileError(str(self._root / path), 1, f"its id {id} already belongs to {holder}", fix)
        return Broken(path, stamp, error, duplicate=id)
