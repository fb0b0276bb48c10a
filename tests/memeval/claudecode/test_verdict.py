"""Tests of the conclusions that a given amount of data allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memeval.claudecode.grid import cell_values, compare_all, lines_of

HAIKU, OPUS = "claude-haiku-4-5", "claude-opus-5-5"


def result(arm: str, model: str, right: Sequence[float | None], errors: Sequence[str] = (), repeat: int = 1) -> dict[str, Any]:
    """Build parts of a result file; a value None with an error is a failed question."""
    questions = []
    for place, value in enumerate(right):
        error = errors[place] if place < len(errors) else ""
        score = [] if error else [{"metric": "contains", "value": value, "status": "unscored" if value is None else "scored"}]
        failed = {"status": "failed", "error": {"phase": "answer", "message": error}} if error else {"status": "done"}
        questions.append(
            {"id": f"q{place}", "case_id": f"c{place}", "type": "fact_recall", "question": "?", "scores": score, **failed}
        )
    return {
        "run_id": f"{arm}-{model}-{repeat}",
        "benchmark": {"name": "b"},
        "provider": {"name": arm},
        "metrics": {"contains": {"total": len(right), "scored": len(right)}},
        "questions": questions,
        "claudecode": {"arm": arm, "model": model, "repeat": repeat},
    }


def verdicts(*results: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["kind"], one["verdict"]) for one in compare_all(cell_values(results), 1)["comparisons"]]


def test_a_clear_gain_pays_and_a_clear_loss_harms() -> None:
    assert verdicts(result("plugin", HAIKU, [1.0] * 10), result("off", HAIKU, [0.0] * 10)) == [("memory", "pays")]
    assert verdicts(result("plugin", HAIKU, [0.0] * 10), result("off", HAIKU, [1.0] * 10)) == [("memory", "harms")]


def test_few_questions_say_nothing_however_large_the_difference() -> None:
    assert verdicts(result("plugin", HAIKU, [1.0] * 4), result("off", HAIKU, [0.0] * 4)) == [("memory", "not enough data to say")]


def test_holm_raises_p_values_when_there_are_several_comparisons() -> None:
    off = result("off", HAIKU, [0.0] * 6)
    (alone,) = compare_all(cell_values([result("plugin", HAIKU, [1.0] * 6), off]), 1)["comparisons"]
    many = compare_all(cell_values([result("plugin", HAIKU, [1.0] * 6), result("builtin", HAIKU, [1.0] * 6), off]), 1)[
        "comparisons"
    ]
    assert alone["p_holm"] == alone["p"] < 0.05
    assert all(one["p_holm"] > 0.05 for one in many)


def test_a_crash_is_left_out_and_a_timeout_is_wrong() -> None:
    errors = ["crash: it ended", "timeout: too slow"]
    cells = cell_values([result("plugin", HAIKU, [None, None, 1.0], errors), result("off", HAIKU, [1.0, 1.0, 1.0])])
    (one,) = compare_all(cells, 1)["comparisons"]
    assert (one["questions"], one["left_out"], one["losses"]) == (2, 1, 1)


def test_unscored_is_neither_right_nor_wrong() -> None:
    cells = cell_values([result("plugin", HAIKU, [None, 1.0]), result("off", HAIKU, [0.0, 0.0])])
    (one,) = compare_all(cells, 1)["comparisons"]
    assert (one["questions"], one["left_out"]) == (1, 1)


def test_the_question_of_the_grid_has_one_line() -> None:
    summary = compare_all(cell_values([result("plugin", HAIKU, [1.0, 0.0] * 50), result("off", OPUS, [1.0, 0.0] * 50)]), 1)
    (line,) = lines_of(summary)
    assert "Does Haiku with memory reach the Opus baseline? " in line
    assert "yes, within 5 points" in line
    below = verdicts(result("plugin", HAIKU, [0.0] * 20), result("off", OPUS, [1.0] * 20))
    assert below == [("grid", "no, it stays below")]


def test_a_few_questions_show_nothing_to_be_within_a_margin() -> None:
    assert verdicts(result("plugin", HAIKU, [1.0] * 4), result("off", OPUS, [1.0] * 4)) == [("grid", "not enough data to say")]


def test_a_grid_of_other_models_is_asked_about_by_their_names() -> None:
    cells = cell_values([result("plugin", "small-1", [1.0] * 20), result("off", "large-1", [0.0] * 20)])
    assert compare_all(cells, 1)["comparisons"] == []
    (line,) = lines_of(compare_all(cells, 1, ("small-1", "large-1")))
    assert "Does small-1 with memory reach the large-1 baseline? " in line


def test_repeats_are_joined_and_their_spread_is_told() -> None:
    runs = [result("off", HAIKU, [1.0, 0.0]), result("off", HAIKU, [1.0, 1.0], repeat=2)]
    summary = compare_all(cell_values([*runs, result("plugin", HAIKU, [1.0, 1.0])]), 1)
    (spread,) = summary["variance"]
    assert spread["mean"] == 0.75
    assert round(spread["standard_deviation"], 3) == 0.354
    (one,) = summary["comparisons"]
    assert one["second_mean"] == 0.75
    assert one["test"] == "paired permutation"
