from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import load_settings
from memoryd.testing import FakeClock


@dataclass
class Desk:
    """The operations, called by a person in a project's folder."""

    api: Api
    folder: Path

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), **params})

    def take_in(self, source: Path, format: str = "", **params: Any) -> dict[str, Any]:
        return self.call("import_foreign", source=str(source), format=format or None, **params)

    def memories(self, **filters: Any) -> dict[str, dict[str, Any]]:
        found = self.call("list_memories", limit=200, project="all", **filters)["memories"]
        return {memory["content"]: memory for memory in found}

    def governance(self) -> str:
        return str(self.call("governance")["text"])


@pytest.fixture
def desk(tmp_path: Path, clock: FakeClock) -> Iterator[Desk]:
    api = Api(load_settings({}, home=str(tmp_path / "home"), embedder="hash", rank="bm25"), clock)
    (tmp_path / "shop").mkdir()
    yield Desk(api, tmp_path / "shop")
    api.close()
