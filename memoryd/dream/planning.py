"""What the planner is given besides the memories: uses, vectors, limits."""

from __future__ import annotations

from collections.abc import Sequence

from memoryd.config import Settings
from memoryd.dream.plan import Plan
from memoryd.protocols import Clock
from memoryd.service import Orchestrator
from memoryd.state import State
from memoryd.types import MemoryItem


class Planning:
    """Makes plans with what the service and the ledger know at that time."""

    def __init__(self, service: Orchestrator, state: State, settings: Settings, clock: Clock) -> None:
        self._service = service
        self._state = state
        self._settings = settings
        self._clock = clock

    def __call__(self, items: Sequence[MemoryItem], protected: frozenset[str]) -> Plan:
        """The plan of a dream over these memories."""
        from memoryd.dream.planner import make_plan

        return make_plan(items, now=self._clock.now(), protected=protected)
