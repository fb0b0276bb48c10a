"""Records about individual memories: uses by sessions, manual edits of their files, and referenced files.

Stored in the state database (see `state`). Times are ISO strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from memoryd.core import decision_log
from memoryd.core.clock import from_iso, to_iso
from memoryd.core.codec import item_from_json, item_to_json
from memoryd.core.db import Database
from memoryd.core.protocols import Clock
from memoryd.core.types import MemoryItem, Scope, Status

MAX_DELETED = 5_000


class UseKind(StrEnum):
    """How a session used a memory."""

    INJECTED = "injected"
    RETURNED = "returned"
    CITED = "cited"
    CONTRADICTED = "contradicted"
    CORRECTED = "corrected"  # The user corrected the agent right after it received the memory.


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a memory by a session. Repeated uses of the same kind are counted once."""

    memory: str
    session: str
    how: UseKind
    at: str


@dataclass(frozen=True, slots=True)
class ContextGiven:
    """What hooks gave a session: tokens, memories, and how many of these memories the agent cited."""

    tokens: int = 0
    memories: int = 0
    cited: int = 0


@dataclass(frozen=True, slots=True)
class FileState:
    """State of a file when a memory about it was last compared with it.

    `sketch` summarises its lines (see dream.anchors). `marked` means that the memory was tagged because of this file.
    """

    size: int
    mtime_ns: int
    sketch: str
    marked: bool = False


def create_tables(db: Database) -> None:
    """Create the tables (a migration) and count earlier injections as uses."""
    for table in (
        "use (memory TEXT, session TEXT, how TEXT, at TEXT, PRIMARY KEY (memory, session, how))",
        "edited (memory TEXT PRIMARY KEY, at TEXT)",
        "deleted (memory TEXT PRIMARY KEY, item TEXT, at TEXT)",
        "anchor (memory TEXT, path TEXT, size INTEGER, mtime_ns INTEGER, sketch TEXT, marked INT, PRIMARY KEY (memory, path))",
    ):
        db.execute(f"CREATE TABLE {table}")
    db.execute("INSERT OR IGNORE INTO use (memory, session, how, at) SELECT memory, session, 'injected', at FROM injection")


def create_given(db: Database) -> None:
    """Create the table of the tokens that hooks gave to sessions (a migration)."""
    db.execute("CREATE TABLE given (session TEXT, event TEXT, times INTEGER, tokens INTEGER, PRIMARY KEY (session, event))")


