from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.config import Settings, load_settings
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({}, home=str(tmp_path / "home"), embedder="hash")


@pytest.fixture
def service(settings: Settings, clock: FakeClock) -> Iterator[Orchestrator]:
    made = Orchestrator(settings, clock, HashEmbedder())
    made.catch_up()
    yield made
    made.close()
