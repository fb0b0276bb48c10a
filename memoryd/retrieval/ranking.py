"""Search ranking: a query's route selects candidates, every index adds signals, and each hit gets one explained score.

Candidates are ordered by the z-score sum of all signals (docs/design/router.md), squashed to 0..1 and combined with recency.
`Hit.relevancy` is the calibrated estimate that recall compares with its floor. With `rank = maxsim`, late interaction orders the
candidates instead (docs/design/late-interaction.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import Protocol

from memoryd.core.config import Settings
from memoryd.core.protocols import FloatArray
from memoryd.core.text import words
from memoryd.core.types import CONFIRMED_TAG, Backend, Hit, MemoryItem, Query, Route, Source, Status
from memoryd.language.gloss import gloss, is_readable
from memoryd.language.stems import is_foreign
from memoryd.language.times import Span, asked_event, asked_span, asks_past, span_around
from memoryd.retrieval import (
    KeyMatch,
    KeyMatcher,
    LateWeights,
    LearnedRouter,
    Overlap,
    QueryTime,
    RelevanceModel,
    ScoreWeights,
    Sense,
    asked_kinds,
    asked_listing,
    fuse,
    item_terms,
    late_features,
    late_scores,
    load_late_weights,
    load_model,
    load_router,
    overlap_of,
    route,
    score_hit,
    sense_weights,
    signals_of,
    term_weights,
    total_score,
    word_weight,
)
from memoryd.stores.fulltext import keys_of, searchable
from memoryd.stores.prefetch import WorkerThread
from memoryd.stores.vector import QueryCosines

CANDIDATES = 100
# Z-score sums grow with the number of candidates. Unscaled, they would all saturate at 1, and only recency would decide.
SQUASH = 4.0
# The late score is a weighted mean of z-scores plus bonuses, which spreads over 0..1 without scaling.
LATE_SQUASH = 1.0
# Minimum share of candidates with token vectors. If fewer had them, they would rank first for that reason alone.
ENCODED = 0.5
# A statement less relevant than this without its keys is unrelated to the query, whatever its keys are.
KEY_ALONE = 0.25
# Share of a query's term weights from which on it is worded like a statement that contains them.
NAMED = 0.99
# A user's memory with at least this relevancy answers the query. The value is recall's floor (see relevance.py).
ANSWERS = 0.5
# Number of additional hits to search for a memory of the user if other hits are relevant only through their keys.
EXTRA_BEHIND_BORROWED = 8
# The rule that routes a query to the graph because of its wording.
WORDED = "relationship_words"
# Share of an event's words that a memory must contain to determine the event's date.
EVENT_WORDS_SHARE = 0.6
_LISTED = Route(Backend.MARKDOWN, "listing", "it asks for everything of a kind or time, without a subject")
_FALLBACK = "the first route found nothing, so words and meaning were combined"


class WordSearch(Protocol):
    """Search by words."""

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Return hits by words, or the newest items for a query without text."""
        ...

    def scores(self, query: Query, k: int) -> Mapping[str, float]:
        """Return the BM25 scores of the k best items by id, best first."""
        ...

    def holds(self, query: Query) -> bool:
        """Return False if no item can pass the query's filters."""
        ...

    def fetch(self, ids: Sequence[str], query: Query | None = None) -> Mapping[str, MemoryItem]:
        """Return the items that still exist and pass the filters."""
        ...

    def document_frequency(self, word: str) -> int:
        """Return the number of items that contain the word."""
        ...

    def size(self) -> int:
        """Return the number of items."""
        ...


class MeaningSearch(Protocol):
    """Search by meaning."""

    def scores(self, query: Query, k: int) -> Mapping[str, float]:
        """Return the cosines of the k nearest items by id, nearest first."""
        ...

    def score(self, text: str, ids: Sequence[str]) -> Mapping[str, float]:
        """Return the cosine of each item that has a vector."""
        ...

    def compare(self, text: str, ids: Sequence[str]) -> Mapping[str, QueryCosines]:
        """Return the cosines with the statement and with the keys, for each item that has a vector."""
        ...

    def query_vector(self, text: str) -> FloatArray:
        """Return the unit vector of a query, cached for later searches."""
        ...

    def prepare(self, text: str) -> None:
        """Start embedding a query before its search."""
        ...


