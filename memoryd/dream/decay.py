"""prune: relevancy fades, what has ended expires, what is worth least is archived. Pure.

relevancy = 0.5^(age / (H·(1 + log2(1 + uses)))) · 0.5^contradictions, at least 0.05, in steps of 0.05,
with H the half-life of the kind and the age in days since it was recorded or last used. It follows
from the times alone, not from yesterday's value: a night that is missed, dreamt twice, or dreamt with a
wrong clock does no lasting harm.

An archived memory is superseded and carries the tag `archived`; `as_of` finds it as before, and one that a
person restores keeps the tag, which tells later dreams to leave it alone. The same with `expired`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from memoryd.dream.board import Board, Ending, partition
from memoryd.dream.limits import DreamLimits
from memoryd.dream.plan import Action
from memoryd.recall.worth import UseCounts, age_days, inherited, value
from memoryd.types import Kind, MemoryItem, Polarity, Source

STAGE = "prune"
ARCHIVED = "archived"
EXPIRED = "expired"
LEAST = 0.05
STEPS = 20


def expire(board: Board, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """Close what has ended, before it can win against anything."""
    for item in list(board.active()):
        ended = _ended(item, board, inherited(item, usage, board.get), limits)
        if ended and EXPIRED not in item.tags and not board.is_spared(item):
            board.retire(item.id, Ending(STAGE, Action.EXPIRE, ended, tag=EXPIRED))


def prune(board: Board, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """Let relevancy fade, then archive what is worth least."""
    for item in list(board.active()):
        if not (board.is_spared(item) or lasts(item)):
            _fade(item, board, inherited(item, usage, board.get), limits)
    _archive(board, usage, limits)


def lasts(item: MemoryItem) -> bool:
    """Rules and preferences that the user gave do not fade."""
    rule = item.kind in (Kind.RULE, Kind.PREFERENCE) or item.polarity is not Polarity.KNOW
    return item.source is Source.USER and rule


def _ended(item: MemoryItem, board: Board, counts: UseCounts, limits: DreamLimits) -> str:
    if item.valid_to is not None and item.valid_to <= board.now:
        return f"it held until {item.valid_to.date().isoformat()}"
    bound = limits.age_bounds.get(item.kind)
    if bound is not None and not lasts(item) and age_days(item, board.now, counts) > bound:
        return f"{item.kind.value}, not used for {bound:.0f} days"
    return ""


def relevancy_of(item: MemoryItem, age: float, counts: UseCounts, limits: DreamLimits) -> float:
    """The formula above; 0.05..1."""
    half_life = limits.half_lives[item.kind] * (1 + math.log2(1 + counts.used))
    faded: float = 0.5 ** (age / half_life + counts.contradicted)
    return max(LEAST, round(faded * STEPS) / STEPS)


def _fade(item: MemoryItem, board: Board, counts: UseCounts, limits: DreamLimits) -> None:
    new = relevancy_of(item, age_days(item, board.now, counts), counts, limits)
    if abs(new - item.relevancy) >= limits.least_step - 1e-9:
        verb = "fades" if new < item.relevancy else "is fresh again"
        board.touch(replace(item, relevancy=new), STAGE, Action.DECAY, f"{verb}: relevancy {item.relevancy:.2f} → {new:.2f}")


def _archive(board: Board, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    by_partition: dict[tuple[str, str], list[MemoryItem]] = defaultdict(list)
    for item in board.active():
        by_partition[partition(item)].append(item)
    for _, items in sorted(by_partition.items()):
        _archive_in(board, items, usage, limits)


def _archive_in(board: Board, items: list[MemoryItem], usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """The least valuable ones of a project, while it has more than its cap, and whatever is worth next to nothing."""
    worth = {item.id: value(item, board.now, inherited(item, usage, board.get)) for item in items}
    surplus = len(items) - limits.cap
    for item in sorted(items, key=lambda item: (worth[item.id], item.id)):
        if board.is_spared(item) or lasts(item) or ARCHIVED in item.tags:
            continue
        if surplus <= 0 and worth[item.id] >= limits.floor:
            break
        crowded = f"the project has more than {limits.cap} memories"
        reason = crowded if surplus > 0 else f"worth {worth[item.id]:.3f}, not used for long"
        board.retire(item.id, Ending(STAGE, Action.ARCHIVE, reason, tag=ARCHIVED))
        surplus -= 1
