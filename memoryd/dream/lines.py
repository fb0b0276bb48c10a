"""A change of a memory as lines of its file: what goes, what comes, and a little of what stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from memoryd.stores import memory_file
from memoryd.types import MemoryItem

AROUND = 2
MOST_LINES = 400
MOST_CHARACTERS = 2_000
GAP = "…"
Line = tuple[str, str]


def file_lines(before: MemoryItem | None, after: MemoryItem | None) -> list[Line]:
    """Lines of the memory's file as (sign, text): "-" goes, "+" comes, " " stays, "…" stands for more that stays.

    Both sides are written in memoryd's own form, without what is only bookkeeping (where it is indexed).
    Lines over MOST_CHARACTERS are cut, what comes after MOST_LINES is left out.
    """
    old, new = _lines(before), _lines(after)
    out: list[Line] = []
    for line in _compared(old, new):
        if len(out) == MOST_LINES:
            out.append((GAP, ""))
            break
        out.append((line[0], line[1][:MOST_CHARACTERS]))
    return out


def _lines(item: MemoryItem | None) -> list[str]:
    if item is None:
        return []
    return memory_file.render(replace(item, backends=())).decode("utf-8", "replace").splitlines()


def _compared(old: list[str], new: list[str]) -> Iterator[Line]:
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (tag, low, high, start, stop) in enumerate(codes):
        if tag == "equal":
            yield from _staying(old[low:high], first=number == 0, last=number == len(codes) - 1)
        else:
            yield from (("-", line) for line in old[low:high])
            yield from (("+", line) for line in new[start:stop])


def _staying(lines: list[str], *, first: bool, last: bool) -> Iterator[Line]:
    """The lines next to a change; the rest of the stretch is a gap, if it is longer than the sign for it."""
    head = [] if first else lines[:AROUND]
    tail = [] if last else lines[max(len(head), len(lines) - AROUND) :]
    if len(head) + len(tail) + 1 >= len(lines):
        head, tail = lines, []
    yield from ((" ", line) for line in head)
    if len(head) + len(tail) < len(lines):
        yield GAP, ""
    yield from ((" ", line) for line in tail)
