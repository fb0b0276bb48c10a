"""BEAM, ConvoMem, PersonaMem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import DataError
from memeval.core.types import QuestionType
from memeval.run.phases import asked

from .conftest import Open, lines, put


def message(role: str, number: int, text: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "id": number, "content": text, **more}


CHAT = [
    {
        "batch_number": 1,
        "time_anchor": "March-15-2024",
        "turns": [
            [message("user", 0, "I have two cats. ->-> 1,1"), message("assistant", 1, "Nice -> really.")],
            [message("user", 2, "Bye ->-> 1,N/A")],
        ],
    },
    {
        "batch_number": 2,
        "time_anchor": None,
        "turns": [[message("user", 3, "Three cats now.\n->-> 2,10", time_anchor="April-02-2024")]],
    },
]


def probe(**more: Any) -> dict[str, Any]:
    return {"question": "How many cats?", "rubric": ["says three"], "source_chat_ids": [0, 3], **more}


def beam(load: Open, tmp_path: Path, probes: Any, chat: Any = CHAT) -> Any:
    put(tmp_path / "beam/100K/7/chat.json", chat)
    put(tmp_path / "beam/100K/7/probing_questions/probing_questions.json", probes)
    (case,) = load("beam", tmp_path / "beam").cases()
    return case


def test_beam_takes_the_marker_off_and_dates_its_batches(load: Open, tmp_path: Path) -> None:
    case = beam(load, tmp_path, {})
    assert case.id == "100K/7"
    assert [turn.text for session in case.sessions for turn in session.turns] == [
        "I have two cats.",
        "Nice -> really.",
        "Bye",
        "Three cats now.",
    ]
    assert [str(session.at)[:10] for session in case.sessions] == ["2024-03-15", "2024-04-02"]


@pytest.mark.parametrize("key", ["answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance"])
def test_beam_finds_the_gold_under_each_of_its_names(load: Open, tmp_path: Path, key: str) -> None:
    (question,) = beam(load, tmp_path, {"summarization": [probe(**{key: "three"})]}).questions
    assert question.answers == ("three",)
    assert question.metadata["rubric"] == ("says three",)
    assert question.evidence_turns == ("s1:1", "s2:1")
    assert question.category == "summarization"


@pytest.mark.parametrize("ids", [[0, 3], {"first": [0], "later": [3]}, [[0], [3]], {"a": {"b": 0}, "c": 3}, ["0", "3"]])
def test_beam_source_ids_have_many_forms(load: Open, tmp_path: Path, ids: Any) -> None:
    (question,) = beam(load, tmp_path, {"knowledge_update": [probe(source_chat_ids=ids)]}).questions
    assert question.evidence_turns == ("s1:1", "s2:1")


def test_beam_questions_without_gold_or_evidence(load: Open, tmp_path: Path) -> None:
    case = beam(load, tmp_path, {"abstention": [probe(source_chat_ids=None), probe(source_chat_ids=[99], rubric="one point")]})
    first, second = case.questions
    assert first.type is QuestionType.ABSTENTION and first.answers == () and first.evidence_turns == ()
    assert second.metadata == {"rubric": ("one point",), "unresolved_evidence": ("99",)}


def test_beam_plans_of_the_longest_chats_and_rows_of_the_hub(load: Open, tmp_path: Path) -> None:
    case = beam(load, tmp_path, {}, [{"plan-1": CHAT[:1]}, {"plan-2": CHAT[1:]}])
    assert len(case.sessions) == 2
    row = {"conversation_id": "12", "chat": CHAT, "probing_questions": repr({"event_ordering": [probe(answer="a, b")]})}
    (case,) = load("beam", put(tmp_path / "rows.jsonl", lines([row]))).cases()
    assert (case.id, case.questions[0].type) == ("12", QuestionType.TEMPORAL)


@pytest.mark.parametrize(
    ("probes", "expected"),
    [
        ({"summarization": [{"question": "Q"}]}, "summarization[0].answer"),
        ({"juggling": [probe()]}, "juggling[0]"),
        ({"summarization": [probe(question=None)]}, "summarization[0].question"),
    ],
)
def test_beam_reports_broken_probes(load: Open, tmp_path: Path, probes: Any, expected: str) -> None:
    with pytest.raises(DataError) as error:
        beam(load, tmp_path, probes)
    assert f"field {expected}:" in str(error.value) and "probing_questions.json" in str(error.value)


def test_beam_without_probes_says_where_they_belong(load: Open, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="probing_questions.json"):
        list(load("beam", put(tmp_path / "x" / "chat.json", CHAT)).cases())


def item(
    question: str, *messages: tuple[str, str], evidence: tuple[tuple[str, str], ...], name: str = "", **more: Any
) -> dict[str, Any]:
    def records(pairs: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
        return [{"speaker": speaker, "text": text} for speaker, text in pairs]

    conversation: dict[str, Any] = {"messages": records(messages), "containsEvidence": True} | ({"id": name} if name else {})
    return {
        "question": question,
        "answer": "red",
        "message_evidences": records(evidence),
        "conversations": [conversation],
        **more,
    }


ITEMS = [
    item(
        "Which colour?",
        ("User", "It is red."),
        ("Assistant", "ok"),
        ("User", "It  is RED."),
        evidence=(("User", "It is red."), ("User", "It is red.")),
    ),
    item("And now?", ("User", "Blue."), evidence=(("Assistant", "Blue."),), name="c2"),
]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("user_evidence", QuestionType.FACT_RECALL),
        ("assistant_facts_evidence", QuestionType.FACT_RECALL),
        ("changing_evidence", QuestionType.KNOWLEDGE_UPDATE),
        ("abstention_evidence", QuestionType.ABSTENTION),
        ("preference_evidence", QuestionType.PREFERENCE),
        ("implicit_connection_evidence", QuestionType.INFERENCE),
    ],
)
def test_convomem_takes_the_category_from_the_folder(load: Open, tmp_path: Path, folder: str, kind: QuestionType) -> None:
    put(tmp_path / "c" / folder / "1_evidence" / "x.json", {"evidence_items": ITEMS})
    first, second = load("convomem", tmp_path / "c").cases()
    assert first.id == f"{folder}/1_evidence/x:1"
    assert first.questions[0].type is kind
    assert first.questions[0].evidence_turns == ("s1:1", "s1:3")
    assert second.questions[0].evidence_turns == () and second.questions[0].metadata["unresolved_evidence"] == ("Blue.",)


def test_convomem_fillers_hide_the_evidence_and_are_the_same_each_time(load: Open) -> None:
    more = [item(f"Q{n}", ("User", f"filler {n}"), evidence=(), name=f"f{n}") for n in range(5)]
    items = [entry | {"category": "user_evidence"} for entry in [*ITEMS, *more]]
    made = [next(iter(load("convomem", items, fillers=3).cases())) for _ in range(2)]
    assert made[0] == made[1]
    assert len(made[0].sessions) == 4
    (question,) = made[0].questions
    evidence = {session.id: session for session in made[0].sessions}[question.evidence_sessions[0]]
    assert evidence.turns[0].text == "It is red."


def test_convomem_reports_an_item_without_a_category_or_with_a_strange_speaker(load: Open) -> None:
    with pytest.raises(DataError, match="record 1: field evidence_category"):
        list(load("convomem", ITEMS).cases())
    strange = item("Q", ("Robot", "x"), evidence=(), category="user_evidence")
    with pytest.raises(DataError, match=r"conversations\[0\].messages\[0\].speaker"):
        list(load("convomem", [strange]).cases())


COLUMNS = """persona_id question_id question_type topic user_question_or_message correct_answer all_options shared_context_id
    end_index_in_shared_context"""
HEADER = ",".join(COLUMNS.split()) + "\n"
CONTEXT = {
    "ctx": [
        {"role": "system", "content": "Profile of Kim"},
        {"role": "user", "content": "User: I like tea"},
        {"role": "assistant", "content": "Good"},
        {"role": "system", "content": "Profile of Kim"},
        {"role": "user", "content": "User: now coffee"},
    ]
}


def personamem(tmp_path: Path, *rows: str, contexts: Any = (CONTEXT,)) -> Path:
    put(tmp_path / "p" / "questions_32k.csv", HEADER + "".join(rows))
    put(tmp_path / "p" / "shared_contexts_32k.jsonl", lines(list(contexts)))
    return tmp_path / "p"


def row(name: str, end: int, kind: str = "track_full_preference_evolution", answer: str = "(b)", context: str = "ctx") -> str:
    options = "\"['(a) tea, (hot)', '(b) it''s coffee']\"".replace("''", "\\'")
    return f'0,{name},{kind},drinks,"What, now?",{answer},{options},{context},{end}\n'


def test_personamem_shows_no_more_of_a_context_than_was_said(load: Open, tmp_path: Path) -> None:
    early, late = load("personamem", personamem(tmp_path, row("q2", 5), row("q1", 3), row("q3", 5))).cases()
    assert [case.id for case in (early, late)] == ["ctx:3", "ctx:5"]
    assert [[turn.text for turn in session.turns] for session in early.sessions] == [
        ["Profile of Kim", "User: I like tea", "Good"]
    ]
    assert [len(session.turns) for session in late.sessions] == [3, 1]
    assert [question.id for question in late.questions] == ["q2", "q3"]
    question = late.questions[0]
    assert (question.text, question.answers) == ("What, now?", ("(b)",))
    assert question.metadata["answer_text"] == "(b) it's coffee" and len(question.metadata["options"]) == 2


def test_personamem_options_reach_the_answering_model_and_not_the_search(load: Open, tmp_path: Path) -> None:
    (case,) = load("personamem", personamem(tmp_path, row("q", 3))).cases()
    assert asked(case.questions[0]) == "What, now?\n\n(a) tea, (hot)\n(b) it's coffee"
    assert case.questions[0].text == "What, now?"


def test_personamem_can_leave_the_profile_out(load: Open, tmp_path: Path) -> None:
    (case,) = load("personamem", personamem(tmp_path, row("q", 3)), persona=False).cases()
    assert [turn.text for turn in case.sessions[0].turns] == ["User: I like tea", "Good"]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (row("q", 9), "end_index_in_shared_context"),
        (row("q", 3, kind="new_kind"), "question_type"),
        (row("q", 3, answer="(z)"), "correct_answer"),
        (row("q", 3, context="none"), "shared_context_id"),
        ("0,q,track_full_preference_evolution\n", "shared_context_id"),
    ],
)
def test_personamem_reports_broken_rows(load: Open, tmp_path: Path, bad: str, expected: str) -> None:
    with pytest.raises(DataError, match=rf"questions_32k.csv: record 1.*field {expected}:"):
        list(load("personamem", personamem(tmp_path, bad)).cases())


def test_personamem_without_files_of_the_size_is_an_error(load: Open, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="questions_1M"):
        list(load("personamem", personamem(tmp_path, row("q", 3)), size="1M").cases())
