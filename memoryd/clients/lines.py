"""Values and texts that readers of logs put into lines, cut to a bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

VALUE_CHARS = 4_000  # limit for one argument or result of a tool; the middle is cut out
TEXT_CHARS = 400_000


def bounded(value: Any) -> Any:
    """Return a tool's argument. A long one becomes text that is cut."""
    if isinstance(value, str):
        return cut(value, VALUE_CHARS)
    return value if isinstance(value, int | float | bool) or value is None else cut(orjson.dumps(value).decode(), VALUE_CHARS)


def cut(text: str, limit: int) -> str:
    """Cut out the middle of a long text at line ends, so that no partial secret remains."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[-limit // 2 :]
    return "\n[…]\n".join((head.rpartition("\n")[0], tail.partition("\n")[2]))


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping, also from its JSON text. Anything else becomes an empty one."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return {}
    return value if isinstance(value, Mapping) else {}
