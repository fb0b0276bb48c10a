"""The hook client with a running daemon, and the files it writes."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import socket
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoryd.daemon.endpoint import proof
from memoryd.daemon.hook_events import parse_record
from memoryd.llm.claude import NAMES, PREFIX, PREFIXES, login_of
from tests.hooks.conftest import Hooks
from tests.hooks.fake_daemon import ASKED, BOUND_SECONDS, EVENTS, FakeDaemon, read_request

ROOT = Path(__file__).parents[2]
Make = Callable[..., FakeDaemon]
ANSWER = b'{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"caf\xc3\xa9"}}'


@pytest.mark.parametrize("event", ASKED)
def test_the_answer_of_the_daemon_is_printed(hooks: Hooks, daemon: Make, event: str) -> None:
    fake = daemon(answer=ANSWER)
    assert hooks.run(event) == ANSWER + b"\n"
    first, record = fake.wait_for(1)[0]
    assert first == f"memoryd/1 hook {event} {len(record)}\n".encode()
    assert record == b"\n" + hooks.payload(event)


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_nothing_to_say_prints_nothing(hooks: Hooks, daemon: Make, event: str) -> None:
    daemon(answer=b"")
    assert hooks.run(event) == b""
    assert hooks.log() == ""


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreCompact", "SessionEnd"])
def test_an_event_is_spooled_before_the_daemon_is_poked(hooks: Hooks, daemon: Make, event: str) -> None:
    fake = daemon()
    assert hooks.run(event) == b""
    assert fake.wait_for(1)[0][0] == b"memoryd/1 poke\n"
    (record,) = hooks.spooled()
    assert re.fullmatch(r"\d{20}-\d+\." + event, record.name)
    blank, body = record.read_bytes().split(b"\n", 1)
    assert (blank, json.loads(body)) == (b"", json.loads(hooks.payload(event)))


def test_a_record_starts_with_the_options_and_the_project_folder(hooks: Hooks, daemon: Make) -> None:
    daemon()
    options = {"CLAUDE_PLUGIN_OPTION_EXTRACTOR": "heuristic", "CLAUDE_PLUGIN_OPTION_NOTE": "two\nlines\x0bmore"}
    hooks.run("Stop", None, CLAUDE_PROJECT_DIR="/p", ANTHROPIC_API_KEY="hidden", **options)
    head, body = hooks.spooled()[0].read_bytes().split(b"\n\n", 1)
    expected = b"CLAUDE_PLUGIN_OPTION_EXTRACTOR=heuristic\nCLAUDE_PLUGIN_OPTION_NOTE=two lines more\nCLAUDE_PROJECT_DIR=/p"
    assert (head, json.loads(body)) == (expected, json.loads(hooks.payload("Stop")))


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreCompact", "SessionEnd", "SessionStart"])
def test_no_words_of_the_session_are_spooled(hooks: Hooks, event: str) -> None:
    words = {"last_assistant_message": 'the "zirkonglobe"', "background_tasks": [{"description": "zirkonglobe"}]}
    hooks.run(event, json.dumps({**words, **json.loads(hooks.payload(event)), "prompt": "zirkonglobe"}).encode())
    records = [record.read_bytes() for record in hooks.spooled()]
    assert records and all(b"session_id" in record and b"zirkonglobe" not in record for record in records)


@pytest.mark.parametrize("answer", [ANSWER, b""])
def test_a_session_start_is_spooled_although_it_is_answered(hooks: Hooks, daemon: Make, answer: bytes) -> None:
    daemon(answer=answer)
    hooks.run("SessionStart")
    assert [path.suffix for path in hooks.spooled()] == [".SessionStart"]


def test_a_session_start_is_on_disk_before_the_daemon_is_asked(hooks: Hooks, daemon: Make) -> None:
    seen: list[int] = []

    def behave(link: socket.socket) -> None:
        read_request(link)
        seen.append(len(hooks.spooled()))
        link.close()

    daemon(behave=behave)
    hooks.run("SessionStart")
    assert seen == [1]


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse"])
def test_a_prompt_or_tool_call_is_not_written_to_disk(hooks: Hooks, daemon: Make, event: str) -> None:
    daemon(answer=ANSWER)
    hooks.run(event)
    assert hooks.spooled() == []


def test_what_is_written_is_private(hooks: Hooks) -> None:
    hooks.run("Stop")
    for folder, _, files in os.walk(hooks.home):
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
        for name in files:
            assert stat.S_IMODE((Path(folder) / name).stat().st_mode) == 0o600


def test_a_large_prompt_reaches_the_daemon_whole(hooks: Hooks, daemon: Make) -> None:
    fake = daemon(answer=ANSWER)
    prompt = hooks.payload("UserPromptSubmit", prompt="x" * 3_000_000)
    assert hooks.run("UserPromptSubmit", prompt) == ANSWER + b"\n"
    assert fake.wait_for(1)[0][1] == b"\n" + prompt


@pytest.mark.parametrize("event", EVENTS)
def test_our_own_runs_are_left_alone(hooks: Hooks, daemon: Make, event: str) -> None:
    fake = daemon(answer=ANSWER)
    assert hooks.run(event, MEMORYD_INTERNAL="1") == b""
    assert (fake.requests, hooks.spooled(), hooks.log()) == ([], [], "")


def test_an_unknown_event_does_nothing(hooks: Hooks, daemon: Make) -> None:
    fake = daemon()
    assert hooks.run("PostToolUse") == b""
    assert (fake.requests, hooks.spooled()) == ([], [])


def test_the_home_of_the_plugin_option_is_used(hooks: Hooks, tmp_path: Path) -> None:
    hooks.run("Stop", MEMORYD_HOME="", CLAUDE_PLUGIN_OPTION_HOME="~/chosen")
    assert len(list((tmp_path / "chosen" / "spool").glob("*.Stop"))) == 1


def test_the_daemon_is_reached_over_loopback_with_its_token(hooks: Hooks) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    answer = ANSWER.replace(b"SessionStart", b"UserPromptSubmit")
    requests = []

    def serve() -> None:
        link, _ = listener.accept()
        with link:
            hello = link.recv(100).split()
            link.sendall(f"proof {'5' * 32} {proof('abc123', 'daemon', port, hello[1].decode(), '5' * 32)}\n".encode())
            requests.append(hello[0])
            requests.append(read_request(link)[0])
            link.sendall(b'{"decision":"block",' + answer[1:])

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    (hooks.home / "run").mkdir(parents=True)
    (hooks.home / "run" / "endpoint").write_text(f"tcp {port} abc123\n")
    with listener:
        assert json.loads(hooks.run("UserPromptSubmit")) == json.loads(answer)
        thread.join(BOUND_SECONDS)
    assert requests[0] == b"hello"
    first, second = requests[1].splitlines()
    assert first.startswith(b"proof ") and b"abc123" not in first
    assert second.startswith(b"memoryd/1 hook UserPromptSubmit ")


@pytest.mark.parametrize("says", [b"", ANSWER, b"proof x y\n", b"proof " + b"5" * 32 + b" " + b"6" * 64 + b"\n" + ANSWER])
def test_a_stranger_at_the_port_of_a_dead_daemon_gets_and_is_believed_nothing(hooks: Hooks, says: bytes) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    heard = []

    def serve() -> None:
        link, _ = listener.accept()
        with link:
            heard.append(link.recv(1000))
            link.sendall(says)
            link.settimeout(0.3)
            with contextlib.suppress(OSError):
                heard.append(link.recv(10_000))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    (hooks.home / "run").mkdir(parents=True)
    (hooks.home / "run" / "endpoint").write_text(f"tcp {listener.getsockname()[1]} abc123\n")
    with listener:
        assert hooks.run("UserPromptSubmit") == b""
        thread.join(BOUND_SECONDS)
    assert b"abc123" not in b"".join(heard) and b"prompt" not in b"".join(heard)


def test_nothing_is_compiled_into_the_plugin_folder(hooks: Hooks) -> None:
    hooks.run("SessionStart")
    assert list(hooks.plugin.rglob("__pycache__")) == []


def test_hooks_at_once_spool_a_record_each(hooks: Hooks) -> None:
    command = ["sh", str(hooks.plugin / "hooks" / "hook.sh"), "Stop"]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, env=hooks.env, cwd=hooks.project) for _ in range(8)]
    for one in running:
        assert one.stdin is not None
        one.stdin.write(hooks.payload())
        one.stdin.close()
    assert [one.wait(BOUND_SECONDS) for one in running] == [0] * 8
    assert len([path for path in hooks.spooled() if path.suffix == ".Stop"]) == 8


LOGIN = {
    "ANTHROPIC_API_KEY": "sk-hidden-1",
    "ANTHROPIC_CUSTOM_HEADERS": "a: back\\slash\nb: 2",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "AWS_REGION": "eu-1",
    "GITHUB_TOKEN": "sk-hidden-2",
}


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_the_login_goes_over_the_socket_after_a_yes_and_never_into_a_file(hooks: Hooks, daemon: Make, event: str) -> None:
    fake = daemon(answer=b"")
    hooks.run(event, None, **LOGIN)
    assert b"hidden" not in fake.wait_for(1)[0][1], "nobody said yes"
    (hooks.home / "run" / "login-wanted").touch()
    hooks.run(event, None, **LOGIN)
    record = parse_record(fake.wait_for(2)[1][1])
    found = login_of(record.options)
    assert {name: found[name] for name in LOGIN if name in found} == {k: v for k, v in LOGIN.items() if k != "GITHUB_TOKEN"}
    assert "sk-hidden-2" not in str(found)
    assert record.payload["hook_event_name"] == event
    files = [path for path in hooks.home.rglob("*") if path.is_file()]
    assert [path for path in files if b"hidden" in path.read_bytes()] == []


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"hooks_{name}", ROOT / "hooks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hooks_and_the_daemon_mean_the_same_variables() -> None:
    protocol = _load("protocol")
    assert (set(protocol.LOGIN_NAMES), protocol.LOGIN_PREFIXES, protocol.LOGIN_PREFIX) == (NAMES, PREFIXES, PREFIX)


def test_what_is_typed_to_memoryd_itself_is_waited_for_longer_than_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = _load("hook")
    waited: list[float] = []
    monkeypatch.setattr(hook, "monotonic", lambda: 100.0)
    monkeypatch.setattr(hook.protocol, "ask", lambda home, event, data, deadline: waited.append(deadline - 100.0) or b"")
    for prompt in ("/memoryd:setup yes 123456", "/memoryd:off", "/memoryd:on 123456", "tell me of setups"):
        hook._deliver("/nowhere", "UserPromptSubmit", b'\n{"prompt":"' + prompt.encode() + b'"}', 100.0, {})
    assert waited == pytest.approx([hook.protocol.TYPED_SECONDS] * 3 + [hook.ASK_SECONDS["UserPromptSubmit"]])


@pytest.mark.parametrize(("value", "seconds"), [("", 0.2), ("3", 3.0), ("60", 4.0), ("soon", 0.2)])
def test_a_benchmark_lets_hooks_wait_longer_but_never_as_long_as_the_client_does(
    monkeypatch: pytest.MonkeyPatch, value: str, seconds: float
) -> None:
    hook = _load("hook")
    waited: list[float] = []
    monkeypatch.setattr(hook, "monotonic", lambda: 100.0)
    monkeypatch.setattr(hook.protocol, "ask", lambda home, event, data, deadline: waited.append(deadline - 100.0) or b"")
    hook._deliver("/nowhere", "UserPromptSubmit", b'\n{"prompt":"why?"}', 100.0, {"MEMORYD_HOOK_SECONDS": value})
    assert waited == pytest.approx([seconds])


def test_only_a_client_at_which_a_person_sits_says_so_of_a_typed_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = _load("hook")
    sent: list[bytes] = []
    monkeypatch.setattr(hook.protocol, "ask", lambda home, event, data, deadline: sent.append(data) or b"")
    for env in ({}, {"CLAUDE_CODE_SESSION_ATTENDED": "0"}, {"CLAUDE_CODE_SESSION_ATTENDED": "1"}):
        hook._deliver("/nowhere", "UserPromptSubmit", b'\n{"prompt":"/memoryd:setup"}', 0.0, env)
    assert [data.startswith(hook.protocol.ATTENDED) for data in sent] == [False, False, True]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="a process's environment is told on Linux only")
@pytest.mark.parametrize("mark", ["", "1"])
def test_a_client_that_another_one_s_shell_started_counts_as_run_by_a_model(mark: str) -> None:
    env = {"CLAUDECODE": mark} if mark else {}
    with subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], **env}) as client:
        try:
            result = {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_PID": str(client.pid)}
            assert _load("protocol").is_attended(result) is (not mark)
        finally:
            client.kill()
