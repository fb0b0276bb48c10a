"""When a model is asked: what a log gained waits until it is worth a call.

A session that goes on is asked about after each turn. For a model its new text waits on disk, unread, until there are
`chunk_tokens` of it, or until nothing more comes: the session ends, is compacted or falls silent, or somebody asks.
The cursor stays where it is, so that a kill loses nothing.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from memoryd.config import Settings
from memoryd.daydream.extractors import ASKS_A_MODEL
from memoryd.daydream.transcript import Piece
from memoryd.state import GATHERING, Cursor, Job, State

# After these events the session goes on; after all others what is there is read.
GOES_ON = frozenset({"Stop", "SubagentStop"})
SILENT_SECONDS = 900.0
# A log holds more bytes than this for each token of text: less than so many can't fill a piece.
LEAST_BYTES_PER_TOKEN = 4


class Gathering:
    """Decides for one job at a time; what it has to remember of a log lies in the state."""

    def __init__(self, state: State, settings: Settings, reader: str) -> None:
        self._state = state
        self._tokens = settings.chunk_tokens
        self._on = reader in ASKS_A_MODEL

    def waits(self, job: Job, cursor: Cursor) -> bool:
        """Whether the log's new bytes are too few to look at. What the user switched off is never held back."""
        if not self._on or job.reason not in GOES_ON or self._is_off(job.session):
            return False
        size = -1
        with suppress(OSError):  # told by the reader
            size = Path(job.transcript).stat().st_size
        return 0 <= size - cursor.offset < self._least_bytes(cursor)

    def is_small(self, job: Job, piece: Piece) -> bool:
        """Whether a piece that was read does not fill a call yet; then its log is looked at when it holds twice as much.

        So all looks together read no more than twice what is new.
        """
        if not self._on or job.reason not in GOES_ON or piece.more or not piece.turns or self._is_off(job.session):
            return False
        self._state.set_note(_note(job.transcript), f"{piece.start}:{2 * (piece.cursor.offset - piece.start)}")
        return True

    def hold(self, job: Job) -> None:
        """Put the job off until the session falls silent; another event brings it back at once."""
        self._state.defer_job(job, GATHERING, SILENT_SECONDS)

    def _least_bytes(self, cursor: Cursor) -> int:
        start, _, least = self._state.note(_note(cursor.transcript)).partition(":")
        return int(least) if start == str(cursor.offset) and least else LEAST_BYTES_PER_TOKEN * self._tokens

    def _is_off(self, session: str) -> bool:
        record = self._state.session(session)
        return record is not None and (record.off or self._state.is_off(record.project))


def _note(transcript: str) -> str:
    return f"gathering {transcript}"
