"""Randomised trial of memory on the user's own work: the arm and the measurements of each session.

A session's arm is chosen once, at random, and stored, so that a resumed session keeps it. No session text is stored.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import orjson

from memoryd.core.clock import to_iso
from memoryd.core.db import Database
from memoryd.core.protocols import Clock

_NOTE = "trial"


class Arm(StrEnum):
    """Arm of a trial: sessions with memory, or control sessions without."""

    MEMORY = "memory"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class TrialSession:
    """A session in a trial. Until its log has been measured, `measures` is empty and `size` (in bytes) is 0."""

    session: str
    project: str
    arm: Arm
    at: str
    size: int
    measures: Mapping[str, float]


def create_table(db: Database) -> None:
    """Create the table of sessions (a migration of the state database)."""
    db.execute(
        "CREATE TABLE trial (session TEXT PRIMARY KEY, project TEXT, arm TEXT, at TEXT, size INTEGER DEFAULT 0,"
        " measures TEXT DEFAULT '{}')"
    )


class Trial:
    """Access to the trial. Each method is one transaction."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    @property
    def share(self) -> float:
        """The share of new sessions without memory. It is 0 while no trial is running."""
        value = self._db.value("SELECT value FROM note WHERE name = ?", (_NOTE,))
        return float(value) if value else 0.0

    def start(self, share: float) -> None:
        """Start the trial, or change its share. Sessions keep their arm."""
        self._db.execute("INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", (_NOTE, str(share)))

    def stop(self) -> None:
        """Stop the trial: every session gets memory again. Measurements are kept."""
        self._db.execute("DELETE FROM note WHERE name = ?", (_NOTE,))

    def clear(self) -> int:
        """Delete all measurements. Return the number of deleted sessions."""
        with self._db.transaction():
            self._db.execute("DELETE FROM trial")
            return self._db.changes()

    def enter(self, session: str, project: str) -> Arm:
        """Return the session's arm. New sessions get a random arm. Without a trial, every session gets memory."""
        share = self.share
        if not share:
            return Arm.MEMORY
        known = self._db.value("SELECT arm FROM trial WHERE session = ?", (session,))
        if known is not None:
            return Arm(known)
        arm = Arm.CONTROL if secrets.randbelow(1_000_000) < share * 1_000_000 else Arm.MEMORY
        self._db.execute(
            "INSERT OR IGNORE INTO trial (session, project, arm, at) VALUES (?, ?, ?, ?)",
            (session, project, arm.value, to_iso(self._clock.now())),
        )
        return Arm(self._db.value("SELECT arm FROM trial WHERE session = ?", (session,)))

    def sessions(self) -> list[TrialSession]:
        """Return all sessions of the trial, oldest first."""
        rows = self._db.execute("SELECT session, project, arm, at, size, measures FROM trial ORDER BY at, session")
        return [
            TrialSession(session, project, Arm(arm), at, size, orjson.loads(measures))
            for session, project, arm, at, size, measures in rows
        ]

    def has(self, session: str) -> bool:
        """Return whether the session takes part in the trial."""
        return self._db.value("SELECT 1 FROM trial WHERE session = ?", (session,)) is not None

    def save(self, session: str, size: int, measures: Mapping[str, float]) -> None:
        """Store the measurements of the session's log, and the log's size in bytes."""
        values = (size, orjson.dumps(dict(measures)).decode(), session)
        self._db.execute("UPDATE trial SET size = ?, measures = ? WHERE session = ?", values)

    def move_project(self, old: str, new: str) -> None:
        """Reassign the sessions of one project to another."""
        self._db.execute("UPDATE trial SET project = ? WHERE project = ?", (new, old))
