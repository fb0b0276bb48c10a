"""Expiry of candidates, and the offers that ask sessions to keep or drop them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryd.core.clock import to_iso
from memoryd.core.db import Database
from memoryd.core.protocols import Clock
from memoryd.core.text import digest, normalise
from memoryd.core.types import MemoryItem, Status

LIFETIME = timedelta(days=30)
# Maximum per project. Nobody would review more than that.
MAX_CANDIDATES = 200


def is_faded(item: MemoryItem, now: datetime) -> bool:
    """Return whether the item is an expired candidate. Such items are ignored even before they are removed."""
    return item.status is Status.CANDIDATE and item.created_at + LIFETIME <= now


def surplus(items: Iterable[MemoryItem], most: int = MAX_CANDIDATES) -> list[MemoryItem]:
    """Return the candidates that exceed the limit, least confident first, then oldest first."""
    waiting = [item for item in items if item.status is Status.CANDIDATE]
    waiting.sort(key=lambda item: (item.confidence, item.created_at, item.id))
    return waiting[: max(0, len(waiting) - most)]


# Offers made to sessions, and their outcomes.
#
# An offer is a block of candidates added to a prompt (or to a session's start). It asks the session's model to keep or
# drop them. Offers are in the state database (see `state`) as ids and digests, without text. Times are ISO strings.

KEPT = "kept"
OWN = "own"
DROPPED = "dropped"
MINOR = "minor"
KNOWN = "known"
REFUSED = "refused"
AT_PROMPT = "UserPromptSubmit"
AT_START = "SessionStart"
# Short ids save tokens. An id gets an extra digit to avoid a collision within the project.
SHORT_ID = 4
KEPT_DAYS = 90


@dataclass(frozen=True, slots=True)
class OfferedCandidate:
    """A candidate offered to a session.

    Attributes:
        short: Id shown to the model.
        known: Related memory shown next to the candidate.
        given_to: Session to which the offer was made.
        outcome: The decision. Empty if undecided.
    """

    short: str
    project: str
    memory: str
    session: str
    given_to: str
    at: str
    known: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """Cost and yield of the offers in a period. `own` counts memories that a session's model added on its own initiative."""

    offers: int = 0
    tokens: int = 0
    shown: int = 0
    settled: int = 0
    kept: int = 0
    own: int = 0
    dropped: int = 0


def create_tables(db: Database) -> None:
    """Create the offer tables (a migration of the state database)."""
    for table in (
        "offer (id INTEGER PRIMARY KEY, session TEXT, project TEXT, at TEXT, event TEXT, prompt INTEGER, tokens INTEGER,"
        " shown INTEGER)",
        "offered (short TEXT, project TEXT, memory TEXT, session TEXT, given_to TEXT, at TEXT, known TEXT,"
        " outcome TEXT DEFAULT '', PRIMARY KEY (project, short))",
        "settled (id INTEGER PRIMARY KEY, project TEXT, session TEXT, memory TEXT, outcome TEXT, at TEXT)",
        "settled_line (line TEXT, statement TEXT, at TEXT, PRIMARY KEY (line, statement))",
        "prompts (session TEXT PRIMARY KEY, count INTEGER)",
    ):
        db.execute(f"CREATE TABLE {table}")
    db.execute("CREATE INDEX offer_session ON offer(session)")
    db.execute("CREATE INDEX offered_memory ON offered(memory)")


def create_neighbours(db: Database) -> None:
    """Create the table that maps each candidate to its nearest known memory (a migration of the state database)."""
    db.execute("CREATE TABLE neighbour (memory TEXT PRIMARY KEY, known TEXT, at TEXT)")


_ENTRY = "short, project, memory, session, given_to, at, known, outcome"


