"""Looking at the memories folder: which files there are, and how they look."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISREG

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


def scan(root: Path, under: str = "") -> dict[str, Stamp]:
    """Stamps of all memory files below `root`/`under` (a folder or a file), by path relative to the root.

    Links to folders are not followed. What can't be read is logged and left out.
    """
    start = root / under if under else root
    if under and not start.is_dir():
        stamp = look(start) if is_memory_path(under) else None
        return {under: stamp} if stamp else {}
    return dict(_walk(str(start), f"{under}/" if under else ""))


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, Stamp]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        log.warning("Can't look into %s: %s", folder, error.strerror)
        return
    for entry in found:
        yield from _visit(entry, prefix)


def _visit(entry: os.DirEntry[str], prefix: str) -> Iterator[tuple[str, Stamp]]:
    relative = prefix + entry.name
    if entry.name.startswith("."):
        return
    if entry.is_dir(follow_symlinks=False):
        yield from _walk(entry.path, f"{relative}/")
    elif is_memory_name(entry.name):
        try:
            relative.encode("utf-8")
            yield relative, stamp_of(entry.stat())
        except UnicodeEncodeError:
            log.warning("The name of %r is not valid UTF-8; rename the file to have it indexed.", entry.path)
        except OSError as error:  # a link to nowhere, or just deleted
            log.info("Can't look at %s: %s", entry.path, error.strerror)


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
