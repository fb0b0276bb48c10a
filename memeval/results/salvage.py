"""Recover the rows of a damaged run.db page by page. Intact pages yield their rows, whatever the state of the others.

SQLite finds rows through the schema and the inner pages of a tree, so one bad page can hide all rows. Here, each page
of the file is parsed on its own (https://www.sqlite.org/fileformat2.html). Table pages contain questions. Index pages
contain the rows of tables without row ids, which are records and meta. A row counts only if it is complete and
well-formed. Pages on the free list are skipped. If that list is lost, deleted rows can reappear, so judgements are
discarded and repeated.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.results.store import Key, QuestionRow, Record, RunStore, Status, is_empty, not_begun, row_sum

MAGIC = b"SQLite format 3\0"
SIZES = (4096, 8192, 16384, 1024, 2048, 512, 32768, 65536)
MAX_COLUMNS = 16
COLUMNS = {"meta": (2, 1), "questions": (4, 3), "records": (9, 5)}
"""Number of columns before the checksum (older files have none), and index of the JSON column."""
SAMPLE = 1 << 22
"""Bytes sampled to detect the page size."""
INDEX_LEAF, INDEX_INNER, TABLE_LEAF = 0x0A, 0x02, 0x0D


@dataclass(slots=True)
class RecoveredRows:
    """The recovered rows. `sure` means that the list of free pages was read, so that no deleted rows are included."""

    meta: dict[str, Any] = field(default_factory=dict)
    questions: dict[int, QuestionRow] = field(default_factory=dict)
    records: dict[Key, Record] = field(default_factory=dict)
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The counts of recovered rows, and the path of the damaged file."""

    questions: int
    records: int
    kept: Path

    def __str__(self) -> str:
        return (f"run.db was damaged: {self.questions} questions and {self.records} records were recovered; the old file "
        f"is {self.kept}")


