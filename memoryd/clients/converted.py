"""Files of sessions that are converted to lines in Claude Code's format as a whole."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from memoryd.clients.base import LogStatus
from memoryd.core.files import open_regular


class ConvertedFiles:
    """The files of one client, with the last conversions, because a day dream opens the same version of a file several times.

    Args:
        convert: Returns the lines to which the first bytes of a file are converted. Raises OSError.
    """

    def __init__(self, convert: Callable[[Path, int], bytes]) -> None:
        self._convert = convert
        self._converted = lru_cache(maxsize=4)(self._convert_version)
        self._size = lru_cache(maxsize=512)(self._size_of_version)

    def open(self, path: Path) -> BinaryIO:
        """Return the session's lines. Raises OSError."""
        return io.BytesIO(self._converted(path, *_version(path)))

    def status(self, path: Path) -> LogStatus:
        """Return the size of the session's lines, and when the file was changed. Raises OSError."""
        status = path.stat()
        return LogStatus(self._size(path, *_version(path)), max(status.st_mtime, status.st_ctime))

    def converted_size(self, path: Path, size: int) -> int:
        """Return the size of the session's lines that the first bytes of the file hold. Raises OSError."""
        return len(self._convert(path, size))

    def _convert_version(self, path: Path, size: int, changed: int) -> bytes:
        return self._convert(path, size)

    def _size_of_version(self, path: Path, size: int, changed: int) -> int:
        return len(self._converted(path, size, changed))


def _version(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def complete_lines(path: Path, size: int, longest: int) -> Iterator[bytes]:
    """Yield the lines among the first bytes of a file. Longer lines, and one that is still being written, are left out."""
    with open_regular(path) as stream:
        while (line := stream.readline(longest)) and stream.tell() <= size:
            if line.endswith(b"\n"):
                yield line
            else:
                while (rest := stream.readline(longest)) and not rest.endswith(b"\n"):
                    pass


def loaded(data: bytes) -> Mapping[str, Any]:
    """Return the object in the data. Anything else becomes an empty one."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, Mapping) else {}
