"""Measure the time that the guard adds to the daemon's answer to a tool call.

    python -m benchmarks.guard_cost [--checks N] [--memories N] [--calls N]

Fills a scratch home with memories and rules, and queries the API for shell commands, commits, edits and reads. Turns
of calls with the guard off and on alternate, so that other work on the machine slows both equally.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from memoryd.api.dispatch import Api
from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings
from memoryd.core.types import Kind, MemoryItem

BATCH = 2_000
LINES = (
    "git status",
    "npm run build 2>&1 | tail -n 5",
    "cd web && pnpm test --run",
    "sh -c 'ls -l; cat README.md'",
    "rm -rf build",
    "git add -A && git commit -m 'Add the next part'",
)
TURN = 20  # calls


def fill(api: Api, project: str, memories: int, checks: int) -> None:
    """Write plain memories, and rules of four kinds."""
    texts = (f"The value of parameter {number} is {number * 7}." for number in range(memories))
    items = [MemoryItem(text, kind=Kind.FACT, project=project) for text in texts]
    forms = ("Never run `tool{}`.", "Don't touch old{}/.", "No word{}() in Python code.", "Run `make step{}` before each commit.")
    items += [MemoryItem(forms[n % 4].format(n), kind=Kind.RULE, project=project) for n in range(checks)]
    for at in range(0, len(items), BATCH):
        api._service.write_many(items[at : at + BATCH])


Taken = tuple[float, float]


def measure(api: Api, folder: Path, numbers: Iterable[int], guarded: bool) -> list[Taken]:
    """Return the milliseconds of each answer, in wall time and CPU time."""
    taken = []
    for number in numbers:
        path = {"file_path": str(folder / "a.py")}
        edit = {**path, "old_string": "x", "new_string": f"def f{number}():\n    return {number}\n" * 20}
        shell = {"command": f"{LINES[number % len(LINES)]} {number}"}
        tool, values = (("Edit", edit), ("Read", path), ("Bash", shell), ("Bash", shell))[number % 4]
        payload = {"session_id": "s", "cwd": str(folder), "tool_name": tool, "tool_input": values, "tool_use_id": str(number)}
        start, begun = time.perf_counter(), time.thread_time()
        api.hook("PreToolUse", payload, {} if guarded else {"MEMORYD_GUARD": "off"})
        taken.append(((time.perf_counter() - start) * 1000, (time.thread_time() - begun) * 1000))
    return taken


def compare(api: Api, folder: Path, calls: int) -> tuple[list[Taken], list[Taken]]:
    """Return the milliseconds with the guard off and on."""
    off: list[Taken] = []
    on: list[Taken] = []
    for start in range(0, calls, TURN):
        numbers = range(start, start + TURN)
        off += measure(api, folder, numbers, guarded=False)
        on += measure(api, folder, numbers, guarded=True)
    return off, on


def percentile(taken: Sequence[float], share: int) -> float:
    """Return a percentile."""
    return sorted(taken)[len(taken) * share // 100]


def report(off: Sequence[Taken], on: Sequence[Taken]) -> None:
    """Print p50 and p99 with the guard off and on, and what the guard adds."""
    for which, unit in enumerate(("clock", "CPU")):
        without, with_guard = [taken[which] for taken in off], [taken[which] for taken in on]
        for share in (50, 99):
            one, other = percentile(without, share), percentile(with_guard, share)
            print(f"{unit}, p{share}: guard off {one:.2f} ms, guard on {other:.2f} ms, added {other - one:.2f} ms")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print p50 and p99 with the guard off and on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", type=int, default=500)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=2_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "shop"
        folder.mkdir()
        api = Api(Settings(home=Path(name) / "home", rank="bm25"), SystemClock())
        try:
            fill(api, api._registry.resolve(str(folder)).id, options.memories, options.checks)
            begun = time.perf_counter()
            api._parts.runtime.guard.warm()
            found = len(api._service.checked())
            print(f"{found} checks, read once in {(time.perf_counter() - begun) * 1000:.0f} ms at the daemon's start")
            first = [taken for taken, _ in measure(api, folder, range(10), guarded=True)]
            print(f"first calls: p50 {percentile(first, 50):.2f} ms, longest {max(first):.2f} ms")
            report(*compare(api, folder, options.calls))
        finally:
            api.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
