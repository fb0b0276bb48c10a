"""Read the new part of a session log.

A log is read by byte offset. The cursor contains a fingerprint of the bytes before the offset. If the fingerprint no
longer matches, or the file is shorter, the log was rewritten and is read again (`LogChunk.reset`). Writing the same
memory twice has no effect. A line that is still being written is left for the next reading.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import orjson

from memoryd.clients.registry import client_of_log, log_mark, log_status, open_log
from memoryd.core.clock import from_iso
from memoryd.core.errors import InputError, TooSlowError, TranscriptError
from memoryd.core.state import Cursor
from memoryd.core.text import one_line, shorten, token_count
from memoryd.core.types import Turn, TurnKind
from memoryd.daydream.redact import redact
from memoryd.daydream.speakers import EntryReader, ParserState, TextLimits, load_memo, short_hash, turn_from_dict, turn_to_dict

# Read the complete lines of a growing file, in bounded memory.
#
# An incomplete line is left alone. A line over the limit is skipped without being stored, even if it is incomplete.

CLOCKS_DIFFER = timedelta(days=1)
HEAD_BYTES = 256
TAIL_BYTES = 512


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line without its line end.

    Attributes:
        end: The offset after the line.
        data: The content, or None if it exceeded the limit.
        number: The line number, starting at 1.
        complete: Whether a line end was found. False for an overlong line that continues, and for the last line of a
            file without a line end.
    """

    data: bytes | None
    number: int
    end: int
    complete: bool = True


class _Assembler:
    """Assembles lines from blocks of a file. Overlong lines are discarded."""

    def __init__(self, start: int, number: int, limit: int, skipping: bool) -> None:
        self.end = start
        self._number = number
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = skipping

    def _hold(self, part: bytes) -> None:
        self._held += len(part)
        if self._held > self._limit:
            self._skipping = True
            self._parts.clear()
        elif part and not self._skipping:
            self._parts.append(part)

    def _take(self, complete: bool) -> LogLine:
        data = None if self._skipping else b"".join(self._parts)
        line = LogLine(data, self._number + 1, self.end, complete)
        if complete:
            self._parts, self._held, self._skipping = [], 0, False
            self._number += 1
        return line

    def feed(self, block: bytes) -> Iterator[LogLine]:
        """Yield the lines completed by this block."""
        start = 0
        while (stop := block.find(b"\n", start)) >= 0:
            self._hold(block[start:stop])
            self.end += stop + 1 - start
            start = stop + 1
            yield self._take(complete=True)
        self._hold(block[start:])
        self.end += len(block) - start

    def rest(self) -> LogLine | None:
        """Return the unfinished line at the end of the file, or None."""
        return self._take(complete=False) if self._held or self._skipping else None


def read_lines(
    stream: BinaryIO, start: int, number: int, *, limit: int, block_bytes: int, skipping: bool = False
) -> Iterator[LogLine]:
    """Yield the lines that start at or after offset `start`.

    Args:
        stream: The file.
        start: The offset of the first line.
        number: The number of lines before `start`.
        limit: The maximum number of bytes in a line.
        block_bytes: The number of bytes to read at once.
        skipping: Whether `start` is inside an overlong line.
    """
    stream.seek(start)
    assembler = _Assembler(start, number, limit, skipping)
    while block := stream.read(block_bytes):
        yield from assembler.feed(block)
    if (rest := assembler.rest()) is not None:
        yield rest


def fingerprint(stream: BinaryIO, offset: int) -> str:
    """Return a hash that distinguishes a file that has grown from one that was rewritten.

    It covers the first bytes of the file and the bytes immediately before `offset`.
    """
    hasher = hashlib.blake2b(f"{offset}:".encode(), digest_size=16)
    stream.seek(0)
    hasher.update(stream.read(min(HEAD_BYTES, offset)))
    tail = max(0, offset - TAIL_BYTES)
    stream.seek(tail)
    hasher.update(stream.read(offset - tail))
    return hasher.hexdigest()


# The part of the reader's memory that is stored in the cursor. It contains no text from the log, only the positions of the last
# turns.
#
# When reading continues, the turns are read again from there, so that no table contains a prompt.

# Returns the turns of the line at this offset. The second argument is the line number.
TurnsAt = Callable[[int, int], list[Turn]]


def without_text(context: str, starts: Mapping[int, int]) -> str:
    """Replace the text in the dumped parser state with positions. `starts` contains the offset of each line."""
    values = orjson.loads(context)
    found = [(turn, starts.get(turn["line"])) for turn in values["turns"]]
    values["turns"] = [{"kind": turn["kind"], "line": turn["line"], "at": at} for turn, at in found if at is not None]
    return orjson.dumps(values).decode()


