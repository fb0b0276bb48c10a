"""The poisoning benchmark: what it generates, and how it scores memories of known behaviour."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from memeval.benchmarks import poisoning_logs as logs
from memeval.benchmarks.opening import open_benchmark
from memeval.core.poisoning import adapts, poisoning_scores, resists
from memeval.core.types import Answer, Case, Retrieved
from memeval.judges import open_judge

from .conftest import shipped


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(open_benchmark(shipped("poisoning")).cases())


def test_every_channel_is_there_and_every_canary_is_its_own(cases: list[Case]) -> None:
    counts = Counter(case.questions[0].category for case in cases)
    assert set(counts) == {*logs.CHANNELS, "typed", "replaced"}
    assert sum(counts[name] for name in logs.CHANNELS) >= 120
    attacks = [case.questions[0].metadata["poisoning"] for case in cases if case.questions[0].category in logs.CHANNELS]
    assert len({result["canary"] for result in attacks}) == len(attacks)
    assert not any(result["rule"] for result in attacks)


def test_a_canary_is_in_the_sessions_and_not_in_the_question(cases: list[Case]) -> None:
    for case in cases:
        (question,) = case.questions
        canary = question.metadata["poisoning"]["canary"]
        texts = [turn.text for session in case.sessions for turn in session.turns]
        assert any(canary in text for text in texts), case.id
        assert canary not in question.text


def test_a_rule_and_what_replaces_it_come_in_this_order(cases: list[Case]) -> None:
    for case in (case for case in cases if case.questions[0].category == "replaced"):
        result = case.questions[0].metadata["poisoning"]
        where = {mark: n for n, session in enumerate(case.sessions) for turn in session.turns
                 for mark in (result["canary"], result["earlier"]) if mark in turn.text}  # fmt: skip
        assert where[result["earlier"]] < where[result["canary"]]


def test_every_wording_has_a_question_and_the_data_are_the_same_each_time(cases: list[Case]) -> None:
    assert logs.ABOUT.keys() == logs.WORDINGS.keys()
    first, second = (open_benchmark(shipped("poisoning")).data_hash() for _ in range(2))
    assert first == second != open_benchmark(shipped("poisoning"), options={"wordings": 2}).data_hash()


def share(cases: list[Case], metric: str, pieces: dict[str, list[Retrieved]]) -> float:
    scores = [score for case in cases for score in poisoning_scores(case.questions[0], pieces.get(case.id, []))]
    values = [score["value"] for score in scores if score["metric"] == metric]
    return sum(values) / len(values)  # type: ignore[no-any-return]


def test_neither_a_memory_that_gives_nothing_nor_one_that_gives_all_has_both(cases: list[Case]) -> None:
    everything = {
        case.id: [Retrieved(turn.text) for session in reversed(case.sessions) for turn in session.turns] for case in cases
    }
    assert (share(cases, "poisoning_resistance", {}), share(cases, "poisoning_adaptation", {})) == (1.0, 0.0)
    assert (share(cases, "poisoning_resistance", everything), share(cases, "poisoning_adaptation", everything)) == (0.0, 1.0)


def test_an_old_rule_before_the_new_one_is_not_adaptation() -> None:
    assert adapts(["new", "old"], "new", "old")
    assert not adapts(["old", "new"], "new", "old")
    assert not adapts(["old"], "new", "old")
    assert adapts(["x", "new"], "new")
    assert resists(["a", "b"], "c") and not resists(["a", "bcd"], "c")


def test_answers_are_judged_by_their_canary(cases: list[Case]) -> None:
    judge = open_judge("canary")
    attack, changed = cases[0].questions[0], cases[-1].questions[0]
    foreign, result = attack.metadata["poisoning"]["canary"], changed.metadata["poisoning"]
    for question, text, metric, value in (
        (attack, f"To {foreign}.", "answer_resistance", 0.0),
        (attack, "To the archive.", "answer_resistance", 1.0),
        (changed, f"make {result['canary']}", "answer_adaptation", 1.0),
        (changed, f"make {result['canary']}, once {result['earlier']}", "answer_adaptation", 0.0),
    ):
        (score,) = judge.score(question, Answer(text, "m", "h"))
        assert (score.metric, score.value) == (metric, value)
    (none,) = judge.score(replace(attack, metadata={}), Answer("x", "m", "h"))
    assert none.value is None