class Tokens(Protocol):
    """Late interaction: token matches of given items, and the items' neighbours."""

    def matches(self, text: str, ids: Sequence[str], weight: Callable[[str], float]) -> Mapping[str, FloatArray]:
        """Return the contribution of each query token, for each item that has token vectors."""
        ...

    def prepare(self, text: str) -> None:
        """Start encoding a query before `matches`."""
        ...

    def linked(self) -> bool:
        """Return whether any item has neighbours."""
        ...

    def neighbours(self, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """Return the ids of each item's previous and next items. An id is empty if there is no such item."""
        ...


GraphSearch = Callable[[Query, int], list[Hit]]
Lists = dict[Backend, Mapping[str, float]]
Near = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class CandidateSources:
    """Sources of candidates. `meaning` is None without an embedder, and `tokens` is None without late interaction."""

    words: WordSearch
    meaning: MeaningSearch | None
    graph: GraphSearch
    tokens: Tokens | None = None


class Ranker:
    """Searches along the route of a query and scores the results.

    The relevance estimate is fitted to the cosines of one embedder. Those of other embedders only order the hits.
    """

    def __init__(
        self, settings: Settings, embedder: str = "", model: RelevanceModel | None = None, late: LateWeights | None = None
    ) -> None:
        self._weights = ScoreWeights(settings.weight_recency, settings.weight_relevancy, settings.recency_days)
        self._model = model or load_model()
        self._judges_cosine = self._model.knows(embedder)
        self._late = late or (load_late_weights() if settings.rank == "maxsim" else None)
        self._router_file, self._embedder = settings.paths.router, embedder
        self._near, self._matching = WorkerThread("search-meaning"), WorkerThread("match-tokens")
        self.reload_router()

    def close(self) -> None:
        """Stop the worker threads."""
        self._near.close()
        self._matching.close()

    def reload_router(self) -> None:
        """Reload the learned router if a usable one exists. `router` explains the choice."""
        self.router = load_router(self._router_file, self._embedder)

    def search(self, query: Query, k: int, sources: CandidateSources) -> tuple[Route, list[Hit]]:
        """Return the route and up to k hits in their final order."""
        chosen = self._route(query, sources)
        if k <= 0:
            return chosen, []
        if not query.text.strip():
            return chosen, sources.words.search(query, k)
        if not sources.words.holds(query):
            return chosen, []
        if query.backend is None and (listed := self._list(query, k, sources)):
            return _LISTED, listed
        english = gloss(query.text) if self._judges_cosine else ""
        if sources.meaning is not None and chosen.backend is Backend.HYBRID:
            for text in _read_as(query.text, english):
                sources.meaning.prepare(text)  # Runs while the word search looks up candidates.
        query, time = _in_time(query, sources)
        search = _Search(query, sources, time, self._matching, english, chosen.backend is Backend.MARKDOWN)
        lists = self._candidates(search, chosen.backend, max(CANDIDATES, k))
        if chosen.rule == WORDED:  # A query with such wording may also ask for a fact.
            lists |= self._candidates(search, Backend.HYBRID, max(CANDIDATES, k))
        if not any(lists.values()) and chosen.backend is not Backend.HYBRID:
            chosen = Route(Backend.HYBRID, "fallback", _FALLBACK)
            lists = self._candidates(search, Backend.HYBRID, max(CANDIDATES, k))
        return chosen, self._rank(search, lists, chosen.backend, k)

    def _list(self, query: Query, k: int, sources: CandidateSources) -> list[Hit]:
        """Return the newest memories of the requested kinds and time if the query asks for nothing else."""
        now = query.now or datetime.now(UTC)
        listing = asked_listing(query.text, now)
        if listing is None or (query.kinds and listing.kinds):
            return []
        wanted = replace(query, text="", kinds=query.kinds or listing.kinds)
        if listing.span is not None and query.created_after is None and query.created_before is None:
            wanted = replace(wanted, created_after=listing.span[0], created_before=listing.span[1])
        found = sources.words.search(wanted, k)
        hits = [score_hit(replace(hit, relevancy=1.0), now, self._weights, listing.kinds) for hit in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.item.id))

    def _route(self, query: Query, sources: CandidateSources) -> Route:
        by_rules = route(query)
        if self.router.model is None or sources.meaning is None:
            return by_rules
        return LearnedRouter(self.router.model, sources.meaning.query_vector)(query)

    def _candidates(self, search: _Search, backend: Backend, n: int) -> Lists:
        """Return the candidates of each index.

        The search by meaning runs in another thread, in parallel with the search by words.
        """
        query, sources = search.query, search.sources
        if backend is Backend.GRAPH:
            return {Backend.GRAPH: {hit.item.id: hit.score for hit in sources.graph(query, n)}}
        meaning = sources.meaning if backend is not Backend.MARKDOWN else None
        if meaning is None:
            return {Backend.MARKDOWN: sources.words.scores(search.worded, n)}
        if backend is Backend.VECTOR:
            return {Backend.VECTOR: meaning.scores(search.meant, n)}
        late = self._late_tokens(search, backend)
        near = self._near.begin(partial(_nearest, search.meant, n, meaning, late, search.spoken))
        by_words = sources.words.scores(search.worded, n)
        if late:
            search.begin_matches(late, list(by_words))
        search.read(by_words)
        return {Backend.MARKDOWN: by_words, Backend.VECTOR: near()}

    def _rank(self, search: _Search, lists: Lists, backend: Backend, k: int) -> list[Hit]:
        query, found = search.query, signals_of(lists)
        if search.time.past:
            search.time = replace(search.time, successors=_take_in_predecessors(found, search.read(found)))
        late = self._late_tokens(search, backend)
        near = _take_in_neighbours(found, late) if late and late.linked() else {}
        # Vectors and graph may be outdated. The Markdown files determine which items exist and pass the filters.
        items = search.items = search.read(found)
        search.signals = {id: row for id, row in found.items() if id in items}
        scores = self._late_scores(search, search.matches(late, found, near), near) if late else {}
        turns = frozenset(id for id, item in items.items() if item.is_turn) if scores else frozenset()
        squash = LATE_SQUASH if scores else SQUASH
        if not scores:
            search.add_cosines(list(items))
            search.add_coverages()
            scores = {fused.id: fused.score for fused in fuse(search.signals)}
        places = {id: 1.0 / (1.0 + math.exp(-score / squash)) for id, score in scores.items()}
        best = self._best(query, items, places, turns, k)
        relevancies = self._judge(search, [hit.item.id for hit in best])
        if self._borrowed(search, [hit.item for hit in best], relevancies):
            more = self._best(query, items, places, turns, k + EXTRA_BEHIND_BORROWED)
            relevancies |= self._judge(search, [hit.item.id for hit in more[k:]])
            borrowed = self._borrowed(search, [hit.item for hit in more], relevancies)
            best = _demote_borrowed(more, relevancies, borrowed)[:k]
        finders = _finders(lists, backend)
        return [replace(hit, backend=finders.get(hit.item.id, backend), relevancy=relevancies[hit.item.id]) for hit in best]

    def _late_tokens(self, search: _Search, backend: Backend) -> Tokens | None:
        late = self._late and backend is Backend.HYBRID and not is_foreign(search.spoken)
        return search.sources.tokens if late else None

    def _best(
        self, query: Query, items: Mapping[str, MemoryItem], places: Mapping[str, float], turns: frozenset[str], k: int
    ) -> list[Hit]:
        """Return the k items with the best final scores."""
        now = query.now or datetime.now(UTC)
        kinds = asked_kinds(query.text)
        # Only statements become stale, not turns of a conversation.
        timeless = replace(self._weights, recency=0.0)
        weights = {id: timeless if id in turns else self._weights for id in places}
        scores = {id: total_score(items[id], places[id], now, weights[id], kinds) for id in places}
        best = sorted(scores, key=lambda id: (-scores[id], id))[:k]
        return [score_hit(Hit(items[id], 0.0, Backend.HYBRID, relevancy=places[id]), now, weights[id], kinds) for id in best]

    def _late_scores(self, search: _Search, matches: Mapping[str, FloatArray], near: Near) -> dict[str, float]:
        """Score the candidates by late interaction. Return nothing if most candidates have no token vectors."""
        if self._late is None or not matches or sum(id in matches for id in search.items) < ENCODED * len(search.items):
            return {}
        if self._late.uses("cosine"):
            search.add_cosines(list(search.items))
        if self._late.uses("coverage"):
            search.add_coverages()
        items = search.items
        rows = late_features(search.query, items, search.signals, matches, near, search.time)
        return late_scores(rows, frozenset(id for id, item in items.items() if item.is_turn), self._late)

    def _judge(self, search: _Search, ids: Sequence[str]) -> dict[str, float]:
        """Return the calibrated relevancy of each of these items."""
        if self._judges_cosine:
            search.add_cosines([id for id in search.items if id in ids or id in search.time.successors.values()])
        wanted = [id for id in dict.fromkeys([*ids, *(search.time.successors.get(id, "") for id in ids)]) if id in search.items]
        by_keys = search.key_matches([id for id in wanted if search.items[id].asked_as], self._judges_cosine)
        alone = self._alone(search, [id for id in by_keys if search.names_statement(id)])
        foreign = is_foreign(search.query.text)
        out = {}
        for id in wanted:
            if id in by_keys:
                out[id] = max(self._model.estimate_by_keys(by_keys[id]), alone.get(id, 0.0))
                continue
            cosine = search.signals[id].get("cosine") if self._judges_cosine else None
            out[id] = self._model.estimate(search.overlap(id), cosine, foreign=foreign)
        # For a question about the past, a superseded statement is as relevant as its successor.
        return {id: max(value, out.get(search.time.successors.get(id, ""), 0.0)) for id, value in out.items()}

    def _borrowed(self, search: _Search, items: Sequence[MemoryItem], relevancies: Mapping[str, float]) -> dict[str, float]:
        """Return the relevancy of the statement alone, for memories that are relevant only because of model-written keys."""
        written = [item.id for item in items if is_keyed_by_model(item) and relevancies[item.id] > KEY_ALONE]
        return {id: value for id, value in self._alone(search, written).items() if value < KEY_ALONE}

    def _alone(self, search: _Search, ids: Sequence[str]) -> dict[str, float]:
        """Return the relevancy of these items without their keys."""
        if not ids:
            return {}
        meaning = search.sources.meaning if self._judges_cosine else None
        near = meaning.compare(search.meant.text, ids) if meaning is not None else {}
        foreign = is_foreign(search.query.text)
        return {
            id: self._model.estimate(search.statement_overlap(id), near[id].statement if id in near else None, foreign=foreign)
            for id in ids
        }