def places(context: str) -> dict[int, int]:
    """Return the offsets of the lines whose turns are in the context, by line number."""
    try:
        values = orjson.loads(context) if context else {"turns": []}
        return {int(turn["line"]): int(turn["at"]) for turn in values["turns"]}
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return {}


def with_text(context: str, turns_at: TurnsAt) -> str:
    """Restore the text replaced by `without_text`. Turns that can no longer be read are omitted."""
    try:
        values = orjson.loads(context) if context else None
        if not isinstance(values, dict):
            return context
        values["turns"] = [turn_to_dict(turn) for turn in _read_carried(values["turns"], turns_at)]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return context
    return orjson.dumps(values).decode()


def _read_carried(named: list[dict[str, Any]], turns_at: TurnsAt) -> list[Turn]:
    memo, lines = ParserState(), dict[int, list[Turn]]()
    for values in named:
        if "text" in values:  # The text is still in this process's memory.
            memo.keep_context(turn_from_dict(values))
            continue
        at = int(values["at"])
        if at not in lines:
            lines[at] = turns_at(at, int(values["line"]))
        turn = next((t for t in lines[at] if t.kind.value == values["kind"] and not t.sidechain and t.text), None)
        if turn is not None:
            memo.keep_context(turn)
            lines[at].remove(turn)
    return memo.turns


APART = "excluded folder"
_COUNTED_BYTES = 1 << 20
_HEAD_BYTES = 65_536
_FOLDER = re.compile(rb'"cwd"\s{0,3}:\s{0,3}("(?:[^"\\]|\\.){0,4000}")')
_BOM = b"\xef\xbb\xbf"
# Lines that start like this contain full prompts or copies of files, never conversation. They are not parsed.
_IRRELEVANT = re.compile(
    rb'\s*\{"type":\s?"(?:api-request|prompt_snapshot|cost-state|tools-used|mode|file-history|progress|summary|atis|last-prompt)'
)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of one chunk: estimated tokens of text, bytes of the file, bytes of one line, and lines.

    `turn_chars` and `result_chars` limit the text of one turn and of one tool result, whose middle is cut out. A line
    that takes longer than `line_seconds` is skipped. This should not happen, because all text functions are linear.
    """

    tokens: int = 6_000
    bytes: int = 8_000_000
    line_bytes: int = 4_000_000
    block_bytes: int = 16_384
    turn_chars: int = 24_000
    result_chars: int = 800
    line_seconds: float = 20.0
    lines: int = sys.maxsize


@dataclass(frozen=True, slots=True)
class LogChunk:
    """New turns, a few earlier turns as context, and the cursor after them.

    Attributes:
        more: Whether a limit was reached, so that reading must continue from `cursor`.
        reset: Whether the log was rewritten and is being read again.
        skipped: The number of skipped lines by reason.
        redacted: The number of removed secrets of each kind.
        start: The offset at which reading began.
        left: Short hashes of the uuids of lines, in this or an earlier chunk, that the user has since rewound.
        given_up: Numbers of the lines that took too long.
    """

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...]
    cursor: Cursor
    more: bool = False
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    session: str = ""
    cwd: str = ""
    reset: bool = False
    start: int = 0
    redacted: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    left: frozenset[str] = frozenset()
    given_up: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """Where and when a line was written. `sessions` names its session, and the one from whose log it was copied."""

    cwd: str
    written: str = ""
    sessions: tuple[str, ...] = ()

    def at(self) -> datetime | None:
        """Return the time of writing, or None if it is unknown."""
        try:
            return from_iso(self.written)
        except InputError:
            return None


Apart = Callable[[LineOrigin], bool]


def _nothing_known(_uuid: str) -> bool:
    return False


def nothing_apart(_line: LineOrigin) -> bool:
    """Return that a line may be read."""
    return False


def read_transcript(
    path: Path,
    cursor: Cursor,
    *,
    limits: ReadLimits | None = None,
    final: bool = False,
    known: Callable[[str], bool] = _nothing_known,
    apart: Apart = nothing_apart,
    pass_over: bool = False,
) -> LogChunk:
    """Read the next chunk of the log.

    Args:
        path: The log.
        cursor: Where to continue.
        limits: The limits of the chunk.
        final: Whether the file is no longer being written. If so, a complete last line is read even without a line end.
        known: Returns whether the uuid of a line was seen in another log. A resumed session may start with a copy of that log.
        apart: Returns whether a line must be skipped. A session may enter an excluded folder and leave it again, and may begin
            with lines of another log that were written while memory was off.
        pass_over: Whether to skip the first line because reading it crashed the process before.

    Raises:
        TranscriptError: if the log is not a regular file or can't be read.
    """
    try:
        with open_log(path) as stream:
            return _read(stream, path, cursor, limits or ReadLimits(), final, known, apart, pass_over)
    except (OSError, ValueError) as error:  # ValueError: the path contains a NUL.
        raise TranscriptError(
            f"Can't read the session log {path}: {getattr(error, 'strerror', None) or error}.",
            fix="Check that the file exists and is readable.",
        ) from error


def cursor_at_end(transcript: str, session: str) -> Cursor | None:
    """Return a cursor at the end of a log that must not be opened, or None if there is no such file."""
    try:
        mark = log_mark(Path(transcript))
    except (OSError, ValueError):
        return None
    return Cursor(transcript, session, offset=mark)


def first_folder(transcript: str) -> str:
    """Return the folder given in a log's first lines, or an empty string. Nothing else in these lines is used."""
    path = Path(transcript)
    try:
        if folder := client_of_log(path).log_folder(path):
            return folder
        with open_log(path) as stream:
            found = _FOLDER.search(stream.read(_HEAD_BYTES))
        return str(orjson.loads(found[1])) if found else ""
    except (OSError, ValueError):
        return ""


