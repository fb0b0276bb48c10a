"""Looking through the literal index without a search: page by page, and in numbers.

A page is found by the key of the last item of the one before it, so the thousandth page is as quick as the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from memoryd import rows
from memoryd.clock import from_iso, to_iso
from memoryd.db import Database
from memoryd.errors import InputError
from memoryd.types import MemoryItem, Query


@dataclass(frozen=True, slots=True)
class Key:
    """Where an item stands among all, newest first; equal times are ordered by id."""

    created_at: datetime
    id: str

    def to_text(self) -> str:
        """For an address or a command line."""
        return f"{to_iso(self.created_at)}/{self.id}"


def key_of(item: MemoryItem) -> Key:
    """The item's place."""
    return Key(item.created_at, item.id)


def parse_key(text: str) -> Key:
    """The inverse of `to_text`. Raises InputError."""
    moment, _, id = text.partition("/")
    if not id:
        raise InputError(f"'{text}' is no place in the list.", fix="Use the value of `next` from the page before.")
    return Key(from_iso(moment), id)


def page_of(db: Database, query: Query, k: int, after: Key | None) -> list[MemoryItem]:
    """At most k items that pass the filters, newest first, behind `after`."""
    condition, parameters = rows.where(query)
    if after is not None:
        condition += " AND created_at <= ? AND (created_at < ? OR id > ?)"
        seconds = rows.seconds(after.created_at)
        parameters = [*parameters, seconds, seconds, after.id]
    # Without the hint SQLite sorts every active item; a session's items are few, and found by its own index.
    hint = "" if query.session is not None else "INDEXED BY memory_created_at"
    sql = f"SELECT payload FROM memory {hint} WHERE {condition} ORDER BY created_at DESC, id LIMIT ?"
    return [rows.from_payload(row[0]) for row in db.execute(sql, (*parameters, k))]


def tally_of(db: Database, query: Query) -> list[tuple[str, str, int]]:
    """(kind, status, number) of the items that pass the filters."""
    condition, parameters = rows.where(query)
    # Without the hint SQLite looks each row up by way of an index, which takes twice as long.
    sql = f"SELECT kind, status, count(*) FROM memory NOT INDEXED WHERE {condition} GROUP BY kind, status"
    return [(row[0], row[1], int(row[2])) for row in db.execute(sql, parameters)]


def span_of(db: Database) -> tuple[datetime | None, datetime | None]:
    """When the oldest and the newest item were made; None without any."""
    ends = [db.value(f"SELECT {end}(created_at) FROM memory") for end in ("min", "max")]
    first, last = (None if seconds is None else datetime.fromtimestamp(seconds, UTC) for seconds in ends)
    return first, last
