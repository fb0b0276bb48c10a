"""Literal recall over the index: BM25 by FTS5, with the share of the query that each hit covers.

FTS5 ranks all that has a word of the query, in one project those of its shelf; its own ORDER BY would cost as much again.
The filters are checked from the top of that ranking downwards.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd import rows
from memoryd.db import Database
from memoryd.stores.browse import page_of
from memoryd.stores.full_text import ROW, ranges, runs_with
from memoryd.stores.terms import MIN_SUBSTRING, index_text, is_single_cjk, phrase, query_words, searchable
from memoryd.text import CJK
from memoryd.types import Backend, Hit, MemoryItem, Query, Scope, Status

# Postings that one query may rank: it bounds the time (about 1 ms per 1,000) in a large store.
POSTINGS = 20_000
# A part of a word says less than the word.
SUBSTRING_WEIGHT = 0.5
_MAX_SUBSTRING_HITS = 200
COUNTS_KEPT = 5_000
FILTERS_KEPT = 16
# Rows that are looked up one by one rather than found on a walk through all.
FEW = 2_000
# `rows.where` asks for a project's memories and for the user's: with this index both are found without a look at the others.
USER_INDEX = f"CREATE INDEX IF NOT EXISTS memory_user ON memory(scope) WHERE scope = '{Scope.USER}'"
Rows = NDArray[np.int64]
Ranks = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Term:
    """A query word. `stems` are its tokens in the index, `found` the number of items with it, `idf` its weight."""

    word: str
    stems: tuple[str, ...]
    found: int
    idf: float


def inverse_frequency(total: int, found: int) -> float:
    """BM25's idf in the form that is never negative (Lucene): ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