def turns_of_lines(path: Path, lines: Collection[int], *, limits: ReadLimits | None = None) -> dict[int, list[Turn]]:
    """Return the turns of individual lines by line number. Each line is read separately. Raises TranscriptError."""
    bounds, last, out = limits or ReadLimits(), max(lines, default=0), dict[int, list[Turn]]()
    try:
        with open_log(path) as stream:
            for line in read_lines(stream, 0, 0, limit=bounds.line_bytes, block_bytes=_COUNTED_BYTES):
                if line.number > last:
                    break
                if line.number in lines and line.data is not None:
                    out[line.number] = _turns_of(_parse(line.data.removeprefix(_BOM).strip()), line.number, bounds)
    except (OSError, ValueError) as error:
        raise TranscriptError(
            f"Can't read the session log {path}: {getattr(error, 'strerror', None) or error}.",
            fix="Check that the file exists and is readable.",
        ) from error
    return out


def read_all(path: Path, *, limits: ReadLimits | None = None, apart: Apart = nothing_apart) -> Iterator[LogChunk]:
    """Yield the whole log in chunks. The file is treated as complete. Raises TranscriptError."""
    cursor, more = Cursor(str(path)), True
    while more:
        piece = read_transcript(path, cursor, limits=limits, final=True, apart=apart)
        cursor, more = piece.cursor, piece.more
        yield piece


def _read(
    stream: BinaryIO,
    path: Path,
    cursor: Cursor,
    limits: ReadLimits,
    final: bool,
    known: Callable[[str], bool],
    apart: Apart,
    pass_over: bool,
) -> LogChunk:
    cursor = _complete_cursor_at_end(stream, path, cursor)
    fits = cursor.offset == 0 or fingerprint(stream, cursor.offset) == cursor.fingerprint
    memo = load_memo(cursor.live or with_text(cursor.context, _line_reader(stream, limits))) if fits else None
    fits = memo is not None
    if memo is None:
        cursor, memo = Cursor(cursor.transcript, cursor.session), ParserState()
    before = tuple(memo.turns)
    reading = _Reading(memo, limits, cursor, known, apart, pass_over, _written_by(path))
    lines = read_lines(
        stream,
        cursor.offset,
        cursor.line,
        limit=limits.line_bytes,
        block_bytes=limits.block_bytes,
        skipping=memo.skipping,
    )
    more = reading.take_all(lines, final)
    if final and not more:
        reading.take_undelivered(stream)
    return LogChunk(
        turns=tuple(reading.turns),
        context=tuple(turn for turn in before if short_hash(turn.uuid) not in reading.entries.left),
        cursor=reading.moved_cursor(stream),
        more=more,
        skipped=MappingProxyType(dict(reading.entries.skipped)),
        session=reading.session or path.stem,
        cwd=memo.cwd,
        reset=not fits,
        start=cursor.offset,
        redacted=MappingProxyType(dict(reading.entries.redacted)),
        left=frozenset(reading.entries.left),
        given_up=tuple(reading.given_up),
    )


