"""Keeps the garbage collector from stopping all threads while a dream is planned."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search for cycles during the block.

    A plan holds a hundred objects for each memory, none of them in a cycle. A full collection looks at all of
    them, and meanwhile no thread can answer a hook: 0.2 s at 10,000 memories, more than 2 s at 100,000. Two blocks
    may overlap; the first one to end lets the collector run again.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
