"""Embedding in the background: a set of ids that wait, and one thread that works them off."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memoryd.errors import EmbeddingError, MemorydError
from memoryd.stores.markdown import MarkdownStore
from memoryd.types import MemoryItem

log = logging.getLogger(__name__)
BATCH = 64
RETRY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """State of the derived indexes. `waiting` memories have no vector yet."""

    memories: int
    active: int
    broken: tuple[str, ...]
    waiting: int
    embedder: str
    embedder_error: str
    rebuilt: tuple[str, ...]


class BackgroundIndexer:
    """Calls `work` with batches of ids. The thread starts with the first id and ends when idle.

    What waits is not kept on disk: at the next start the indexes are compared with the
    Markdown, and what is missing waits again.
    """

    def __init__(self, work: Callable[[Sequence[str]], None], on_error: Callable[[EmbeddingError], None]) -> None:
        self._work = work
        self._on_error = on_error
        self._waiting: dict[str, None] = {}
        self._busy = 0
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, ids: Iterable[str]) -> None:
        """Let the ids wait; an id that waits already is not added twice."""
        with self._condition:
            self._waiting.update(dict.fromkeys(ids))
            if self._waiting and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="memoryd-indexer", daemon=True)
                self._thread.start()

    def waiting(self) -> int:
        """How many ids have no vector yet."""
        with self._condition:
            return len(self._waiting) + self._busy

    def settle(self, timeout: float) -> bool:
        """Wait until nothing waits."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def close(self) -> None:
        """Stop after the batch at hand."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(timeout=10)

    def _take(self) -> list[str]:
        with self._condition:
            if self._closed or not self._waiting:
                self._thread = None
                return []
            batch = list(self._waiting)[:BATCH]
            for id in batch:
                del self._waiting[id]
            self._busy = len(batch)
            return batch

    def _run(self) -> None:
        while batch := self._take():
            failed = self._attempt(batch)
            with self._condition:
                self._busy = 0
                if failed:
                    self._waiting = {**dict.fromkeys(batch), **self._waiting}
                    self._condition.wait_for(lambda: self._closed, RETRY_SECONDS)
                self._condition.notify_all()

    def _attempt(self, batch: Sequence[str]) -> bool:
        """True when the batch must be tried again."""
        try:
            self._work(batch)
        except EmbeddingError as error:
            self._on_error(error)
            return True
        except MemorydError:
            log.exception("indexing failed")
            return True
        return False


def bring_in_step(
    markdown: MarkdownStore,
    held: Mapping[str, str],
    write: Callable[[Sequence[MemoryItem]], object],
    delete: Callable[[str], None],
) -> None:
    """Delete what an index holds (item digests by id) and the Markdown does not; write what differs, 500 at a time."""
    wanted = markdown.digests()
    for id in held.keys() - wanted.keys():
        delete(id)
    behind = sorted(id for id, digest in wanted.items() if held.get(id) != digest)
    for start in range(0, len(behind), 500):
        write(list(markdown.fetch(behind[start : start + 500]).values()))
