"""link: memories that share rare names are joined, so that `related` has something to walk. Pure.

Only names that few memories of a project have say something; each memory gets a bounded number of
such edges, to those with which it shares most. Edges are kept once, at the newer memory.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from memoryd.dream.board import Board, partition, said_at
from memoryd.dream.limits import DreamLimits
from memoryd.dream.plan import Action
from memoryd.entities import find_entities, normalise_entity
from memoryd.types import Link, LinkType, MemoryItem

STAGE = "link"


def link(board: Board, limits: DreamLimits) -> None:
    """Name what is mentioned, and join memories that share rare names."""
    for item in list(board.active()):
        _mention(board, item)
    names: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in board.active():
        for name in _names(item):
            names[(*partition(item), name)].append(item.id)
    weights: dict[tuple[str, str], float] = defaultdict(float)
    shared: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (_, _, name), ids in sorted(names.items()):
        if 2 <= len(ids) <= limits.rare:
            for pair in _pairs(ids):
                weights[pair] += 1 / math.log2(1 + len(ids))
                shared[pair].append(name)
    _join(board, weights, shared, limits.degree)


def _mention(board: Board, item: MemoryItem) -> None:
    """Fill in names that were never looked for; the graph makes MENTIONS edges of them."""
    if not item.entities and not board.is_fixed(item):
        found = find_entities(item.content)
        if found:
            board.touch(replace(item, entities=found), STAGE, Action.LINK, f"mentions {', '.join(found)}")


def _names(item: MemoryItem) -> set[str]:
    return {normalise_entity(name).casefold() for name in item.entities}


def _pairs(ids: list[str]) -> Iterable[tuple[str, str]]:
    return ((a, b) for at, a in enumerate(ids) for b in ids[at + 1 :])


def _join(board: Board, weights: dict[tuple[str, str], float], shared: dict[tuple[str, str], list[str]], degree: int) -> None:
    """The heaviest edges first, while both ends have room. Edges that are there count."""
    taken: dict[str, int] = defaultdict(int)
    for pair in sorted(weights, key=lambda pair: (-weights[pair], pair)):
        if all(taken[id] < degree for id in pair):
            end, start = sorted((board[id] for id in pair), key=lambda item: (board.is_new(item.id), said_at(item), item.id))
            if board.is_fixed(start):
                end, start = start, end
            if board.is_fixed(start):
                continue
            taken[end.id] += 1
            taken[start.id] += 1
            _add(board, start, end, shared[pair])


def _add(board: Board, start: MemoryItem, end: MemoryItem, names: list[str]) -> None:
    edge, back = Link(LinkType.RELATES_TO, end.id), Link(LinkType.RELATES_TO, start.id)
    if edge in start.links or back in end.links:
        return
    group = f"merge:{end.id}" if board.is_new(end.id) else ""
    board.add_link(start.id, [edge], STAGE, f"shares {', '.join(names)} with {end.id}", group)
