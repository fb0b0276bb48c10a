"""Tests of a command's estimates before it is run: its costs, and the effects that it can detect."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from memeval.claudecode import console
from memeval.claudecode.arms import Conditions
from memeval.claudecode.command import GridRow, primary_of
from memeval.claudecode.contract import Arm
from memeval.claudecode.planning import Estimate, estimate, outlook
from memeval.claudecode.run_bench import command
from memeval.core.errors import ConfigError
from memeval.run.settings import Selection
from tests.memeval.claudecode.test_fair_arms import sample  # noqa: F401

HAIKU = "claude-haiku-4-5"
RECORDED = {
    "off": {"sessions": 4, "input_tokens": 23_124, "cost_usd": 0.023324},
    "builtin": {"sessions": 12, "input_tokens": 192_058, "cost_usd": 0.193058},
    "plugin": {"sessions": 12, "input_tokens": 133_371, "cost_usd": 0.133971},
}
"""`-b sample --limit 4` with client 2.1.332 and a scripted model that answers at once.

A token is four characters of a request.
"""


@pytest.mark.parametrize("arm", RECORDED)
def test_an_estimate_errs_upwards_by_at_most_a_half(sample: Any, arm: str) -> None:  # noqa: F811
    found = estimate(Arm(arm), HAIKU, list(sample.sequences(Selection(limit=4))), Conditions())
    recorded = RECORDED[arm]
    assert found.sessions == recorded["sessions"]
    assert 1 <= found.input_tokens / recorded["input_tokens"] <= 1.5
    assert found.cost_usd is not None
    assert 1 <= found.cost_usd / recorded["cost_usd"] <= 1.5


def test_each_arm_is_planned_with_what_it_adds(sample: Any) -> None:  # noqa: F811
    sequences = list(sample.sequences(Selection(limit=4)))
    found = {arm: estimate(arm, HAIKU, sequences, Conditions()) for arm in Arm}
    assert found[Arm.OFF].sessions == found[Arm.BLANK].sessions == found[Arm.HISTORY].sessions == 4
    assert found[Arm.PLUGIN].sessions == found[Arm.NOTES].sessions == 12
    tokens = {arm: one.input_tokens for arm, one in found.items()}
    assert tokens[Arm.OFF] < tokens[Arm.HISTORY] < tokens[Arm.PLUGIN] < tokens[Arm.BOTH]
    assert tokens[Arm.OFF] < tokens[Arm.BLANK] < tokens[Arm.PLUGIN]
    imported = estimate(Arm.PLUGIN, HAIKU, sequences, Conditions(ingest="transcripts"))
    assert imported.sessions == 4
    assert estimate(Arm.PLUGIN, "unknown", sequences, Conditions()).cost_usd is None


def test_more_conversations_find_smaller_differences(sample: Any) -> None:  # noqa: F811
    whole = list(sample.sequences(Selection()))
    found = [outlook("sample", "plugin:off", whole[:count]).smallest_detectable for count in (2, 4, 6)]
    assert [one or 1.0 for one in found] == sorted((one or 1.0 for one in found), reverse=True)
    assert "are too few to detect any difference" in outlook("sample", "plugin:off", whole[:1]).line


@pytest.mark.parametrize(
    ("arms", "primary"),
    [
        (("off", "builtin", "plugin"), "plugin:off"),
        (("off", "builtin"), "builtin:off"),
        (("builtin", "plugin"), "plugin:builtin"),
        (("plugin", "placebo"), "plugin:placebo"),
        (("off", "absent"), "absent:off"),
        (("off",), ""),
        (("plugin",), ""),
    ],
)
def test_the_primary_comparison_is_the_plugin_against_no_memory_where_both_are_run(arms: tuple[str, ...], primary: str) -> None:
    assert primary_of("", [(arm, HAIKU) for arm in arms], grid=False) == primary


def test_a_primary_comparison_must_be_of_two_arms_of_the_command() -> None:
    cells = [("off", HAIKU), ("plugin", HAIKU), ("builtin", HAIKU)]
    assert primary_of("plugin:builtin", cells, grid=False) == "plugin:builtin"
    assert primary_of("", cells, grid=True) == "grid"
    for wrong in ("plugin", "plugin:plugin", "plugin:notes", "grid"):
        with pytest.raises(ConfigError, match="does not consist of two arms"):
            primary_of(wrong, cells, grid=False)


def bench(folder: Path, *flags: str) -> Result:
    where = ("--results-dir", str(folder / "results"), "--work-dir", str(folder / "work"), "--offline")
    return CliRunner().invoke(command, [*where, *flags], env={"MEMEVAL_CACHE": str(folder)}, catch_exceptions=False)


def test_a_plan_for_an_amount_names_what_fits_and_the_command_that_runs_it(tmp_path: Path) -> None:
    plan = json.loads(bench(tmp_path, "-b", "sample,sample-code", "--plan", "2", "--json").output)
    costs = [offer["estimate"]["cost_usd"] for offer in plan["offers"]]
    assert len(costs) == 2
    assert all(0 < cost <= 2 for cost in costs)
    smallest = [offer["outlook"]["smallest_detectable"] or 2 for offer in plan["offers"]]
    assert smallest == sorted(smallest), "the most telling one is first"
    words = shlex.split(plan["offers"][0]["command"])[3:]
    again = json.loads(bench(tmp_path, *words, "--dry-run", "--json").output)
    assert again["total"]["cost_usd"] == pytest.approx(costs[0])
    assert again["comparisons"][0]["smallest_detectable"] == pytest.approx(plan["offers"][0]["outlook"]["smallest_detectable"])


def test_a_plan_for_too_little_says_so(tmp_path: Path) -> None:
    assert "No installed benchmark has a task for that amount" in bench(tmp_path, "-b", "sample", "--plan", "0.01").output


def test_a_dry_run_says_what_its_comparison_could_find(tmp_path: Path) -> None:
    done = bench(tmp_path, "-b", "sample", "--dry-run")
    assert "primary comparison plugin – off. 66 tasks in 6 conversations" in done.output
    assert "with 80 % power" in done.output


@pytest.mark.parametrize(
    ("cost", "terminal", "asks"), [(1.5, True, True), (None, True, True), (0.9, True, False), (9.0, False, False)]
)
def test_a_command_asks_on_a_terminal_before_it_may_cost_more_than_a_dollar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cost: float | None, terminal: bool, asks: bool
) -> None:
    asked: list[str] = []

    def refuse(question: str, **_: Any) -> bool:
        asked.append(question)
        return False

    monkeypatch.setattr(click, "confirm", refuse)
    monkeypatch.setattr("sys.stdin.isatty", lambda: terminal, raising=False)
    total = replace(Estimate(sessions=40), cost_usd=cost)
    cells = [(GridRow("sample", Arm.PLUGIN, HAIKU), total)]
    if not asks:
        console.confirm_cost(cells, total, 20.0)
        assert asked == []
        return
    with pytest.raises(ConfigError, match="Nothing was started"):
        console.confirm_cost(cells, total, 20.0)
    (question,) = asked
    assert "40 sessions may cost" in question
    assert f"sample plugin {HAIKU}: 40 sessions" in capsys.readouterr().err
    assert "could exceed $20.00" in question
