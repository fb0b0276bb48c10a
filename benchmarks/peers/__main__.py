"""Compare memoryd, BM25 and other memory systems on LoCoMo and LongMemEval, with the same questions in one run.

    python -m benchmarks.peers --install
    python -m benchmarks.peers --data-locomo FILE --data-longmemeval FILE

A run that was stopped (by --minutes or Ctrl-C) continues with the same --run-id, without repeating completed work. A
system that fails is reported with the reason. The others continue.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Timer

from benchmarks.peers.install import PEERS, install, peers_home
from benchmarks.peers.runs import SYSTEMS, Cell, finished, perform, run_context
from benchmarks.peers.table import tables
from memeval.core.calls import Stop
from memeval.core.errors import MemevalError, StoppedError
from memeval.report.terminal import stopped_by_signals
from memeval.results.files import ResultsDir


def main(arguments: Sequence[str] | None = None) -> int:
    """Install or run the systems. Return the number of systems that failed."""
    options = _options(arguments)
    home = peers_home()
    failures = _install([name for name in options.peers if name in PEERS], home) if options.install else 0
    results = ResultsDir(options.results)
    cells = _cells(options)
    stop = Stop()
    timer = Timer(options.minutes * 60, stop.set, ["ended by --minutes"]) if options.minutes else None
    if timer:
        timer.daemon = True
        timer.start()
    with stopped_by_signals(stop):
        failures += sum(_run(results, options, cell, home, stop) for cell in cells)
    if timer:
        timer.cancel()
    for cell in cells:
        done = finished(results, options.run_id, cell.benchmark, options.peers)
        print(f"\n## {cell.benchmark}\n\n{tables(results, options.run_id, cell.benchmark, done) or 'No system has finished.'}")
    return failures


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data-locomo", type=Path, help="LoCoMo's file")
    parser.add_argument("--data-longmemeval", type=Path, help="LongMemEval-S's file")
    parser.add_argument("--peers", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), metavar="NAME", help=", ".join(SYSTEMS))
    parser.add_argument(
        "--limit", type=int, help="approximate number of questions from each benchmark: seeded, by type, the same for all systems"
    )
    parser.add_argument(
        "--limit-longmemeval", type=int, help="separate limit for LongMemEval, where each question has a haystack"
    )
    parser.add_argument(
        "--install", action="store_true", help="first create the environments (PEERS_HOME, ~/.cache/memoryd/peers)"
    )
    parser.add_argument("--results", type=Path, default=Path("results/peers"), help="folder of runs and result files")
    parser.add_argument("--run-id", default="peers", help="prefix of the run names")
    parser.add_argument("--minutes", type=float, help="stop after this time; the same command continues the run")
    return parser.parse_args(arguments)


def _cells(options: argparse.Namespace) -> list[Cell]:
    cells = []
    if options.data_locomo:
        cells.append(Cell("locomo", options.data_locomo, options.limit))
    if options.data_longmemeval:
        cells.append(Cell("longmemeval-s", options.data_longmemeval, options.limit_longmemeval or options.limit))
    return cells


def _install(names: Sequence[str], home: Path) -> int:
    failures = 0
    for name in names:
        try:
            install(name, home)
        except MemevalError as error:
            failures += 1
            print(f"{name}: {error}", file=sys.stderr)
        else:
            print(f"{name} is installed in {home / name}.", file=sys.stderr)
    return failures


def _run(results: ResultsDir, options: argparse.Namespace, cell: Cell, home: Path, stop: Stop) -> int:
    failures = 0
    context = run_context(home, stop)
    done = finished(results, options.run_id, cell.benchmark, options.peers)
    for system in options.peers:
        if system in done or stop.is_set:
            continue
        try:
            perform(results, options.run_id, cell, system, home, context)
        except StoppedError as error:
            print(f"{cell.benchmark} × {system}: {error.message}", file=sys.stderr)
        except MemevalError as error:
            failures += 1
            print(f"{cell.benchmark} × {system}: {error}", file=sys.stderr)
    return failures


if __name__ == "__main__":
    sys.exit(main())
