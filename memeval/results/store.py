"""Store the settings, questions and records of a run in SQLite. A lock guards the single connection, so the store is thread-safe.

A record is both a result and a checkpoint. An item with a row is done. With WAL and `synchronous=NORMAL`, a killed
process loses no committed row. A power cut may lose the last rows, whose work is then repeated.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from memeval.core.errors import RunError, is_disk_full
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from threading import RLock
from typing import Any
from memeval.results.codec import dumps
from memeval.core.types import EMPTY, Phase

Step = Callable[[sqlite3.Connection], None]


def m001_records(db: sqlite3.Connection) -> None:
    """Create the tables for settings, ordered questions, and records, which have one row per finished item."""
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute(
        """CREATE TABLE questions (
            position INTEGER PRIMARY KEY, case_id TEXT NOT NULL, question_id TEXT NOT NULL, payload TEXT NOT NULL,
            UNIQUE (case_id, question_id))"""
    )
    db.execute(
        """CREATE TABLE records (
            phase TEXT NOT NULL, case_id TEXT NOT NULL, question_id TEXT NOT NULL, part TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('done', 'failed', 'skipped')),
            payload TEXT NOT NULL, error TEXT NOT NULL, seconds REAL NOT NULL, at TEXT NOT NULL,
            PRIMARY KEY (phase, case_id, question_id, part)) WITHOUT ROWID"""
    )


def m002_sums(db: sqlite3.Connection) -> None:
    """Add a checksum to each row to detect changed bytes within a text, because SQLite has no checksums. Older rows have none."""
    for table in ("meta", "questions", "records"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN sum INTEGER")


STEPS: tuple[Step, ...] = (m001_records, m002_sums)


def row_sum(*values: Any) -> int:
    """Return the checksum of a row's values."""
    return zlib.crc32(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def migrate(db: sqlite3.Connection, name: str, steps: tuple[Step, ...] = STEPS) -> list[str]:
    """Apply missing migrations and return their names. Raises RunError for a database from a newer version."""
    db.execute("CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY, applied_at TEXT DEFAULT CURRENT_TIMESTAMP)")
    missing_steps(db, name, steps)
    return [step.__name__ for step in steps if _apply(db, step)]


def missing_steps(db: sqlite3.Connection, name: str, steps: tuple[Step, ...] = STEPS) -> list[str]:
    """Return the migrations that the database lacks. Raises RunError for a database from a newer version."""
    done = {row[0] for row in db.execute("SELECT name FROM _migrations")}
    known = [step.__name__ for step in steps]
    if unknown := sorted(done - set(known)):
        raise RunError(f"{name} was created by a newer version of memeval (step {unknown[0]}).", fix="Update memeval.")
    return [step for step in known if step not in done]


def _apply(db: sqlite3.Connection, step: Step) -> bool:
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.execute("SELECT 1 FROM _migrations WHERE name = ?", (step.__name__,)).fetchone():
            return False
        step(db)
        db.execute("INSERT INTO _migrations (name) VALUES (?)", (step.__name__,))
        return True
    except BaseException:
        db.execute("ROLLBACK")
        raise
    finally:
        if db.in_transaction:
            db.execute("COMMIT")


class Status(StrEnum):
    """The outcome of a work item."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Key:
    """The subject of a record, which is a case or one of its questions. `part` numbers batches or epochs."""

    phase: Phase
    case_id: str
    question_id: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """The result of one item. `error` is why it failed or was skipped. `seconds` is wall time, and `at` is in ISO 8601."""

    key: Key
    status: Status
    payload: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    error: str = ""
    seconds: float = 0.0
    at: str = ""


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A selected question. `payload` is its JSON, with everything needed to score it."""

    position: int
    case_id: str
    question_id: str
    payload: Mapping[str, Any]


def is_empty(db: sqlite3.Connection) -> bool:
    """Return whether nothing was ever written to the file."""
    try:
        return bool(db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,))
    except sqlite3.DatabaseError:
        return False


def not_begun(run: str) -> RunError:
    """Return the error for a run without any stored data. It was killed, or the disk was full, at its start."""
    return RunError(f"Run {run} ended before it started any work.", fix=f"Run its command again; the id {run} can be reused.")


def _unopened(path: Path, error: sqlite3.DatabaseError, *, empty: bool) -> RunError:
    if is_disk_full(error):
        return RunError(f"{path} can't be written: {error}.", fix="Free some space, and run the command again.")
    if empty:
        return not_begun(path.parent.name)
    return RunError(
        f"{path} is not the database of a run: {error}.", fix="Resume the run: readable parts of the file are kept."
    )


