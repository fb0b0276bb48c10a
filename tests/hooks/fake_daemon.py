"""A fake daemon with one thread and a Unix socket, and helpers that run the real hook scripts."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.waiting import HANGS_SECONDS as BOUND_SECONDS

ROOT = Path(__file__).resolve().parents[2]
ASKED = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "SubagentStart")
EVENTS = (*ASKED, "Stop", "SubagentStop", "PreCompact", "SessionEnd")
PATIENT = {"ASK_SECONDS": dict.fromkeys(ASKED, 60.0), "POKE_SECONDS": 60.0, "READ_SECONDS": 60.0}
__all__ = [
    "ASKED",
    "BOUND_SECONDS",
    "EVENTS",
    "ROOT",
    "FakeDaemon",
    "base_env",
    "copy_plugin",
    "make_patient",
    "read_request",
    "real_python",
    "run_hook",
]


def read_request(link: socket.socket) -> tuple[bytes, bytes]:
    """Return the first line (two lines over TCP) and, for a hook, its record."""
    link.settimeout(BOUND_SECONDS)
    stream = link.makefile("rb")
    first = stream.readline()
    if first.startswith(b"proof "):
        first += stream.readline()
    words = first.split()
    record = stream.read(int(words[-1])) if b"hook" in words else b""
    return first, record


class FakeDaemon:
    """Listens in a home folder. `answer` is what hooks receive. `behave(link)` replaces the whole behaviour."""

    def __init__(self, home: Path, answer: bytes = b"", behave: Callable[[socket.socket], None] | None = None) -> None:
        self.home = home
        self.answer = answer
        self.requests: list[tuple[bytes, bytes]] = []
        self.seen = threading.Condition()
        self._behave = behave or self._serve
        self._kept: list[socket.socket] = []
        run = home / "run"
        run.mkdir(parents=True, exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(run / "d.sock"))
        self.listener.listen(16)
        (run / "endpoint").write_text(f"unix {run / 'd.sock'}\n")
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            self._kept.append(link)
            try:
                self._behave(link)
            except OSError:
                continue

    def _serve(self, link: socket.socket) -> None:
        request = read_request(link)
        with self.seen:
            self.requests.append(request)
            self.seen.notify_all()
        if b" hook " in request[0]:
            link.sendall(self.answer)
        link.shutdown(socket.SHUT_RDWR)

    def wait_for(self, count: int) -> list[tuple[bytes, bytes]]:
        """Wait until there are this many requests, and return them."""
        with self.seen:
            assert self.seen.wait_for(lambda: len(self.requests) >= count, BOUND_SECONDS), self.requests
        return self.requests

    def close(self) -> None:
        """Stop listening. The socket file remains, as after a kill."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join(BOUND_SECONDS)
        for link in self._kept:
            link.close()


def copy_plugin(target: Path, launcher: str = "exit 0\n") -> Path:
    """Copy the plugin with the real hooks but another launcher, so that no real daemon is started."""
    shutil.copytree(ROOT / "hooks", target / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", target)
    (target / "plugin" / "bin").mkdir(parents=True)
    (target / "plugin" / "bin" / "memoryd").write_text(launcher)
    return target


def make_patient(script: Path, limits: dict[str, Any]) -> None:
    """Set longer timeouts in a copy of a script for tests of its output, because a busy machine is slow."""
    text = script.read_text()
    for name, value in limits.items():
        text, changed = re.subn(rf"^{name} = .*$", f"{name} = {value!r}", text, flags=re.MULTILINE)
        assert changed == 1, name
    script.write_text(text)


def real_python() -> str:
    """Return the interpreter behind any shim or virtual environment."""
    return os.path.realpath(sys.executable)


def base_env(home: Path, data: Path) -> dict[str, str]:
    """Return a small environment with a cached interpreter, as the launcher creates it."""
    data.mkdir(parents=True, exist_ok=True)
    (data / "python").write_text(real_python() + "\n")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home.parent),
        "MEMORYD_HOME": str(home),
        "CLAUDE_PLUGIN_DATA": str(data),
    }


def run_hook(plugin: Path, event: str, stdin: bytes, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the hook as the client does. It must always succeed and print nothing on stderr."""
    command = ["sh", str(plugin / "hooks" / "hook.sh"), event]
    done = subprocess.run(command, input=stdin, env=env, cwd=cwd, capture_output=True, timeout=BOUND_SECONDS, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done
