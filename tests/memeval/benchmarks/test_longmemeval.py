from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import DataError
from memeval.core.types import Case, QuestionType

from .conftest import Open, lines, put


def said(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def record(**more: Any) -> dict[str, Any]:
    return {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "How many?",
        "answer": 3,
        "question_date": "2023/05/30 (Tue) 12:00",
        "answer_session_ids": ["answer_1", "answer_2"],
        "haystack_dates": [
            "2023/05/20 (Sat) 18:00",
            "2023/05/20 (Sat) 02:21",
            "2023/05/25 (Thu) 01:00",
            "2023/05/30 (Tue) 23:40",
        ],
        "haystack_session_ids": ["chat", "answer_1", "chat", "answer_2"],
        "haystack_sessions": [
            [said("assistant", "Welcome"), said("user", "hi")],
            [said("user", "One.", has_answer=True), said("assistant", " "), said("assistant", "Ok", has_answer=False)],
            [said("user", "again")],
            [said("user", ""), said("assistant", "Two.", has_answer=True)],
        ],
        **more,
    }


def one(load: Open, **more: Any) -> Case:
    (case,) = load("longmemeval-s", [record(**more)]).cases()
    return case


def test_sessions_are_sorted_by_minute_and_none_is_dropped_for_being_late(load: Open) -> None:
    case = one(load)
    assert [session.source_id for session in case.sessions] == ["answer_1", "chat", "chat", "answer_2"]
    (question,) = case.questions
    assert question.at is not None
    assert case.sessions[3].at is not None and case.sessions[3].at > question.at
    assert question.evidence_sessions == ("s1", "s4")


def test_no_id_that_a_system_sees_tells_the_gold(load: Open) -> None:
    case = one(load)
    shown = [
        (session.id, *(turn.id for turn in session.turns), *(turn.metadata for turn in session.turns))
        for session in case.sessions
    ]
    assert "answer" not in repr(shown)
    assert len({session.id for session in case.sessions}) == 4


def test_blank_turns_are_left_out_and_the_ids_of_the_others_stay(load: Open) -> None:
    case = one(load)
    assert [turn.id for turn in case.sessions[0].turns] == ["s1:1", "s1:3"]
    assert [turn.id for turn in case.sessions[3].turns] == ["s4:2"]
    assert case.sessions[1].turns[0].role == "assistant"


def test_marked_turns_are_evidence_and_those_of_the_user_are_named(load: Open) -> None:
    (question,) = one(load).questions
    assert question.evidence_turns == ("s1:1", "s4:2")
    assert question.metadata["user_evidence_turns"] == ("s1:1",)
    assert question.metadata["user_evidence_sessions"] == ("s1",)


def test_answers_are_text_also_when_they_are_numbers(load: Open) -> None:
    assert one(load).questions[0].answers == ("3",)
    assert one(load, answer="three").questions[0].answers == ("three",)


@pytest.mark.parametrize(
    ("name", "kind", "unified"),
    [
        ("a", "single-session-user", QuestionType.FACT_RECALL),
        ("a", "single-session-assistant", QuestionType.FACT_RECALL),
        ("a", "single-session-preference", QuestionType.PREFERENCE),
        ("a", "multi-session", QuestionType.MULTI_HOP),
        ("a", "temporal-reasoning", QuestionType.TEMPORAL),
        ("a", "knowledge-update", QuestionType.KNOWLEDGE_UPDATE),
        ("a_abs", "knowledge-update", QuestionType.ABSTENTION),
    ],
)
def test_types_are_unified_and_abs_is_abstention(load: Open, name: str, kind: str, unified: QuestionType) -> None:
    (question,) = one(load, question_id=name, question_type=kind).questions
    assert (question.type, question.category) == (unified, kind)


def test_evidence_that_is_not_in_the_haystack_is_kept_aside(load: Open) -> None:
    (question,) = one(load, answer_session_ids=["answer_1", "answer_9"]).questions
    assert question.evidence_sessions == ("s1",)
    assert question.metadata["unresolved_evidence"] == ("answer_9",)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"question_type": "other"}, "question_type"),
        ({"haystack_dates": []}, "haystack_sessions"),
        ({"haystack_dates": ["x"] * 4}, "haystack_dates[0]"),
        ({"question_date": None}, "question_date"),
        ({"answer": ["a"]}, "answer"),
        (
            {"haystack_sessions": [[said("user", "x")]] * 3 + [[{"role": "robot", "content": "x"}]]},
            "haystack_sessions[3][0].role",
        ),
        ({"haystack_sessions": [[said("user", "x", has_answer="yes")]] * 4}, "haystack_sessions[1][0].has_answer"),
        ({"haystack_sessions": [[said("user", None)]] * 4}, "haystack_sessions[1][0].content"),
    ],
)
def test_a_broken_record_is_reported_by_file_record_and_field(load: Open, change: dict[str, Any], expected: str) -> None:
    with pytest.raises(DataError) as error:
        one(load, **change)
    assert f"data.json: record 1 (q1): field {expected}:" in str(error.value)


def test_lines_are_read_as_well_and_cases_before_a_broken_line_arrive(load: Open, tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", lines([record(), record(question_id="q2")]) + "{broken\n")
    cases = load("longmemeval-oracle", path).cases()
    assert [next(cases).id, next(cases).id] == ["q1", "q2"]
    with pytest.raises(DataError, match="line 3"):
        next(cases)
