"""What a day dream is reading at the moment, kept on disk: so a text that ends the process is not tried for ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from memoryd.core.state import GIVEN_UP, State

READING = "reading"
_MOST_GIVEN_UP = 20
_CAREFUL, _GIVE_UP = 2, 3


class UnderWay:
    """Counts how often reading began at one place and did not come to an end. One log at a time."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._attempts = 0
        self._transcript = ""
        self._after = ""

    @contextmanager
    def of(self, transcript: str, offset: int) -> Iterator[None]:
        """Reading from this place; a process that ends in the block leaves the count behind."""
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
        """Whether the process ended here, so that each line is to be read for itself."""
        return self._attempts >= _CAREFUL

    @property
    def ended_again(self) -> bool:
        """Whether it ended although only one line was read."""
        return self._attempts >= _GIVE_UP

    def is_done(self) -> None:
        """What is left of the piece can't be what ends the process, or may take long."""
        self._state.set_note(READING, "")

    def moved_to(self, offset: int) -> None:
        """The next place; what ended the process before may still be ahead, as long as no line was given up."""
        if self.ended_before and not self.ended_again:
            self._after = f"{offset} {self._transcript} 1"

    def give_up(self, transcript: str, line: int, at: str) -> None:
        """Put a line on record that took too long or ended the process; the last few are kept."""
        known = orjson.loads(self._state.note(GIVEN_UP) or "[]")
        entry = {"transcript": transcript, "line": line, "at": at}
        self._state.set_note(GIVEN_UP, orjson.dumps([*known, entry][-_MOST_GIVEN_UP:]).decode())
