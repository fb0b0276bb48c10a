"""Fixtures of the launcher and proxy tests."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.fake_daemon import BOUND_SECONDS, ROOT, base_env, make_patient

SOON_SECONDS = 0.3  # Until the proxy gives up on a daemon that is not there.
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def copy_whole_plugin(target: Path) -> Path:
    """Copy the plugin's own scripts, with small sources."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("hooks", "plugin"):
        shutil.copytree(ROOT / name, target / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", target)
    (target / "memoryd").mkdir()
    (target / "memoryd" / "__init__.py").write_text("")
    return target


class Client:
    """An MCP client connected to the proxy."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the proxy if it is running, and close its pipes."""
        self.process.kill()
        self.process.wait(BOUND_SECONDS)
        self._thread.join(BOUND_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, method: str, id: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.send_raw(json.dumps(message if id is None else {**message, "id": id}).encode())

    def send_raw(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def next(self, seconds: float = BOUND_SECONDS) -> dict[str, Any]:
        """Return the next message from the proxy."""
        message = self.lines.get(timeout=seconds)
        assert message is not None, "the proxy has ended"
        return message

    def ask(self, method: str, id: int, **params: Any) -> dict[str, Any]:
        """Return the answer to a request, which must be the next message."""
        self.send(method, id, **params)
        answer = self.next()
        assert answer["id"] == id
        return answer

    def tools(self, id: int) -> list[str]:
        """Return the names of the tools. A notification of changed tools may precede them if a daemon has started."""
        self.send("tools/list", id)
        while (answer := self.next()).get("id") != id:
            assert answer["method"] == "notifications/tools/list_changed"
        return [tool["name"] for tool in answer["result"]["tools"]]

    def greet(self) -> dict[str, Any]:
        """Perform the whole handshake."""
        answer = self.ask("initialize", 0, **INITIALIZE)
        self.send("notifications/initialized")
        return answer


class Proxies:
    """Runs `bin/memoryd mcp` of a copied plugin, with a fake Python that starts the fake daemon on request."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()
        self.plugin = copy_whole_plugin(folder / "plugin")
        self.python = folder / "fake-python"
        self.pids = folder / "pids"
        self.env = {**base_env(self.home, folder / "data"), "MEMORYD_PYTHON": str(self.python)}
        patience = {"GOODBYE_SECONDS": BOUND_SECONDS, "HOLD_SECONDS": BOUND_SECONDS, "PATIENCE_SECONDS": SOON_SECONDS}
        make_patient(self.plugin / "plugin" / "stdio_proxy.py", patience)
        make_patient(self.plugin / "plugin" / "finder.py", {"CONNECT_SECONDS": BOUND_SECONDS})
        self.starts_nothing()
        self.clients: list[Client] = []

    def has_a_daemon(self) -> None:
        """Make the proxy wait for the daemon as long as a busy machine needs, before it answers itself."""
        make_patient(self.plugin / "plugin" / "stdio_proxy.py", {"PATIENCE_SECONDS": BOUND_SECONDS})

    def starts_nothing(self) -> None:
        """Simulate a daemon that can't be started."""
        self._write_python("exit 1")

    def starts_a_daemon(self) -> None:
        """Let `-I -m memoryd daemon` start the fake daemon."""
        script = Path(__file__).with_name("fake_mcp_daemon.py")
        self._write_python(f'echo $$ >>"{self.pids}"\nexec "{sys.executable}" -I "{script}" "{self.home}"')

    def _write_python(self, body: str) -> None:
        self.python.write_text(f"#!/bin/sh\n{body}\n")
        self.python.chmod(0o755)

    def forget_attempts(self) -> None:
        """Reset the time of the last start."""
        (self.home / "run" / "start.stamp").unlink(missing_ok=True)

    def daemon_pids(self) -> list[int]:
        return [int(line) for line in self.pids.read_text().split()] if self.pids.exists() else []

    def kill_daemons(self) -> None:
        for pid in self.daemon_pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def client(self) -> Client:
        command = [str(self.plugin / "plugin" / "bin" / "memoryd"), "mcp"]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=self.env, cwd=self.project)
        self.clients.append(Client(process))
        return self.clients[-1]

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.kill_daemons()


@pytest.fixture
def proxies(tmp_path: Path) -> Iterator[Proxies]:
    made = Proxies(tmp_path)
    yield made
    made.close()
