"""Full-text index of the Markdown files in SQLite. It is derived from the files and can be deleted safely.

The table `memory` contains the items with the paths and stamps of their files. `broken` lists unreadable files.
`words` (FTS5, porter) indexes the texts per project without storing a copy. `runs` and `grams` (FTS5, trigram) find
parts of words.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.core.clock import from_iso, to_iso
from memoryd.core.db import Database
from memoryd.core.errors import BrokenFileError, IndexDamagedError, InputError, StoreError
from memoryd.core.text import CJK, keywords, one_line, shorten, words
from memoryd.core.types import Backend, Hit, MemoryItem, Query, Scope, Status
from memoryd.stores import rows

# Tokenisation of items and queries. Pure functions.
#
# Latin words use FTS5's porter stemmer. A CJK run becomes overlapping pairs of characters, so that two-character words can
# be found. Identifiers are indexed both whole and in parts.

MAX_QUERY_WORDS = 200
MIN_SUBSTRING = 4
# More or longer keys would slow down every query and add little.
MAX_KEYS = 8
MAX_KEY_CHARACTERS = 300
_CAMEL_WORD = re.compile(r"\b\w*[a-z0-9][A-Z]\w*")
_RUN = re.compile(r"[^\W_]+")
_CJK_RUN = re.compile(f"(?:{CJK.pattern})+")


def searchable(item: MemoryItem) -> str:
    """Return all text of an item covered by a word search."""
    return "\n".join((item.content, *item.tags, *item.entities))


def keys_of(item: MemoryItem) -> tuple[str, ...]:
    """Return the keys of an item for the index: up to eight distinct keys, each on one line."""
    keys = (shorten(one_line(key), MAX_KEY_CHARACTERS) for key in item.asked_as)
    return tuple(dict.fromkeys(key for key in keys if key))[:MAX_KEYS]


def index_text(text: str) -> str:
    """Return the text in the form stored in the word index."""
    parts = [_CJK_RUN.sub(_pairs, text)]
    parts += [" ".join(words(name)) for name in _CAMEL_WORD.findall(text)]
    return " ".join(parts)


def runs_of(text: str) -> set[str]:
    """Return the case-folded runs of letters and digits that are long enough to contain a query word."""
    return {run for run in _RUN.findall(CJK.sub(" ", text.casefold())) if len(run) > MIN_SUBSTRING}


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    # The last character is also indexed alone, so that a query with one character matches it by prefix.
    return " " + " ".join([*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]]) + " "


def query_words(text: str) -> list[str]:
    """Return the distinct words of a query without stop words. If there are only stop words, return those."""
    return (keywords(text) or list(dict.fromkeys(words(text))))[:MAX_QUERY_WORDS]


def is_single_cjk(word: str) -> bool:
    """Return whether the word is a single CJK character. Such a word is searched as the prefix of a pair."""
    return len(word) == 1 and CJK.fullmatch(word) is not None


def phrase(word: str) -> str:
    """Quote the word as an FTS5 string."""
    return '"' + word.replace('"', '""') + '"' + (" *" if is_single_cjk(word) else "")


def grams(word: str) -> str:
    """Return an FTS5 query for a trigram index that matches all trigrams of the word."""
    folded = word.casefold()
    return " AND ".join(dict.fromkeys(phrase(folded[i : i + 3]) for i in range(len(folded) - 2)))


# Full-text tables, in which the memories of each project are in adjacent rows.
#
# FTS5 can rank only a range of rows. A row number of `words` (its position) therefore starts with the number of a shelf. There is
# one shelf per project, and one for the user's memories, which belong to all projects. The rest is the rowid in `memory`. A
# memory's keys are in a separate column.
#
# Parts of words are searched in `runs`, which holds the distinct runs of letters and digits of all texts, by their trigrams in
# `grams`. There are far fewer runs than texts. A run is removed with the last text that contains it, so no erased text remains.

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
# Returns only the new runs.
_ADD_RUNS = "INSERT INTO runs (run) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING RETURNING number, run"
_RUNS_WITH = "SELECT runs.run FROM grams CROSS JOIN runs ON runs.number = grams.rowid WHERE grams MATCH ?"
# If a word part occurs in more runs than this, the shortest ones are enough.
MAX_RUNS = 64
_BY_SHELF = "SELECT payload, scope, project, rowid FROM memory ORDER BY scope != 'user', project, rowid LIMIT ? OFFSET ?"
_ROWS_PER_PAGE = 10_000
Range = tuple[int, int]


class FullText:
    """Writer for the full-text tables. Use one writer per transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._shelves: dict[str, int] = {}
        self._gone: set[str] = set()

    def place(self, scope: str, project: str, rowid: int) -> int:
        """Return the full-text row number for a row of `memory`. Its shelf is created if necessary."""
        number = USER_SHELF if scope == Scope.USER else self._shelf(project)
        return number << SHIFT | rowid

    def _shelf(self, project: str) -> int:
        if project not in self._shelves:
            self._db.execute("INSERT OR IGNORE INTO shelves (project) VALUES (?)", (project,))
            self._shelves[project] = int(self._db.value("SELECT number FROM shelves WHERE project = ?", (project,)))
        return self._shelves[project]

    def places(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the row numbers of known items before their texts are replaced."""
        out = {}
        for id, payload, *row in self._db.execute(_PLACED, (orjson.dumps(list(ids)).decode(),)):
            out[id] = self.place(*row)
            self._gone |= runs_of(searchable(rows.from_payload(payload)))
        return out

    def put(self, items: Mapping[int, MemoryItem]) -> None:
        """Add or replace the texts and keys of items, by row number."""
        runs: dict[str, None] = {}
        # Rows are written in ascending order. FTS5 flushes its buffer whenever a row number is lower than the previous one.
        for place, item in sorted(items.items(), key=lambda pair: pair[0]):
            text = searchable(item)
            columns = (place, index_text(text), index_text("\n".join(keys_of(item))))
            self._db.execute("INSERT OR REPLACE INTO words (rowid, body, keys) VALUES (?, ?, ?)", columns)
            runs |= dict.fromkeys(runs_of(text))
        for number, run in self._db.execute(_ADD_RUNS, (orjson.dumps(list(runs)).decode(),)):
            self._db.execute("INSERT INTO grams (rowid, run) VALUES (?, ?)", (number, run))
        self._gone.difference_update(runs)

    def remove(self, place: int, text: str = "") -> None:
        """Remove the text with this row number."""
        self._db.execute("DELETE FROM words WHERE rowid = ?", (place,))
        self._gone |= runs_of(text)

    def sweep(self) -> None:
        """Remove the runs that no longer occur in any text. Call this after all texts have been written."""
        for run in sorted(self._gone):
            if not self._db.execute("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (f"body : {phrase(run)}",)):
                for (number,) in self._db.execute("DELETE FROM runs WHERE run = ? RETURNING number", (run,)):
                    self._db.execute("DELETE FROM grams WHERE rowid = ?", (number,))


def rebuild_shelves(db: Database) -> None:
    """Rebuild the full-text tables of an older index from `memory`. This takes about 10 s for 100,000 memories."""
    for table in sorted(TABLES, reverse=True):
        db.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in CREATE_FULL_TEXT:
        db.execute(statement)
    full_text, start = FullText(db), 0
    while page := db.execute(_BY_SHELF, (_ROWS_PER_PAGE, start)):
        full_text.put({full_text.place(*row): rows.from_payload(payload) for payload, *row in page})
        start += len(page)


def ranges(db: Database, query: Query) -> Sequence[Range]:
    """Return the row ranges of the shelves for the query's project, or a single range if the query specifies no project."""
    if query.project is None:
        return (EVERYTHING,)
    # An empty range takes as long as one with few rows.
    found = db.execute(f"SELECT {USER_SHELF} WHERE EXISTS (SELECT 1 FROM memory WHERE scope = '{Scope.USER}')")
    found += db.execute("SELECT number FROM shelves WHERE project = ?", (query.project,))
    return [(number << SHIFT, number << SHIFT | ROW) for (number,) in found]


def runs_with(db: Database, word: str) -> list[str]:
    """Return up to 64 runs that contain the word, shortest first."""
    found = [run for (run,) in db.execute(_RUNS_WITH, (grams(word),)) if word in run]
    return sorted(found, key=lambda run: (len(run), run))[:MAX_RUNS]


# Full-text search: BM25 as computed by FTS5, and the share of the query that each hit covers.
#
# FTS5 ranks every row that contains a query word, within the project's shelves if there is a project. Its own ORDER BY would
# double the cost. The filters are then checked from the top of that ranking downwards.

# Maximum number of postings that a query ranks. Limits the time (about 1 ms per 1,000) in a large store.
POSTINGS = 20_000
# A part of a word is weaker evidence than the whole word.
SUBSTRING_WEIGHT = 0.5
_MAX_SUBSTRING_HITS = 200
COUNTS_KEPT = 5_000
FILTERS_KEPT = 16
# Up to this number, rows are looked up individually instead of scanning an index.
FEW = 2_000
# `rows.where` selects the memories of a project and of the user. With this index, neither requires a scan of all
# other memories.
USER_INDEX = f"CREATE INDEX IF NOT EXISTS memory_user ON memory(scope) WHERE scope = '{Scope.USER}'"
Rows = NDArray[np.int64]
Ranks = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A query word: its `stems` in the index, the number of items `found` with the word, and the word's weight `idf`."""

    word: str
    stems: tuple[str, ...]
    found: int
    idf: float


def inverse_frequency(total: int, found: int) -> float:
    """Return BM25's idf in its non-negative form (Lucene): ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


class FullTextSearch:
    """Queries on an open full-text index."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._counts: tuple[tuple[int, int], dict[str, int]] = ((-1, -1), {})
        self._places: tuple[tuple[int, int], OrderedDict[str, Rows]] = ((-1, -1), OrderedDict())
        self._tokens = db.tokenizer("porter", "unicode61", "remove_diacritics", "2")

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return up to k hits by score, then id. A query without text returns the newest items.

        `score` is the negated BM25 of FTS5 (k1 = 1.2, b = 0.75) over indexed words, plus a smaller amount for words that
        occur only inside other words. `parts["coverage"]` is the idf-weighted share of the query's words in the item.
        """
        if k <= 0:
            return []
        if not query.text.strip():
            return self._newest(query, k)
        terms = self._terms(query.text)
        scores = self._best(query, k, terms)
        items = self._items(list(scores))
        return [self._hit(items[id], score, terms) for id, score in scores.items() if id in items]

    def scores(self, query: Query, k: int) -> dict[str, float]:
        """Return the ids and scores that `search` would return for a text, in order."""
        return self._best(query, k, self._terms(query.text)) if k > 0 else {}

    def holds(self, query: Query) -> bool:
        """Return False if nothing can pass the filters, whatever the text, for example in a project without memories."""
        if query.project is None and query.session is None:
            return True
        condition, parameters = _lasting(query)
        return self._db.value(f"SELECT 1 FROM memory WHERE {condition} LIMIT 1", parameters) is not None

    def _best(self, query: Query, k: int, terms: Sequence[QueryTerm]) -> dict[str, float]:
        return self._with_substrings(query, k, terms, self._by_words(query, k, terms)) if self.holds(query) else {}

    def _items(self, ids: Sequence[str]) -> dict[str, MemoryItem]:
        found = self._db.execute(
            "SELECT m.id, m.payload FROM json_each(?) AS wanted CROSS JOIN memory AS m ON m.id = wanted.value", (_json(ids),)
        )
        return {id: rows.from_payload(payload) for id, payload in found}

    def _newest(self, query: Query, k: int) -> list[Hit]:
        """Return the newest items that pass the filters.

        Few rows are looked up individually. Many are read from an index in time order.
        """
        within = self._within(query)
        if within is not None and (query.session is not None or len(within) <= FEW):
            found = self._first(query, k, "NOT INDEXED", " AND rowid IN (SELECT value FROM json_each(?))", _json(within.tolist()))
        elif query.statuses == (Status.BLACKLISTED,) and query.as_of is None and query.valid_at is None:
            found = self._first(query, k, "INDEXED BY memory_status")
        else:
            found = page_of(self._db, query, k, None)
        return [Hit(item, 0.0, Backend.MARKDOWN) for item in found]

    def _first(self, query: Query, k: int, hint: str, among: str = "", *wanted: str) -> list[MemoryItem]:
        condition, parameters = rows.where(query)
        chosen = f"SELECT rowid FROM memory {hint} WHERE {condition}{among} ORDER BY created_at DESC, id LIMIT ?"
        sql = f"SELECT payload FROM memory WHERE rowid IN ({chosen}) ORDER BY created_at DESC, id"
        return [rows.from_payload(payload) for (payload,) in self._db.execute(sql, (*parameters, *wanted, k))]

    # Words

    def _terms(self, text: str) -> list[QueryTerm]:
        total = self.size()
        out: dict[tuple[str, ...], QueryTerm] = {}
        for word in query_words(text):
            stems = tuple(self._tokens(word))
            if stems and stems not in out:
                found = self._frequency(word, stems)
                out[stems] = QueryTerm(word, stems, found, inverse_frequency(total, min(found, total)))
        return list(out.values())

    def document_frequency(self, word: str) -> int:
        """Return the number of items that contain the word's stem."""
        stems = self._tokens(word)
        return self._frequency(word, stems) if stems else 0

    def size(self) -> int:
        """Return the number of indexed items."""
        return self._count("", "SELECT count(*) FROM memory", ())

    def _frequency(self, word: str, stems: Sequence[str]) -> int:
        if len(stems) == 1 and not is_single_cjk(word):
            return self._count(word, "SELECT doc FROM vocabulary WHERE term = ?", (stems[0],))
        return self._count(word, "SELECT count(*) FROM words WHERE words MATCH ?", (phrase(word),))

    def _count(self, key: str, sql: str, parameters: tuple[str, ...]) -> int:
        """Return a count. It is cached until the index changes, because one query needs it several times."""
        version, known = self._counts
        if (now := self._db.version()) != version or len(known) > COUNTS_KEPT:
            known = {}
            self._counts = (now, known)
        if key not in known:
            known[key] = int(self._db.value(sql, parameters) or 0)
        return known[key]

    def _by_words(self, query: Query, k: int, terms: Sequence[QueryTerm]) -> dict[str, float]:
        indexed = sorted((term for term in terms if term.found), key=lambda term: (term.found, term.word))
        chosen = affordable(indexed)
        found = self._ranked(query, k, chosen)
        if len(found) < k and len(chosen) < len(indexed):
            return self._ranked(query, k, indexed)
        return found

    def _ranked(self, query: Query, k: int, terms: Sequence[QueryTerm]) -> dict[str, float]:
        """Return the ids and scores of the k best items.

        The ranking is read only as far as filters and ties can change the result.
        """
        if not terms:
            return {}
        places, ranks = self._ranking(query, terms)
        rowids = places & ROW
        if query.session is not None and (within := self._within(query)) is not None:
            kept = np.isin(rowids, within)
            rowids, ranks = rowids[kept], ranks[kept]
        found: list[tuple[float, str]] = []
        for part, rest in _parts(ranks, k):
            found = sorted(found + self._passing(query, dict(zip(rowids[part].tolist(), ranks[part].tolist(), strict=True))))
            if not rest or (len(found) >= k and found[k - 1][0] < ranks[part[-1]]):
                break
        return {id: -rank for rank, id in found[:k]}

    def _ranking(self, query: Query, terms: Sequence[QueryTerm]) -> tuple[Rows, Ranks]:
        """Return the positions and ranks of rows in the query's project that contain one of the words, in no particular order."""
        words = _match(terms)
        found = [
            row
            for first, last in ranges(self._db, query)
            for row in self._db.execute(
                "SELECT rowid, rank FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?", (words, first, last)
            )
        ]
        return np.array([place for place, _ in found], dtype=np.int64), np.array([rank for _, rank in found], dtype=np.float64)

    def _passing(self, query: Query, ranks: Mapping[int, float]) -> list[tuple[float, str]]:
        """Return (rank, id) of the rows that pass the filters. Ranks in FTS5 are negative, and lower ranks are better."""
        condition, parameters = rows.where(query)
        passing = self._db.execute(
            f"SELECT id, rowid FROM memory NOT INDEXED WHERE rowid IN (SELECT value FROM json_each(?)) AND {condition}",
            (_json(ranks), *parameters),
        )
        return [(ranks[rowid], id) for id, rowid in passing]

    def _within(self, query: Query) -> Rows | None:
        """Return the rows of the query's project and session, or None if it specifies neither.

        They are cached until the index changes.
        """
        if query.project is None and query.session is None:
            return None
        condition, parameters = _lasting(query)
        version, known = self._places
        if (now := self._db.version()) != version:
            known = OrderedDict()
            self._places = (now, known)
        key = _json(parameters) + condition
        if key not in known:
            found = self._db.execute(f"SELECT rowid FROM memory WHERE {condition}", parameters)
            known[key] = np.array([row for (row,) in found], dtype=np.int64)
            while len(known) > FILTERS_KEPT:
                known.popitem(last=False)
        return known[key]

    # Parts of words

    def _with_substrings(
        self, query: Query, k: int, terms: Sequence[QueryTerm], by_words: Mapping[str, float]
    ) -> dict[str, float]:
        bonus: dict[int, float] = {}
        ids: dict[int, str] = {}
        for term in terms:
            if term.found or len(term.word) < MIN_SUBSTRING or CJK.search(term.word):
                continue
            inside = self._inside(query, term.word)
            ids |= inside
            for place in inside:
                bonus[place] = bonus.get(place, 0.0) + SUBSTRING_WEIGHT * term.idf
        scores = self._scores(ids, [term for term in terms if term.found])
        merged = {**by_words, **{id: scores.get(place, 0.0) + bonus[place] for place, id in ids.items()}}
        return dict(sorted(merged.items(), key=lambda found: (-found[1], found[0]))[:k])

    def _inside(self, query: Query, word: str) -> dict[int, str]:
        """Return the newest items that contain the word inside a longer word, as a mapping from positions to ids."""
        runs = runs_with(self._db, word)
        if not runs:
            return {}
        places = {place & ROW: place for place in self._having(query, runs)}
        condition, parameters = rows.where(query)
        found = self._db.execute(
            f"SELECT rowid, payload FROM memory NOT INDEXED WHERE rowid IN (SELECT value FROM json_each(?)) AND {condition}"
            " ORDER BY created_at DESC, id LIMIT ?",
            (_json(places), *parameters, _MAX_SUBSTRING_HITS),
        )
        # Words with the same stem matched as well. Checking the whole payload first is faster than checking its parts.
        items = ((places[rowid], rows.from_payload(payload)) for rowid, payload in found if word in payload.casefold())
        return {place: item.id for place, item in items if word in searchable(item).casefold()}

    def _having(self, query: Query, words: Sequence[str]) -> list[int]:
        """Return the positions of rows in the query's project that contain one of the words."""
        match = " OR ".join(map(phrase, words))
        sql = "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
        return [place for first, last in ranges(self._db, query) for (place,) in self._db.execute(sql, (match, first, last))]

    def _scores(self, places: Iterable[int], terms: Sequence[QueryTerm]) -> dict[int, float]:
        wanted = list(places)
        if not wanted or not terms:
            return {}
        marks = ", ".join("?" * len(wanted))
        found = self._db.execute(
            f"SELECT rowid, rank FROM words WHERE words MATCH ? AND rowid IN ({marks})", (_match(terms), *wanted)
        )
        return {place: -rank for place, rank in found}

    # Hits

    def _hit(self, item: MemoryItem, score: float, terms: Sequence[QueryTerm]) -> Hit:
        return word_hit(item, score, terms, self._tokens)


def word_hit(item: MemoryItem, score: float, terms: Sequence[QueryTerm], tokens: Callable[[str], list[str]]) -> Hit:
    """Return a hit by words, with its `bm25` and the idf-weighted share of the query's words that it covers."""
    text = searchable(item)
    held = set(tokens(index_text(text)))
    folded = text.casefold()
    weight = covered = 0.0
    for term in terms:
        weight += term.idf
        covered += term.idf * _presence(term, held, folded)
    coverage = min(1.0, covered / weight) if weight else 0.0
    return Hit(item, score, Backend.MARKDOWN, MappingProxyType({"bm25": score, "coverage": coverage}))


def _lasting(query: Query) -> tuple[str, list[Any]]:
    """Return the WHERE condition for the query's project and session, ignoring all other filters."""
    return rows.where(Query(project=query.project, session=query.session, statuses=()))


def _presence(term: QueryTerm, held: set[str], folded: str) -> float:
    if held.issuperset(term.stems) or (is_single_cjk(term.word) and term.word in folded):
        return 1.0
    inside = not term.found and len(term.word) >= MIN_SUBSTRING and term.word in folded
    return SUBSTRING_WEIGHT if inside else 0.0


def affordable(terms: Sequence[QueryTerm]) -> list[QueryTerm]:
    """Return the rarest words that fit the budget of postings, but at least one. `terms` must be sorted by frequency."""
    out: list[QueryTerm] = []
    spent = 0
    for term in terms:
        spent += term.found
        if out and spent > POSTINGS:
            break
        out.append(term)
    return out


def _parts(ranks: Ranks, k: int) -> Iterator[tuple[NDArray[np.intp], bool]]:
    """Yield positions in ascending order of rank, in batches of growing size, each with a flag for whether more follow."""
    order = np.argsort(ranks, kind="stable")
    ends = (0, k + 50, 4 * k + 200, 40 * k + 1_000, len(order))
    for start, end in pairwise(ends):
        if start < len(order):
            yield order[start:end], end < len(order)


def _json(values: Iterable[Any]) -> str:
    return orjson.dumps(list(values)).decode()


def _match(terms: Sequence[QueryTerm]) -> str:
    return " OR ".join(phrase(term.word) for term in terms)


SCHEMA = 5
# These versions differ only in the full-text tables.
VERSIONS_WITHOUT_SHELVES = (1, 2, 3, 4)
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
    """File metadata that shows whether the file has changed."""

    mtime_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """An item with its file: the path relative to the memories folder, the stamp, and the SHA-256 of the content."""

    item: MemoryItem
    path: str
    stamp: Stamp
    hash: str


@dataclass(frozen=True, slots=True)
class IndexedRecord:
    """The index's record of a file. `id` is empty if the file is broken."""

    path: str
    stamp: Stamp
    id: str = ""
    hash: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """An unreadable file. If another file has the same id, `duplicate` is that id."""

    path: str
    stamp: Stamp
    error: BrokenFileError
    duplicate: str = ""


class FullTextIndex:
    """An open index file. Its methods raise IndexDamagedError if the index must be rebuilt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Writes are not durable. A power cut may lose the last rows but never files, and `sync` finds the difference.
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
        self._search = FullTextSearch(self.db)
        self._kept = ScanCache(self.db)

    def _create(self) -> None:
        with self.db.transaction():
            if not self.db.value("SELECT count(*) FROM sqlite_schema"):
                for statement in _CREATE:
                    self.db.execute(statement)
            elif self.db.value("PRAGMA user_version") in VERSIONS_WITHOUT_SHELVES:
                rebuild_shelves(self.db)
                self.db.execute(f"PRAGMA user_version={SCHEMA}")

    def check_schema(self) -> None:
        """Raise IndexDamagedError unless all tables of this version exist."""
        tables = {row[0] for row in self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if self.db.value("PRAGMA user_version") != SCHEMA or not tables >= _TABLES:
            raise IndexDamagedError(f"{self.path} has the format of another version.", fix="The index is rebuilt automatically.")

    def in_place(self) -> bool:
        """Return whether the open file is still the one at the index's path."""
        try:
            return self.path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def scrub(self) -> None:
        """Erase the remains of deleted and replaced texts."""
        self.db.scrub(["words", "grams"])

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    # Counters

    def fact(self, name: str) -> int:
        """Return a counter, or 0 if it is not set."""
        return int(self.db.value("SELECT value FROM meta WHERE name = ?", (name,)) or 0)

    def set_fact(self, name: str, value: int) -> None:
        """Set a counter."""
        self.db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))

    def _touch(self) -> None:
        self.db.execute("INSERT INTO meta (name, value) VALUES ('revision', 1) ON CONFLICT(name) DO UPDATE SET value = value + 1")

    # Changes

    def put(self, entries: Sequence[IndexedFile]) -> None:
        """Add or replace items in one transaction."""
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

    def _put(self, entry: IndexedFile) -> int:
        stamp = entry.stamp
        values = (*rows.to_row(entry.item), entry.path, stamp.mtime_ns, stamp.size, stamp.inode, entry.hash)
        return int(self.db.value(_UPSERT, values))

    def set_stamp(self, path: str, stamp: Stamp) -> None:
        """Record that a file's metadata has changed although its content has not."""
        self.db.execute(
            "UPDATE memory SET mtime_ns = ?, size = ?, inode = ? WHERE path = ?", (stamp.mtime_ns, stamp.size, stamp.inode, path)
        )

    def remove(self, ids: Iterable[str]) -> None:
        """Remove items in one transaction."""
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
        """Remove the record of a broken file."""
        self.db.execute("DELETE FROM broken WHERE path = ?", (path,))

    # Reading

    def broken(self) -> list[tuple[str, int, str, str]]:
        """Return the path, line, problem and fix of each broken file, in order of path."""
        return [
            (row[0], row[1], row[2], row[3])
            for row in self.db.execute("SELECT path, line, problem, fix FROM broken ORDER BY path")
        ]

    def duplicates_of(self, id: str) -> list[str]:
        """Return the paths of files that were set aside because another file has this id."""
        return [row[0] for row in self.db.execute("SELECT path FROM broken WHERE duplicate = ? ORDER BY path", (id,))]

    def known(self, under: str = "") -> dict[str, IndexedRecord]:
        """Return the records of the file, or of all files in the folder, at this relative path. An empty path means all files."""
        condition, parameters = (
            ("1", ()) if not under else ("path = ? OR (path > ? AND path < ?)", (under, f"{under}/", f"{under}0"))
        )
        found = self.db.execute(f"SELECT path, mtime_ns, size, inode FROM broken WHERE {condition}", parameters)
        found += self.db.execute(f"SELECT path, mtime_ns, size, inode, id, hash FROM memory WHERE {condition}", parameters)
        return {row[0]: IndexedRecord(row[0], Stamp(*row[1:4]), *row[4:]) for row in found}

    def known_of(self, paths: Sequence[str]) -> dict[str, IndexedRecord]:
        """Return the records of these files. Pass at most a thousand."""
        marks = ", ".join("?" * len(paths))
        found = self.db.execute(f"SELECT path, mtime_ns, size, inode FROM broken WHERE path IN ({marks})", paths)
        found += self.db.execute(f"SELECT path, mtime_ns, size, inode, id, hash FROM memory WHERE path IN ({marks})", paths)
        return {row[0]: IndexedRecord(row[0], Stamp(*row[1:4]), *row[4:]) for row in found}

    def digest_of(self, id: str) -> str | None:
        """Return the digest of an item, or None if the item does not exist."""
        value = self.db.value("SELECT digest FROM memory WHERE id = ?", (id,))
        return None if value is None else str(value)

    def file_of(self, id: str) -> IndexedRecord | None:
        """Return the record of an item's file."""
        for row in self.db.execute("SELECT path, mtime_ns, size, inode, id, hash FROM memory WHERE id = ?", (id,)):
            return IndexedRecord(row[0], Stamp(*row[1:4]), *row[4:])
        return None

    def get(self, id: str) -> MemoryItem | None:
        """Return the item, or None if it does not exist."""
        return self.fetch([id]).get(id)

    def fetch(self, ids: Sequence[str], query: Query | None = None) -> dict[str, MemoryItem]:
        """Return the items that exist and pass the query's filters, by id."""
        condition, parameters = rows.where(query, "m") if query else ("1", [])
        out: dict[str, MemoryItem] = {}
        for start in range(0, len(ids), _PAGE):
            # CROSS JOIN keeps this join order. Otherwise, SQLite would scan all memories with the status.
            found = self.db.execute(
                "SELECT m.id, m.payload FROM json_each(?) AS wanted CROSS JOIN memory AS m ON m.id = wanted.value"
                f" WHERE {condition}",
                (orjson.dumps(list(ids[start : start + _PAGE])).decode(), *parameters),
            )
            out |= {id: rows.from_payload(payload) for id, payload in found}
        return out

    def page_after(self, id: str) -> list[MemoryItem]:
        """Return the next page of items, ordered by id."""
        found = self.db.execute("SELECT payload FROM memory WHERE id > ? ORDER BY id LIMIT ?", (id, _PAGE))
        return [rows.from_payload(row[0]) for row in found]

    def digests(self) -> dict[str, str]:
        """Return the digest of each item, by id."""
        return dict(self.db.execute("SELECT id, digest FROM memory"))

    def count(self, query: Query) -> int:
        """Return the number of items that pass the query's filters. The query's text is ignored."""
        return self._kept.answer(count_of, query)

    def tally(self, query: Query) -> list[tuple[str, str, int]]:
        """Return (kind, status, count) of the items that pass the query's filters."""
        return self._kept.answer(tally_of, query)

    def active_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the text of every active item."""
        last = ""
        while found := self.db.execute(_ACTIVE_PAGE, (last, _PAGE)):
            yield from ((path, searchable(rows.from_payload(payload))) for path, payload in found)
            last = found[-1][0]

    def search(self, query: Query, k: int) -> list[Hit]:
        """Search the index (see FullTextSearch)."""
        return self._search.search(query, k)

    def scores(self, query: Query, k: int) -> dict[str, float]:
        """Return only ids and scores (see FullTextSearch)."""
        return self._search.scores(query, k)

    def holds(self, query: Query) -> bool:
        """Return whether any item can match (see FullTextSearch)."""
        return self._search.holds(query)

    def document_frequency(self, word: str) -> int:
        """Return the number of items that contain the word (see FullTextSearch)."""
        return self._search.document_frequency(word)

    def size(self) -> int:
        """Return the number of indexed items."""
        return self._search.size()


# Listing: pages and counts without a search.
#
# A page starts at the key of the previous page's last item, so the thousandth page is as fast as the first. Filters use a
# covering index, newest first, and rows with their long texts are read for the page only. For 100,000 memories that takes a tenth
# of the time, at a cost of 11 MB.

# Columns used by `rows.where`, in the same spelling.
_FILTERED = "status, project, scope, kind, session, expired_at, valid_from, valid_to, tags, payload ->> 'source'"
BROWSE_INDEX = f"CREATE INDEX IF NOT EXISTS memory_browse ON memory(created_at DESC, id, {_FILTERED})"
ANSWERS_KEPT = 64
T = TypeVar("T")
_INDEXED = "memory INDEXED BY memory_browse"
# A session has few memories, so they are looked up individually.
_OF_SESSION = "memory INDEXED BY memory_session"


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Position of an item in the list of all items, newest first. Items with equal times are ordered by id."""

    created_at: datetime
    id: str

    def to_text(self) -> str:
        """Format the position for a URL or a command line."""
        return f"{to_iso(self.created_at)}/{self.id}"


