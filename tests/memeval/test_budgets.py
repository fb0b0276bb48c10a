"""Tests of recall within token budgets, and of turn level for systems whose hits span several turns."""

from __future__ import annotations

from typing import Any

import pytest

from memeval import registry
from memeval.core.types import Retrieved
from memeval.metrics import Targets
from memeval.run.phases import BUDGETS, Gold, budget_scores, ranking_scores, sizes


def piece(*turns: str, text: str = "") -> Retrieved:
    return Retrieved(text, sessions=tuple(dict.fromkeys(turn.partition(":")[0] for turn in turns)), turns=turns)


def values(pieces: list[Retrieved], tokens: list[int], *ids: str, level: str = "turn") -> dict[str, Any]:
    gold = Gold((Targets("evidence", level, ids),))
    return {score["metric"]: score["value"] for score in budget_scores(pieces, tokens, gold)}


def test_a_budget_holds_the_first_pieces_that_fit_whole() -> None:
    pieces = [piece("s1:1"), piece("s2:1"), piece("s3:1")]
    found = values(pieces, [600, 500, 900], "s1:1", "s2:1", "s3:1")
    shares = [found[f"turn.recall_fraction@{budget}tokens"] for budget in BUDGETS]
    assert shares == pytest.approx([1 / 3, 1, 1])
    assert [found[f"turn.recall_all@{budget}tokens"] for budget in BUDGETS] == [0.0, 1.0, 1.0]


def test_a_piece_that_is_larger_than_the_budget_hands_over_nothing() -> None:
    assert values([piece("s1:1", "s1:2")], [5000], "s1:1")["turn.recall_fraction@4000tokens"] == 0.0
    assert values([], [], "s1:1")["turn.recall_fraction@4000tokens"] == 0.0


def test_systems_of_any_piece_have_recall_at_a_budget() -> None:
    found = values([piece("s1:1", "s1:2", "s1:3")], [900], "s1:2")
    assert found["turn.recall_fraction@1000tokens"] == 1.0
    unknown = values([Retrieved("no source")], [10], "s1:2")
    assert set(unknown.values()) == {None}


def test_a_system_whose_piece_is_not_a_turn_has_no_turn_recall() -> None:
    gold = Gold((Targets("evidence", "turn", ("s1:1",)), Targets("evidence", "session", ("s1",))))
    metric = [registry.metric.get("recall_any")]
    scores = {score["metric"]: score for score in ranking_scores([piece("s1:1", "s1:2")], gold, metric, (1,), single_turns=False)}
    assert (scores["turn.recall_any@1"]["status"], scores["session.recall_any@1"]["value"]) == ("skipped", 1.0)
    assert "not single turns" in scores["turn.recall_any@1"]["reason"]


def test_sizes_are_recorded_for_all_pieces() -> None:
    assert sizes({"retrieved": [{"text": "", "tokens": 7}, {"text": "abcd"}]}) == [7, 1]
