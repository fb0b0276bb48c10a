from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.errors import ConfigError, DataError, ModelError
from memeval.core.types import Answer, Question, QuestionType, Score
from memeval.judges import open_judge
from memeval.judges.base import grade, yes_or_no
from memeval.judges.llm import LLMJudge
from memeval.models import open_model
from memeval.models.scripted import Rule, ScriptedModel
from memeval.prompts import load_prompt
from memeval.prompts.official import Official, longmemeval_prompts
from memoryd.core.types import Usage
from tests.memeval.model_server import ModelServer, Reply

ANSWER = Answer("the hypothesis", "m", "h")


def question(kind: QuestionType = QuestionType.FACT_RECALL, *golds: str, **metadata: Any) -> Question:
    return Question("q", "the question", kind, golds or ("the gold",), metadata=metadata)


def judged(server: ModelServer, asked: Question, judge: str = "llm", **options: Any) -> list[Score]:
    model = open_model(f"{server.url}#judge", {"input_price": 1.0, "output_price": 2.0})
    return open_judge(judge, model, options).score(asked, ANSWER)


@pytest.mark.parametrize(("reply", "value"), [("yes", 1.0), ("Yes.", 1.0), ("**No**", 0.0), (' "no" ', 0.0), ("NO!", 0.0)])
def test_a_verdict_is_yes_or_no(server: ModelServer, reply: str, value: float) -> None:
    server.script(Reply(reply))
    (score,) = judged(server, question())
    assert (score.metric, score.value, score.reason) == ("llm_accuracy", value, reply.strip())
    assert score.usage == Usage(1, 7, 3, pytest.approx(13e-6))  # type: ignore[arg-type]


@pytest.mark.parametrize("reply", ["maybe", "yes and no", "Yes, because it says so", "The answer is correct", "1", "no\nyes"])
def test_anything_else_is_unscored(server: ModelServer, reply: str) -> None:
    server.script(Reply(reply))
    (score,) = judged(server, question())
    assert score.value is None
    assert score.reason == reply
    assert score.usage.calls == 1, "it was paid for all the same"


def test_a_judge_that_fails_is_not_a_verdict(server: ModelServer) -> None:
    for reply in (Reply("slow down", status=429, headers={"retry-after": "3"}), Reply("oops", status=503), Reply(raw=b"{")):
        server.script(reply)
        with pytest.raises(ModelError) as caught:
            judged(server, question())
        assert caught.value.transient


def test_longmemeval_is_judged_by_type_with_both_labels(server: ModelServer) -> None:
    signs = {
        QuestionType.FACT_RECALL: "every intermediate step",
        QuestionType.MULTI_HOP: "every intermediate step",
        QuestionType.TEMPORAL: "off by one",
        QuestionType.KNOWLEDGE_UPDATE: "earlier information next to the updated answer",
        QuestionType.PREFERENCE: "Rubric: the gold",
        QuestionType.ABSTENTION: "Explanation: the gold",
    }
    for kind, sign in signs.items():
        strict, official = judged(server, question(kind), protocol="longmemeval")
        prompt = server.seen[-1]["messages"][0]["content"]
        assert sign in prompt
        assert all(text in prompt for text in ("the question", "the gold", "the hypothesis"))
        assert (strict.metric, official.metric) == ("llm_accuracy", "llm_accuracy_label")
        assert (strict.value, official.value) == (1.0, 1.0)
        assert (strict.usage.calls, official.usage.calls) == (1, 0), "one call"
    assert server.seen[-1]["temperature"] == 0.0
    assert len({body["messages"][0]["content"] for body in server.seen}) == 5, "two of these types share one"


@pytest.mark.parametrize(
    ("reply", "strict", "official"), [("Yes, it does.", None, 1.0), ("It does.", None, 0.0), ("no", 0.0, 0.0)]
)
def test_the_official_label_is_yes_somewhere_in_the_reply(
    server: ModelServer, reply: str, strict: float | None, official: float
) -> None:
    server.script(Reply(reply))
    assert [score.value for score in judged(server, question(), benchmark="longmemeval-s")] == [strict, official]


def test_the_vendors_accuracy_of_locomo_leaves_category_5_out(server: ModelServer) -> None:
    (score,) = judged(server, question(QuestionType.TEMPORAL), protocol="locomo")
    assert (score.metric, score.value) == ("llm_accuracy", 1.0)
    assert "Be generous" in server.seen[0]["messages"][0]["content"]
    (left_out,) = judged(server, question(QuestionType.ABSTENTION), protocol="locomo")
    assert left_out.value is None
    assert left_out.reason.startswith("skipped: category 5")
    assert len(server.seen) == 1, "no call for it"


def test_a_question_without_gold_is_not_asked(server: ModelServer) -> None:
    asked = Question("q", "?", QuestionType.FACT_RECALL)
    assert judged(server, asked)[0].reason.startswith("skipped")
    assert not server.seen


def test_judge_model_and_prompt_are_recorded(server: ModelServer) -> None:
    (score,) = judged(server, question())
    assert score.judge == f"llm({server.url}#judge) m-1 {load_prompt('judge', 'default/judge').hash}"