def key_of(item: MemoryItem) -> ListPosition:
    """Return the key of the item."""
    return ListPosition(item.created_at, item.id)


def parse_key(text: str) -> ListPosition:
    """Parse the output of `to_text`.

    Raises:
        InputError: The text is not a key.
    """
    moment, _, id = text.partition("/")
    try:
        if id:
            return ListPosition(from_iso(moment), id)
    except InputError:
        pass  # Not a time: the same error as for any other text.
    raise InputError(f"'{text}' is not a position in the list.", fix="Use the value of `next` from the previous page.")


def _table(query: Query) -> str:
    return _INDEXED if query.session is None else _OF_SESSION


def page_of(db: Database, query: Query, k: int, after: ListPosition | None) -> list[MemoryItem]:
    """Return up to k items that pass the filters, newest first, starting after the key `after`."""
    condition, parameters = rows.where(query)
    if after is not None:
        condition += " AND created_at <= ? AND (created_at < ? OR id > ?)"
        seconds = rows.seconds(after.created_at)
        parameters = [*parameters, seconds, seconds, after.id]
    chosen = f"SELECT rowid FROM {_table(query)} WHERE {condition} ORDER BY created_at DESC, id LIMIT ?"
    sql = f"SELECT payload FROM memory WHERE rowid IN ({chosen}) ORDER BY created_at DESC, id"
    return [rows.from_payload(row[0]) for row in db.execute(sql, (*parameters, k))]


