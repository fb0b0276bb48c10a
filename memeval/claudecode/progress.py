"""Live progress: a bar for each cell with done, failed, accuracy, cost, tokens and time left; plain lines without a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Lock
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from memeval.claudecode.contract import ErrorKind, SessionResult

EVERY_SECONDS = 10.0


class Progress(Protocol):
    """Who wants to know how cells go. Called from several threads."""

    def begin(self, label: str, total: int, done: int) -> None:
        """A cell begins: `total` steps, `done` of them are there."""

    def step(self, label: str, result: SessionResult, value: float | None) -> None:
        """A step ended, with the value of its main metric if it has one."""

    def end(self, label: str) -> None:
        """A cell ended."""


class Tally:
    """Sums of a cell so far."""

    def __init__(self, total: int, done: int) -> None:
        self.total = total
        self.done = self.first = done
        self._failed = self._unscored = 0
        self._tokens = 0
        self._cost: float | None = 0.0
        self._values: list[float] = []

    def add(self, result: SessionResult, value: float | None) -> None:
        """Count a step."""
        self.done += 1
        self._unscored += result.error is ErrorKind.UNPREPARED
        self._failed += not result.ok and result.error is not ErrorKind.UNPREPARED
        self._tokens += result.usage.input_tokens + result.usage.output_tokens
        cost = result.usage.cost_usd
        self._cost = None if self._cost is None or cost is None else self._cost + cost
        if value is not None:
            self._values.append(value)

    def text(self) -> str:
        """For people."""
        counts = {"failed": self._failed, "could not be prepared": self._unscored}
        parts = [f"{count} {what}" for what, count in counts.items() if count]
        if self._values:
            parts.append(f"{100 * sum(self._values) / len(self._values):.0f} % of {len(self._values)}")
        parts.append("cost unknown" if self._cost is None else f"{self._cost:.4f} US$")
        parts.append(f"{self._tokens / 1000:,.0f}k tokens")
        return ", ".join(parts)


class LiveProgress:
    """Bars on a terminal."""

    def __init__(self) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"), console=Console(stderr=True, highlight=False),
        )  # fmt: skip
        self._cells: dict[str, tuple[TaskID, Tally]] = {}
        self._lock = Lock()

    def __enter__(self) -> LiveProgress:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, label: str, total: int, done: int) -> None:
        """A bar for the cell."""
        self._cells[label] = (self._bars.add_task(label, total=total, completed=done, note=""), Tally(total, done))

    def step(self, label: str, result: SessionResult, value: float | None) -> None:
        """Move it."""
        with self._lock:
            task, tally = self._cells[label]
            tally.add(result, value)
            self._bars.update(task, completed=tally.done, note=tally.text())

    def end(self, label: str) -> None:
        """Leave it as it is."""


class PlainProgress:
    """A line when a cell begins and ends, and every ten seconds between."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._cells: dict[str, tuple[float, Tally]] = {}
        self._told = clock()
        self._lock = Lock()

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.flush()

    def begin(self, label: str, total: int, done: int) -> None:
        """Say what there is to do."""
        self._cells[label] = (self._clock(), Tally(total, done))
        self._say(f"{label}: {total} steps" + (f", {done} done before" if done else ""))

    def step(self, label: str, result: SessionResult, value: float | None) -> None:
        """Say how far it is, when it is time."""
        with self._lock:
            started, tally = self._cells[label]
            tally.add(result, value)
            now = self._clock()
            if now - self._told >= EVERY_SECONDS:
                self._told = now
                rate = (tally.done - tally.first) / max(1e-9, now - started)
                self._say(f"{label}: {tally.done}/{tally.total}, {tally.text()}, {(tally.total - tally.done) / rate:.0f} s left")

    def end(self, label: str) -> None:
        """Say how it ended."""
        started, tally = self._cells[label]
        self._say(f"{label}: {tally.done}/{tally.total} in {self._clock() - started:.0f} s, {tally.text()}")

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)  # noqa: T201


def make_progress() -> LiveProgress | PlainProgress:
    """Live on a terminal."""
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()
