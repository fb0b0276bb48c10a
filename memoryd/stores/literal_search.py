"""Literal recall over the index: BM25 by FTS5, with the share of the query that each hit covers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import orjson

from memoryd import rows
from memoryd.db import Database, Row
from memoryd.stores.terms import MIN_SUBSTRING, grams, index_text, is_single_cjk, phrase, query_words, searchable
from memoryd.text import CJK
from memoryd.types import Backend, Hit, MemoryItem, Query

# Postings that one query may rank: it bounds the time (about 1 ms per 1,000) in a large store.
POSTINGS = 20_000
# A part of a word says less than the word.
SUBSTRING_WEIGHT = 0.5
_MAX_SUBSTRING_HITS = 200
COUNTS_KEPT = 5_000


@dataclass(frozen=True, slots=True)
class _Term:
    """A query word. `stems` are its tokens in the index, `found` the number of items with it, `idf` its weight."""

    word: str
    stems: tuple[str, ...]
    found: int
    idf: float


@dataclass(frozen=True, slots=True)
class _Match:
    item: MemoryItem
    score: float


def inverse_frequency(total: int, found: int) -> float:
    """BM25's idf in the form that is never negative (Lucene): ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


class LiteralSearch:
    """Queries on an open literal index."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._counts: tuple[tuple[int, int], dict[str, int]] = ((-1, -1), {})
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
        best = self._with_substrings(query, k, terms, self._by_words(query, k, terms))
        return [self._hit(match, terms) for match in best]

    def _newest(self, query: Query, k: int) -> list[Hit]:
        condition, parameters = rows.where(query)
        # Without the hint SQLite sorts every active item.
        hint = "" if query.session is not None else "INDEXED BY memory_created_at"
        found = self._db.execute(
            f"SELECT payload FROM memory {hint} WHERE {condition} ORDER BY created_at DESC, id LIMIT ?", (*parameters, k)
        )
        return [Hit(rows.from_payload(row[0]), 0.0, Backend.MARKDOWN) for row in found]

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

    def _by_words(self, query: Query, k: int, terms: Sequence[_Term]) -> list[_Match]:
        indexed = sorted((term for term in terms if term.found), key=lambda term: (term.found, term.word))
        chosen = _affordable(indexed)
        found = self._ranked(query, k, chosen)
        if len(found) < k and len(chosen) < len(indexed):
            return self._ranked(query, k, indexed)
        return found

    def _ranked(self, query: Query, k: int, terms: Sequence[_Term]) -> list[_Match]:
        """The k best: from the top of the ranking when filters and ties can't change them, else from all of it."""
        if not terms:
            return []
        first, most = 4 * k + 50, 40 * k + 1_000
        ranking = self._db.execute(
            "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (_match(terms), most)
        )
        found: list[tuple[float, str, int]] = []
        for part, whole in ((ranking[:first], len(ranking) <= first), (ranking[first:], len(ranking) < most)):
            found = sorted(found + self._passing(query, part))
            if whole or (len(found) >= k and found[k - 1][0] < part[-1][1]):
                return self._matches(found[:k])
        condition, parameters = rows.where(query, "m")
        every = self._db.execute(
            "SELECT words.rank, m.payload FROM words JOIN memory AS m ON m.rowid = words.rowid"
            f" WHERE words MATCH ? AND {condition} ORDER BY words.rank, m.id LIMIT ?",
            (_match(terms), *parameters, k),
        )
        return [_Match(rows.from_payload(payload), -rank) for rank, payload in every]

    def _passing(self, query: Query, ranking: Sequence[Row]) -> list[tuple[float, str, int]]:
        """(rank, id, rowid) of what passes the filters. FTS5 ranks are negative: less is better."""
        condition, parameters = rows.where(query)
        ranks: dict[int, float] = dict(ranking)
        passing = self._db.execute(
            f"SELECT id, rowid FROM memory NOT INDEXED WHERE rowid IN (SELECT value FROM json_each(?)) AND {condition}",
            (_json(ranks), *parameters),
        )
        return [(ranks[rowid], id, rowid) for id, rowid in passing]

    def _matches(self, found: Sequence[tuple[float, str, int]]) -> list[_Match]:
        payloads: dict[int, str] = dict(
            self._db.execute(
                "SELECT rowid, payload FROM memory NOT INDEXED WHERE rowid IN (SELECT value FROM json_each(?))",
                (_json([rowid for _, _, rowid in found]),),
            )
        )
        return [_Match(rows.from_payload(payloads[rowid]), -rank) for rank, _, rowid in found if rowid in payloads]

    # Parts of words

    def _with_substrings(self, query: Query, k: int, terms: Sequence[_Term], by_words: list[_Match]) -> list[_Match]:
        merged = {match.item.id: match for match in by_words}
        bonus: dict[int, float] = {}
        items: dict[int, MemoryItem] = {}
        for term in terms:
            if term.found or len(term.word) < MIN_SUBSTRING or CJK.search(term.word):
                continue
            inside = self._inside(query, term.word)
            items |= inside
            for rowid in inside:
                bonus[rowid] = bonus.get(rowid, 0.0) + SUBSTRING_WEIGHT * term.idf
        scores = self._scores(items, [term for term in terms if term.found])
        for rowid, item in items.items():
            merged[item.id] = _Match(item, scores.get(rowid, 0.0) + bonus[rowid])
        return sorted(merged.values(), key=lambda match: (-match.score, match.item.id))[:k]

    def _inside(self, query: Query, word: str) -> dict[int, MemoryItem]:
        """Items in which the word is part of a longer one, the newest of them."""
        condition, parameters = rows.where(query, "m")
        found = self._db.execute(
            f"SELECT m.rowid, m.payload FROM grams JOIN memory AS m ON m.rowid = grams.rowid WHERE grams MATCH ? AND {condition}"
            " ORDER BY m.created_at DESC, m.id LIMIT ?",
            (grams(word), *parameters, _MAX_SUBSTRING_HITS),
        )
        items = ((rowid, rows.from_payload(payload)) for rowid, payload in found)
        return {rowid: item for rowid, item in items if word in searchable(item).casefold()}

    def _scores(self, rowids: Iterable[int], terms: Sequence[_Term]) -> dict[int, float]:
        wanted = list(rowids)
        if not wanted or not terms:
            return {}
        marks = ", ".join("?" * len(wanted))
        found = self._db.execute(
            f"SELECT rowid, rank FROM words WHERE words MATCH ? AND rowid IN ({marks})", (_match(terms), *wanted)
        )
        return {rowid: -rank for rowid, rank in found}

    # Hits

    def _hit(self, match: _Match, terms: Sequence[_Term]) -> Hit:
        parts = {"bm25": match.score, "coverage": self._coverage(match.item, terms)}
        return Hit(match.item, match.score, Backend.MARKDOWN, MappingProxyType(parts))

    def _coverage(self, item: MemoryItem, terms: Sequence[_Term]) -> float:
        text = searchable(item)
        held = set(self._tokens(index_text(text)))
        folded = text.casefold()
        weight = covered = 0.0
        for term in terms:
            weight += term.idf
            covered += term.idf * _presence(term, held, folded)
        return min(1.0, covered / weight) if weight else 0.0


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


def _json(values: Iterable[int]) -> str:
    return orjson.dumps(list(values)).decode()


def _match(terms: Sequence[_Term]) -> str:
    return " OR ".join(phrase(term.word) for term in terms)
