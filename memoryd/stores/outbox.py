"""Outbox of changes waiting for the database: a small SQLite file, durable and readable only by its owner.

Each change has its own id. The database records the ids of applied changes. A change whose confirmation was lost is
sent again but applied only once.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from memoryd.core.codec import item_from_dict, item_to_dict
from memoryd.core.db import Database, Migrations
from memoryd.core.types import MemoryItem

SCHEMA = Migrations("outbox")


@SCHEMA.step
def m001_create(db: Database) -> None:
    """Create the table of pending changes."""
    db.execute("CREATE TABLE waiting (number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, body BLOB NOT NULL)")


@dataclass(frozen=True, slots=True)
class QueuedWrite:
    """Memories written and ids of memories deleted in one step.

    Attributes:
        at: Time of the change by this machine's clock, in seconds since 1970.
        fresh: Whether the ids of the written memories are newly generated, so that none of them can exist already.
        number: Position in the outbox, or 0 for a change that has not been in the outbox.
    """

    at: float
    items: tuple[MemoryItem, ...] = ()
    deleted: tuple[str, ...] = ()
    fresh: bool = False
    operation: str = field(default_factory=lambda: str(uuid.uuid4()))
    number: int = 0

    def to_json(self) -> bytes:
        """Serialise all fields except the number."""
        values = {
            "operation": self.operation,
            "items": [item_to_dict(item) for item in self.items],
            "deleted": list(self.deleted),
            "fresh": self.fresh,
        }
        return orjson.dumps(values)


def _from_row(number: int, at: float, body: bytes) -> QueuedWrite:
    values: dict[str, Any] = orjson.loads(body)
    items = tuple(item_from_dict(item) for item in values["items"])
    return QueuedWrite(at, items, tuple(values["deleted"]), bool(values["fresh"]), values["operation"], number)


class Outbox:
    """The pending changes of one home folder, oldest first. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.db = SCHEMA.open(path)

    def add(self, changes: Sequence[QueuedWrite]) -> None:
        """Append changes. They are durable when the call returns."""
        with self.db.transaction():
            for change in changes:
                self.db.execute("INSERT INTO waiting (at, body) VALUES (?, ?)", (change.at, change.to_json()))

    def waiting(self, limit: int = 100) -> list[QueuedWrite]:
        """Return the oldest changes."""
        return [
            _from_row(*row) for row in self.db.execute("SELECT number, at, body FROM waiting ORDER BY number LIMIT ?", (limit,))
        ]

    def everything(self) -> list[QueuedWrite]:
        """Return all changes."""
        return self.waiting(-1)

    def remove(self, change: QueuedWrite) -> None:
        """Remove an applied change. The last removal also erases the text from the file."""
        self.db.execute("DELETE FROM waiting WHERE number = ?", (change.number,))
        if not self.count():
            self.db.scrub()

    def count(self) -> int:
        """Return the number of pending changes."""
        return int(self.db.value("SELECT count(*) FROM waiting"))

    def close(self) -> None:
        """Close the file."""
        self.db.close()
