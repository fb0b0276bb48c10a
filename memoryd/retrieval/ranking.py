"""How the service answers a query: candidates by route, signals from every index, one explained score.

The order comes from the z-score sum of all signals (docs/design/router.md), squashed to 0..1 and
joined by recency; `Hit.relevancy` is the calibrated estimate that recall compares with its floor.
With `rank = maxsim` late interaction orders the candidates instead (docs/design/late-interaction.md).
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
from memoryd.core.types import Backend, Hit, MemoryItem, Query, Route, Status
from memoryd.language.gloss import gloss, is_readable
from memoryd.language.stems import is_foreign
from memoryd.language.times import Span, asked_event, asked_span, asks_past, span_around
from memoryd.retrieval import (
    AskedTime,
    KeyMatch,
    KeyMatcher,
    LateWeights,
    LearnedRouter,
    Overlap,
    RelevanceModel,
    ScoreWeights,
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
    signals_of,
    term_weights,
    total_score,
    word_weight,
)
from memoryd.stores.fulltext import keys_of, searchable
from memoryd.stores.prefetch import Beside
from memoryd.stores.vector import Closeness

CANDIDATES = 100
# Sums of z-scores grow with the number of candidates: unscaled they all become 1, and recency alone decides.
SQUASH = 4.0
# The late score is a weighted mean of z-scores (and bonuses), so it is spread over 0..1 as it is.
LATE_SQUASH = 1.0
# Share of the candidates that must have token vectors: with few, those would come first for that alone.
ENCODED = 0.5
# The rule that sends a query to the graph for its wording alone.
WORDED = "relationship_words"
# Share of an event's words that a memory must have to date it.
TELLS_OF_EVENT = 0.6
_LISTED = Route(Backend.MARKDOWN, "listing", "it asks for all of a kind or a time, not for a subject")
_FALLBACK = "nothing was found that way, so words and meaning were tried together"


class Words(Protocol):
    """The literal side: search, and how common a word is."""

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Hits by words; the newest items for a query without text."""
        ...

    def scores(self, query: Query, k: int) -> Mapping[str, float]:
        """BM25 by id of the best k, in their order."""
        ...

    def holds(self, query: Query) -> bool:
        """False when no item can pass the filters."""
        ...

    def fetch(self, ids: Sequence[str], query: Query | None = None) -> Mapping[str, MemoryItem]:
        """The items as they are now, of those that pass the filters."""
        ...

    def document_frequency(self, word: str) -> int:
        """In how many items the word occurs."""
        ...

    def size(self) -> int:
        """How many items there are."""
        ...


class Meaning(Protocol):
    """The dense side: search, and the cosine of given items."""

    def scores(self, query: Query, k: int) -> Mapping[str, float]:
        """Cosine by id of the nearest k, in their order."""
        ...

    def score(self, text: str, ids: Sequence[str]) -> Mapping[str, float]:
        """Cosine of each item that has a vector."""
        ...

    def compare(self, text: str, ids: Sequence[str]) -> Mapping[str, Closeness]:
        """The cosines of each item that has a vector, with its statement and with its keys."""
        ...

    def query_vector(self, text: str) -> FloatArray:
        """The unit vector of a query, kept for the searches that follow."""
        ...

    def prepare(self, text: str) -> None:
        """Begin to embed a query that the searches will ask for."""
        ...


