from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.language.times import asked_event, asked_span, asks_past, asks_when, is_open, names_time, span_around, within

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
        ("what broke last week", (2025, 6, 4), (2025, 6, 18)),
        ("what broke in the last week", (2025, 6, 4), (2025, 6, 19)),
        ("what broke in the past week", (2025, 6, 11), (2025, 6, 19)),
        ("what broke today", (2025, 6, 18), (2025, 6, 19)),
        ("what broke last night", (2025, 6, 17), (2025, 6, 18)),
        ("what broke last Monday", (2025, 6, 16), (2025, 6, 17)),
        ("what broke on Wednesday", (2025, 6, 11), (2025, 6, 12)),
        ("what broke this Wednesday", (2025, 6, 18), (2025, 6, 19)),
        ("what broke last June", (2024, 6, 1), (2024, 7, 1)),
        ("what broke in the summer", (2025, 6, 1), (2025, 9, 1)),
        ("what broke last winter", (2024, 12, 1), (2025, 3, 1)),
        ("what broke in Q4 2024", (2024, 10, 1), (2025, 1, 1)),
        ("what broke in the last 10 days", (2025, 6, 8), (2025, 6, 19)),
        ("what broke between March and May", (2025, 3, 1), (2025, 6, 1)),
        ("what broke from 3 May to 5 May 2025", (2025, 5, 3), (2025, 5, 6)),
        ("what broke from March to May 2022", (2022, 3, 1), (2022, 6, 1)),
        ("what broke from November to February 2022", (2021, 11, 1), (2022, 3, 1)),
        ("what broke from November to February", (2024, 11, 1), (2025, 3, 1)),
        ("the two novels that I finished in January and March?", (2025, 1, 1), (2025, 4, 1)),
        ("what broke in January, February or March 2024", (2024, 1, 1), (2024, 4, 1)),
        ("what broke during 2021 and 2022", (2021, 1, 1), (2023, 1, 1)),
        ("what broke in Paris and in March", (2025, 3, 1), (2025, 4, 1)),
        ("was ging gestern am Cache kaputt", (2025, 6, 17), (2025, 6, 18)),
        ("¿qué falló anteayer?", (2025, 6, 16), (2025, 6, 17)),
        ("qu'est-ce qui a planté avant-hier ?", (2025, 6, 16), (2025, 6, 17)),
        ("pourquoi le build a cassé hier soir", (2025, 6, 17), (2025, 6, 18)),
        ("一昨日は何が壊れた", (2025, 6, 16), (2025, 6, 17)),
        ("что сломалось на прошлой неделе", (2025, 6, 4), (2025, 6, 18)),
    ],
)
def test_named_times_are_spans_of_days(text: str, start: tuple[int, int, int], end: tuple[int, int, int]) -> None:
    assert asked_span(text, NOW) == (datetime(*start, tzinfo=UTC), datetime(*end, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("what did we use before March 2025?", (2025, 2, 27), (2025, 3, 20)),
        ("everything until 8 May", (2025, 5, 8), (2025, 5, 9)),
        ("what changed since May?", (2025, 6, 18), (2025, 4, 30)),
        ("what changed after 8 May?", (2025, 5, 8), (2025, 5, 7)),
        ("what changed since yesterday?", (2025, 6, 17), (2025, 6, 16)),
    ],
)
def test_before_and_since_leave_a_side_open_and_keep_the_day_itself(
    text: str, inside: tuple[int, int, int], outside: tuple[int, int, int]
) -> None:
    span = asked_span(text, NOW)
    assert is_open(span)
    assert within(span, datetime(*inside, 23, 59, tzinfo=UTC))
    assert not within(span, datetime(*outside, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What did we use before the migration?", (True, "the migration")),
        ("Which port was it prior to the move to Postgres, roughly?", (True, "the move to Postgres")),
        ("What broke after we upgraded webpack?", (False, "upgraded webpack")),
        ("What broke?", None),
    ],
)
def test_events_are_named_by_what_follows_before_and_after(text: str, found: tuple[bool, str] | None) -> None:
    assert asked_event(text) == found


@given(st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.booleans())  # noqa: DTZ001 - hypothesis wants naive bounds
def test_what_happened_on_the_day_of_an_event_is_never_lost(at: datetime, before: bool) -> None:
    span = span_around(before, at)
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    assert within(span, midnight) and within(span, at) and within(span, midnight.replace(hour=23, minute=59))


@given(
    st.dates(date(2000, 1, 2), date(2025, 6, 18)),
    st.sampled_from(["on", "before", "until", "since", "after"]),
    st.integers(0, 23),
)
def test_evidence_of_the_named_day_is_in_the_span_whatever_the_word(day: date, word: str, hour: int) -> None:
    span = asked_span(f"what happened {word} {day.isoformat()}?", NOW)
    assert within(span, datetime(day.year, day.month, day.day, hour, tzinfo=UTC))


def test_questions_about_the_past_are_distinguished_from_those_about_order() -> None:
    for text in (
        "What did we use before uv?",
        "Which port was it originally?",
        "how did we used to deploy",
        "What was it until May?",
    ):
        assert asks_past(text), text
    for text in (
        "Run the tests before you commit",
        "What must be done before a release?",
        "When did it break?",
        "what is due before May",
    ):
        assert not asks_past(text), text


def test_a_distance_has_a_margin() -> None:
    start, end = asked_span("the bug of three weeks ago", NOW)
    assert start < datetime(2025, 5, 28, tzinfo=UTC) < end


@pytest.mark.parametrize("text", ["", "What may we do?", "on 31 February 2024", "version 2.0", "2025-13-40", "port 8443"])
def test_without_a_time_there_is_no_span(text: str) -> None:
    assert asked_span(text, NOW) is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    span = asked_span(text, NOW)
    assert span is None or span[0] < span[1]


def test_asking_when_and_saying_when() -> None:
    assert asks_when("When did it break?") and asks_when("what year was it?")
    assert not asks_when("Why does it fail when I restart?")
    assert names_time("We met last Friday") and names_time("since 2019") and not names_time("We may do it")


@pytest.mark.parametrize(
    "text", ["Warum bricht hier der Build ab?", "wie heißt hier die Datei", "hier", "Wat staat hier nog open?"]
)
def test_german_hier_names_no_day(text: str) -> None:
    assert asked_span(text, NOW) is None