class LiteralSearch:
    """Queries on an open literal index."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._counts: tuple[tuple[int, int], dict[str, int]] = ((-1, -1), {})
        self._places: tuple[tuple[int, int], OrderedDict[str, Rows]] = ((-1, -1), OrderedDict())
        self._tokens = db.tokenizer("porter", "unicode61", "remove_diacritics", "2")

    def search(self, query: Query, k: int) -> list[Hit]:
        """At most k hits by score, then id; the newest items for a query without text.

        `score` is the negated BM25 of FTS5 (k1 = 1.2, b = 0.75) over the words that are indexed, plus a
        smaller sum for words that only occur inside others. `parts["coverage"]` is the share, by idf, of
        the query's words that the item holds.
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
        """Ids and scores of what `search` finds for a text, in its order, without the items."""
        return self._best(query, k, self._terms(query.text)) if k > 0 else {}

    def holds(self, query: Query) -> bool:
        """False when nothing can pass the filters, whatever the text: a project without memories."""
        if query.project is None and query.session is None:
            return True
        condition, parameters = _lasting(query)
        return self._db.value(f"SELECT 1 FROM memory WHERE {condition} LIMIT 1", parameters) is not None

    def _best(self, query: Query, k: int, terms: Sequence[_Term]) -> dict[str, float]:
        return self._with_substrings(query, k, terms, self._by_words(query, k, terms)) if self.holds(query) else {}

    def _items(self, ids: Sequence[str]) -> dict[str, MemoryItem]:
        found = self._db.execute(
            "SELECT m.id, m.payload FROM json_each(?) AS wanted CROSS JOIN memory AS m ON m.id = wanted.value", (_json(ids),)
        )
        return {id: rows.from_payload(payload) for id, payload in found}

    def _newest(self, query: Query, k: int) -> list[Hit]:
        """The newest that pass: of few rows all are looked at, of many those that are newest."""
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

    def _terms(self, text: str) -> list[_Term]:
        total = self.size()
        out: dict[tuple[str, ...], _Term] = {}
        for word in query_words(text):
            stems = tuple(self._tokens(word))
            if stems and stems not in out:
                found = self._frequency(word, stems)
                out[stems] = _Term(word, stems, found, inverse_frequency(total, min(found, total)))
        return list(out.values())

    def document_frequency(self, word: str) -> int:
        """In how many items the word occurs, by its stem."""
        stems = self._tokens(word)
        return self._frequency(word, stems) if stems else 0

    def size(self) -> int:
        """How many items are indexed."""
        return self._count("", "SELECT count(*) FROM memory", ())

    def _frequency(self, word: str, stems: Sequence[str]) -> int:
        if len(stems) == 1 and not is_single_cjk(word):
            return self._count(word, "SELECT doc FROM vocabulary WHERE term = ?", (stems[0],))
        return self._count(word, "SELECT count(*) FROM words WHERE words MATCH ?", (phrase(word),))

    def _count(self, key: str, sql: str, parameters: tuple[str, ...]) -> int:
        """A number that is kept until the index changes: one query asks for it several times."""
        version, known = self._counts
        if (now := self._db.version()) != version or len(known) > COUNTS_KEPT:
            known = {}
            self._counts = (now, known)
        if key not in known:
            known[key] = int(self._db.value(sql, parameters) or 0)
        return known[key]

    def _by_words(self, query: Query, k: int, terms: Sequence[_Term]) -> dict[str, float]:
        indexed = sorted((term for term in terms if term.found), key=lambda term: (term.found, term.word))
        chosen = _affordable(indexed)
        found = self._ranked(query, k, chosen)
        if len(found) < k and len(chosen) < len(indexed):
            return self._ranked(query, k, indexed)
        return found

    def _ranked(self, query: Query, k: int, terms: Sequence[_Term]) -> dict[str, float]:
        """Ids and scores of the k best, in order: from the top of the ranking when filters and ties can't change them."""
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

    def _ranking(self, query: Query, terms: Sequence[_Term]) -> tuple[Rows, Ranks]:
        """Places and ranks of all that has one of the words and stands where the query's project allows, in no order."""
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
        """(rank, id) of what passes the filters. FTS5 ranks are negative: less is better."""
        condition, parameters = rows.where(query)
        passing = self._db.execute(
            f"SELECT id, rowid FROM memory NOT INDEXED WHERE rowid IN (SELECT value FROM json_each(?)) AND {condition}",
            (_json(ranks), *parameters),
        )
        return [(ranks[rowid], id) for id, rowid in passing]

    def _within(self, query: Query) -> Rows | None:
        """Rows of the query's project and session, kept until the index changes; None when it names neither."""
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

    def _with_substrings(self, query: Query, k: int, terms: Sequence[_Term], by_words: Mapping[str, float]) -> dict[str, float]:
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
        """Items in which the word is part of a longer one, the newest of them: id by place."""
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
        # Words of the same stem were found, too: the whole text of the row tells so sooner than its parts.
        items = ((places[rowid], rows.from_payload(payload)) for rowid, payload in found if word in payload.casefold())
        return {place: item.id for place, item in items if word in searchable(item).casefold()}

    def _having(self, query: Query, words: Sequence[str]) -> list[int]:
        """Places of all that has one of the words and stands where the query's project allows."""
        match = " OR ".join(map(phrase, words))
        sql = "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
        return [place for first, last in ranges(self._db, query) for (place,) in self._db.execute(sql, (match, first, last))]

    def _scores(self, places: Iterable[int], terms: Sequence[_Term]) -> dict[int, float]:
        wanted = list(places)
        if not wanted or not terms:
            return {}
        marks = ", ".join("?" * len(wanted))
        found = self._db.execute(
            f"SELECT rowid, rank FROM words WHERE words MATCH ? AND rowid IN ({marks})", (_match(terms), *wanted)
        )
        return {place: -rank for place, rank in found}

    # Hits

    def _hit(self, item: MemoryItem, score: float, terms: Sequence[_Term]) -> Hit:
        parts = {"bm25": score, "coverage": self._coverage(item, terms)}
        return Hit(item, score, Backend.MARKDOWN, MappingProxyType(parts))

    def _coverage(self, item: MemoryItem, terms: Sequence[_Term]) -> float:
        text = searchable(item)
        held = set(self._tokens(index_text(text)))
        folded = text.casefold()
        weight = covered = 0.0
        for term in terms:
            weight += term.idf
            covered += term.idf * _presence(term, held, folded)
        return min(1.0, covered / weight) if weight else 0.0


def _lasting(query: Query) -> tuple[str, list[Any]]:
    """The condition for the query's project and session alone."""
    return rows.where(Query(project=query.project, session=query.session, statuses=()))


def _presence(term: _Term, held: set[str], folded: str) -> float:
    if held.issuperset(term.stems) or (is_single_cjk(term.word) and term.word in folded):
        return 1.0
    inside = not term.found and len(term.word) >= MIN_SUBSTRING and term.word in folded
    return SUBSTRING_WEIGHT if inside else 0.0


def _affordable(terms: Sequence[_Term]) -> list[_Term]:
    """The rarest words whose postings fit the budget, at least one; `terms` come with the rarest first."""
    out: list[_Term] = []
    spent = 0
    for term in terms:
        spent += term.found
        if out and spent > POSTINGS:
            break
        out.append(term)
    return out


def _parts(ranks: Ranks, k: int) -> Iterator[tuple[NDArray[np.intp], bool]]:
    """Places of the ranks in growing order, in parts of growing size; with each whether others follow."""
    order = np.argsort(ranks, kind="stable")
    ends = (0, k + 50, 4 * k + 200, 40 * k + 1_000, len(order))
    for start, end in pairwise(ends):
        if start < len(order):
            yield order[start:end], end < len(order)


def _json(values: Iterable[Any]) -> str:
    return orjson.dumps(list(values)).decode()


def _match(terms: Sequence[_Term]) -> str:
    return " OR ".join(phrase(term.word) for term in terms)
