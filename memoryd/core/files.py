"""Durable files: atomic replacement, exclusive creation, locks.

What survives a `kill -9` or a power cut: `write_atomic` writes a temporary file in the
target's folder, syncs it, renames it over the target and syncs the folder. A reader sees
the old bytes or the new, never a mixture. Price: twice the space for a moment, and a hard
link to the old file keeps the old bytes. `create_exclusive` does the same but fails when
the name is taken, so two writers can never share one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from memoryd.core.errors import StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TEMPORARY_PREFIX = ".tmp-"
# Syncs that wait together share one commit of the file system's journal: eight files take little longer than one.
SYNC_THREADS = 8
# Files that are staged together: more would hold many temporaries, fewer would wait more often.
STAGED = 250


def make_private_dir(path: Path) -> Path:
    """Create the folder and its parents, mode 0700 for those that are new."""
    if path.is_dir():
        return path
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                sync_dir(folder.parent)
    return path


def _make_dir(path: Path, *, private: bool) -> None:
    if private:
        make_private_dir(path)
    else:
        path.mkdir(parents=True, exist_ok=True)


def _mode(*, private: bool) -> int:
    """Permissions of a new file: its owner's alone, or what the umask leaves."""
    return 0o600 if private else 0o666


def sync_dir(path: Path) -> None:
    """Make renames in the folder durable. Windows has no such call and needs none."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_temporary(target: Path, data: bytes, *, private: bool = True) -> Path:
    _make_dir(target.parent, private=private)
    temporary = target.parent / f"{TEMPORARY_PREFIX}{secrets.token_hex(6)}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _mode(private=private))
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


@contextlib.contextmanager
def staged(files: Sequence[tuple[Path, bytes]]) -> Iterator[list[Path | None]]:
    """For each (target, bytes) a temporary file beside the target whose bytes are synced, several at a time.

    `write_atomic` and `create_exclusive` take it as `ready`; what they don't take is removed. None for all when the
    disk refused one: then write them one by one, which tells which.
    """
    temporaries: list[Path | None] = [None] * len(files)
    try:
        _write_together(files, temporaries)
        yield list(temporaries)
    finally:
        _remove(temporaries)


def _write_together(files: Sequence[tuple[Path, bytes]], temporaries: list[Path | None]) -> None:
    def write(place: int) -> None:
        temporaries[place] = _write_temporary(*files[place])

    try:
        with ThreadPoolExecutor(SYNC_THREADS, "sync") as pool:
            list(pool.map(write, range(len(files))))
    except OSError:
        _remove(temporaries)
        temporaries[:] = [None] * len(files)


def sync_dirs(folders: Sequence[Path]) -> None:
    """`sync_dir` for several folders at a time."""
    if len(folders) < 2:
        for folder in folders:
            sync_dir(folder)
        return
    with ThreadPoolExecutor(SYNC_THREADS, "sync") as pool:
        list(pool.map(sync_dir, folders))


def _remove(temporaries: Sequence[Path | None]) -> None:
    for path in filter(None, temporaries):
        path.unlink(missing_ok=True)


def write_atomic(target: Path, data: bytes, *, ready: Path | None = None, sync_folder: bool = True, private: bool = True) -> None:
    """Replace the file's bytes; see the module's promise. Raises StoreError when the disk refuses.

    `ready` is a file from `staged`. Without `sync_folder` the caller must call `sync_dir` before it promises anything.
    A file that is not `private` gets the permissions that the umask leaves, and so do its new folders.
    """
    try:
        temporary = ready or _write_temporary(target, data, private=private)
        temporary.replace(target)
        if sync_folder:
            sync_dir(target.parent)
    except OSError as error:
        raise StoreError(f"Can't write {target}: {error.strerror}.", fix="Check free space and permissions.") from error


def replace_all(files: Sequence[tuple[Path, bytes]]) -> None:
    """`write_atomic` for many: each file is old or new whenever a kill comes, all are durable at the end. Raises StoreError."""
    for start in range(0, len(files), STAGED):
        part = files[start : start + STAGED]
        with staged(part) as ready:
            for (target, data), temporary in zip(part, ready, strict=True):
                write_atomic(target, data, ready=temporary, sync_folder=False)
    try:
        sync_dirs(sorted({target.parent for target, _ in files}))
    except OSError as error:
        raise StoreError(f"Can't write: {error}.", fix="Check free space and permissions.") from error


def create_exclusive(target: Path, data: bytes, *, ready: Path | None = None, sync_folder: bool = True) -> bool:
    """Create the file with these bytes; False when the name is taken. Raises StoreError as above; the options as there."""
    try:
        temporary = ready or _write_temporary(target, data)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        if sync_folder:
            sync_dir(target.parent)
    except OSError as error:
        raise StoreError(f"Can't write {target}: {error.strerror}.", fix="Check free space and permissions.") from error
    return True


def append_line(path: Path, line: str, limit_bytes: int = 1_000_000) -> None:
    """Append one line in a single write; a file over the limit is first rotated to `.1`."""
    make_private_dir(path.parent)
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > limit_bytes:
            path.replace(path.with_name(path.name + ".1"))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, line.rstrip("\n").encode("utf-8", "replace") + b"\n")
    finally:
        os.close(handle)


def try_lock(path: Path, *, private: bool = True) -> IO[bytes] | None:
    """An exclusive lock that lives as long as the returned file is open; None when another holds it."""
    _make_dir(path.parent, private=private)
    stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, _mode(private=private)), "r+b")
    try:
        if sys.platform == "win32":
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        stream.close()
        return None
    return stream


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock, hold it for the block. Meant for short sections only."""
    make_private_dir(path.parent)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as stream:
        if sys.platform == "win32":
            msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
        yield


def read_tail(path: Path, lines: int, limit_bytes: int = 200_000) -> list[str]:
    """The last lines of a text file, of at most its last `limit_bytes`; empty when there is none."""
    try:
        with path.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - limit_bytes))
            return stream.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def read_regular(path: Path, limit: int) -> bytes:
    """At most `limit` bytes of a plain file. Raises OSError, at once too for a pipe or a device, which may have no end."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file")
        return stream.read(limit)


def temporaries(folder: Path) -> Iterator[Path]:
    """What lies below the folder under the name of a temporary. Links to folders are not followed."""
    for where, _, names in os.walk(folder):  # four times as fast as rglob
        yield from (Path(where, name) for name in names if name.startswith(TEMPORARY_PREFIX))


def remove_stale_temporaries(folder: Path, older_than_seconds: float = 60.0) -> int:
    """Delete what killed writers left behind; young ones may belong to a writer at work. Returns how many."""
    horizon = time.time() - older_than_seconds
    removed = 0
    for path in temporaries(folder):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < horizon:
                path.unlink()
                removed += 1
    return removed
