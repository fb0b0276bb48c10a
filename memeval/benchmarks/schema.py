"""The generic loader, for benchmarks described entirely by `schema` in their YAML file.

Evidence refers to the ids in `sessionId` and `turnId`. Without these paths, session ids have the form `s<number>` and
turn ids the form `s<session>:<number>`, numbered from 1 in file order. Sessions are sorted by time if all have a
date.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.benchmarks import reading
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records, role_of
from memeval.benchmarks.reading import Field, JsonPath, read_date
from memeval.core.errors import ConfigError, DataError
from memeval.core.types import EMPTY, Case, Question, QuestionType, Session
from memeval.specs import BenchmarkSpec, SchemaSpec, key_of

_FORMATS = ("json", "jsonl", "csv", "parquet")
_UNTYPED = "default"
"""Category of questions if the schema has no `questionType`. It can be mapped in `questionTypes`."""


@dataclass(slots=True)
class _Memory:
    """The sessions of the case being built, and the data set's ids of its sessions and turns."""

    sessions: list[Session] = field(default_factory=list)
    session_ids: dict[str, list[str]] = field(default_factory=dict)
    turn_ids: dict[str, list[str]] = field(default_factory=dict)


@registry.benchmark_loader("schema")
class SchemaBenchmark(FileBenchmark):
    """Reads JSON, JSON lines, CSV or Parquet files as described by `spec.schema`. The suffix determines the format."""

    SUFFIXES = (*reading.DATA_SUFFIXES, ".parquet", ".csv", ".csv.gz")

    def __init__(self, spec: BenchmarkSpec, source: Path, options: Mapping[str, Any] = EMPTY) -> None:
        super().__init__(spec, source, options)
        if spec.schema is None:
            raise ConfigError(f"{spec.origin.where('schema')}: is required by the loader schema.", fix="Add it.")
        if spec.format not in _FORMATS:
            raise ConfigError(
                f"{spec.origin.where('format')}: there is no format {spec.format!r}.", fix=f"Known: {', '.join(_FORMATS)}."
            )
        self._formats = spec.schema.date_formats
        self._roles = {name.lower(): str(role) for name, role in spec.schema.roles.items()}
        self._paths = dict(_parsed(spec, spec.schema))

    def _cases(self) -> Iterator[Case]:
        number = 0
        for path in self.files():
            for whole in file_records(path):
                for record in self._all("records", whole):
                    number += 1
                    try:
                        case = self._case(record, number)
                    except DataError as error:
                        raise DataError(error.message, fix=f"Repair that record, or correct the schema: {self._hint}.") from None
                    yield case

    @property
    def _hint(self) -> str:
        return f"{self.spec.origin.where('schema')} (roles maps the data's own roles, dateFormats lists date formats)"

    def _case(self, record: Field, number: int) -> Case:
        name = self._text("case_id", record)
        if name:
            record = Field(record.value, record.file, f"{record.record} ({name})", record.path)
        name = name or str(number)
        memory = self._memory(record)
        asked = self._all("questions", record) if "questions" in self._paths else [record]
        questions = tuple(self._question(f"{name}:q{index}", item, memory) for index, item in enumerate(asked, start=1))
        return Case(name, tuple(memory.sessions), questions)

    def _memory(self, record: Field) -> _Memory:
        found = [
            (self._date("session_date", item), number, item) for number, item in enumerate(self._all("sessions", record), start=1)
        ]
        if all(at is not None for at, _, _ in found):
            found.sort(key=lambda entry: (str(entry[0]), entry[1]))
        memory = _Memory()
        for at, number, item in found:
            self._add(memory, item, number, at)
        return memory

    def _add(self, memory: _Memory, item: Field, number: int, at: datetime | None) -> None:
        name = self._text("session_id", item) or f"s{number}"
        turns = self._all("turns", item)
        session = build_session(len(memory.sessions) + 1, map(self._said, turns), at, name)
        memory.sessions.append(session)
        memory.session_ids.setdefault(name, []).append(session.id)
        kept = {turn.id for turn in session.turns}
        for index, turn in enumerate(turns, start=1):
            if (own := f"{session.id}:{index}") in kept:
                memory.turn_ids.setdefault(self._text("turn_id", turn) or f"{name}:{index}", []).append(own)

    def _said(self, turn: Field) -> RawTurn:
        text = self._paths["text"].one(turn)
        if text is None:
            raise turn.error(f"a turn with a text at {self._paths['text'].text}")
        role = self._one("role", turn) if isinstance(turn.value, dict) else None
        who = "user" if role is None else self._roles.get(role.scalar().strip().lower()) or role_of(role)
        return RawTurn(who, text.scalar(), self._text("speaker", turn), self._date("turn_date", turn))

    def _question(self, name: str, item: Field, memory: _Memory) -> Question:
        text = self._one("question", item)
        if text is None:
            raise item.error(f"a question at {self._paths['question'].text}")
        category, kind = self._type(item)
        turns, lost_turns = _resolve(self._all("evidence_turns", item), memory.turn_ids)
        sessions, lost_sessions = _resolve(self._all("evidence_sessions", item), memory.session_ids)
        lost = lost_turns + lost_sessions
        return Question(
            id=self._text("question_id", item) or name,
            text=text.filled(),
            type=kind,
            answers=tuple(answer.scalar() for answer in self._all("answer", item)),
            at=self._date("question_date", item),
            evidence_sessions=tuple(dict.fromkeys((*sessions, *(turn.partition(":")[0] for turn in turns)))),
            evidence_turns=turns,
            category=category,
            metadata={"unresolved_evidence": lost} if lost else {},
        )

    def _type(self, item: Field) -> tuple[str, QuestionType]:
        found = self._one("question_type", item)
        if found is None:
            return _UNTYPED, self.spec.question_types.get(_UNTYPED, QuestionType.FACT_RECALL)
        name = found.scalar()
        if name not in self.spec.question_types and name in set(QuestionType):
            return name, QuestionType(name)
        return name, self.type_of(found)

    def _all(self, key: str, item: Field) -> list[Field]:
        path = self._paths.get(key)
        return path.elements(item) if path else []

    def _one(self, key: str, item: Field) -> Field | None:
        path = self._paths.get(key)
        return path.one(item) if path else None

    def _text(self, key: str, item: Field) -> str:
        found = self._one(key, item) if isinstance(item.value, dict) else None
        return found.scalar().strip() if found else ""

    def _date(self, key: str, item: Field) -> datetime | None:
        found = self._one(key, item) if isinstance(item.value, dict) else None
        if found is None:
            return None
        for pattern in self._formats:
            if made := _by_pattern(found.text().strip(), pattern):
                return made
        return read_date(found)


def _parsed(spec: BenchmarkSpec, schema: SchemaSpec) -> Iterator[tuple[str, JsonPath]]:
    """Yield the parsed paths of the schema by field name. Raises ConfigError with the file, line and key."""
    for part in dataclasses.fields(schema):
        text = getattr(schema, part.name)
        if part.name in ("date_formats", "roles") or not text:
            continue
        try:
            yield part.name, JsonPath.parse(text)
        except ValueError as error:
            key = f"schema.{key_of(part.name)}"
            raise ConfigError(f"{spec.origin.where(key)}: {error}.", fix="Write it like $.name[*].text.") from None


def _by_pattern(text: str, pattern: str) -> datetime | None:
    try:
        made = datetime.strptime(text, pattern).replace(tzinfo=UTC)
        return datetime.strptime(text, pattern).astimezone(UTC) if "%z" in pattern else made
    except ValueError:
        return None


def _resolve(wanted: list[Field], known: Mapping[str, list[str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Replace the data set's ids with the ids of the case. Also return the unresolved ids."""
    names = [item.scalar() for item in wanted]
    found = dict.fromkeys(own for name in names for own in known.get(name, ()))
    return tuple(found), tuple(name for name in names if name not in known)
