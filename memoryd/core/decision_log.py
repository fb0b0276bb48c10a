"""Day dream decisions about individual statements: whether each was kept, proposed, known or refused, and why.

Stored in the state database (see `state`), with the run that made them. They contain no text, only its position in
the session's log. Their number is limited per session and in total. Refused statements are dropped first. Times are
ISO strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.core.db import Database

KEPT = "kept"
KNOWN = "known"
PROPOSED = "proposed"
REFUSED = "refused"
TEXT_CHARS = 300
MAX_PER_SESSION = 400
_FIELDS = "outcome, reason, memory, kind, source, line, said_at, part, start, chars"
MAX_DECISIONS = 20_000


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """The decision about one statement of a session.

    Attributes:
        outcome: kept, proposed (a candidate), known or refused.
        memory: Memory that contains the statement or caused its refusal, if any.
        line: Line of the log, or 0 if unknown.
        said_at: When the statement was made. Empty if unknown.
        run: Id of the day dream.
        part: Index of the turn within the line. `start` and `chars` locate the statement in it. `chars` is 0 if the
            statement does not occur there verbatim.
        text: The statement's text, which is not stored.
    """

    outcome: str
    reason: str
    text: str = ""
    memory: str = ""
    kind: str = ""
    source: str = ""
    line: int = 0
    said_at: str = ""
    run: int = 0
    part: int = 0
    start: int = 0
    chars: int = 0


def create_table(db: Database) -> None:
    """Create the table (a migration of the state database)."""
    db.execute(
        "CREATE TABLE verdict (id INTEGER PRIMARY KEY, run INTEGER, session TEXT, outcome TEXT, reason TEXT, text TEXT,"
        " memory TEXT, kind TEXT, source TEXT, line INTEGER, said_at TEXT)"
    )
    db.execute("CREATE INDEX verdict_session ON verdict(session)")
    db.execute("CREATE INDEX verdict_memory ON verdict(memory)")
    db.execute("CREATE INDEX use_session ON use(session)")


def drop_text(db: Database) -> None:
    """Remove the texts of statements (a migration of the state database)."""
    db.execute("ALTER TABLE verdict DROP COLUMN text")
    for name in ("part", "start", "chars"):
        db.execute(f"ALTER TABLE verdict ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0")


def record(db: Database, run: int, session: str, verdicts: Sequence[LoggedDecision]) -> None:
    """Add a run's decisions and drop the oldest ones above the limit. Must run in the caller's transaction."""
    if not verdicts:
        return
    db.executemany(
        f"INSERT INTO verdict (run, session, {_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (run, session, v.outcome, v.reason, v.memory, v.kind, v.source, v.line, v.said_at, v.part, v.start, v.chars)
            for v in verdicts
        ],
    )
    order = f"ORDER BY outcome = '{REFUSED}', id DESC LIMIT -1 OFFSET ?"
    db.execute(f"DELETE FROM verdict WHERE id IN (SELECT id FROM verdict WHERE session = ? {order})", (session, MAX_PER_SESSION))
    db.execute("DELETE FROM verdict WHERE id <= (SELECT max(id) FROM verdict) - ?", (MAX_DECISIONS,))


def of_session(db: Database, session: str) -> list[LoggedDecision]:
    """Return all decisions of a session, in log order."""
    rows = db.execute(f"SELECT {_FIELDS}, run FROM verdict WHERE session = ? ORDER BY run, line, id", (session,))
    return [_verdict(*row) for row in rows]


def _verdict(
    outcome: str, reason: str, memory: str, kind: str, source: str, line: int, said_at: str, *rest: int
) -> LoggedDecision:
    part, start, chars, run = rest
    return LoggedDecision(outcome, reason, "", memory, kind, source, line, said_at, run, part, start, chars)


def erase(db: Database, memory: str) -> None:
    """Delete all decisions about a memory."""
    db.execute("DELETE FROM verdict WHERE memory = ?", (memory,))
