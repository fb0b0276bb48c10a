"""Measure the start-up time of the command line against bare Python: `python -m benchmarks.start`."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

try:
    import resource
except ImportError:  # On Windows: wall time only.
    resource = None  # type: ignore[assignment]

ROUNDS = 30
SCRIPT = Path(sys.executable).with_name("memoryd")
PROGRAM = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "memoryd"]
CALLS: dict[str, Sequence[str]] = {
    "python -c pass": (sys.executable, "-c", "pass"),
    "memoryd --version": (*PROGRAM, "--version"),
    "memoryd --help": (*PROGRAM, "--help"),
    "memoryd list --help": (*PROGRAM, "list", "--help"),
}


def used() -> float:
    """Return the CPU seconds of all finished child processes. Return wall time where the system does not count CPU seconds."""
    if resource is None:
        return time.perf_counter()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def seconds(command: Sequence[str]) -> tuple[float, float]:
    """Return CPU and wall time of one start, from the call to the end of the process."""
    begun, before = time.perf_counter(), used()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return used() - before, time.perf_counter() - begun


def measure(rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return times by call. The calls take turns, so that load on the machine affects all of them equally."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in CALLS}
    for _ in range(rounds):
        for name, command in CALLS.items():
            found[name].append(seconds(command))
    return found


def main() -> None:
    """Print a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    medians = {name: [statistics.median(part) for part in zip(*times, strict=True)] for name, times in measure(rounds).items()}
    bare = next(iter(medians.values()))[0]
    print(f"| call, median of {rounds} | CPU | wall time | CPU, times a bare Python |\n|---|---|---|---|")
    for name, (cpu, wall) in medians.items():
        print(f"| `{name}` | {1000 * cpu:.1f} ms | {1000 * wall:.1f} ms | {cpu / bare:.2f} |")


if __name__ == "__main__":
    main()
