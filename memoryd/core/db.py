"""Access to SQLite; no other module opens a database.

apsw brings its own SQLite with FTS5 and loadable extensions, which many Python builds lack. Databases use WAL mode
with synchronous=FULL: a committed transaction is on disk.

Derived databases (`durable=False`) use SQLite's checksum VFS, which stores a checksum in each page. A flipped bit
raises an error instead of changing an answer. `state.db` has no checksums, because people open it with other tools
and their writes would look like damage.

Deleted content is overwritten (secure_delete). `scrub` also clears pages, free pages and the write-ahead log.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw

from memoryd.core.errors import IndexDamagedError, StoreError
from memoryd.core.files import make_private_dir

Row = tuple[Any, ...]
WAIT_SECONDS = 10.0
READ_WAIT_MS = 2_000
PAUSE_SECONDS = 0.02
# Whether SQLite waits for the disk: at each commit of a durable database, else at checkpoints.
SYNCHRONOUS = {True: "FULL", False: "NORMAL"}
CHECKSUM_BYTES = 8
# application_id of a database with page checksums. The header byte that indicates them may itself be damaged.
CHECKSUMMED = 0x6D656D64  # Mark used by earlier versions, independent of the file's location.
_HEADER_BYTES = 100
# Raised by code that reads rows with unexpected content, but also by bugs in that code.
ODD_CONTENT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# Maximum size of a database that is vacuumed when scrubbed. This takes at most a second.
VACUUM_BYTES = 100_000_000
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_DAMAGED_READS = frozenset({apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS})
# All statements on derived files are ours, so these errors mean that the schema or the rows are damaged.
_DERIVED_DAMAGE = (apsw.ConstraintError, apsw.MismatchError)
_SCHEMA_DAMAGE = ("no such table", "no such column", "has no column named", "no such module", "malformed", "vtable constructor")
_REINDEX = "Run 'memoryd reindex'; derived files are rebuilt from the Markdown."


@lru_cache(maxsize=1)
def has_checksums() -> bool:
    """Return whether page checksums are available. Loads the extension once. Source builds of apsw may lack it."""
    try:
        from apsw import sqlite_extra
    except ImportError:
        return False
    try:
        connection = apsw.Connection(":memory:")
        try:
            sqlite_extra.load(connection, "cksumvfs")
        finally:
            connection.close()
    except (LookupError, OSError, apsw.Error, sqlite_extra.NotAvailable):
        return False
    return True


def _fix_for(path: Path, durable: bool) -> str:
    if not durable:
        return _REINDEX
    return (
        f"Move {path.name} and its -wal and -shm files elsewhere, then restart. No memory is lost: logs are read "
        "again, and known memories are not duplicated. Repeat 'memoryd off' where you had switched memory off."
    )


def require_content(path: Path, companions: Path) -> None:
    """Raise StoreError if a durable database is an empty file although the folder of derived databases is in use.

    SQLite would take it for a new one. Without derived databases it is one, of a first start that was interrupted.
    """
    try:
        emptied = path.stat().st_size == 0 and any(companions.glob("*.db"))
    except OSError:
        return
    if emptied:
        raise StoreError(f"{path} is damaged: the file is empty", fix=_fix_for(path, durable=True))


class Database:
    """A connection that several threads can share.

    With `durable=False`, the file is derived: writes are not synced, pages are checked, and any damage raises
    IndexDamagedError so that the caller can rebuild the file. Damage to a durable database, and every other SQLite
    failure, raises StoreError. Other processes may use the same file. A writer waits up to 10 s.
    """

    def __init__(self, path: Path, *, extensions: Sequence[str] = (), durable: bool = True) -> None:
        self.path = path
        self._durable = durable
        self._lock = threading.RLock()
        self._depth = 0
        self._scrub_due = False
        checked = not durable and has_checksums()
        if not durable and path.is_dir():
            raise IndexDamagedError(f"{path} is a folder", fix=_REINDEX)
        try:
            make_private_dir(path.parent)
            path.touch(mode=0o600)  # SQLite creates its write-ahead files with the mode of the database.
        except OSError as error:
            raise StoreError(f"Can't open {path}: {error.strerror}.", fix="Check free space and permissions.") from error
        with self._translated():
            self._connection = apsw.Connection(str(path))
        try:
            self._prepare(extensions, durable, checked)
        except StoreError:
            self._connection.close()
            raise

    def foreign(self, step: str) -> StoreError:
        """Return the error for a migration that this version doesn't know."""
        if self._durable:
            return StoreError(f"{self.path} was created by a newer version of memoryd (step {step}).", fix="Update memoryd.")
        return IndexDamagedError(f"{self.path} is damaged or newer: unknown step {step}", fix=_fix_for(self.path, durable=False))

    def _prepare(self, extensions: Sequence[str], durable: bool, checked: bool) -> None:
        with self._translated():
            self._connection.set_busy_timeout(int(WAIT_SECONDS * 1000))
            if checked:
                self._reserve_checksums()
            self._connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[durable]}")
            self._use_write_ahead_log()
            self._connection.execute("PRAGMA secure_delete=ON").fetchall()
            self._connection.execute("PRAGMA schema_version").fetchall()
            if checked:
                self._require_checksums()
            if extensions:
                self._connection.enable_load_extension(True)
                for extension in extensions:
                    self._connection.load_extension(extension)
                self._connection.enable_load_extension(False)

    def _reserve_checksums(self) -> None:
        """Reserve space at the end of each page. This takes effect for new or vacuumed files."""
        room = ctypes.c_int(CHECKSUM_BYTES)
        self._connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(room))

    def _require_checksums(self) -> None:
        """Mark a new file, and add checksums to a file of an older version.

        Reject a file that lost its checksums or was created elsewhere.
        """
        ((mark,),) = self._connection.execute("PRAGMA application_id").fetchall()
        if mark not in (0, CHECKSUMMED, self._place()):
            raise IndexDamagedError(f"{self.path} was created elsewhere", fix=_REINDEX)
        if not mark and self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchall() != [(0,)]:
            self._connection.execute("VACUUM")
        if mark and (self._reserved() not in (None, CHECKSUM_BYTES) or self._has_zero_page()):
            raise IndexDamagedError(f"{self.path} is damaged: pages without a checksum", fix=_REINDEX)
        if mark != self._place():
            self._connection.execute(f"PRAGMA application_id={self._place()}")

    def _place(self) -> int:
        """Return the mark of a file created at this path.

        A file copied from another home folder or index has a different mark.
        """
        return 0x40000000 | zlib.crc32(os.fsencode(os.path.realpath(self.path))) & 0x3FFFFFFF

    def _reserved(self) -> int | None:
        """Return the bytes reserved per page according to the header, or None while the file is still empty."""
        with self.path.open("rb") as stream:
            header = stream.read(_HEADER_BYTES)
        return header[20] if len(header) == _HEADER_BYTES else None

    def _has_zero_page(self) -> bool:
        """Return whether a page in use consists of zeros only. Such a page has a valid checksum of zero."""
        size = int(str(self._connection.execute("PRAGMA page_size").fetchall()[0][0]))
        empty = bytes(size)
        with self.path.open("rb") as stream:
            zeros = [number for number, page in enumerate(iter(lambda: stream.read(size), b""), 1) if page == empty]
        if not zeros:
            return False
        used = {row[0] for row in self._connection.execute("SELECT pageno FROM dbstat")}
        return not used.isdisjoint(zeros)

    def _use_write_ahead_log(self) -> None:
        """Switch to WAL mode, with retries.

        The busy timeout does not apply here, and two processes may create a database at the same time.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (apsw.Error, UnicodeDecodeError) as error:
            raise self._error_for(error) from error
        except OSError as error:
            raise StoreError(f"Can't read {self.path}: {error.strerror}.", fix="Check open files and permissions.") from error

    def _error_for(self, error: apsw.Error | UnicodeDecodeError) -> StoreError:
        if self._is_damage(error):
            kind = StoreError if self._durable else IndexDamagedError
            return kind(f"{self.path} is damaged: {error}", fix=_fix_for(self.path, self._durable))
        if isinstance(error, apsw.FullError):
            return StoreError(f"{self.path}: the disk is full.", fix="Free some space.")
        return StoreError(f"{self.path}: {error}", fix="Run 'memoryd doctor' for a check of the databases.")

    def _is_damage(self, error: apsw.Error | UnicodeDecodeError) -> bool:
        if isinstance(error, (*_DAMAGE, UnicodeDecodeError)):
            return True
        if isinstance(error, apsw.IOError):
            return getattr(error, "extendedresult", 0) in _DAMAGED_READS
        return not self._durable and (
            isinstance(error, _DERIVED_DAMAGE)
            or (isinstance(error, apsw.SQLError) and any(sign in str(error) for sign in _SCHEMA_DAMAGE))
        )

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one statement and return all rows."""
        with self._lock, self._translated():
            return self._connection.execute(sql, tuple(parameters)).fetchall()

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once per row, in one transaction."""
        with self.transaction(), self._translated():
            self._connection.executemany(sql, rows)

    def value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""
        rows = self.execute(sql, parameters)
        return rows[0][0] if rows else None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction. Nested blocks join the outer transaction."""
        with self._lock:
            if self._depth:
                yield
                return
            self.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:  # After some errors, SQLite has already rolled back.
                    self.execute("ROLLBACK")
                raise
            else:
                self.execute("COMMIT")
            finally:
                self._depth -= 1
            if self._scrub_due:
                self._scrub_due = False
                self.scrub()

    @contextlib.contextmanager
    def unsynced(self) -> Iterator[None]:
        """Do not wait for the disk in this block. Its writes survive a killed process, but not necessarily a power cut."""
        with self._lock:
            if not self._durable or self._depth:  # SQLite can't change this inside a transaction.
                yield
                return
            self.execute(f"PRAGMA synchronous={SYNCHRONOUS[False]}")
            try:
                yield
            finally:
                self.execute(f"PRAGMA synchronous={SYNCHRONOUS[True]}")

    def tokenizer(self, name: str, *arguments: str) -> Callable[[str], list[str]]:
        """Return a function that tokenises text like the named FTS5 tokenizer."""
        with self._lock, self._translated():
            tokenizer = self._connection.fts5_tokenizer(name, list(arguments))

        def tokens(text: str) -> list[str]:
            data = text.encode("utf-8", "replace")
            with self._lock:
                found = tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
            return [str(token) for token in found]

        return tokens

    def version(self) -> tuple[int, int]:
        """Return a value that changes with every change to the file, made by this or another connection."""
        with self._lock:  # The connection even refuses to count while another thread uses it.
            return int(self.value("PRAGMA data_version")), int(self._connection.total_changes())

    def changes(self) -> int:
        """Return the number of rows changed by the last statement."""
        with self._lock:
            return self._connection.changes()

    def scrub(self, full_text: Sequence[str] = ()) -> bool:
        """Erase deleted content from the file and its write-ahead log. Return False if a reader prevented this.

        `full_text` names FTS5 tables, which keep deleted rows until their segments are merged.
        """
        with self._lock:
            for table in full_text:
                self.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
            # secure_delete misses copies that remain after SQLite moves rows between pages.
            if self.path.stat().st_size <= VACUUM_BYTES:
                self.execute("VACUUM")
            return not self.value("PRAGMA wal_checkpoint(TRUNCATE)")

    def scrub_at_end(self) -> None:
        """Schedule a scrub after the current transaction commits."""
        self._scrub_due = True

    def check(self) -> None:
        """Read every page. Raises the error for damage if a page is damaged."""
        problems = [row[0] for row in self.execute("PRAGMA quick_check(5)")]
        with self._translated():
            lost = not self._durable and has_checksums() and self._has_zero_page()
        if lost or problems != ["ok"]:
            raise self._error_for(apsw.CorruptError("a page without content" if lost else problems[0]))

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        with self._lock:
            self._connection.close()


