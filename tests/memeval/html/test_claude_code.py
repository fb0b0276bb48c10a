"""Tests of the Claude Code section on a run's page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memeval.report.html.run_page import claude_code
from memeval.report.runs import RunResult

TOLD = {
    "arm": "plugin",
    "model": "claude-haiku-4-5",
    "sessions": {"by_status": {"done": 38, "crash": 2}},
    "four_metrics": {"efficiency": {"value": 0.03, "target": 0.1, "met": True}, "recency": {"value": None}},
    "trajectories": "sample-1.trajectories.jsonl",
}
RUN = RunResult("r", "sample", "claude-code-plugin", {}, (), {}, Path("results/v0.1/sample-1.json"))


def test_arm_sessions_targets_and_trajectories_are_shown(tmp_path: Path) -> None:
    (tmp_path / "sample-1.trajectories.jsonl").write_text("{}\n")
    text = "".join(map(str, claude_code(replace(RUN, data={"claudecode": TOLD}, path=tmp_path / "sample-1.json"))))
    for part in ("plugin", "38 done, 2 crash", "3.0 % (target 10.0 %, met)", 'href="sample-1.trajectories.jsonl"'):
        assert part in text


def test_other_runs_have_no_such_section() -> None:
    assert list(claude_code(RUN)) == []


def test_trajectories_that_are_gone_are_not_linked() -> None:
    assert "href" not in "".join(map(str, claude_code(replace(RUN, data={"claudecode": TOLD}))))
