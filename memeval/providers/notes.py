"""What a provider worked out about pieces (questions, contexts, summaries), kept by scope and key in SQL.

SQLite in the scope's folder by default; with a DSN a table in Postgres (extra `postgres`). This module is the only
importer of psycopg.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, Protocol

from memeval.errors import DependencyError, ProviderError

MOST_KEYS = 500
"""In one query; SQLite takes a limited number of values."""
_CREATE = "CREATE TABLE IF NOT EXISTS memeval_note (scope TEXT, key TEXT, note TEXT NOT NULL, PRIMARY KEY (scope, key))"
_UPSERT = "INSERT INTO memeval_note VALUES (?, ?, ?) ON CONFLICT (scope, key) DO UPDATE SET note = excluded.note"


class Notes(Protocol):
    """JSON values by scope and key; durable when `put` returns."""

    def get(self, scope: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
        """The notes of a scope by key: all, or only those of some keys."""
        ...

    def put(self, scope: str, notes: Mapping[str, Any]) -> None:
        """Keep notes."""
        ...

    def clear(self, scope: str) -> None:
        """Forget those of a scope."""
        ...


class SqlNotes:
    """Notes over any DB-API connection; `mark` is the placeholder of its dialect."""

    def __init__(
        self, connect: Callable[[str], AbstractContextManager[Any]], mark: str, errors: tuple[type[Exception], ...]
    ) -> None:
        self._connect = connect
        self._mark = mark
        self._errors = errors
        self._lock = threading.Lock()

    def get(self, scope: str, keys: Sequence[str] | None = None) -> dict[str, Any]:
        """The notes of a scope by key: all, or only those of some keys."""
        rows = self._run(scope, lambda db: self._rows(db, scope, keys))
        return {key: json.loads(note) for key, note in rows}

    def _rows(self, db: Any, scope: str, keys: Sequence[str] | None) -> list[Any]:
        statement = "SELECT key, note FROM memeval_note WHERE scope = ?"
        if keys is None:
            return self._query(db, statement, scope)
        out: list[Any] = []
        for start in range(0, len(keys), MOST_KEYS):
            some = keys[start : start + MOST_KEYS]
            out += self._query(db, f"{statement} AND key IN ({', '.join('?' * len(some))})", scope, *some)
        return out

    def put(self, scope: str, notes: Mapping[str, Any]) -> None:
        """Keep notes, in one transaction."""

        def write(db: Any) -> None:
            for key, note in notes.items():
                db.execute(self._sql(_UPSERT), (scope, key, json.dumps(note)))

        self._run(scope, write)

    def clear(self, scope: str) -> None:
        """Forget those of a scope."""
        self._run(scope, lambda db: db.execute(self._sql("DELETE FROM memeval_note WHERE scope = ?"), (scope,)))

    def _query(self, db: Any, statement: str, *values: Any) -> list[Any]:
        return list(db.execute(self._sql(statement), values).fetchall())

    def _sql(self, statement: str) -> str:
        return statement.replace("?", self._mark)

    def _run(self, scope: str, work: Callable[[Any], Any]) -> Any:
        try:
            with self._lock, self._connect(scope) as db:
                db.execute(_CREATE)
                result = work(db)
                db.commit()
                return result
        except self._errors as error:
            raise ProviderError(f"Notes can't be kept or read: {error}.", fix="Check the database.") from error


def sqlite_notes(folder: Callable[[str], Path]) -> Notes:
    """Notes in `notes.db` of the scope's folder."""

    def connect(scope: str) -> AbstractContextManager[Any]:
        place = folder(scope)
        place.mkdir(parents=True, exist_ok=True)
        return closing(sqlite3.connect(place / "notes.db", timeout=30))

    return SqlNotes(connect, "?", (sqlite3.Error,))


def postgres_notes(dsn: str) -> Notes:
    """Notes in a Postgres database. Raises DependencyError without psycopg."""
    try:
        import psycopg
    except ImportError:
        raise DependencyError("Postgres needs psycopg.", fix="Run: pip install 'memoryd[postgres]'") from None
    return SqlNotes(lambda scope: psycopg.connect(dsn), "%s", (psycopg.Error,))
