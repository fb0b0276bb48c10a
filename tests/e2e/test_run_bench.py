"""The arms with the real client: a scripted model answers correctly only if its request contains the necessary facts."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memeval.claudecode.coding import sample
from memeval.claudecode.processes import end_leftover_processes
from tests.e2e.bench import Rememberer, asked, bench, command, environment, trajectories
from tests.e2e.conftest import ROOT
from tests.e2e.model_server import ModelServer, conversation
from tests.memeval.claudecode.coding.solver import Solver
from tests.waiting import HANGS_SECONDS, until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

QUESTIONS = "maya-q1,maya-q2"
SAMPLE = ROOT / "memeval" / "data" / "sample" / "conversations.json"
IMPORTED = ("-b", "sample", "--mode", "plugin", "--ingest", "transcripts", "--no-probe", "--embedder", "")


def golds() -> dict[str, list[str]]:
    questions = [question for case in json.loads(SAMPLE.read_text("utf-8")) for question in case["questions"]]
    return {q["question"]: q["answer"] if isinstance(q["answer"], list) else [q["answer"]] for q in questions}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    made = ModelServer(Rememberer(golds()))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("mode", "accuracy", "index", "recalled"),
    [("off", 0.0, False, False), ("builtin", 1.0, True, False), ("plugin", 1.0, False, True), ("both", 1.0, True, True)],
)
def test_each_arm_sees_its_own_memory_and_no_other(
    model: ModelServer, tmp_path: Path, mode: str, accuracy: float, index: bool, recalled: bool
) -> None:
    flags = ("-b", "sample", "--questions", QUESTIONS, "--mode", mode, "--workers", "2", "--run-id", "g")
    (cell,) = bench(model, tmp_path, *flags)["cells"]
    assert cell["metrics"]["accuracy"]["value"] == accuracy
    bodies = asked(model)
    assert len(bodies) == 2
    for text in bodies:
        assert "MEMORY.md" in text and "Biscuit" in text if index else "MEMORY.md" not in text, text[-3000:]
        assert ("<memoryd-recall" in text) is recalled
    lines = trajectories(tmp_path, cell["run_id"])
    assert len(lines) == cell["sessions"]["total"] == (2 if mode == "off" else 10)
    assert any(line["written"].get("plugin", {}).get("new") for line in lines) is recalled
    assert any(item["via"].startswith("hook:") for line in lines for item in line["injected"]["items"]) is recalled


def test_a_history_that_is_imported_is_remembered_as_one_that_is_replayed_and_the_same_question_is_not_paid_twice(
    model: ModelServer, tmp_path: Path
) -> None:
    (cell,) = bench(model, tmp_path, *IMPORTED, "--questions", QUESTIONS)["cells"]
    assert cell["metrics"]["accuracy"]["value"] == 1.0
    assert cell["history"] == "imported from session logs"
    assert cell["sessions"]["total"] == 3  # The import and two questions.
    # A model's reading may differ from run to run. That of the rules does not.
    rules = (*IMPORTED, "--questions", QUESTIONS, "--plugin-setting", "reader=offline")
    (first,) = bench(model, tmp_path, *rules)["cells"]
    before = len(model.requests)
    (again,) = bench(model, tmp_path, *rules)["cells"]
    assert (again["sessions"]["cached"], len(model.requests)) == (2, before)
    assert (again["metrics"], again["cost_usd"]) == (first["metrics"], 0.0)
    (other,) = bench(model, tmp_path, *rules, "--plugin-setting", "prompt_budget=0")["cells"]
    assert other["sessions"]["cached"] == 0


def test_a_primed_run_begins_with_the_memory_of_another_and_refuses_its_tasks(model: ModelServer, tmp_path: Path) -> None:
    bench(model, tmp_path, *IMPORTED, "--questions", "maya-q1", "--run-id", "first")
    model.requests.clear()
    other = json.loads(SAMPLE.read_text("utf-8"))[1]["questions"][0]["id"]
    flags = (*IMPORTED, "--memory-from", "first")
    bench(model, tmp_path, *flags, "--questions", other, "--run-id", "second")
    (text,) = asked(model)
    assert "the chlorine gives me a rash" in text  # A dislike from the history of the first run.
    with pytest.raises(AssertionError, match="was seen by run first"):
        bench(model, tmp_path, *flags, "--questions", "maya-q1", "--run-id", "third")


def test_the_grid_is_run_cheapest_first_and_its_question_answered(model: ModelServer, tmp_path: Path) -> None:
    summary = bench(model, tmp_path, *IMPORTED, "--questions", QUESTIONS, "--grid")
    assert [(cell["arm"], cell["model"].split("-")[1]) for cell in summary["cells"]] == [
        ("plugin", "haiku"), ("off", "haiku"), ("off", "sonnet"), ("off", "opus")
    ]  # fmt: skip
    assert [cell["metrics"]["accuracy"]["value"] for cell in summary["cells"]] == [1.0, 0.0, 0.0, 0.0]
    assert {body["model"] for body in model.main_requests()} == {cell["model"] for cell in summary["cells"]}
    (one,) = [one for one in summary["comparisons"] if one["kind"] == "grid"]
    assert (one["first"]["arm"], one["second"]["arm"], one["difference"], one["questions"]) == ("plugin", "off", 1.0, 2)


def test_all_benchmarks_that_are_here_are_run_in_the_default_arms_by_one_command(model: ModelServer, tmp_path: Path) -> None:
    talk, code = Rememberer(golds()), Solver(sample.load_all())
    model.brain = lambda body: code(body) if code.task_of(conversation(body)) else talk(body)
    summary = bench(model, tmp_path, "-b", "all", "--offline", "--limit", "1", "--workers", "2", "--embedder", "")
    cells = {(cell["benchmark"], cell["arm"]): cell["metrics"]["accuracy"]["value"] for cell in summary["cells"]}
    assert cells == {
        ("sample", "off"): 0.0, ("sample", "builtin"): 1.0, ("sample", "plugin"): 1.0,
        ("sample-code", "off"): 1.0, ("sample-code", "builtin"): 1.0, ("sample-code", "plugin"): 1.0,
    }  # fmt: skip
    assert {one["benchmark"] for one in summary["comparisons"] if one["role"] == "primary"} == {"sample", "sample-code"}


def _killed_after(model: ModelServer, folder: Path, requests: int, *flags: str) -> None:
    """Start a command and kill it after the model has received this number of requests."""
    wanted = len(model.requests) + requests
    done = subprocess.Popen(
        command(model, folder, *flags), cwd=ROOT, env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until(lambda: len(model.requests) >= wanted or done.poll() is not None, "the model got no request", 240)
    done.kill()
    assert done.wait(HANGS_SECONDS) == -signal.SIGKILL


def _result(lines: list[dict[str, Any]]) -> list[Any]:
    """Return the parts that must not depend on how often a run was killed. Ids of memories depend on the sandbox's path."""
    return [(line["step"], line["answer"], line["status"], _texts(line["injected"]["items"]), _new(line)) for line in lines]


