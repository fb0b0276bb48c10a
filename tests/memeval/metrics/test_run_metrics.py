from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.metrics import (
    AnswerOutcome,
    abstention,
    accuracy,
    accuracy_gain,
    efficiency,
    latency,
    percentile,
    recency,
    relevancy,
    total_usage,
)
from memoryd.core.types import Usage


def at(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


def test_accuracy_tells_every_denominator() -> None:
    result = accuracy([
        AnswerOutcome("1", "a", 1.0), AnswerOutcome("2", "a", 0.0),
        AnswerOutcome("3", "b", 1.0), AnswerOutcome("4", "b", None, "failed"), AnswerOutcome("5", "b", None, "skipped"),
        AnswerOutcome("6", "c", 0.5), AnswerOutcome("7", "c", None),
    ])  # fmt: skip
    whole = result.overall
    assert (whole.total, whole.scored, whole.failed, whole.unscored, whole.skipped) == (6, 4, 1, 1, 1)
    assert whole.accuracy == pytest.approx(2.5 / 6), "a failure is no reason to count fewer questions"
    assert whole.accuracy_scored == pytest.approx(2.5 / 4)
    assert {name: cell.accuracy for name, cell in result.groups.items()} == {"a": 0.5, "b": 0.5, "c": 0.25}
    assert result.task_averaged == pytest.approx((0.5 + 0.5 + 0.25) / 3)


def test_accuracy_of_nothing_is_unknown() -> None:
    result = accuracy([AnswerOutcome("1", "a", None, "skipped")])
    assert result.overall.accuracy is None
    assert result.overall.accuracy_scored is None
    assert result.task_averaged is None


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(ValueError, match="question 9"):
        accuracy([AnswerOutcome("9", "a", 1.0, "lost")])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0, None])), max_size=30), st.randoms())
def test_accuracy_does_not_depend_on_the_order(pairs: list[tuple[str, float | None]], random: object) -> None:
    outcomes = [AnswerOutcome(str(number), group, value) for number, (group, value) in enumerate(pairs)]
    mixed = list(outcomes)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert accuracy(outcomes) == accuracy(mixed)


def test_abstention_precision_and_recall() -> None:
    # Abstained on 3, of which 2 rightly. 4 questions had no answer.
    result = abstention([(True, True), (True, True), (True, False), (False, True), (False, True), (False, False)])
    assert result.precision == pytest.approx(2 / 3)
    assert result.recall == pytest.approx(2 / 4)
    never = abstention([(False, False)])
    assert (never.precision, never.recall) == (None, None)


def test_percentiles_are_interpolated() -> None:
    result = latency([4.0, 1.0, 3.0, 2.0])
    assert result is not None
    # positions 1.5, 2.85, 2.97 between 1 2 3 4
    assert (result.count, result.mean, result.p50) == (4, 2.5, 2.5)
    assert result.p95 == pytest.approx(3.85)
    assert result.p99 == pytest.approx(3.97)
    assert latency([]) is None
    assert latency([0.25]).p99 == 0.25


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_percentiles_are_ordered_and_within_the_values(values: list[float]) -> None:
    ordered = sorted(values)
    got = [percentile(ordered, share) for share in (0, 0.5, 0.95, 0.99, 1)]
    assert got == sorted(got)
    assert (got[0], got[-1]) == (ordered[0], ordered[-1])


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="requires values"):
        percentile([], 0.5)


def test_usage_with_an_unknown_cost_is_of_unknown_cost() -> None:
    assert total_usage([Usage(1, 10, 2, 0.5), Usage(2, 5, 1, 0.25)]) == Usage(3, 15, 3, 0.75)
    assert total_usage([Usage(1, 10, 2, 0.5), Usage(1, 1, 1, None)]).cost_usd is None


def test_recency_asks_for_the_freshest_relevant_item_at_the_top() -> None:
    dates = {"old": at(1), "new": at(2), "other": at(3)}
    assert recency([["new"], ["old"]], ["old", "new"], dates) == 1.0
    assert recency([["old"], ["new"]], ["old", "new"], dates) == 0.0
    assert recency([["other"], ["new"]], ["old", "new"], dates) == 0.0
    assert recency([], ["new"], dates) == 0.0
    assert recency([["new"]], [], dates) is None
    assert recency([["x"]], ["x"], dates) is None, "no date"
    assert recency([[]], ["new"], dates) is None, "no source"
    same = {"p": at(2), "q": at(2)}
    assert recency([["q"]], ["p", "q"], same) == 1.0


def test_efficiency_is_the_share_of_memory() -> None:
    assert efficiency(300, 1200) == 0.25
    assert efficiency(300, 0) is None
    assert efficiency(130, 100) == 1.0, "an estimate may be above the model's own count"


def test_relevancy_is_the_mean_cosine() -> None:
    # cosines 1, 0 and -1... and 3-4-5: (3, 4)·(1, 0) / 5 = 0.6
    assert relevancy([1, 0], [[2, 0], [0, 3]]) == pytest.approx(0.5)
    assert relevancy([1, 0], [[3, 4]]) == pytest.approx(0.6)
    assert relevancy([1, 0], [[0, 0]]) == 0.0
    assert relevancy([1, 0], []) is None
    with pytest.raises(ValueError, match="zip"):
        relevancy([1, 0], [[1, 0, 0]])


def test_the_gain_of_memory_is_over_common_questions() -> None:
    gain = accuracy_gain({"1": 1.0, "2": 1.0, "3": 0.0, "4": None}, {"1": 0.0, "2": 1.0, "3": None, "5": 1.0})
    assert gain is not None
    assert (gain.questions, gain.on, gain.off, gain.gain, gain.left_out) == (2, 1.0, 0.5, 0.5, 3)
    assert accuracy_gain({"1": None}, {"1": 1.0}) is None