def test_prompts_can_be_replaced(server: ModelServer) -> None:
    judged(server, question(QuestionType.TEMPORAL), prompt="{response} = {answer}? {question}")
    judged(server, question(QuestionType.TEMPORAL), prompt_by_type={"temporal": "T {response}{question}"})
    assert [body["messages"][0]["content"] for body in server.seen] == [
        "the hypothesis = the gold? the question", "T the hypothesisthe question",
    ]  # fmt: skip


def test_a_broken_prompt_or_a_missing_model_is_reported_before_the_run() -> None:
    with pytest.raises(ConfigError, match="placeholder"):
        open_judge("llm", ScriptedModel(default="yes"), {"prompt": "{question} only"})
    with pytest.raises(ConfigError, match="requires a model"):
        open_judge("llm")


def test_prompt_hashes_of_all_types_are_known_beforehand() -> None:
    judge = open_judge("llm", ScriptedModel(default="yes"), {"protocol": "longmemeval"})
    assert isinstance(judge, LLMJudge)
    hashes = judge.prompt_hashes()
    assert set(hashes) == {kind.value for kind in QuestionType}
    assert len(set(hashes.values())) == 5


def test_a_rubric_is_graded_point_by_point() -> None:
    model = ScriptedModel([Rule(("Requirement: first",), "yes"), Rule(("Requirement: second",), "partly")], default="no")
    judge = open_judge("rubric", model, {"benchmark": "beam"})
    score, cut = judge.score(question(rubric=["first", "second", "third", "fourth"]), ANSWER)
    assert (score.metric, score.value) == ("rubric", pytest.approx((1 + 0.5 + 0 + 0) / 4))
    assert (cut.metric, cut.value) == ("rubric_cut", pytest.approx(1 / 4)), "BEAM's code cuts a half to 0"
    assert score.usage.calls == 4
    assert score.reason == "yes; partly; no; no"


def test_the_order_of_events_is_scored_by_matched_lines() -> None:
    same = [
        Rule((f"First: {point}", f"Second: {line}"), "yes") for point, line in (("sowed", "1. sowing"), ("reaped", "2. reaping"))
    ]
    judge = open_judge("rubric", ScriptedModel([*same], default="no"), {"benchmark": "beam"})
    asked = replace(question(rubric=["sowed", "reaped"]), category="event_ordering")
    values = {score.metric: score.value for score in judge.score(asked, replace(ANSWER, text="2. reaping\n1. sowing"))}
    assert (values["event_order_f1"], values["event_order_tau"], values["event_order_score"]) == (1.0, 0.0, 0.0)
    values = {score.metric: score.value for score in judge.score(asked, replace(ANSWER, text="1. sowing\n2. reaping"))}
    assert (values["event_order_tau"], values["event_order_score"]) == (1.0, 1.0)


def test_one_unreadable_grade_leaves_the_rubric_unscored() -> None:
    model = ScriptedModel([Rule(("Requirement: first",), "yes")], default="hm")
    scores = open_judge("rubric", model).score(question(rubric=["first", "second"]), ANSWER)
    assert [score.value for score in scores] == [None, None]
    (none,) = open_judge("rubric", model).score(Question("q", "?", QuestionType.INFERENCE), ANSWER)
    assert none.reason.startswith("skipped")


@given(st.text())
def test_verdicts_never_fail_and_are_strict(reply: str) -> None:
    verdict = yes_or_no(reply)
    assert verdict in (True, False, None)
    if verdict is not None:
        assert ("yes" in reply.lower()) is verdict
        assert grade(reply) == float(verdict)


SCRIPT = """
def check(task):
    if task == "general":
        template = "General. Q {} A {} R {}"
    elif task == "temporal":
        template = "Temporal. Q {} A {} R {}"
    elif task == "update":
        template = "Update. Q {} A {} R {}"
    elif task == "preference":
        template = "Preference. Q {} A {} R {}"
    else:
        template = "Abstention. Q {} A {} R {}"
"""


def test_only_official_prompts_and_the_papers_model_give_a_result_the_benchmarks_name(tmp_path: Path) -> None:
    script = tmp_path / "evaluate.py"
    script.write_text(SCRIPT)
    official = longmemeval_prompts(script)
    assert official[QuestionType.MULTI_HOP].user == "General. Q {question} A {answer} R {response}"
    assert official[QuestionType.ABSTENTION].user.startswith("Abstention.")
    model = ScriptedModel([Rule(("Temporal. Q the question A the gold R the hypothesis",), "Yes, it is")], default="no")
    options = {"protocol": "longmemeval", "official": Official(official, "scripted", 10)}
    strict, named = open_judge("llm", model, options).score(question(QuestionType.TEMPORAL), ANSWER)
    assert (strict.value, named.metric, named.value) == (None, "longmemeval_accuracy", 1.0)
    other = open_judge("llm", model, {**options, "official": Official(official, "gpt-4o-2024-08-06")}).score(question(), ANSWER)
    own = open_judge("llm", model, {"protocol": "longmemeval"}).score(question(), ANSWER)
    assert [scores[1].metric for scores in (other, own)] == ["llm_accuracy_label"] * 2


def test_a_script_without_the_five_prompts_is_refused(tmp_path: Path) -> None:
    for text in ("x = 1", "def broken(:"):
        script = tmp_path / "evaluate.py"
        script.write_text(text)
        with pytest.raises(DataError, match=r"evaluate\.py"):
            longmemeval_prompts(script)
