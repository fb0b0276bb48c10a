"""Durable files: atomic replacement, exclusive creation, locks.

`write_atomic` writes a temporary file in the target's folder, syncs it, renames it over the target and syncs the
folder. After a `kill -9` or a power cut, a reader therefore sees either the old or the new bytes. This briefly takes
twice the space, and hard links keep the old bytes. `create_exclusive` works the same way but fails if the name
exists, so two writers can never share a file.
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

# Without this flag, Windows turns each line end that `os.write` is given into two characters.
BINARY = getattr(os, "O_BINARY", 0)
# Windows can't replace a file while another process reads it.
REPLACE_SECONDS = 2.0
PAUSE_SECONDS = 0.02
TEMPORARY_PREFIX = ".tmp-"
# Concurrent syncs share one journal commit of the file system, so eight files take little longer than one.
SYNC_THREADS = 8
# Number of files staged at once. More would leave many temporary files behind. Fewer would wait for the disk more often.
STAGED = 250


def make_private_dir(path: Path) -> Path:
    """Create the folder and its parents with mode 0700. Existing folders keep their mode."""
    if path.is_dir():
        return path
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            with contextlib.suppress(FileExistsError):  # Another process has just created it.
                folder.mkdir(mode=0o700)
                sync_dir(folder.parent)
    return path


def _make_dir(path: Path, *, private: bool) -> None:
    if private:
        make_private_dir(path)
    else:
        path.mkdir(parents=True, exist_ok=True)


def _mode(*, private: bool) -> int:
    """Return the mode of a new file: owner-only access, or whatever the umask allows."""
    return 0o600 if private else 0o666


def sync_dir(path: Path) -> None:
    """Make renames in the folder durable. Does nothing on Windows, which has no such call."""
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
    """Write and sync a temporary file for each (target, bytes) pair, several at once.

    Yields the temporary files, to be passed as `ready` to `write_atomic` and `create_exclusive`. Unused ones are
    removed. If any write fails, yields None for every pair. Writing the files one by one then reveals which target is
    at fault.
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
    """Call `sync_dir` on several folders concurrently."""
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
    """Replace the file atomically. The module docstring describes the steps.

    Args:
        target: File to replace.
        data: New content.
        ready: Temporary file from `staged` that already contains `data`.
        sync_folder: If False, the caller must call `sync_dir` before relying on durability.
        private: If False, new files and folders get the mode that the umask allows.

    Raises:
        StoreError: The file can't be written.
    """
    try:
        temporary = ready or _write_temporary(target, data, private=private)
        _replace(temporary, target)
        if sync_folder:
            sync_dir(target.parent)
    except OSError as error:
        raise StoreError(f"Can't write {target}: {error.strerror}.", fix="Check free space and permissions.") from error


def _replace(source: Path, target: Path) -> None:
    deadline = time.monotonic() + (REPLACE_SECONDS if sys.platform == "win32" else 0)
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if time.monotonic() >= deadline:
                source.unlink(missing_ok=True)
                raise
        time.sleep(PAUSE_SECONDS)


def replace_all(files: Sequence[tuple[Path, bytes]]) -> None:
    """Replace many files. Each replacement is atomic, and all are durable on return.

    Raises:
        StoreError: A file can't be written.
    """
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
    """Create the file, or return False if the name exists. Arguments and errors are the same as in `write_atomic`."""
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
    """Append one line in a single write. A file that exceeds the limit is rotated to `.1` first."""
    make_private_dir(path.parent)
    with contextlib.suppress(FileNotFoundError):  # The file is new, or another process has just rotated it.
        if path.stat().st_size > limit_bytes:
            path.replace(path.with_name(path.name + ".1"))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
    try:
        os.write(handle, line.rstrip("\n").encode("utf-8", "replace") + b"\n")
    finally:
        os.close(handle)


def try_lock(path: Path, *, private: bool = True) -> IO[bytes] | None:
    """Acquire an exclusive lock, held while the returned file is open. Return None if another process holds it."""
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
    """Hold the lock during the block, waiting for it if necessary. Use this for short sections only."""
    make_private_dir(path.parent)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as stream:
        if sys.platform == "win32":
            _wait_for_lock(stream)  # msvcrt.LK_LOCK would give up after ten seconds
        else:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
        yield


def _wait_for_lock(stream: IO[bytes]) -> None:
    if sys.platform == "win32":
        while True:
            try:
                msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
                return
            except OSError:
                time.sleep(PAUSE_SECONDS)


def read_tail(path: Path, lines: int, limit_bytes: int = 200_000) -> list[str]:
    """Return the last lines of a text file, reading at most `limit_bytes`. Return an empty list if there is no file."""
    try:
        with path.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - limit_bytes))
            return stream.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def read_regular(path: Path, limit: int) -> bytes:
    """Read up to `limit` bytes of a regular file. Raises OSError like `open_regular`."""
    with open_regular(path) as stream:
        return stream.read(limit)


@contextlib.contextmanager
def open_regular(path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file for reading. Raises OSError like `regular_handle`."""
    with os.fdopen(regular_handle(path), "rb") as stream:
        yield stream


def regular_handle(path: Path) -> int:
    """Open a regular file for reading and return its handle.

    The kind is that of the opened file, because another file can take its place between a look at it and its opening.

    Raises:
        OSError: The file can't be read, or is a pipe or device, which might block or never end.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | BINARY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file")
    return handle


def files_below(folder: Path) -> Iterator[Path]:
    """Yield everything below the folder that is not a folder, without following links to folders.

    Folders that can't be read are skipped. There is no limit of depth, unlike in Python 3.11's `os.walk` and `Path.rglob`,
    which fail on a thousand nested folders.
    """
    waiting = [str(folder)]
    while waiting:
        where = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(where) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield Path(entry.path)


def temporaries(folder: Path) -> Iterator[Path]:
    """Yield the temporary files below the folder, without following links to folders."""
    return (path for path in files_below(folder) if path.name.startswith(TEMPORARY_PREFIX))


def remove_stale_temporaries(folder: Path, older_than_seconds: float = 60.0) -> int:
    """Delete the temporary files of killed writers and return their number. Recent files are kept because they may be in use."""
    horizon = time.time() - older_than_seconds
    removed = 0
    for path in temporaries(folder):
        with contextlib.suppress(FileNotFoundError):  # Its writer has finished, or another process removed it.
            if path.stat().st_mtime < horizon:
                path.unlink()
                removed += 1
    return removed
