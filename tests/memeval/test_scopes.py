"""Tests of the case names that systems under test see."""

from __future__ import annotations

from memeval.run.phases import scope_of

TEMPLATE = "memeval-${benchmark}-${caseId}-${runId}"


def test_a_scope_does_not_tell_that_a_question_has_no_answer() -> None:
    plain, hidden = (scope_of(TEMPLATE, "r1", "longmemeval-s", case) for case in ("0a1b2c3d", "0a1b2c3d_abs"))
    assert "abs" not in hidden and "0a1b2c3d" not in hidden
    assert len(plain) == len(hidden) and plain != hidden


def test_a_scope_is_the_same_again_and_another_one_for_another_run_case_or_benchmark() -> None:
    scope = scope_of(TEMPLATE, "r1", "locomo", "conv-1")
    assert scope == scope_of(TEMPLATE, "r1", "locomo", "conv-1")
    others = {scope_of(TEMPLATE, "r2", "locomo", "conv-1"), scope_of(TEMPLATE, "r1", "locomo", "conv-2")}
    assert scope not in others | {scope_of(TEMPLATE, "r1", "beam", "conv-1")}


def test_a_template_without_case_or_run_still_gives_each_its_own_scope() -> None:
    assert scope_of("same", "r1", "b", "c1") != scope_of("same", "r1", "b", "c2")
    assert scope_of("same", "r1", "b", "c1") != scope_of("same", "r2", "b", "c1")
