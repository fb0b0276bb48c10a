from __future__ import annotations

import gc
from collections.abc import Sequence

import pytest

from memoryd.core.config import Settings
from memoryd.core.errors import MemorydError
from memoryd.core.state import State
from memoryd.core.types import MemoryItem
from memoryd.dream.plan import Plan
from memoryd.dream.sweep import Sweep
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock
from tests.memoryd.dream.sweeping import fill


def test_no_collection_stops_the_daemon_while_a_dream_is_planned(
    store: Orchestrator, state: State, settings: Settings, clock: FakeClock
) -> None:
    fill(store)
    seen: list[bool] = []

    def planning(items: Sequence[MemoryItem], protected: frozenset[str]) -> Plan:
        seen.append(gc.isenabled())
        if len(seen) == 3:
            raise MemorydError("the third fails")
        return Plan()

    sweep = Sweep(store, state, settings, clock, planning)
    sweep.draft()
    sweep.run("by hand")
    with pytest.raises(MemorydError):
        sweep.draft()
    assert seen == [False, False, False]
    assert gc.isenabled()
