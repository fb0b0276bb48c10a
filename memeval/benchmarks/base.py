"""Shared parts of loaders: options, files, opaque ids and question types.

Ids are opaque. Session `s12` is the twelfth session of its case by time, and its fifth turn is `s12:5`. The data
set's original ids are kept in `Session.source_id` and in question metadata, neither of which is passed to a system
under test. Turn metadata is passed to systems, so loaders must not put gold there.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from memeval.benchmarks import reading
from memeval.benchmarks.reading import Field, csv_records, parquet_records
from memeval.core.errors import ConfigError, DataError
from memeval.core.types import EMPTY, Case, QuestionType, Session, Turn
from memeval.specs import BenchmarkSpec


@dataclass(frozen=True, slots=True)
class RawTurn:
    """A turn without an id."""

    role: str
    text: str
    speaker: str = ""
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


class FileBenchmark(ABC):
    """A benchmark that reads `source`, a file or a folder of files.

    Subclasses declare their `OPTIONS` with defaults and yield their cases in `_cases`.
    """

    OPTIONS: ClassVar[Mapping[str, Any]] = EMPTY
    SUFFIXES: ClassVar[tuple[str, ...]] = (*reading.DATA_SUFFIXES, ".parquet")

    def __init__(self, spec: BenchmarkSpec, source: Path, options: Mapping[str, Any] = EMPTY) -> None:
        self.spec = spec
        self.source = source
        self.options = _checked_options(spec, self.OPTIONS, {**spec.options, **options})

    @property
    def name(self) -> str:
        """The registered name of the benchmark."""
        return self.spec.name

    def cases(self) -> Iterator[Case]:
        """Yield the cases one at a time. Raises DataError with the file, record and field."""
        seen: set[str] = set()
        for case in self._cases():
            if case.id in seen:
                raise DataError(
                    f"{self.source}: the case id {case.id!r} occurs twice.", fix="Give one copy of the data, not several."
                )
            seen.add(case.id)
            yield case

    def data_hash(self) -> str:
        """Return the SHA-256 of the data files."""
        return reading.sha256(self.files(), self.source)

    def files(self) -> list[Path]:
        """Return the data files, sorted by path."""
        return data_files(self.source, self.SUFFIXES)

    def type_of(self, category: Field, name: str | None = None) -> QuestionType:
        """Return the unified type that the YAML file assigns to the benchmark's own category.

        The category defaults to the field's text.
        """
        key = category.scalar() if name is None else name
        try:
            return self.spec.question_types[key]
        except KeyError:
            raise category.error(f"one of the question types {', '.join(map(repr, self.spec.question_types))}") from None

    @abstractmethod
    def _cases(self) -> Iterator[Case]: ...


class GeneratedBenchmark(FileBenchmark):
    """A benchmark that generates its cases. Its YAML file, which has the options, serves as its data file."""

    SUFFIXES = (".yaml",)

    def data_hash(self) -> str:
        """Return the SHA-256 of all generated data."""
        return hashlib.sha256(repr(list(self._cases())).encode()).hexdigest()


def file_records(path: Path, id_key: str = "") -> Iterator[Field]:
    """Yield the records of a file, numbered from 1. With `id_key`, errors also include the record's own id."""
    if path.name.endswith((".csv", ".csv.gz")):
        rows = csv_records(path)
    elif path.suffix == ".parquet":
        rows = parquet_records(path)
    else:
        rows = (Field(value, str(path), str(number)) for number, value in enumerate(reading.iter_records(path), start=1))
    for row in rows:
        name = row.value.get(id_key) if id_key and isinstance(row.value, dict) else None
        yield Field(row.value, row.file, f"{row.record} ({name})") if isinstance(name, str) else row


def data_files(source: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the file itself, or all non-hidden files of a folder with one of the suffixes. Raises DataError."""
    if source.is_file():
        return [source]
    found = sorted(path for path in source.rglob("*") if path.name.endswith(suffixes) and not path.name.startswith("."))
    if not found:
        raise DataError(f"{source} contains no data files ({', '.join(suffixes)}).", fix="Check the path of the data.")
    return found


def build_session(number: int, said: Iterable[RawTurn], at: datetime | None = None, source_id: str = "") -> Session:
    """Build a session and assign ids to its turns.

    Blank turns are skipped but still counted, so that the ids of the other turns match their positions.
    """
    turns = tuple(
        Turn(f"s{number}:{index}", turn.role, turn.text, turn.speaker, turn.at or at, turn.metadata)
        for index, turn in enumerate(said, start=1)
        if turn.text.strip()
    )
    return Session(f"s{number}", turns, at, source_id)


def role_of(role: Field) -> str:
    """Return the role of a speaker: user or assistant. System and tool messages count as the assistant's."""
    name = role.filled().lower()
    if name in ("user", "human"):
        return "user"
    if name in ("assistant", "ai", "bot", "system", "tool", "model"):
        return "assistant"
    raise role.error("a role: user or assistant")


def passages(text: str, words: int) -> Iterator[str]:
    """Split a text into passages of up to `words` words, at line ends where possible."""
    piece: list[str] = []
    count = 0
    for line in _short_lines(text, words):
        size = len(line.split())
        if count and count + size > words:
            yield "\n".join(piece)
            piece, count = [], 0
        piece.append(line)
        count += size
    if count:
        yield "\n".join(piece)


def _short_lines(text: str, words: int) -> Iterator[str]:
    for line in text.splitlines():
        parts = line.split()
        if len(parts) <= words:
            yield line
        else:
            yield from (" ".join(parts[start : start + words]) for start in range(0, len(parts), words))


def document_sessions(pieces: Iterable[str], turns_each: int = 16) -> tuple[Session, ...]:
    """Turn the passages of a document into user sessions, for benchmarks that use a text as memory."""
    group: list[RawTurn] = []
    sessions: list[Session] = []
    for piece in pieces:
        group.append(RawTurn("user", piece))
        if len(group) == turns_each:
            sessions.append(build_session(len(sessions) + 1, group))
            group = []
    if group:
        sessions.append(build_session(len(sessions) + 1, group))
    return tuple(sessions)


def _checked_options(spec: BenchmarkSpec, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    for key, value in given.items():
        if key not in defaults:
            known = ", ".join(sorted(defaults)) or "none"
            raise ConfigError(f"{spec.origin.where(f'options.{key}')}: unknown option.", fix=f"Known: {known}.")
        wanted = defaults[key]
        if wanted is not None and not _fits(value, wanted):
            raise ConfigError(
                f"{spec.origin.where(f'options.{key}')}: expected a value like {wanted!r}, found {value!r}.", fix="Correct it."
            )
    return {**defaults, **given}


def _fits(value: Any, default: Any) -> bool:
    if isinstance(default, list | tuple):
        return isinstance(value, list | tuple)
    return type(value) is type(default)
