"""Compute the plan of a dream from all memories. Pure and independent of their order. A model is used only if one is given.

Stages are repeated until a round changes nothing, so that a second dream would leave the result unchanged.
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
from memoryd.dream.plan import DEFAULTS, DreamLimits, Plan, PlanBuilder, UndecidedConflict
from memoryd.dream.stages import drop_forbidden, expire, merge_duplicates, prune, resolve_conflicts
from memoryd.language import RULES, Comparer
from memoryd.llm.claude import Logins
from memoryd.recall.governance import UseCounts, count_uses
from memoryd.service import Orchestrator

# The garbage collector must not stop all threads during planning.


@contextmanager
def collector_paused() -> Iterator[None]:
    """Disable cyclic garbage collection during the block.

    A plan contains about a hundred objects per memory, none of them in cycles. A full collection visits all of these
    objects, and no thread can answer a hook until it ends: 0.2 s for 10,000 memories, more than 2 s for 100,000. If
    two blocks overlap, the first to end re-enables collection.
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
    """Compute the changes of a dream at `now`. The order of the items does not matter.

    The counts are changes by stage and action (`merge_duplicates.create`), `undecided`, `llm_asked` pairs and `llm_failed`
    batches. If the model fails, its pairs are left unchanged and no error is raised.

    Args:
        items: All memories.
        now: Current time.
        protected: Ids of memories that the user maintains.
        vectors: Unit vectors by id, where available.
        llm: Model for doubtful pairs.
        usage: Uses of memories by id.
        limits: Limits of the dream.
        comparer: Compares two statements.
    """
    builder = PlanBuilder(items, now, protected)
    near = Neighbourhood(items, vectors or {}, limits, comparer)
    adviser = Adviser(llm, limits)
    undecided: list[UndecidedConflict] = []
    for _ in range(limits.rounds):
        before = builder.version
        expire(builder, usage or {}, limits)
        undecided = _compare(builder, near, adviser)
        prune(builder, usage or {}, limits)
        if builder.version == before:
            break
    stages.link(builder, limits)
    return _plan(builder, undecided, adviser)


def _compare(builder: PlanBuilder, near: Neighbourhood, adviser: Adviser) -> list[UndecidedConflict]:
    relations = adviser.settled(near.relations(builder))
    drop_forbidden(builder, relations)
    undecided = resolve_conflicts(builder, relations)
    merge_duplicates(builder, relations, near)
    return undecided


def _plan(builder: PlanBuilder, undecided: Sequence[UndecidedConflict], adviser: Adviser) -> Plan:
    changes = builder.changes()
    counts = Counter(f"{change.stage}.{change.action.value}" for change in changes)
    counts.update({"undecided": len(undecided), "llm_asked": adviser.asked, "llm_failed": adviser.failed})
    ordered = sorted(set(undecided), key=lambda pair: (pair.first, pair.second))
    return Plan(changes, tuple(ordered), MappingProxyType(dict(counts)))


# Inputs of the planner in addition to the memories: vectors, uses, limits and a model.

# Maximum wait for the vectors of new memories. A memory without a vector is compared only by its words.
SETTLE_SECONDS = 30.0


class Planner:
    """Creates plans from the current state of the orchestrator and the ledger."""

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
        """Return the plan of a dream over these memories."""
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
