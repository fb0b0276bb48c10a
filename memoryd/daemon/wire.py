"""Parse JSON from clients leniently. A malformed value must not lose the message, or the id required for the reply."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import orjson

from memoryd.core.errors import InputError

# An unterminated string extends to the end of the text, so that a scan never starts inside a string.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\]]', re.DOTALL)
_VALUE = re.compile(rb'\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?[0-9]{1,18}(?![0-9.eE]))', re.DOTALL)
_LAST = re.compile(rb'[,{]\s*"id"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?[0-9]{1,18})\s*\}\s*\Z', re.DOTALL)
_TAIL_BYTES = 300


def read_json(data: bytes) -> Any:
    """Parse JSON, replacing lone surrogates and invalid UTF-8. Raises InputError for any other error."""
    with suppress(orjson.JSONDecodeError):  # What only orjson rejects is repaired next.
        return orjson.loads(data)
    try:
        value = json.loads(data.decode("utf-8", "replace"), parse_constant=_refuse_constant)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)  # 1e400 parses as infinity, which JSON can't represent.
        return orjson.loads(well_formed(text))
    except (ValueError, RecursionError) as error:
        raise InputError("That is not JSON.", fix="Send one JSON value on one line.") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def well_formed(text: str) -> str:
    """Replace lone surrogates and combine surrogate pairs."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def id_of(data: bytes) -> str | int | None:
    """Extract the id of a JSON-RPC message that can't be parsed as a whole. Return None if it has no id."""
    depth = 0
    for token in _TOKEN.finditer(data):
        sign = token[0][:1]
        if sign in b"{[":
            depth += 1
        elif sign in b"}]":
            depth -= 1
        elif depth == 1 and token[0] == b'"id"' and (value := _VALUE.match(data, token.end())):
            return _plain_id(value[1])
    return None


def id_at_end(data: bytes) -> str | int | None:
    """Extract the id from the end of a message, where some clients put it."""
    last = _LAST.search(data[-_TAIL_BYTES:])
    return _plain_id(last[1]) if last else None


def _plain_id(raw: bytes) -> str | int | None:
    with suppress(InputError):
        value = read_json(raw)
        return value if isinstance(value, str | int) else None
    return None
