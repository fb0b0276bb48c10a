"""A cache of recent query encodings that can be filled in the background, and a single worker thread.

Models, SQLite and numpy release the GIL, so one thread can encode a query while another looks up its words.
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


class PrefetchCache(Generic[T]):
    """Caches `make(text)` for the last 32 texts, and can compute values ahead of time. Thread-safe."""

    def __init__(self, make: Callable[[str], T], name: str) -> None:
        """Create the cache. `name` is the name of its worker thread."""
        self._make = make
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Future[T]] = OrderedDict()
        self._pool = ThreadPoolExecutor(1, name)
        # Start the thread now, because it inherits the priority of its creator, which may later be a background thread.
        self._pool.submit(int)
        self._closed = False

    def prepare(self, text: str) -> None:
        """Start computing the value in the background. If this fails, `get` raises the error."""
        with self._lock:
            if text not in self._known and not self._closed:
                self._keep(text, self._pool.submit(self._make, text))

    def get(self, text: str) -> T:
        """Return the value, waiting for a pending computation. Errors from `make` are raised and not cached."""
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
        """Finish pending work and reject new work. Safe to call twice."""
        with self._lock:
            self._closed = True
        self._pool.shutdown()


class WorkerThread:
    """A worker thread for subtasks that take milliseconds. Thread-safe."""

    def __init__(self, name: str) -> None:
        """Start a thread with this name."""
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, name)
        self._pool.submit(int)  # Start the thread now because of its priority (see PrefetchCache).
        self._closed = False

    def begin(self, work: Callable[[], R]) -> Callable[[], R]:
        """Start the work and return a function that waits for its result. After `close`, the function does the work itself."""
        with self._lock:
            return work if self._closed else self._pool.submit(work).result

    def close(self) -> None:
        """Finish pending work. Safe to call twice."""
        with self._lock:
            self._closed = True
        self._pool.shutdown()
