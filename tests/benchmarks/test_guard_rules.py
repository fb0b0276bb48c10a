from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.guard_rules import ROOT, compiled, main
from memeval.benchmarks.rule_compliance import score, sessions


def test_the_guard_catches_what_breaks_a_generated_rule_and_touches_nothing_else() -> None:
    counts = score(compiled, sessions(300, seed=3))["all"]
    assert counts.violations > 500
    assert counts.caught_share >= 0.95
    assert counts.touched == 0, counts.wrong


RULES = ["Never run deploy-all.", "conf/live.toml: hands off"]
CALLS = [
    {"tool": "Bash", "input": {"command": "deploy-all now"}, "violates": True},
    {"tool": "Bash", "input": {"command": "deploy-one"}, "violates": False},
    {"tool": "Edit", "input": {"file_path": f"{ROOT}/conf/live.toml", "new_string": "x"}, "violates": True},
]


@pytest.mark.parametrize("door", ["reader", "settle"])
def test_an_answer_that_a_person_writes_for_a_model_is_scored_through_the_products_validation(
    door: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"rule": RULES[0], "kind": "a", "calls": CALLS[:2]}, {"rule": RULES[1], "kind": "b", "calls": CALLS[2:]}]
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(rows))
    assert main([str(file), "--ask", str(tmp_path), "--door", door]) == 0
    asked = (tmp_path / "ask_1.md").read_text()
    assert all(rule in asked for rule in RULES) and "deploy-one" not in asked

    checks = [[{"kind": "command", "words": ["deploy-all"]}], [{"kind": "path", "paths": ["nobody-said-this"]}]]
    common = {"kind": "rule", "polarity": "dont", "importance": 3, "confidence": 0.9}
    both = list(zip(RULES, checks, strict=True))
    if door == "reader":
        entries = [
            {"content": rule, "check": check, "scope": "project", "evidence": [at], **common}
            for at, (rule, check) in enumerate(both, 1)
        ]
        answer = {"candidates": entries, "handoff": ""}
    else:
        answer = {
            "items": [{"id": f"r{at:03}", "content": rule, "check": check, **common} for at, (rule, check) in enumerate(both, 1)]
        }
    (tmp_path / "answer_1.json").write_text(json.dumps(answer))
    assert main([str(file), "--answers", str(tmp_path), "--door", door]) == 0
    shown = capsys.readouterr().out
    assert "by the model: 1" in shown and "kept: 2" in shown
    assert "| a | 1 | 1 (100.0%) | 1 | 0 (0.0%) |" in shown
