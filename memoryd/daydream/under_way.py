"""Track on disk what a day dream is reading, so that text that crashes the process is not retried forever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from memoryd.core.state import GIVEN_UP, State

READING = "reading"
_MAX_GIVEN_UP = 20
_CAREFUL, _GIVE_UP = 2, 3


class ReadAttempts:
    """Counts unfinished attempts to read from a position. Handles one log at a time."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._attempts = 0
        self._transcript = ""
        self._after = ""

    @contextmanager
    def of(self, transcript: str, offset: int) -> Iterator[None]:
        """Start reading at this position.

        If the process ends within the block, the count remains.
        """
        place, _, count = self._state.note(READING).rpartition(" ")
        self._attempts = int(count) + 1 if place == f"{offset} {transcript}" else 1
        self._transcript, self._after = transcript, ""
        self._state.set_note(READING, f"{offset} {transcript} {self._attempts}")
        try:
            yield
        finally:
            self._attempts = 0
            self._state.set_note(READING, self._after)

    @property
    def ended_before(self) -> bool:
        """Return whether an earlier process ended at this position. If so, lines must be read one by one."""
        return self._attempts >= _CAREFUL

    @property
    def ended_again(self) -> bool:
        """Return whether the process ended again although only one line was read."""
        return self._attempts >= _GIVE_UP

    def is_done(self) -> None:
        """Mark the critical part of the chunk as done.

        The rest of the work can't crash the process, or may take long for good reason.
        """
        self._state.set_note(READING, "")

    def moved_to(self, offset: int) -> None:
        """Move to the next position.

        Until a line has been skipped, the line that caused an earlier crash may still follow.
        """
        if self.ended_before and not self.ended_again:
            self._after = f"{offset} {self._transcript} 1"

    def give_up(self, transcript: str, line: int, at: str) -> None:
        """Record a line that took too long or crashed the process. Only the last few such lines are kept."""
        known = orjson.loads(self._state.note(GIVEN_UP) or "[]")
        entry = {"transcript": transcript, "line": line, "at": at}
        self._state.set_note(GIVEN_UP, orjson.dumps([*known, entry][-_MAX_GIVEN_UP:]).decode())
