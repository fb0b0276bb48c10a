"""The console without a network: the real application, called in the process, on scripted answers or on a real API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memoryd.core.errors import MemorydError
from tests.memoryd.console.console_client import Console


@pytest.fixture
def console() -> Iterator[Console]:
    """Let in, on scripted answers."""
    made = Console()
    made.answers["why"] = MemorydError("no answer was set")
    with made.client:
        yield made.open()


@pytest.fixture
def real_console(settings: Any, clock: Any) -> Iterator[Console]:
    """Let in, on a real API with an empty home and the hash embedder."""
    from memoryd.api.dispatch import Api

    api = Api(settings, clock)
    made = Console(api=api)
    with made.client:
        yield made.open()
    api.close()
