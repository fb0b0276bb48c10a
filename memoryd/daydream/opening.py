"""The beginning of a session's log: whether it is one, and the first prompt, by which a person recognises it.

Read each time; nothing of it is kept.
"""

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
_HEAD_BYTES = 65_536
_LIMITS = ReadLimits(tokens=2_000, bytes=512_000, line_bytes=200_000)


def is_log(path: Path) -> bool:
    """Whether a file may be a session's log: it is empty so far, or a line in its first 64 kB begins a JSON object."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return False
    return not head.strip() or any(line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{") for line in head.splitlines())


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