def read_only(path: Path, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
    """Query another program's database, opened read-only, and return the rows. Raises StoreError."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(READ_WAIT_MS)
            return connection.execute(sql, tuple(parameters)).fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        raise StoreError(f"Can't read {path}: {error}", fix="Check that the file exists and is readable.") from error


def remove_database(path: Path) -> None:
    """Delete a database and its write-ahead files. A folder at that path is set aside instead, because it may not be ours."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        file = path.with_name(path.name + suffix)
        if file.is_dir():
            file.rename(file.with_name(f"{file.name}.aside-{time.time_ns()}"))
        else:
            file.unlink(missing_ok=True)


# Schema migrations. Each runs once, in the transaction that records it.

_RECORD = "CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY, applied_at TEXT DEFAULT CURRENT_TIMESTAMP)"
Step = Callable[[Database], None]


class Migrations:
    """Ordered migrations for one kind of database. Never edit a released migration.

    >>> schema = Migrations("example")
    >>> @schema.step
    ... def m001_create(db): db.execute("CREATE TABLE t (x)")
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._steps: dict[str, Step] = {}

    def step(self, function: Step) -> Step:
        """Register a migration, identified by its function name, which must be unique."""
        name = function.__name__
        if name in self._steps:
            raise ValueError(f"migration {name} is registered twice in {self.name}")
        self._steps[name] = function
        return function

    def open(self, path: Path, *, extensions: Sequence[str] = (), durable: bool = True) -> Database:
        """Open or create the file and apply the migrations. On failure, close the file and raise the error from `apply`."""
        db = Database(path, extensions=extensions, durable=durable)
        try:
            self.apply(db)
        except BaseException:
            db.close()
            raise
        return db

    def apply(self, db: Database) -> list[str]:
        """Run pending migrations and return their names.

        Raises:
            StoreError: The database was written by a newer version. A derived one counts as damaged, because it can be rebuilt.
        """
        with db.transaction():
            db.execute(_RECORD)
            done = {row[0] for row in db.execute("SELECT name FROM _migrations")}
        if unknown := sorted(done - set(self._steps)):
            raise db.foreign(unknown[0])
        missing = [name for name in self._steps if name not in done]
        for name in missing:
            self._apply_one(db, name)
        return missing

    def _apply_one(self, db: Database, name: str) -> None:
        with db.transaction():
            if db.execute("SELECT 1 FROM _migrations WHERE name = ?", (name,)):
                return
            self._steps[name](db)
            db.execute("INSERT INTO _migrations (name) VALUES (?)", (name,))
