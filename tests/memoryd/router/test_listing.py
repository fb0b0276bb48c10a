"""Questions without a subject request a list. Questions with a subject are searched."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Kind
from memoryd.language.times import ANY_TIME
from memoryd.retrieval import asked_listing, span_of_handoffs
from tests.costs import assert_linear

NOW = datetime(2026, 3, 11, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("what is still open?", Kind.TODO),
        ("What's left to do?", Kind.TODO),
        ("show me all todos", Kind.TODO),
        ("next steps", Kind.TODO),
        ("which decisions did we make?", Kind.DECISION),
        ("What rules are there?", Kind.RULE),
        ("was ist noch offen?", Kind.TODO),
        ("qu'est-ce qui reste à faire ?", Kind.TODO),
        ("¿qué queda pendiente?", Kind.TODO),
        ("что ещё осталось сделать?", Kind.TODO),
        ("还有什么没做完？", Kind.TODO),
        ("which dead ends have there been?", Kind.DEAD_END),
    ],
)
def test_a_question_for_a_kind_alone_lists_it(text: str, kind: Kind) -> None:
    listing = asked_listing(text, NOW)
    assert listing is not None and listing.kinds == (kind,) and listing.span is None


@pytest.mark.parametrize(
    "text", ["what did we do yesterday?", "what happened yesterday", "was haben wir gestern gemacht?", "我们昨天做了什么？"]
)
def test_a_question_for_a_time_alone_lists_what_was_learnt_then(text: str) -> None:
    listing = asked_listing(text, NOW)
    assert listing is not None and listing.kinds == () and listing.span is not None
    assert [moment.day for moment in listing.span] == [10, 11]


def test_kind_and_time_are_joined() -> None:
    listing = asked_listing("what did we decide last week?", NOW)
    assert listing is not None and listing.kinds == (Kind.DECISION,) and listing.span is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "which port is open?",
        "open the door",
        "what did we decide about the queue?",
        "how is the cache filled?",
        "what did we do yesterday about the login?",
        "fix the open issue in the parser",
        "go on",
        "do it again",
        "what is this?",
        "yes",
        "the rules of the linter",
    ],
)
def test_a_question_with_a_subject_or_without_kind_and_time_is_not_a_list(text: str) -> None:
    assert asked_listing(text, NOW) is None


@pytest.mark.parametrize(
    "text",
    [
        "where did we leave off?",
        "Where were we?",
        "let's continue where we left off",
        "Where did we leave off with the parser?",
        "What were we working on last time?",
        "what did we do in the last session?",
        "so, what's next?",
        "What is still open?",
        "Wo haben wir gestern aufgehört?",
        "wo sind wir stehengeblieben?",
        "Was steht noch an?",
        "Où en étions-nous ?",
        "on en était où ?",
        "¿Dónde nos quedamos?",
        "¿Por dónde íbamos?",
        "Onde paramos?",
        "o que ainda está em aberto?",
        "Dove eravamo rimasti?",
        "cosa c'è ancora da fare?",
        "На чём мы остановились?",
        "Что мы делали в прошлый раз?",
        "上次我们做到哪里了？",
        "继续上次的工作",
        "前回どこまでやりましたか？",
        "何がまだ終わっていない？",
        "어디까지 했지?",
        "아직 남은 일이 뭐야?",
    ],
)
def test_where_work_stopped_is_asked_in_any_of_the_languages(text: str) -> None:
    assert span_of_handoffs(text, NOW) == ANY_TIME


@pytest.mark.parametrize(
    "text",
    [
        "What did we do yesterday?",
        "昨日何をしましたか？",
        "어제 뭐 했지?",
        "O que fizemos ontem?",
        "Cosa abbiamo fatto ieri?",
        "昨天做了什么",
    ],
)
def test_what_was_done_in_a_time_is_also_in_the_ends_of_its_sessions(text: str) -> None:
    span = span_of_handoffs(text, NOW)
    assert span is not None and [moment.day for moment in span] == [10, 11]


@pytest.mark.parametrize(
    "text",
    [
        "where did we leave the keys?",
        "where did we stop using Redis?",
        "where are we storing the logs?",
        "you left off the semicolon",
        "what is next.js?",
        "which decisions did we make yesterday?",
        "wo sind wir mit dem Server verbunden?",
        "où en est la migration ?",
        "这个函数做什么",
        "이게 뭐야?",
        "x " * 120 + "where did we leave off?",
    ],
)
def test_other_questions_ask_for_no_end_of_a_session(text: str) -> None:
    assert span_of_handoffs(text, NOW) is None


@given(st.text(max_size=200))
def test_any_text_asks_for_a_time_that_begins_before_it_ends(text: str) -> None:
    listing = asked_listing(text, NOW)
    spans = [listing.span if listing else None, span_of_handoffs(text, NOW)]
    assert all(span is None or span[0] <= span[1] for span in spans)


@pytest.mark.parametrize(
    ("head", "unit", "tail"), [("", "open ", ""), ("", "还没", ""), ("", "to-", ""), ("", " ", "open"), ("wo wir ", "a ", "")]
)
def test_a_long_text_is_left_in_linear_time(head: str, unit: str, tail: str) -> None:
    def read(text: str) -> None:
        assert asked_listing(text, NOW) is None and span_of_handoffs(text, NOW) is None

    assert_linear(read, lambda characters: head + unit * (characters // len(unit)) + tail, 60_000)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Was ist hier noch offen?", (Kind.TODO,)),
        ("was gibt es hier zu tun?", (Kind.TODO,)),
        ("Was wurde hier entschieden?", (Kind.DECISION,)),
        ("Welche Regeln gibt es hier?", (Kind.RULE,)),
    ],
)
def test_german_hier_is_a_place_and_no_day(text: str, kinds: tuple[Kind, ...]) -> None:
    listing = asked_listing(text, NOW)
    assert listing is not None and listing.kinds == kinds and listing.span is None


@pytest.mark.parametrize(
    "text", ["qu'est-ce qu'on a fait hier ?", "Hier on a fait quoi ?", "was haben wir hier gestern gemacht?"]
)
def test_french_hier_is_yesterday(text: str) -> None:
    listing = asked_listing(text, NOW)
    assert listing is not None and listing.span is not None and [moment.day for moment in listing.span] == [10, 11]
