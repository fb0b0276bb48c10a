"""Simulated runs of the instrument: a model whose skill depends on memory, judged by the comparisons of run_bench."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memeval import stats
from memeval.claudecode.grid import cell_values, compare_all

RUNS = 200
ARMS = ("off", "builtin", "plugin")
MODEL = "claude-haiku-4-5"


def run(random: np.random.Generator, skill: dict[str, float], conversations: int, size: int, spread: float) -> dict[str, Any]:
    """Return the summary of one run. A conversation is easier or harder for all arms, and memory helps in it more or less."""
    shared = random.normal(0, spread, conversations)
    own = {arm: random.normal(0, spread / 2, conversations) for arm in skill}
    results = []
    for arm, right in skill.items():
        chances = np.clip(right + shared + own[arm], 0, 1)
        questions = [
            {
                "id": f"q{case}-{number}",
                "case_id": f"c{case}",
                "type": "fact_recall",
                "question": "?",
                "status": "done",
                "scores": [{"metric": "contains", "value": float(random.random() < chances[case]), "status": "scored"}],
            }
            for case in range(conversations)
            for number in range(size)
        ]
        results.append(
            {
                "run_id": arm,
                "benchmark": {"name": "b"},
                "provider": {"name": arm},
                "metrics": {"contains": {"total": len(questions), "scored": len(questions)}},
                "questions": questions,
                "claudecode": {"arm": arm, "model": MODEL, "repeat": 1},
            }
        )
    return compare_all(cell_values(results), 1)


def verdicts(skill: dict[str, float], runs: int, *, conversations: int, size: int, spread: float = 0.1) -> list[str]:
    random = np.random.default_rng(11)
    found = []
    for _ in range(runs):
        primary = run(random, skill, conversations, size, spread)["comparisons"][0]
        assert primary["role"] == "primary"
        found.append(primary["verdict"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("conversations", "size"), [(40, 1), (12, 5)])
def test_where_memory_makes_no_difference_at_most_one_run_in_twenty_finds_one(conversations: int, size: int) -> None:
    arms = ARMS if size == 1 else ("off", "plugin")  # Exploratory comparisons must not matter.
    found = verdicts(dict.fromkeys(arms, 0.5), RUNS, conversations=conversations, size=size)
    assert sum(verdict != "not enough data to say" for verdict in found) / RUNS <= 0.05


@pytest.mark.slow
def test_a_true_effect_is_found_as_often_as_the_printed_power_says() -> None:
    found = verdicts({"off": 0.1, "plugin": 0.4}, RUNS, conversations=40, size=1, spread=0.0)
    assert "harms" not in found
    lost = 0.1 * 0.6
    printed = stats.power(stats.Design(40, 40, spoiled=lost), 0.3)
    assert found.count("pays") / RUNS == pytest.approx(printed, abs=0.07)


def test_a_memory_that_lies_is_found_to_harm() -> None:
    found = verdicts({"off": 0.6, "plugin": 0.15}, 20, conversations=60, size=1)
    assert found.count("harms") >= 18
    assert "pays" not in found
