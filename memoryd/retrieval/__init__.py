"""Where a query goes, how lists become one, and what the scores mean. All pure functions.

`rules.route` picks the backend, or `learned.LearnedRouter` where that is better;
`fusion.fuse` merges candidates by their signals;
`late` orders by late interaction; `times` reads the times that a query names;
`relevance` estimates whether an item answers at all; `score` makes the final, explained score.
"""

from memoryd.retrieval.late_interaction import (
    NO_TIME,
    AskedTime,
    LateWeights,
    is_turn,
    late_features,
    late_scores,
    load_late_weights,
    word_weight,
)
from memoryd.retrieval.relevance import (
    KeyMatch,
    KeyMatcher,
    Overlap,
    RelevanceModel,
    asks_question,
    item_terms,
    load_model,
    overlap_of,
    query_terms,
    term_weights,
)
from memoryd.retrieval.routing import (
    RULES,
    LearnedRouter,
    Listing,
    RouterChoice,
    RouterModel,
    asked_listing,
    explain,
    load_router,
    route,
    router_to_json,
    span_of_handoffs,
)
from memoryd.retrieval.scoring import (
    Fused,
    ScoreWeights,
    asked_kinds,
    fuse,
    recency,
    score_hit,
    score_parts,
    signals_of,
    total_score,
)
from memoryd.retrieval.times import EVER, asked_event, asked_span, asks_past, span_around, within

__all__ = [
    "EVER",
    "NO_TIME",
    "RULES",
    "AskedTime",
    "Listing",
    "asked_listing",
    "asked_event",
    "asked_span",
    "asks_past",
    "asks_question",
    "span_around",
    "span_of_handoffs",
    "within",
    "Fused",
    "LateWeights",
    "LearnedRouter",
    "KeyMatch",
    "KeyMatcher",
    "Overlap",
    "RelevanceModel",
    "RouterChoice",
    "RouterModel",
    "ScoreWeights",
    "asked_kinds",
    "explain",
    "fuse",
    "is_turn",
    "item_terms",
    "late_features",
    "late_scores",
    "load_late_weights",
    "load_model",
    "load_router",
    "overlap_of",
    "query_terms",
    "recency",
    "route",
    "router_to_json",
    "score_hit",
    "score_parts",
    "signals_of",
    "term_weights",
    "total_score",
    "word_weight",
]
