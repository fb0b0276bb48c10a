"""Failures of the hook client: it ends in time, prints nothing unexpected, and loses nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hooks.conftest import Hooks
from tests.hooks.fake_daemon import BOUND_SECONDS, EVENTS, FakeDaemon
from tests.waiting import once_within, until

Make = Callable[..., FakeDaemon]
GENEROUS_SECONDS = (
    5.0  # The limit is 0.3 s, which benchmarks/hooks.py measures. A hook that waits for the daemon hangs for longer.
)
UNABLE = """

def _unable(*arguments, **options):
    raise NotImplementedError
"""
SPOOLED = [event for event in EVENTS if event not in ("UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "SubagentStart")]


def wait_for_start(hooks: Hooks) -> dict[str, str]:
    """Wait until the launcher has run, and return its environment."""
    until(hooks.mark.exists, "nothing was started")
    return dict(line.partition("=")[::2] for line in hooks.mark.read_text().splitlines())


@pytest.mark.parametrize("event", SPOOLED)
def test_without_a_daemon_the_event_is_kept_and_one_is_started(hooks: Hooks, event: str) -> None:
    hooks.run(event)
    wait_for_start(hooks)
    assert [path.suffix for path in hooks.spooled()] == [f".{event}"]


def test_a_dead_daemons_socket_is_noticed(hooks: Hooks, daemon: Make) -> None:
    daemon().close()
    assert hooks.run("UserPromptSubmit") == b""
    wait_for_start(hooks)
    assert "starting a daemon" in hooks.log()


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
def test_a_hung_daemon_is_not_waited_for_and_not_doubled(hooks: Hooks, daemon: Make, event: str) -> None:
    hooks.as_shipped()
    daemon(behave=lambda link: None)
    assert once_within(GENEROUS_SECONDS, lambda: hooks.run(event)) == b""
    assert "starting" not in hooks.log()


def test_a_daemon_that_no_longer_accepts_is_not_waited_for(hooks: Hooks) -> None:
    hooks.as_shipped()
    (hooks.home / "run").mkdir(parents=True)
    path = hooks.home / "run" / "d.sock"
    with (
        socket.socket(socket.AF_UNIX) as listener,
        socket.socket(socket.AF_UNIX) as first,
        socket.socket(socket.AF_UNIX) as second,
    ):
        listener.bind(str(path))
        listener.listen(0)
        (hooks.home / "run" / "endpoint").write_text(f"unix {path}\n")
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(str(path))
        assert once_within(GENEROUS_SECONDS, lambda: hooks.run("Stop")) == b""
    assert {path.suffix for path in hooks.spooled()} == {".Stop"}
    assert "does not accept" in hooks.log()


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"error Wrong token.\n", b"\xff\xfe", b'{"cut": '])
def test_a_strangers_words_do_not_reach_the_session(hooks: Hooks, daemon: Make, words: bytes) -> None:
    def behave(link: socket.socket) -> None:
        link.recv(65536)
        link.sendall(words)
        link.shutdown(socket.SHUT_RDWR)

    daemon(behave=behave)
    assert hooks.run("UserPromptSubmit") == b""
    assert "not memoryd" in hooks.log()


def test_a_stranger_who_never_stops_talking_is_cut_off(hooks: Hooks, daemon: Make) -> None:
    def behave(link: socket.socket) -> None:
        while True:
            link.sendall(b"x" * 65536)

    hooks.as_shipped()
    daemon(behave=behave)
    assert once_within(GENEROUS_SECONDS, lambda: hooks.run("UserPromptSubmit")) == b""


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff\xfe", b"unix", b"unix /nowhere/at all", b"tcp x y", b"tcp 99999 t", b"tcp 1"]
)
def test_an_endpoint_file_without_sense_means_no_daemon(hooks: Hooks, content: bytes) -> None:
    (hooks.home / "run").mkdir(parents=True)
    (hooks.home / "run" / "endpoint").write_bytes(content)
    assert hooks.run("UserPromptSubmit") == b""
    wait_for_start(hooks)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_a_socket_of_another_user_is_not_talked_to(hooks: Hooks, daemon: Make) -> None:
    fake = daemon(answer=b'{"a": 1}')
    os.chown(hooks.home / "run" / "d.sock", 12345, -1)
    assert hooks.run("UserPromptSubmit") == b""
    assert fake.requests == []
    assert "another user" in hooks.log()


def test_a_home_that_cannot_be_written_still_gets_answers(hooks: Hooks, daemon: Make) -> None:
    daemon(answer=b'{"a": 1}')
    (hooks.home / "spool").write_text("a file where the folder should be")
    assert hooks.run("SessionStart") == b'{"a": 1}\n'
    assert "not spooled" in hooks.log()


@pytest.mark.parametrize("event", EVENTS)
def test_a_home_that_is_not_a_folder_is_survived(hooks: Hooks, event: str) -> None:
    hooks.home.write_text("a file")
    hooks.run(event)
    assert not hooks.mark.exists()


@pytest.mark.parametrize("stdin", [b"", b"not JSON", b"[1]", b"\xff\xfe\x00", b'{"cut": '])
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_input_that_is_not_an_event_is_not_kept(hooks: Hooks, daemon: Make, event: str, stdin: bytes) -> None:
    fake = daemon(answer=b'{"a": 1}')
    assert hooks.run(event, stdin) == b""
    assert (fake.requests, hooks.spooled()) == ([], [])
    assert "not a JSON object" in hooks.log()


def test_input_without_bounds_is_dropped(hooks: Hooks) -> None:
    assert hooks.run("Stop", b"{" + b" " * 17_000_000) == b""
    assert hooks.spooled() == []
    assert "too long" in hooks.log()


def test_input_that_nobody_closes_does_not_hold_up_the_session(hooks: Hooks) -> None:
    hooks.as_shipped()
    command = ["sh", str(hooks.plugin / "hooks" / "hook.sh"), "Stop"]

    def run() -> int:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=hooks.env, cwd=hooks.project)
        assert process.stdin is not None
        process.stdin.write(hooks.payload())
        process.stdin.flush()
        code = process.wait(BOUND_SECONDS)
        process.stdin.close()
        return code

    assert once_within(2 * GENEROUS_SECONDS, run) == 0
    assert {path.suffix for path in hooks.spooled()} == {".Stop"}


def test_starts_are_tried_once_in_ten_seconds(hooks: Hooks) -> None:
    hooks.run("Stop")
    wait_for_start(hooks)
    hooks.mark.unlink()
    hooks.run("Stop")
    assert hooks.log().count("starting a daemon") == 1
    stamp = hooks.home / "run" / "start.stamp"
    os.utime(stamp, (time.time() - 11, time.time() - 11))
    hooks.run("Stop")
    assert hooks.log().count("starting a daemon") == 2


@pytest.mark.parametrize("tidy", [False, True])
def test_a_daemon_that_came_up_and_ended_is_replaced_at_once(hooks: Hooks, daemon: Make, tidy: bool) -> None:
    hooks.run("Stop")
    wait_for_start(hooks)
    os.utime(hooks.home / "run" / "start.stamp", (time.time() - 2, time.time() - 2))
    daemon().close()
    if tidy:
        (hooks.home / "run" / "endpoint").unlink()
    hooks.run("Stop")
    assert hooks.log().count("starting a daemon") == 2


def test_a_started_daemon_gets_no_credentials_of_the_client(hooks: Hooks) -> None:
    secrets = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "AWS_SECRET",
    ]
    kept = ["MEMORYD_OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENAI_API_KEY", "LANG"]
    hooks.run("Stop", None, **dict.fromkeys(secrets + kept, "value"))
    env = wait_for_start(hooks)
    assert [name for name in secrets if name in env] == []
    assert [name for name in kept if name not in env] == []
    assert (env["MEMORYD_HOME"], env["CLAUDE_PLUGIN_DATA"]) == (str(hooks.home), str(hooks.data))


@pytest.mark.parametrize("can_spawn", [True, False])
def test_a_started_daemon_leads_its_own_process_session_and_holds_no_pipe(hooks: Hooks, can_spawn: bool) -> None:
    if not can_spawn:
        starter = hooks.plugin / "hooks" / "starter.py"
        starter.write_text(starter.read_text().replace("os.posix_spawn(", "_unable(") + UNABLE)
    launcher = hooks.plugin / "plugin" / "bin" / "memoryd"
    launcher.write_text(
        f'ps -o sid= -p $$ > "{hooks.mark}.tmp"; echo $$ >> "{hooks.mark}.tmp"; mv "{hooks.mark}.tmp" "{hooks.mark}"\n'
        f"exec sleep {2 * BOUND_SECONDS:.0f}\n"
    )
    hooks.run("Stop")  # Reads the pipes to their end. A child that holds them open would keep it until its limit.
    wait_for_start(hooks)
    session, process = hooks.mark.read_text().split()
    os.kill(int(process), signal.SIGKILL)
    assert session == process


def test_the_log_of_failures_stays_small(hooks: Hooks) -> None:
    log = hooks.home / "logs" / "hooks.log"
    log.parent.mkdir(parents=True)
    log.write_text("x" * 300_000)
    hooks.run("UserPromptSubmit")
    assert log.stat().st_size < 1000


def test_without_any_python_the_session_start_says_so(hooks: Hooks, tmp_path: Path) -> None:
    (hooks.data / "python").unlink()
    empty = tmp_path / "empty"
    empty.mkdir()
    env = {**hooks.env, "PATH": str(empty)}
    for event, said in (("SessionStart", True), ("Stop", False)):
        command = ["/bin/sh", str(hooks.plugin / "hooks" / "hook.sh"), event]
        done = subprocess.run(command, input=hooks.payload(), env=env, capture_output=True, timeout=BOUND_SECONDS, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert ("Python 3.11" in json.loads(done.stdout)["systemMessage"]) if said else done.stdout == b""


def test_a_cached_interpreter_that_is_gone_is_not_used(hooks: Hooks, daemon: Make) -> None:
    daemon(answer=b'{"a": 1}')
    (hooks.data / "python").write_text("/nowhere/python\n")
    assert hooks.run("UserPromptSubmit") == b'{"a": 1}\n'


def test_without_the_plugins_data_folder_nothing_of_the_project_is_taken_for_it(hooks: Hooks, daemon: Make) -> None:
    daemon(answer=b'{"a": 1}')
    (hooks.project / "announce").write_text("not ours")
    (hooks.project / "python").write_text("/bin/false")
    assert hooks.run("SessionStart", CLAUDE_PLUGIN_DATA="") == b'{"a": 1}\n'
    assert (hooks.project / "announce").exists()


def test_hooks_that_fail_at_once_start_one_daemon(hooks: Hooks) -> None:
    launcher = hooks.plugin / "plugin" / "bin" / "memoryd"
    launcher.write_text(f'echo x >>"{hooks.mark}"\n')
    command = ["sh", str(hooks.plugin / "hooks" / "hook.sh"), "Stop"]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, env=hooks.env, cwd=hooks.project) for _ in range(6)]
    for one in running:
        one.communicate(hooks.payload(), timeout=BOUND_SECONDS)
    wait_for_start(hooks)
    assert hooks.log().count("starting a daemon") == 1


def test_a_hook_that_is_killed_while_it_writes_leaves_no_half_record(hooks: Hooks) -> None:
    (hooks.home / "spool").mkdir(parents=True)
    python = hooks.data / "python"
    code = (
        "import os, sys; sys.path[:0] = [sys.argv[1]]; import protocol\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), 9)\n"
        "protocol.spool(sys.argv[2], 'Stop', b'x' * 100000)\n"
    )
    command = [python.read_text().strip(), "-I", "-B", "-c", code, str(hooks.plugin / "hooks"), str(hooks.home)]
    assert subprocess.run(command, check=False).returncode == -9
    assert [path.name[0] for path in (hooks.home / "spool").iterdir()] == ["."]


@pytest.mark.parametrize("event", EVENTS)
def test_a_pipe_in_place_of_the_endpoint_file_keeps_no_hook_waiting(hooks: Hooks, event: str) -> None:
    (hooks.home / "run").mkdir(parents=True)
    os.mkfifo(hooks.home / "run" / "endpoint")
    hooks.run(event)
    wait_for_start(hooks)
    assert "starting a daemon" in hooks.log()


@pytest.mark.parametrize("event", EVENTS)
def test_after_an_uninstall_a_hook_of_a_running_session_does_nothing(hooks: Hooks, event: str) -> None:
    (hooks.plugin / ".orphaned_at").write_text("1795910491682")
    for gone in ("", str(hooks.data / "gone")):
        assert hooks.run(event, CLAUDE_PLUGIN_DATA=gone) == b""
    assert not hooks.home.exists() and not hooks.mark.exists(), "nothing is written, and no daemon started"


def test_after_an_update_a_hook_of_the_old_version_still_works(hooks: Hooks) -> None:
    (hooks.plugin / ".orphaned_at").write_text("1795910491682")
    hooks.data.mkdir(exist_ok=True)
    hooks.run("Stop")
    assert len(hooks.spooled()) == 1
