"""run_bench with the real client and a scripted model that only knows the contents of its request."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memeval.claudecode.processes import processes_of
from memeval.claudecode.seeding import CLOSING
from tests.e2e.conftest import ROOT, claude_binary
from tests.e2e.model_server import Block, Body, ModelServer, conversation, say, texts, tool_results, use
from tests.waiting import until

INDEX = re.compile(r"(/\S+/memory)/")
ASKED = "Answer this question about me"
NOTE = "- You told me: "


@dataclass
class Rememberer:
    """A scripted model for conversations. It gives a gold answer only if its request contains the answer along with the question.

    If it is given a memory folder, it appends the user's statements to the notes there.
    """

    golds: Mapping[str, Sequence[str]]

    def __call__(self, body: Body) -> list[Block]:
        given = conversation(body)
        for question, answers in self.golds.items():
            if question in given:
                rest = given.replace(question, "").lower()
                return [say(next((answer for answer in answers if answer.lower() in rest), "No information available"))]
        folder = INDEX.search(given)
        if CLOSING in given and folder and not tool_results(body):
            return [use("Write", file_path=f"{folder[1]}/MEMORY.md", content=_notes(body, given))]
        return [say("You're welcome.")]


def _notes(body: Body, given: str) -> str:
    said = [texts(message["content"]) for message in body["messages"] if message["role"] == "user"]
    old = [line for line in given.splitlines() if line.startswith(NOTE)]
    new = [f"{NOTE}{' '.join(text.split())}" for text in said if "<system-reminder>" not in text]
    return "\n".join([*old, *new, ""])


def command(model: ModelServer, folder: Path, *flags: str) -> list[str]:
    # Memory of conversations needs a reader that judges: by rules alone, only statements said as rules become
    # memories. A resumed run keeps the settings with which it started, and refuses others.
    reader = (
        ()
        if "--resume" in flags
        else ("--plugin-setting", "reader=endpoint", "--plugin-setting", f"openai_base_url={model.url}/v1")
    )
    return [
        *(sys.executable, "-m", "memeval.claudecode.run_bench", "--claude", claude_binary(), "--base-url", model.url, "--json"),
        *("--results-dir", str(folder / "results"), "--work-dir", str(folder / "work")),
        *reader,
        *flags,
    ]


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "dummy"}


def bench(model: ModelServer, folder: Path, *flags: str, timeout: float = 900) -> dict[str, Any]:
    """Run a command and return its summary. No process of the command remains."""
    done = subprocess.run(
        command(model, folder, *flags), cwd=ROOT, env=environment(folder), capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stderr
    until(lambda: processes_of(folder) == [], "a process is left")
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def asked(model: ModelServer, sign: str = ASKED) -> list[str]:
    """Return the requests that contain a marker, by default those that ask a question."""
    return [text for body in model.requests if sign in (text := conversation(body))]


def trajectories(folder: Path, run_id: str) -> list[dict[str, Any]]:
    """Return the lines of the latest trajectory file of a run."""
    for line in reversed((folder / "results" / "ledger.jsonl").read_text("utf-8").splitlines()):
        if (entry := json.loads(line))["run_id"] == run_id:
            file = folder / "results" / entry["file"]
            beside = file.with_name(f"{file.stem}.trajectories.jsonl")
            return [json.loads(one) for one in beside.read_text("utf-8").splitlines()]
    raise AssertionError(f"no result of {run_id}")
