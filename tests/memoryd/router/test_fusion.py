from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Backend
from memoryd.retrieval import fuse, signals_of


def test_two_good_signals_beat_one_very_good_one() -> None:
    signals = {
        "a": {"bm25": 9.0, "cosine": 0.5},
        "b": {"bm25": 8.0, "cosine": 0.8},
        "c": {"bm25": 1.0, "cosine": 0.81},
        "d": {"bm25": 1.0, "cosine": 0.5},
    }
    assert [fused.id for fused in fuse(signals)][0] == "b"
    assert [fused.id for fused in fuse(signals)][-1] == "d"


def test_distances_count_and_not_only_the_order() -> None:
    signals = {"a": {"cosine": 0.90, "bm25": 1.0}, "b": {"cosine": 0.89, "bm25": 9.0}, "c": {"cosine": 0.4, "bm25": 1.1}}
    assert fuse(signals)[0].id == "b"


def test_a_missing_keyword_match_is_zero_and_a_missing_cosine_the_lowest_seen() -> None:
    signals = {"a": {"cosine": 0.9}, "b": {"bm25": 5.0}, "c": {"cosine": 0.6, "bm25": 5.0}}
    by_id = {fused.id: fused for fused in fuse(signals)}
    assert by_id["b"].parts["cosine"] == by_id["c"].parts["cosine"]
    assert by_id["a"].parts["bm25"] < 0 < by_id["b"].parts["bm25"]


def test_signals_without_spread_weight_or_value_say_nothing() -> None:
    signals = {"a": {"cosine": 0.5, "unknown": 9.0, "graph": math.nan}, "b": {"cosine": 0.5}}
    assert [(fused.id, fused.score) for fused in fuse(signals)] == [("a", 0.0), ("b", 0.0)]
    assert fuse(signals, {"cosine": 0.0}) == fuse(signals, {})
    assert fuse({}) == []


_values = st.floats(allow_nan=True, allow_infinity=True)
_signals = st.dictionaries(
    st.sampled_from("abcdefg"),
    st.dictionaries(st.sampled_from(["bm25", "cosine", "coverage", "graph"]), _values, max_size=4),
    max_size=7,
)


@given(_signals, st.randoms())
def test_the_order_of_the_input_changes_nothing(signals: dict[str, dict[str, float]], random: object) -> None:
    ids = list(signals)
    random.shuffle(ids)  # type: ignore[attr-defined]
    assert fuse({id: dict(reversed(signals[id].items())) for id in ids}) == fuse(signals)


@given(_signals)
def test_every_candidate_comes_once_best_first_and_its_parts_add_up(signals: dict[str, dict[str, float]]) -> None:
    fused = fuse(signals)
    assert sorted(f.id for f in fused) == sorted(signals)
    assert [(-f.score, f.id) for f in fused] == sorted((-f.score, f.id) for f in fused)
    assert all(math.isfinite(f.score) and f.score == pytest.approx(sum(f.parts.values())) for f in fused)


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(-1, 1), min_size=1), st.floats(0.1, 50), st.floats(-5, 5))
def test_scale_and_offset_of_a_signal_do_not_matter(cosines: dict[str, float], factor: float, offset: float) -> None:
    values = {id: round(value, 3) for id, value in cosines.items()}
    one = fuse({id: {"cosine": value} for id, value in values.items()})
    two = fuse({id: {"cosine": value * factor + offset} for id, value in values.items()})
    assert {f.id: pytest.approx(f.score, abs=1e-5) for f in one} == {f.id: f.score for f in two}


def test_what_several_backends_found_becomes_one_table_with_each_item_once() -> None:
    lists = {
        Backend.MARKDOWN: {"a": 7.0, "b": 2.0},
        Backend.VECTOR: {"b": 0.8, "c": 0.4},
        Backend.GRAPH: {"b": 0.5},
    }
    signals = {"a": {"bm25": 7.0}, "b": {"bm25": 2.0, "cosine": 0.8, "graph": 0.5}, "c": {"cosine": 0.4}}
    assert signals_of(lists) == signals == signals_of(dict(reversed(lists.items())))
