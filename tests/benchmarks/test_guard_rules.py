from __future__ import annotations

from benchmarks.guard_rules import compiled
from memeval.benchmarks.rule_compliance import score, sessions


def test_the_guard_catches_what_breaks_a_generated_rule_and_touches_nothing_else() -> None:
    counts = score(compiled, sessions(300, seed=3))["all"]
    assert counts.violations > 500
    assert counts.caught_share >= 0.95
    assert counts.touched == 0, counts.wrong
