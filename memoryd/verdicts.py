"""What day dreams decided about single statements: kept, known already or refused, and why.

Part of the state database (see `state`), written together with the run that it belongs to. Texts come without
secrets. Bounded: so many per session, so many in all; refused ones go first. Times are ISO strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.db import Database
from memoryd.text import one_line, shorten

KEPT = "kept"
KNOWN = "known"
REFUSED = "refused"
TEXT_CHARS = 300
MOST_OF_A_SESSION = 400
MOST = 20_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """One statement of a session. `memory` is the memory that says it or that it was refused for, if any.

    `outcome` is kept, known or refused. `line` is the log's, 0 when unknown; `said_at` empty when
    unknown. `run` is the id of the day dream.
    """

    outcome: str
    reason: str
    text: str
    memory: str = ""
    kind: str = ""
    source: str = ""
    line: int = 0
    said_at: str = ""
    run: int = 0


def create_table(db: Database) -> None:
    """Step 3 of the state database."""
    db.execute(
        "CREATE TABLE verdict (id INTEGER PRIMARY KEY, run INTEGER, session TEXT, outcome TEXT, reason TEXT, text TEXT,"
        " memory TEXT, kind TEXT, source TEXT, line INTEGER, said_at TEXT)"
    )
    db.execute("CREATE INDEX verdict_session ON verdict(session)")
    db.execute("CREATE INDEX verdict_memory ON verdict(memory)")
    db.execute("CREATE INDEX use_session ON use(session)")


def record(db: Database, run: int, session: str, verdicts: Sequence[Verdict]) -> None:
    """Add the verdicts of a run, and drop the oldest refused ones that are too many. Within the caller's transaction."""
    if not verdicts:
        return
    db.executemany(
        "INSERT INTO verdict (run, session, outcome, reason, text, memory, kind, source, line, said_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(run, session, v.outcome, v.reason, _shown(v.text), v.memory, v.kind, v.source, v.line, v.said_at) for v in verdicts],
    )
    order = f"ORDER BY outcome = '{REFUSED}', id DESC LIMIT -1 OFFSET ?"
    db.execute(
        f"DELETE FROM verdict WHERE id IN (SELECT id FROM verdict WHERE session = ? {order})", (session, MOST_OF_A_SESSION)
    )
    db.execute("DELETE FROM verdict WHERE id <= (SELECT max(id) FROM verdict) - ?", (MOST,))


def _shown(text: str) -> str:
    return shorten(one_line(text), TEXT_CHARS)


def of_session(db: Database, session: str) -> list[Verdict]:
    """All verdicts of a session, in the order of its log."""
    rows = db.execute(
        "SELECT outcome, reason, text, memory, kind, source, line, said_at, run FROM verdict WHERE session = ?"
        " ORDER BY run, line, id",
        (session,),
    )
    return [Verdict(*row) for row in rows]


def erase(db: Database, memory: str) -> None:
    """Delete what is on record about a memory, its words in other sessions included."""
    words = [row[0] for row in db.execute("SELECT DISTINCT text FROM verdict WHERE memory = ?", (memory,))]
    db.execute("DELETE FROM verdict WHERE memory = ?", (memory,))
    db.executemany("DELETE FROM verdict WHERE text = ?", [(text,) for text in words])
