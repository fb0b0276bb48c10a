"""Progress on standard error: live bars on a terminal, and a plain line every ten seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from memeval.core.types import EMPTY
from memeval.metrics.answers import headline
from memeval.report.table import percent
from memeval.report.terminal import console
from memeval.results.store import Status

EVERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class FinishedItem:
    """A finished work item. A failure, such as a crash, counts as 0 in the metric unless it is `excused`."""

    status: Status = Status.DONE
    scores: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    cost_usd: float | None = 0.0
    tokens: int = 0
    excused: bool = False


class Progress(Protocol):
    """A receiver for the progress of a run. Its methods are called from several threads."""

    def begin(self, label: str, total: int, done: int) -> None:
        """Start a phase. `done` of `total` items were completed in earlier starts of the run."""

    def advance(self, label: str, ended: FinishedItem) -> None:
        """Count a finished item."""

    def end(self, label: str) -> None:
        """End a phase."""


class Tally:
    """The running totals of completed and failed items, the main metric, cost and tokens."""

    def __init__(self, total: int, done: int) -> None:
        self.total = total
        self.done = self.first = done
        self.failed = self.skipped = 0
        self.cost: float | None = 0.0
        self.tokens = 0
        self._metric = ""
        self._count = 0
        self._sum = 0.0

    def add(self, ended: FinishedItem) -> None:
        """Count an item."""
        self.done += 1
        self.failed += ended.status is Status.FAILED
        self.skipped += ended.status is Status.SKIPPED
        self.cost = None if self.cost is None or ended.cost_usd is None else self.cost + ended.cost_usd
        self.tokens += ended.tokens
        self._metric = self._metric or headline(ended.scores) or ""
        if self._metric in ended.scores:
            self._count_value(ended.scores[self._metric])
        elif ended.status is Status.FAILED and not ended.excused:
            self._count_value(0.0)

    def _count_value(self, value: float) -> None:
        self._count += 1
        self._sum += value

    def text(self) -> str:
        """Return the totals as readable text."""
        counts = {"failed": self.failed, "could not be prepared": self.skipped}
        parts = [f"{count} {what}" for what, count in counts.items() if count]
        if self._metric and self._count:
            parts.append(f"{self._metric} {percent(self._sum / self._count)} so far")
        if self.cost is None:
            parts.append("cost unknown")
        elif self.cost:
            parts.append(f"{self.cost:.4f} US$")
        if self.tokens:
            parts.append(f"{self.tokens / 1000:,.0f}k tokens")
        return ", ".join(parts)


class QuietProgress:
    """Progress that prints nothing."""

    def __enter__(self) -> QuietProgress:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def begin(self, label: str, total: int, done: int) -> None:
        """Ignore the start of a phase."""

    def advance(self, label: str, ended: FinishedItem) -> None:
        """Ignore a finished item."""

    def end(self, label: str) -> None:
        """Ignore the end of a phase."""


class LiveProgress:
    """Progress as live bars with the remaining time, the current score and the cost."""

    def __init__(self) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"), console=console(stderr=True),
        )  # fmt: skip
        self._tasks: dict[str, tuple[TaskID, Tally]] = {}
        self._lock = Lock()

    def __enter__(self) -> LiveProgress:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, label: str, total: int, done: int) -> None:
        """Add a bar."""
        self._tasks[label] = (self._bars.add_task(label, total=total, completed=done, note=""), Tally(total, done))

    def advance(self, label: str, ended: FinishedItem) -> None:
        """Advance the bar."""
        with self._lock:
            task, tally = self._tasks[label]
            tally.add(ended)
            self._bars.update(task, completed=tally.done, note=tally.text())

    def end(self, label: str) -> None:
        """Complete the bar."""
        task, tally = self._tasks[label]
        self._bars.update(task, completed=tally.total)


class PlainProgress:
    """Print a line when work begins and ends, and every ten seconds in between."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._tallies: dict[str, tuple[float, Tally]] = {}
        self._last_line = clock()
        self._lock = Lock()

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.flush()

    def begin(self, label: str, total: int, done: int) -> None:
        """Print the amount of work."""
        self._last_line = self._clock()
        self._tallies[label] = (self._last_line, Tally(total, done))
        self._say(f"{label}: {total} to do" + (f", {done} done before" if done else ""))

    def advance(self, label: str, ended: FinishedItem) -> None:
        """Print the progress, at most every ten seconds."""
        with self._lock:
            started, tally = self._tallies[label]
            tally.add(ended)
            if self._clock() - self._last_line >= EVERY_SECONDS:
                self._last_line = self._clock()
                rate = (tally.done - tally.first) / max(1e-9, self._last_line - started)
                left = f"{(tally.total - tally.done) / rate:.0f} s" if rate else "?"
                self._say(f"{label}: {tally.done}/{tally.total}, {left} left{_and(tally)}")

    def end(self, label: str) -> None:
        """Print the outcome of the phase."""
        started, tally = self._tallies[label]
        self._say(f"{label}: {tally.done}/{tally.total} in {self._clock() - started:.1f} s{_and(tally)}")

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)  # noqa: T201


def _and(tally: Tally) -> str:
    return f", {tally.text()}" if tally.text() else ""


def make_progress() -> LiveProgress | PlainProgress:
    """Return live bars on a terminal, plain lines elsewhere."""
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()
