"""Items as database rows: the item table of the SQLite-backed stores, and the query filter shared by all stores.

A store creates its table with `create_table_sql`, writes `to_row` and filters with `where`. All columns except `payload`
exist only so that SQLite can evaluate the filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from memoryd.core.codec import digest_of, item_from_own_json, item_to_dict
from memoryd.core.errors import IndexDamagedError, InputError
from memoryd.core.types import CURRENT_STATUSES, MemoryItem, Query, Scope, Status

ITEMS_KEPT = 6_000
COLUMNS = (
    "id",
    "content",
    "kind",
    "scope",
    "project",
    "session",
    "status",
    "created_at",
    "expired_at",
    "valid_from",
    "valid_to",
    "relevancy",
    "tags",
    "digest",
    "payload",
)
_TYPES = {
    "created_at": "REAL NOT NULL",
    "expired_at": "REAL",
    "valid_from": "REAL",
    "valid_to": "REAL",
    "relevancy": "REAL NOT NULL",
}


def create_table_sql(table: str, extra: Sequence[str] = ()) -> str:
    """Return the DDL of an item table with an INTEGER `rowid`. `extra` contains additional column definitions."""
    columns = ["rowid INTEGER PRIMARY KEY", "id TEXT NOT NULL UNIQUE"]
    columns += [f"{name} {_TYPES.get(name, 'TEXT NOT NULL')}" for name in COLUMNS[1:]]
    return f"CREATE TABLE {table} ({', '.join([*columns, *extra])})"


def create_index_sql(table: str) -> list[str]:
    """Return the DDL of the indexes used by the filters."""
    return [f"CREATE INDEX {table}_{column} ON {table}({column})" for column in ("project", "session", "created_at", "status")]


def upsert_sql(table: str, extra: Sequence[str] = ()) -> str:
    """Return an upsert statement that keeps the rowid. Its parameters are `to_row(item)` and the extra columns."""
    names = [*COLUMNS, *extra]
    marks = ", ".join("?" * len(names))
    updates = ", ".join(f"{name}=excluded.{name}" for name in names[1:])
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT(id) DO UPDATE SET {updates}"


def seconds(moment: datetime | None) -> float | None:
    """Convert a time to seconds since 1970, as stored in rows."""
    return None if moment is None else moment.timestamp()


def to_row(item: MemoryItem) -> tuple[Any, ...]:
    """Return the item's values in the order of COLUMNS."""
    values = item_to_dict(item)
    return (
        item.id,
        item.content,
        item.kind.value,
        item.scope.value,
        item.project,
        item.session,
        item.status.value,
        seconds(item.created_at),
        seconds(item.expired_at),
        seconds(item.valid_from),
        seconds(item.valid_to),
        item.relevancy,
        orjson.dumps(list(item.tags)).decode(),
        digest_of(values),
        orjson.dumps(values).decode(),
    )


@lru_cache(maxsize=ITEMS_KEPT)
def from_payload(payload: str) -> MemoryItem:
    """Parse the `payload` column. Recent items are cached, because every store loads the same ones.

    Raises:
        IndexDamagedError: The payload was not written by a store.
    """
    try:
        return item_from_own_json(payload)
    except (AttributeError, LookupError, TypeError, ValueError, InputError) as error:
        problem = f"An index row is not a valid memory: {type(error).__name__}."
        raise IndexDamagedError(problem, fix="The index is rebuilt automatically.") from error


@dataclass(frozen=True, slots=True)
class Dialect:
    """SQL dialect differences in filters: the parameter mark, the source column, the tag test and an always-true condition."""

    mark: str = "?"
    source: str = "payload ->> 'source'"
    has_tag: str = "EXISTS (SELECT 1 FROM json_each(@tags) WHERE value = ?)"
    everything: str = "1"


SQLITE = Dialect()


class _Conditions:
    def __init__(self, alias: str, mark: str) -> None:
        self._mark = mark
        self.prefix = f"{alias}." if alias else ""
        self.clauses: list[str] = []
        self.parameters: list[Any] = []

    def add(self, clause: str, *parameters: Any) -> None:
        self.clauses.append(clause.replace("@", self.prefix).replace("?", self._mark))
        self.parameters += parameters

    def one_of(self, column: str, values: Sequence[Any]) -> None:
        if values:
            self.add(f"@{column} IN ({', '.join('?' * len(values))})", *[str(value) for value in values])


def _add_time(where: _Conditions, query: Query) -> None:
    if query.as_of is not None:
        moment = seconds(query.as_of)
        where.add("@created_at <= ? AND (@expired_at IS NULL OR @expired_at > ?)", moment, moment)
        if Status.BLACKLISTED not in query.statuses:
            where.add("@status != 'blacklisted'")
    elif query.valid_at is not None:
        where.one_of("status", sorted({*query.statuses, Status.ACTIVE, Status.SUPERSEDED}))
    else:
        where.one_of("status", query.statuses)
        # Current items can expire (`valid_to`) without a change of status.
        if query.now is not None and query.statuses and CURRENT_STATUSES.issuperset(query.statuses):
            moment = seconds(query.now)
            where.add("(@expired_at IS NULL OR @expired_at > ?) AND (@valid_to IS NULL OR @valid_to > ?)", moment, moment)
    if query.valid_at is not None:
        moment = seconds(query.valid_at)
        where.add("(@valid_from IS NULL OR @valid_from <= ?)", seconds(query.valid_until or query.valid_at))
        where.add("(@valid_to IS NULL OR @valid_to > ?)", moment)
    if query.created_after is not None:
        where.add("@created_at >= ?", seconds(query.created_after))
    if query.created_before is not None:
        where.add("@created_at < ?", seconds(query.created_before))


def where(query: Query, alias: str = "", dialect: Dialect = SQLITE) -> tuple[str, list[Any]]:
    """Return a non-empty WHERE condition and its parameters, for all filters of the query except its text."""
    out = _Conditions(alias, dialect.mark)
    if query.project is not None:
        out.add(f"(@project = ? OR @scope = '{Scope.USER}')", query.project)
    out.one_of("scope", query.scopes)
    out.one_of("kind", query.kinds)
    out.one_of(dialect.source, query.sources)
    if query.session is not None:
        out.add("@session = ?", query.session)
    for tag in query.tags:
        out.add(dialect.has_tag, tag)
    _add_time(out, query)
    return " AND ".join(out.clauses) or dialect.everything, out.parameters
