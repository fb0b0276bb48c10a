"""Records of benchmark files, one at a time, so that a file of any size needs the memory of one record.

A top-level array is cut into its elements by looking at brackets and strings only; each element is then parsed whole.
The cut is a regular expression that steps over strings in C. Why not ijson: docs/design/dependencies.md.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import orjson

from memeval.core.errors import DataError

CHUNK = 1 << 20
MAX_RECORD = 1 << 29
"""Bytes of one record; more means that a bracket or quote is not closed."""

# A whole string, a bracket, or a quote whose string is not complete in the buffer.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]|"', re.DOTALL)
_BETWEEN = re.compile(rb"[\s,]*\Z")
_BOM = b"\xef\xbb\xbf"
_LINE_SUFFIXES = (".jsonl", ".ndjson")
DATA_SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")


def open_data(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked if its name ends in .gz. Raises DataError if it can't be opened."""
    try:
        return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}.", fix="Check the path and its rights.") from error


def iter_records(path: Path) -> Iterator[Any]:
    """The records of a file: the elements of a top-level array, the lines of a .jsonl, or the one object."""
    lines = path.name.removesuffix(".gz").endswith(_LINE_SUFFIXES)
    with open_data(path) as file:
        yield from _lines(path, file) if lines else _elements(path, file)


def load_json(path: Path) -> Any:
    """The whole file, parsed; for small ones."""
    with open_data(path) as file:
        data = b"".join(_chunks(path, file))
    return parse(data.removeprefix(_BOM), f"{path}")


def sha256(paths: Iterable[Path], root: Path) -> str:
    """SHA-256 over bytes and names (below `root`) of the files."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        name = path.name if path == root else path.relative_to(root).as_posix()
        whole.update(name.encode() + b"\0" + file_sha256(path).encode())
    return whole.hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of one file as it lies on disk."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse(data: bytes, where: str) -> Any:
    """One JSON value. What orjson refuses but data sets hold (NaN, lone surrogates) is read by the standard library."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _parse_leniently(data, where)


def _parse_leniently(data: bytes, where: str) -> Any:
    try:
        return _without_surrogates(json.loads(data))
    except (ValueError, RecursionError) as error:
        reason = str(error)
    raise DataError(f"{where}: not valid JSON: {reason}.", fix="Download the file again, or repair it there.")


def _without_surrogates(value: Any) -> Any:
    """Text that UTF-8 can't hold would break every store later; the lone halves become U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _read(path: Path, file: IO[bytes], size: int) -> bytes:
    with _damage(path):
        return file.read(size)


def _chunks(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    while chunk := _read(path, file, CHUNK):
        yield chunk


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """What unpacking raises for a damaged file, as a DataError."""
    try:
        yield
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} is cut off or damaged: {error}.", fix="Download the file again.") from error


def _lines(path: Path, file: IO[bytes]) -> Iterator[Any]:
    for number in itertools.count(1):
        with _damage(path):
            line = file.readline(MAX_RECORD + 1)
        if not line:
            return
        _check_size(path, number, len(line))
        line = line.removeprefix(_BOM).strip()
        if line:
            yield parse(line, f"{path}, line {number}")


def _check_size(path: Path, number: int, size: int) -> None:
    if size > MAX_RECORD:
        raise DataError(
            f"{path}: record {number} is larger than {MAX_RECORD >> 20} MiB; a bracket or quote seems not to be closed.",
            fix="Download the file again.",
        )


def _elements(path: Path, file: IO[bytes]) -> Iterator[Any]:
    cutter = _Cutter(path)
    # Reading as much again as is open keeps the work linear for records that are larger than a chunk.
    while chunk := _read(path, file, max(CHUNK, cutter.pending)):
        yield from cutter.feed(chunk)
    cutter.finish()


class _Cutter:
    """Cuts a stream into the elements of its top-level array, or into its top-level values if there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._buffer = b""
        self._scanned = 0  # tokens up to here were seen
        self._start = -1  # where the open record starts
        self._done = 0  # end of the last whole record or of the bracket that opens the array
        self._depth = 0
        self._base = -1  # depth of the records: 1 in an array, 0 without one, -1 before the first bracket
        self._number = 0

    @property
    def pending(self) -> int:
        """Bytes that are not yet part of a whole record."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> Iterator[Any]:
        """Add bytes; yields the records that are now complete."""
        self._buffer += chunk.removeprefix(_BOM) if self._base < 0 else chunk
        _check_size(self._path, self._number + 1, len(self._buffer))
        for token in _TOKEN.finditer(self._buffer, self._scanned):
            text = token.group() if token.end() - token.start() == 1 else b""
            if text == b'"':
                self._scanned = token.start()
                break
            if text in (b"[", b"{"):
                self._open(text, token.start())
            elif text and self._close(token.start()):
                yield self._record(token.end())
        else:
            self._scanned = len(self._buffer)
        self._forget()

    def finish(self) -> None:
        """Raises DataError if something is open or left over."""
        if self._base < 0:
            raise DataError(f"{self._path} holds no JSON records.", fix="It is empty or of another kind; download it again.")
        if self._depth or self._scanned < len(self._buffer):
            raise DataError(f"{self._path} ends inside record {self._number + 1}.", fix="Download the file again.")
        self._check_between(self._done, len(self._buffer))

    def _open(self, text: bytes, at: int) -> None:
        if self._base < 0:
            self._check_between(0, at)
            self._base = 1 if text == b"[" else 0
            self._done = at + self._base
        elif self._depth < self._base:
            raise self._garbage(at)
        if self._start < 0 and (self._base == 0 or self._depth == 1):
            self._check_between(self._done, at)
            self._start = at
        self._depth += 1

    def _close(self, at: int) -> bool:
        """Whether this bracket ends a record."""
        self._depth -= 1
        if self._depth < 0:
            raise self._garbage(at)
        if self._depth < self._base:
            self._check_between(self._done, at)
            self._done = at + 1
        return self._depth == self._base

    def _record(self, end: int) -> Any:
        self._number += 1
        data = self._buffer[self._start : end]
        self._start, self._done = -1, end
        return parse(data, f"{self._path}, record {self._number}")

    def _forget(self) -> None:
        """Drop the bytes of finished records."""
        keep = self._start if self._start >= 0 else min(self._done, self._scanned)
        self._buffer = self._buffer[keep:]
        self._scanned -= keep
        self._done = max(0, self._done - keep)
        self._start = 0 if self._start >= 0 else -1

    def _check_between(self, start: int, end: int) -> None:
        if not _BETWEEN.match(self._buffer, start, end):
            raise self._garbage(start)

    def _garbage(self, at: int) -> DataError:
        found = self._buffer[at : at + 40].decode("utf-8", "replace").strip()
        return DataError(
            f"{self._path}: text that is no object or array before record {self._number + 1}: {found!r}.",
            fix="The file is damaged or of another kind; download it again.",
        )
