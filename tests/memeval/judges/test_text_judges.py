from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memeval import registry
from memeval.core.errors import ConfigError
from memeval.core.types import Answer, Question, QuestionType, Score
from memeval.judges import open_judge
from memeval.judges.text import letter


def question(*golds: str, kind: QuestionType = QuestionType.FACT_RECALL) -> Question:
    return Question("q", "?", kind, golds)


def judged(judge: str, asked: Question, answer: str, **options: Any) -> Score:
    (score,) = open_judge(judge, None, options).score(asked, Answer(answer, "m", "h"))
    return score


def test_all_judges_are_registered() -> None:
    assert {"choice", "contains", "exact", "f1", "llm", "rouge_l", "rubric", "semantic"} <= set(registry.judge.names())


@pytest.mark.parametrize(
    ("judge", "answer", "golds", "expected"),
    [
        ("exact", "The Oslo.", ["oslo"], 1.0),
        ("exact", "In Oslo", ["oslo"], 0.0),
        ("contains", "In Oslo", ["bergen", "oslo"], 1.0),
        ("f1", "red car", ["blue", "red"], 2 / 3),
        ("rouge_l", "b a", ["b c"], 2 / 3),  # 'a' goes: b | b c
        ("choice", "It is (a), no: (B)", ["(b)"], 1.0),
        ("choice", "none fits", ["(a)"], 0.0),
    ],
)
def test_values_against_hand_computed_ones(judge: str, answer: str, golds: list[str], expected: float) -> None:
    score = judged(judge, question(*golds), answer)
    assert (score.metric, score.judge) == (judge, judge)
    assert score.value == pytest.approx(expected)


@pytest.mark.parametrize("judge", ["exact", "contains", "f1", "rouge_l", "choice"])
def test_abstention_is_right_where_nothing_is_known(judge: str) -> None:
    asked = question("never told", kind=QuestionType.ABSTENTION)
    assert judged(judge, asked, "I don't know.").value == 1.0
    assert judged(judge, asked, "Oslo").value == 0.0


@pytest.mark.parametrize("judge", ["exact", "contains", "f1", "rouge_l", "choice"])
def test_a_question_without_gold_is_skipped_and_not_wrong(judge: str) -> None:
    score = judged(judge, question(), "Oslo")
    assert score.value is None
    assert score.reason.startswith("skipped")


@pytest.mark.parametrize(
    ("kind", "answer", "gold", "expected"),
    [
        (QuestionType.MULTI_HOP, "pottery, swimming", "Pottery, camping trip", 0.5),  # category 1
        (QuestionType.TEMPORAL, "7 May 2023", "May 7th, 2023", 2 / 3),  # category 2
        (QuestionType.INFERENCE, "likely no", "Likely no; she is shy", 1.0),  # category 3
        (QuestionType.FACT_RECALL, "likely no", "Likely no; she is shy", 2 * 1 * 0.4 / 1.4),  # Category 4: 2 of 2, 2 of 5.
        (QuestionType.ABSTENTION, "Not mentioned", "", 1.0),  # category 5
        (QuestionType.ABSTENTION, "I don't know", "", 0.0),  # The official rule knows only two phrases.
    ],
)
@pytest.mark.parametrize("options", [{"protocol": "locomo"}, {"benchmark": "locomo"}])
def test_locomos_official_score_goes_by_category(
    kind: QuestionType, answer: str, gold: str, expected: float, options: dict[str, str]
) -> None:
    score = judged("f1", question(*([gold] if gold else []), kind=kind), answer, **options)
    assert score.metric == "locomo_f1"
    assert score.value == pytest.approx(expected)


def test_locomos_score_skips_what_locomo_does_not_have() -> None:
    assert judged("f1", question("x", kind=QuestionType.PREFERENCE), "x", protocol="locomo").value is None
    assert judged("f1", question(), "x", protocol="locomo").reason.startswith("skipped")


def test_semantic_similarity_takes_the_nearest_gold() -> None:
    vectors = {"said": (1.0, 0.0), "near": (0.6, 0.8), "far": (-1.0, 0.0)}

    def embed(texts: Sequence[str]) -> list[tuple[float, float]]:
        return [vectors[text] for text in texts]

    assert judged("semantic", question("far", "near"), "said", embedder=embed).value == pytest.approx(0.6)
    assert judged("semantic", question("far"), "said", embedder=embed).value == 0.0
    assert judged("semantic", question("far"), " ", embedder=embed).value == 0.0
    with pytest.raises(ConfigError, match="embedder"):
        open_judge("semantic")


@pytest.mark.parametrize(
    ("text", "expected"), [("(c)", "c"), ("C.", "c"), ("Answer: b", "b"), ("**d**", "d"), ("a bird", None), ("", None)]
)
def test_letters_of_options(text: str, expected: str | None) -> None:
    assert letter(text) == expected


def test_unknown_judges_and_options_are_named() -> None:
    with pytest.raises(ConfigError, match="'f2'"):
        open_judge("f2")
    with pytest.raises(ConfigError, match="'stem'"):
        open_judge("f1", None, {"stem": True})
