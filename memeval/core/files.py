"""What runs need of files beyond `memoryd.core.files`: lines that are appended whole, and the lock that keeps runners apart.

An appended line is there whole after a kill -9, or not at all once the next one is appended.
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
    """The JSON objects among lines; a torn line, or one of another kind, is left out."""
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


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


class RunLock:
    """An exclusive lock on a run; the system frees it when its process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: IO[bytes] | None = None

    def acquire(self, tries: int = 3) -> None:
        """Take it. Raises RunError when another runner has it; one that only looks whether it is held lets go between tries."""
        for number in range(tries):
            if number:
                time.sleep(RETRY_SECONDS)
            if (stream := try_lock(self._path, private=False)) is not None:
                self._stream = stream
                return
        raise RunError(f"Another runner works on {self._path.parent.name}.", fix="Wait for it to end, or give another run id.")

    def release(self) -> None:
        """Let it go; without effect when it is not held."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
