"""LongMemEval-V2's loader on a small folder in the official form, and its judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import ConfigError, DataError
from memeval.core.types import Answer, Case, QuestionType
from memeval.judges import open_judge
from memeval.models.scripted import ScriptedModel
from memeval.prompts.files import Prompt
from memeval.prompts.official import Official

from .conftest import Open, lines, put

STATE = {
    "state_index": 0,
    "step": 0,
    "url": "http://shop",
    "action": None,
    "thoughts": "look",
    "text": "a b c d e",
    "screenshot": "0.png",
}
TRAJECTORIES = [
    {"id": "t1", "domain": "web", "goal": "Buy tea", "outcome": "success", "states": [STATE, STATE | {"action": "click(3)"}]},
    {"id": "t2", "domain": "web", "goal": "Sell tea", "outcome": None, "states": [{**STATE, "text": ""}]},
    {
        "id": "t3",
        "domain": "enterprise",
        "goal": "Close it",
        "states": [{"url": "http://now", "accessibility_tree": "x", "thought": "y"}],
    },
]


def question(number: int, **more: Any) -> dict[str, Any]:
    base = {"id": f"q{number}", "domain": "web", "question": "Which menu?", "answer": "Orders; Ship", "image": None,
            "question_type": "procedure", "eval_function": "norm_phrase_set_match_ordered"}  # fmt: skip
    return base | more


QUESTIONS = [
    question(1),
    question(2, question_type="static-environment-abs", eval_function="llm_abstention_checker", answer="There is no such menu."),
    question(3, image="pictures/3.png"),
    question(4, domain="enterprise", question_type="errors-gotchas", eval_function="llm_gotchas_checker"),
]


def folder(path: Path, questions: Any = None, haystack: Any = None, trajectories: str = "") -> Path:
    put(path / "questions.jsonl", lines(questions or QUESTIONS))
    put(path / "trajectories.jsonl", trajectories or lines(TRAJECTORIES))
    put(path / "haystacks/lme_v2_small.json", haystack or {"q1": ["t1", "t2"], "q2": ["t1", "t2"], "q3": ["t1"], "q4": ["t3"]})
    return path


def cases(load: Open, path: Path, **options: Any) -> list[Case]:
    return list(load("longmemeval-v2", path, **options).cases())


def test_questions_of_one_haystack_share_a_scope_and_those_with_a_picture_are_left_out(load: Open, tmp_path: Path) -> None:
    web, now = cases(load, folder(tmp_path))
    assert [[q.id for q in case.questions] for case in (web, now)] == [["q1", "q2"], ["q4"]]
    assert web.questions[1].type is QuestionType.ABSTENTION
    assert [session.source_id for session in web.sessions] == ["t1", "t2"]
    assert [case.id for case in cases(load, tmp_path, domain="enterprise")] == ["small:enterprise:1"]


def test_a_trajectory_is_its_goal_its_states_and_its_outcome(load: Open, tmp_path: Path) -> None:
    web, now = cases(load, folder(tmp_path), state_words=3)
    first, second = (turn.text for turn in web.sessions[0].turns[1:3])
    assert web.sessions[0].turns[0].text == "Buy tea"
    assert first == "url: http://shop\nthought: look\na b c"
    assert second == "http://shop\nd e"
    assert web.sessions[0].turns[-1].text == "outcome: success"
    assert "action: click(3)" in web.sessions[0].turns[3].text
    assert web.sessions[1].turns[-1].text == "url: http://shop\nthought: look", "no outcome, no text of the page"
    assert now.sessions[0].turns[1].text == "url: http://now\nthought: y\nx"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"haystack": {"q1": ["t1"]}}, "q2"),
        ({"haystack": {"q1": ["lost"], "q2": ["t1"], "q4": ["t3"]}}, "lost"),
        ({"questions": [question(1, eval_function="exec|x")]}, "eval_function"),
        ({"questions": [question(1, question_type="other")]}, "question_type"),
        ({"trajectories": "{\n"}, "not JSON"),
    ],
)
def test_what_is_broken_is_named(load: Open, tmp_path: Path, broken: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        cases(load, folder(tmp_path, **broken))


def test_a_missing_file_and_an_unknown_tier_are_reported(load: Open, tmp_path: Path) -> None:
    folder(tmp_path)
    with pytest.raises(ConfigError, match="tier"):
        cases(load, tmp_path, tier="large")
    with pytest.raises(DataError, match="lme_v2_medium"):
        cases(load, tmp_path, tier="medium")


def test_answers_are_scored_by_the_function_of_the_question(load: Open, tmp_path: Path) -> None:
    web, _ = cases(load, folder(tmp_path))
    judge = open_judge("longmemeval-v2")
    for reply, value in (("Open \\boxed{Orders, then Ship}", 1.0), ("\\boxed{Ship, Orders}", 0.0), ("\\boxed{UNKNOWN}", 0.0)):
        (score,) = judge.score(web.questions[0], Answer(reply, "m", "h"))
        assert (score.metric, score.value) == ("longmemeval_v2_score", value)
    (unasked,) = judge.score(web.questions[1], Answer("It does not exist.", "m", "h"))
    assert unasked.value is None and unasked.reason.startswith("skipped")


def test_a_model_judges_with_the_official_prompt_and_gives_the_name_only_if_it_is_the_pinned_one(
    load: Open, tmp_path: Path
) -> None:
    web, _ = cases(load, folder(tmp_path))
    own = {"abstention": Prompt("o", "judge", "{question} {answer} {response} {final}"), "gotchas": Prompt("o", "judge", "")}
    for model, metrics in (("gpt-5.2-2025-12-11", ["longmemeval_v2_score"]), ("other", ["longmemeval_v2_score", "llm_accuracy"])):
        judge = open_judge(
            "longmemeval-v2", ScriptedModel(default='{"label": 1}', name=model), {"official": Official(own, "gpt-5.2")}
        )
        scores = judge.score(web.questions[1], Answer("No: \\boxed{no such menu}", "m", "h"))
        assert [score.metric for score in scores] == metrics
        assert scores[-1].value == 1.0
        assert (scores[0].value is None) is (len(scores) == 2)
    (unknown,) = judge.score(web.questions[1], Answer("\\boxed{UNKNOWN}", "m", "h"))
    assert unknown.value == 0.0
