"""Atomic appends to the files of a run, and the lock that limits a run to one runner.

A kill -9 can leave an incomplete line, which readers skip.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from memeval.core.errors import RunError
from memoryd.core.files import try_lock

RETRY_SECONDS = 0.02


def json_objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in the lines, skipping incomplete lines and values of other types."""
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def append_line(path: Path, line: str) -> None:
    """Append a line in a single write. An unfinished line left by a killed writer is terminated first."""
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


class RunLock:
    """An exclusive lock on a run. The operating system releases it when the process exits for any reason."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: IO[bytes] | None = None

    def acquire(self, tries: int = 3) -> None:
        """Acquire the lock.

        Raises RunError if another runner holds it. Readers probe the lock briefly, so `acquire` retries until they are
        done.
        """
        for number in range(tries):
            if number:
                time.sleep(RETRY_SECONDS)
            if (stream := try_lock(self._path, private=False)) is not None:
                self._stream = stream
                return
        raise RunError(
            f"Another process is already running {self._path.parent.name}.", fix="Wait for it to end, or choose another run id."
        )

    def release(self) -> None:
        """Release the lock. Does nothing if it isn't held."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
