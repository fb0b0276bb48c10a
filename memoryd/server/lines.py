"""Reading from a client with limits on size and time."""

from __future__ import annotations

import asyncio

from memoryd.errors import InputError

CHUNK_BYTES = 65_536


class Incoming:
    """What a client sends: lines, then maybe a body of known length. Holds at most one line or body and a chunk."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._buffer = bytearray()
        self._ended = False

    async def line(self, limit: int, timeout: float | None) -> bytes | None:
        """The next line without its end; None at the end of input.

        Raises InputError when it is longer than `limit` bytes, TimeoutError when it is not whole in time.
        """
        async with asyncio.timeout(timeout):
            searched = 0
            while (end := self._buffer.find(b"\n", searched)) < 0 and not self._ended:
                searched = len(self._buffer)
                if searched > limit:
                    break
                await self._more()
        if end > limit or (end < 0 and len(self._buffer) > limit):
            raise InputError(f"A line is over the limit of {limit} bytes.", fix="Send less at once.")
        return self._cut(end)

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
