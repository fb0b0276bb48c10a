"""From all memories to the plan of a dream. Pure: no clock, no store, no order; a model only if one is passed.

The stages are gone through until a round changes nothing, so that the plan's result is what a second
dream would leave as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from memoryd.dream import links
from memoryd.dream.asking import Adviser
from memoryd.dream.board import Board
from memoryd.dream.conflicts import drop_forbidden, resolve_conflicts
from memoryd.dream.decay import expire, prune
from memoryd.dream.dedupe import merge_duplicates
from memoryd.dream.limits import DEFAULTS, DreamLimits
from memoryd.dream.neighbours import Neighbourhood
from memoryd.dream.plan import Plan, Undecided
from memoryd.protocols import LLM, FloatArray
from memoryd.recall.worth import UseCounts
from memoryd.statements import RULES, Comparer
from memoryd.types import MemoryItem


def make_plan(
    items: Sequence[MemoryItem],
    *,
    now: datetime,
    protected: frozenset[str] = frozenset(),
    vectors: Mapping[str, FloatArray] | None = None,
    llm: LLM | None = None,
    usage: Mapping[str, UseCounts] | None = None,
    limits: DreamLimits = DEFAULTS,
    comparer: Comparer = RULES,
) -> Plan:
    """What a dream at `now` would change. The order of items makes no difference.

    `protected` are ids in the user's own hand; `vectors` unit vectors by id, as far as there are any; `usage`
    what sessions did with memories; `comparer` says what two statements are to each other.
    Counts: changes by stage and action (`merge_duplicates.create`), `undecided`,
    `llm_asked` pairs and `llm_failed` batches. A failing model changes nothing and raises nothing.
    """
    board = Board(items, now, protected)
    near = Neighbourhood(items, vectors or {}, limits, comparer)
    adviser = Adviser(llm, limits)
    undecided: list[Undecided] = []
    for _ in range(limits.rounds):
        before = board.version
        expire(board, usage or {}, limits)
        undecided = _compare(board, near, adviser)
        prune(board, usage or {}, limits)
        if board.version == before:
            break
    links.link(board, limits)
    return _plan(board, undecided, adviser)


def _compare(board: Board, near: Neighbourhood, adviser: Adviser) -> list[Undecided]:
    relations = adviser.settled(near.relations(board))
    drop_forbidden(board, relations)
    undecided = resolve_conflicts(board, relations)
    merge_duplicates(board, relations, near)
    return undecided


def _plan(board: Board, undecided: Sequence[Undecided], adviser: Adviser) -> Plan:
    changes = board.changes()
    counts = Counter(f"{change.stage}.{change.action.value}" for change in changes)
    counts.update({"undecided": len(undecided), "llm_asked": adviser.asked, "llm_failed": adviser.failed})
    ordered = sorted(set(undecided), key=lambda pair: (pair.first, pair.second))
    return Plan(changes, tuple(ordered), MappingProxyType(dict(counts)))
