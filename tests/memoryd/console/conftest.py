"""The console without a network: the real application, called in-process, with scripted answers or a real API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memoryd.core.errors import MemorydError
from tests.memoryd.console.console_client import Console


@pytest.fixture
def console() -> Iterator[Console]:
    """Return a logged-in console with scripted answers."""
    made = Console()
    made.answers["why"] = MemorydError("no answer was set")
    with made.client:
        yield made.open()


@pytest.fixture
def real_console(settings: Any, clock: Any) -> Iterator[Console]:
    """Return a logged-in console with a real API, an empty home and the hash embedder."""
    from memoryd.api.dispatch import Api

    api = Api(settings, clock)
    made = Console(api=api)
    with made.client:
        yield made.open()
    api.close()
