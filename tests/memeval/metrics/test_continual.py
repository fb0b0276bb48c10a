"""Continual learning: formulas with known answers, and what can't be known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.metrics.continual import (
    Attempt,
    backward_transfer,
    cl_score,
    continual,
    forgetting,
    learning_curve,
    tool_efficiency,
)


def first(task: int, value: float | None) -> Attempt:
    return Attempt("s", f"t{task}", task, value)


def again(task: int, value: float | None) -> Attempt:
    return Attempt("s", f"t{task}", task, value, again=True)


def test_a_sequence_with_known_figures() -> None:
    attempts = [first(1, 1), first(2, 1), first(3, 0), first(4, 1), again(1, 1), again(2, 0), again(3, 1)]
    found = continual(attempts, {"t1": 1, "t2": 0, "t3": 0, "t4": 0.0}, tool_calls=10, tool_errors=2)
    assert found.success == 0.75
    assert found.forgetting == 0.0, "two were solved before, and two after"
    assert found.backward_transfer == 0.0
    assert found.forward_transfer == pytest.approx(2 / 3), "tasks 2 to 4; task 1 has nothing before it"
    assert found.tool_efficiency == 0.8
    assert found.cl_score == pytest.approx(0.75 * 1 * (1 + 1 / 3) * 0.8)
    assert (found.scored, found.asked_again, found.compared) == (4, 3, 3)
    assert found.curve == {1: 1.0, 2: 1.0, 3: 0.0, 4: 1.0}


def test_what_is_not_known_is_none_and_not_zero() -> None:
    found = continual([first(1, 1), first(2, None)])
    assert (found.success, found.scored) == (1.0, 1)
    assert (
        found.forgetting is found.backward_transfer is found.forward_transfer is found.tool_efficiency is found.cl_score is None
    )
    assert continual([]).success is None
    assert continual([first(1, None), again(1, 1)]).asked_again == 0


def test_forgetting_and_backward_transfer_have_opposite_signs() -> None:
    assert forgetting([(1, 0), (1, 1)]) == 0.5
    assert backward_transfer([(1, 0), (1, 1)]) == -0.5
    assert forgetting([(0, 1)]) is None, "nothing was known that could be forgotten"
    assert backward_transfer([(0, 1)]) == 1.0


def test_all_forgotten_gives_a_score_of_zero() -> None:
    assert cl_score(1.0, 1.0, 0.0, -1.0, 1.0) == 0.0
    assert cl_score(1.0, None, 0.0, 0.0, 1.0) is None
    assert tool_efficiency(0, 0) is None


def test_tasks_of_the_same_name_in_two_sequences_are_kept_apart() -> None:
    attempts = [Attempt("a", "t", 1, 1), Attempt("b", "t", 1, 0), Attempt("a", "t", 1, 0, again=True)]
    assert continual(attempts).forgetting == 1.0
    assert learning_curve(attempts[:2]) == {1: 0.5}


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0.0, 1.0, None]), st.booleans()), max_size=20))
def test_shares_stay_in_their_ranges(rows: list[tuple[int, float | None, bool]]) -> None:
    found = continual([Attempt("s", f"t{n}", n, value, more) for n, value, more in rows], {f"t{n}": 0.0 for n in range(6)})
    for value in (found.success, found.forward_transfer):
        assert value is None or 0 <= value <= 1
    assert found.backward_transfer is None or -1 <= found.backward_transfer <= 1
    assert found.forgetting is None or found.forgetting <= 1
