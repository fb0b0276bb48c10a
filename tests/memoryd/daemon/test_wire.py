"""JSON from clients: unusual values are replaced, and every id gets an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.errors import InputError
from memoryd.daemon.wire import id_at_end, id_of, read_json


def test_half_an_emoji_is_replaced_and_the_rest_is_read() -> None:
    assert read_json(rb'{"id": 7, "text": "half \ud83d here", "whole": "\ud83d\ude00"}') == {
        "id": 7,
        "text": "half \N{REPLACEMENT CHARACTER} here",
        "whole": "\N{GRINNING FACE}",
    }


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert read_json(b'{"a": "x\xff"}') == {"a": "x\N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"a": 1e400}', b'{"a": NaN}', b"[" * 100_000, b'{"n": ' + b"9" * 50_000 + b"}", b'{"a": \xed\xa0']
)
def test_what_is_not_json_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read_json(data)


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"2.0","id":5,"method":"x","params":{"n":' + b"9" * 50_000 + b"}}", 5),
        (b'{"method":"x","params":{"id":"inner"},"jsonrpc":"2.0","id":"outer"', "outer"),
        (b'{"params":{"id":1,"text":"\\"id\\": 2"},"id":3,', 3),
        (b'{"id": "a\\"b", "x": {]', 'a"b'),
        (b'{"params": {"id": 4}', None),
        (b'{"id": 1.5}', None),
        (b'{"id": null, "x": }', None),
        (b"not json at all", None),
        (b'{"x": "never closed, "id": 9', None),
    ],
)
def test_the_id_of_a_broken_message_is_found_where_it_can_be_seen(line: bytes, id: int | str | None) -> None:
    assert id_of(line) == id


def test_the_id_at_the_end_of_a_long_line_is_found() -> None:
    assert id_at_end(b'the rest of a long line","method":"tools/call","id":12}') == 12
    assert id_at_end(b'"id": 3, "method": "x"}') is None


VALUES = st.recursive(st.none() | st.integers() | st.text(max_size=20), lambda inner: st.lists(inner, max_size=5), max_leaves=12)


@given(st.dictionaries(st.text(max_size=20), VALUES, max_size=5), st.integers(0, 10**9))
def test_the_id_is_found_beside_anything(params: dict[str, Any], id: int) -> None:
    line = json.dumps({"params": params, "id": id, "jsonrpc": "2.0"}).encode()
    assert id_of(line) == id
    assert id_of(line[:-1] + b",,,") == id


@given(st.binary())
def test_no_bytes_raise_another_error(data: bytes) -> None:
    assert isinstance(id_of(data), str | int | None)
    try:
        value = read_json(data)
    except InputError as error:
        assert error.message
    else:
        assert read_json(json.dumps(value).encode()) == value
