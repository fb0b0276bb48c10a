"""What the cursor carries of the reader's memory: no text of the log, only where the last turns stand in it.

The turns are read again from there when reading goes on, so that no table holds a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from memoryd.daydream.memo import Memo, turn_from_dict, turn_to_dict
from memoryd.types import Turn

# The turns of the line that begins at this offset; its number comes second.
TurnsAt = Callable[[int, int], list[Turn]]


def without_text(context: str, starts: Mapping[int, int]) -> str:
    """The dumped memory with places in the stead of texts; `starts` gives the offset of each line that may be meant."""
    values = orjson.loads(context)
    found = [(turn, starts.get(turn["line"])) for turn in values["turns"]]
    values["turns"] = [{"kind": turn["kind"], "line": turn["line"], "at": at} for turn, at in found if at is not None]
    return orjson.dumps(values).decode()


def places(context: str) -> dict[int, int]:
    """Offsets of the lines whose turns the context names, by line number."""
    try:
        values = orjson.loads(context) if context else {"turns": []}
        return {int(turn["line"]): int(turn["at"]) for turn in values["turns"]}
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return {}


def with_text(context: str, turns_at: TurnsAt) -> str:
    """The inverse of `without_text`: what can't be read any more is left out."""
    try:
        values = orjson.loads(context) if context else None
        if not isinstance(values, dict):
            return context
        values["turns"] = [turn_to_dict(turn) for turn in _read(values["turns"], turns_at)]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return context
    return orjson.dumps(values).decode()


def _read(named: list[dict[str, Any]], turns_at: TurnsAt) -> list[Turn]:
    memo, lines = Memo(), dict[int, list[Turn]]()
    for values in named:
        if "text" in values:  # the memory of this process
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
