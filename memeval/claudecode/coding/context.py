"""What a session looked at, for ContextBench's scores (`memeval.metrics.context`).

Seen are the lines that the Read tool gave (its default is the first 2,000) and files that were edited or written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memeval.claudecode.contract import ToolCall
from memeval.metrics.context import Block, context_scores
from memeval.types import Score

_READ_LINES = 2000
_CHANGING = ("Edit", "Write")


def session_scores(calls: Iterable[ToolCall], gold: Sequence[Block], folder: Path) -> list[Score]:
    """Scores of a session; none when the task has no gold context."""
    return context_scores(lines_seen(calls, folder), [(file, start, end) for file, start, end in gold])


def lines_seen(calls: Iterable[ToolCall], folder: Path) -> dict[str, set[int]]:
    """Line numbers by file, relative to the checkout; files outside of it don't count."""
    seen: dict[str, set[int]] = defaultdict(set)
    for call in calls:
        path = _inside(call.arguments, folder)
        if path is None or call.is_error:
            continue
        if call.name == "Read":
            seen[path].update(_lines(call.arguments, folder / path))
        elif call.name in _CHANGING:
            seen[path].update(())
    return dict(seen)


def _inside(arguments: Mapping[str, Any], folder: Path) -> str | None:
    named = arguments.get("file_path")
    if not isinstance(named, str):
        return None
    try:
        return (folder / named).resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return None


def _lines(arguments: Mapping[str, Any], path: Path) -> range:
    start, count = arguments.get("offset"), arguments.get("limit")
    first = start if isinstance(start, int) and start > 0 else 1
    last = first + (count if isinstance(count, int) and count > 0 else _READ_LINES) - 1
    try:
        with path.open("rb") as stream:
            last = min(last, sum(1 for _ in stream))
    except OSError:
        return range(0)
    return range(first, last + 1)
