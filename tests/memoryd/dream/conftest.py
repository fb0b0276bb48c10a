from __future__ import annotations

from collections.abc import Iterator

import pytest

from memoryd.core.config import Settings
from memoryd.core.state import State
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder


@pytest.fixture
def state(settings: Settings, clock: FakeClock) -> Iterator[State]:
    made = State(settings.paths.state_db, clock)
    yield made
    made.close()


@pytest.fixture
def store(settings: Settings, clock: FakeClock, state: State) -> Iterator[Orchestrator]:
    made = Orchestrator(settings, clock, HashEmbedder(), state.ledger)
    made.catch_up()
    yield made
    made.close()
