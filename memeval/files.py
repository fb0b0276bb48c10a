"""Durable files: atomic replacement, lines that are appended whole, and the lock that keeps runners apart.

What survives kill -9: a reader of a replaced file sees the old bytes or the new, never a mixture; an appended line is
there whole or not at all once the next one is appended.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from pathlib import Path
from typing import IO

from memeval.errors import RunError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

RETRY_SECONDS = 0.02


def write_atomic(path: Path, data: bytes) -> None:
    """Replace the file: temporary beside it, synced, renamed, folder synced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".tmp-{secrets.token_hex(6)}"
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_dir(path.parent)


def append_line(path: Path, line: str) -> None:
    """Append one line in one write; a line that a killed writer left without its end is closed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as stream:
        size = stream.seek(0, os.SEEK_END)
        torn = b""
        if size:
            stream.seek(size - 1)
            torn = b"" if stream.read(1) == b"\n" else b"\n"
        stream.write(torn + line.encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def _sync_dir(path: Path) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class RunLock:
    """An exclusive lock on a run; the system frees it when its process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: IO[bytes] | None = None

    def acquire(self, tries: int = 3) -> None:
        """Take it. Raises RunError when another runner has it; one that only looks whether it is held lets go between tries."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        stream = self._path.open("ab+")
        if not _locked(stream, tries):
            stream.close()
            raise RunError(
                f"Another runner works on {self._path.parent.name}.", fix="Wait for it to end, or give another run id."
            )
        self._stream = stream

    def release(self) -> None:
        """Let it go; without effect when it is not held."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _locked(stream: IO[bytes], tries: int) -> bool:
    for number in range(tries):
        if number:
            time.sleep(RETRY_SECONDS)
        with contextlib.suppress(OSError):
            _lock(stream)
            return True
    return False


def _lock(stream: IO[bytes]) -> None:
    if sys.platform == "win32":
        stream.seek(0)
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
