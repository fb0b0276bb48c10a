"""The operations as called by a user or a model, with the bundled embedder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock


@dataclass
class Desk:
    api: Api
    folder: Path

    def user(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), **params})

    def model(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), "caller": "model", **params})

    def hook(self, event: str, **fields: str) -> dict[str, Any]:
        payload = {"session_id": "s1", "cwd": str(self.folder), "transcript_path": str(self.folder / "s1.jsonl"), **fields}
        answer = self.api.hook(event, payload, {})
        return orjson.loads(answer) if answer else {}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return a user's settings, with the bundled embedder."""
    return Settings(home=tmp_path / "home")


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    """Return the operations, called from a project's folder."""
    api = Api(settings, clock)
    api.warm()
    folder = tmp_path / "shop"
    folder.mkdir()
    yield Desk(api, folder)
    api.close()


@pytest.fixture
def api(settings: Settings, clock: FakeClock) -> Iterator[Api]:
    """Return the operations without a project's folder."""
    made = Api(settings, clock)
    yield made
    made.close()


@pytest.fixture
def store(api: Api) -> Orchestrator:
    """Return the store behind `api`."""
    return api._service
