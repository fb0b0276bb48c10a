"""Progress of runs: live bars on a terminal, a plain line now and then elsewhere. Both go to standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from memeval.cli.output import console
from memeval.reporting.tally import Tally
from memeval.results.store import Status
from memeval.types import Phase

EVERY_SECONDS = 10.0


class LiveProgress:
    """Bars with time left, what was scored, and cost."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._bars = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"), console=console(stderr=True),
        )  # fmt: skip
        self._tasks: dict[Phase, tuple[TaskID, Tally]] = {}
        self._lock = Lock()

    def __enter__(self) -> LiveProgress:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """A bar for the phase."""
        task = self._bars.add_task(f"{self._label} {phase}", total=total, completed=done, note="")
        self._tasks[phase] = (task, Tally(total, done))

    def advance(self, phase: Phase, status: Status, scores: Mapping[str, float], cost_usd: float | None) -> None:
        """Move it."""
        with self._lock:
            task, tally = self._tasks[phase]
            tally.add(status, scores, cost_usd)
            self._bars.update(task, completed=tally.done, note=tally.text())

    def end(self, phase: Phase) -> None:
        """Leave it as it is."""
        task, tally = self._tasks[phase]
        self._bars.update(task, completed=tally.total)


class PlainProgress:
    """A line when a phase begins and ends, and every ten seconds between."""

    def __init__(self, label: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._label = label
        self._stream = stream or sys.stderr
        self._clock = clock
        self._tallies: dict[Phase, Tally] = {}
        self._started = self._told = clock()
        self._first = 0
        self._lock = Lock()

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.flush()

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """Say what there is to do."""
        self._tallies[phase] = Tally(total, done)
        self._started = self._told = self._clock()
        self._first = done
        already = f", {done} done before" if done else ""
        self._say(f"{phase}: {total} to do{already}")

    def advance(self, phase: Phase, status: Status, scores: Mapping[str, float], cost_usd: float | None) -> None:
        """Say how far it is, when it is time."""
        with self._lock:
            tally = self._tallies[phase]
            tally.add(status, scores, cost_usd)
            if self._clock() - self._told >= EVERY_SECONDS:
                self._told = self._clock()
                self._say(f"{phase}: {tally.done}/{tally.total}, {self._left(tally)} left{_and(tally)}")

    def end(self, phase: Phase) -> None:
        """Say how it ended."""
        tally = self._tallies[phase]
        self._say(f"{phase}: {tally.total}/{tally.total} in {self._clock() - self._started:.1f} s{_and(tally)}")

    def _left(self, tally: Tally) -> str:
        rate = (tally.done - self._first) / max(1e-9, self._clock() - self._started)
        return f"{(tally.total - tally.done) / rate:.0f} s" if rate else "?"

    def _say(self, text: str) -> None:
        print(f"{self._label} {text}", file=self._stream, flush=True)  # noqa: T201


def _and(tally: Tally) -> str:
    return f", {tally.text()}" if tally.text() else ""


def make_progress(label: str) -> LiveProgress | PlainProgress:
    """Live on a terminal."""
    return LiveProgress(label) if sys.stderr.isatty() else PlainProgress(label)
