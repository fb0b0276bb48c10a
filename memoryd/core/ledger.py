"""What happened to single memories: who used them, what a person did to their files, what they are anchored to.

Part of the state database (see `state`). Times are ISO strings.
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

MOST_DELETED = 5_000


class How(StrEnum):
    """What a session did with a memory."""

    INJECTED = "injected"
    RETURNED = "returned"
    CITED = "cited"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a memory by one session; repeated uses of a kind in a session count once."""

    memory: str
    session: str
    how: How
    at: str


@dataclass(frozen=True, slots=True)
class Print:
    """How a file looked when a memory about it was last compared.

    `sketch` is of the lines (see dream.anchors); `marked` says that the memory was tagged because of this file.
    """

    size: int
    mtime_ns: int
    sketch: str
    marked: bool = False


def create_tables(db: Database) -> None:
    """Step 2 of the state database; what sessions were given so far counts as used."""
    for table in (
        "use (memory TEXT, session TEXT, how TEXT, at TEXT, PRIMARY KEY (memory, session, how))",
        "edited (memory TEXT PRIMARY KEY, at TEXT)",
        "deleted (memory TEXT PRIMARY KEY, item TEXT, at TEXT)",
        "anchor (memory TEXT, path TEXT, size INTEGER, mtime_ns INTEGER, sketch TEXT, marked INT, PRIMARY KEY (memory, path))",
    ):
        db.execute(f"CREATE TABLE {table}")
    db.execute("INSERT OR IGNORE INTO use (memory, session, how, at) SELECT memory, session, 'injected', at FROM injection")


class Ledger:
    """Typed access to these tables. Each method is one transaction."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    def _now(self) -> str:
        return to_iso(self._clock.now())

    # Uses

    def record_use(self, memories: Iterable[str], session: str, how: How) -> list[str]:
        """Note that a session used memories; those for which this is new."""
        new = []
        with self._db.transaction():
            for memory in dict.fromkeys(memories):
                row = (memory, session, how.value, self._now())
                self._db.execute("INSERT OR IGNORE INTO use (memory, session, how, at) VALUES (?, ?, ?, ?)", row)
                new += [memory] if self._db.changes() else []
        return new

    def uses(self, memory: str) -> list[Use]:
        """Every use of a memory, oldest first."""
        rows = self._db.execute("SELECT memory, session, how, at FROM use WHERE memory = ? ORDER BY at, session, how", (memory,))
        return [Use(row[0], row[1], How(row[2]), row[3]) for row in rows]

    def uses_in(self, session: str) -> list[Use]:
        """Every use by a session, oldest first."""
        rows = self._db.execute("SELECT memory, session, how, at FROM use WHERE session = ? ORDER BY at, memory, how", (session,))
        return [Use(row[0], row[1], How(row[2]), row[3]) for row in rows]

    def all_uses(self) -> dict[str, list[Use]]:
        """The same for all memories that were used."""
        out: dict[str, list[Use]] = {}
        for row in self._db.execute("SELECT memory, session, how, at FROM use ORDER BY memory, at, session, how"):
            out.setdefault(row[0], []).append(Use(row[0], row[1], How(row[2]), row[3]))
        return out

    # What a person did to the files

    def mark_edited(self, memories: Iterable[str]) -> None:
        """Note that a person changed these files."""
        self._db.executemany("INSERT OR REPLACE INTO edited (memory, at) VALUES (?, ?)", [(m, self._now()) for m in memories])

    def edited(self) -> frozenset[str]:
        """Memories whose files a person changed."""
        return frozenset(row[0] for row in self._db.execute("SELECT memory FROM edited"))

    def mark_deleted(self, items: Iterable[MemoryItem]) -> None:
        """Note that a person deleted the files of these memories; the newest 5,000 are kept."""
        rows = [(item.id, item_to_json(item).decode(), self._now()) for item in items]
        self._db.executemany("INSERT OR REPLACE INTO deleted (memory, item, at) VALUES (?, ?, ?)", rows)
        self._db.execute(
            "DELETE FROM deleted WHERE memory IN (SELECT memory FROM deleted ORDER BY at DESC, memory LIMIT -1 OFFSET ?)",
            (MOST_DELETED,),
        )

    def unmark_deleted(self, memories: Iterable[str]) -> None:
        """Their files are back."""
        self._db.executemany("DELETE FROM deleted WHERE memory = ?", [(memory,) for memory in memories])

    def deleted(self, project: str) -> list[MemoryItem]:
        """Memories of the project and the user's own whose files a person deleted.

        They come as blacklisted ones; `expired_at` is the time of the deletion.
        """
        out = []
        for payload, at in self._db.execute("SELECT item, at FROM deleted ORDER BY memory"):
            item = item_from_json(payload)
            if item.scope is Scope.USER or item.project == project:
                out.append(replace(item, status=Status.BLACKLISTED, expired_at=from_iso(at), pinned=False))
        return out

    def erase(self, memory: str) -> bool:
        """Delete all that is kept about a memory; whether its text was kept, since a person had deleted its file."""
        with self._db.transaction():
            kept = bool(self._db.execute("SELECT 1 FROM deleted WHERE memory = ?", (memory,)))
            for table in ("use", "edited", "deleted", "anchor"):
                self._db.execute(f"DELETE FROM {table} WHERE memory = ?", (memory,))
            decision_log.erase(self._db, memory)
        self._db.scrub()
        return kept

    # Anchors

    def is_done(self, task: str) -> bool:
        """Whether a task that is done once, such as converting files, was done."""
        return self._db.value("SELECT 1 FROM note WHERE name = ?", (task,)) is not None

    def set_done(self, task: str) -> None:
        """Record that a task is done."""
        with self._db.transaction():
            self._db.execute("INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", (task, self._now()))

    def anchors(self) -> dict[str, dict[str, Print]]:
        """The known prints by memory and path."""
        out: dict[str, dict[str, Print]] = {}
        for memory, path, size, mtime, sketch, marked in self._db.execute("SELECT * FROM anchor ORDER BY memory, path"):
            out.setdefault(memory, {})[path] = Print(size, mtime, sketch, bool(marked))
        return out

    def set_anchors(self, anchors: Mapping[str, Mapping[str, Print]]) -> None:
        """Replace the prints of these memories."""
        rows = [(m, p, a.size, a.mtime_ns, a.sketch, int(a.marked)) for m, paths in anchors.items() for p, a in paths.items()]
        with self._db.transaction():
            self._db.executemany("DELETE FROM anchor WHERE memory = ?", [(memory,) for memory in anchors])
            self._db.executemany("INSERT INTO anchor VALUES (?, ?, ?, ?, ?, ?)", rows)
