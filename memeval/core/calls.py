"""Retries with jitter, the cost budget and the stop flag."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock
from typing import TypeVar

from memeval.core.errors import BudgetError, ModelError, ProviderError, StoppedError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits a random time before each retry ("full jitter").

    The n-th wait is a random share of `backoff` × 2^n seconds, and never longer than `maximum`. If the server sent a
    Retry-After, the wait is at least that long plus jitter, but never longer than `patience`.
    """

    retries: int = 4
    backoff: float = 1.0
    maximum: float = 60.0
    patience: float = 600.0

    def wait(self, attempt: int, asked: float | None, share: float) -> float:
        """Return the number of seconds to wait before the next attempt. `share` is a random number in [0, 1)."""
        own = min(self.maximum, self.backoff * math.pow(2, attempt)) * share
        return own if asked is None else min(self.patience, asked + min(own, 1.0))


class Stop:
    """A flag that stops a run cleanly and interrupts its waits."""

    def __init__(self) -> None:
        self._event = Event()
        self.reason = ""

    def set(self, reason: str = "stopped by the user") -> None:
        """Request a stop. Only the first reason is kept."""
        self.reason = self.reason or reason
        self._event.set()

    @property
    def is_set(self) -> bool:
        """Return whether a stop was requested."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise StoppedError if the flag is set."""
        if self.is_set:
            raise StoppedError(f"The run was {self.reason}.", fix="Resume it with --resume.")

    def sleep(self, seconds: float) -> None:
        """Sleep for the given time. Raises StoppedError as soon as the flag is set."""
        self._event.wait(seconds)
        self.check()


def with_retries(
    call: Callable[[], Result], policy: RetryPolicy, stop: Stop, chance: Callable[[], float] = random.random
) -> Result:
    """Make the call and return its result, retrying after transient errors.

    Other errors are raised at once. When no attempts are left, the last transient error is raised.
    """
    attempt = 0
    while True:
        stop.check()
        try:
            return call()
        except (ProviderError, ModelError) as error:
            if not error.transient or attempt >= policy.retries:
                raise
            stop.sleep(policy.wait(attempt, error.retry_after, chance()))
        attempt += 1


class Budget:
    """A limit in US dollars on the total cost of a command's model calls. Thread-safe.

    With `strict`, a call of unknown cost is an error, because the limit could not be enforced.
    """

    def __init__(self, limit: float | None = None, spent: float = 0.0, *, strict: bool = True) -> None:
        self.limit = limit
        self._strict = strict
        self._spent = spent
        self._reserved = 0.0
        self._dearest = 0.0
        self._lock = Lock()

    @property
    def spent(self) -> float:
        """The US dollars spent so far."""
        return self._spent

    def add(self, cost: float) -> None:
        """Add the amount spent by an earlier part of the same run."""
        with self._lock:
            self._spent += cost

    @contextmanager
    def reserve(self, estimate: float | None) -> Iterator[Callable[[float | None], None]]:
        """Reserve budget for one call, and yield the function that records its actual cost.

        Without an estimate, the cost of the most expensive call so far is assumed. BudgetError is raised before the
        call if the remaining budget is too small. It is raised after the call if the cost is unknown, because the
        budget could not be enforced.
        """
        amount = self._take(estimate)
        try:
            yield self._settle
        finally:
            with self._lock:
                self._reserved -= amount

    def _take(self, estimate: float | None) -> float:
        with self._lock:
            amount = self._dearest if estimate is None else estimate
            if self.limit is not None and self._spent + self._reserved + amount > self.limit:
                raise BudgetError(
                    f"The next call would exceed the budget: {self._spent + self._reserved:.4f} of "
                    f"{self.limit:.4f} US$ are spent or reserved, and it may cost {amount:.4f}.",
                    fix="Resume the run with a larger --budget-usd.",
                )
            self._reserved += amount
            return amount

    def _settle(self, cost: float | None) -> None:
        if cost is None:
            if self.limit is not None and self._strict:
                raise BudgetError(
                    "The model's price is unknown, so the budget can't be enforced.",
                    fix="Add the model to the price table, or omit --budget-usd.",
                )
            return
        with self._lock:
            self._spent += cost
            self._dearest = max(self._dearest, cost)
