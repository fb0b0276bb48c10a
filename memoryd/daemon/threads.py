"""Threads of the daemon. Each request has its own, so that none waits for slow work. One more does background work.

They are daemon threads, so that hanging work can't keep the process alive.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from memoryd.core.errors import MemorydError

T = TypeVar("T")
RETRY_SECONDS = 60.0
NICENESS = 10
SHORTEST_PAUSE = 0.01
_logger = logging.getLogger(__name__)


async def in_thread(work: Callable[[], T], name: str) -> T:
    """Run blocking work in its own thread and await the result."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - passed to the waiter, as an executor does
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await asyncio.shield(asyncio.wrap_future(future))


def lower_priority() -> None:
    """Lower the priority of this thread. Supported only on Linux."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


class BackgroundWorker:
    """Calls `tick` when due and runs submitted work, one at a time, at low priority.

    `tick` returns the seconds until it is due again, or None. Errors are reported, and `tick` is retried after a minute.
    No work starts while `may_work` returns False.
    """

    def __init__(
        self,
        tick: Callable[[], float | None],
        report: Callable[[str, BaseException], None],
        may_work: Callable[[], bool] = lambda: True,
    ) -> None:
        self._may_work = may_work
        self._tick = tick
        self._report = report
        self._condition = threading.Condition()
        self._submitted: deque[tuple[str, Callable[[], object]]] = deque()
        self._woken = True
        self._stopping = False
        self._running = False
        self._next: float | None = 0.0
        self._thread = threading.Thread(target=self._loop, name="background", daemon=True)

    def start(self) -> None:
        """Start the thread. It calls `tick` first."""
        self._thread.start()

    def wake(self) -> None:
        """Call `tick` soon, because work may be due."""
        with self._condition:
            self._woken = True
            self._condition.notify()

    def submit(self, name: str, work: Callable[[], object]) -> None:
        """Queue this work after all running and queued work."""
        with self._condition:
            self._submitted.append((name, work))
            self._condition.notify()

    def busy(self) -> bool:
        """Return whether work is running or queued."""
        with self._condition:
            return self._running or self._woken or bool(self._submitted)

    def next_due(self) -> float | None:
        """Return the seconds until the next tick, as returned by the last one, or None."""
        return self._next

    def stop(self, timeout: float) -> bool:
        """Stop without starting further work. Return whether the thread ended in time."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        lower_priority()
        while (job := self._wait()) is not None:
            name, work = job
            if self._may_work():
                self._run(name, work)
            with self._condition:
                self._running = False

    def _wait(self) -> tuple[str, Callable[[], object]] | None:
        with self._condition:
            self._condition.wait_for(self._has_work, timeout=self._next)
            if self._stopping:
                return None
            self._running = True
            if self._submitted:
                return self._submitted.popleft()
            self._woken = False
            return "tick", self._tick_once

    def _has_work(self) -> bool:
        return self._woken or self._stopping or bool(self._submitted)

    def _tick_once(self) -> None:
        self._next = RETRY_SECONDS
        due = self._tick()
        self._next = None if due is None else max(SHORTEST_PAUSE, due)

    def _run(self, name: str, work: Callable[[], object]) -> None:
        try:
            work()
        except MemorydError as error:
            self._report(name, error)
        except Exception as error:
            _logger.exception("background work '%s' failed", name)
            self._report(name, error)
