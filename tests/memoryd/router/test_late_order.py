from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies._internal.random import ArtificialRandom

from memoryd.core.errors import ConfigError
from memoryd.core.types import USER_TAG, Evidence, Kind, MemoryItem, Query, Source
from memoryd.language.times import asked_span
from memoryd.retrieval import LateWeights, QueryTime, late_features, late_scores, load_late_weights
from memoryd.retrieval.late_interaction import FEATURES, Z_FEATURES, question_share

AT = datetime(2025, 3, 1, tzinfo=UTC)
WEIGHTS = load_late_weights()


def turn(id: str, text: str, session: str = "s") -> MemoryItem:
    return MemoryItem(text, id, Kind.NOTE, session=session, source=Source.IMPORT, created_at=AT, evidence=Evidence(lines=(id,)))


def found(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def features(
    items: list[MemoryItem], matches: dict[str, Any], near: dict[str, Any] | None = None, text: str = "Which port?"
) -> dict[str, Any]:
    by_id = {item.id: item for item in items}
    return late_features(Query(text), by_id, {id: {} for id in by_id}, matches, near or {})


def test_a_word_said_before_and_one_said_now_count_together() -> None:
    rows = features(
        [turn("a", "the gateway?"), turn("b", "8443"), turn("c", "bye")],
        {"a": found(0.5, 0.1), "b": found(0.1, 0.5), "c": found(0.0, 0.0)},
        {"a": ("", "b"), "b": ("a", "c"), "c": ("b", "")},
    )
    assert rows["b"]["own"] == pytest.approx(0.6)
    assert rows["b"]["pair"] == pytest.approx(1.0)
    assert rows["a"]["pair"] == pytest.approx(0.6)
    assert rows["a"]["around"] == pytest.approx(1.0)
    assert rows["c"]["session"] == pytest.approx(1.0)
    assert rows["b"]["answer"] == 1.0
    assert "answer" not in rows["c"]


def test_a_statement_gains_nothing_by_its_session() -> None:
    rows = features([MemoryItem("x", "a", session="s"), MemoryItem("y", "b", session="s")], {"a": found(1.0), "b": found(0.2)})
    assert rows["b"]["session"] == rows["b"]["own"]


def test_words_of_the_turn_before_count_half() -> None:
    items = [turn("a", "the gateway?"), turn("b", "8443"), turn("c", "bye")]
    signals = {"a": {"bm25": 4.0}, "b": {"bm25": 1.0}, "c": {}}
    near = {"a": ("", "b"), "b": ("a", "c"), "c": ("b", "")}
    rows = late_features(Query("Which port?"), {item.id: item for item in items}, signals, {}, near)
    assert [rows[id]["bm25"] for id in "abc"] == [4.0, 3.0, 0.5]


def test_who_is_named_first_is_asked_for_and_who_is_named_later_less() -> None:
    items = [turn("a", "Maya: hi"), turn("b", "Jo: hi"), turn("c", "Ann: hi")]
    rows = features(items, {}, text="What did Jo tell Maya?")
    assert rows["b"]["speaker"] == 1.0
    assert 0.0 < rows["a"]["speaker"] < 1.0
    assert "speaker" not in rows["c"]
    assert features(items, {}, text="Where does Maya live?")["a"]["speaker"] == 1.0


def test_a_time_of_which_most_candidates_are_tells_less_than_one_of_few() -> None:
    span = asked_span("What happened on 1 March 2025?", AT)
    old = replace(turn("z", "before"), created_at=AT - timedelta(days=90))
    few = [turn("a", "x"), *(replace(old, id=f"z{n}") for n in range(3))]
    many = [*(turn(f"a{n}", "x") for n in range(3)), old]
    by_share = [
        max(
            row.get("date", 0.0)
            for row in late_features(Query("x"), found, {id: {} for id in found}, {}, {}, QueryTime(span)).values()
        )
        for found in ({item.id: item for item in items} for items in (few, many))
    ]
    assert by_share == [0.75, 0.25]


def test_a_time_with_one_end_tells_more_of_a_statement_than_of_a_turn() -> None:
    span = asked_span("What was the port before March 2025?", AT)
    early = AT - timedelta(days=90)
    items = [
        replace(turn("a", "x"), created_at=early),
        MemoryItem("x", "b", created_at=early),
        MemoryItem("x", "c", created_at=AT + timedelta(days=90)),
    ]
    found = {item.id: item for item in items}
    rows = late_features(Query("x"), found, {id: {} for id in found}, {}, {}, QueryTime(span))
    assert rows["b"]["date"] == 4 * rows["a"]["date"] > 0


def test_what_the_user_of_a_chat_asks_is_not_a_mere_question() -> None:
    said = replace(turn("a", "I moved to Porto. Any tips for the bakery?"), tags=(USER_TAG,))
    rows = features([said, turn("b", "Do you like bread?")], {})
    assert rows["a"]["user"] == 1.0 and "question" not in rows["a"]
    assert rows["b"]["question"] == 1.0 and "user" not in rows["b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which trail was it that you recommended to me?", True),
        ("What had you previously suggested?", True),
        ("Can you recommend a trail?", False),
        ("What did I tell you?", False),
    ],
)
def test_who_asks_for_what_the_assistant_said_gets_it_as_readily_as_what_the_user_said(text: str, expected: bool) -> None:
    rows = features([replace(turn("a", "I hike."), tags=(USER_TAG,)), turn("b", "Try the north trail.")], {}, text=text)
    assert ("user" not in rows["a"]) is expected


