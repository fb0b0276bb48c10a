"""From all memories to the plan of a dream. Pure: no clock, no store, no order; a model only if one is passed.

The stages are gone through until a round changes nothing, so that the plan's result is what a second
dream would leave as it is.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType

from memoryd.core.config import Settings
from memoryd.core.protocols import LLM, Clock, FloatArray
from memoryd.core.state import State
from memoryd.core.types import MemoryItem
from memoryd.dream import stages
from memoryd.dream.doubtful_pairs import Adviser, dream_model
from memoryd.dream.neighbours import Neighbourhood
from memoryd.dream.plan import DEFAULTS, Board, DreamLimits, Plan, Undecided
from memoryd.dream.stages import drop_forbidden, expire, merge_duplicates, prune, resolve_conflicts
from memoryd.language import RULES, Comparer
from memoryd.llm.claude import Logins
from memoryd.recall.governance import UseCounts, count_uses
from memoryd.service import Orchestrator

# Keeps the garbage collector from stopping all threads while a dream is planned.


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search for cycles during the block.

    A plan holds a hundred objects for each memory, none of them in a cycle. A full collection looks at all of
    them, and meanwhile no thread can answer a hook: 0.2 s at 10,000 memories, more than 2 s at 100,000. Two blocks
    may overlap; the first one to end lets the collector run again.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


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
    stages.link(board, limits)
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


# What the planner is given besides the memories: vectors, uses, limits, and a model if there is one.

# New memories get their vectors in the background; without one a memory is compared by its words only.
SETTLE_SECONDS = 30.0


class Planning:
    """Makes plans with what the service and the ledger know at that time."""

    def __init__(
        self,
        service: Orchestrator,
        state: State,
        settings: Settings,
        clock: Clock,
        llm: LLM | None = None,
        logins: Logins | None = None,
    ) -> None:
        self._service = service
        self._state = state
        self._clock = clock
        self._llm = llm
        self._logins = logins
        self._settings = settings
        self._limits = DreamLimits(cap=settings.dream_project_cap, floor=settings.dream_floor)

    def __call__(self, items: Sequence[MemoryItem], protected: frozenset[str]) -> Plan:
        """The plan of a dream over these memories."""
        self._service.settle(SETTLE_SECONDS)
        return make_plan(
            items,
            now=self._clock.now(),
            protected=protected,
            vectors=self._service.vectors(),
            llm=self._llm or dream_model(self._settings, self._state, self._clock, self._logins),
            usage={id: count_uses(uses) for id, uses in self._state.ledger.all_uses().items()},
            limits=self._limits,
            comparer=self._service.comparer,
        )
