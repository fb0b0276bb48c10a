from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.router.times import asked_span, asks_when, names_time

NOW = datetime(2025, 6, 18, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What did we decide in May 2023?", (2023, 5, 1), (2023, 6, 1)),
        ("What happened on 8 May, 2023?", (2023, 5, 8), (2023, 5, 9)),
        ("Who called on May 8th?", (2025, 5, 8), (2025, 5, 9)),
        ("Who called in December?", (2024, 12, 1), (2025, 1, 1)),
        ("the release of 2024-02-29", (2024, 2, 29), (2024, 3, 1)),
        ("projects in 2024", (2024, 1, 1), (2025, 1, 1)),
        ("what broke yesterday", (2025, 6, 17), (2025, 6, 18)),
        ("what broke last week", (2025, 6, 4), (2025, 6, 19)),
        ("what broke today", (2025, 6, 18), (2025, 6, 19)),
    ],
)
def test_named_times_are_spans_of_days(text, start, end):
    assert asked_span(text, NOW) == (datetime(*start, tzinfo=UTC), datetime(*end, tzinfo=UTC))


def test_a_distance_has_a_margin():
    start, end = asked_span("the bug of three weeks ago", NOW)
    assert start < datetime(2025, 5, 28, tzinfo=UTC) < end


@pytest.mark.parametrize("text", ["", "What may we do?", "on 31 February 2024", "version 2.0", "2025-13-40", "port 8443"])
def test_no_time_is_no_span(text):
    assert asked_span(text, NOW) is None


@given(st.text())
def test_any_text_is_read(text):
    span = asked_span(text, NOW)
    assert span is None or span[0] < span[1]


def test_asking_when_and_saying_when():
    assert asks_when("When did it break?") and asks_when("what year was it?")
    assert not asks_when("Why does it fail when I restart?")
    assert names_time("We met last Friday") and names_time("since 2019") and not names_time("We may do it")
