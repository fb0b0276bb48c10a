from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.memeval.model_server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    made = ModelServer()
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield made
    made.released.set()
    made.shutdown()
    made.server_close()
