"""The daemon from outside: start, MCP's first answer, a hook's round trip, recall, memory.

    python -m benchmarks.daemon [--memories 1000] [--json]

Each figure stands beside a baseline of the same run where there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memoryd.client import Client, ensure_daemon
from memoryd.clock import SystemClock
from memoryd.config import Settings, load_settings
from memoryd.embed import make_embedder
from memoryd.relay import send_hook
from memoryd.service import Orchestrator
from memoryd.types import MemoryItem

ROOT = Path(__file__).parents[1]
WORDS = (
    "server database port branch cache queue deploy staging token login invoice mail build test lint release index worker".split()
)
RUNS = 30
START = json.dumps(
    {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
    }
).encode() + b"\n"  # fmt: skip


def fill(settings: Settings, count: int) -> None:
    """Write memories and their vectors."""
    pick = random.Random(1)
    service = Orchestrator(settings, SystemClock(), make_embedder(settings))
    for start in range(0, count, 500):
        service.write_many(
            [
                MemoryItem(
                    content=f"The {' '.join(pick.sample(WORDS, 6))} number {n} is set in src/{pick.choice(WORDS)}.py.",
                    project="p",
                )
                for n in range(start, min(start + 500, count))
            ]
        )
    service.settle(3600)
    service.close()


def milliseconds(work: Callable[[], object], runs: int = RUNS) -> tuple[float, float]:
    """Median and 95th percentile of the wall time."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def first_mcp_answer(settings: Settings, command: list[str]) -> None:
    """Start a stdio server, send initialize, wait for the answer."""
    environment = {**os.environ, "MEMORYD_HOME": str(settings.home), "MEMORYD_PYTHON": sys.executable}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(START)
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        process.stdin.close()


def start_and_stop(settings: Settings) -> None:
    """Start a daemon and wait until it answers."""
    Client(settings.paths).stop()
    ensure_daemon(settings)


def measure(settings: Settings, memories: int) -> dict[str, tuple[float, float]]:
    """All figures, in milliseconds (median, p95) but for the memory, in MiB."""
    out = {"bare python (baseline)": milliseconds(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True))}
    out["daemon start to first answer"] = milliseconds(lambda: start_and_stop(settings), 5)
    client = Client(settings.paths)
    fill(settings, memories)
    client.call("sync", timeout=600)
    while client.call("memory_status")["index"]["waiting_for_vectors"]:
        time.sleep(0.2)
    out["mcp initialize (plugin pump)"] = milliseconds(
        lambda: first_mcp_answer(settings, [str(ROOT / "plugin" / "bin" / "memoryd"), "mcp"]), 15
    )
    prompt = {"session_id": "s", "cwd": str(ROOT), "prompt": "Which port does the staging database use for the login worker?"}
    record = json.dumps(prompt).encode()
    out["hook round trip, UserPromptSubmit"] = milliseconds(lambda: send_hook(settings.paths, "UserPromptSubmit", record))
    pick = random.Random(2)
    out[f"recall at {memories}"] = milliseconds(
        lambda: client.call("recall", {"query": f"Which {' '.join(pick.sample(WORDS, 3))} is set where?", "project": "all"}), 60
    )
    size = client.call("memory_status")["daemon"]["rss_bytes"] / 2**20
    out["daemon memory, MiB"] = (size, size)
    client.stop()
    return out


def main() -> None:
    """Print a table, or JSON."""
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
