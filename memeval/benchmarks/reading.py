"""Read the records of benchmark files one at a time, so that memory use depends on the record size rather than the file size.

A top-level array is split into elements by scanning only for brackets and strings. Each element is then parsed as a whole. The
scan uses a regular expression, so that strings are skipped in C. docs/design/dependencies.md explains why ijson isn't used.
"""

from __future__ import annotations

import ast
import csv
import gzip
import hashlib
import io
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, cast

import orjson

from memeval.core.errors import DataError, DependencyError

_STEP = re.compile(r"\.(?P<name>[\w-]+)|\.(?P<any>\*)|\[(?P<index>-?\d+|\*)\]|\['(?P<quoted>[^']*)'\]")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path as a sequence of steps. A step is a name, a number, or None for all elements."""

    text: str
    steps: tuple[str | int | None, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Parse a path. Raises a ValueError that describes the problem."""
        if not text.startswith("$"):
            raise ValueError(f"{text!r} is not a path: it must begin with $")
        steps: list[str | int | None] = []
        at = 1
        while at < len(text):
            match = _STEP.match(text, at)
            if match is None:
                raise ValueError(f"{text!r} is not a path: {text[at:]!r} can't be parsed")
            steps.append(_step(match))
            at = match.end()
        return cls(text, tuple(steps))

    def all(self, field: Field) -> list[Field]:
        """Return all values at the path, or none if a name is missing. Raises DataError for a value of the wrong type."""
        found = [field]
        for step in self.steps:
            found = [inner for outer in found for inner in _inner(outer, step)]
        return found

    def one(self, field: Field) -> Field | None:
        """Return the first non-null value at the path."""
        return next((found for found in self.all(field) if found.present), None)

    def elements(self, field: Field) -> list[Field]:
        """Like `all`, but replace a single list with its elements."""
        found = [item for item in self.all(field) if item.present]
        return found[0].items() if len(found) == 1 and isinstance(found[0].value, list) else found


def _step(match: re.Match[str]) -> str | int | None:
    name = match["name"] if match["name"] is not None else match["quoted"]
    if name is not None:
        return name
    return None if match["any"] or match["index"] == "*" else int(match["index"])


def _inner(field: Field, step: str | int | None) -> Iterator[Field]:
    if isinstance(step, str):
        inner = field[step]
        if inner.present:
            yield inner
    elif isinstance(step, int):
        yield from field.items()[step:][:1]
    elif isinstance(field.value, dict):
        yield from (inner for _, inner in field.fields())
    else:
        yield from field.items()


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Field:
    """A value and its location in the record.

    `path` is empty for the record itself. Otherwise it looks like `qa[3].evidence`.
    """

    value: Any
    file: str
    record: str
    path: str = ""

    def __getitem__(self, key: str) -> Field:
        """Return the named field. A missing field has the value MISSING and raises an error when read."""
        return Field(self.mapping().get(key, MISSING), self.file, self.record, f"{self.path}.{key}" if self.path else key)

    @property
    def present(self) -> bool:
        """Return whether the value exists and isn't null."""
        return self.value is not MISSING and self.value is not None

    def mapping(self) -> Mapping[str, Any]:
        """Return the value as an object."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return self.value

    def items(self) -> list[Field]:
        """Return the elements of a list."""
        if not isinstance(self.value, list):
            raise self.error("a list")
        return [Field(item, self.file, self.record, f"{self.path}[{index}]") for index, item in enumerate(self.value)]

    def fields(self) -> Iterator[tuple[str, Field]]:
        """Yield the names and values of an object in order."""
        for key in self.mapping():
            yield key, self[key]

    def text(self) -> str:
        """Return the value as a string."""
        if not isinstance(self.value, str):
            raise self.error("a string")
        return self.value

    def filled(self) -> str:
        """Return the value as a non-blank string."""
        text = self.text().strip()
        if not text:
            raise self.error("a string that is not blank")
        return text

    def scalar(self) -> str:
        """Return a string or a number as a string. Data sets use both for answers."""
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            raise self.error("a string or a number")
        return str(self.value)

    def integer(self) -> int:
        """Return the value as a whole number. A string of digits is accepted."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        if isinstance(self.value, str) and self.value.strip().removeprefix("-").isdecimal():
            return int(self.value)
        raise self.error("a whole number")

    def decoded(self) -> Field:
        """Return the field with a string value decoded from JSON or a Python literal. Both occur."""
        if not isinstance(self.value, str):
            return self
        return Field(self._decode(self.value), self.file, self.record, self.path)

    def _decode(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            pass  # Not JSON: try a Python literal.
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise self.error("a value in JSON or Python notation") from None

    def error(self, expected: str) -> DataError:
        """Return an error with the expected and the actual value."""
        found = repr(self.value)
        found = found if len(found) <= 60 else found[:57] + "..."
        return DataError(
            f"{self.file}: record {self.record}: field {self.path or '(the record)'}: expected {expected}, found {found}.",
            fix="Repair that record, or download the file again.",
        )


_MONTHS = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)
}  # fmt: skip
_LOCOMO = re.compile(r"(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE)
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\(\w+\))?(?:\s+(\d{1,2}):(\d{2})(?::\d{2})?)?")
_MONTH_FIRST = re.compile(r"([a-z]{3,9})[- ](\d{1,2})(?:st|nd|rd|th)?[-, ]+(\d{4})", re.IGNORECASE)


def read_date(field: Field) -> datetime:
    """Read a date. Raises DataError if the format is unknown."""
    text = field.text().strip()
    try:
        found = parse_date(text)
    except ValueError:
        found = None
    if found is None:
        raise field.error("a date such as '1:56 pm on 8 May, 2023', '2023/05/30 (Tue) 23:40', 'March-15-2024' or ISO 8601")
    return found


