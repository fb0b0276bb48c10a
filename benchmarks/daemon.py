"""Measure the daemon from outside: start, first MCP answer, and a hook's round trip, also during a dream.

For growth, see scale.py.

    python -m benchmarks.daemon [--memories 1000] [--json]

Figures are printed beside a baseline of the same run, if there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.synthetic import fill
from memoryd.core.config import Settings, load_settings
from memoryd.daemon.client import Client, ensure_daemon
from memoryd.daemon.relay import send_hook

ROOT = Path(__file__).parents[1]
RUNS = 30
START = json.dumps(
    {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
    }
).encode() + b"\n"  # fmt: skip


def milliseconds(work: Callable[[], object], runs: int = RUNS) -> tuple[float, float]:
    """Return the median and the 95th percentile of the wall time."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def first_mcp_answer(settings: Settings, command: list[str]) -> None:
    """Start a stdio server, send `initialize`, and wait for the answer."""
    environment = {**os.environ, "MEMORYD_HOME": str(settings.home), "MEMORYD_PYTHON": sys.executable}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(START)
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        process.stdin.close()


def start_and_stop(settings: Settings) -> None:
    """Start a daemon and wait until it responds."""
    Client(settings.paths).stop()
    ensure_daemon(settings)


def measure(settings: Settings, memories: int) -> dict[str, tuple[float, float]]:
    """Return all figures in milliseconds, as median and 95th percentile. For hooks during a dream, as median and worst case."""
    out = {"bare python (baseline)": milliseconds(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True))}
    out["daemon start to first answer"] = milliseconds(lambda: start_and_stop(settings), 5)
    client = Client(settings.paths)
    client.stop()
    fill(settings, memories)
    ensure_daemon(settings)
    while not client.call("memory_status")["daemon"]["warm"]:
        time.sleep(0.1)
    plugin = [str(ROOT / "plugin" / "bin" / "memoryd"), "mcp"]
    out["mcp initialize (plugin proxy)"] = milliseconds(lambda: first_mcp_answer(settings, plugin), 15)
    out["hook round trip, UserPromptSubmit"] = milliseconds(lambda: prompt(settings))
    out["the same while a first dream runs"] = while_dreaming(settings, client)
    client.stop()
    return out


def prompt(settings: Settings) -> None:
    """Return the event that a hook sends with a prompt."""
    asked = {"session_id": "s", "cwd": str(ROOT), "prompt": "Which port does the staging database use for the login worker?"}
    send_hook(settings.paths, "UserPromptSubmit", json.dumps(asked).encode())


def while_dreaming(settings: Settings, client: Client) -> tuple[float, float]:
    """Return the median and the worst round trip of a hook during a dream."""
    dream = threading.Thread(target=lambda: client.call("dream", {"dry_run": False}, timeout=3_600))
    times = []
    dream.start()
    while dream.is_alive():
        start = time.perf_counter()
        prompt(settings)
        times.append((time.perf_counter() - start) * 1000)
        time.sleep(0.02)
    return statistics.median(times), max(times)


def main() -> None:
    """Print the figures as a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="memoryd-bench-"))
    try:
        figures = measure(load_settings({}, home=str(folder / "home")), arguments.memories)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{'figure':40}{'p50':>10}{'p95':>10}")
    for name, (median, high) in figures.items():
        print(f"{name:40}{median:10.1f}{high:10.1f}")


if __name__ == "__main__":
    main()