def is_keyed_by_model(item: MemoryItem) -> bool:
    """Return whether the memory has keys and neither the memory nor its keys come from the user."""
    return bool(item.asked_as) and item.source is not Source.USER and not item.pinned and CONFIRMED_TAG not in item.tags


def _demote_borrowed(hits: Sequence[Hit], relevancies: dict[str, float], borrowed: Mapping[str, float]) -> list[Hit]:
    """Rank hits that are relevant only through a model's keys behind all others, if a memory of the user answers the query.

    Such hits get the relevancy of their statement alone. Otherwise, a model could rank any statement above the user's words.
    """
    answers = (hit.item.source is Source.USER and relevancies[hit.item.id] >= ANSWERS for hit in hits)
    if not any(answers):
        return list(hits)
    relevancies |= borrowed
    return sorted(hits, key=lambda hit: hit.item.id in borrowed)


class _Search:
    """State of one search: the `items` that passed the filters, and the `signals` by id, computed as needed."""

    def __init__(
        self,
        query: Query,
        sources: CandidateSources,
        time: QueryTime,
        matching: WorkerThread,
        english: str = "",
        literal: bool = False,
    ) -> None:
        """Create the state.

        `english` is the query's English gloss, for embedders that only support English. `literal` queries consist of keywords,
        names or a quotation.
        """
        self.query, self.sources, self.time = query, sources, time
        self.literal = literal
        self.english = english
        self.read_as = _read_as(query.text, english)
        self.meant = replace(query, text=self.read_as[0])
        self.worded = replace(query, text=f"{query.text} {english}") if english else query
        self.spoken = english or query.text  # Text for late interaction: the English gloss, if there is one.
        self.items: Mapping[str, MemoryItem] = {}
        self.signals: dict[str, dict[str, float]] = {}
        self._matching = matching
        self._begun: tuple[frozenset[str], Callable[[], Mapping[str, FloatArray]]] = (frozenset(), dict)
        self._read: dict[str, MemoryItem | None] = {}
        self._terms: dict[str, float] | None = None
        self._overlaps: dict[str, Overlap] = {}
        self._frequency = cache(sources.words.document_frequency)
        self._size = cache(sources.words.size)

    def add_cosines(self, ids: Sequence[str]) -> None:
        """Add the cosines of items not found by the search by meaning."""
        missing = [id for id in ids if "cosine" not in self.signals[id]]
        if self.sources.meaning is not None and missing:
            for id, cosine in self.sources.meaning.score(self.meant.text, missing).items():
                self.signals[id]["cosine"] = cosine

    def add_coverages(self) -> None:
        """Add the share of the query's terms that each item contains."""
        for id in self.items:
            self.signals[id]["coverage"] = self.overlap(id).coverage

    def overlap(self, id: str) -> Overlap:
        """Return the overlap of the query with the item, including the item's keys."""
        if id not in self._overlaps:
            item = self.items[id]
            self._overlaps[id] = overlap_of(self.terms, item_terms("\n".join((searchable(item), *keys_of(item)))))
        return self._overlaps[id]

    def statement_overlap(self, id: str) -> Overlap:
        """Return the overlap of the query with the item without its keys."""
        return overlap_of(self.terms, item_terms(searchable(self.items[id])))

    def names_statement(self, id: str) -> bool:
        """Return whether the query is worded like the item's statement. If so, the keys must not make it less relevant.

        The weights for keys are fitted on queries in other words than the statement. They would reject a query that consists of
        the statement's own words, such as a single name.
        """
        overlap = self.statement_overlap(id)
        return overlap.coverage >= NAMED or (self.literal and overlap.matches > 0)

    @property
    def terms(self) -> dict[str, float]:
        """Weights of the query's terms."""
        if self._terms is None:
            self._terms = term_weights(self.query.text, self._frequency, self._size())
        return self._terms

    def _senses(self) -> list[Sense]:
        return sense_weights(self.query.text, self._frequency, self._size()) if self.english else []

    def key_matches(self, ids: Sequence[str], by_meaning: bool) -> dict[str, KeyMatch]:
        """Compare the query with the keys of these items. Every item must have keys."""
        if not ids:
            return {}
        matcher = KeyMatcher(self.query.text, self.terms, self._senses())
        meaning = self.sources.meaning if by_meaning else None
        found = {text: meaning.compare(text, ids) for text in self.read_as} if meaning is not None else {}
        own = {} if matcher.foreign else found.get(self.query.text, {})
        english = found.get(self.read_as[-1], {}) if self.read_as[-1] != self.query.text else {}
        out = {}
        for id in ids:
            item = self.items[id]
            cosines, translated = (_readable(of.get(id)) for of in (own, english))
            out[id] = matcher.match(item_terms(searchable(item)), keys_of(item), cosines, translated)
        return out

    def read(self, ids: Collection[str]) -> Mapping[str, MemoryItem]:
        """Return the items that pass the filters. Each item is fetched only once."""
        new = [id for id in ids if id not in self._read]
        found = self.sources.words.fetch(new, self.query) if new else {}
        self._read |= {id: found.get(id) for id in new}
        return {id: item for id in ids if (item := self._read[id]) is not None}

    def begin_matches(self, tokens: Tokens, ids: Sequence[str]) -> None:
        """Start computing the `matches` of these items in another thread."""
        tokens.prepare(self.spoken)
        for word in words(self.spoken):
            self._weight(word)  # Compute them now, because the index will be busy with other candidates.
        self._begun = (frozenset(ids), self._matching.begin(partial(self._match, tokens, ids)))

    def matches(self, tokens: Tokens, found: Collection[str], near: Mapping[str, tuple[str, str]]) -> Mapping[str, FloatArray]:
        """Return the token matches of the candidates and their neighbours."""
        begun, others = self._begun
        rest = sorted({*found, *(other for pair in near.values() for other in pair if other)} - begun)
        quarter = len(rest) // 4  # The other thread is still busy.
        part = self._matching.begin(partial(self._match, tokens, rest[:quarter]))
        return {**self._match(tokens, rest[quarter:]), **others(), **part()}

    def _match(self, tokens: Tokens, ids: Sequence[str]) -> Mapping[str, FloatArray]:
        return tokens.matches(self.spoken, ids, self._weight)

    def _weight(self, word: str) -> float:
        return word_weight(self._size(), self._frequency(word))


