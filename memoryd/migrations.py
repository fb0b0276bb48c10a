"""Schema steps, each applied once, in one transaction with the record of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from memoryd.db import Database
from memoryd.errors import StoreError

_RECORD = "CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY, applied_at TEXT DEFAULT CURRENT_TIMESTAMP)"
Step = Callable[[Database], None]


class Migrations:
    """An ordered list of steps for one kind of database. Steps are never edited once released.

    >>> schema = Migrations("example")
    >>> @schema.step
    ... def m001_create(db): db.execute("CREATE TABLE t (x)")
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._steps: dict[str, Step] = {}

    def step(self, function: Step) -> Step:
        """Register a step; its name is its identity, so it must be new."""
        name = function.__name__
        if name in self._steps:
            raise ValueError(f"migration {name} is registered twice in {self.name}")
        self._steps[name] = function
        return function

    def open(self, path: Path, *, extensions: Sequence[str] = (), durable: bool = True) -> Database:
        """Open or create the file and apply the steps; raises as `Database` and `apply` do, and then nothing stays open."""
        db = Database(path, extensions=extensions, durable=durable)
        try:
            self.apply(db)
        except BaseException:
            db.close()
            raise
        return db

    def apply(self, db: Database) -> list[str]:
        """Run the steps that are missing; returns their names. Refuses a database from a newer version."""
        with db.transaction():
            db.execute(_RECORD)
            done = {row[0] for row in db.execute("SELECT name FROM _migrations")}
        if unknown := sorted(done - set(self._steps)):
            raise StoreError(f"{db.path} was made by a newer memoryd (step {unknown[0]}).", fix="Update memoryd.")
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
