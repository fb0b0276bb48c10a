"""How the service answers a query: candidates by route, signals from every index, one explained score.

The order comes from the z-score sum of all signals (docs/design/router.md), squashed to 0..1 and
joined by recency; `Hit.relevancy` is the calibrated estimate that recall compares with its floor.
With `rank = maxsim` late interaction orders the candidates instead (docs/design/late-interaction.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from memoryd.config import Settings
from memoryd.router import (
    LateWeights,
    RelevanceModel,
    ScoreWeights,
    asked_kinds,
    fuse,
    is_foreign,
    is_turn,
    item_terms,
    late_features,
    late_order,
    load_late_weights,
    load_model,
    overlap_of,
    route,
    score_hit,
    signals_of,
    term_weights,
    word_weight,
)
from memoryd.types import Backend, Hit, MemoryItem, Query, Route

CANDIDATES = 100
# Sums of z-scores grow with the number of candidates: unscaled they all become 1, and recency alone decides.
SQUASH = 4.0
# The late score is a weighted mean of z-scores (and bonuses), so it is spread over 0..1 as it is.
LATE_SQUASH = 1.0
_FALLBACK = "nothing was found that way, so words and meaning were tried together"


class Words(Protocol):
    """The literal side: search, and how common a word is."""

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Hits by words."""
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

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Hits by cosine."""
        ...

    def score(self, text: str, ids: Sequence[str]) -> Mapping[str, float]:
        """Cosine of each item that has a vector."""
        ...


class Tokens(Protocol):
    """Late interaction: MaxSim of given items, and what was said before and after them."""

    def score(self, text: str, ids: Sequence[str], weight: Callable[[str], float]) -> Mapping[str, float]:
        """Weighted MaxSim of each item that has token vectors."""
        ...

    def neighbours(self, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """Ids of the items said just before and just after, empty when there is none."""
        ...


GraphSearch = Callable[[Query, int], list[Hit]]
Lists = dict[Backend, list[Hit]]


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

    def search(self, query: Query, k: int, sources: Sources) -> tuple[Route, list[Hit]]:
        """The route taken and at most k hits in the final order."""
        chosen = route(query)
        if k <= 0:
            return chosen, []
        if not query.text.strip():
            return chosen, sources.words.search(query, k)
        lists = _candidates(query, chosen.backend, max(CANDIDATES, k), sources)
        if not any(lists.values()) and chosen.backend is not Backend.HYBRID:
            chosen = Route(Backend.HYBRID, "fallback", _FALLBACK)
            lists = _candidates(query, Backend.HYBRID, max(CANDIDATES, k), sources)
        return chosen, self._rank(query, lists, chosen.backend, sources)[:k]

    def _rank(self, query: Query, lists: Lists, backend: Backend, sources: Sources) -> list[Hit]:
        signals = signals_of(lists)
        late = self._late if backend is Backend.HYBRID and not is_foreign(query.text) else None
        near = sources.tokens.neighbours(list(signals)) if late and sources.tokens else {}
        for id in [other for pair in near.values() for other in pair if other]:
            signals.setdefault(id, {})
        # Vectors and graph may lag behind; the Markdown decides what there is and what passes the filters.
        items = sources.words.fetch(list(signals), query)
        signals = {id: row for id, row in signals.items() if id in items}
        if not items:
            return []
        self._add_cosines(query, signals, sources)
        relevancies = self._judge(query, items, signals, sources)
        now = query.now or datetime.now(UTC)
        order, squash, turns = fuse(signals), SQUASH, frozenset[str]()
        if late and sources.tokens and (rows := _late_rows(query, now, items, signals, sources.words, sources.tokens)):
            turns = frozenset(id for id, item in items.items() if is_turn(item))
            order, squash = late_order(rows, turns, late), LATE_SQUASH
        kinds = asked_kinds(query.text)
        finders = _finders(lists, backend)
        hits = []
        for fused in order:
            place = 1.0 / (1.0 + math.exp(-fused.score / squash))
            found = finders.get(fused.id, backend)
            # What was said once is no truer for being said late; only statements grow stale.
            weights = replace(self._weights, recency=0.0) if fused.id in turns else self._weights
            scored = score_hit(Hit(items[fused.id], 0.0, found, relevancy=place), now, weights, kinds)
            hits.append(replace(scored, relevancy=relevancies[fused.id]))
        return sorted(hits, key=lambda hit: (-hit.score, hit.item.id))

    def _add_cosines(self, query: Query, signals: dict[str, dict[str, float]], sources: Sources) -> None:
        missing = [id for id, row in signals.items() if "cosine" not in row]
        if sources.meaning is not None and missing:
            for id, cosine in sources.meaning.score(query.text, missing).items():
                signals[id]["cosine"] = cosine

    def _judge(
        self, query: Query, items: Mapping[str, MemoryItem], signals: dict[str, dict[str, float]], sources: Sources
    ) -> dict[str, float]:
        """The calibrated relevancy of each item; the coverage on the way becomes a signal."""
        weights = term_weights(query.text, sources.words.document_frequency, sources.words.size())
        foreign = is_foreign(query.text)
        out = {}
        for id, item in items.items():
            overlap = overlap_of(weights, item_terms(" ".join((item.content, *item.tags, *item.entities))))
            signals[id]["coverage"] = overlap.coverage
            cosine = signals[id].get("cosine") if self._judges_cosine else None
            out[id] = self._model.estimate(overlap, cosine, foreign=foreign)
        return out


def _late_rows(
    query: Query,
    now: datetime,
    items: Mapping[str, MemoryItem],
    signals: Mapping[str, Mapping[str, float]],
    words: Words,
    tokens: Tokens,
) -> dict[str, dict[str, float]]:
    """Features of late interaction; nothing when no candidate has token vectors yet."""
    near = tokens.neighbours(list(items))
    size = words.size()
    known: dict[str, float] = {}

    def weight(word: str) -> float:
        if word not in known:
            known[word] = word_weight(size, words.document_frequency(word))
        return known[word]

    wanted = {*items, *(other for pair in near.values() for other in pair if other)}
    similarity = tokens.score(query.text, sorted(wanted), weight)
    return late_features(query, now, items, signals, similarity, near) if similarity else {}


def _candidates(query: Query, backend: Backend, n: int, sources: Sources) -> Lists:
    lists: Lists = {}
    if backend is Backend.GRAPH:
        lists[Backend.GRAPH] = sources.graph(query, n)
        return lists
    if backend is not Backend.VECTOR or sources.meaning is None:
        lists[Backend.MARKDOWN] = sources.words.search(query, n)
    if backend is not Backend.MARKDOWN and sources.meaning is not None:
        lists[Backend.VECTOR] = sources.meaning.search(query, n)
    return lists


def _finders(lists: Lists, backend: Backend) -> dict[str, Backend]:
    """Which list had each item; `backend` when several did."""
    out: dict[str, Backend] = {}
    for name, hits in lists.items():
        for hit in hits:
            out[hit.item.id] = backend if hit.item.id in out else name
    return out
