"""Coding tasks with the real client: the scripted model knows only what stands in its request, tests decide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memeval.claudecode.coding import sample
from memeval.claudecode.leftovers import processes_of
from tests.e2e.conftest import ROOT, claude_binary
from tests.e2e.model_server import ModelServer
from tests.memeval.claudecode.coding.solver import Solver, request_text

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

REPOSITORIES = sample.load_all()
Bench = Callable[..., dict[str, Any]]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    made = ModelServer(Solver(REPOSITORIES))
    yield made
    made.close()


@pytest.fixture
def bench(model: ModelServer, tmp_path: Path) -> Bench:
    def run(*flags: str) -> dict[str, Any]:
        command = [
            *(
                sys.executable,
                "-m",
                "memeval.claudecode.run_bench",
                "--claude",
                claude_binary(),
                "--base-url",
                model.url,
                "--json",
            ),
            *("--results-dir", str(tmp_path / "results"), "--work-dir", str(tmp_path / "work"), "--embedder", "", *flags),
        ]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "dummy"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        assert processes_of(tmp_path) == []
        summary: dict[str, Any] = json.loads(done.stdout)
        return summary

    return run


@pytest.mark.parametrize(("mode", "resolved"), [("off", 1), ("builtin", 4), ("plugin", 4), ("both", 4)])
def test_what_the_first_task_told_pays_in_the_others_where_there_is_memory(
    model: ModelServer, bench: Bench, mode: str, resolved: int
) -> None:
    (cell,) = bench("-b", "sample-code", "--limit", "4", "--mode", mode)["cells"]
    assert cell["summary"]["tasks"] == {"total": 4, "resolved": resolved, "failed": 4 - resolved, "unscored": 0}
    assert cell["metrics"]["accuracy"]["value"] == resolved / 4
    told = "\n".join(request_text(body) for body in model.requests)
    hidden = [text for task in REPOSITORIES[0].tasks for text in (task.tests, f"answer: {task.gold}")]
    assert not any(text in told for text in hidden)


def test_a_task_whose_repository_is_not_here_is_unscored(bench: Bench, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    for number in (1, 2):
        record = {
            "instance_id": f"acme__calc-{number}",
            "repo": "acme/calc",
            "base_commit": str(number) * 40,
            "problem_statement": "double(3) is 7.",
            "patch": "--- a/calc.py\n+++ b/calc.py\n",
            "test_patch": "--- a/test_calc.py\n+++ b/test_calc.py\n",
            "FAIL_TO_PASS": "['test_calc.py::test_double']",
            "PASS_TO_PASS": "[]",
        }
        (tasks / f"{number}.json").write_text(json.dumps(record))
    (cell,) = bench("-b", "swe-contextbench", "--data", str(tasks), "--mode", "off", "--offline")["cells"]
    assert cell["summary"]["tasks"] == {"total": 2, "resolved": 0, "failed": 0, "unscored": 2}
