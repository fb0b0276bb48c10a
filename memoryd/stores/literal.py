"""The literal index: what the Markdown files say, in SQLite. Derived; may be deleted at any time.

Table `memory` mirrors the items with where their files lie and how they looked; `broken`
lists the files that could not be read. `words` (FTS5, porter) holds the texts without a copy
of them, project by project; `runs` and `grams` (FTS5, trigram) tell what has a part of a word (see full_text.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from memoryd import rows
from memoryd.db import Database
from memoryd.errors import BrokenFileError, IndexDamagedError, StoreError
from memoryd.stores.browse import BROWSE_INDEX, Kept, count_of, tally_of
from memoryd.stores.full_text import CREATE_FULL_TEXT, TABLES, FullText, shelve
from memoryd.stores.literal_search import USER_INDEX, LiteralSearch
from memoryd.stores.terms import searchable
from memoryd.types import Hit, MemoryItem, Query

SCHEMA = 5
# These differ in the full-text tables alone.
UNSHELVED = (1, 2, 3, 4)
_EXTRA = ("path", "mtime_ns", "size", "inode", "hash")
_EXTRA_SQL = (
    "path TEXT NOT NULL",
    "mtime_ns INTEGER NOT NULL",
    "size INTEGER NOT NULL",
    "inode INTEGER NOT NULL",
    "hash TEXT NOT NULL",
)
_TABLES = TABLES | {"memory", "broken", "meta"}
_PAGE = 1_000
_CREATE = (
    rows.create_table_sql("memory", _EXTRA_SQL),
    *rows.create_index_sql("memory"),
    "CREATE INDEX memory_path ON memory(path)",
    "CREATE TABLE broken (path TEXT PRIMARY KEY, mtime_ns INTEGER, size INTEGER, inode INTEGER,"
    " line INTEGER, problem TEXT, fix TEXT, duplicate TEXT)",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    *CREATE_FULL_TEXT,
    f"PRAGMA user_version={SCHEMA}",
)
_ACTIVE_PAGE = (
    "SELECT path, payload FROM memory INDEXED BY memory_path WHERE path > ? AND status = 'active' ORDER BY path LIMIT ?"
)
_DELETE = "DELETE FROM memory WHERE id = ? RETURNING payload, scope, project, rowid"
_UPSERT = rows.upsert_sql("memory", _EXTRA) + " RETURNING rowid"


@dataclass(frozen=True, slots=True)
class Stamp:
    """How a file looked: enough to see that it changed."""

    mtime_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An item with its file: path relative to the memories folder, stamp, SHA-256 of the bytes."""

    item: MemoryItem
    path: str
    stamp: Stamp
    hash: str


