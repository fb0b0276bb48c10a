from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.errors import InputError
from memoryd.daemon.lines import Incoming


def read(chunks: list[Any], work: Callable[..., Any]) -> Any:
    async def main() -> Any:
        reader = asyncio.StreamReader()
        for chunk in chunks:
            reader.feed_data(chunk)
        reader.feed_eof()
        return await work(Incoming(reader))

    return asyncio.run(main())


async def all_lines(incoming: Incoming) -> list[Any]:
    out = []
    while (line := await incoming.line(1000, 60)) is not None:
        out.append(line)
    return out


@given(st.lists(st.binary(min_size=1, max_size=20).filter(lambda b: b"\n" not in b and b"\r" not in b), max_size=8))
def test_lines_come_back_as_sent(lines: list[Any]) -> None:
    assert read([line + b"\n" for line in lines], all_lines) == lines


def test_a_last_line_without_an_end_counts() -> None:
    assert read([b"a\nb"], all_lines) == [b"a", b"b"]


def test_a_body_follows_a_line_byte_for_byte() -> None:
    async def work(incoming: Incoming) -> tuple[bytes, bytes, bytes]:
        return await incoming.line(10, 60), await incoming.exactly(3, 60), await incoming.line(10, 60)

    assert read([b"x\r\n\n\n\nrest"], work) == (b"x", b"\n\n\n", b"rest")


@pytest.mark.parametrize("data", [b"x" * 11, b"x" * 11 + b"\n", b"x" * 200_000])
def test_a_line_over_the_limit_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="10 bytes"):
        read([data], lambda incoming: incoming.line(10, 60))


def test_a_body_that_ends_early_is_refused() -> None:
    with pytest.raises(InputError, match="2 of 3"):
        read([b"ab"], lambda incoming: incoming.exactly(3, 60))


def test_a_client_that_goes_silent_is_not_waited_for() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            await Incoming(asyncio.StreamReader()).line(10, 0.01)

    asyncio.run(main())