def count_of(db: Database, query: Query) -> int:
    """Return the number of items that pass the filters."""
    condition, parameters = rows.where(query)
    return int(db.value(f"SELECT count(*) FROM {_table(query)} WHERE {condition}", parameters))


class ScanCache:
    """Cache of answers that require a scan of all rows. They are kept until the index changes."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: tuple[tuple[int, int], dict[object, Any]] = ((-1, -1), {})

    def answer(self, ask: Callable[[Database, Query], T], query: Query) -> T:
        """Return the answer of `ask` to a query. Queries with a `now` are not cached, because each one is different."""
        if query.now is not None:
            return ask(self._db, query)
        version, known = self._known
        if (now := self._db.version()) != version or len(known) >= ANSWERS_KEPT:
            known = {}
            self._known = (now, known)
        key = (ask, repr(rows.where(query)))
        if key not in known:
            known[key] = ask(self._db, query)
        answer: T = known[key]
        return answer


def tally_of(db: Database, query: Query) -> list[tuple[str, str, int]]:
    """Return (kind, status, count) of the items that pass the filters."""
    condition, parameters = rows.where(query)
    sql = f"SELECT kind, status, count(*) FROM {_table(query)} WHERE {condition} GROUP BY kind, status"
    return [(row[0], row[1], int(row[2])) for row in db.execute(sql, parameters)]


def checked_of(db: Database) -> list[MemoryItem]:
    """Return the items that have a check."""
    found = db.execute("SELECT payload FROM memory WHERE payload LIKE '%\"check\":{\"%' AND payload ->> 'check' IS NOT NULL")
    return [rows.from_payload(payload) for (payload,) in found]


def projects_of(db: Database) -> dict[str, int]:
    """Return the number of items per project, whatever their status."""
    return {project: int(number) for project, number in db.execute("SELECT project, count(*) FROM memory GROUP BY project")}


def span_of(db: Database) -> tuple[datetime | None, datetime | None]:
    """Return the creation times of the oldest and the newest item, or None if there are no items."""
    ends = [db.value(f"SELECT {end}(created_at) FROM memory") for end in ("min", "max")]
    first, last = (None if seconds is None else datetime.fromtimestamp(seconds, UTC) for seconds in ends)
    return first, last