class Ledger:
    """Access to these tables. Each method is one transaction."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    def _now(self) -> str:
        return to_iso(self._clock.now())

    # Uses

    def record_use(self, memories: Iterable[str], session: str, how: UseKind) -> list[str]:
        """Record that a session used memories. Return the ids of those for which this use is new."""
        new = []
        with self._db.transaction():
            for memory in dict.fromkeys(memories):
                row = (memory, session, how.value, self._now())
                self._db.execute("INSERT OR IGNORE INTO use (memory, session, how, at) VALUES (?, ?, ?, ?)", row)
                new += [memory] if self._db.changes() else []
        return new

    def take_back_uses(self, session: str, memories: Iterable[str], how: UseKind) -> None:
        """Remove recorded uses that did not happen."""
        rows = [(session, memory, how.value) for memory in memories]
        self._db.executemany("DELETE FROM use WHERE session = ? AND memory = ? AND how = ?", rows)

    def uses(self, memory: str) -> list[Use]:
        """Return all uses of a memory, oldest first."""
        rows = self._db.execute("SELECT memory, session, how, at FROM use WHERE memory = ? ORDER BY at, session, how", (memory,))
        return [Use(row[0], row[1], UseKind(row[2]), row[3]) for row in rows]

    def uses_in(self, session: str) -> list[Use]:
        """Return all uses of memories by a session, oldest first."""
        rows = self._db.execute("SELECT memory, session, how, at FROM use WHERE session = ? ORDER BY at, memory, how", (session,))
        return [Use(row[0], row[1], UseKind(row[2]), row[3]) for row in rows]

    def record_given(self, session: str, event: str, tokens: int) -> None:
        """Count the tokens of a context that a hook gave to a session. A power cut may lose the count."""
        with self._db.unsynced():
            self._db.execute(
                "INSERT INTO given (session, event, times, tokens) VALUES (?, ?, 1, ?)"
                " ON CONFLICT(session, event) DO UPDATE SET times = times + 1, tokens = tokens + excluded.tokens",
                (session, event, tokens),
            )

    def tokens_given(self, session: str) -> dict[str, int]:
        """Return the tokens given to a session, by hook event."""
        return dict(self._db.execute("SELECT event, tokens FROM given WHERE session = ? ORDER BY tokens DESC", (session,)))

    def given_to(self, session: str) -> ContextGiven:
        """Return what hooks gave to a session, and how much of it was cited."""
        injected = "SELECT memory FROM use WHERE session = ?1 AND how = 'injected'"
        ((tokens, memories, cited),) = self._db.execute(
            "SELECT (SELECT coalesce(sum(tokens), 0) FROM given WHERE session = ?1),"
            f" (SELECT count(*) FROM ({injected})),"
            f" (SELECT count(*) FROM use WHERE session = ?1 AND how = 'cited' AND memory IN ({injected}))",
            (session,),
        )
        return ContextGiven(int(tokens), int(memories), int(cited))

    def given_with_prompts(self, session: str) -> dict[str, str]:
        """Return the injection times of memories that came with prompts and are still in the session's context."""
        rows = self._db.execute("SELECT memory, at FROM injection WHERE session = ? AND event = 'UserPromptSubmit'", (session,))
        return dict(rows)

    def all_uses(self) -> dict[str, list[Use]]:
        """Return the uses of all memories as lists by memory id."""
        out: dict[str, list[Use]] = {}
        for row in self._db.execute("SELECT memory, session, how, at FROM use ORDER BY memory, at, session, how"):
            out.setdefault(row[0], []).append(Use(row[0], row[1], UseKind(row[2]), row[3]))
        return out

    # Manual edits

    def mark_edited(self, memories: Iterable[str]) -> None:
        """Record that a person has edited these files."""
        self._db.executemany("INSERT OR REPLACE INTO edited (memory, at) VALUES (?, ?)", [(m, self._now()) for m in memories])

    def edited(self) -> frozenset[str]:
        """Return the ids of memories whose files were edited by a person."""
        return frozenset(row[0] for row in self._db.execute("SELECT memory FROM edited"))

    def mark_deleted(self, items: Iterable[MemoryItem]) -> None:
        """Record that a person has deleted the files of these memories. Only the newest 5,000 records are kept."""
        rows = [(item.id, item_to_json(item).decode(), self._now()) for item in items]
        self._db.executemany("INSERT OR REPLACE INTO deleted (memory, item, at) VALUES (?, ?, ?)", rows)
        self._db.execute(
            "DELETE FROM deleted WHERE memory IN (SELECT memory FROM deleted ORDER BY at DESC, memory LIMIT -1 OFFSET ?)",
            (MAX_DELETED,),
        )

    def unmark_deleted(self, memories: Iterable[str]) -> None:
        """Remove the deletion records of memories whose files have reappeared."""
        self._db.executemany("DELETE FROM deleted WHERE memory = ?", [(memory,) for memory in memories])

    def deleted(self, project: str) -> list[MemoryItem]:
        """Return deleted memories of the project and of the user.

        They are returned as blacklisted items, with the time of deletion in `expired_at`.
        """
        out = []
        for payload, at in self._db.execute("SELECT item, at FROM deleted ORDER BY memory"):
            item = item_from_json(payload)
            if item.scope is Scope.USER or item.project == project:
                out.append(replace(item, status=Status.BLACKLISTED, expired_at=from_iso(at), pinned=False))
        return out

    def erase(self, memory: str) -> bool:
        """Delete all records about a memory. Return whether they included the text of a manually deleted file."""
        with self._db.transaction():
            kept = bool(self._db.execute("SELECT 1 FROM deleted WHERE memory = ?", (memory,)))
            for table in ("use", "edited", "deleted", "anchor"):
                self._db.execute(f"DELETE FROM {table} WHERE memory = ?", (memory,))
            decision_log.erase(self._db, memory)
        self._db.scrub()
        return kept

    # One-time tasks and anchors

    def is_done(self, task: str) -> bool:
        """Return whether a one-time task, such as a file conversion, has been done."""
        return self._db.value("SELECT 1 FROM note WHERE name = ?", (task,)) is not None

    def set_done(self, task: str) -> None:
        """Record that a one-time task has been done."""
        with self._db.transaction():
            self._db.execute("INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", (task, self._now()))

    def anchors(self) -> dict[str, dict[str, FileState]]:
        """Return the stored file states, by memory id and path."""
        out: dict[str, dict[str, FileState]] = {}
        for memory, path, size, mtime, sketch, marked in self._db.execute("SELECT * FROM anchor ORDER BY memory, path"):
            out.setdefault(memory, {})[path] = FileState(size, mtime, sketch, bool(marked))
        return out

    def set_anchors(self, anchors: Mapping[str, Mapping[str, FileState]]) -> None:
        """Replace the stored file states of these memories."""
        rows = [(m, p, a.size, a.mtime_ns, a.sketch, int(a.marked)) for m, paths in anchors.items() for p, a in paths.items()]
        with self._db.transaction():
            self._db.executemany("DELETE FROM anchor WHERE memory = ?", [(memory,) for memory in anchors])
            self._db.executemany("INSERT INTO anchor VALUES (?, ?, ?, ?, ?, ?)", rows)
