"""What the planner is given besides the memories: vectors, uses, limits, and a model if there is one."""

from __future__ import annotations

from collections.abc import Sequence

from memoryd.config import Settings
from memoryd.dream.limits import DreamLimits
from memoryd.dream.model import dream_model
from memoryd.dream.plan import Plan
from memoryd.dream.planner import make_plan
from memoryd.llm.logins import Logins
from memoryd.protocols import LLM, Clock
from memoryd.recall.worth import count_uses
from memoryd.service import Orchestrator
from memoryd.state import State
from memoryd.types import MemoryItem

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
