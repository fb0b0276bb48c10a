"""After the user agreed, `claude -p` decides what is kept. It uses the session's login and leaves no trace in the client."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.errors import DaemonError
from tests.e2e.conftest import World, claude_binary
from tests.e2e.model_server import Block, Body, conversation, say, use
from tests.waiting import until

pytestmark = pytest.mark.e2e
KEY = "sk-e2e-never-on-disk"
SAID = "We looked into it together: the importer is slow since it opens a connection for each row, a pool cures that."
LEARNT = "The importer is slow because it opens a connection for each row; a connection pool cures that."


def is_run(body: Body) -> bool:
    return "memoryd-internal-run" in conversation(body)


def brain(body: Body) -> list[Block]:
    if not is_run(body):
        return [say("I see. I will use a pool for the importer's connections from here on.")]
    entry = {
        "content": LEARNT, "kind": "fix", "polarity": "know", "scope": "project", "evidence": [1], "importance": 2,
        "confidence": 0.9,
        "asked_as": ["why does loading take so long?"], "repeats": [], "replaces": [], "closes": [],
    }  # fmt: skip
    return [say(json.dumps({"candidates": [entry], "handoff": "The importer was looked at; a pool is still to be built in."}))]


def agree(world: World) -> None:
    world.model.brain = brain
    world.extra["ANTHROPIC_API_KEY"] = KEY
    setup(world, "--claude")


def setup(world: World, *options: str) -> None:
    """Run the setup as a user does in a terminal without an API key."""
    command = [sys.executable, "-P", "-m", "memoryd", "setup", *options]  # -P: the folder contains a file called memoryd.
    environment = {name: value for name, value in world.environment.items() if not name.startswith("ANTHROPIC")}
    done = subprocess.run(command, env=environment, cwd=world.folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def teach(world: World, repo: Path, said: str = SAID) -> str:
    return str(world.run(said, repo)["session_id"])


def learnt(world: World) -> list[str]:
    return [memory["content"] for memory in world.call("list_memories", project="all", limit=100)["memories"]]


def holds_key(world: World) -> list[Path]:
    found = [path for path in world.paths.home.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in found if KEY.encode() in path.read_bytes()]


def test_after_a_yes_memories_come_by_claude_and_leave_no_trace(world: World) -> None:
    agree(world)
    repo = world.repository("shop")
    session = teach(world, repo)
    until(lambda: _answers(lambda: LEARNT in learnt(world)), "nothing was learnt", 120)
    runs = [n for n, body in enumerate(world.model.requests) if is_run(body)]
    assert len(runs) == 1 and world.model.keys[runs[0]] == KEY, "with the session's own key"
    assert holds_key(world) == []
    logs = [path.stem for path in (world.folder / ".claude" / "projects").rglob("*.jsonl")]
    assert logs == [session], "no session of the run, so none in /resume"
    assert [row["session"] for row in world.call("sessions")["sessions"]] == [session]
    history = world.folder / ".claude" / "history.jsonl"
    assert not history.exists() or "memoryd-internal-run" not in history.read_text()
    traces = [path for path in (world.folder / ".claude").rglob("*") if path.is_file()]
    assert [path for path in traces if b"memoryd-internal-run" in path.read_bytes()] == []
    status = world.call("memory_status")
    assert status["reader"] == "claude" and status["tokens_today"] > 0 and status["usd_month"] > 0


def test_without_a_yes_no_model_of_ours_is_asked(world: World) -> None:
    agree(world)
    setup(world, "--no-claude")
    teach(world, world.repository("shop"))
    world.wait_for_daydreams()
    assert not any(is_run(body) for body in world.model.requests)
    assert world.call("memory_status")["reader"] == "session"


@pytest.mark.parametrize(("status", "says"), [(401, "ailed to authenticate"), (500, "scripted")])
def test_a_run_that_fails_is_reported_once_and_made_up_for(world: World, status: int, says: str) -> None:
    agree(world)
    repo = world.repository("shop")
    world.model.refuses = lambda body: status if is_run(body) else 0
    teach(world, repo, f"From now on always run `make lint-docs` before you commit. {SAID}")
    until(lambda: _answers(lambda: bool(world.call("memory_status")["reader_problem"])), "no failure", 120)
    until(lambda: _answers(lambda: "make lint-docs" in "".join(learnt(world))), "rules did not read meanwhile", 120)
    assert says in world.call("memory_status")["reader_problem"]
    assert len([run for run in world.call("log", limit=100)["runs"] if run["error"]]) == 1
    world.model.refuses = lambda body: 0
    world.call("daydream")
    until(lambda: _answers(lambda: LEARNT in learnt(world)), "it was not made up for", 120)
    assert world.call("memory_status")["reader_problem"] == ""


class Terminal:
    """The client in a pseudo-terminal, operated by keys."""

    def __init__(self, world: World, repo: Path, **environment: str) -> None:
        known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        approved = {"approved": [KEY[-20:]], "rejected": []}
        made = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": approved,
            "projects": {str(repo): known},
        }
        (world.folder / ".claude").mkdir(exist_ok=True)
        (world.folder / ".claude" / ".claude.json").write_text(json.dumps(made))
        self._seen = b""
        self._pid, self._keys = pty.fork()
        if not self._pid:
            os.chdir(repo)
            env = world.environment | {"TERM": "xterm-256color"} | environment
            os.execve(claude_binary(), [claude_binary(), *world.plugin_flags], env)
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def shows(self, pattern: str) -> re.Match[str]:
        """Wait until the screen has shown this since the last key."""
        end = time.monotonic() + 90
        while time.monotonic() < end:
            if select.select([self._keys], [], [], 0.2)[0]:
                self._seen += os.read(self._keys, 65_536)
            text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b" ", self._seen).decode("utf-8", "replace")
            if match := re.search(pattern, re.sub(r"\s+", " ", text)):
                return match
        raise AssertionError(f"{pattern} was not shown: {self._seen[-2000:]!r}")

    def types(self, text: str) -> None:
        """Type a line, wait until it is displayed, and press Enter."""
        self._seen = b""
        os.write(self._keys, text.encode())
        self.shows(re.escape(text).replace("\\ ", r"\s*"))
        self._seen = b""
        os.write(self._keys, b"\r")

    def close(self) -> None:
        """Close the client."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._keys)


