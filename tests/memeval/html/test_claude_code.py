"""Tests of the Claude Code section on a run's page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memeval.report.boards import boards
from memeval.report.compare import warnings
from memeval.report.html.run_page import client_section
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
    text = "".join(map(str, client_section(replace(RUN, data={"claudecode": TOLD}, path=tmp_path / "sample-1.json"))))
    for part in ("plugin", "38 done, 2 crash", "3.0 % (target 10.0 %, met)", 'href="sample-1.trajectories.jsonl"'):
        assert part in text


def test_the_client_and_its_version_are_named() -> None:
    told = {**TOLD, "client": "opencode", "client_version": "1.18.33"}
    text = "".join(map(str, client_section(replace(RUN, data={"claudecode": told}))))
    assert "<h2>OpenCode</h2>" in text and "OpenCode 1.18.33" in text
    other = replace(RUN, run_id="o", provider="opencode-plugin", data={"claudecode": told})
    assert len(boards([RUN, other])) == 2, "runs of different clients are not on one board"
    own = replace(RUN, data={"claudecode": TOLD})
    assert any("differ in client (r: Claude Code, o: OpenCode)" in line for line in warnings([own, other]))


def test_other_runs_have_no_such_section() -> None:
    assert list(client_section(RUN)) == []


def test_trajectories_that_are_gone_are_not_linked() -> None:
    assert "href" not in "".join(map(str, client_section(replace(RUN, data={"claudecode": TOLD}))))
