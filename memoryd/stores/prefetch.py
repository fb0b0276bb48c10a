"""What the models make of a query, kept for the searches that follow, and begun before it is needed; and other work beside.

Models, SQLite and numpy run outside the interpreter's lock, so while one thread encodes, another looks up the words.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")
KEPT = 32


class Ahead(Generic[T]):
    """The values of `make` for the last 32 texts. Safe to share between threads."""

    def __init__(self, make: Callable[[str], T], name: str) -> None:
        """`name` is that of the thread."""
        self._make = make
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Future[T]] = OrderedDict()
        self._pool = ThreadPoolExecutor(1, name)
        # A thread inherits the priority of the one that starts it, which later may be one of the background.
        self._pool.submit(int)
        self._closed = False

    def prepare(self, text: str) -> None:
        """Begin now; a failure is told by `get`."""
        with self._lock:
            if text not in self._known and not self._closed:
                self._keep(text, self._pool.submit(self._make, text))

    def get(self, text: str) -> T:
        """The value, waiting for what has begun. Raises what `make` raises, and forgets that it did."""
        with self._lock:
            future = self._known.get(text)
            if future is not None:
                self._known.move_to_end(text)
        if future is None:
            value = self._make(text)
            done: Future[T] = Future()
            done.set_result(value)
            with self._lock:
                self._keep(text, done)
            return value
        try:
            return future.result()
        except BaseException:
            with self._lock:
                if self._known.get(text) is future:
                    del self._known[text]
            raise

    def _keep(self, text: str, future: Future[T]) -> None:
        self._known[text] = future
        while len(self._known) > KEPT:
            self._known.popitem(last=False)

    def close(self) -> None:
        """Wait for what has begun and begin nothing more; a second call does nothing."""
        with self._lock:
            self._closed = True
        self._pool.shutdown()


class Beside:
    """One more thread, for a part of a work that takes milliseconds. Safe to share between threads."""

    def __init__(self, name: str) -> None:
        """`name` is that of the thread."""
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, name)
        self._pool.submit(int)  # for its priority, see Ahead
        self._closed = False

    def begin(self, work: Callable[[], R]) -> Callable[[], R]:
        """Begin now; what is returned waits for the result, or raises what the work raised. After `close` it does the work."""
        with self._lock:
            return work if self._closed else self._pool.submit(work).result

    def close(self) -> None:
        """Wait for what has begun; a second call does nothing."""
        with self._lock:
            self._closed = True
        self._pool.shutdown()
