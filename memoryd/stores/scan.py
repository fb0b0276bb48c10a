"""Looking at the memories folder: which files there are, and how they look."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG

from memoryd.files import TEMPORARY_PREFIX, temporaries
from memoryd.stores.literal import Stamp
from memoryd.stores.locations import is_memory_name, is_memory_path

log = logging.getLogger(__name__)
_TEMPORARY = re.compile(re.escape(TEMPORARY_PREFIX) + "[0-9a-f]{12}")
_BITS = (1 << 63) - 1  # SQLite's integers are signed


def stamp_of(stat: os.stat_result) -> Stamp:
    """The stamp of a stat result."""
    return Stamp(max(-_BITS, min(stat.st_mtime_ns, _BITS)), stat.st_size, stat.st_ino & _BITS)


def look(path: Path) -> Stamp | None:
    """The stamp of a file; None when it is no file, gone, or in a folder that may not be entered."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        log.warning("Can't look at %s: %s", path, error.strerror)
        return None
    return stamp_of(found) if S_ISREG(found.st_mode) else None


@dataclass(frozen=True, slots=True)
class Seen:
    """Stamps of what was found, by path relative to the root, and of what may not be read: why."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def scan(root: Path, under: str = "") -> Seen:
    """All memory files below `root`/`under` (a folder or a file).

    Links to folders are not followed, nor are links that lead out of the root. What is no file or lies outside is
    found with the problem that it is; what can't be looked at is logged and left out.
    """
    seen = Seen()
    start = root / under if under else root
    if any((root / part).is_symlink() for part in PurePosixPath(under).parents if str(part) != "."):
        return seen
    if under and (start.is_symlink() or not start.is_dir()):
        if is_memory_path(under) or (start.is_symlink() and start.is_dir() and not start.name.startswith(".")):
            _note(seen, start, under, root.resolve())
        return seen
    _walk(str(start), f"{under}/" if under else "", seen, root.resolve())
    return seen


def _walk(folder: str, prefix: str, seen: Seen, real_root: Path) -> None:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        log.warning("Can't look into %s: %s", folder, error.strerror)
        return
    for entry in found:
        _visit(entry, prefix, seen, real_root)


def _visit(entry: os.DirEntry[str], prefix: str, seen: Seen, real_root: Path) -> None:
    if entry.name.startswith("."):
        return
    relative = prefix + entry.name
    if entry.is_dir(follow_symlinks=False):
        _walk(entry.path, f"{relative}/", seen, real_root)
    elif is_memory_name(entry.name) and entry.is_file(follow_symlinks=False) and relative.isascii():
        try:
            seen.stamps[relative] = stamp_of(entry.stat())
        except OSError as error:  # just deleted
            log.info("Can't look at %s: %s", entry.path, error.strerror)
    elif is_memory_name(entry.name) or (entry.is_symlink() and entry.is_dir()):
        _note(seen, Path(entry.path), relative, real_root)


def _note(seen: Seen, path: Path, relative: str, real_root: Path) -> None:
    """One that may be odd: a link, no file, or of a name that is no text."""
    try:
        problem = _problem_of(path, real_root)
        stamp = stamp_of(path.lstat() if problem else path.stat())
    except (OSError, RuntimeError, ValueError) as error:  # a link to nowhere or in a circle, just deleted
        log.info("Can't look at %s: %s", path, error)
        return
    if path.is_dir() and not problem:
        return  # a link to a folder of the vault, whose files are found at their own place
    known_as = relative.encode("utf-8", "backslashreplace").decode("utf-8")
    seen.stamps[known_as] = stamp
    if problem:
        seen.problems[known_as] = problem


def _problem_of(path: Path, real_root: Path) -> str:
    """Why the path may not be read as a memory, or empty."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not valid UTF-8; rename the file to have it indexed"
    if path.is_symlink() and not path.resolve(strict=True).is_relative_to(real_root):
        return "it is a link that leads out of the memories folder, and is not followed"
    mode = path.stat().st_mode
    return "" if S_ISREG(mode) or S_ISDIR(mode) else "it is a pipe, socket or device, and no file"


def remove_stale_temporaries(root: Path, before: float) -> int:
    """Delete what writers that were killed left behind, older than `before` (seconds since 1970); how many."""
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
    """The paths relative to the root, `""` for the root itself; those outside and hidden ones are left out."""
    out = set()
    real = root.resolve()
    for path in changed:
        for base in (root, real):
            if path.is_absolute() and path.is_relative_to(base):
                path = path.relative_to(base)
        if not path.is_absolute() and not any(part.startswith(".") for part in path.parts):
            out.add("" if path == Path() else path.as_posix())
    return [""] if "" in out else sorted(out)
