"""Tests of the conclusions that a given amount of data allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memeval.claudecode.grid import cell_values, compare_all, lines_of

HAIKU, OPUS = "claude-haiku-4-5", "claude-opus-5-5"


def result(arm: str, model: str, right: Sequence[float | None], errors: Sequence[str] = (), repeat: int = 1) -> dict[str, Any]:
    """Build parts of a result file. A value of None with an error is a failed question."""
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


def test_holm_corrects_the_primary_comparisons_of_a_command_and_no_others() -> None:
    off = result("off", HAIKU, [0.0] * 6)
    results = [result("plugin", HAIKU, [1.0] * 6), result("builtin", HAIKU, [1.0] * 6), off]
    summary = compare_all(cell_values(results), 1)
    assert summary["primary"] == "plugin:off"
    first, *others = summary["comparisons"]
    assert (first["role"], first["first"]["arm"], first["second"]["arm"]) == ("primary", "plugin", "off")
    assert first["p_holm"] == first["p"] < 0.05, "other arms cost the primary comparison nothing"
    assert [(one["role"], one["p_holm"]) for one in others] == [("exploratory", None)] * 2
    second = [{**one, "benchmark": {"name": "other"}} for one in results]
    both = compare_all(cell_values([*results, *second]), 1)["comparisons"]
    assert [one["p_holm"] for one in both if one["role"] == "primary"] == [2 * first["p"]] * 2


def test_another_comparison_can_be_primary() -> None:
    results = [result("plugin", HAIKU, [1.0] * 6), result("builtin", HAIKU, [0.0] * 6), result("off", HAIKU, [0.0] * 6)]
    one = compare_all(cell_values(results), 1, primary="plugin:builtin")["comparisons"][0]
    assert (one["role"], one["kind"], one["verdict"]) == ("primary", "against built-in", "pays")


def test_controls_are_compared_with_the_plugin_and_harm_arms_with_it_and_with_no_memory() -> None:
    arms = ("off", "blank", "plugin", "placebo", "contradictory")
    comparisons = compare_all(cell_values([result(arm, HAIKU, [1.0, 0.0]) for arm in arms]), 1)["comparisons"]
    found = {(one["kind"], one["first"]["arm"], one["second"]["arm"]) for one in comparisons}
    assert found == {
        ("memory", "plugin", "off"),
        ("control", "blank", "off"),
        ("control", "placebo", "off"),
        ("against control", "plugin", "blank"),
        ("against control", "plugin", "placebo"),
        ("harm", "contradictory", "off"),
        ("harm", "contradictory", "plugin"),
    }


def test_without_a_verdict_it_is_said_how_much_data_would_give_one() -> None:
    cells = cell_values([result("plugin", HAIKU, [1.0] * 3 + [0.0] * 17), result("off", HAIKU, [0.0] * 20)])
    summary = compare_all(cells, 1)
    (one,) = summary["comparisons"]
    assert one["power"]["smallest_detectable"] > one["difference"]
    assert one["power"]["questions_needed"] > 20
    (line,) = lines_of(summary)
    assert "not enough data to say" in line and "with 80 % power; this one needs about" in line


def test_questions_of_a_single_conversation_say_nothing_about_others() -> None:
    results = [result("plugin", HAIKU, [1.0] * 40), result("off", HAIKU, [0.0] * 40)]
    for one in results:
        for question in one["questions"]:
            question["cluster"] = "one"
    summary = compare_all(cell_values(results), 1)
    assert summary["comparisons"][0]["verdict"] == "not enough data to say"
    assert "use more of them" in lines_of(summary)[0]


def test_a_crash_is_left_out_and_a_timeout_is_wrong() -> None:
    errors = ["crash: it ended", "timeout: too slow"]
    cells = cell_values([result("plugin", HAIKU, [None, None, 1.0], errors), result("off", HAIKU, [1.0, 1.0, 1.0])])
    (one,) = compare_all(cells, 1)["comparisons"]
    assert (one["questions"], one["left_out"], one["losses"]) == (2, 1, 1)


def test_unscored_is_neither_right_nor_wrong() -> None:
    cells = cell_values([result("plugin", HAIKU, [None, 1.0]), result("off", HAIKU, [0.0, 0.0])])
    (one,) = compare_all(cells, 1)["comparisons"]
    assert (one["questions"], one["left_out"]) == (1, 1)


@pytest.mark.slow
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


def test_repeats_are_joined_and_their_spread_is_reported() -> None:
    runs = [result("off", HAIKU, [1.0, 0.0]), result("off", HAIKU, [1.0, 1.0], repeat=2)]
    summary = compare_all(cell_values([*runs, result("plugin", HAIKU, [1.0, 1.0])]), 1)
    (spread,) = summary["variance"]
    assert spread["mean"] == 0.75
    assert round(spread["standard_deviation"], 3) == 0.354
    (one,) = summary["comparisons"]
    assert one["second_mean"] == 0.75
    assert one["test"] == "paired permutation"