class Offers:
    """Access to the offer tables. Each method is one transaction."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    def _now(self) -> str:
        return to_iso(self._clock.now())

    # When to make offers

    def count_prompt(self, session: str) -> int:
        """Count a prompt of the session and return its number, starting at 1."""
        with self._db.unsynced():
            self._db.execute(
                "INSERT INTO prompts (session, count) VALUES (?, 1) ON CONFLICT(session) DO UPDATE SET count = count + 1",
                (session,),
            )
            return int(self._db.value("SELECT count FROM prompts WHERE session = ?", (session,)))

    def last_prompt_with_offer(self, session: str) -> int | None:
        """Return the number of the last prompt that came with an offer.

        This is 0 for the session's start, and None if no offer was made.
        """
        return self._db.value("SELECT max(prompt) FROM offer WHERE session = ?", (session,))  # type: ignore[no-any-return]

    # Offers

    def name(self, project: str, memories: Iterable[str]) -> dict[str, str]:
        """Assign each memory a short id that is unique among the project's offers."""
        out: dict[str, str] = {}
        rows = self._db.execute("SELECT short, memory FROM offered WHERE project = ?", (project,))
        taken: dict[str, str] = {short: memory for short, memory in rows}
        for memory in memories:
            code = memory.removeprefix("mem_")
            length = SHORT_ID
            while taken.get(code[:length], memory) != memory and length < len(code):
                length += 1
            taken[code[:length]] = memory
            out[memory] = code[:length]
        return out

    def record(
        self, entries: Sequence[OfferedCandidate], *, project: str, session: str, event: str, prompt: int, tokens: int
    ) -> None:
        """Record an offer. If the record is lost in a power cut, the candidates are offered again."""
        now = self._now()
        old = to_iso(self._clock.now() - timedelta(days=KEPT_DAYS))
        with self._db.unsynced(), self._db.transaction():
            for table in ("offer", "offered", "settled", "neighbour"):
                self._db.execute(f"DELETE FROM {table} WHERE at < ?", (old,))
            self._db.execute(
                "INSERT INTO offer (session, project, at, event, prompt, tokens, shown) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session, project, now, event, prompt, tokens, len(entries)),
            )
            self._db.executemany(
                f"INSERT OR REPLACE INTO offered ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, '')",
                [(e.short, project, e.memory, e.session, session, now, e.known) for e in entries],
            )

    def latest(self, session: str) -> int:
        """Return the number of the session's latest offer, or 0."""
        return int(self._db.value("SELECT coalesce(max(id), 0) FROM offer WHERE session = ?", (session,)))

    def take_back(self, session: str, after: int) -> None:
        """Delete the session's offers after this one, because it did not receive them. Their candidates may be offered again."""
        with self._db.transaction():
            for (at,) in self._db.execute("SELECT at FROM offer WHERE session = ? AND id > ?", (session, after)):
                self._db.execute("DELETE FROM offered WHERE given_to = ? AND at = ? AND outcome = ''", (session, at))
            self._db.execute("DELETE FROM offer WHERE session = ? AND id > ?", (session, after))

    def entry(self, project: str, short: str) -> OfferedCandidate | None:
        """Return the candidate that was offered in the project under this short id."""
        rows = self._db.execute(f"SELECT {_ENTRY} FROM offered WHERE project = ? AND short = ?", (project, short))
        return OfferedCandidate(*rows[0]) if rows else None

    def offered(self, project: str) -> dict[str, OfferedCandidate]:
        """Return all candidates offered in the project, by memory id."""
        rows = self._db.execute(f"SELECT {_ENTRY} FROM offered WHERE project = ?", (project,))
        return {row[2]: OfferedCandidate(*row) for row in rows}

    def set_neighbours(self, known: Mapping[str, str]) -> None:
        """Store the id of the known memory nearest to each candidate, or an empty id if there is none."""
        now = self._now()
        self._db.executemany(
            "INSERT OR REPLACE INTO neighbour (memory, known, at) VALUES (?, ?, ?)", [(m, k, now) for m, k in known.items()]
        )

    def neighbours(self, memories: Iterable[str]) -> dict[str, str]:
        """Return the stored nearest memories of these candidates."""
        out: dict[str, str] = {}
        for memory in memories:
            rows = self._db.execute("SELECT known FROM neighbour WHERE memory = ?", (memory,))
            out |= {memory: rows[0][0]} if rows else {}
        return out

    # Answers

    def close(self, entry: OfferedCandidate, outcome: str, memory: str = "") -> None:
        """Record the model's decision about an entry, and the resulting memory."""
        with self._db.transaction():
            self._db.execute(
                "UPDATE offered SET outcome = ? WHERE project = ? AND short = ?", (outcome, entry.project, entry.short)
            )
            self.note(entry.project, entry.session, memory or entry.memory, outcome)

    def note(self, project: str, session: str, memory: str, outcome: str) -> None:
        """Record a decision about an offered candidate."""
        self._db.execute(
            "INSERT INTO settled (project, session, memory, outcome, at) VALUES (?, ?, ?, ?, ?)",
            (project, session, memory, outcome, self._now()),
        )

    def totals(self, since: str) -> Totals:
        """Return the cost and yield of offers since a time."""
        offers, tokens, shown = self._db.execute(
            "SELECT count(*), coalesce(sum(tokens), 0), coalesce(sum(shown), 0) FROM offer WHERE at >= ?", (since,)
        )[0]
        counts: Mapping[str, int] = dict(
            self._db.execute("SELECT outcome, count(*) FROM settled WHERE at >= ? GROUP BY outcome", (since,))
        )
        own = counts.get(OWN, 0)
        return Totals(offers, tokens, shown, sum(counts.values()) - own, counts.get(KEPT, 0), own, counts.get(DROPPED, 0))

    def of_session(self, session: str) -> list[tuple[str, int, int, int]]:
        """Return the session's offers: event, prompt number, tokens, candidates shown."""
        rows = self._db.execute("SELECT event, prompt, tokens, shown FROM offer WHERE session = ? ORDER BY id", (session,))
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def move_project(self, old: str, new: str) -> None:
        """Reassign the offers of one project to another, so that open sessions can still respond to them."""
        # The new project's ids take precedence.
        self._db.execute("UPDATE OR IGNORE offered SET project = ? WHERE project = ?", (new, old))
        for table in ("offer", "settled"):
            self._db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (new, old))

    # Log lines whose statements are settled

    def settle_lines(self, lines: Iterable[str], statement: str) -> None:
        """Record that this statement of these log lines is settled, so that it is not proposed again."""
        code, now = _code(statement), self._now()
        self._db.executemany(
            "INSERT OR IGNORE INTO settled_line (line, statement, at) VALUES (?, ?, ?)",
            [(line, code, now) for line in lines if line],
        )

    def is_settled(self, lines: Iterable[str], statement: str) -> bool:
        """Return whether this statement is already settled for any of these log lines."""
        code = _code(statement)
        return any(
            self._db.execute("SELECT 1 FROM settled_line WHERE line = ? AND statement = ?", (line, code)) for line in lines
        )


def _code(statement: str) -> str:
    return digest(normalise(statement))[:16]
