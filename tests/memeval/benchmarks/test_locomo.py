from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memeval.core.errors import ConfigError, DataError
from memeval.core.types import Case, QuestionType

from .conftest import Open


def turn(session: int, number: int, text: str = "", **more: Any) -> dict[str, Any]:
    return {"speaker": "Ann" if number % 2 else "Bob", "dia_id": f"D{session}:{number}", "text": text or f"text {number}", **more}


def conversation(**more: Any) -> dict[str, Any]:
    return {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [turn(1, 1, "Look!", img_url=["x"], blip_caption="a red bowl", query="bowl"), turn(1, 2)],
        "session_2_date_time": "12:05 am on 1 June, 2023",
        "session_2": [turn(2, number) for number in range(1, 4)],
        "session_10_date_time": "10:00 am on 2 July, 2023",
        "session_10": [turn(10, 1), turn(10, 2, "  ")],
        "session_11_date_time": "10:00 am on 3 July, 2023",
        **more,
    }


def sample(*qa: dict[str, Any], **more: Any) -> list[Any]:
    record = {"sample_id": "conv-1", "conversation": conversation(**more), "qa": list(qa)}
    return [record | {"event_summary": {}, "observation": {}, "session_summary": {}}]


def question(evidence: list[str], category: int = 4, **more: Any) -> dict[str, Any]:
    return {"question": "What?", "evidence": evidence, "category": category, "answer": "this", **more}


def one(load: Open, *qa: dict[str, Any], **more: Any) -> Case:
    (case,) = load("locomo", sample(*qa, **more)).cases()
    return case


def test_sessions_come_in_order_of_their_numbers_and_absent_ones_are_none(load: Open) -> None:
    case = one(load, question([]))
    assert [session.source_id for session in case.sessions] == ["session_1", "session_2", "session_10"]
    assert [session.id for session in case.sessions] == ["s1", "s2", "s3"]
    assert case.sessions[0].at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert case.sessions[1].at == datetime(2023, 6, 1, 0, 5, tzinfo=UTC)


def test_turns_have_speaker_role_and_the_caption_of_a_shared_photo(load: Open) -> None:
    first, second = one(load, question([])).sessions[0].turns
    assert (first.id, first.role, first.speaker) == ("s1:1", "user", "Ann")
    assert first.text == "Look! [shares a photo: a red bowl]"
    assert (second.id, second.role, second.speaker) == ("s1:2", "assistant", "Bob")
    (plain,) = load("locomo", sample(question([])), captions=False).cases()
    assert plain.sessions[0].turns[0].text == "Look!"


@pytest.mark.parametrize(
    ("evidence", "turns", "sessions", "unresolved"),
    [
        (["D2:3"], ("s2:3",), ("s2",), ()),
        (["D1:1; D2:2"], ("s1:1", "s2:2"), ("s1", "s2"), ()),
        (["D1:1 D2:1 D2:3"], ("s1:1", "s2:1", "s2:3"), ("s1", "s2"), ()),
        (["D:2:1"], ("s2:1",), ("s2",), ()),
        (["D10:01"], ("s3:1",), ("s3",), ()),
        (["D2:1", "D2:1"], ("s2:1",), ("s2",), ()),
        (["D"], (), (), ("D",)),
        (["D2:77"], (), ("s2",), ("D2:77",)),
        (["D30:5", "D1:2"], ("s1:2",), ("s1",), ("D30:5",)),
        (["D10:2"], (), ("s3",), ("D10:2",)),  # That turn is blank.
        ([], (), (), ()),
    ],
)
def test_evidence_is_resolved_in_all_its_spellings(
    load: Open, evidence: list[str], turns: tuple[str, ...], sessions: tuple[str, ...], unresolved: tuple[str, ...]
) -> None:
    (found,) = one(load, question(evidence)).questions
    assert (found.evidence_turns, found.evidence_sessions) == (turns, sessions)
    assert found.metadata.get("unresolved_evidence", ()) == unresolved


def test_categories_mean_what_the_official_code_says(load: Open) -> None:
    case = one(load, *(question([], category) for category in (1, 2, 3, 4, 5)))
    kinds = [
        QuestionType.MULTI_HOP,
        QuestionType.TEMPORAL,
        QuestionType.INFERENCE,
        QuestionType.FACT_RECALL,
        QuestionType.ABSTENTION,
    ]
    assert [item.type for item in case.questions] == kinds
    assert [item.category for item in case.questions] == ["1", "2", "3", "4", "5"]
    assert [item.id for item in case.questions][:2] == ["conv-1:q1", "conv-1:q2"]


def test_answers_can_be_numbers_or_adversarial(load: Open) -> None:
    wrong = {"question": "Q", "evidence": ["D1:1"], "category": 5, "adversarial_answer": "bait"}
    case = one(load, question([], answer=2022), wrong, wrong | {"answer": "No"})
    assert [item.answers for item in case.questions] == [("2022",), (), ("No",)]
    assert [item.metadata.get("adversarial_answer") for item in case.questions] == [None, "bait", "bait"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"qa": question([], category=9)}, "qa[0].category"),
        ({"qa": {"question": "Q", "evidence": [], "category": 4}}, "qa[0].answer"),
        ({"qa": question("D1:1")}, "qa[0].evidence"),  # type: ignore[arg-type]
        ({"qa": question([7])}, "qa[0].evidence[0]"),  # type: ignore[list-item]
        ({"qa": question([], question="  ")}, "qa[0].question"),
        ({"session_2_date_time": "soon"}, "conversation.session_2_date_time"),
        ({"session_2_date_time": "1:00 pm on 31 June, 2023"}, "conversation.session_2_date_time"),
        ({"session_2": "text"}, "conversation.session_2"),
        ({"session_2": [{"speaker": "Ann", "text": "x"}]}, "conversation.session_2[0].dia_id"),
        ({"session_2": [turn(3, 1)]}, "conversation.session_2[0].dia_id"),
        ({"speaker_a": None}, "conversation.speaker_a"),
    ],
)
def test_a_broken_record_is_reported_by_file_record_and_field(load: Open, change: dict[str, Any], expected: str) -> None:
    asked = change.pop("qa", question([]))
    with pytest.raises(DataError) as error:
        one(load, asked, **change)
    assert "data.json: record 1 (conv-1)" in str(error.value) and f"field {expected}:" in str(error.value)


def test_the_same_conversation_twice_is_an_error(load: Open) -> None:
    with pytest.raises(DataError, match="'conv-1' occurs twice"):
        list(load("locomo", sample(question([])) * 2).cases())


def test_an_unknown_option_names_the_known_ones(load: Open) -> None:
    with pytest.raises(ConfigError, match="captions"):
        load("locomo", sample(), caption=True)
    with pytest.raises(ConfigError, match="options.captions"):
        load("locomo", sample(), captions="yes")
