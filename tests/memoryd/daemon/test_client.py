from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.errors import (
    BrokenFileError,
    DaemonError,
    DaemonUnavailable,
    InputError,
    MemorydError,
    NotFoundError,
    StoreError,
)
from memoryd.core.files import try_lock
from memoryd.core.paths import Paths
from memoryd.daemon.client import Client, error_from
from memoryd.daemon.endpoint import Endpoint, listen, publish
from memoryd.daemon.lines import LineTooLongError


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a fake daemon that sends a given answer once per connection."""
    paths = Paths(tmp_path)
    listener, endpoint = listen(paths, tcp=False)
    publish(paths, endpoint)

    def start(answer: bytes | None) -> Client:
        def run() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    if answer is None:
                        release.wait(60)
                    else:
                        connection.sendall(answer)

        threading.Thread(target=run, daemon=True).start()
        return Client(paths)

    release = threading.Event()
    yield start
    release.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.mark.parametrize("answer", [b"hello\n", b"pong 1\n", b"\xff\n", b""])
def test_somebody_elses_socket_is_not_a_daemon(serve: Callable[..., Any], answer: bytes) -> None:
    client = serve(answer)
    with pytest.raises(DaemonError) as caught:
        client.ping()
    assert caught.value.fix and not client.is_running()
    with pytest.raises(DaemonError):
        client.call("x")


def test_a_daemon_that_hangs_is_not_waited_for(serve: Callable[..., Any]) -> None:
    client = serve(None)
    with pytest.raises(DaemonError, match="within 0.05 s"):
        client.call("x", timeout=0.05)


@pytest.fixture
def stranger() -> Iterator[Any]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_process_that_took_the_id_of_a_daemon_that_has_ended_is_left_alone(
    serve: Callable[..., Any], stranger: Any, tmp_path: Path
) -> None:
    client = serve(b"pong 1 %d\n" % stranger.pid)
    Paths(tmp_path).daemon_lock.write_text(f" {stranger.pid}\n")
    assert client.stop(60) is True
    assert stranger.poll() is None


def test_a_daemon_that_does_not_take_the_call_gets_a_signal(serve: Callable[..., Any], tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    held = "import sys; from pathlib import Path; from memoryd.core.files import try_lock\n"
    held += "lock = try_lock(Path(sys.argv[1])); print('held', flush=True); input()"
    command = [sys.executable, "-c", held, str(paths.daemon_lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        with paths.daemon_lock.open("r+b") as stream:
            stream.write(f" {process.pid}\n".encode())
        assert serve(b"pong 1 %d\n" % process.pid).stop(60) is True
        assert process.wait(60) == -signal.SIGTERM


def test_a_daemon_within_this_process_gets_no_signal(serve: Callable[..., Any], tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    client = serve(b"pong 1 %d\n" % os.getpid())
    with try_lock(paths.daemon_lock) as lock:
        lock.write(f" {os.getpid()}\n".encode())
        lock.flush()
        with pytest.raises(DaemonError, match="did not stop"):
            client.stop(0.05)


def test_a_dead_socket_means_no_daemon(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    listener, endpoint = listen(paths, tcp=False)
    publish(paths, endpoint)
    listener.close()
    with pytest.raises(DaemonUnavailable):
        Client(paths).call("x")
    os.unlink(endpoint.path)
    with pytest.raises(DaemonUnavailable):
        Client(paths).ping()
    assert Client(paths).stop() is False


def test_a_port_nobody_listens_on_means_no_daemon(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    publish(Paths(tmp_path), Endpoint(port=port, token="a"))
    with pytest.raises(DaemonUnavailable):
        Client(Paths(tmp_path)).call("x")


def test_errors_come_back_as_their_class() -> None:
    error = error_from("not_found", "gone", "look")
    assert type(error) is NotFoundError and (error.message, error.fix) == ("gone", "look")
    broken = error_from("broken_file", "/a:b.md:7: no end", "mend")
    assert isinstance(broken, BrokenFileError) and (broken.path, broken.line) == ("/a:b.md", 7)
    assert type(error_from("broken_file", "odd", "mend")) is MemorydError
    assert type(error_from("from the future", "x", "")) is MemorydError
    assert type(error_from(StoreError.code, "x", "")) is StoreError


def test_of_error_classes_that_share_a_code_the_most_general_one_comes_back() -> None:
    assert issubclass(LineTooLongError, InputError)
    assert type(error_from(LineTooLongError.code, "Not so.", "Do it otherwise.")) is InputError
