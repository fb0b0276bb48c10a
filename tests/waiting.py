"""Wait for another thread or process. The timeout only ends hanging tests and has no cost otherwise."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

HANGS_SECONDS = 60.0
PAUSE_SECONDS = 0.01
TRIES = 5
T = TypeVar("T")


def until(
    condition: Callable[[], object], what: str = "what was waited for did not happen", seconds: float = HANGS_SECONDS
) -> None:
    """Return as soon as the condition holds. Fail if it never does."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, what
        pause.wait(PAUSE_SECONDS)


def once_within(seconds: float, work: Callable[[], T]) -> T:
    """Run the work until one of a few attempts finishes in time, because a busy machine is slow only sometimes.

    Return the result of that attempt.
    """
    took = []
    for _ in range(TRIES):
        start = time.monotonic()
        result = work()
        took.append(time.monotonic() - start)
        if took[-1] < seconds:
            return result
    pytest.fail(f"never within {seconds:g} s: {', '.join(f'{one:.2f}' for one in took)}")