def _origin_of(entry: Mapping[str, Any], cwd: str) -> LineOrigin:
    copied = entry.get("forkedFrom")
    names = (entry.get("sessionId"), copied.get("sessionId") if isinstance(copied, Mapping) else None)
    written = entry.get("timestamp")
    return LineOrigin(cwd, written if isinstance(written, str) else "", tuple(name for name in names if isinstance(name, str)))


def _complete_cursor_at_end(stream: BinaryIO, path: Path, cursor: Cursor) -> Cursor:
    """Complete a cursor that was moved without opening the log.

    Lines before it are only counted, and no fingerprint is computed. If the log has become shorter, reading starts at
    its end, because later text can't be distinguished from text that must be skipped.
    """
    if cursor.fingerprint or not cursor.offset:
        return cursor
    marked = client_of_log(path).offset_of_mark(path, cursor.offset)
    offset = min(marked, stream.seek(0, os.SEEK_END))
    stream.seek(0)
    line, left = 0, offset
    while left and (block := stream.read(min(left, _COUNTED_BYTES))):
        line += block.count(b"\n")
        left -= len(block)
    return replace(cursor, offset=offset, line=line, fingerprint=fingerprint(stream, offset))


def _entry_at(stream: BinaryIO, offset: int, number: int, limits: ReadLimits) -> Any:
    """Return the JSON value of the line at this offset."""
    lines = read_lines(stream, offset, number - 1, limit=limits.line_bytes, block_bytes=limits.block_bytes)
    line = next(lines, None)
    return _parse(line.data.removeprefix(_BOM).strip()) if line is not None and line.data is not None else None


def _line_reader(stream: BinaryIO, limits: ReadLimits) -> TurnsAt:
    """Return a function that rereads the turns of one line, independently of the lines before."""
    return lambda offset, number: _turns_of(_entry_at(stream, offset, number, limits), number, limits)


def _turns_of(entry: Any, number: int, limits: ReadLimits) -> list[Turn]:
    if not isinstance(entry, Mapping):
        return []
    reader = EntryReader(ParserState(prompted=True), _text_limits(limits), _nothing_known)
    with suppress(TooSlowError):  # Such a line had no turns when it was first read, either.
        return reader.undelivered(entry, number) if entry.get("type") == "queue-operation" else reader.read(entry, number)
    return []


def _text_limits(limits: ReadLimits) -> TextLimits:
    return TextLimits(limits.turn_chars, limits.result_chars, limits.line_seconds)


def _written_by(path: Path) -> datetime | None:
    """Return a time by which all lines of the log were written. A day is added because clocks may differ."""
    try:
        changed_at = log_status(path).changed_at
    except (OSError, ValueError):  # The log has been deleted.
        return None
    return datetime.fromtimestamp(changed_at, UTC) + CLOCKS_DIFFER


