"""Answers to the client's questions: an option counts with its description, a permission does not count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memoryd.core.types import Kind, Passage, Status, Turn, TurnKind
from memoryd.daydream.offline import HeuristicExtractor
from memoryd.daydream.speakers import answers_of
from tests.memoryd.daydream.talk import contents

QUESTION = "Where are profiles stored?"
OPTIONS = [
    {"label": "Local (Recommended)", "description": "In SQLite on the phone; the API does not change."},
    {"label": "Server", "description": "Behind a new endpoint."},
    {"label": "Both, with sync", "description": ""},
]


def pairs(answer: Any, options: Any = OPTIONS) -> list[tuple[str, str]]:
    result = {"questions": [{"question": QUESTION, "options": options}], "answers": {QUESTION: answer}}
    return [(answer.question, answer.text) for answer in answers_of("AskUserQuestion", "", result)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Local (Recommended)", "Local: In SQLite on the phone; the API does not change."),
        (
            "Local (Recommended), Server",
            "Local: In SQLite on the phone; the API does not change.; Server: Behind a new endpoint.",
        ),
        ("Both, with sync", "Both, with sync"),
        ("neither, in the keychain", "neither, in the keychain"),
        (["Server"], "Server: Behind a new endpoint."),
    ],
)
def test_an_option_is_shown_with_its_description(answer: Any, expected: str) -> None:
    assert pairs(answer) == [(QUESTION, expected)]


@pytest.mark.parametrize("options", [None, 5, ["x"], [{"label": 3}], [{"description": "no label"}]])
def test_odd_options_leave_the_answer_as_it_is(options: Any) -> None:
    assert pairs("Local", options) == [(QUESTION, "Local")]


def test_another_tool_answers_nothing() -> None:
    assert answers_of("WebFetch", '"May I?"="yes"', {"answers": {"May I?": "yes"}}) == []


@pytest.mark.parametrize(
    ("answer", "offered"),
    [("Server", True), ("Local (Recommended), Server", True), ("neither, in the keychain", False)],
)
def test_an_option_is_in_the_agents_words_and_typed_text_in_the_users(answer: str, offered: bool) -> None:
    result = {"questions": [{"question": QUESTION, "options": OPTIONS}], "answers": {QUESTION: answer}}
    assert [entry.offered for entry in answers_of("AskUserQuestion", "", result)] == [offered]


def answered(question: str, answer: str) -> tuple[Turn, ...]:
    return (
        Turn(TurnKind.USER, "set up the profiles", "u1", 1),
        Turn(TurnKind.USER, answer, "u2", 9, via="answer", tool="AskUserQuestion", detail=question),
    )


def test_a_choice_becomes_a_statement_with_its_question() -> None:
    expected = contents(
        answered(f"We have an API already. {QUESTION}", "Local: In SQLite on the phone; the API does not change.")
    )
    assert expected == f"{QUESTION} Local: In SQLite on the phone; the API does not change."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Should I run the migration now?", "Yes, run it: Applies all three steps"),
        ("Do you want me to re-pair the key?", "No, not yet"),
        (QUESTION, "what would change on the server?"),
    ],
)
def test_a_permission_or_a_question_back_is_not_a_memory(question: str, answer: str) -> None:
    assert contents(answered(question, answer)) == ""


def test_a_typed_answer_that_explicitly_is_lasting_is_a_rule_and_an_option_is_none() -> None:
    turns = answered("Shall I add a changelog?", "Yes, and from now on always write it with towncrier.")
    found = HeuristicExtractor().extract(Passage(turns)).candidates
    assert [one.kind for one in found if one.status is Status.ACTIVE] == [Kind.RULE]
    offered = (turns[0], replace(turns[1], offered=True))
    assert Kind.RULE not in [one.kind for one in HeuristicExtractor().extract(Passage(offered)).candidates]


@pytest.mark.parametrize("answer", [" always use pnpm ", "ALWAYS USE PNPM", "Always use pnpm."])
def test_an_option_is_recognised_without_regard_to_case_and_punctuation_and_under_any_question(answer: str) -> None:
    result = {"questions": [{"question": "Q?", "options": [{"label": "Always use pnpm"}]}], "answers": {"Another?": answer}}
    assert [entry.offered for entry in answers_of("AskUserQuestion", "", result)] == [True]