class Tokens(Protocol):
    """Late interaction: what the query's tokens find in given items, and what was said before and after them."""

    def matches(self, text: str, ids: Sequence[str], weight: Callable[[str], float]) -> Mapping[str, FloatArray]:
        """Weighted best cosine of each query token, for each item that has token vectors."""
        ...

    def prepare(self, text: str) -> None:
        """Begin to encode a query that `matches` will be asked for."""
        ...

    def linked(self) -> bool:
        """Whether any item has neighbours."""
        ...

    def neighbours(self, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """Ids of the items said just before and just after, empty when there is none."""
        ...


GraphSearch = Callable[[Query, int], list[Hit]]
Lists = dict[Backend, Mapping[str, float]]
Near = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where candidates come from; `meaning` is None when there is no embedder, `tokens` without late interaction."""

    words: Words
    meaning: Meaning | None
    graph: GraphSearch
    tokens: Tokens | None = None


class Ranker:
    """Searches by route and scores what was found.

    The estimate of relevancy was fitted on one embedder's cosines; those of another only order the hits.
    """

    def __init__(
        self, settings: Settings, embedder: str = "", model: RelevanceModel | None = None, late: LateWeights | None = None
    ) -> None:
        self._weights = ScoreWeights(settings.weight_recency, settings.weight_relevancy, settings.recency_days)
        self._model = model or load_model()
        self._judges_cosine = self._model.knows(embedder)
        self._late = late or (load_late_weights() if settings.rank == "maxsim" else None)
        self._router_file, self._embedder = settings.paths.router, embedder
        self._near, self._matching = Beside("search-meaning"), Beside("match-tokens")
        self.reload_router()

    def close(self) -> None:
        """End the threads that work beside the one which asks."""
        self._near.close()
        self._matching.close()

    def reload_router(self) -> None:
        """Route by the learned router from now on, if there is one that may be used; `router` says why or why not."""
        self.router = load_router(self._router_file, self._embedder)

    def search(self, query: Query, k: int, sources: Sources) -> tuple[Route, list[Hit]]:
        """The route taken and at most k hits in the final order."""
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
                sources.meaning.prepare(text)  # its model runs while the candidates are looked up by words
        query, time = _in_time(query, sources)
        asked = _Asked(query, sources, time, self._matching, english)
        lists = self._candidates(asked, chosen.backend, max(CANDIDATES, k))
        if chosen.rule == WORDED:  # who words a question so may also ask for a fact
            lists |= self._candidates(asked, Backend.HYBRID, max(CANDIDATES, k))
        if not any(lists.values()) and chosen.backend is not Backend.HYBRID:
            chosen = Route(Backend.HYBRID, "fallback", _FALLBACK)
            lists = self._candidates(asked, Backend.HYBRID, max(CANDIDATES, k))
        return chosen, self._rank(asked, lists, chosen.backend, k)

    def _list(self, query: Query, k: int, sources: Sources) -> list[Hit]:
        """The newest memories of the kinds and the time that the query asks for, if it asks for nothing else."""
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

    def _route(self, query: Query, sources: Sources) -> Route:
        by_rules = route(query)
        if self.router.model is None or sources.meaning is None:
            return by_rules
        return LearnedRouter(self.router.model, sources.meaning.query_vector)(query)

    def _candidates(self, asked: _Asked, backend: Backend, n: int) -> Lists:
        """What each index proposes. Another thread searches by meaning, while this one looks up the words."""
        query, sources = asked.query, asked.sources
        if backend is Backend.GRAPH:
            return {Backend.GRAPH: {hit.item.id: hit.score for hit in sources.graph(query, n)}}
        meaning = sources.meaning if backend is not Backend.MARKDOWN else None
        if meaning is None:
            return {Backend.MARKDOWN: sources.words.scores(query, n)}
        if backend is Backend.VECTOR:
            return {Backend.VECTOR: meaning.scores(asked.meant, n)}
        late = self._late_tokens(asked, backend)
        near = self._near.begin(partial(_nearest, asked.meant, n, meaning, late))
        by_words = sources.words.scores(query, n)
        if late:
            asked.begin_matches(late, list(by_words))
        asked.read(by_words)
        return {Backend.MARKDOWN: by_words, Backend.VECTOR: near()}

    def _rank(self, asked: _Asked, lists: Lists, backend: Backend, k: int) -> list[Hit]:
        query, found = asked.query, signals_of(lists)
        if asked.time.past:
            asked.time = replace(asked.time, successors=_take_in_predecessors(found, asked.read(found)))
        late = self._late_tokens(asked, backend)
        near = _take_in_neighbours(found, late) if late and late.linked() else {}
        # Vectors and graph may lag behind; the Markdown decides what there is and what passes the filters.
        items = asked.items = asked.read(found)
        asked.signals = {id: row for id, row in found.items() if id in items}
        scores = self._late_scores(asked, asked.matches(late, found, near), near) if late else {}
        turns = frozenset(id for id, item in items.items() if item.is_turn) if scores else frozenset()
        squash = LATE_SQUASH if scores else SQUASH
        if not scores:
            asked.add_cosines(list(items))
            asked.add_coverages()
            scores = {fused.id: fused.score for fused in fuse(asked.signals)}
        places = {id: 1.0 / (1.0 + math.exp(-score / squash)) for id, score in scores.items()}
        best = self._best(query, items, places, turns, k)
        finders = _finders(lists, backend)
        relevancies = self._judge(asked, [hit.item.id for hit in best])
        return [replace(hit, backend=finders.get(hit.item.id, backend), relevancy=relevancies[hit.item.id]) for hit in best]

    def _late_tokens(self, asked: _Asked, backend: Backend) -> Tokens | None:
        late = self._late and backend is Backend.HYBRID and not is_foreign(asked.query.text)
        return asked.sources.tokens if late else None

    def _best(
        self, query: Query, items: Mapping[str, MemoryItem], places: Mapping[str, float], turns: frozenset[str], k: int
    ) -> list[Hit]:
        """The k best by the final score."""
        now = query.now or datetime.now(UTC)
        kinds = asked_kinds(query.text)
        # What was said once is no truer for being said late; only statements grow stale.
        timeless = replace(self._weights, recency=0.0)
        weights = {id: timeless if id in turns else self._weights for id in places}
        scores = {id: total_score(items[id], places[id], now, weights[id], kinds) for id in places}
        best = sorted(scores, key=lambda id: (-scores[id], id))[:k]
        return [score_hit(Hit(items[id], 0.0, Backend.HYBRID, relevancy=places[id]), now, weights[id], kinds) for id in best]

    def _late_scores(self, asked: _Asked, matches: Mapping[str, FloatArray], near: Near) -> dict[str, float]:
        """Scores by late interaction; nothing while most candidates have no token vectors."""
        if self._late is None or not matches or sum(id in matches for id in asked.items) < ENCODED * len(asked.items):
            return {}
        if self._late.uses("cosine"):
            asked.add_cosines(list(asked.items))
        if self._late.uses("coverage"):
            asked.add_coverages()
        items = asked.items
        rows = late_features(asked.query, items, asked.signals, matches, near, asked.time)
        return late_scores(rows, frozenset(id for id, item in items.items() if item.is_turn), self._late)

    def _judge(self, asked: _Asked, ids: Sequence[str]) -> dict[str, float]:
        """The calibrated relevancy of each of these items."""
        if self._judges_cosine:
            asked.add_cosines([id for id in asked.items if id in ids or id in asked.time.successors.values()])
        wanted = [id for id in dict.fromkeys([*ids, *(asked.time.successors.get(id, "") for id in ids)]) if id in asked.items]
        by_keys = asked.key_matches([id for id in wanted if asked.items[id].asked_as], self._judges_cosine)
        foreign = is_foreign(asked.query.text)
        out = {}
        for id in wanted:
            if id in by_keys:
                out[id] = self._model.estimate_by_keys(by_keys[id])
                continue
            cosine = asked.signals[id].get("cosine") if self._judges_cosine else None
            out[id] = self._model.estimate(asked.overlap(id), cosine, foreign=foreign)
        # What was replaced is as relevant to a question on the past as what has replaced it.
        return {id: max(value, out.get(asked.time.successors.get(id, ""), 0.0)) for id, value in out.items()}


class _Asked:
    """One query with its candidates: the `items` that passed; `signals` by id, which grow as they are needed."""

    def __init__(self, query: Query, sources: Sources, time: AskedTime, matching: Beside, english: str = "") -> None:
        """`english` is a gloss of the query for an embedder that knows English only."""
        self.query, self.sources, self.time = query, sources, time
        self.read_as = _read_as(query.text, english)
        self.meant = replace(query, text=self.read_as[0])
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
        """The cosines of those that were not found by meaning."""
        missing = [id for id in ids if "cosine" not in self.signals[id]]
        if self.sources.meaning is not None and missing:
            for id, cosine in self.sources.meaning.score(self.meant.text, missing).items():
                self.signals[id]["cosine"] = cosine

    def add_coverages(self) -> None:
        """The share of the query's terms that each item has."""
        for id in self.items:
            self.signals[id]["coverage"] = self.overlap(id).coverage

    def overlap(self, id: str) -> Overlap:
        """What the item, with its keys, shares with the query."""
        if id not in self._overlaps:
            item = self.items[id]
            self._overlaps[id] = overlap_of(self.terms, item_terms("\n".join((searchable(item), *keys_of(item)))))
        return self._overlaps[id]

    @property
    def terms(self) -> dict[str, float]:
        """The weights of the query's terms."""
        if self._terms is None:
            self._terms = term_weights(self.query.text, self._frequency, self._size())
        return self._terms

    def key_matches(self, ids: Sequence[str], by_meaning: bool) -> dict[str, KeyMatch]:
        """What the query shares with the keys of these items, which have some."""
        if not ids:
            return {}
        matcher = KeyMatcher(self.query.text, self.terms)
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
        """Those of the items that pass the filters; each is read once."""
        new = [id for id in ids if id not in self._read]
        found = self.sources.words.fetch(new, self.query) if new else {}
        self._read |= {id: found.get(id) for id in new}
        return {id: item for id in ids if (item := self._read[id]) is not None}

    def begin_matches(self, tokens: Tokens, ids: Sequence[str]) -> None:
        """Let another thread do what `matches` will be asked for of these."""
        tokens.prepare(self.query.text)
        for word in words(self.query.text):
            self._weight(word)  # now, since later the index is busy with the other candidates
        self._begun = (frozenset(ids), self._matching.begin(partial(self._match, tokens, ids)))

    def matches(self, tokens: Tokens, found: Collection[str], near: Mapping[str, tuple[str, str]]) -> Mapping[str, FloatArray]:
        """What the query's tokens find in what was found and in its neighbours."""
        begun, others = self._begun
        rest = sorted({*found, *(other for pair in near.values() for other in pair if other)} - begun)
        quarter = len(rest) // 4  # the other thread is busy still
        part = self._matching.begin(partial(self._match, tokens, rest[:quarter]))
        return {**self._match(tokens, rest[quarter:]), **others(), **part()}

    def _match(self, tokens: Tokens, ids: Sequence[str]) -> Mapping[str, FloatArray]:
        return tokens.matches(self.query.text, ids, self._weight)

    def _weight(self, word: str) -> float:
        return word_weight(self._size(), self._frequency(word))


def _read_as(text: str, english: str) -> tuple[str, ...]:
    """The texts by which a query is compared by meaning: itself, unless its script says nothing, and then its gloss."""
    if not english:
        return (text,)
    return (english,) if is_foreign(text) else (text, english)


def _readable(closeness: Closeness | None) -> tuple[float, ...]:
    """The cosines of the keys that the embedder can judge."""
    pairs = zip(closeness.texts, closeness.keys, strict=True) if closeness is not None else ()
    return tuple(cosine for key, cosine in pairs if is_readable(key))


def _nearest(query: Query, n: int, meaning: Meaning, late: Tokens | None) -> Mapping[str, float]:
    """What is nearest by meaning. The second model begins when the first is done: at once, two cores are not enough for both."""
    meaning.query_vector(query.text)
    if late:
        late.prepare(query.text)
    return meaning.scores(query, n)


def _in_time(query: Query, sources: Sources) -> tuple[Query, AskedTime]:
    """What the query says of time. One that asks how things were is also shown what no longer holds."""
    span = asked_span(query.text, query.now or datetime.now(UTC)) or _span_of_event(query, sources)
    past = asks_past(query.text) and query.as_of is None and query.valid_at is None
    if past and query.statuses in ((Status.ACTIVE,), (Status.ACTIVE, Status.CANDIDATE)):
        query = replace(query, statuses=(*query.statuses, Status.SUPERSEDED))
    return query, AskedTime(span, past)


def _span_of_event(query: Query, sources: Sources) -> Span | None:
    """`before the migration`: what lies before or after the memory that tells of it, if one does."""
    event = asked_event(query.text)
    if event is None:
        return None
    before, text = event
    for hit in sources.words.search(replace(query, text=text, backend=None), 1):
        if hit.parts.get("coverage", 0.0) >= TELLS_OF_EVENT:
            return span_around(before, hit.item.valid_from or hit.item.created_at)
    return None


def _take_in_predecessors(found: dict[str, dict[str, float]], items: Mapping[str, MemoryItem]) -> dict[str, str]:
    """Add what the candidates have replaced; old id -> new id."""
    successors = {items[id].supersedes or "": id for id in found if id in items and items[id].supersedes}
    for id in sorted(successors):
        found.setdefault(id, {})
    return successors


def _take_in_neighbours(found: dict[str, dict[str, float]], tokens: Tokens) -> dict[str, tuple[str, str]]:
    """Add what was said before and after the candidates; the neighbours of all of them."""
    near = dict(tokens.neighbours(list(found)))
    new = {other for pair in near.values() for other in pair if other and other not in found}
    for id in sorted(new):
        found[id] = {}
    return near | dict(tokens.neighbours(sorted(new))) if new else near


def _finders(lists: Lists, backend: Backend) -> dict[str, Backend]:
    """Which list had each item; `backend` when several did."""
    out: dict[str, Backend] = {}
    for name, scores in lists.items():
        for id in scores:
            out[id] = backend if id in out else name
    return out
