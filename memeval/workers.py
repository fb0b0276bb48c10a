"""Work on many items in a few threads, with little taken ahead and nothing left running."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from memeval.calls import Stop

Item = TypeVar("Item")


def for_each(items: Iterable[Item], work: Callable[[Item], None], threads: int, stop: Stop, name: str = "memeval") -> None:
    """Do the work for each item, in the caller's thread if there is to be one only.

    At most `threads` + 1 items are taken at once, since one can be a large case. The first error is raised after the
    work that is under way has ended; the flag ends it with StoppedError.
    """
    if threads <= 1:
        for item in items:
            stop.check()
            work(item)
        return
    waiting: set[Future[None]] = set()
    with ThreadPoolExecutor(threads, thread_name_prefix=name) as pool:
        try:
            for item in items:
                stop.check()
                waiting.add(pool.submit(copy_context().run, work, item))
                if len(waiting) > threads:
                    waiting = _settled(waiting)
            while waiting:
                waiting = _settled(waiting)
        except BaseException:
            for future in waiting:
                future.cancel()
            raise


def _settled(waiting: set[Future[None]]) -> set[Future[None]]:
    """Wait for at least one; raise what it raised."""
    done, rest = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return rest
