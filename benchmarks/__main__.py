"""`make bench`: run all benchmarks of speed and size in sequence.

    python -m benchmarks [--quick | --list] [NAME …]

`--quick` measures stores of 1,000 and 10,000 memories. Without it, 100,000 are measured as well. Names select
individual benchmarks. The quality benchmarks (extraction, the fits of ranking and relevance, the peers) are run
separately, see docs/quality.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Bench:
    """A module of this folder, with its arguments for the quick and the full run."""

    name: str
    what: str
    quick: tuple[str, ...] = ()
    full: tuple[str, ...] = ()


PLAN = (
    Bench("scale", "all costs that grow with the number of memories, and how fast", ("--sizes", "1000,10000"), ()),
    Bench("hooks", "wall time of the hook process, with the daemon up, hung, dead and absent", ("--runs", "20"), ()),
    Bench("daemon", "start of the daemon, first MCP answer, a hook while a dream runs", ("--memories", "1000"), ()),
    Bench("transcript", "reading one huge session log", ("--mb", "100"), ("--mb", "800")),
    Bench("store", "Markdown store and its literal index alone", ("--sizes", "1000"), ("--sizes", "1000,10000")),
    Bench("vector", "vector store by search method, and the embedder", ("--sizes", "1000"), ("--sizes", "1000,10000")),
    Bench("console", "the console's pages, requested over HTTP", ("--memories", "5000"), ()),
    Bench("dream", "planning a dream, and how well it recognises duplicates", ("--sizes", "1000"), ("--sizes", "1000,10000")),
)


def run(bench: Bench, arguments: tuple[str, ...]) -> bool:
    """Run one benchmark. Return whether it failed."""
    print(f"\n== {bench.what} (python -m benchmarks.{bench.name} {' '.join(arguments)})", flush=True)
    start = time.perf_counter()
    failed = subprocess.run([sys.executable, "-m", f"benchmarks.{bench.name}", *arguments], check=False, cwd=ROOT).returncode != 0
    print(f"-- {time.perf_counter() - start:.0f} s", flush=True)
    return failed


def main() -> int:
    """Run the selected benchmarks. Return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 memories, about four minutes")
    parser.add_argument("--list", action="store_true", help="only list the benchmarks")
    parser.add_argument("names", nargs="*", choices=[[], *(bench.name for bench in PLAN)], metavar="NAME")
    options = parser.parse_args()
    chosen = [bench for bench in PLAN if not options.names or bench.name in options.names]
    if options.list:
        print("\n".join(f"{bench.name:12}{bench.what}" for bench in chosen))
        return 0
    return sum(run(bench, bench.quick if options.quick else bench.full) for bench in chosen)


if __name__ == "__main__":
    sys.exit(main())
