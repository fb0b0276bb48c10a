"""Compliance ledger: per session, how often each rule applied, was followed and was violated.

It stores counts and one short line per violation, without secrets. Counts are buffered in memory, so that tool calls
do not wait for the disk.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memoryd.core.clock import to_iso
from memoryd.core.db import Database
from memoryd.core.protocols import Clock

KEPT_VIOLATIONS = 5_000


class RuleOutcome(StrEnum):
    """Outcome of a call covered by a rule."""

    OBEYED = "obeyed"
    VIOLATED = "violated"  # The call went ahead, with a note.
    BLOCKED = "blocked"  # The guard refused the call.
    ASKED = "asked"  # The user was asked and has not answered yet.
    OVERRIDDEN = "overridden"  # The user was asked and allowed the call.
    DECLINED = "declined"  # The user was asked and refused the call.


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation. `form` is the call pattern that `memoryd guard silence` would silence."""

    id: int
    memory: str
    session: str
    project: str
    at: str
    outcome: RuleOutcome
    what: str
    form: str
    call: str


@dataclass(frozen=True, slots=True)
class RuleCount:
    """Number of times a rule applied in a session, by outcome."""

    memory: str
    session: str
    project: str
    at: str
    outcome: RuleOutcome
    number: int


def create_tables(db: Database) -> None:
    """Create the tables (a migration of the state database)."""
    db.execute(
        "CREATE TABLE rule_count (memory TEXT, session TEXT, project TEXT, outcome TEXT, at TEXT, number INTEGER,"
        " PRIMARY KEY (memory, session, outcome))"
    )
    db.execute(
        "CREATE TABLE rule_violation (id INTEGER PRIMARY KEY, memory TEXT, session TEXT, project TEXT, at TEXT, outcome TEXT,"
        " what TEXT, form TEXT, call TEXT)"
    )
    db.execute("CREATE INDEX rule_violation_memory ON rule_violation(memory)")


class Compliance:
    """Access to the ledger. Thread-safe."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self.clean: Callable[[str], str] = str  # Removes secrets and private text.
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str, str, RuleOutcome]] = Counter()
        self._violations: list[tuple[str, str, str, str, RuleOutcome, str, str, str]] = []

    def obeyed(self, memories: Iterable[str], session: str, project: str) -> None:
        """Count a call that obeyed these rules."""
        with self._lock:
            self._counts.update((memory, session, project, RuleOutcome.OBEYED) for memory in memories)

    def violated(self, memory: str, session: str, project: str, outcome: RuleOutcome, what: str, form: str, call: str) -> None:
        """Record a violation."""
        now = to_iso(self._clock.now())
        with self._lock:
            self._counts[memory, session, project, outcome] += 1
            self._violations.append((memory, session, project, now, outcome, what, form, call))

    def flush(self) -> None:
        """Write the counts buffered since the last flush."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            violations, self._violations = self._violations, []
        if not counts and not violations:
            return
        now = to_iso(self._clock.now())
        cleaned = [(*map(str, row[:5]), *map(self.clean, row[5:7]), row[7]) for row in violations]
        with self._db.transaction():
            for (memory, session, project, outcome), number in counts.items():
                self._count(memory, session, project, outcome, now, number)
            for row in cleaned:
                self._db.execute(
                    "INSERT INTO rule_violation (memory, session, project, at, outcome, what, form, call)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
            self._db.execute(
                "DELETE FROM rule_violation WHERE id <= (SELECT max(id) FROM rule_violation) - ?", (KEPT_VIOLATIONS,)
            )

    def _count(self, memory: str, session: str, project: str, outcome: RuleOutcome, now: str, number: int) -> None:
        self._db.execute(
            "INSERT INTO rule_count (memory, session, project, outcome, at, number) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(memory, session, outcome) DO UPDATE SET number = number + excluded.number, at = excluded.at",
            (memory, session, project, outcome.value, now, number),
        )

    def settle(self, violation: Violation, outcome: RuleOutcome) -> None:
        """Record the user's answer to the question about a violation."""
        now = to_iso(self._clock.now())
        with self._db.transaction():
            self._db.execute("UPDATE rule_violation SET outcome = ? WHERE id = ?", (outcome.value, violation.id))
            self._count(violation.memory, violation.session, violation.project, violation.outcome, now, -1)
            self._count(violation.memory, violation.session, violation.project, outcome, now, 1)

    def counts(self, project: str = "", session: str = "") -> list[RuleCount]:
        """Return the counts by memory and session, latest first. Empty arguments mean all."""
        self.flush()
        rows = self._db.execute(
            "SELECT memory, session, project, at, outcome, number FROM rule_count"
            " WHERE (? = '' OR project = ?) AND (? = '' OR session = ?) AND number > 0 ORDER BY at DESC, memory",
            (project, project, session, session),
        )
        return [RuleCount(*(*row[:4], RuleOutcome(row[4]), int(row[5]))) for row in rows]

    def violations(self, memory: str = "", project: str = "", session: str = "", limit: int = 100) -> Sequence[Violation]:
        """Return violations, latest first. Empty arguments mean all."""
        self.flush()
        rows = self._db.execute(
            "SELECT id, memory, session, project, at, outcome, what, form, call FROM rule_violation WHERE (? = '' OR memory = ?)"
            " AND (? = '' OR project = ?) AND (? = '' OR session = ?) ORDER BY id DESC LIMIT ?",
            (memory, memory, project, project, session, session, limit),
        )
        return [Violation(*(*row[:5], RuleOutcome(row[5]), *row[6:])) for row in rows]

    def move_project(self, old: str, new: str) -> None:
        """Reassign the records of one project to another."""
        self.flush()
        with self._db.transaction():
            self._db.execute("UPDATE rule_count SET project = ? WHERE project = ?", (new, old))
            self._db.execute("UPDATE rule_violation SET project = ? WHERE project = ?", (new, old))

    def forget(self, *memories: str) -> None:
        """Delete all records about forgotten memories."""
        self.flush()
        with self._db.transaction():
            for memory in memories:
                self._db.execute("DELETE FROM rule_count WHERE memory = ?", (memory,))
                self._db.execute("DELETE FROM rule_violation WHERE memory = ?", (memory,))
