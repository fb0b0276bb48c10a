"""Schema steps of run.db, each applied once, in one transaction with the record of it. Released steps are never edited."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from memeval.core.errors import RunError

Step = Callable[[sqlite3.Connection], None]


def m001_records(db: sqlite3.Connection) -> None:
    """Settings, questions in order, and one row for each finished piece of work."""
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


STEPS: tuple[Step, ...] = (m001_records,)


def migrate(db: sqlite3.Connection, name: str, steps: tuple[Step, ...] = STEPS) -> list[str]:
    """Apply what is missing; returns the names. Raises RunError for a database of a newer version."""
    db.execute("CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY, applied_at TEXT DEFAULT CURRENT_TIMESTAMP)")
    done = {row[0] for row in db.execute("SELECT name FROM _migrations")}
    known = [step.__name__ for step in steps]
    if unknown := sorted(done - set(known)):
        raise RunError(f"{name} was made by a newer memeval (step {unknown[0]}).", fix="Update memeval.")
    return [step.__name__ for step in steps if _apply(db, step)]


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