@contextlib.contextmanager
def at_a_terminal(world: World, repo: Path, **environment: str) -> Iterator[Terminal]:
    terminal = Terminal(world, repo, **environment)
    try:
        terminal.shows("❯")
        yield terminal
    finally:
        terminal.close()


def reader(world: World) -> str:
    return str(world.call("memory_status")["reader"])


def test_the_user_agrees_by_what_they_type_and_no_model_can(world: World) -> None:
    world.extra["ANTHROPIC_API_KEY"] = KEY
    world.model.brain = lambda body: [say("Here is what there is.")]
    repo = world.repository("shop")
    world.run("hello", repo)
    until(lambda: _answers(lambda: bool(world.call("memory_status"))), "no daemon", 120)
    with at_a_terminal(world, repo) as person:
        person.types("/memoryd:setup")
        code = person.shows(r"setup\s*yes\s*(\d{6})")[1]
        assert code not in json.dumps(world.model.requests), "no model is sent the code"
        world.run(f"/memoryd:setup yes {code}", repo)
        assert reader(world) == "session", "a run without a person gives no consent"
        with at_a_terminal(world, repo, CLAUDECODE="1") as model:
            model.types(f"/memoryd:setup yes {code}")
            until(lambda: code in json.dumps(world.model.main_requests()[-1]), "it was not sent", 60)
        assert reader(world) == "session", "nor does a client that another one's shell started"
        person.shows("❯")
        person.types(f"/memoryd:setup yes {code}")
        until(lambda: reader(world) == "claude", "the yes was not taken", 60)
        person.shows("reads your sessions from now on")
        person.types("/memoryd:setup no")
        until(lambda: reader(world) == "session", "the no was not taken", 60)


def test_a_new_user_sees_the_reader_in_the_first_session(world: World) -> None:
    world.extra["ANTHROPIC_API_KEY"] = KEY
    world.model.brain = lambda body: [say("Here is what there is.")]
    with at_a_terminal(world, world.repository("shop"), MEMORYD_HOOK_SECONDS="4") as person:
        until(lambda: _answers(lambda: bool(world.call("memory_status"))), "no daemon", 120)
        person.types("please look at the cart")
        person.shows(r"memoryd: reader session: the session's own model")
        assert reader(world) == "session"


def test_a_model_that_calls_the_command_gives_no_consent(world: World) -> None:
    repo = world.repository("shop")
    asked = {"skill": "memoryd:setup", "args": "yes 123456"}
    world.model.brain = lambda body: [say("done")] if "tool_result" in json.dumps(body["messages"]) else [use("Skill", **asked)]
    world.run("be helpful", repo)
    until(lambda: _answers(lambda: bool(world.call("memory_status"))), "no daemon", 120)
    assert world.call("memory_status")["reader"] == "session"


def test_when_the_budget_is_used_up_rules_read_and_the_status_says_so(world: World) -> None:
    agree(world)
    setup(world, "--budget", "0")
    teach(world, world.repository("shop"), "From now on always run `make lint-docs` before you commit.")
    until(lambda: _answers(lambda: "make lint-docs" in "".join(learnt(world))), "rules did not read it", 120)
    assert "budget of 0" in world.call("memory_status")["reader_line"]
    assert not any(is_run(body) for body in world.model.requests)


def _answers(question: object) -> bool:
    """Return the answer to a request, or None while the daemon is not running."""
    try:
        return bool(question()) if callable(question) else False
    except DaemonError:
        return False
