from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.config import Settings
from memoryd.core.state import State
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder
from tests.memoryd.dream.sweeping import CODE, World


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


@pytest.fixture
def world(store: Orchestrator, state: State, settings: Settings, clock: FakeClock) -> World:
    return store, state, settings, clock


@pytest.fixture
def code(tmp_path: Path, world: World) -> Path:
    """Create a project whose session wrote a memory about src/app.py."""
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text(CODE)
    world[1].touch_session("s1", "shop", str(root / "src"), "")
    return root / "src" / "app.py"