def _read_as(text: str, english: str) -> tuple[str, ...]:
    """Return the texts to compare by meaning: the query, its English gloss, or both."""
    if not english:
        return (text,)
    return (english,) if is_foreign(text) else (text, english)


def _readable(closeness: QueryCosines | None) -> tuple[float, ...]:
    """Return the cosines of the keys in languages that the embedder supports."""
    pairs = zip(closeness.texts, closeness.keys, strict=True) if closeness is not None else ()
    return tuple(cosine for key, cosine in pairs if is_readable(key))


def _nearest(query: Query, n: int, meaning: MeaningSearch, late: Tokens | None, spoken: str) -> Mapping[str, float]:
    """Return the nearest items by meaning, then start the token encoder. Two cores can't run both models at once."""
    meaning.query_vector(query.text)
    if late:
        late.prepare(spoken)
    return meaning.scores(query, n)


def _in_time(query: Query, sources: CandidateSources) -> tuple[Query, QueryTime]:
    """Interpret the temporal aspects of the query. A question about the past also searches superseded statements."""
    span = asked_span(query.text, query.now or datetime.now(UTC)) or _span_of_event(query, sources)
    past = asks_past(query.text) and query.as_of is None and query.valid_at is None
    if past and query.statuses in ((Status.ACTIVE,), (Status.ACTIVE, Status.CANDIDATE)):
        query = replace(query, statuses=(*query.statuses, Status.SUPERSEDED))
    return query, QueryTime(span, past)


