"""Metrics of questions: one registration adds a metric, with its interval, to all runs, tables and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memeval import ConfigError, evaluate, registry
from memeval.core.types import Answer, Question, QuestionType, Retrieved, Score
from memeval.metrics.answers import headline
from memeval.metrics.questions import Observation, measures_success, question_metric, question_scores
from memoryd.core.types import Usage
from tests.memeval.conftest import Invoke

QUESTION = Question("q1", "Where is the key?", QuestionType.FACT_RECALL, ("under the pot",))


@pytest.fixture
def words() -> Iterator[str]:
    """Register two metrics for one test, as a plug-in does."""

    @question_metric("answer_words", of_answer=True, success=False)
    def answer_words(seen: Observation) -> Iterator[Score]:
        assert seen.answer is not None
        yield Score("answer_words", float(len(seen.answer.text.split())))

    @question_metric("found_anything")
    def found_anything(seen: Observation) -> Iterator[Score]:
        yield Score("found_anything", float(bool(seen.read)))

    yield "answer_words"
    for name in ("answer_words", "found_anything"):
        del registry.question_metric._parts[name]


def test_one_registration_adds_a_metric_with_an_interval(words: str, memeval: Invoke, result_of: Callable[[str], Any]) -> None:
    assert words in memeval("list", "metrics").output
    done = memeval("eval", "-b", "tiny", "-p", "notes", "-m", "parrot", "--judge", "f1", "--run-id", "r")
    assert done.exit_code == 0, done.output
    result = result_of("r")
    cell, other = result["metrics"][words], result["metrics"]["found_anything"]
    assert cell["scored"] == cell["total"] and cell["interval"] is not None and cell["by_type"]
    assert other["value"] == 1.0 and result["primary_metric"] == "f1"
    assert words in memeval("results", "r").output


def test_a_metric_without_success_is_not_a_headline_and_a_failure_is_not_a_zero_in_it(words: str) -> None:
    assert not measures_success(words) and not measures_success("answer_words_long@5") and measures_success("answers")
    assert measures_success("f1") and not measures_success("efficiency") and not measures_success("relevancy")
    assert headline([words, "efficiency", "found_anything"]) == "found_anything"


def test_metrics_of_answers_get_an_answer_and_the_others_what_was_retrieved(words: str) -> None:
    pieces = [Retrieved("the key is under the pot")]
    before = {entry["metric"]: entry for entry in question_scores(Observation(QUESTION, pieces))}
    assert set(before) == {"found_anything"}
    answer = Answer("under the pot", "m", "", Usage(1, 90, 10))
    seen = Observation(QUESTION, pieces, answer=answer, memories="the key is under the pot")
    after = {entry["metric"]: entry for entry in question_scores(seen)}
    assert set(after) == {words, "efficiency"} and after[words]["value"] == 3.0
    assert 0 < after["efficiency"]["value"] < 1 and after["efficiency"]["status"] == "scored"
    unknown = question_scores(Observation(QUESTION, pieces, answer=Answer("x", "m", ""), memories="x"))
    assert {"metric": "efficiency", "value": None, "status": "skipped", "reason": "the model does not report tokens"} in unknown


def test_a_name_can_be_registered_once_only(words: str) -> None:
    with pytest.raises(ValueError, match="registered twice"):
        question_metric(words)(lambda seen: [])


def test_evaluate_of_a_python_object_refuses_an_unknown_setting() -> None:
    with pytest.raises(ConfigError, match="Unknown setting"):
        evaluate(object(), "sample", colour="red")
