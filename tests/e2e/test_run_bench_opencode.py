"""run_bench with the real OpenCode: the same arms, tasks, faults and result file as with Claude Code."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from memeval.claudecode.coding import sample
from memeval.claudecode.conversation import ASKING
from tests.e2e.bench import bench as bench_with
from tests.e2e.bench import command, environment, trajectories
from tests.e2e.conftest import ROOT, opencode_binary
from tests.e2e.model_server import Block, Body, Brain, ModelServer, Trouble, conversation
from tests.e2e.test_run_bench_faults import FIRST, SECOND, asks, assert_same, bench, cell_of, folder, in_trouble, model
from tests.memeval.claudecode.coding.solver import Solver
from tests.waiting import HANGS_SECONDS, until

__all__ = ["folder", "model"]  # fixtures

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ARMS = ("off", "plugin", "blank", "placebo")
SANDBOX = re.compile(r"/[^\s\"]*?/work/[0-9a-f]{12}/[0-9a-f]{12}")

OF_SERVERS = re.compile("memoryd_|(list|read)_mcp_")
"""Tools of the plugin, and those that OpenCode adds once there is a server of tools."""


def client() -> tuple[str, ...]:
    return ("--client", "opencode", "--opencode", opencode_binary())


def shared(body: Body) -> str:
    """Return the part of a request that must be equal in all arms, as text."""
    kept = unmarked(body)
    texts = [block["text"] for block in kept["system"]]
    kept["tools"] = [tool for tool in kept["tools"] if not OF_SERVERS.match(tool["name"])]
    kept["system"] = [texts[0].partition("\n<mcp_instructions>")[0], *"".join(texts).partition(ASKING)[1:]]
    kept["messages"] = [{**message, "content": message["content"][:1]} for message in kept["messages"]]
    return SANDBOX.sub("SANDBOX", json.dumps(kept, sort_keys=True, indent=1))


def unmarked(value: Any) -> Any:
    """Return a value without the marks of a prompt cache, which is set on the last parts of a request."""
    if isinstance(value, dict):
        return {key: unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list) else value


def test_arms_differ_in_memory_alone_and_a_killed_run_ends_with_all_of_them(model: ModelServer, folder: Path) -> None:
    flags = ("-b", "two", "--limit", "1", "--mode", ",".join(ARMS), "--no-probe", "--embedder", "", "--run-id", "g")
    variables = environment(folder) | {"MEMEVAL_CONFIG_PATH": str(folder / "conf"), "MEMEVAL_CACHE": str(folder / "cache")}
    words = command(model, folder, *client(), *flags)
    started = subprocess.Popen(words, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: len(model.main_requests()) > 1 or started.poll() is not None, "the second arm was not reached", 240)
    started.kill()
    assert started.wait(HANGS_SECONDS) == -signal.SIGKILL

    done = bench(model, folder, "--resume", "g", "--no-probe", "--opencode", opencode_binary(), timeout=900)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    accuracy = {cell["arm"]: cell["metrics"]["accuracy"]["value"] for cell in summary["cells"]}
    assert accuracy == {arm: float(arm == "plugin") for arm in ARMS}
    assert {cell["client"] for cell in summary["cells"]} == {"opencode"}
    assert summary["primary"] == "plugin:off"

    asked = [body for body in model.main_requests() if FIRST in conversation(body)]
    assert len(asked) == len(ARMS)
    first, *others = map(shared, asked)
    for other in others:
        assert not [line for line in unified_diff(first.splitlines(), other.splitlines(), n=0)]
    given = dict(zip(ARMS, map(conversation, asked), strict=True))
    assert [arm for arm in ARMS if "Biscuit" in given[arm]] == ["plugin"]
    assert [arm for arm in ARMS if "Orvik museum" in given[arm]] == ["placebo"]
    replay, question = trajectories(folder, "g.two.plugin.claude-haiku-4-5")
    assert replay["written"]["plugin"]["new"]
    assert {item["via"] for item in question["injected"]["items"]} & {"hook:SessionStart", "hook:UserPromptSubmit"}
    assert any(question["sources"].values()), "a memory goes back to its turn"


def test_a_question_whose_answer_was_cut_off_is_unscored_until_a_resume(model: ModelServer, folder: Path) -> None:
    flags = ("-b", "two", *client(), "--mode", "off", "--no-probe", "--embedder", "", "--retries", "0")
    model.refuses = in_trouble(asks(SECOND), Trouble(cuts=True))
    faulty = cell_of(bench(model, folder, *flags, "--run-id", "g"))
    assert (faulty["unscored"], faulty["metrics"]["accuracy"]["value"]) == ({"server": 1}, 0.0)
    model.refuses = lambda _: 0
    resumed = bench(model, folder, "--resume", "g", "--no-probe", "--opencode", opencode_binary())
    whole = bench(model, folder, *flags, "--run-id", "whole", "--no-cache")
    assert (resumed.returncode, whole.returncode) == (0, 0), resumed.stderr + whole.stderr
    assert_same(cell_of(resumed), cell_of(whole))


def own_tools(brain: Brain) -> Brain:
    """Return a brain that calls tools by OpenCode's names."""

    def answer(body: Body) -> list[Block]:
        return [block | ({"name": block["name"].lower()} if block["type"] == "tool_use" else {}) for block in brain(body)]

    return answer


@pytest.fixture
def solver() -> Iterator[ModelServer]:
    made = ModelServer(own_tools(Solver(sample.load_all())))
    yield made
    made.close()


def test_what_the_first_task_taught_pays_in_the_second(solver: ModelServer, tmp_path: Path) -> None:
    flags = ("-b", "sample-code", "--limit", "2", *client(), "--mode", "all", "--embedder", "", "--no-probe")
    cells: list[dict[str, Any]] = bench_with(solver, tmp_path, *flags)["cells"]
    assert {cell["arm"]: cell["summary"]["tasks"]["resolved"] for cell in cells} == {"off": 1, "plugin": 2}
    assert {(cell["client"], cell["sessions"]["total"]) for cell in cells} == {("opencode", 2)}
