"""The console in a daemon: opened on request, without cost before, closed with it."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest

from memoryd.console.listener import bind
from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings
from memoryd.core.errors import DaemonError
from memoryd.daemon.client import Client
from memoryd.daemon.process import run_daemon


class OneProject:
    """The part of an API that the frame of a page needs."""

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "project_names":
            return {"projects": [{"id": "shop", "name": "shop"}], "current": "shop" if params.get("cwd") else ""}
        raise DaemonError("nothing else is here")

    def hook(self, event: str, payload: dict[str, Any], options: Any) -> Any:
        return b""

    def drain_spool_record(self, event: str, payload: dict[str, Any], options: Any) -> None:
        pass

    def warm(self) -> None:
        pass

    def slots(self) -> tuple[Any, ...]:
        return ()

    def tick(self) -> None:
        return None

    def busy(self) -> Any:
        return False

    def close(self) -> None:
        pass


class Running:
    def __init__(self, settings: Settings) -> None:
        self.client = Client(settings.paths)
        ready = threading.Event()
        self.thread = threading.Thread(
            target=run_daemon, args=(settings, lambda *_: OneProject(), SystemClock(), ready.set), daemon=True
        )
        self.thread.start()
        assert ready.wait(60)

    def stop(self) -> None:
        self.client.stop(60)
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.fixture
def running(settings: Settings) -> Iterator[Running]:
    made = Running(settings)
    yield made
    made.stop()


def fetch(port: int, path: str, cookie: str = "") -> tuple[HTTPResponse, str] | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"cookie": cookie})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def enter(url: str) -> tuple[int, int, str]:
    parts = urlsplit(url)
    answer, _ = fetch(parts.port, f"{parts.path}?{parts.query}")
    return parts.port, answer.status, str(answer.getheader("set-cookie")).partition(";")[0]


def test_a_link_opens_the_project_of_the_folder_once(running: Running) -> None:
    opened = running.client.call("console_open", {"cwd": "/somewhere"})
    port, status, cookie = enter(opened["url"])
    assert (port, status) == (opened["port"], 200)
    answer, body = fetch(port, "/no-such-page", cookie)
    assert answer.status == 404
    assert '<option value="shop" selected>' in body
    assert enter(opened["url"])[1] == 401


def test_a_second_link_uses_the_same_port_and_leaves_the_first_session(running: Running) -> None:
    first, second = (running.client.call("console_open") for _ in range(2))
    assert first["port"] == second["port"]
    port, _, cookie = enter(first["url"])
    enter(second["url"])
    assert fetch(port, "/no-such-page", cookie)[0].status == 404


def test_the_port_is_closed_when_the_daemon_ends(settings: Settings) -> None:
    daemon = Running(settings)
    port = daemon.client.call("console_open")["port"]
    daemon.stop()
    with pytest.raises(OSError):
        fetch(port, "/")


def test_a_port_that_is_taken_is_a_plain_error(settings: Settings) -> None:
    with bind(0) as taken:
        daemon = Running(replace(settings, console_port=taken.getsockname()[1]))
        with pytest.raises(DaemonError) as caught:
            daemon.client.call("console_open")
        daemon.stop()
    assert "console_port" in caught.value.fix


@pytest.mark.slow
def test_an_open_page_does_not_keep_the_daemon_alive(settings: Settings) -> None:
    daemon = Running(replace(settings, lease_minutes=0.6 / 60))
    port, _, cookie = enter(daemon.client.call("console_open")["url"])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/no-such-page", headers={"cookie": cookie})
    connection.getresponse().read()  # The connection stays open, like that of a browser.
    daemon.thread.join(60)
    connection.close()
    assert not daemon.thread.is_alive()


def test_a_daemon_that_nobody_asks_for_a_console_loads_nothing_of_it() -> None:
    code = (
        "import sys, memoryd.daemon.process, memoryd.api.dispatch, memoryd.daemon.connection\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('starlette', 'uvicorn', 'jinja2', 'markdown_it')"
        " or name.startswith('memoryd.console')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.strip() == "[]"
