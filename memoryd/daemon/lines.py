"""Reading from a client with limits on size and time."""

from __future__ import annotations

import asyncio

from memoryd.core.errors import InputError

CHUNK_BYTES = 65_536
HEAD_BYTES = 65_536
MOST_SKIPPED = 1 << 30


class LineTooLongError(InputError):
    """A line was over the limit; it was read to its end and dropped but for its first and its last bytes."""

    def __init__(self, limit: int, head: bytes, tail: bytes) -> None:
        super().__init__(f"A line is over the limit of {limit} bytes.", fix="Send less at once.")
        self.head = head
        self.tail = tail


class Incoming:
    """What a client sends: lines, then maybe a body of known length. Holds at most one line or body and a chunk."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._buffer = bytearray()
        self._ended = False

    async def line(self, limit: int, timeout: float | None, *, rest_seconds: float = 0.0) -> bytes | None:
        """The next line without its end; None at the end of input.

        Raises InputError when it is longer than `limit` bytes, TimeoutError when it is not whole in time. With
        `rest_seconds` the rest of a line that is too long is skipped within that time, and LineTooLongError raised:
        the next line can be read then.
        """
        async with asyncio.timeout(timeout):
            searched = 0
            while (end := self._buffer.find(b"\n", searched)) < 0 and not self._ended:
                searched = len(self._buffer)
                if searched > limit:
                    break
                await self._more()
        if end > limit or (end < 0 and len(self._buffer) > limit):
            if rest_seconds:
                await self._skip(limit, rest_seconds)
            raise InputError(f"A line is over the limit of {limit} bytes.", fix="Send less at once.")
        return self._cut(end)

    async def _skip(self, limit: int, seconds: float) -> None:
        """Drop the line at hand; raises LineTooLongError when its end was found."""
        head, skipped, tail = bytes(self._buffer[:HEAD_BYTES]), 0, b""
        async with asyncio.timeout(seconds):
            while (end := self._buffer.find(b"\n")) < 0 and not self._ended and skipped < MOST_SKIPPED:
                skipped += len(self._buffer)
                tail = bytes(self._buffer[-HEAD_BYTES:])
                self._buffer.clear()
                await self._more()
        if end >= 0:
            tail = (tail + bytes(self._buffer[:end]))[-HEAD_BYTES:]
            del self._buffer[: end + 1]
            raise LineTooLongError(limit, head, tail)

    def _cut(self, end: int) -> bytes | None:
        if end < 0:
            rest = bytes(self._buffer)
            self._buffer.clear()
            return rest or None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.removesuffix(b"\r")

    async def exactly(self, length: int, timeout: float) -> bytes:
        """That many bytes. Raises InputError when the input ends before, TimeoutError when they don't come in time."""
        async with asyncio.timeout(timeout):
            while len(self._buffer) < length and not self._ended:
                await self._more()
        if len(self._buffer) < length:
            raise InputError(f"The input ended after {len(self._buffer)} of {length} bytes.")
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

    async def _more(self) -> None:
        chunk = await self._reader.read(CHUNK_BYTES)
        self._ended = not chunk
        self._buffer += chunk