def _texts(items: list[dict[str, Any]]) -> list[str]:
    return sorted(item["text"] for item in items)


def _new(line: dict[str, Any]) -> list[str]:
    new = {**line["written"].get("plugin", {}).get("new", {}), **line["written"].get("builtin", {}).get("new", {})}
    return sorted(text.rpartition("---\n")[2] for text in new.values())


@pytest.mark.parametrize("mode", ["plugin", "builtin"])
def test_a_run_that_is_killed_in_history_and_questions_ends_as_one_that_was_not(
    model: ModelServer, tmp_path: Path, mode: str
) -> None:
    flags = ("-b", "sample", "--questions", QUESTIONS, "--mode", mode, "--no-probe", "--embedder", "")
    _killed_after(model, tmp_path, 3, *flags, "--run-id", "g")
    _killed_after(model, tmp_path, 6, "--resume", "g", "--no-probe")
    (resumed,) = bench(model, tmp_path, "--resume", "g", "--no-probe")["cells"]
    (whole,) = bench(model, tmp_path, *flags, "--run-id", "whole", "--no-cache")["cells"]
    assert resumed["sessions"] == whole["sessions"]
    assert resumed["metrics"]["accuracy"] == whole["metrics"]["accuracy"]
    assert _result(trajectories(tmp_path, resumed["run_id"])) == _result(trajectories(tmp_path, whole["run_id"]))
    end_leftover_processes(tmp_path)
