"""The only opener of SQLite.

apsw brings its own SQLite with FTS5 and loadable extensions, which many Pythons lack.
Databases run in WAL mode with synchronous=FULL: a transaction that returned is on disk.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from memoryd.errors import IndexDamagedError, StoreError
from memoryd.files import make_private_dir

Row = tuple[Any, ...]
WAIT_SECONDS = 10.0
PAUSE_SECONDS = 0.02
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)


class Database:
    """One connection, safe to share between threads.

    Damage is raised as IndexDamagedError, everything else that SQLite refuses as
    StoreError. Other processes may use the same file; a writer waits up to 10 s.
    """

    def __init__(self, path: Path, *, extensions: Sequence[str] = (), durable: bool = True) -> None:
        self.path = path
        self._durable = durable
        self._lock = threading.RLock()
        self._depth = 0
        try:
            make_private_dir(path.parent)
            path.touch(mode=0o600)  # SQLite gives its write-ahead files the mode of the database
        except OSError as error:
            raise StoreError(f"Can't open {path}: {error.strerror}.", fix="Check free space and permissions.") from error
        with self._translated():
            self._connection = apsw.Connection(str(path))
        try:
            self._prepare(extensions, durable)
        except StoreError:
            self._connection.close()
            raise

    def _prepare(self, extensions: Sequence[str], durable: bool) -> None:
        with self._translated():
            self._connection.set_busy_timeout(int(WAIT_SECONDS * 1000))
            self._use_write_ahead_log()
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._connection.execute("PRAGMA schema_version").fetchall()
            if extensions:
                self._connection.enable_load_extension(True)
                for extension in extensions:
                    self._connection.load_extension(extension)
                self._connection.enable_load_extension(False)

    def _use_write_ahead_log(self) -> None:
        """SQLite does not wait here as it does elsewhere: two processes that make a new database at once would meet."""
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
        except _DAMAGE as error:
            raise IndexDamagedError(
                f"{self.path} is damaged: {error}", fix="Run 'memoryd reindex'; derived files are rebuilt from the Markdown."
            ) from error
        except apsw.FullError as error:
            raise StoreError(f"{self.path}: the disk is full.", fix="Free some space.") from error
        except apsw.Error as error:
            raise StoreError(f"{self.path}: {error}", fix="Run 'memoryd doctor' for a check of the databases.") from error

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one statement and return all its rows."""
        with self._lock, self._translated():
            return self._connection.execute(sql, tuple(parameters)).fetchall()

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row, in one transaction."""
        with self.transaction(), self._translated():
            self._connection.executemany(sql, rows)

    def value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """The first column of the first row, or None."""
        rows = self.execute(sql, parameters)
        return rows[0][0] if rows else None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; nested use joins the outer transaction."""
        with self._lock:
            if self._depth:
                yield
                return
            self.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self.execute("ROLLBACK")
                raise
            else:
                self.execute("COMMIT")
            finally:
                self._depth -= 1

    @contextlib.contextmanager
    def unsynced(self) -> Iterator[None]:
        """What is written in the block survives a kill but perhaps no power cut; it does not wait for the disk."""
        with self._lock:
            if not self._durable or self._depth:  # inside a transaction SQLite allows no change
                yield
                return
            self.execute("PRAGMA synchronous=NORMAL")
            try:
                yield
            finally:
                self.execute("PRAGMA synchronous=FULL")

    def tokenizer(self, name: str, *arguments: str) -> Callable[[str], list[str]]:
        """An FTS5 tokenizer as a function from a text to its tokens, the same ones that an index holds."""
        with self._lock, self._translated():
            tokenizer = self._connection.fts5_tokenizer(name, list(arguments))

        def tokens(text: str) -> list[str]:
            data = text.encode("utf-8", "replace")
            with self._lock:
                found = tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
            return [str(token) for token in found]

        return tokens

    def version(self) -> tuple[int, int]:
        """Another value after every change of the file, by this connection or another."""
        return int(self.value("PRAGMA data_version")), int(self._connection.total_changes())

    def changes(self) -> int:
        """Rows changed by the last statement."""
        return self._connection.changes()

    def check(self) -> None:
        """Read every page; raises IndexDamagedError when one is bad."""
        problems = [row[0] for row in self.execute("PRAGMA quick_check(5)")]
        if problems != ["ok"]:
            raise IndexDamagedError(f"{self.path} is damaged: {problems[0]}", fix="Run 'memoryd reindex'.")

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        with self._lock:
            self._connection.close()


def remove_database(path: Path) -> None:
    """Delete a database with its write-ahead files."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
