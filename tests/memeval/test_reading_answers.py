"""Tests of the readers: notes by session, and answers withheld at low confidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memeval
from memeval.core.types import Question, QuestionType, Retrieved
from memeval.models.scripted import Rule, ScriptedModel
from memeval.prompts import find_prompt
from memeval.run.phases import ReaderSetup, answer, confident
from memeval.stats.calibration import JudgedAnswer, best_threshold, calibrate, mean_at
from memoryd.core.types import Completion
from tests.memeval.current_folder import run

ASKED = Question("q", "Where does Ines live?", QuestionType.FACT_RECALL)
PIECES = [
    Retrieved("Ines moved to Trondheim.", 0.9, ("s1",), ("s1:1",)),
    Retrieved("The weather is fine.", 0.8, ("s2",), ("s2:1",)),
    Retrieved("She likes boats.", 0.7, ("s1",), ("s1:2",)),
]


class Listening(ScriptedModel):
    """Records its prompts."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: list[str] = []

    def complete(self, messages: Any, **options: Any) -> Completion:
        self.asked.append("\n".join(message.content for message in messages))
        return super().complete(messages, **options)


def reading(reader: str, below: float | None = None) -> ReaderSetup:
    return ReaderSetup(lambda question: find_prompt("answer"), reader, lambda question: find_prompt("note"), abstain_below=below)


def test_each_session_gets_a_note_and_the_answer_reads_the_notes_that_say_something() -> None:
    rules = [
        Rule(("Write down everything", "Trondheim"), "Ines lives in Trondheim; a boat lover."),
        Rule(("Write down everything",), "Empty."),
        Rule(("a boat lover",), "Trondheim"),
    ]
    model = Listening(rules)
    made = answer(model, reading("con-session"), ASKED, PIECES)
    assert made.text == "Trondheim"
    assert len(model.asked) == 3  # Two sessions, one answer.
    assert "She likes boats." in model.asked[0]
    assert "weather" not in model.asked[2]
    assert made.usage.calls == 3


@pytest.mark.parametrize(
    ("reply", "text", "confidence"),
    [
        ("Trondheim\nConfidence: 85", "Trondheim", 0.85),
        ("Trondheim\n\n**Confidence:** 85%", "Trondheim", 0.85),
        ("Trondheim\nconfidence: 250.", "Trondheim", 1.0),
        ("Trondheim", "Trondheim", None),
        ("She has confidence: 3 boats in all", "She has confidence: 3 boats in all", None),
    ],
)
def test_the_line_of_confidence_is_read_and_taken_off(reply: str, text: str, confidence: float | None) -> None:
    left, found = confident(reply)
    assert (left.strip(), found) == (text, confidence)


@given(st.text(max_size=300))
def test_any_reply_can_be_read_for_its_confidence(reply: str) -> None:
    left, found = confident(reply)
    assert reply.startswith(left)
    assert found is None or 0 <= found <= 1


def test_an_answer_below_the_threshold_is_withheld_and_kept_beside() -> None:
    model = ScriptedModel((), "Trondheim\nConfidence: 40")
    unsure = answer(model, reading("direct", 0.5), ASKED, PIECES)
    assert (unsure.text, unsure.withheld, unsure.confidence) == ("No information available.", "Trondheim", 0.4)
    sure = answer(model, reading("direct", 0.4), ASKED, PIECES)
    assert (sure.text, sure.withheld, sure.confidence) == ("Trondheim", "", 0.4)


def some(*answers: tuple[float, float, float, str]) -> list[JudgedAnswer]:
    return [JudgedAnswer(*one) for one in answers]


def test_a_threshold_is_chosen_where_withholding_is_worth_more_than_answering() -> None:
    answers = some((0.9, 1, 0, "a"), (0.8, 1, 0, "b"), (0.3, 0, 1, "a"), (0.2, 0, 1, "b"), (0.6, 0, 0, "a"))
    made = calibrate(answers)
    assert 0.3 < made.threshold <= 0.6
    assert (made.value, made.at_threshold, made.withheld) == (0.4, 0.8, 2)
    assert made.held_out == pytest.approx(0.8)
    assert made.ranking == 1.0
    assert calibrate(some((0.5, 1, 0, "a"))).threshold == 0.0
    assert calibrate(some((1.0, 0, 1, "a"))).at_threshold == 0.0  # No confidence is above 1.


judged = st.builds(
    JudgedAnswer,
    st.sampled_from([number / 20 for number in range(21)]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from("abc"),
)


@given(st.lists(judged, min_size=1, max_size=30))
def test_no_threshold_is_better_than_the_one_that_is_chosen(answers: list[JudgedAnswer]) -> None:
    chosen = mean_at(answers, best_threshold(answers))
    assert all(chosen >= mean_at(answers, number / 20) - 1e-9 for number in range(21))
    made = calibrate(answers)
    assert 0 <= made.expected_error <= 1
    assert made.ranking is None or 0 <= made.ranking <= 1


pytestmark = pytest.mark.usefixtures("own_folder")


SCRIPT = {
    "rules": [
        {"contains": "What broke the export", "reply": "the calendar library\nConfidence: 90"},
        {"contains": "Who looks at the login", "reply": "Jon\nConfidence: 80"},
        {"contains": "Where did Ines move", "reply": "To Oslo\nConfidence: 20"},
    ]
}


def test_a_run_that_asks_for_confidence_gives_the_threshold_for_the_next() -> None:
    Path("script.json").write_text(json.dumps(SCRIPT))
    assert run("init", "benchmark", "team").exit_code == 0
    asked = ("eval", "-b", "team", "-p", "bm25", "-m", "scripted/script.json")
    assert run(*asked, "--abstain-below", "0", "--run-id", "ask").exit_code == 0
    shown = run("calibrate", "ask")
    assert shown.exit_code == 0, shown.output
    assert "best threshold on these questions" in shown.output
    result = memeval.load_run(memeval.ResultsDir(Path("results")), "ask")
    assert [question.confidence for question in result.questions] == [0.9, 0.8, 0.2]
    assert result["accuracy"] == pytest.approx(2 / 3)
    reread = ("eval", "--from", "ask", "--phase", "answer", "-m", "scripted/script.json")
    again = run(*reread, "--abstain-below", "0.5", "--run-id", "sure")
    assert again.exit_code == 0, again.output
    assert memeval.load_run(memeval.ResultsDir(Path("results")), "sure")["accuracy"] == 1.0
    assert "withheld answers" in run("calibrate", "sure").output
    assert run(*asked, "--run-id", "plain").exit_code == 0
    assert "has no confidences" in run("calibrate", "plain").output
    assert run(*asked, "--abstain-below", "50").exit_code == 2


def test_a_run_with_notes_of_each_session_records_both_prompts() -> None:
    Path("script.json").write_text(json.dumps({"rules": [{"contains": "Write down", "reply": "empty"}], "default": "nobody"}))
    assert run("init", "benchmark", "team").exit_code == 0
    done = run("eval", "-b", "team", "-p", "bm25", "-m", "scripted/script.json", "--reader", "con-session", "--run-id", "r")
    assert done.exit_code == 0, done.output
    made = memeval.load_run(memeval.ResultsDir(Path("results")), "r")
    assert set(made.find("prompts")) == {"answer", "note"}
    assert made.find("usage", "answer", "calls") > 3
