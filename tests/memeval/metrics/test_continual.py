"""Continual learning: the paper's formulas with figures computed by hand, and values that can't be known.

The authors' repository contains no code for these formulas (its README only mentions them), so nothing official could
be run. The expected values follow sections 7 and 7.1 of the paper.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.metrics.continual import Attempt, cl_f, cl_score, continual, learning_curve, tool_use_efficiency


def first(task: int, value: float | None, sequence: str = "s", seconds: float | None = None) -> Attempt:
    return Attempt(sequence, f"t{task}", task, value, seconds=seconds)


def again(task: int, value: float | None, sequence: str = "s") -> Attempt:
    return Attempt(sequence, f"t{task}", task, value, again=True)


def test_a_sequence_with_known_figures() -> None:
    attempts = [first(1, 1), first(2, 1), first(3, 0), first(4, 1), again(1, 1), again(2, 0), again(3, 0)]
    found = continual(attempts, {"t1": 1, "t2": 0, "t3": 0, "t4": 0.0})
    assert found.accuracy == 2 / 4, "tasks 1, 2, 3 at the end: 1, 0, 0; the last one at its first attempt: 1"
    assert found.plasticity == 3 / 4
    assert found.forgetting == pytest.approx(1 / 3), "(1-1) + (1-0) + (0-0) over three tasks"
    assert found.stability == pytest.approx(2 / 3)
    assert found.backward_transfer == pytest.approx(-1 / 3)
    assert found.forward_transfer == pytest.approx(2 / 3), "tasks 2 to 4: 1, 0, 1; task 1 has nothing before it"
    assert found.learning_curve_area == pytest.approx((1 + 1 + 2 / 3 + 3 / 4) / 4)
    balanced = 2 * (3 / 4) * (2 / 3) / (3 / 4 + 2 / 3)
    assert found.cl_f == pytest.approx(balanced)
    assert found.cl_score == pytest.approx(1 / 2 - 1 / 3 + 2 / 3 - 1 / 3 + (1 + 1 + 2 / 3 + 3 / 4) / 4 + balanced)
    assert (found.scored, found.asked_again, found.compared) == (4, 3, 3)
    assert found.curve == {1: 1.0, 2: 1.0, 3: 0.0, 4: 1.0}


def test_figures_are_means_over_sequences_whatever_their_length() -> None:
    long = [first(number, 1, "a") for number in range(1, 5)]
    found = continual([*long, first(1, 0, "b")])
    assert found.plasticity == 0.5
    assert found.learning_curve_area == 0.5


def test_what_is_not_known_is_none_and_not_zero() -> None:
    found = continual([first(1, 1), first(2, None)])
    assert (found.plasticity, found.scored) == (1.0, 1)
    unknown = (found.accuracy, found.forgetting, found.stability, found.backward_transfer, found.forward_transfer)
    assert set(unknown) == {None}
    assert found.cl_f is found.cl_score is found.tool_use_efficiency is None
    assert continual([]).plasticity is None
    assert continual([first(1, None), again(1, 1)]).asked_again == 0


def test_tasks_that_are_solved_later_give_backward_transfer() -> None:
    found = continual([first(1, 0), first(2, 0), again(1, 1)])
    assert (found.forgetting, found.backward_transfer, found.stability) == (-1.0, 1.0, 2.0)


def test_the_balance_weighs_learning_or_keeping_by_beta() -> None:
    assert cl_f(1.0, 0.5) == pytest.approx(2 / 3)
    # (1 + 1/4) · 1 · 1/2 / (1/4 · 1 + 1/2)
    assert cl_f(1.0, 0.5, 0.5) == pytest.approx(0.625 / 0.75)
    assert cl_f(0.0, 0.0) == 0.0
    assert cl_f(None, 1.0) is None
    assert cl_score(1.0, None, 0.0, 0.0, 1.0, 1.0) is None


def test_tool_use_compares_the_median_times_of_solved_and_all_tasks() -> None:
    assert tool_use_efficiency([first(1, 1, seconds=10), first(2, 0, seconds=40), first(3, 1, seconds=30)]) == 20 / 30
    assert tool_use_efficiency([first(1, 0, seconds=10)]) is None
    assert tool_use_efficiency([first(1, 1)]) is None


def test_tasks_of_the_same_name_in_two_sequences_are_kept_apart() -> None:
    attempts = [Attempt("a", "t", 1, 1), Attempt("b", "t", 1, 0), Attempt("a", "t", 1, 0, again=True)]
    assert continual(attempts).forgetting == 1.0
    assert learning_curve(attempts[:2]) == {1: 0.5}


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0.0, 1.0, None]), st.booleans()), max_size=20))
def test_shares_stay_in_their_ranges(rows: list[tuple[int, float | None, bool]]) -> None:
    found = continual([Attempt("s", f"t{n}", n, value, more) for n, value, more in rows], {f"t{n}": 0.0 for n in range(6)})
    for value in (found.plasticity, found.forward_transfer, found.accuracy, found.learning_curve_area):
        assert value is None or 0 <= value <= 1
    for value in (found.backward_transfer, found.forgetting):
        assert value is None or -1 <= value <= 1
