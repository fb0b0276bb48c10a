"""Measure the speed of the console's pages, requested over HTTP from a real daemon, as a browser does.

    python -m benchmarks.console [--memories 100000] [--runs 40] [--home DIR] [--json FILE]

`--home` keeps the filled store for the next run. Times run from the request to the last byte, without rendering.
`cpu` is the daemon's average CPU time per request over all its threads. It hardly depends on other load on the
machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote_plus, urlsplit

from benchmarks.synthetic import Texts, fill
from memoryd.core.config import Settings, load_settings
from memoryd.daemon.client import Client, ensure_daemon

WAIT_SECONDS = 600.0
IDLE_MS = 20.0
LINK = re.compile(r'href="(/memories/mem_[0-9a-f]{12})"')
NEXT = re.compile(r'rel="next" href="([^"]+)"')


class Browser:
    """A connection with a session."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        self._headers = {"Accept-Encoding": "gzip"}
        self._connection.request("GET", f"{parts.path}?{parts.query}")
        answer = self._connection.getresponse()
        answer.read()
        self._headers["Cookie"] = str(answer.getheader("set-cookie")).partition(";")[0]

    def get(self, path: str, compressed: bool = True) -> bytes:
        """Return the body of a page. Raises AssertionError for any status other than 200."""
        headers = self._headers if compressed else {"Cookie": self._headers["Cookie"]}
        self._connection.request("GET", path, headers=headers)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (path, answer.status, body[-300:])
        return body


def pages(browser: Browser) -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield the measured pages: the name, and a function that returns the address of the n-th request."""
    texts = Texts(seed=99)
    questions = [texts.question() for _ in range(200)]
    links = LINK.findall(browser.get("/memories?project=all", compressed=False).decode())
    deep = ["/memories"]
    for _ in range(20):
        found = NEXT.search(browser.get(deep[-1], compressed=False).decode())
        deep += [found[1].replace("&amp;", "&")] if found else []
    word = texts.words[-1]
    yield "list, newest", lambda _: "/memories"
    yield "list, deep by cursor", lambda n: deep[n % len(deep)]
    yield "list, as of a day", lambda n: f"/memories?as_of=2025-02-{n % 27 + 1:02}"
    yield "list, by kind and source", lambda n: f"/memories?kind={('rule', 'fact', 'fix')[n % 3]}&source=user"
    yield "list, source without memories", lambda _: "/memories?source=import"
    yield "list, rare tag", lambda _: f"/memories?tag={word}&status=all"
    yield "search", lambda n: f"/memories?q={quote_plus(questions[n % len(questions)])}"
    yield "search, one kind", lambda n: f"/memories?kind=fact&q={quote_plus(questions[n % len(questions)])}"
    yield "one memory", lambda n: links[n % len(links)]
    yield "home, all projects", lambda _: "/"
    yield "home, one project", lambda _: "/?project=project-3"


def cpu_of(pid: int) -> float:
    """Return the CPU milliseconds used by a process, including ended threads. 0 if unavailable."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * 1_000 / os.sysconf("SC_CLK_TCK")


def measure(browser: Browser, address: Callable[[int], str], runs: int, pid: int) -> dict[str, float]:
    """Measure the median and 95th percentile in milliseconds, the daemon's CPU time, and the largest body in bytes."""
    times, sizes = [], []
    before = cpu_of(pid)
    for number in range(runs):
        begin = time.perf_counter()
        sizes.append(len(browser.get(address(number))))
        times.append((time.perf_counter() - begin) * 1_000)
    cpu = (cpu_of(pid) - before) / runs
    return {"p50": statistics.median(times), "p95": sorted(times)[int(0.95 * (runs - 1))], "cpu": cpu, "bytes": max(sizes)}


def warm(client: Client) -> None:
    """Wait until the daemon has loaded everything."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not client.call("memory_status", timeout=WAIT_SECONDS)["daemon"]["warm"]:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def calm(pid: int) -> None:
    """Wait until the daemon is idle. After its start, it synchronises indexes and mirrors."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        before = cpu_of(pid)
        time.sleep(1.0)
        if cpu_of(pid) - before <= IDLE_MS:
            return


def run(settings: Settings, memories: int, runs: int) -> dict[str, dict[str, float]]:
    """Return all figures by name."""
    if not settings.paths.memories.exists():
        fill(settings, memories)
        registry = {f"project-{n}": {"name": f"project-{n}", "remotes": [], "dirs": {}} for n in range(20)}
        settings.paths.projects.write_text(json.dumps(registry), "utf-8")
    ensure_daemon(settings, timeout=60)
    client = Client(settings.paths)
    try:
        warm(client)
        calm(client.ping()[1])
        begin = time.perf_counter()
        url = client.call("console_open")["url"]
        out = {"first opening": {"p50": (time.perf_counter() - begin) * 1_000, "p95": 0.0, "bytes": 0}}
        browser = Browser(url)
        for name, address in pages(browser):
            browser.get(address(0))
            out[name] = measure(browser, address, runs, client.ping()[1])
            result = out[name]
            speed = f"p50 {result['p50']:7.1f} ms   p95 {result['p95']:7.1f} ms   cpu {result['cpu']:6.1f} ms"
            print(f"{name:32} {speed}   {result['bytes']:7.0f} bytes", flush=True)
        return out
    finally:
        client.stop()


def main() -> None:
    """Parse the arguments, measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        settings = replace(load_settings({}, home=str(arguments.home or Path(folder) / "home")), lease_minutes=60.0)
        found = run(settings, arguments.memories, arguments.runs)
    if arguments.json:
        arguments.json.write_text(json.dumps({"memories": arguments.memories, "pages": found}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
