"""The arms with the real client: a scripted model answers right only when what it needs is in its request."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memeval.claudecode.leftovers import processes_of
from memeval.claudecode.replay import CLOSING
from tests.e2e.conftest import ROOT, claude_binary
from tests.e2e.model_server import Block, Body, ModelServer, conversation, say, texts, tool_results, use

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

QUESTIONS = "maya-q1,maya-q2"
INDEX = re.compile(r"(/\S+/memory)/")
SAMPLE = ROOT / "memeval" / "data" / "sample" / "conversations.json"


def golds() -> dict[str, list[str]]:
    asked = [question for case in json.loads(SAMPLE.read_text("utf-8")) for question in case["questions"]]
    return {q["question"]: q["answer"] if isinstance(q["answer"], list) else [q["answer"]] for q in asked}


def brain(body: Body) -> list[Block]:
    """Answers a question out of its request alone; writes what was said into the built-in memory, where it is told of one."""
    given = conversation(body)
    for question, answers in golds().items():
        if question in given:
            rest = given.replace(question, "").lower()
            return [say(next((answer for answer in answers if answer.lower() in rest), "No information available"))]
    folder = INDEX.search(given)
    if CLOSING in given and folder and not tool_results(body):
        said = [texts(message["content"]) for message in body["messages"] if message["role"] == "user"]
        notes = "\n".join(f"- {text}" for text in said if "<system-reminder>" not in text)
        name = f"{len(body['messages'])}-{abs(hash(notes)) % 10_000}"
        return [use("Write", file_path=f"{folder[1]}/MEMORY.md", content=known(given) + notes + f"\n<!-- {name} -->\n")]
    return [say("You're welcome.")]


def known(given: str) -> str:
    """What the index holds already, as the client loads it into the first message."""
    return "\n".join(line for line in given.splitlines() if line.startswith("- ") and len(line) > 40) + "\n"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    made = ModelServer(brain)
    yield made
    made.close()


def bench(model: ModelServer, folder: Path, *flags: str) -> dict[str, Any]:
    command = [
        *(sys.executable, "-m", "memeval.claudecode.run_bench", "--claude", claude_binary(), "--base-url", model.url, "--json"),
        *("--results-dir", str(folder / "results"), "--work-dir", str(folder / "work"), *flags),
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "dummy"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert processes_of(folder) == []
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def asked(model: ModelServer) -> list[str]:
    """All that the model was given in sessions that asked a question."""
    given = [conversation(body) for body in model.requests]
    return [text for text in given if "Answer this question about me" in text]


@pytest.mark.parametrize(
    ("mode", "accuracy", "index", "recalled"),
    [("off", 0.0, False, False), ("builtin", 1.0, True, False), ("plugin", 1.0, False, True), ("both", 1.0, True, True)],
)
def test_each_arm_sees_its_own_memory_and_no_other(
    model: ModelServer, tmp_path: Path, mode: str, accuracy: float, index: bool, recalled: bool
) -> None:
    summary = bench(model, tmp_path, "-b", "sample", "--questions", QUESTIONS, "--mode", mode, "--workers", "2")
    (cell,) = summary["cells"]
    assert cell["metrics"]["accuracy"]["value"] == accuracy
    bodies = asked(model)
    assert len(bodies) == 2
    for text in bodies:
        assert "MEMORY.md" in text and "Biscuit" in text if index else "MEMORY.md" not in text, text[-3000:]
        assert ("<memoryd-recall" in text) is recalled
    (trajectories,) = (tmp_path / "results").glob("v*/*.trajectories.jsonl")
    lines = [json.loads(line) for line in trajectories.read_text("utf-8").splitlines()]
    assert len(lines) == cell["sessions"]["total"] == (2 if mode == "off" else 10)
    assert any(line["written"].get("plugin", {}).get("new") for line in lines) is recalled
    assert any(item["via"].startswith("hook:") for line in lines for item in line["injected"]["items"]) is recalled


def test_a_history_that_is_imported_is_remembered_as_one_that_is_replayed(model: ModelServer, tmp_path: Path) -> None:
    flags = ("-b", "sample", "--questions", QUESTIONS, "--mode", "plugin", "--ingest", "transcripts")
    (cell,) = bench(model, tmp_path, *flags)["cells"]
    assert cell["metrics"]["accuracy"]["value"] == 1.0
    assert cell["history"] == "imported from session logs"
    assert cell["sessions"]["total"] == 3  # the import and two questions


def test_a_primed_run_begins_with_the_memory_of_another_and_refuses_its_tasks(model: ModelServer, tmp_path: Path) -> None:
    bench(
        model,
        tmp_path,
        "-b",
        "sample",
        "--questions",
        "maya-q1",
        "--mode",
        "plugin",
        "--ingest",
        "transcripts",
        "--run-id",
        "first",
    )
    model.requests.clear()
    other = json.loads(SAMPLE.read_text("utf-8"))[1]["questions"][0]["id"]
    flags = ("-b", "sample", "--mode", "plugin", "--ingest", "transcripts", "--memory-from", "first")
    bench(model, tmp_path, *flags, "--questions", other, "--run-id", "second")
    (text,) = asked(model)
    assert "Biscuit" in text
    with pytest.raises(AssertionError, match="was seen by run first"):
        bench(model, tmp_path, *flags, "--questions", "maya-q1", "--run-id", "third")