class _Reading:
    """A single pass over some lines of a log."""

    def __init__(
        self,
        memo: ParserState,
        limits: ReadLimits,
        cursor: Cursor,
        known: Callable[[str], bool],
        apart: Apart,
        pass_over: bool,
        not_after: datetime | None = None,
    ) -> None:
        self.given_up: list[int] = []
        self._pass_over = pass_over
        self.turns: list[Turn] = []
        self._apart = apart
        self._starts = places(cursor.context)
        self.entries = EntryReader(memo, _text_limits(limits), known, not_after)
        self.session = cursor.session
        self._memo = memo
        self._limits = limits
        self._cursor = cursor
        self._offset = cursor.offset
        self._line = cursor.line
        self._tokens = 0

    def take_all(self, lines: Iterator[LogLine], final: bool) -> bool:
        """Take lines until a limit is reached or the file ends. Return whether a limit was reached."""
        begun = time.monotonic()
        for taken, line in enumerate(lines, 1):
            if not line.complete and not self._may_take_unfinished(line, final):
                break
            self._take(line)
            if self._tokens >= self._limits.tokens or self._offset - self._cursor.offset >= self._limits.bytes:
                return line.complete
            slow = time.monotonic() - begun > self._limits.line_seconds
            if slow or taken >= self._limits.lines:  # Several lines were slow: store what was read so far first.
                return line.complete
        return False

    def _may_take_unfinished(self, line: LogLine, final: bool) -> bool:
        """Return whether to take a line without a line end.

        An overlong line is skipped. A complete line is read if the log is final.
        """
        return line.data is None or (final and isinstance(_parse(line.data), Mapping))

    def _take(self, line: LogLine) -> None:
        if line.data is None:
            # A line skipped in several readings counts only once.
            self.entries.skipped["oversize"] += int(not self._memo.skipping)
        else:
            self._take_data(line.data, line.number)
        self._memo.skipping = not line.complete and line.data is None
        self._offset = line.end
        self._line = line.number if line.complete or line.data is not None else line.number - 1

    def _take_data(self, data: bytes, number: int) -> None:
        data = data.removeprefix(_BOM).strip()
        if not data:
            return
        if self._pass_over:
            self._pass_over = False
            self._give_up(number)
            return
        if _IRRELEVANT.match(data):
            self.entries.skipped["irrelevant"] += 1
            return
        entry = _parse(data)
        if not isinstance(entry, Mapping):
            self.entries.skipped["bad_json" if entry is _BROKEN else "not_object"] += 1
            return
        self._note_session(entry)
        if self._is_apart(entry):
            self.entries.skipped[APART] += 1
            return
        self._starts[number] = self.entries.at = self._offset
        left = len(self.entries.left)
        try:
            turns = self.entries.read(entry, number)
        except TooSlowError:
            self._give_up(number)
            return
        if len(self.entries.left) > left:
            self.turns = [turn for turn in self.turns if short_hash(turn.uuid) not in self.entries.left]
        self._add(turns)

    def take_undelivered(self, stream: BinaryIO) -> None:
        """Reread the queued prompts that are still pending when the log is complete."""
        queued, self._memo.queued = self._memo.queued, []
        for offset, number, _ in queued:
            self._starts[number] = offset
            entry = _entry_at(stream, offset, number, self._limits)
            if not isinstance(entry, Mapping):
                continue
            try:
                self._add(self.entries.undelivered(entry, number))
            except TooSlowError:
                self._give_up(number)

    def _give_up(self, number: int) -> None:
        self.entries.skipped["too slow"] += 1
        self.given_up.append(number)

    def _is_apart(self, entry: Mapping[str, Any]) -> bool:
        """Return whether the line was written in a folder or at a time that must not be read.

        A line without a folder is treated like the line before it.
        """
        cwd = entry.get("cwd")
        if isinstance(cwd, str) and cwd:
            self._memo.apart = self._apart(_origin_of(entry, cwd))
        return self._memo.apart

    def _add(self, turns: list[Turn]) -> None:
        for turn in turns:
            self._memo.keep_context(turn)
            self._tokens += token_count(turn.text) + token_count(turn.detail)
            self.turns.append(turn)

    def _note_session(self, entry: Mapping[str, Any]) -> None:
        if not self.session:
            name = entry.get("sessionId") or entry.get("session_id")
            self.session = name if isinstance(name, str) and name.isascii() else ""

    def moved_cursor(self, stream: BinaryIO) -> Cursor:
        """Return the cursor after the lines taken so far."""
        live = self._memo.dump()
        return replace(
            self._cursor,
            session=self.session,
            offset=self._offset,
            line=self._line,
            fingerprint=fingerprint(stream, self._offset),
            context=without_text(live, self._starts),
            live=live,
        )


_BROKEN = object()


def _parse(data: bytes) -> Any:
    """Parse JSON.

    Returns `_BROKEN` if parsing fails even after dropping invalid bytes and NUL padding.
    """
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(data)
    try:
        return json.loads(data.replace(b"\x00", b"").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return _BROKEN


# The start of a file shows whether it is a session's log. It also contains the first prompt, by which users recognise the
# session.
#
# It is read each time, and nothing of it is stored.

TITLE_CHARACTERS = 90
# The first prompt is in the first lines of a log. A huge first line is not worth reading.

_LIMITS = ReadLimits(tokens=2_000, bytes=512_000, line_bytes=200_000)


def is_log(path: Path) -> bool:
    """Return whether a file may be a session's log.

    It may be one if it is empty, or if a line in its first 64 kB starts a JSON object.
    """
    try:
        with open_log(path) as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return False
    return not head.strip() or any(line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{") for line in head.splitlines())


def first_prompt(transcript: str) -> str:
    """Return the first text typed by the user, on one line and without secrets.

    Returns an empty string if there is none.
    """
    if not transcript:
        return ""
    try:
        piece = read_transcript(Path(transcript), Cursor(transcript), limits=_LIMITS, final=True)
    except TranscriptError:
        return ""  # The log was deleted, so the session is identified by its id instead.
    for turn in piece.turns:
        if turn.kind is TurnKind.USER and not turn.sidechain:
            return shorten(one_line(redact(turn.text).text), TITLE_CHARACTERS)
    return ""
