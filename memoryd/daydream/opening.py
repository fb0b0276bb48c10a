"""A session's first prompt, by which a person recognises it. Read from the log each time; nothing of it is kept."""

from __future__ import annotations

from pathlib import Path

from memoryd.daydream.redact import redact
from memoryd.daydream.transcript import ReadLimits, read_transcript
from memoryd.errors import TranscriptError
from memoryd.state import Cursor
from memoryd.text import one_line, shorten
from memoryd.types import TurnKind

TITLE_CHARACTERS = 90
# The first prompt stands in the first lines of a log; a huge first line is not worth the wait.
_LIMITS = ReadLimits(tokens=2_000, bytes=512_000, line_bytes=200_000)


def first_prompt(transcript: str) -> str:
    """The first thing that the user typed, on one line and without secrets; empty when there is none to be read."""
    if not transcript:
        return ""
    try:
        piece = read_transcript(Path(transcript), Cursor(transcript), limits=_LIMITS, final=True)
    except TranscriptError:
        return ""  # a log that was deleted: the session is named by its id instead
    for turn in piece.turns:
        if turn.kind is TurnKind.USER and not turn.sidechain:
            return shorten(one_line(redact(turn.text).text), TITLE_CHARACTERS)
    return ""
