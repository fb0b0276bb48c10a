"""How long the command line takes to start, beside a bare Python: `python -m benchmarks.start`."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

ROUNDS = 30
CALLS: dict[str, Sequence[str]] = {
    "python -c pass": ("-c", "pass"),
    "memoryd --version": ("-m", "memoryd", "--version"),
    "memoryd --help": ("-m", "memoryd", "--help"),
    "memoryd list --help": ("-m", "memoryd", "list", "--help"),
}


def seconds(arguments: Sequence[str]) -> float:
    """One start, from the call to the end of the process."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds by call. The calls take turns, so that a busy machine slows all of them alike."""
    found: dict[str, list[float]] = {name: [] for name in CALLS}
    for _ in range(rounds):
        for name, arguments in CALLS.items():
            found[name].append(seconds(arguments))
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    found = measure(parser.parse_args().rounds)
    bare = statistics.median(next(iter(found.values())))
    print(f"| call | median of {len(next(iter(found.values())))} | times a bare Python |\n|---|---|---|")
    for name, times in found.items():
        middle = statistics.median(times)
        print(f"| `{name}` | {1000 * middle:.1f} ms | {middle / bare:.2f} |")


if __name__ == "__main__":
    main()
