"""Progress of runs: live bars on a terminal, a plain line now and then elsewhere. Both go to standard error."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from memeval import stats
from memeval.cli.output import console, percent
from memeval.results.store import Status
from memeval.types import Phase

EVERY_SECONDS = 10.0
NORMAL_95 = 1.96


class Tally:
    """What is known so far of a phase: done, failed, the first metric with its interval, cost."""

    def __init__(self, total: int, done: int) -> None:
        self.total = total
        self.done = done
        self.failed = 0
        self.cost: float | None = 0.0
        self._metric = ""
        self._count = 0
        self._sum = self._squares = 0.0
        self._graded = False

    def add(self, status: Status, scores: Mapping[str, float], cost: float | None) -> None:
        """Count a piece of work."""
        self.done += 1
        self.failed += status is Status.FAILED
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self._metric = self._metric or headline(scores)
        if self._metric in scores:
            self._count_value(scores[self._metric])
        elif status is Status.FAILED:
            self._count_value(0.0)

    def _count_value(self, value: float) -> None:
        self._count += 1
        self._sum += value
        self._squares += value * value
        self._graded = self._graded or value not in (0.0, 1.0)

    def text(self) -> str:
        """For people."""
        parts = [f"{self.failed} failed"] if self.failed else []
        if self._metric and self._count:
            parts.append(f"{self._metric} {percent(self._sum / self._count)}{self._interval()}")
        if self.cost is None:
            parts.append("cost unknown")
        elif self.cost:
            parts.append(f"{self.cost:.4f} US$")
        return ", ".join(parts)

    def _interval(self) -> str:
        """Wilson's for yes/no values; for graded ones mean ± 1.96 standard errors, which is quick (the report's is better)."""
        if not self._graded:
            interval = stats.wilson(self._sum, self._count)
            return f" [{percent(interval.low)}, {percent(interval.high)}]" if interval else ""
        if self._count < 2:
            return ""
        mean = self._sum / self._count
        spread = max(0.0, self._squares - self._count * mean * mean) / (self._count - 1)
        reach = NORMAL_95 * math.sqrt(spread / self._count)
        return f" [{percent(max(0.0, mean - reach))}, {percent(min(1.0, mean + reach))}]"


def headline(scores: Mapping[str, float]) -> str:
    """The metric that is shown while a run goes on: the first of a judge, else of the ranking."""
    judged = [name for name in scores if "." not in name and name not in ("efficiency", "relevancy")]
    ranked = [name for name in scores if name.endswith(("recall_all@5", "recall_fraction@5"))]
    return next(iter([*judged, *ranked, *scores]), "")


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