def _unusable(path: Path, error: sqlite3.DatabaseError) -> RunError:
    fix = "Check the disk and your permissions; a damaged file is salvaged when the run is resumed."
    if is_disk_full(error):
        fix = f"Free some space, then continue: memeval eval --resume {path.parent.name}"
    return RunError(f"{path} can't be read or written: {error}.", fix=fix)


class RunStore:
    """The open or newly created run.db. Raises RunError if the file is not a database of this kind.

    With `read_only`, neither the schema nor the journal mode is written, so that a run of another process can be inspected,
    even one of an older version. `outdated` is then the first migration that the file lacks, or an empty string. A file of a
    newer version is rejected.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self.path = path
        if not create and not path.exists():
            raise RunError(f"There is no run at {path.parent}.", fix="`memeval status` lists the runs.")
        self._lock = RLock()
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._db = _connect(path, read_only)
        try:
            if os.access(path.parent, os.W_OK) and not read_only:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                migrate(self._db, str(path))
            self._db.execute("SELECT count(*) FROM meta")
            self.outdated = next(iter(missing_steps(self._db, str(path))), "")
        except sqlite3.DatabaseError as error:
            empty = is_empty(self._db)
            self._db.close()
            raise _unopened(path, error, empty=empty) from None
        except RunError:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the database file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes within the block, or none of them. Transactions can be nested."""
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            with self._as_run_error():
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:  # After a full disk, the transaction has already ended.
                        self._db.execute("ROLLBACK")
                    raise

    @contextmanager
    def _as_run_error(self) -> Iterator[None]:
        """Convert errors caused by a full disk or an unwritable or damaged file to RunError."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
                raise
            raise _unusable(self.path, error) from error

    def set_meta(self, key: str, value: Any) -> None:
        """Store a JSON value under a name."""
        with self.transaction():
            text = dumps(value)
            self._db.execute("INSERT OR REPLACE INTO meta (key, value, sum) VALUES (?, ?, ?)", (key, text, row_sum(key, text)))

    def forget_meta(self) -> None:
        """Remove the values of the given names."""
        with self.transaction():
            self._db.execute("DELETE FROM meta")

    def meta(self, key: str, default: Any = None) -> Any:
        """Return the value stored under a name."""
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else default

    def add_questions(self, rows: Iterable[QuestionRow]) -> None:
        """Store questions. Their positions determine the report order."""
        with self.transaction():
            self._db.executemany(
                "INSERT INTO questions (position, case_id, question_id, payload, sum) VALUES (?, ?, ?, ?, ?)",
                (_summed(r.position, r.case_id, r.question_id, dumps(r.payload)) for r in rows),
            )

    def questions(self) -> list[QuestionRow]:
        """Return all questions in order."""
        rows = self._rows("SELECT position, case_id, question_id, payload FROM questions ORDER BY position")
        return [QuestionRow(p, c, q, json.loads(text)) for p, c, q, text in rows]

    def put(self, record: Record) -> None:
        """Store a record, replacing any record with the same key."""
        key = record.key
        with self.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO records (phase, case_id, question_id, part, status, payload, error, seconds, at, sum) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                _summed(key.phase, key.case_id, key.question_id, key.part, record.status, dumps(record.payload), record.error,
                        float(record.seconds), record.at),
            )  # fmt: skip

    def get(self, key: Key) -> Record | None:
        """Return the record with the given key."""
        rows = self._rows(
            "SELECT * FROM records WHERE phase = ? AND case_id = ? AND question_id = ? AND part = ?",
            (key.phase, key.case_id, key.question_id, key.part),
        )
        return _record(rows[0]) if rows else None

    def with_parts(self, key: Key) -> list[Record]:
        """Return the records of an item's parts, followed by that of the whole item."""
        rows = self._rows(
            "SELECT * FROM records WHERE phase = ? AND case_id = ? AND question_id = ? ORDER BY part = '', part",
            (key.phase, key.case_id, key.question_id),
        )
        return [_record(row) for row in rows]

    def records(self, phase: Phase) -> Iterator[Record]:
        """Yield the records of a phase in key order. They are read in small batches, because payloads can be large."""
        for key in self.keys(phase):
            if (record := self.get(key)) is not None:
                yield record

    def whole_records(self, phase: Phase) -> Iterator[Record]:
        """Yield the records of a phase, except those of batches."""
        for key in self.keys(phase):
            if not key.part and (record := self.get(key)) is not None:
                yield record

    def keys(self, phase: Phase, status: Status | None = None) -> list[Key]:
        """Return the sorted keys of a phase, optionally only those with the given status."""
        rows = self._rows(
            "SELECT case_id, question_id, part FROM records WHERE phase = ? AND (? IS NULL OR status = ?) ORDER BY 1, 2, 3",
            (phase, status, status),
        )
        return [Key(phase, *row) for row in rows]

    def delete(self, phase: Phase, status: Status | None = None) -> int:
        """Remove the records of a phase, optionally only those with the given status. Return the number removed."""
        with self.transaction():
            cursor = self._db.execute(
                "DELETE FROM records WHERE phase = ? AND (? IS NULL OR status = ?)", (phase, status, status)
            )
            return cursor.rowcount

    def delete_one(self, key: Key) -> None:
        """Remove one record with all its parts."""
        with self.transaction():
            self._db.execute(
                "DELETE FROM records WHERE phase = ? AND case_id = ? AND question_id = ?",
                (key.phase, key.case_id, key.question_id),
            )

    def newest(self, limit: int) -> list[Key]:
        """Return the questions with a record, most recently worked on first. The keys are those of their latest records."""
        rows = self._rows(
            "SELECT phase, case_id, question_id, MAX(at) AS latest FROM records WHERE question_id != '' AND part = '' "
            "GROUP BY case_id, question_id ORDER BY latest DESC, case_id, question_id LIMIT ?",
            (limit,),
        )
        return [Key(Phase(row[0]), row[1], row[2]) for row in rows]

    def delete_row(self, key: Key) -> None:
        """Remove exactly one record. If it belongs to a whole item, the records of its parts remain."""
        with self.transaction():
            self._db.execute(
                "DELETE FROM records WHERE phase = ? AND case_id = ? AND question_id = ? AND part = ?",
                (key.phase, key.case_id, key.question_id, key.part),
            )

    def counts(self) -> dict[str, dict[str, int]]:
        """Count records by phase and status, ignoring batches."""
        out: dict[str, dict[str, int]] = {}
        for phase, status, number in self._rows(
            "SELECT phase, status, COUNT(*) FROM records WHERE part = '' GROUP BY phase, status ORDER BY phase, status"
        ):
            out.setdefault(phase, {})[status] = number
        return out

    def spent(self) -> tuple[float, int]:
        """Return the cost of all records in US dollars, and the number of records with an unknown cost.

        A batch counts as part of its whole.
        """
        rows = self._rows(
            """SELECT TOTAL(json_extract(payload, '$.usage.cost_usd')), TOTAL(json_type(payload, '$.usage.cost_usd') = 'null')
            FROM records WHERE part = '' OR NOT EXISTS (SELECT 1 FROM records AS whole WHERE whole.part = ''
              AND (whole.phase, whole.case_id, whole.question_id) = (records.phase, records.case_id, records.question_id))"""
        )
        return float(rows[0][0]), int(rows[0][1])

    def copy_from(self, other: RunStore, phases: Iterable[Phase]) -> None:
        """Copy the questions and the records of some phases from another run."""
        with self.transaction():
            self.add_questions(other.questions())
            for phase in phases:
                for record in other.records(phase):
                    self.put(record)

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._lock, self._as_run_error():
            return self._db.execute(sql, values).fetchall()


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    """Connect to the file.

    In a read-only folder, only a cleanly closed run can be read. Otherwise, rows are in the WAL.
    """
    name, uri = str(path), False
    if not os.access(path.parent, os.W_OK):
        wal = path.with_name(f"{path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            raise RunError(
                f"{path.parent} is not writable, and its run was not closed cleanly.", fix="Copy the folder and read the copy."
            )
        name, uri = f"{path.resolve().as_uri()}?immutable=1", True
    elif read_only:
        name, uri = f"{path.resolve().as_uri()}?mode=ro", True
    return sqlite3.connect(name, isolation_level=None, check_same_thread=False, timeout=30.0, uri=uri)


def _summed(*values: Any) -> tuple[Any, ...]:
    return (*values, row_sum(*values))


def _record(row: Any) -> Record:
    phase, case_id, question_id, part, status, payload, error, seconds, at = row[:9]
    return Record(Key(Phase(phase), case_id, question_id, part), Status(status), json.loads(payload), error, seconds, at)