@pytest.mark.parametrize(
    ("text", "share"),
    [("Why?", 1.0), ("I moved. Where to?", 0.5), ("I moved.", 0.0), ("", 0.0), ("Is it a or b? It is b", 5 / 8)],
)
def test_the_share_of_words_in_questions(text: str, share: float) -> None:
    assert question_share(text) == pytest.approx(share)


@given(st.text())
def test_the_share_is_a_share_for_any_text(text: str) -> None:
    assert 0 <= question_share(text) <= 1


rows = st.dictionaries(
    st.text("abc", min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(FEATURES), st.floats(-1e6, 1e6, allow_nan=False), max_size=6),
    min_size=1,
    max_size=8,
)


@given(rows, st.randoms())
def test_scores_are_finite_numbers_whatever_is_missing_and_in_whatever_order(
    rows: dict[str, Any], random: ArtificialRandom
) -> None:
    turns = frozenset(id for id in rows if random.random() < 0.5)
    scores = late_scores(rows, turns, WEIGHTS)
    assert scores.keys() == rows.keys()
    assert np.isfinite(list(scores.values())).all()
    assert late_scores(dict(reversed(rows.items())), turns, WEIGHTS) == scores


@given(rows)
def test_what_is_higher_in_the_one_feature_that_counts_comes_first(rows: dict[str, Any]) -> None:
    weights = LateWeights("t", {"own": 1.0}, {"own": 1.0})
    values = {id: row.get("own") for id, row in rows.items()}
    scores = late_scores(rows, frozenset(), weights)
    known = {id: value for id, value in values.items() if value is not None}
    assert all(scores[a] >= scores[b] - 1e-9 for a in known for b in known if known[a] > known[b])


def test_a_candidate_without_vectors_is_ranked_where_its_words_place_it() -> None:
    similar = {"own": 0.5, "pair": 0.5, "around": 0.5, "session": 0.5, "bm25": 1.0}
    rows = {"a": similar, "b": {**similar, "own": 0.4, "bm25": 0.5}, "new": {"bm25": 9.0}}
    scores = late_scores(rows, frozenset(), WEIGHTS)
    assert max(scores, key=scores.__getitem__) == "new"


def test_the_weights_file_names_known_features_only(tmp_path: Path) -> None:
    assert set(WEIGHTS.turn) | set(WEIGHTS.statement) <= set(FEATURES)
    assert WEIGHTS.uses("own") and not WEIGHTS.uses("cosine")
    assert set(Z_FEATURES) < set(FEATURES)
    bad = tmp_path / "late.json"
    bad.write_text('{"format": 1, "version": "x", "turn": {"unknown": 1}, "statement": {}}')
    with pytest.raises(ConfigError, match="unknown"):
        load_late_weights(bad)
