"""Hook client, launcher, daemon and MCP proxy on Windows, simulated elsewhere: one session from its first event to its memory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.errors import DaemonError
from memoryd.core.paths import Paths
from memoryd.daemon.client import Client
from memoryd.daemon.endpoint import read_endpoint
from tests.waiting import HANGS_SECONDS, until

ROOT = Path(__file__).parents[2]
# On Windows itself, nothing needs to be simulated.
SIMULATED = [] if sys.platform == "win32" else [str(Path(__file__).with_name("simulated.py"))]
RULE = "From now on never use tabs in this project."


@dataclass
class Machine:
    """A user of the simulated Windows."""

    home: Path
    folder: Path

    @property
    def paths(self) -> Paths:
        return Paths(self.home)

    def start(self, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        own = {"MEMORYD_HOME": str(self.home), "MEMORYD_PYTHON": sys.executable, "MEMORYD_HOOK_SECONDS": "4"}
        command = [sys.executable, *SIMULATED, *words]
        return subprocess.run(command, input=given, env=os.environ | own, capture_output=True, timeout=60, cwd=self.folder)

    def run(self, *words: str, given: bytes = b"") -> bytes:
        done = self.start(*words, given=given)
        assert not done.stderr, done.stderr.decode()
        return done.stdout

    def hook(self, event: str, **fields: str) -> dict[str, Any]:
        payload = {"session_id": "s1", "cwd": str(self.folder), "transcript_path": str(self.folder / "s1.jsonl"), **fields}
        answer = self.run(str(ROOT / "hooks" / "hook.py"), event, given=json.dumps(payload).encode())
        return json.loads(answer) if answer else {}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    (tmp_path / "shop").mkdir()
    made = Machine(tmp_path / "home", tmp_path / "shop")
    yield made
    with contextlib.suppress(DaemonError):
        Client(made.paths).stop(HANGS_SECONDS)


@pytest.mark.slow
def test_a_session_is_remembered(machine: Machine) -> None:
    machine.hook("SessionStart", source="startup")
    (record,) = (machine.home / "spool").iterdir()
    assert b"\r" not in record.read_bytes()
    client = Client(machine.paths)
    until(client.is_running, "the hook started no daemon", HANGS_SECONDS)
    endpoint = read_endpoint(machine.paths)
    assert endpoint is not None and endpoint.port and endpoint.token and not endpoint.path

    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": str(machine.folder), "timestamp": "2026-01-02T10:00:00Z"}
    log = json.dumps(line | {"message": {"role": "user", "content": RULE}}) + "\r\n"
    (machine.folder / "s1.jsonl").write_bytes(log.encode())
    machine.hook("Stop")
    until(lambda: bool(client.call("list_memories", {"cwd": str(machine.folder)})["memories"]), "nothing was kept", HANGS_SECONDS)
    answer = machine.hook("SessionStart", source="startup")
    assert "never use tabs" in answer["hookSpecificOutput"]["additionalContext"].lower()
    assert "\r" not in (machine.home / "logs" / "hooks.log").read_bytes().decode()

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked: list[dict[str, Any]] = [{"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"}]
    asked.append({"id": 2, "method": "tools/list"})
    given = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\r\n" for message in asked)
    answers = [
        json.loads(line) for line in machine.run(str(ROOT / "plugin" / "stdio_proxy.py"), given=given.encode()).splitlines()
    ]
    assert {"recall", "remember"} <= {tool["name"] for tool in answers[-1]["result"]["tools"]}

    assert b"already running" in machine.start("-m", "memoryd.daemon").stderr  # the lock is held
    assert client.is_running()
    client.stop(HANGS_SECONDS)
    assert not machine.paths.endpoint.exists()
