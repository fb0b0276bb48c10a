"""Time limits. A deadline is passed down and checked in every loop that may take a long time.

A `Watchdog` ends the process if code never checks its deadline. The work in progress is recorded first.
"""

from __future__ import annotations

import faulthandler
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memoryd.core.errors import TooSlowError


class Deadline:
    """A point in time after which work is abandoned."""

    __slots__ = ("_end", "_now", "_seconds")

    def __init__(self, seconds: float = math.inf, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._end = now() + seconds

    def check(self) -> None:
        """Raise TooSlowError if the time is up."""
        if self._now() > self._end:
            raise TooSlowError(
                f"It took longer than {self._seconds:g} seconds.",
                fix="It was skipped; no action is needed.",
            )


NEVER = Deadline()


class Watchdog:
    """Ends the process when work exceeds a hard limit, even within a single call that never returns.

    It needs neither the GIL nor a signal. Use it only in a dedicated process such as the daemon.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Apply the limit to a block."""
        faulthandler.dump_traceback_later(self._seconds, exit=True)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
