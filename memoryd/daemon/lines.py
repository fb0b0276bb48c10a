"""Read from a client with size and time limits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from memoryd.core.errors import InputError

CHUNK_BYTES = 65_536
HEAD_BYTES = 65_536
MAX_SKIPPED = 1 << 30


class LineTooLongError(InputError):
    """Raised when a line exceeds the limit and was skipped. Contains the line's first and last bytes."""

    def __init__(self, limit: int, head: bytes, tail: bytes) -> None:
        super().__init__(f"A line exceeds the limit of {limit} bytes.", fix="Send less at once.")
        self.head = head
        self.tail = tail


class Incoming:
    """Input from a client: lines, each of which may be followed by a body of known length.

    At most one line or body and one further chunk are buffered.
    """

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._buffer = bytearray()
        self._ended = False
        self.waiting_since: float | None = None
        """When we began to wait for the line or body that is not complete yet, on the event loop's clock."""

    async def line(self, limit: int, timeout: float | None, *, rest_seconds: float = 0.0) -> bytes | None:
        """Return the next line without its terminator, or None at the end of the input.

        Args:
            limit: Maximum length in bytes.
            timeout: Seconds until the line must be complete, or None to wait forever.
            rest_seconds: Time for skipping the rest of an overlong line, so that the next one can be read.

        Raises:
            InputError: The line is too long (LineTooLongError if it was skipped).
            TimeoutError: The line is incomplete.
        """
        async with self._waiting(timeout):
            searched = 0
            while (end := self._buffer.find(b"\n", searched)) < 0 and not self._ended:
                searched = len(self._buffer)
                if searched > limit:
                    break
                await self._more()
        if end > limit or (end < 0 and len(self._buffer) > limit):
            if rest_seconds:
                await self._skip(limit, rest_seconds)
            raise InputError(f"A line exceeds the limit of {limit} bytes.", fix="Send less at once.")
        return self._cut(end)

    async def _skip(self, limit: int, seconds: float) -> None:
        """Skip the current line. Raises LineTooLongError once its end is found."""
        head, skipped, tail = bytes(self._buffer[:HEAD_BYTES]), 0, b""
        async with asyncio.timeout(seconds):
            while (end := self._buffer.find(b"\n")) < 0 and not self._ended and skipped < MAX_SKIPPED:
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
        """Return exactly `length` bytes. Raises InputError if the input ends early, and TimeoutError if it takes too long."""
        async with self._waiting(timeout):
            while len(self._buffer) < length and not self._ended:
                await self._more()
        if len(self._buffer) < length:
            raise InputError(f"The input ended after {len(self._buffer)} of {length} bytes.")
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

    @contextlib.asynccontextmanager
    async def _waiting(self, timeout: float | None) -> AsyncIterator[None]:
        self.waiting_since = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(timeout):
                yield
        finally:
            self.waiting_since = None

    async def _more(self) -> None:
        chunk = await self._reader.read(CHUNK_BYTES)
        self._ended = not chunk
        self._buffer += chunk
