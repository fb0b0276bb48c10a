"""`memeval serve`: the results pages without memoryd's daemon."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from memeval.cli.app import build
from memeval.console import server as module
from memeval.console.server import application
from memeval.registry import Catalog
from memoryd.console.sessions import Sessions
from tests.memeval.result_files import many, result, write

HOST = "127.0.0.1:4599"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, result("run-a", many(20, 12)))
    return tmp_path


class Pages:
    """The application, called in-process like by a browser."""

    def __init__(self, folder: Path) -> None:
        self.lines: list[str] = []
        self.sessions = Sessions()
        app = application(self.sessions, 4599, Catalog.default, self.lines.append)
        self.client = TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)
        self.ticket = self.sessions.issue(results=str(folder))

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers=headers)


@pytest.fixture
def pages(folder: Path) -> Iterator[Pages]:
    made = Pages(folder)
    with made.client:
        yield made


def test_only_the_link_opens_the_pages_and_it_works_once(pages: Pages) -> None:
    locked = pages.get("/results")
    assert locked.status_code == 401 and "memeval serve" in locked.text and "memoryd console" not in locked.text
    assert pages.get("/open?ticket=wrong").status_code == 401
    assert pages.get(f"/open?ticket={pages.ticket}").status_code == 200
    assert "run-a" in pages.get("/results").text
    pages.client.cookies.clear()
    assert pages.get(f"/open?ticket={pages.ticket}").status_code == 401
    assert pages.get("/results").status_code == 401


def test_the_pages_are_those_of_memeval_only(pages: Pages) -> None:
    pages.get(f"/open?ticket={pages.ticket}")
    assert pages.get("/").headers["location"] == "/results"
    text = pages.get("/results").text
    assert "<title>Results · memeval</title>" in text and "All projects" not in text and 'href="/memories"' not in text
    assert pages.get("/memories").status_code == 404
    assert pages.get("/results?project=shop").status_code == 200
    assert not pages.lines


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4599", "127.0.0.1", "127.0.0.1:80", ""])
def test_another_name_for_this_machine_is_refused(pages: Pages, host: str) -> None:
    pages.get(f"/open?ticket={pages.ticket}")
    assert pages.get("/results", host=host).status_code == 421


def test_another_site_can_neither_read_nor_embed_a_page(pages: Pages) -> None:
    pages.get(f"/open?ticket={pages.ticket}")
    for mode, dest in (("cors", "empty"), ("no-cors", "script"), ("navigate", "iframe")):
        headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}
        assert pages.get("/results", **headers).status_code == 403
    answer = pages.get("/results")
    assert "script-src 'self'" in answer.headers["content-security-policy"] and answer.headers["x-frame-options"] == "DENY"


def test_a_page_that_fails_is_reported_in_one_line_without_a_traceback(
    pages: Pages, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("memeval.console.pages.leaderboard", lambda runs: 1 / 0)
    pages.get(f"/open?ticket={pages.ticket}")
    answer = pages.get("/results")
    assert answer.status_code == 500 and "bug in memeval" in answer.text and "Traceback" not in answer.text
    assert pages.lines == ["console /results failed: ZeroDivisionError: division by zero"]


def test_a_port_that_is_taken_is_reported_with_what_to_do(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = ["--results-dir", str(folder), "serve", "--no-browser", "--port", str(port)]
        done = CliRunner().invoke(build(), words, prog_name="memeval")
    assert done.exit_code == 2 and f"port {port}" in done.stderr and "--port" in done.stderr and "Traceback" not in done.stderr


def test_the_server_answers_on_a_free_port_and_each_line_asks_for_a_new_link(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = module.ResultsServer(folder, 0, Catalog.default, lambda line: None)
    links: list[str] = []

    async def run() -> str:
        ended = asyncio.ensure_future(module.serve(server, lambda: links.append(server.link()), lambda: None))
        while not links:
            await asyncio.sleep(0.01)
        text = await asyncio.to_thread(read, links[0], f"http://127.0.0.1:{server.port}/results")
        signal.raise_signal(signal.SIGTERM)
        await ended
        return text

    assert "run-a" in asyncio.run(run())


def read(link: str, address: str) -> str:
    """Open the link and then a page, as a browser with cookies does."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    opener.open(link, timeout=20).read()
    return str(opener.open(address, timeout=20).read().decode())


@pytest.mark.slow
def test_the_command_prints_a_link_serves_and_ends_on_an_interrupt(folder: Path) -> None:
    command = [sys.executable, "-m", "memeval", "--results-dir", str(folder), "serve", "--no-browser"]
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/open\?ticket=\S+\n", line := process.stdout.readline())
        assert found, line
        assert "run-a" in read(line.strip(), f"{found[1]}/results")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(line.strip(), timeout=20)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0 and "Traceback" not in said
    finally:
        process.kill()
        process.wait(timeout=30)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