@dataclass(frozen=True, slots=True)
class Known:
    """What the index knows of a file. `id` is empty for a broken one."""

    path: str
    stamp: Stamp
    id: str = ""
    hash: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that could not be read. `duplicate` is the id that another file holds, if that is the fault."""

    path: str
    stamp: Stamp
    error: BrokenFileError
    duplicate: str = ""


class LiteralIndex:
    """One open index file. Raises IndexDamagedError when it has to be made anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Not durable: a power cut loses the last rows, never the files, and `sync` finds them.
        self.db = Database(path, durable=False)
        try:
            self.db.execute("PRAGMA cache_size=-32000")
            self._create()
            self.check_schema()
            self.db.execute(BROWSE_INDEX)
            self.db.execute(USER_INDEX)
        except StoreError:
            self.db.close()
            raise
        self._inode = path.stat().st_ino
        self._search = LiteralSearch(self.db)
        self._kept = Kept(self.db)

    def _create(self) -> None:
        with self.db.transaction():
            if not self.db.value("SELECT count(*) FROM sqlite_schema"):
                for statement in _CREATE:
                    self.db.execute(statement)
            elif self.db.value("PRAGMA user_version") in UNSHELVED:
                shelve(self.db)
                self.db.execute(f"PRAGMA user_version={SCHEMA}")

    def check_schema(self) -> None:
        """Raises IndexDamagedError unless all tables of this version are there."""
        tables = {row[0] for row in self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if self.db.value("PRAGMA user_version") != SCHEMA or not tables >= _TABLES:
            raise IndexDamagedError(f"{self.path} has another form than this version's.", fix="It is rebuilt by itself.")

    def in_place(self) -> bool:
        """Whether the open file is still the one that lies at the path."""
        try:
            return self.path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def scrub(self) -> None:
        """Overwrite what is left of deleted and replaced texts."""
        self.db.scrub(["words", "grams"])

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    # Small facts

    def fact(self, name: str) -> int:
        """A counter, 0 when unset."""
        return int(self.db.value("SELECT value FROM meta WHERE name = ?", (name,)) or 0)

    def set_fact(self, name: str, value: int) -> None:
        """Set a counter."""
        self.db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))

    def _touch(self) -> None:
        self.db.execute("INSERT INTO meta (name, value) VALUES ('revision', 1) ON CONFLICT(name) DO UPDATE SET value = value + 1")

    # Changes

    def put(self, entries: Sequence[Entry]) -> None:
        """Add or replace items, in one transaction."""
        with self.db.transaction():
            some_broken = self.db.value("SELECT 1 FROM broken LIMIT 1") is not None
            full_text = FullText(self.db)
            places = full_text.places([entry.item.id for entry in entries])
            texts: dict[int, MemoryItem] = {}
            for entry in entries:
                item = entry.item
                place = full_text.place(item.scope, item.project, self._put(entry))
                if (before := places.get(item.id, place)) != place:
                    texts.pop(before, None)
                    full_text.remove(before)
                places[item.id], texts[place] = place, item
                if some_broken:
                    self.remove_broken(entry.path)
            full_text.put(texts)
            full_text.sweep()
            self._touch()

    def _put(self, entry: Entry) -> int:
        stamp = entry.stamp
        values = (*rows.to_row(entry.item), entry.path, stamp.mtime_ns, stamp.size, stamp.inode, entry.hash)
        return int(self.db.value(_UPSERT, values))

    def set_stamp(self, path: str, stamp: Stamp) -> None:
        """Record that a file looks different while its bytes are the same."""
        self.db.execute(
            "UPDATE memory SET mtime_ns = ?, size = ?, inode = ? WHERE path = ?", (stamp.mtime_ns, stamp.size, stamp.inode, path)
        )

    def remove(self, ids: Iterable[str]) -> None:
        """Forget items, in one transaction."""
        with self.db.transaction():
            full_text = FullText(self.db)
            for id in ids:
                for payload, *row in self.db.execute(_DELETE, (id,)):
                    full_text.remove(full_text.place(*row), searchable(rows.from_payload(payload)))
            full_text.sweep()
            self._touch()

    def put_broken(self, broken: Broken) -> None:
        """Record a file that can't be read."""
        stamp, error = broken.stamp, broken.error
        self.db.execute(
            "INSERT OR REPLACE INTO broken VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (broken.path, stamp.mtime_ns, stamp.size, stamp.inode, error.line, error.problem, error.fix, broken.duplicate),
        )

    def remove_broken(self, path: str) -> None:
        """Forget a broken file."""
        self.db.execute("DELETE FROM broken WHERE path = ?", (path,))

    # Questions

    def broken(self) -> list[tuple[str, int, str, str]]:
        """Path, line, problem and fix of each broken file, by path."""
        return [
            (row[0], row[1], row[2], row[3])
            for row in self.db.execute("SELECT path, line, problem, fix FROM broken ORDER BY path")
        ]

    def duplicates_of(self, id: str) -> list[str]:
        """Paths of the files that were put aside because another one holds the id."""
        return [row[0] for row in self.db.execute("SELECT path FROM broken WHERE duplicate = ? ORDER BY path", (id,))]

    def known(self, under: str = "") -> dict[str, Known]:
        """What is known of the file, or of the files in the folder, of this relative path; empty means all."""
        condition, parameters = (
            ("1", ()) if not under else ("path = ? OR (path > ? AND path < ?)", (under, f"{under}/", f"{under}0"))
        )
        found = self.db.execute(f"SELECT path, mtime_ns, size, inode FROM broken WHERE {condition}", parameters)
        found += self.db.execute(f"SELECT path, mtime_ns, size, inode, id, hash FROM memory WHERE {condition}", parameters)
        return {row[0]: Known(row[0], Stamp(*row[1:4]), *row[4:]) for row in found}

    def known_of(self, paths: Sequence[str]) -> dict[str, Known]:
        """What is known of these files (at most a thousand)."""
        marks = ", ".join("?" * len(paths))
        found = self.db.execute(f"SELECT path, mtime_ns, size, inode FROM broken WHERE path IN ({marks})", paths)
        found += self.db.execute(f"SELECT path, mtime_ns, size, inode, id, hash FROM memory WHERE path IN ({marks})", paths)
        return {row[0]: Known(row[0], Stamp(*row[1:4]), *row[4:]) for row in found}

    def digest_of(self, id: str) -> str | None:
        """Digest of one item's value, None when there is no such item."""
        value = self.db.value("SELECT digest FROM memory WHERE id = ?", (id,))
        return None if value is None else str(value)

    def file_of(self, id: str) -> Known | None:
        """Where an item's file lies."""
        for row in self.db.execute("SELECT path, mtime_ns, size, inode, id, hash FROM memory WHERE id = ?", (id,)):
            return Known(row[0], Stamp(*row[1:4]), *row[4:])
        return None

    def get(self, id: str) -> MemoryItem | None:
        """The item, or None."""
        return self.fetch([id]).get(id)

    def fetch(self, ids: Sequence[str], query: Query | None = None) -> dict[str, MemoryItem]:
        """The items that exist (and pass the query's filters), by id."""
        condition, parameters = rows.where(query, "m") if query else ("1", [])
        out: dict[str, MemoryItem] = {}
        for start in range(0, len(ids), _PAGE):
            # CROSS JOIN keeps this order; SQLite else looks through all memories of the status.
            found = self.db.execute(
                "SELECT m.id, m.payload FROM json_each(?) AS wanted CROSS JOIN memory AS m ON m.id = wanted.value"
                f" WHERE {condition}",
                (orjson.dumps(list(ids[start : start + _PAGE])).decode(), *parameters),
            )
            out |= {id: rows.from_payload(payload) for id, payload in found}
        return out

    def page_after(self, id: str) -> list[MemoryItem]:
        """The next items in the order of ids."""
        found = self.db.execute("SELECT payload FROM memory WHERE id > ? ORDER BY id LIMIT ?", (id, _PAGE))
        return [rows.from_payload(row[0]) for row in found]

    def digests(self) -> dict[str, str]:
        """Digest of each item's value, by id."""
        return dict(self.db.execute("SELECT id, digest FROM memory"))

    def count(self, query: Query) -> int:
        """How many items pass the query's filters; its text is not looked at."""
        return self._kept.answer(count_of, query)

    def tally(self, query: Query) -> list[tuple[str, str, int]]:
        """(kind, status, number) of the items that pass the query's filters."""
        return self._kept.answer(tally_of, query)

    def active_texts(self) -> Iterator[tuple[str, str]]:
        """Path and text of every active item."""
        last = ""
        while found := self.db.execute(_ACTIVE_PAGE, (last, _PAGE)):
            yield from ((path, searchable(rows.from_payload(payload))) for path, payload in found)
            last = found[-1][0]

    def search(self, query: Query, k: int) -> list[Hit]:
        """See LiteralSearch."""
        return self._search.search(query, k)

    def scores(self, query: Query, k: int) -> dict[str, float]:
        """See LiteralSearch."""
        return self._search.scores(query, k)

    def holds(self, query: Query) -> bool:
        """See LiteralSearch."""
        return self._search.holds(query)

    def document_frequency(self, word: str) -> int:
        """See LiteralSearch."""
        return self._search.document_frequency(word)

    def size(self) -> int:
        """How many items are indexed."""
        return self._search.size()
