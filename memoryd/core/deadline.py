"""Time limits that can stop work: a deadline is passed down, and looked at in each loop that may run long.

A loop that never looks at it is stopped by a `Watchdog`, which ends the process; what was under way is noted before.
"""

from __future__ import annotations

import faulthandler
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memoryd.core.errors import TooSlowError


class Deadline:
    """The moment at which some work is given up."""

    __slots__ = ("_end", "_now", "_seconds")

    def __init__(self, seconds: float = math.inf, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._end = now() + seconds

    def check(self) -> None:
        """Raise TooSlowError when the time is over."""
        if self._now() > self._end:
            raise TooSlowError(
                f"It took longer than {self._seconds:g} seconds.",
                fix="It is left out, and the rest goes on; nothing is to be done.",
            )


NEVER = Deadline()


class Watchdog:
    """Ends the process when work takes longer than anything may, even in a single call that never comes back.

    It needs neither the interpreter's lock nor a signal. Only for a process of its own, as the daemon's.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Watch over the block."""
        faulthandler.dump_traceback_later(self._seconds, exit=True)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
