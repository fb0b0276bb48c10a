from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Backend, Hit, Kind, MemoryItem
from memoryd.retrieval import ScoreWeights, asked_kinds, recency, score_hit, score_parts, total_score

NOW = datetime(2026, 6, 1, tzinfo=UTC)
WEIGHTS = ScoreWeights(0.1, 0.9, 90.0)


def item(days: float = 0.0, **values: object) -> MemoryItem:
    return MemoryItem("x", id="mem_000000000001", created_at=NOW - timedelta(days=days), **values)  # type: ignore[arg-type]


def test_recency_falls_by_e_every_tau_and_a_clock_set_back_counts_as_new() -> None:
    assert recency(NOW, NOW, 90) == 1.0
    assert recency(NOW - timedelta(days=90), NOW, 90) == pytest.approx(math.exp(-1))
    assert recency(NOW + timedelta(days=400), NOW, 90) == 1.0


def test_the_score_is_the_weighted_sum_of_recency_and_relevancy() -> None:
    hit = score_hit(Hit(item(90), 0.0, Backend.HYBRID, relevancy=0.5), NOW, WEIGHTS)
    assert hit.score == pytest.approx(0.1 * math.exp(-1) + 0.9 * 0.5)
    assert set(hit.parts) == {"recency", "relevancy"}
    assert hit.relevancy == 0.5


def test_pinned_trusted_and_asked_for_kinds_are_lifted_a_little_and_decayed_ones_lowered() -> None:
    base = sum(score_parts(item(), 0.8, NOW, WEIGHTS).values())
    lifted = (item(pinned=True), item(confidence=0.9), item(kind=Kind.RULE))
    for candidate in lifted:
        assert base < sum(score_parts(candidate, 0.8, NOW, WEIGHTS, (Kind.RULE,)).values()) < base + 0.05
    assert sum(score_parts(item(relevancy=0.2), 0.8, NOW, WEIGHTS).values()) < base


def test_nothing_lifts_what_does_not_fit() -> None:
    parts = score_parts(item(pinned=True, confidence=1.0, kind=Kind.RULE), 0.0, NOW, WEIGHTS, (Kind.RULE,))
    assert sum(parts.values()) == parts["recency"]


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.booleans(), st.floats(-1000, 1000))
def test_parts_add_up_to_the_score(relevancy: float, confidence: float, decay: float, pinned: bool, days: float) -> None:
    candidate = item(days, confidence=confidence, relevancy=decay, pinned=pinned)
    hit = score_hit(Hit(candidate, 3.0, Backend.VECTOR, {"cosine": 3.0}, relevancy), NOW, WEIGHTS, (Kind.NOTE,))
    assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert "cosine" not in hit.parts


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Which rules hold for commits?", (Kind.RULE,)),
        ("what did we try and why was it abandoned?", (Kind.DEAD_END,)),
        ("怎么修复这个", (Kind.FIX,)),
        ("where is the file", ()),
        ("prefer rule decided fix", ()),
    ],
)
def test_the_wording_points_to_kinds_unless_it_points_everywhere(text: str, kinds: tuple[Kind, ...]) -> None:
    assert asked_kinds(text) == kinds


def test_the_total_is_the_sum_of_the_parts() -> None:
    for candidate in (item(), item(pinned=True, confidence=0.2, relevancy=0.3), item(kind=Kind.RULE)):
        assert total_score(candidate, 0.8, NOW, WEIGHTS, (Kind.RULE,)) == pytest.approx(
            sum(score_parts(candidate, 0.8, NOW, WEIGHTS, (Kind.RULE,)).values())
        )
