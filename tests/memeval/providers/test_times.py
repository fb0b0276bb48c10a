from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.types import SearchRequest
from memeval.providers.retrieval import asked_range
from tests.memeval.providers.material import EMBEDDING, make, session

NOW = datetime(2023, 6, 15, 12)  # noqa: DTZ001 - data sets tell local times


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What happened in May 2022?", "2022-05-01", "2022-06-01"),
        ("What happened in May?", "2023-05-01", "2023-06-01"),
        ("What happened in December?", "2022-12-01", "2023-01-01"),
        ("on 8 May, 2023", "2023-05-08", "2023-05-09"),
        ("on May 8th", "2023-05-08", "2023-05-09"),
        ("on the 3rd of July 2021", "2021-07-03", "2021-07-04"),
        ("in 2021", "2021-01-01", "2022-01-02"),
        ("yesterday", "2023-06-14", "2023-06-15"),
        ("the day before yesterday", "2023-06-13", "2023-06-14"),
        ("last week", "2023-06-01 12:00", "2023-06-15 12:00"),
        ("the past month", "2023-05-16 12:00", "2023-06-15 12:00"),
    ],
)
def test_a_named_time_is_a_range(text: str, start: str, end: str) -> None:
    assert asked_range(text, NOW) == (datetime.fromisoformat(start), datetime.fromisoformat(end))


def test_a_time_ago_has_a_margin() -> None:
    start, end = asked_range("Which book did I buy three weeks ago?", NOW) or (NOW, NOW)
    assert start < datetime(2023, 5, 25, 12) < end  # noqa: DTZ001
    assert (end - start).days < 14


@pytest.mark.parametrize("text", ["I may go", "March on", "in a second", "on 31 February 2023", "in 9999", "What is it?"])
def test_what_names_no_time_is_not_a_range(text: str) -> None:
    assert asked_range(text, NOW) is None


def test_what_is_relative_needs_the_time_of_the_question() -> None:
    assert asked_range("yesterday", None) is None
    assert asked_range("in May", None) is None
    assert asked_range("in May 2020", None) is not None


@given(st.text(alphabet="0123456789 maylstwekgoindurf,.", max_size=60), st.datetimes(datetime(1950, 1, 1), datetime(2150, 1, 1)))  # noqa: DTZ001
def test_any_text_can_be_looked_at(text: str, at: datetime) -> None:
    asked = asked_range(text, at)
    assert asked is None or asked[0] <= asked[1]


@pytest.mark.parametrize("name", ["bm25", "hybrid", "memoryd"])
def test_pieces_of_the_named_time_gain(name: str, tmp_path: Path) -> None:
    result = [session("a", "I went hiking with Bo.", day=0), session("b", "I went hiking with Cy.", day=40)]
    known: dict[str, Any] = {
        "bm25": {},
        "hybrid": EMBEDDING,
        "memoryd": {"settings": {"embedder": "hash", "weight_recency": 0.0}},
    }
    for wanted, text in (("a", "With whom did I go hiking in May 2023?"), ("b", "With whom did I go hiking in June 2023?")):
        provider = make(name, {**known[name], "timeAware": True})
        provider.open(tmp_path)
        provider.ingest("one", result)
        provider.await_indexed("one", 60)
        assert provider.search("one", SearchRequest(text, 2, NOW))[0].sessions == (wanted,)
        provider.close()


@pytest.mark.parametrize("name", ["bm25", "dense", "memoryd"])
def test_with_key_expansion_an_answer_is_found_by_its_question(name: str, tmp_path: Path) -> None:
    result = [
        session("a", "Which zeppelin museum do you recommend?", "The one in Friedrichshafen."),
        session("b", "Hello.", "Hi."),
    ]
    known: dict[str, Any] = {"bm25": {}, "dense": EMBEDDING, "memoryd": {"settings": {"embedder": "hash"}}}
    provider = make(name, {**known[name], "keyExpansion": True})
    provider.open(tmp_path)
    provider.ingest("one", result)
    provider.await_indexed("one", 60)
    found = [piece.turns[0] for piece in provider.search("one", SearchRequest("zeppelin museum", 2))]
    assert found == ["a-0", "a-1"]
    provider.close()
