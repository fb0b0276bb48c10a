"""Fixtures for run_bench without the real client: a fake client, a benchmark of forty questions, a reachable address."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from memeval.claudecode import run_bench

ROOT = Path(__file__).parents[3]
FAKE = Path(__file__).with_name("fake_claude.py")
SPEC = """name: forty
source: {type: local, path: ../forty.json}
schema:
  caseId: $.id
  sessions: $.sessions
  turns: $.turns
  role: $.role
  text: $.text
  questions: $.questions
  questionId: $.id
  question: $.question
  answer: $.answer
judge: {name: contains}
"""
Words = Callable[[int], str]


class Done(NamedTuple):
    """The result of a command."""

    returncode: int
    stdout: str
    stderr: str


@dataclass
class FakeWorld:
    """The folders of one test, and the command in them."""

    folder: Path
    address: str
    extra: dict[str, str] = field(default_factory=dict)

    def questions(self, count: int, words: Words = lambda number: "") -> None:
        asked = [
            {"id": f"q{number:02}", "question": f"What is the answer to number {number}? {words(number)}", "answer": str(number)}
            for number in range(1, count + 1)
        ]
        session = {"turns": [{"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Hello."}]}
        (self.folder / "conf" / "benchmarks").mkdir(parents=True, exist_ok=True)
        (self.folder / "conf" / "benchmarks" / "forty.yaml").write_text(SPEC)
        (self.folder / "conf" / "forty.json").write_text(json.dumps([{"id": "c1", "sessions": [session], "questions": asked}]))

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "MEMEVAL_CONFIG_PATH": str(self.folder / "conf"),
            "MEMEVAL_CACHE": str(self.folder / "cache"),
            "ANTHROPIC_API_KEY": "dummy",
            "ANTHROPIC_FAKE": str(self.folder),
            **self.extra,
        }

    def words(self, *flags: str) -> list[str]:
        return [
            *("--claude", str(self.folder / "claude")),
            *("--results-dir", str(self.folder / "results"), "--work-dir", str(self.folder / "work")),
            *(() if "--resume" in flags else ("--embedder", "")),
            *flags,
        ]

    def bench(self, *flags: str) -> Done:
        """Run the command in this process, as if it had been started in its environment."""
        with patch.dict(os.environ, self.environment, clear=True), contextlib.chdir(ROOT):
            done = CliRunner().invoke(run_bench.command, self.words(*flags))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

    def memeval(self, *words: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-c",
            "from memeval.cli import main; main()",
            "--results-dir",
            str(self.folder / "results"),
            "--offline",
            *words,
        ]
        return subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=timeout)

    def start(self, *flags: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "memeval.claudecode.run_bench", *self.words(*flags)],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def calls(self) -> list[dict[str, Any]]:
        path = self.folder / "calls"
        whole = path.read_text().rpartition("\n")[0] if path.exists() else ""  # The last line may be incomplete.
        return [json.loads(line) for line in whole.splitlines()]

    def result(self, group: str) -> dict[str, Any]:
        for line in (self.folder / "results" / "ledger.jsonl").read_text().splitlines():
            entry = json.loads(line)
            if entry["run_id"].startswith(f"{group}."):
                found: dict[str, Any] = json.loads((self.folder / "results" / entry["file"]).read_text())
                return found
        raise AssertionError(f"no result of {group}")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FakeWorld]:
    script = tmp_path / "claude"
    script.write_text(f"#!{sys.executable} -IS\nimport runpy\nrunpy.run_path({str(FAKE)!r}, run_name='__main__')\n")
    script.chmod(script.stat().st_mode | stat.S_IEXEC)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield FakeWorld(tmp_path, f"http://127.0.0.1:{listener.getsockname()[1]}")