def damage(path: Path) -> str:
    """Return the damage found in a run.db, or "" if it is intact. Reads the whole file."""
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        return str(error)
    try:
        (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            return str(found)
        for table, (columns, payload) in COLUMNS.items():
            for row in db.execute(f"SELECT * FROM {table}"):
                orjson.loads(row[payload])
                _check_sum(row, columns)
    except (sqlite3.Error, ValueError) as error:
        return str(error)
    finally:
        db.close()
    return ""


def _was_never_written(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            return is_empty(db)
    except sqlite3.Error:
        return False


def salvage(path: Path) -> Salvaged:
    """Replace a damaged run.db with everything that can be recovered. Raises RunError if the settings can't be recovered.

    Lost questions are selected again from the run's original data.
    """
    rows = read(path)
    if not rows.meta and not rows.questions and not rows.records and _was_never_written(path):
        raise not_begun(path.parent.name)
    if "settings" not in rows.meta:
        raise RunError(f"{path} is damaged, and the run's settings can't be read.", fix="Restore it, or start a new run.")
    plan, whole = rows.meta.pop("plan", None), rows.meta.get("chosen") == len(rows.questions)
    kept = _aside(path)
    records = [record for record in rows.records.values() if rows.sure or record.key.phase is not Phase.EVALUATE]
    with RunStore(path, create=True) as store, store.transaction():
        for key, value in rows.meta.items():
            store.set_meta(key, value)
        if plan is not None and whole:
            store.set_meta("plan", plan)
            store.add_questions(sorted(rows.questions.values(), key=lambda row: row.position))
        elif plan is not None:
            store.set_meta("planned_for", plan.get("data_hash"))
        for record in records:
            store.put(record)
        store.set_meta("salvaged", [*rows.meta.get("salvaged", []), {"records": len(records), "kept": kept.name}])
    return Salvaged(len(rows.questions), len(records), kept)


def _aside(path: Path) -> Path:
    """Move the damaged file and its companion files out of the way."""
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for ending in ("-wal", "-shm"):
        extra = path.with_name(path.name + ending)
        if extra.exists():
            os.replace(extra, kept.with_name(kept.name + ending))
    os.replace(path, kept)
    return kept


def read(path: Path) -> RecoveredRows:
    """Return all complete rows. If several have the same key, only the newest is kept."""
    data = _with_wal(path)
    size = _page_size(data)
    free = _free_pages(data, size)
    rows = RecoveredRows(sure=free is not None)
    pages = range(-(-len(data) // size))
    for page in pages:
        if free is None or page + 1 not in free:
            for kind, rowid, values in _cells(data, size, page):
                _take(rows, kind, rowid, values)
    return rows


def _with_wal(path: Path) -> bytes:
    """Return the bytes of the file. If possible, SQLite first merges the WAL into a copy."""
    wal = path.with_name(f"{path.name}-wal")
    if not wal.exists() or not wal.stat().st_size:
        return path.read_bytes()
    copy = path.with_name(f"{path.name}.salvage")
    try:
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, copy.with_name(f"{copy.name}-wal"))
        try:
            db = sqlite3.connect(copy)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()
        except sqlite3.Error:
            return path.read_bytes()  # The last writes are missing, so their work is repeated.
        return copy.read_bytes()
    finally:
        for ending in ("", "-wal", "-shm"):
            copy.with_name(copy.name + ending).unlink(missing_ok=True)


def _page_size(data: bytes) -> int:
    """Return the page size in the header. If the header is damaged, return the size that yields the most rows in the sample."""
    size = int.from_bytes(data[16:18], "big")
    size = 65536 if size == 1 else size
    if data.startswith(MAGIC) and size in SIZES:
        return size
    return max(SIZES, key=lambda size: sum(1 for page in range(SAMPLE // size) for _ in _cells(data, size, page)))


def _free_pages(data: bytes, size: int) -> set[int] | None:
    """Return the numbers of the free pages, or None if the list is damaged."""
    if not data.startswith(MAGIC):
        return None
    trunk, count = _number(data, 32), _number(data, 36)
    free: set[int] = set()
    while trunk:
        start = (trunk - 1) * size
        leaves = _number(data, start + 4)
        if trunk in free or start + size > len(data) or leaves > size // 4 - 2:
            return None
        free.add(trunk)
        free.update(_number(data, start + 8 + 4 * place) for place in range(leaves))
        trunk = _number(data, start)
    return free if len(free) == count else None


def _number(data: bytes, at: int, width: int = 4) -> int:
    return int.from_bytes(data[at : at + width], "big")


def _cells(data: bytes, size: int, page: int) -> Iterator[tuple[int, int, list[Any]]]:
    """Yield the page kind, the row id and the values of each complete row."""
    start = page * size
    head = start + (100 if page == 0 else 0)
    kind = data[head] if head < len(data) else 0
    if kind not in (INDEX_LEAF, INDEX_INNER, TABLE_LEAF):
        return
    pointers = head + (12 if kind == INDEX_INNER else 8)
    for place in range(min(_number(data, head + 3, 2), size // 2)):
        at = start + _number(data, pointers + 2 * place, 2)
        if not head < at < start + size:
            continue
        try:
            yield (kind, *_cell(data, size, at + (4 if kind == INDEX_INNER else 0), kind))
        except (ValueError, IndexError, struct.error):
            continue  # This row is damaged, but its neighbours may be intact.


def _cell(data: bytes, size: int, at: int, kind: int) -> tuple[int, list[Any]]:
    length, at = _varint(data, at)
    rowid = 0
    if kind == TABLE_LEAF:
        rowid, at = _varint(data, at)
    most = size - 35 if kind == TABLE_LEAF else (size - 12) * 64 // 255 - 23
    least = (size - 12) * 32 // 255 - 23
    local = length
    if length > most:
        fitting = least + (length - least) % (size - 4)
        local = fitting if fitting <= most else least
    payload = bytearray(data[at : at + local])
    following = _number(data, at + local) if local < length else 0
    steps = 0
    while len(payload) < length:
        start = (following - 1) * size
        steps += 1
        if following < 2 or start >= len(data) or steps > len(data) // size:
            raise ValueError("the rest of the row is missing")
        payload += data[start + 4 : start + 4 + min(size - 4, length - len(payload))]
        if len(payload) < length and start + size > len(data):
            raise ValueError("the rest of the row is cut off")
        following = _number(data, start)
    return rowid, _values(bytes(payload))


def _values(payload: bytes) -> list[Any]:
    """Parse the columns of a row. Raises ValueError if they don't fill the row exactly."""
    end, at = _varint(payload, 0)
    kinds: list[int] = []
    while at < end and len(kinds) <= MAX_COLUMNS:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[Any] = []
    for kind in kinds:
        width = (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
        raw = payload[at : at + width]
        at += width
        values.append(_value(kind, raw))
    if at != len(payload):
        raise ValueError("the columns do not fill the row")
    return values


def _value(kind: int, raw: bytes) -> Any:
    if kind >= 13 and kind % 2:
        return raw.decode("utf-8")
    if kind == 7:
        return float(struct.unpack(">d", raw)[0])
    if kind in (8, 9):
        return kind - 8
    return int.from_bytes(raw, "big", signed=True) if 1 <= kind <= 6 else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(9):
        byte = data[at + step]
        if step == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + step + 1
    raise ValueError("no number")


def _check_sum(values: Sequence[Any], columns: int) -> None:
    """Verify the row's checksum. Raises ValueError."""
    if len(values) > columns and values[columns] is not None and values[columns] != row_sum(*values[:columns]):
        raise ValueError("a row has changed since it was written")


def _take(rows: RecoveredRows, kind: int, rowid: int, values: list[Any]) -> None:
    """Keep a row if it belongs to a known table."""
    try:
        if kind == TABLE_LEAF and len(values) in (4, 5) and values[0] is None:
            values[0] = rowid
            _check_sum(values, 4)
            rows.questions[rowid] = QuestionRow(rowid, _text(values[1]), _text(values[2]), _mapping(values[3]))
        elif kind != TABLE_LEAF and len(values) in (2, 3) and isinstance(values[1], str):
            _check_sum(values, 2)
            rows.meta[_text(values[0])] = orjson.loads(values[1])
        elif kind != TABLE_LEAF and len(values) in (9, 10):
            values[7] = float(values[7])  # SQLite stores whole numbers as integers.
            _check_sum(values, 9)
            record = _record(values[:9])
            there = rows.records.get(record.key)
            if there is None or there.at <= record.at:
                rows.records[record.key] = record
    except (ValueError, TypeError):
        return  # The row is damaged or belongs to another table.


def _record(values: list[Any]) -> Record:
    phase, case, question, part, status, payload, error, seconds, at = values
    key = Key(Phase(phase), _text(case), _text(question), _text(part))
    return Record(key, Status(status), _mapping(payload), _text(error), float(seconds), _text(at))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _mapping(text: Any) -> dict[str, Any]:
    value = orjson.loads(_text(text))
    if not isinstance(value, dict):
        raise TypeError
    return value
