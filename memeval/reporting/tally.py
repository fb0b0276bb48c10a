"""What is known so far of a phase that goes on: counts, the first metric with its interval, cost."""

from __future__ import annotations

import math
from collections.abc import Mapping

from memeval import stats
from memeval.reporting.numbers import percent
from memeval.results.store import Status

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
