"""Query routing, ranking and relevance estimation. Pure functions, except for `ranking` (imported separately).

`routing.route` picks the backend, or `routing.LearnedRouter` where it is better; `scoring` merges candidates by their signals
and computes the final, explained score; `late_interaction` ranks by token vectors; `relevance` estimates whether an item
answers the query at all.
"""

from memoryd.retrieval.late_interaction import (
    NO_TIME,
    LateWeights,
    QueryTime,
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

__all__ = [
    "NO_TIME",
    "RULES",
    "QueryTime",
    "Listing",
    "asked_listing",
    "asks_question",
    "span_of_handoffs",
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
