"""What day dreams decided about single statements: kept, proposed, known already or refused, and why.

Part of the state database (see `state`), written together with the run that it belongs to. No text is kept, only where
it stands in the session's log. Bounded: so many per session, so many in all; refused ones go first. Times are ISO strings.
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
MOST_OF_A_SESSION = 400
_FIELDS = "outcome, reason, memory, kind, source, line, said_at, part, start, chars"
MOST = 20_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """One statement of a session. `memory` is the memory that says it or that it was refused for, if any.

    `outcome` is kept, proposed (a candidate), known or refused. `line` is the log's, 0 when unknown; `said_at` empty when
    unknown. `run` is the id of the day dream. `part`, `start` and `chars` say which of the line's turns holds the
    statement and where in it; `chars` is 0 when it does not stand there word for word. `text` is not stored.
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
    """Step 3 of the state database."""
    db.execute(
        "CREATE TABLE verdict (id INTEGER PRIMARY KEY, run INTEGER, session TEXT, outcome TEXT, reason TEXT, text TEXT,"
        " memory TEXT, kind TEXT, source TEXT, line INTEGER, said_at TEXT)"
    )
    db.execute("CREATE INDEX verdict_session ON verdict(session)")
    db.execute("CREATE INDEX verdict_memory ON verdict(memory)")
    db.execute("CREATE INDEX use_session ON use(session)")


def drop_text(db: Database) -> None:
    """The step of the state database that removes the texts."""
    db.execute("ALTER TABLE verdict DROP COLUMN text")
    for name in ("part", "start", "chars"):
        db.execute(f"ALTER TABLE verdict ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0")


def record(db: Database, run: int, session: str, verdicts: Sequence[Verdict]) -> None:
    """Add the verdicts of a run, and drop the oldest refused ones that are too many. Within the caller's transaction."""
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
    db.execute(
        f"DELETE FROM verdict WHERE id IN (SELECT id FROM verdict WHERE session = ? {order})", (session, MOST_OF_A_SESSION)
    )
    db.execute("DELETE FROM verdict WHERE id <= (SELECT max(id) FROM verdict) - ?", (MOST,))


def of_session(db: Database, session: str) -> list[Verdict]:
    """All verdicts of a session, in the order of its log."""
    rows = db.execute(f"SELECT {_FIELDS}, run FROM verdict WHERE session = ? ORDER BY run, line, id", (session,))
    return [_verdict(*row) for row in rows]


def _verdict(outcome: str, reason: str, memory: str, kind: str, source: str, line: int, said_at: str, *rest: int) -> Verdict:
    part, start, chars, run = rest
    return Verdict(outcome, reason, "", memory, kind, source, line, said_at, run, part, start, chars)


def erase(db: Database, memory: str) -> None:
    """Delete what is on record about a memory."""
    db.execute("DELETE FROM verdict WHERE memory = ?", (memory,))
