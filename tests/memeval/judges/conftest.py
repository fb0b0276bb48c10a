from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.memeval.model_server import ModelServer, running


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running() as made:
        yield made
