"""The daemon with its real socket, in a thread of the test's process."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings
from memoryd.core.errors import ConfigError, DaemonError, DaemonUnavailable, NotFoundError
from memoryd.core.paths import Paths
from memoryd.core.types import EPOCH
from memoryd.daemon.client import Client
from memoryd.daemon.contract import Slot
from memoryd.daemon.core import Core
from memoryd.daemon.endpoint import LOOPBACK, Endpoint, connect, publish, read_endpoint
from memoryd.daemon.process import _Daemon, _on_loop_fault, run_daemon
from tests.memoryd.daemon.conftest import Running
from tests.memoryd.daemon.fake_api import FakeApi
from tests.waiting import HANGS_SECONDS, until


def talk(paths: Paths, data: bytes, *, half_close: bool = True) -> bytes:
    """Send bytes, and read to the end."""
    with connect(read_endpoint(paths), HANGS_SECONDS) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        with contextlib.suppress(ConnectionResetError):  # It closed the connection on bytes that it did not want to read.
            while chunk := connection.recv(65536):
                received += chunk
        return received


def hook(paths: Paths, event: bytes, payload: dict[str, Any], options: bytes = b"") -> bytes:
    record = options + b"\n" + orjson.dumps(payload)
    return talk(paths, b"memoryd/1 hook %s %d\n" % (event, len(record)) + record, half_close=False)


def spool(paths: Paths, number: int, event: str, data: bytes) -> Path:
    paths.spool.mkdir(parents=True, exist_ok=True)
    path = paths.spool / f"{number:020}-77.{event}"
    temporary = paths.spool / f".{path.name}"
    temporary.write_bytes(data)
    temporary.rename(path)
    return path


def test_ping_tells_version_and_process(daemon: Running) -> None:
    assert daemon.client.ping(HANGS_SECONDS) == ("0.1.0", os.getpid())


def test_socket_endpoint_and_log_are_private(daemon: Running) -> None:
    endpoint = read_endpoint(daemon.paths)
    for path in (Path(endpoint.path), daemon.paths.endpoint, daemon.paths.logs / "daemon.log"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(daemon.paths.run.stat().st_mode) == 0o700


def test_a_stop_removes_endpoint_and_socket_and_closes_the_api(run: Callable[..., Any]) -> None:
    with run() as daemon:
        path = Path(read_endpoint(daemon.paths).path)
        assert daemon.client.stop(HANGS_SECONDS) is True
        daemon.thread.join(HANGS_SECONDS)
        assert daemon.code == 0 and daemon.api.closed
        assert not path.exists() and not daemon.paths.endpoint.exists()
        assert daemon.client.stop(HANGS_SECONDS) is False


def test_calls_reach_the_api_and_their_errors_come_back_as_they_were(daemon: Running) -> None:
    assert daemon.client.call("anything", {"a": 1}) == {"ok": True}
    assert daemon.api.calls == [("anything", {"a": 1})]
    with pytest.raises(NotFoundError) as caught:
        daemon.client.call("missing")
    assert (caught.value.message, caught.value.fix) == ("There is no such memory.", "List them.")


def test_an_unexpected_error_is_reported_without_its_details_and_shown_in_the_status(daemon: Running) -> None:
    with pytest.raises(DaemonError) as caught:
        daemon.client.call("boom")
    assert "secret detail" not in str(caught.value) and "RuntimeError" in str(caught.value)
    status = daemon.client.call("memory_status")
    assert status["ok"] is True
    assert status["daemon"]["errors"][0]["where"] == "boom"
    assert status["daemon"]["pid"] == os.getpid() and status["daemon"]["calls"] == 2


def test_a_hook_gets_its_answer_and_its_options_arrive(daemon: Running) -> None:
    options = b"CLAUDE_PLUGIN_OPTION_A=b=c\nCLAUDE_PROJECT_DIR=/p\n"
    assert hook(daemon.paths, b"SessionStart", {"n": 7}, options) == b"answer to SessionStart 7"
    assert daemon.api.hooks == [("SessionStart", {"n": 7}, {"CLAUDE_PLUGIN_OPTION_A": "b=c", "CLAUDE_PROJECT_DIR": "/p"})]


def test_an_answer_that_no_hook_waits_for_is_taken_back(daemon: Running) -> None:
    record = b"\n" + orjson.dumps({"n": 7, "slow": True})
    with connect(read_endpoint(daemon.paths), HANGS_SECONDS) as connection:
        connection.sendall(b"memoryd/1 hook SessionStart %d\n" % len(record) + record)
        until(lambda: daemon.api.hooks, "the hook did not arrive")
    daemon.api.late.set()
    until(lambda: daemon.api.taken_back, "the answer was not taken back")
    assert daemon.api.taken_back == [{"n": 7, "slow": True}]
    assert hook(daemon.paths, b"SessionStart", {"n": 8}) and len(daemon.api.taken_back) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"memoryd/1 hook Stop 10\nshort",
        b"memoryd/1 hook ../x 3\n\n{}",
        b"memoryd/1 hook Stop 5\n\n[1]\n",
        b"memoryd/1 hook Stop 7\nno line",
        b"memoryd/1 hook Stop 99999999999\n",
        b"memoryd/1 hook Stop -1\n",
        b'memoryd/1 hook Stop 13\n\n{"boom": 1}\n',
    ],
)
def test_a_broken_hook_request_answers_nothing_and_is_reported(daemon: Running, data: bytes) -> None:
    assert talk(daemon.paths, data) == b""
    assert daemon.client.call("daemon_info")["errors"][-1]["where"].startswith("hook")


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\xff\xfe\n",
        b"memoryd/2 ping\n",
        b"memoryd/1\n",
        b"memoryd/1 ping extra\n",
        b"x" * 100_000,
        b"\n",
    ],
)
def test_garbage_gets_one_error_line_and_the_daemon_continues(daemon: Running, data: bytes) -> None:
    answer = talk(daemon.paths, data)
    assert answer.startswith(b"error ") and answer.count(b"\n") == 1
    until(daemon.client.is_running)


def test_a_silent_client_that_leaves_is_not_a_fault(daemon: Running) -> None:
    assert talk(daemon.paths, b"") == b""
    assert daemon.client.call("daemon_info")["errors"] == []


@pytest.mark.parametrize("line", [b"{broken", b"[]", b'{"id": 4}', b'{"id": 4, "method": "x", "params": [1]}'])
def test_a_broken_call_is_answered_and_the_next_one_served(daemon: Running, line: bytes) -> None:
    answers = talk(daemon.paths, b"memoryd/1 rpc\n" + line + b'\n\n{"id": 5, "method": "x"}\n').splitlines()
    first, second = map(orjson.loads, answers)
    assert first["error"]["code"] == "input" and first["error"]["fix"]
    assert second == {"id": 5, "result": {"ok": True}}


def test_fifty_hooks_at_once_are_answered_while_calls_hang(daemon: Running) -> None:
    with ThreadPoolExecutor(60) as pool:
        slow = [pool.submit(daemon.client.call, "wait", {}, HANGS_SECONDS) for _ in range(3)]
        until(lambda: len(daemon.api.calls) == 3)
        answers = list(pool.map(lambda n: hook(daemon.paths, b"UserPromptSubmit", {"n": n}), range(50)))
        daemon.api.slow.set()
        assert [future.result() for future in slow] == [{"ok": True}] * 3
    assert answers == [b"answer to UserPromptSubmit %d" % n for n in range(50)]


def test_a_request_in_flight_is_finished_before_the_end(daemon: Running) -> None:
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(daemon.client.call, "wait", {}, HANGS_SECONDS)
        until(lambda: daemon.api.calls)
        daemon.client.call("daemon_stop")
        until(lambda: not daemon.paths.endpoint.exists())
        daemon.api.slow.set()
        assert future.result(HANGS_SECONDS) == {"ok": True}
    daemon.thread.join(HANGS_SECONDS)
    assert daemon.api.closed


@pytest.mark.parametrize(("seconds", "waits"), [(HANGS_SECONDS, True), (0.01, False)])
def test_who_waits_at_the_start_is_answered_before_the_models_are_loaded_but_does_not_hold_them_up_for_long(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, seconds: float, waits: bool
) -> None:
    monkeypatch.setattr("memoryd.daemon.process.FIRST_ANSWERS_SECONDS", seconds)
    made = threading.Event()
    api = FakeApi()
    with run(lambda settings, info: made.wait(HANGS_SECONDS) and api) as daemon, ThreadPoolExecutor(1) as pool:
        future = pool.submit(daemon.client.call, "wait", {}, HANGS_SECONDS)
        until(lambda: daemon.client.call("daemon_info")["in_flight"] == 1)
        made.set()
        until(lambda: api.calls)
        if waits:
            assert not api.warmed.is_set()
        else:
            assert api.warmed.wait(HANGS_SECONDS)
        api.slow.set()
        assert future.result(HANGS_SECONDS) == {"ok": True}
        assert api.warmed.wait(HANGS_SECONDS)


def test_what_waits_in_the_spool_is_drained_at_the_start_in_order(run: Callable[..., Any]) -> None:
    daemon = run()
    for number in (3, 1, 2):
        spool(daemon.paths, number, "Stop", b'\n{"n": %d}' % number)
    with daemon:
        until(lambda: len(daemon.api.drained) == 3)
        assert daemon.api.drained == [("Stop", {"n": 1}), ("Stop", {"n": 2}), ("Stop", {"n": 3})]
        until(lambda: not list(daemon.paths.spool.glob("0*")))


def test_a_poke_drains_the_spool_and_a_broken_record_is_put_aside(daemon: Running) -> None:
    spool(daemon.paths, 1, "Stop", b"no record")
    good = spool(daemon.paths, 2, "Stop", b'A=b\n\n{"n": 2}')
    assert talk(daemon.paths, b"memoryd/1 poke\n") == b""
    until(lambda: not good.exists())
    assert daemon.api.drained == [("Stop", {"n": 2})]
    assert [path.name for path in (daemon.paths.spool / "bad").iterdir()] == [f"{1:020}-77.Stop"]
    assert daemon.client.call("daemon_info")["spool_bad"] == 1


def test_a_record_that_cannot_be_taken_now_stays(daemon: Running) -> None:
    path = spool(daemon.paths, 1, "Stop", b'\n{"full": 1}')
    talk(daemon.paths, b"memoryd/1 poke\n")
    until(lambda: daemon.client.call("daemon_info")["errors"])
    assert path.exists() and daemon.client.call("daemon_info")["spool_waiting"] == 1


def test_calls_wait_for_an_api_that_is_still_being_made(run: Callable[..., Any]) -> None:
    begun, go = threading.Event(), threading.Event()

    def make(settings: Settings, info: Callable[..., Any]) -> FakeApi:
        begun.set()
        assert go.wait(HANGS_SECONDS)
        return FakeApi()

    with run(make) as daemon, ThreadPoolExecutor(1) as pool:
        assert begun.wait(HANGS_SECONDS)
        future = pool.submit(daemon.client.call, "x")
        until(daemon.client.is_running)
        assert not future.done()
        go.set()
        assert future.result(HANGS_SECONDS) == {"ok": True}


def test_without_an_api_callers_hear_why_and_the_daemon_ends_with_1(run: Callable[..., Any]) -> None:
    asked = threading.Event()

    def make(settings: Settings, info: Callable[..., Any]) -> None:
        assert asked.wait(HANGS_SECONDS)
        raise ConfigError("extractor is wrong.", fix="Mend it.")

    with run(make) as daemon, ThreadPoolExecutor(1) as pool:
        future = pool.submit(daemon.client.call, "x")
        until(lambda: daemon.client.call("daemon_info")["in_flight"] == 1)
        asked.set()
        with pytest.raises(ConfigError, match="Mend it"):
            future.result(HANGS_SECONDS)
        daemon.thread.join(HANGS_SECONDS)
        assert daemon.code == 1


def test_a_second_daemon_says_who_runs_and_ends_with_0(daemon: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_daemon(daemon.settings, lambda *_: FakeApi(), SystemClock()) == 0
    assert f"pid {os.getpid()}" in capsys.readouterr().err
    until(daemon.client.is_running)


def test_the_lease_ends_a_daemon_that_nobody_uses(run: Callable[..., Any]) -> None:
    with run(lease_minutes=0.2 / 60) as daemon:
        daemon.thread.join(HANGS_SECONDS)
        assert daemon.code == 0 and daemon.api.closed and not daemon.paths.endpoint.exists()


IN_USE: dict[str, Callable[[Core], object]] = {
    "connection": lambda core: core.connections,
    "busy": lambda core: core.api_or_none is not None,
    "due": lambda core: core.worker.next_due() is not None or core.worker.busy(),
}


@pytest.mark.parametrize("reason", IN_USE)
def test_the_lease_does_not_end_a_daemon_in_use(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    found, occupied = [], Core.occupied

    async def looked(core: Core, lease: float) -> Any:
        while not IN_USE[reason](core):  # A busy machine may need longer than this short lease.
            await asyncio.sleep(0.01)
        found.append(await occupied(core, lease))
        return found[-1]

    monkeypatch.setattr(Core, "occupied", looked)
    api = FakeApi()
    if reason == "busy":
        api.busy = lambda: True
    if reason == "due":
        api.tick = lambda: 0.05  # type: ignore[assignment]
    with run(lambda *_: api, lease_minutes=0.1 / 60) as daemon, contextlib.ExitStack() as stack:
        if reason == "connection":
            stack.enter_context(connect(read_endpoint(daemon.paths), HANGS_SECONDS)).sendall(b"memoryd/1 rpc\n")
        until(lambda: len(found) > 3)
        assert all(found) and daemon.thread.is_alive()


def test_due_work_runs_when_it_is_due_and_a_failing_one_is_reported(run: Callable[..., Any]) -> None:
    daemon = run()
    ticked = threading.Event()

    def tick() -> None:
        ticked.set()
        raise RuntimeError("x")

    daemon.api.tick = tick
    with daemon:
        assert ticked.wait(HANGS_SECONDS)
        until(lambda: [fault["where"] for fault in daemon.client.call("daemon_info")["errors"]][:1] == ["tick"])


def test_recurring_work_runs_in_the_background(run: Callable[..., Any]) -> None:
    daemon, names = run(), []
    ran = threading.Semaphore(0)

    def work() -> None:
        names.append(threading.current_thread().name)
        ran.release()

    daemon.api.slots = lambda: [Slot("flush", work, every_seconds=0.02), Slot("dream", work, daily_at="03:30", last_run=EPOCH)]
    with daemon:
        assert all(ran.acquire(timeout=HANGS_SECONDS) for _ in range(3))
    assert set(names) == {"background"}


@pytest.fixture
def room_for_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.daemon.connection.MAX_CONNECTIONS", 10)


@contextlib.contextmanager
def held_open(daemon: Running, number: int, data: bytes) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        endpoint = read_endpoint(daemon.paths)
        held = [stack.enter_context(connect(endpoint, HANGS_SECONDS)) for _ in range(number)]
        for connection in held:
            connection.sendall(data)
        until(lambda: daemon.client.call("daemon_info")["connections"] >= min(number, 9))
        yield held


@pytest.mark.usefixtures("room_for_ten")
@pytest.mark.parametrize("data", [b"", b"memo", b"memoryd/1 rpc\n", b"memoryd/1 hook Stop 1000000\nabc", b"memoryd/1 mcp 9\n"])
@pytest.mark.parametrize("listen", ["unix", "tcp"])
def test_clients_that_say_nothing_make_room_for_others(run: Callable[..., Any], listen: str, data: bytes) -> None:
    with run(listen=listen) as daemon, held_open(daemon, 25, data) as held:
        assert daemon.client.ping(HANGS_SECONDS)
        assert hook(daemon.paths, b"SessionStart", {"n": 7}) == b"answer to SessionStart 7" or listen == "tcp"
        with contextlib.suppress(ConnectionResetError):
            held[0].settimeout(HANGS_SECONDS)
            assert held[0].recv(100) == b""  # the one that said nothing for longest was closed


@pytest.mark.usefixtures("room_for_ten")
def test_silent_mcp_sessions_are_never_closed_for_others(run: Callable[..., Any]) -> None:
    with run() as daemon:
        with contextlib.ExitStack() as stack:
            sessions = [stack.enter_context(connect(read_endpoint(daemon.paths), HANGS_SECONDS)) for _ in range(10)]
            for session in sessions:
                session.sendall(b'memoryd/1 mcp 1\n/{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
                assert b'"id":1' in session.recv(1000)
            assert talk(daemon.paths, b"memoryd/1 ping\n").startswith(b"error Too many")
            sessions[0].sendall(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
            assert b'"id":2' in sessions[0].recv(1000)
        until(daemon.client.is_running)


def test_a_low_limit_of_open_files_leaves_most_of_them_to_the_daemons_work(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.daemon.connection.open_files", lambda: 64)
    with run() as daemon, held_open(daemon, 40, b"memo"):
        assert daemon.client.call("daemon_info")["connections"] <= 16


@pytest.mark.parametrize("says", [b"", b"proof " + b"a" * 32 + b" " + b"b" * 64 + b"\n", b"pong 9.9.9 1\n", b"x" * 100_000])
def test_over_tcp_a_stranger_at_the_port_learns_neither_token_nor_request(tmp_path: Path, says: bytes) -> None:
    paths = Paths(tmp_path)
    heard = []
    with socket.create_server((LOOPBACK, 0)) as stranger:

        def serve() -> None:
            link, _ = stranger.accept()
            with link:
                heard.append(link.recv(10_000))
                link.sendall(says)
                link.settimeout(0.3)
                with contextlib.suppress(OSError):
                    heard.append(link.recv(10_000))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        publish(paths, Endpoint(port=stranger.getsockname()[1], token="c0ffee" * 8))
        with pytest.raises(DaemonUnavailable):
            Client(paths).call("recall", {"query": "the secret plan"}, timeout=HANGS_SECONDS)
        thread.join(HANGS_SECONDS)
    assert b"c0ffee" not in b"".join(heard) and b"secret plan" not in b"".join(heard)


def test_over_tcp_only_the_token_lets_in(run: Callable[..., Any]) -> None:
    with run(listen="tcp") as daemon:
        endpoint = read_endpoint(daemon.paths)
        assert len(bytes.fromhex(endpoint.token)) == 32
        assert daemon.client.call("x") == {"ok": True}
        for greeting in (
            b"memoryd/1 ping\n",
            b"token wrong\nmemoryd/1 ping\n",
            b"token " + endpoint.token.encode() + b"\nmemoryd/1 ping\n",
            b"hello \nmemoryd/1 ping\n",
            b"GET / HTTP/1.1\r\n\r\n",
        ):
            with socket.create_connection((LOOPBACK, endpoint.port), HANGS_SECONDS) as connection:
                connection.sendall(greeting)
                assert connection.recv(1000).startswith(b"error Wrong token")
        with socket.create_connection((LOOPBACK, endpoint.port), HANGS_SECONDS) as connection:
            connection.sendall(b"hello " + b"0" * 32 + b"\nproof " + b"0" * 64 + b"\nmemoryd/1 ping\n")
            answer = b"".join(iter(lambda: connection.recv(1000), b""))
            assert answer.startswith(b"proof ") and b"error Wrong token" in answer and b"pong" not in answer
        assert endpoint.token not in (daemon.paths.logs / "daemon.log").read_text()


def test_a_home_with_a_long_path_gets_its_socket_elsewhere(run: Callable[..., Any], tmp_path: Path) -> None:
    with run(home=tmp_path / ("long" * 30)) as daemon:
        path = Path(read_endpoint(daemon.paths).path)
        assert daemon.client.is_running() and path.parent != daemon.paths.run
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        daemon.client.stop(HANGS_SECONDS)
        daemon.thread.join(HANGS_SECONDS)
        assert not path.parent.exists()


def test_a_client_without_a_daemon_hears_how_to_start_one(settings: Settings) -> None:
    with pytest.raises(DaemonUnavailable, match="memoryd daemon"):
        Client(settings.paths).call("x")


def test_a_client_reports_a_malformed_endpoint(settings: Settings) -> None:
    settings.paths.run.mkdir(parents=True)
    settings.paths.endpoint.write_text("carrier pigeon")
    with pytest.raises(DaemonError, match="Delete run/endpoint"):
        Client(settings.paths).call("x")
    assert not Client(settings.paths).is_running()


def test_mcp_over_the_socket_knows_the_working_folder(daemon: Running) -> None:
    async def main() -> Any:
        reader, writer = await asyncio.open_unix_connection(read_endpoint(daemon.paths).path)
        folder = "/päth".encode()
        writer.write(b"memoryd/1 mcp %d\n" % len(folder) + folder)
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        writer.write(orjson.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}) + b"\n")
        first = orjson.loads(await reader.readline())
        writer.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        call = {"name": "recall", "arguments": {"query": "x"}}
        writer.write(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}) + b"\n")
        second = orjson.loads(await reader.readline())
        counted = await asyncio.to_thread(daemon.client.call, "daemon_info")
        writer.close()
        return first, second, counted

    first, second, counted = asyncio.run(asyncio.wait_for(main(), HANGS_SECONDS))
    assert first["result"]["serverInfo"]["name"] == "memoryd"
    assert second["result"]["structuredContent"]["answer"] == "found"
    assert daemon.api.calls[0] == ("recall", {"query": "x", "cwd": "/päth", "caller": "model"})
    assert counted["mcp_connections"] == 1
    until(lambda: daemon.client.call("daemon_info")["mcp_connections"] == 0)


@pytest.mark.parametrize("farewell", ["leaves", "sends an endless line"])
def test_an_mcp_client_that_is_lost_in_a_call_is_not_a_fault(
    daemon: Running, monkeypatch: pytest.MonkeyPatch, farewell: str
) -> None:
    monkeypatch.setattr("memoryd.daemon.connection.MAX_LINE_BYTES", 2000)
    monkeypatch.setattr("memoryd.daemon.connection.BODY_SECONDS", 0.05)  # Before the server waits for the next line.
    daemon.api.answers["recall"] = {"hits": [], "answer": "nothing relevant"}
    slow = daemon.api.call

    def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "recall":
            assert daemon.api.slow.wait(HANGS_SECONDS)
        return slow(method, params)

    daemon.api.call = call  # type: ignore[assignment]
    with connect(read_endpoint(daemon.paths), HANGS_SECONDS) as connection:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        greeting = orjson.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        connection.sendall(b"memoryd/1 mcp 1\n/" + greeting + b'\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "x"}}}
        connection.sendall(orjson.dumps(request) + b"\n")
        until(lambda: daemon.client.call("daemon_info")["in_flight"] == 1)
        if farewell != "leaves":
            connection.sendall(b"x" * 5000)
            until(lambda: daemon.client.call("daemon_info")["mcp_connections"] == 0)
    daemon.api.slow.set()
    until(lambda: daemon.client.call("daemon_info")["mcp_connections"] == 0)
    assert daemon.client.call("daemon_info")["errors"] == []


def test_an_mcp_message_over_the_limit_is_answered_under_its_id_and_the_next_is_served(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.daemon.connection.MAX_LINE_BYTES", 1000)
    with connect(read_endpoint(daemon.paths), HANGS_SECONDS) as connection:
        connection.sendall(b"memoryd/1 mcp 1\n/")
        for line in (b'{"id":5,"params":"' + b"x" * 200_000 + b'"}', b'{"params":"' + b"x" * 200_000 + b'","id":"six"}'):
            connection.sendall(line + b"\n")
        connection.sendall(b'{"jsonrpc":"2.0","id":7,"method":7}\n')
        answers = connection.makefile("rb")
        assert [orjson.loads(answers.readline())["id"] for _ in range(3)] == [5, "six", 7]


def test_a_call_over_the_limit_is_refused(daemon: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.daemon.connection.MAX_LINE_BYTES", 1000)
    assert b"exceeds the limit" in talk(daemon.paths, b"memoryd/1 rpc\n" + b"x" * 5000)
    with pytest.raises(DaemonError):
        daemon.client.call("x", {"a": "y" * 5000})
    until(daemon.client.is_running)


def test_a_daemon_whose_home_was_deleted_ends(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.daemon.process.HOME_CHECK_SECONDS", 0.02)
    with run() as running:
        until(lambda: shutil.rmtree(running.paths.home, ignore_errors=True) or not running.paths.home.exists())
        running.thread.join(HANGS_SECONDS)
        assert not running.thread.is_alive()


def test_a_daemon_whose_home_was_deleted_and_made_again_ends_and_leaves_the_new_one_alone(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryd.daemon.process.HOME_CHECK_SECONDS", 0.02)
    with run() as old:
        moved = old.paths.home.with_name("moved")
        old.paths.home.rename(moved)
        with run() as new:
            old.thread.join(HANGS_SECONDS)
            assert not old.thread.is_alive()
            assert new.client.call("x") == {"ok": True}
            assert not (moved / "run" / "endpoint").exists() or (moved / "run" / "endpoint").is_file()


def test_a_daemon_takes_no_event_of_a_home_that_is_not_its_own(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.daemon.process.HOME_CHECK_SECONDS", 60)
    monkeypatch.setattr("memoryd.daemon.process.SPOOL_POLL_SECONDS", 0.02)
    with run() as daemon:
        daemon.client.call("x")
        daemon.paths.daemon_lock.unlink()
        daemon.paths.daemon_lock.touch()
        record = daemon.paths.spool / f"{1:020}-1.Stop"
        record.write_bytes(b'\n{"n": 1}')
        until(lambda: any(fault["where"] == "spool" for fault in daemon.client.call("daemon_info")["errors"]))
        assert record.exists()


def test_a_daemon_whose_installation_was_removed_ends(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("memoryd.daemon.process.HOME_CHECK_SECONDS", 0.02)
    with run() as daemon:
        monkeypatch.setattr("memoryd.daemon.process.sys.executable", str(tmp_path / "gone" / "python"))
        daemon.thread.join(HANGS_SECONDS)
        assert not daemon.thread.is_alive()
        assert not daemon.paths.endpoint.exists()


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), RuntimeError("can't start new thread")])
def test_a_moment_without_open_files_ends_no_duty(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: Any) -> None:
    monkeypatch.setattr("memoryd.daemon.process.SHORTAGE_SECONDS", 0.02)
    failures = [error] * 3
    plain = Core.occupied

    async def occupied(self, lease: float) -> Any:  # type: ignore[no-untyped-def]
        if failures:
            raise failures.pop()
        return await plain(self, lease)

    monkeypatch.setattr(Core, "occupied", occupied)
    with run(lease_minutes=0.0001) as daemon:
        daemon.thread.join(HANGS_SECONDS)
        assert not failures and daemon.code == 0


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "x"), ImportError("lib.so: Too many open files")])
def test_a_moment_without_open_files_while_parts_are_loaded_only_delays_them(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr("memoryd.daemon.process.SHORTAGE_SECONDS", 0.02)
    failures = [error] * 2
    plain = _Daemon._warm

    def warm(self, api: Any) -> None:  # type: ignore[no-untyped-def]
        if failures:
            raise failures.pop()
        plain(self, api)

    monkeypatch.setattr(_Daemon, "_warm", warm)
    with run() as daemon:
        until(lambda: not failures and daemon.client.call("daemon_info")["warm"])
        assert daemon.client.call("x") == {"ok": True}


def test_an_open_connection_logs_no_traceback_at_the_end(run: Callable[..., Any], caplog: pytest.LogCaptureFixture) -> None:
    with run() as daemon:
        endpoint = read_endpoint(daemon.paths)
        assert endpoint is not None
        with connect(endpoint, HANGS_SECONDS):
            until(lambda: daemon.client.call("daemon_info")["connections"] > 1)
            daemon.client.stop(HANGS_SECONDS)
            daemon.thread.join(HANGS_SECONDS)
    assert [record for record in caplog.records if record.exc_info] == []


def test_accepting_without_open_files_is_reported_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    context = {"message": "socket.accept() out of system resource", "exception": OSError(errno.EMFILE, "Too many open files")}
    _on_loop_fault(loop, context)
    loop.close()
    assert [record.exc_info for record in caplog.records] == [None]


@pytest.mark.parametrize("listen", ["unix", "tcp"])
@pytest.mark.parametrize("what", ["socket", "endpoint", "changed endpoint"])
def test_a_daemon_that_clients_can_no_longer_find_ends(run: Callable[..., Any], listen: str, what: str) -> None:
    with run(listen=listen) as daemon:
        endpoint = read_endpoint(daemon.paths)
        assert endpoint is not None
        if what == "changed endpoint":
            daemon.paths.endpoint.write_bytes(b"\xff\xfe\x00")
        else:
            (Path(endpoint.path) if what == "socket" and endpoint.path else daemon.paths.endpoint).unlink()
        daemon.thread.join(HANGS_SECONDS)
        assert not daemon.thread.is_alive() and daemon.code == 0 and daemon.api.closed


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_in_place_of_the_endpoint_file_keeps_no_command_waiting(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    paths.run.mkdir()
    os.mkfifo(paths.endpoint)
    with pytest.raises(DaemonError):
        read_endpoint(paths)
