from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.errors import InputError
from memoryd.daemon.hook_events import check_event, parse_record

KEYS = st.from_regex(r"[A-Z_][A-Z0-9_]{0,20}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=40)
JSON = st.dictionaries(st.text(max_size=8), st.integers(-(2**53), 2**53) | st.text(max_size=20) | st.none(), max_size=4)


@given(st.dictionaries(KEYS, VALUES, max_size=4), JSON)
def test_a_record_comes_back_as_it_was_written(options: dict[str, Any], payload: dict[str, Any]) -> None:
    head = "".join(f"{key}={value}\n" for key, value in options.items())
    record = parse_record(head.encode() + b"\n" + orjson.dumps(payload))
    assert (record.options, record.payload) == (options, payload)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_record_or_an_input_error(data: bytes) -> None:
    try:
        record = parse_record(data)
    except InputError as error:
        assert error.fix
    else:
        assert isinstance(record.payload, dict)


def test_an_error_never_repeats_the_payload() -> None:
    with pytest.raises(InputError) as caught:
        parse_record(b'\n{"prompt": "hunter2" broken')
    assert "hunter2" not in str(caught.value)


def test_no_input_at_all_is_an_empty_payload() -> None:
    assert parse_record(b"A=1\n\n").payload == {}


@pytest.mark.parametrize("name", ["", "../x", "Stop ", "a" * 41, "Stop\n"])
def test_a_strange_event_name_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        check_event(name)
