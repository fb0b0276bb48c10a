from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.protocols import MemoryStore
from tests.contract.factories import FACTORIES, Factory


@pytest.fixture(params=sorted(FACTORIES))
def factory(request: pytest.FixtureRequest) -> Factory:
    return FACTORIES[request.param]


@pytest.fixture
def store(factory: Factory, tmp_path: Path) -> Iterator[MemoryStore]:
    store = factory(tmp_path)
    yield store
    close = getattr(store, "close", None)
    if close is not None:
        close()
