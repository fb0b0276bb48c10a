"""ContextBench: how much of the code that a task needs an agent looked at, and how much else.

    recall = seen and needed / needed,  precision = seen and needed / seen,  F1 = their harmonic mean

by file and by line; block recall is the share of needed blocks of which a line was seen. What was seen are the lines that the
Read tool gave (its default is the first 2,000) and files that were edited or written. Source: ContextBench (2026).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memeval.claudecode.contract import ToolCall
from memeval.types import Score

_READ_LINES = 2000
_CHANGING = ("Edit", "Write")


def context_scores(calls: Iterable[ToolCall], gold: Sequence[tuple[str, int, int]], folder: Path) -> list[Score]:
    """Scores of a session; none when the task has no gold context."""
    if not gold:
        return []
    seen = lines_seen(calls, folder)
    needed: dict[str, set[int]] = defaultdict(set)
    for file, start, end in gold:
        needed[file].update(range(start, end + 1))
    lines = [(file, line) for file, numbers in needed.items() for line in numbers]
    seen_lines = {(file, line) for file, numbers in seen.items() for line in numbers}
    blocks = sum(any((file, line) in seen_lines for line in range(start, end + 1)) for file, start, end in gold)
    return [
        *_scores("context_file", set(seen), set(needed)),
        *_scores("context_line", seen_lines, set(lines)),
        Score("context_block_recall", blocks / len(gold), judge="context"),
    ]


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


def _scores(name: str, seen: set[Any], needed: set[Any]) -> list[Score]:
    both = len(seen & needed)
    recall = both / len(needed)
    precision = both / len(seen) if seen else None
    f1 = 2 * both / (len(seen) + len(needed))
    values = {"recall": recall, "precision": precision, "f1": f1}
    return [
        Score(f"{name}_{part}", value, "" if value is not None else "nothing was looked at", "context")
        for part, value in values.items()
    ]
