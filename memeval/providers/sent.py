"""What a hosted provider was sent: kept in SQLite as it happens, so that a killed run neither forgets nor repeats it."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memeval.errors import ProviderError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS scope (scope TEXT PRIMARY KEY, setup TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sent (
    number INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, unit TEXT NOT NULL, remote TEXT NOT NULL,
    session TEXT NOT NULL, turns TEXT NOT NULL, ready INTEGER NOT NULL, UNIQUE (scope, unit));
CREATE INDEX IF NOT EXISTS sent_remote ON sent (scope, remote);
"""


class SentLog:
    """Units by scope with the id that the system gave each. Safe between threads."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
        self._db.executescript("PRAGMA journal_mode=WAL;" + _SCHEMA)

    def setup(self, scope: str) -> Any:
        """What the setup call of the scope answered, None before it."""
        rows = self._rows("SELECT setup FROM scope WHERE scope = ?", scope)
        return json.loads(rows[0][0]) if rows else None

    def set_setup(self, scope: str, answer: Any) -> None:
        """Keep it."""
        self._write("INSERT OR REPLACE INTO scope VALUES (?, ?)", scope, json.dumps(answer))

    def units(self, scope: str) -> set[str]:
        """Units that were sent."""
        return {unit for (unit,) in self._rows("SELECT unit FROM sent WHERE scope = ?", scope)}

    def add(self, scope: str, unit: str, remote: str, sources: tuple[str, Sequence[str]], ready: bool) -> None:
        """A unit was taken by the system. `sources`: its session and turns."""
        session, turns = sources
        self._write(
            "INSERT OR IGNORE INTO sent (scope, unit, remote, session, turns, ready) VALUES (?, ?, ?, ?, ?, ?)",
            *(scope, unit, remote, session, json.dumps(list(turns)), int(ready)),
        )

    def waiting(self, scope: str) -> list[str]:
        """Ids of what is not indexed yet, in the order in which it was sent."""
        rows = self._rows("SELECT DISTINCT remote FROM sent WHERE scope = ? AND NOT ready ORDER BY number", scope)
        return [remote for (remote,) in rows]

    def set_ready(self, scope: str, remote: str) -> None:
        """It is indexed."""
        self._write("UPDATE sent SET ready = 1 WHERE scope = ? AND remote = ?", scope, remote)

    def sources(self, scope: str, remote: str) -> tuple[str, tuple[str, ...]] | None:
        """Session and turns of what the system gave this id."""
        rows = self._rows("SELECT session, turns FROM sent WHERE scope = ? AND remote = ? LIMIT 1", scope, remote)
        return (rows[0][0], tuple(json.loads(rows[0][1]))) if rows else None

    def clear(self, scope: str) -> None:
        """Forget the scope."""
        self._write("DELETE FROM sent WHERE scope = ?", scope)
        self._write("DELETE FROM scope WHERE scope = ?", scope)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _write(self, statement: str, *values: Any) -> None:
        try:
            with self._lock, self._db:
                self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _error(self, error: sqlite3.Error) -> ProviderError:
        return ProviderError(f"{self._path} can't be used: {error}.", fix="Check the disk, or start a new run.")
