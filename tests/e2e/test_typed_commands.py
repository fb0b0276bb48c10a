"""Commands that only the user can give, typed into the real client at a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import World, claude_binary

pytestmark = pytest.mark.e2e

PATIENCE = 90.0


class Terminal:
    """A client that a person uses at a terminal."""

    def __init__(self, world: World, cwd: Path) -> None:
        self.shown = b""
        self._pid, self._screen = pty.fork()
        if self._pid == 0:
            os.chdir(cwd)
            environment = {**world.environment, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
            os.execve(claude_binary(), [claude_binary(), *world.plugin_flags], environment)

    def read_until(self, there: Callable[[bytes], bool], what: str) -> None:
        """Read what the client shows until the condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not there(self.shown):
            assert time.monotonic() < deadline, f"{what}: {self.shown[-3000:]!r}"
            if select.select([self._screen], [], [], 0.5)[0]:
                self.shown += os.read(self._screen, 65536)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._screen)


@pytest.fixture
def terminal(world: World) -> Iterator[tuple[Terminal, Path]]:
    repo = world.repository("shop")
    config = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {str(repo): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (world.folder / ".claude").mkdir(exist_ok=True)
    (world.folder / ".claude" / ".claude.json").write_text(json.dumps(config))
    terminal = Terminal(world, repo)
    yield terminal, repo
    terminal.close()


def test_off_typed_at_a_terminal_switches_memory_off_here(world: World, terminal: tuple[Terminal, Path]) -> None:
    screen, repo = terminal
    screen.read_until(lambda shown: b"shortcuts" in shown or b"Try " in shown or b"\xe2\x9d\xaf" in shown, "no prompt")
    screen.type("/memoryd:off")
    screen.read_until(lambda shown: shown.count(b"memoryd:off") > 0, "the command is not shown")
    time.sleep(1)
    screen.type("\r")
    screen.read_until(lambda _: str(repo) in world.call("memory_status")["folders_off"], "memory is still on")
    assert world.call("memory_status")["folders_off"] == [str(repo)]
