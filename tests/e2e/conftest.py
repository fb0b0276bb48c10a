"""The real client in an isolated environment: own home, own configuration, scripted model, no network."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.errors import DaemonError
from memoryd.core.paths import Paths
from memoryd.daemon.client import Client
from memoryd.daemon.endpoint import daemons_of
from tests.e2e.model_server import Body, ModelServer, say
from tests.waiting import until

ROOT = Path(__file__).parents[2]
RECALL = "mcp__plugin_memoryd_memoryd__recall"
WAIT_SECONDS = 120.0


def claude_binary() -> str:
    """Return the client specified by CLAUDE_BIN. Because these tests are selected by a marker, a missing client is a failure."""
    binary = os.environ.get("CLAUDE_BIN", "")
    if not binary or not Path(binary).exists():
        pytest.fail("CLAUDE_BIN does not name the Claude Code client: run 'make e2e', which installs it.")
    return binary


def opencode_binary() -> str:
    """Return the client named by OPENCODE_BIN. A missing client is a failure here too."""
    binary = os.environ.get("OPENCODE_BIN", "")
    if not binary or not Path(binary).exists():
        pytest.fail("OPENCODE_BIN does not name OpenCode: run 'make e2e', which installs it.")
    return binary


def all_is_read(paths: Paths) -> bool:
    """Return whether a daemon reports that all events are drained and all day dreams are done."""
    try:
        status = Client(paths).call("memory_status")
    except DaemonError:
        return False
    return not status["daemon"]["spool_waiting"] and not status["daydreams"]["waiting"]


def kill_daemons(paths: Paths) -> list[int]:
    """Kill the daemons of a home and return their ids. A daemon may exit in the meantime."""
    killed = []
    for pid in daemons_of(paths) or []:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
    return killed


@dataclass
class World:
    """One isolated user. `plugin_flags` load the plugin. They are empty once the plugin is installed."""

    folder: Path
    model: ModelServer
    plugin_flags: list[str] = field(default_factory=lambda: ["--plugin-dir", str(ROOT)])
    extra: dict[str, str] = field(default_factory=dict)
    drop: set[str] = field(default_factory=set)

    @property
    def paths(self) -> Paths:
        return Paths(self.folder / "memoryd")

    @property
    def environment(self) -> dict[str, str]:
        made = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "CLAUDE_CONFIG_DIR": str(self.folder / ".claude"),
            "CLAUDE_CODE_TMPDIR": str(self.folder / "t"),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MEMORYD_HOME": str(self.paths.home),
            "MEMORYD_PYTHON": sys.executable,
            "MEMORYD_LEASE_MINUTES": "5",
            "GIT_CONFIG_GLOBAL": os.devnull,
        } | self.extra
        return {name: value for name, value in made.items() if name not in self.drop}

    def install_plugin(self, source: Path) -> None:
        """Install the plugin from a folder with `claude plugin`, as a user does."""
        for arguments in (["marketplace", "add", str(source)], ["install", "memoryd@memoryd"]):
            done = subprocess.run(
                [claude_binary(), "plugin", *arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        self.plugin_flags = []

    def run(self, prompt: str, cwd: Path, *flags: str, timeout: float = 300) -> dict[str, Any]:
        """Run one `claude -p` session and return its result as JSON."""
        command = [claude_binary(), "-p", prompt, "--output-format", "json", *self.plugin_flags, *flags]
        allowed = ["--allowedTools", "mcp__plugin_memoryd_memoryd__*"]
        done = subprocess.run(
            command + allowed,
            cwd=cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def last_request(self) -> Body:
        return self.model.main_requests()[-1]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return Client(self.paths).call(method, params)

    def wait_for_daydreams(self) -> None:
        """Wait until all events are drained and all day dreams are done."""
        until(lambda: all_is_read(self.paths), "the day dreams did not end", WAIT_SECONDS)

    def kill_daemon(self) -> None:
        kill_daemons(self.paths)

    def repository(self, name: str) -> Path:
        folder = self.folder / "code" / name
        folder.mkdir(parents=True)
        self.git(folder, "init", "-q", "-b", "main")
        (folder / "README.md").write_text(f"# {name}\n")
        self.git(folder, "add", ".")
        self.git(folder, "commit", "-q", "-m", "start")
        return folder

    def git(self, folder: Path, *arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", *who, *arguments], cwd=folder, env=self.environment, check=True, capture_output=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    model = ModelServer(lambda body: [say("done")])
    made = World(tmp_path, model)
    yield made
    try:
        Client(made.paths).stop()
    except DaemonError:
        made.kill_daemon()
    model.close()
    shutil.rmtree(tmp_path, ignore_errors=True)
