"""The full-text tables of the literal index. The memories of a project stand side by side in them.

FTS5 can be asked for a range of rows, and then ranks no others. So the number of a row of `words`, its place, begins with
that of a shelf: one for each project, and one for what is the user's and belongs to all. Behind it comes the row of `memory`.
The keys of a memory have a column of their own beside its text.

Parts of words are looked for in `runs`, the different runs of letters and digits of all texts, by their trigrams in
`grams`: they are far fewer than the texts. A run goes with the last text that has it, so nothing that was erased stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from memoryd import rows
from memoryd.db import Database
from memoryd.stores.terms import grams, index_text, keys_of, phrase, runs_of, searchable
from memoryd.types import MemoryItem, Query, Scope

TABLES = frozenset({"words", "grams", "vocabulary", "shelves", "runs"})
CREATE_FULL_TEXT = (
    "CREATE TABLE shelves (number INTEGER PRIMARY KEY, project TEXT NOT NULL UNIQUE)",
    "CREATE VIRTUAL TABLE words USING fts5(body, keys, content='', contentless_delete=1,"
    " tokenize='porter unicode61 remove_diacritics 2')",
    "CREATE TABLE runs (number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE)",
    "CREATE VIRTUAL TABLE grams USING fts5(run, content='', contentless_delete=1, tokenize='trigram', detail=none)",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)",
)
SHIFT = 32
ROW = (1 << SHIFT) - 1
USER_SHELF = 0
EVERYTHING = (0, (1 << 63) - 1)
_PLACED = (
    "SELECT m.id, m.payload, m.scope, m.project, m.rowid FROM json_each(?) AS wanted"
    " CROSS JOIN memory AS m ON m.id = wanted.value"
)
# Only those that are new come back.
_ADD_RUNS = "INSERT INTO runs (run) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING RETURNING number, run"
_RUNS_WITH = "SELECT runs.run FROM grams CROSS JOIN runs ON runs.number = grams.rowid WHERE grams MATCH ?"
# Of a part that more words have, those nearest to it are enough.
MOST_RUNS = 64
_BY_SHELF = "SELECT payload, scope, project, rowid FROM memory ORDER BY scope != 'user', project, rowid LIMIT ? OFFSET ?"
_PAGE = 10_000
Range = tuple[int, int]


class FullText:
    """Writing to the tables, for as long as one transaction lasts."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._shelves: dict[str, int] = {}
        self._gone: set[str] = set()

    def place(self, scope: str, project: str, rowid: int) -> int:
        """The row of the full-text tables for a row of `memory`; its shelf is made when it is missed."""
        number = USER_SHELF if scope == Scope.USER else self._shelf(project)
        return number << SHIFT | rowid

    def _shelf(self, project: str) -> int:
        if project not in self._shelves:
            self._db.execute("INSERT OR IGNORE INTO shelves (project) VALUES (?)", (project,))
            self._shelves[project] = int(self._db.value("SELECT number FROM shelves WHERE project = ?", (project,)))
        return self._shelves[project]

    def places(self, ids: Sequence[str]) -> dict[str, int]:
        """Where the texts of those that are known stand; they are about to be replaced."""
        out = {}
        for id, payload, *row in self._db.execute(_PLACED, (orjson.dumps(list(ids)).decode(),)):
            out[id] = self.place(*row)
            self._gone |= runs_of(searchable(rows.from_payload(payload)))
        return out

    def put(self, items: Mapping[int, MemoryItem]) -> None:
        """Add or replace the texts and keys of items by their places."""
        runs: dict[str, None] = {}
        # In order: FTS5 writes out what it has gathered whenever a row comes before the last one.
        for place, item in sorted(items.items(), key=lambda pair: pair[0]):
            text = searchable(item)
            columns = (place, index_text(text), index_text("\n".join(keys_of(item))))
            self._db.execute("INSERT OR REPLACE INTO words (rowid, body, keys) VALUES (?, ?, ?)", columns)
            runs |= dict.fromkeys(runs_of(text))
        for number, run in self._db.execute(_ADD_RUNS, (orjson.dumps(list(runs)).decode(),)):
            self._db.execute("INSERT INTO grams (rowid, run) VALUES (?, ?)", (number, run))
        self._gone.difference_update(runs)

    def remove(self, place: int, text: str = "") -> None:
        """Remove the text at a place."""
        self._db.execute("DELETE FROM words WHERE rowid = ?", (place,))
        self._gone |= runs_of(text)

    def sweep(self) -> None:
        """Remove what no text has any more, when all texts are written."""
        for run in sorted(self._gone):
            if not self._db.execute("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (f"body : {phrase(run)}",)):
                for (number,) in self._db.execute("DELETE FROM runs WHERE run = ? RETURNING number", (run,)):
                    self._db.execute("DELETE FROM grams WHERE rowid = ?", (number,))


def shelve(db: Database) -> None:
    """Make the tables of an index that has none of this form, from its `memory`. Some 10 s for 100,000 memories."""
    for table in sorted(TABLES, reverse=True):
        db.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in CREATE_FULL_TEXT:
        db.execute(statement)
    full_text, start = FullText(db), 0
    while page := db.execute(_BY_SHELF, (_PAGE, start)):
        full_text.put({full_text.place(*row): rows.from_payload(payload) for payload, *row in page})
        start += len(page)


def ranges(db: Database, query: Query) -> Sequence[Range]:
    """First and last place of each shelf that holds what passes the query's project; one for all when it names none."""
    if query.project is None:
        return (EVERYTHING,)
    # A range without rows costs as much as one with few.
    found = db.execute(f"SELECT {USER_SHELF} WHERE EXISTS (SELECT 1 FROM memory WHERE scope = '{Scope.USER}')")
    found += db.execute("SELECT number FROM shelves WHERE project = ?", (query.project,))
    return [(number << SHIFT, number << SHIFT | ROW) for (number,) in found]


def runs_with(db: Database, word: str) -> list[str]:
    """Runs that have the word inside, the shortest first: at most 64."""
    found = [run for (run,) in db.execute(_RUNS_WITH, (grams(word),)) if word in run]
    return sorted(found, key=lambda run: (len(run), run))[:MOST_RUNS]