def parse_date(text: str) -> datetime | None:
    """Parse a date.

    Return None if the format is unknown. Raises ValueError for a date that doesn't exist.
    """
    if match := _LOCOMO.fullmatch(text):
        hour, minute, half, day, month, year = match.groups()
        return datetime(int(year), _month(month), int(day), int(hour) % 12 + 12 * (half.lower() == "p"), int(minute), tzinfo=UTC)
    if match := _SLASHED.fullmatch(text):
        return datetime(*(int(part or 0) for part in match.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    if match := _MONTH_FIRST.fullmatch(text):
        month, day, year = match.groups()
        return datetime(int(year), _month(month), int(day), tzinfo=UTC)
    return _iso(text)


def _month(name: str) -> int:
    number = _MONTHS.get(name[:3].lower())
    if number is None:
        raise ValueError(name)
    return number


def _iso(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


_LONGEST_CELL = 1 << 28


def csv_records(path: Path) -> Iterator[Field]:
    """Yield the rows of a CSV file (.csv or .csv.gz) with a header, numbered from 1. Raises DataError."""
    csv.field_size_limit(_LONGEST_CELL)
    with open_data(path) as file:
        reader = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
        try:
            for number, row in enumerate(reader, start=1):
                named = {key: MISSING if value is None else value for key, value in row.items() if key}
                yield Field(named, str(path), str(number))
        except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
            raise DataError(f"{path}: line {reader.line_num}: not valid CSV: {error}.", fix="Download the file again.") from error


def parquet_records(path: Path) -> Iterator[Field]:
    """Read the file in batches and yield its rows, numbered from 1.

    Raises DependencyError if pyarrow is missing, and DataError for a broken file.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DependencyError(
            f"{path} is a Parquet file, which requires pyarrow.", fix="pip install pyarrow, or convert the file to .jsonl."
        ) from None
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=16):
                for row in batch.to_pylist():
                    number += 1
                    yield Field(row, str(path), str(number))
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: row {number + 1} can't be read: {error}.", fix="Download the file again.") from error


CHUNK = 1 << 20
MAX_RECORD = 1 << 29
"""Maximum record size in bytes. A larger record indicates an unclosed bracket or quote."""

# Matches a whole string, a bracket, or the opening quote of a string that extends beyond the buffer.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]|"', re.DOTALL)
_BETWEEN = re.compile(rb"[\s,]*\Z")
_BOM = b"\xef\xbb\xbf"
_LINE_SUFFIXES = (".jsonl", ".ndjson")
DATA_SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")


def open_data(path: Path) -> IO[bytes]:
    """Open the file, decompressing it if its name ends in .gz. Raises DataError if it can't be opened."""
    try:
        return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}.", fix="Check the path and its permissions.") from error


def iter_records(path: Path) -> Iterator[Any]:
    """Yield the records of a file.

    These are the elements of a top-level array, the lines of a .jsonl file, or the only object.
    """
    lines = path.name.removesuffix(".gz").endswith(_LINE_SUFFIXES)
    with open_data(path) as file:
        yield from _lines(path, file) if lines else _elements(path, file)


def load_json(path: Path) -> Any:
    """Parse a whole file. Intended for small files."""
    with open_data(path) as file:
        data = b"".join(_chunks(path, file))
    return parse(data.removeprefix(_BOM), f"{path}")


def sha256(paths: Iterable[Path], root: Path) -> str:
    """Return the SHA-256 over the contents of the files and their names relative to `root`."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        name = path.name if path == root else path.relative_to(root).as_posix()
        whole.update(name.encode() + b"\0" + file_sha256(path).encode())
    return whole.hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as stored on disk."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse(data: bytes, where: str) -> Any:
    """Parse a JSON value. The standard library parses NaN and lone surrogates, which orjson rejects."""
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
    """Replace lone surrogates with U+FFFD, because UTF-8 can't encode them."""
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
    """Convert decompression errors of a damaged file to DataError."""
    try:
        yield
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} is truncated or damaged: {error}.", fix="Download the file again.") from error


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
            f"{path}: record {number} is larger than {MAX_RECORD >> 20} MiB; a bracket or quote is probably not closed.",
            fix="Download the file again.",
        )


def _elements(path: Path, file: IO[bytes]) -> Iterator[Any]:
    cutter = _Cutter(path)
    # Doubling the amount of buffered data keeps the work linear for records larger than a chunk.
    while chunk := _read(path, file, max(CHUNK, cutter.pending)):
        yield from cutter.feed(chunk)
    cutter.finish()


class _Cutter:
    """Splits a stream into the elements of its top-level array.

    If there is no array, it splits the stream into top-level values.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._buffer = b""
        self._scanned = 0  # All tokens before this position have been processed.
        self._start = -1  # Start of the current record.
        self._done = 0  # End of the last whole record, or of the bracket that opens the array.
        self._depth = 0
        self._base = -1  # Depth of the records: 1 in an array, 0 without an array, and -1 before the first bracket.
        self._number = 0

    @property
    def pending(self) -> int:
        """The number of buffered bytes that don't yet belong to a complete record."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> Iterator[Any]:
        """Add bytes and yield the records that they complete."""
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
        """Raise DataError if a record is incomplete or data is left over."""
        if self._base < 0:
            raise DataError(
                f"{self._path} contains no JSON records.", fix="It is empty or has another format; download it again."
            )
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
        """Return whether this bracket ends a record."""
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
        """Drop the bytes of complete records."""
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
            f"{self._path}: text that is not an object or array before record {self._number + 1}: {found!r}.",
            fix="The file is damaged or has another format; download it again.",
        )
