"""Complete lines of a growing file, in bounded memory.

A line that is still being written is left alone. A line over the limit is passed over
without being held, even when it is not complete yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

HEAD_BYTES = 256
TAIL_BYTES = 512


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. `end` is the offset after it; `data` is None when it was over the limit.

    `number` is 1-based. `complete` is False when no line end was seen: for an over-long line that goes on,
    and for the last line of the file.
    """

    data: bytes | None
    number: int
    end: int
    complete: bool = True


class _Assembler:
    """Joins blocks to lines; forgets what goes over the limit."""

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

    def _take(self, complete: bool) -> Line:
        data = None if self._skipping else b"".join(self._parts)
        line = Line(data, self._number + 1, self.end, complete)
        if complete:
            self._parts, self._held, self._skipping = [], 0, False
            self._number += 1
        return line

    def feed(self, block: bytes) -> Iterator[Line]:
        """The lines that the block completes."""
        start = 0
        while (stop := block.find(b"\n", start)) >= 0:
            self._hold(block[start:stop])
            self.end += stop + 1 - start
            start = stop + 1
            yield self._take(complete=True)
        self._hold(block[start:])
        self.end += len(block) - start

    def rest(self) -> Line | None:
        """What is left at the end of the file: an unfinished line, or None."""
        return self._take(complete=False) if self._held or self._skipping else None


def read_lines(
    stream: BinaryIO, start: int, number: int, *, limit: int, block_bytes: int, skipping: bool = False
) -> Iterator[Line]:
    """Lines from offset `start` on; `number` lines lie before it. `skipping`: start is inside an over-long line."""
    stream.seek(start)
    assembler = _Assembler(start, number, limit, skipping)
    while block := stream.read(block_bytes):
        yield from assembler.feed(block)
    if (rest := assembler.rest()) is not None:
        yield rest


def fingerprint(stream: BinaryIO, offset: int) -> str:
    """Hash of the file's first bytes and of those right before `offset`: tells growth from a rewritten file."""
    hasher = hashlib.blake2b(f"{offset}:".encode(), digest_size=16)
    stream.seek(0)
    hasher.update(stream.read(min(HEAD_BYTES, offset)))
    tail = max(0, offset - TAIL_BYTES)
    stream.seek(tail)
    hasher.update(stream.read(offset - tail))
    return hasher.hexdigest()
