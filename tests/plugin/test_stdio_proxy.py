"""The MCP proxy, run like by the client, with a fake daemon."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hooks.fake_daemon import BOUND_SECONDS
from tests.plugin.conftest import INITIALIZE, Client, Proxies
from tests.plugin.fake_mcp_daemon import FakeMcpDaemon
from tests.waiting import once_within, until


@pytest.fixture
def daemon(proxies: Proxies) -> Iterator[FakeMcpDaemon]:
    proxies.has_a_daemon()
    made = FakeMcpDaemon(proxies.home)
    yield made
    made.close()


def wait_until_gone(pid: int) -> None:
    until(lambda: not os.path.exists(f"/proc/{pid}"), f"process {pid} is left")


def until_the_daemon_serves(client: Client) -> None:
    until(lambda: client.tools(1) == ["recall"], "the daemon was not started")


def test_messages_go_to_the_daemon_and_back(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    client = proxies.client()
    assert client.greet()["result"]["serverInfo"]["version"] == "fake"
    assert client.ask("tools/call", 7, name="echo", arguments={"text": "käse"})["result"]["content"][0]["text"]
    assert daemon.methods() == ["initialize", "notifications/initialized", "tools/call"]
    assert daemon.folders == [str(proxies.project)]


def test_the_first_answer_comes_quickly(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    # The goal is 0.4 s, but test machines are busy.
    answer = once_within(1.0, lambda: proxies.client().ask("initialize", 0, **INITIALIZE))
    assert answer["result"]["serverInfo"]["version"] == "fake"


def test_the_project_folder_that_the_client_names_is_reported(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    proxies.env["CLAUDE_PROJECT_DIR"] = "/some/where"
    proxies.client().greet()
    assert daemon.folders == ["/some/where"]


def test_lines_that_are_no_message_are_passed_on_and_survived(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    client = proxies.client()
    client.greet()
    for line in (b"", b"no JSON", b'[{"a": 1}]', b"\xff\xfe"):
        client.send_raw(line)
    assert client.ask("tools/list", 1)["result"]["tools"]
    assert daemon.strange == [b"no JSON\n", b'[{"a": 1}]\n', b"\xff\xfe\n"]


def test_a_daemon_is_started_when_there_is_none(proxies: Proxies) -> None:
    proxies.starts_a_daemon()
    client = proxies.client()
    assert client.greet()["result"]["serverInfo"]["name"] == "memoryd"
    until_the_daemon_serves(client)
    assert len(proxies.daemon_pids()) == 1


def test_without_a_daemon_the_proxy_answers_itself(proxies: Proxies) -> None:
    client = proxies.client()
    answer = client.greet()["result"]
    assert answer["protocolVersion"] == INITIALIZE["protocolVersion"]
    assert answer["capabilities"] == {"tools": {"listChanged": True}}
    assert [tool["name"] for tool in client.ask("tools/list", 1)["result"]["tools"]] == ["memory_status"]
    assert client.ask("ping", 2)["result"] == {}
    assert client.ask("resources/list", 3)["error"]["code"] == -32601
    status = client.ask("tools/call", 4, name="memory_status", arguments={})["result"]
    assert (status["isError"], "launcher.log" in status["content"][0]["text"]) == (False, True)
    assert client.ask("tools/call", 5, name="recall", arguments={"query": "x"})["result"]["isError"]


def test_discovery_before_the_handshake_is_answered_without_a_daemon(proxies: Proxies) -> None:
    client = proxies.client()
    client.send_raw(b'{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{}}')
    assert client.next()["error"]["code"] == -32601


def test_a_late_daemon_takes_over_and_the_client_is_notified(proxies: Proxies) -> None:
    client = proxies.client()
    client.greet()
    daemon = FakeMcpDaemon(proxies.home)
    assert client.next()["method"] == "notifications/tools/list_changed"
    assert [tool["name"] for tool in client.ask("tools/list", 1)["result"]["tools"]] == ["recall"]
    assert daemon.methods() == ["initialize", "notifications/initialized", "tools/list"]
    assert daemon.received[0]["params"] == INITIALIZE
    daemon.close()


def replace_daemon(proxies: Proxies, old: FakeMcpDaemon) -> FakeMcpDaemon:
    old.close()
    return FakeMcpDaemon(proxies.home)


def test_after_the_daemons_end_the_next_request_goes_to_its_successor(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    client = proxies.client()
    client.greet()
    successor = replace_daemon(proxies, daemon)
    assert client.ask("tools/call", 9, name="echo", arguments={"a": 1})["result"]["content"][0]["text"] == '{"a": 1}'
    assert successor.methods() == ["initialize", "notifications/initialized", "tools/call"]
    successor.close()


def test_the_daemon_is_started_again_for_the_next_request(proxies: Proxies) -> None:
    proxies.starts_a_daemon()
    client = proxies.client()
    client.greet()
    until_the_daemon_serves(client)
    proxies.kill_daemons()
    wait_until_gone(proxies.daemon_pids()[0])
    proxies.forget_attempts()
    answer = client.ask("tools/call", 2, name="echo", arguments={})
    if "error" in answer:  # The proxy had not noticed the daemon's end yet, so the call may have been executed.
        assert "Try again" in answer["error"]["message"]
        answer = client.ask("tools/call", 3, name="echo", arguments={})
    assert answer["result"]["content"][0]["text"] == "{}"
    assert len(proxies.daemon_pids()) == 2


def test_only_a_request_brings_a_daemon_back(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    proxies.starts_a_daemon()
    client = proxies.client()
    client.greet()
    daemon.close()
    proxies.forget_attempts()
    client.send("notifications/roots/list_changed")
    client.send_raw(b'{"jsonrpc":"2.0","id":99,"result":{}}')
    client.process.stdin.close()
    assert client.process.wait(BOUND_SECONDS) == 0
    assert not (proxies.home / "run" / "start.stamp").exists()


def test_a_request_that_may_have_been_done_is_not_done_twice(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    client = proxies.client()
    client.greet()
    answer = client.ask("tools/call", 5, name="die", arguments={})
    assert answer["error"]["code"] == -32000
    assert "Try again" in answer["error"]["message"]
    assert client.ask("tools/list", 6)["result"]["tools"]


def test_a_reading_request_is_repeated_once(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    daemon._answer = _dying_on("tools/list", daemon, times=1)
    client = proxies.client()
    client.greet()
    assert client.ask("tools/list", 6)["result"]["tools"]
    assert daemon.methods().count("tools/list") == 2


def test_a_request_that_kills_every_daemon_ends_with_an_error(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    daemon._answer = _dying_on("tools/list", daemon, times=100)
    client = proxies.client()
    client.greet()
    assert client.ask("tools/list", 6)["error"]["code"] == -32000
    assert daemon.methods().count("tools/list") == 2


def _dying_on(method: str, daemon: FakeMcpDaemon, times: int):  # type: ignore[no-untyped-def]
    answer = daemon._answer

    def behave(link, message):  # type: ignore[no-untyped-def]
        nonlocal times
        if message.get("method") == method and times:
            times -= 1
            daemon.received.append(message)
            raise EOFError
        answer(link, message)

    return behave


def test_a_stranger_at_the_socket_is_not_given_the_session(proxies: Proxies) -> None:
    daemon = FakeMcpDaemon(proxies.home)
    daemon._serve = lambda link: link.close()
    client = proxies.client()
    assert client.greet()["result"]["capabilities"] == {"tools": {"listChanged": True}}
    daemon.close()


@pytest.mark.parametrize("with_daemon", [True, False])
def test_the_proxy_ends_with_its_client(proxies: Proxies, with_daemon: bool) -> None:
    daemon = FakeMcpDaemon(proxies.home) if with_daemon else None
    client = proxies.client()
    client.greet()
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(BOUND_SECONDS) == 0
    assert client.process.stderr is not None
    assert client.process.stderr.read() == b""
    if daemon:
        daemon.close()


def test_answers_on_their_way_are_delivered_before_the_end(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    client = proxies.client()
    for id in range(20):
        client.send("tools/list", id)
    client.process.stdin.close()
    assert sorted(client.next()["id"] for _ in range(20)) == list(range(20))


def test_the_proxy_of_our_own_model_run_serves_nothing(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    proxies.env["MEMORYD_INTERNAL"] = "1"
    client = proxies.client()
    assert client.process.wait(BOUND_SECONDS) == 0
    assert daemon.received == []


def test_clients_at_once_each_get_their_own_answers(proxies: Proxies, daemon: FakeMcpDaemon) -> None:
    clients = [proxies.client() for _ in range(4)]
    for number, client in enumerate(clients):
        client.send("tools/call", number, name="echo", arguments={"n": number})

    def text(client: Client) -> object:
        return json.loads(client.next()["result"]["content"][0]["text"])

    assert [text(client) for client in clients] == [{"n": number} for number in range(4)]


@pytest.mark.parametrize(("version", "stopped"), [("0.0.9", True), ("999.0.0", False), ("fake", False)])
def test_a_daemon_of_an_older_version_is_asked_to_end(proxies: Proxies, version: str, stopped: bool) -> None:
    if not stopped:
        proxies.has_a_daemon()
    daemon = FakeMcpDaemon(proxies.home, version)
    proxies.client().greet()
    until(lambda: daemon.stopped == stopped)
    assert (daemon.methods()[:1] == ["initialize"]) != stopped
    daemon.close()


def test_the_launcher_works_through_a_link(proxies: Proxies, daemon: FakeMcpDaemon, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "memoryd"
    link.symlink_to(proxies.plugin / "plugin" / "bin" / "memoryd")
    (tmp_path / "bin" / "again").symlink_to("memoryd")
    for name in ("memoryd", "again"):
        request = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}).encode() + b"\n"
        command = [str(tmp_path / "bin" / name), "mcp"]
        done = subprocess.run(command, input=request, env=proxies.env, capture_output=True, timeout=BOUND_SECONDS, check=True)
        assert json.loads(done.stdout)["id"] == 0