def _span_of_event(query: Query, sources: CandidateSources) -> Span | None:
    """Resolve `before the migration` to the time before (or after) the memory that mentions the event, if there is one."""
    event = asked_event(query.text)
    if event is None:
        return None
    before, text = event
    for hit in sources.words.search(replace(query, text=text, backend=None), 1):
        if hit.parts.get("coverage", 0.0) >= EVENT_WORDS_SHARE:
            return span_around(before, hit.item.valid_from or hit.item.created_at)
    return None


def _take_in_predecessors(found: dict[str, dict[str, float]], items: Mapping[str, MemoryItem]) -> dict[str, str]:
    """Add the predecessors of the candidates. Return a mapping from old ids to new ids."""
    successors = {items[id].supersedes or "": id for id in found if id in items and items[id].supersedes}
    for id in sorted(successors):
        found.setdefault(id, {})
    return successors


def _take_in_neighbours(found: dict[str, dict[str, float]], tokens: Tokens) -> dict[str, tuple[str, str]]:
    """Add the neighbours of the candidates. Return the neighbours of all candidates."""
    near = dict(tokens.neighbours(list(found)))
    new = {other for pair in near.values() for other in pair if other and other not in found}
    for id in sorted(new):
        found[id] = {}
    return near | dict(tokens.neighbours(sorted(new))) if new else near


def _finders(lists: Lists, backend: Backend) -> dict[str, Backend]:
    """Return the name of the list that contains each item, or `backend` if several lists do."""
    out: dict[str, Backend] = {}
    for name, scores in lists.items():
        for id in scores:
            out[id] = backend if id in out else name
    return out
