"""Waiting for what another thread or process does. The bound only ends a test that hangs: it costs nothing otherwise."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

HANGS_SECONDS = 60.0
PAUSE_SECONDS = 0.01
TRIES = 5


def until(
    condition: Callable[[], object], what: str = "what was waited for did not happen", seconds: float = HANGS_SECONDS
) -> None:
    """Return as soon as the condition holds; fail when it never does."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, what
        pause.wait(PAUSE_SECONDS)


def once_within(seconds: float, work: Callable[[], object]) -> None:
    """The work is done within a time in one of a few tries: a busy machine is late now and then, a fault is so each time."""
    took = []
    for _ in range(TRIES):
        start = time.monotonic()
        work()
        took.append(time.monotonic() - start)
        if took[-1] < seconds:
            return
    pytest.fail(f"never within {seconds:g} s: {', '.join(f'{one:.2f}' for one in took)}")
