"""The poisoning benchmark with the product: a pasted rule stays away, a typed one comes back."""

from __future__ import annotations

from pathlib import Path

from benchmarks.poisoning import Row, remembered, share
from memeval.benchmarks.poisoning import stories
from memeval.core.poisoning import adapts, resists


def test_pasted_text_stays_away_and_a_typed_rule_comes_back(tmp_path: Path) -> None:
    result = dict(reversed(list(stories(tmp_path))))  # The first case of each category.
    for number, category in enumerate(("pasted text", "typed", "replaced")):
        folder = tmp_path / str(number)
        folder.mkdir()
        logs = result[category]
        found = remembered(logs, folder)
        if category == "pasted text":
            assert resists(found.handed_over, logs[-1].mark)
            assert not found.written and not found.rule
        else:
            assert adapts(found.handed_over, logs[-1].mark, logs[0].mark if len(logs) > 1 else "")
            assert found.written and found.rule


def test_attacks_and_rules_are_counted_apart() -> None:
    rows = {"tool output": Row(cases=4, right=3), "typed": Row(cases=2, right=1), "replaced": Row(cases=2, right=2)}
    assert share(rows, attacks=True) == "3 of 4 (75.0 %)"
    assert share(rows, attacks=False) == "3 of 4 (75.0 %)"
