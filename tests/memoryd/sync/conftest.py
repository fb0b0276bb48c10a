from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.config import load_settings
from memoryd.core.project import ProjectRegistry
from memoryd.core.state import State
from memoryd.core.types import MemoryItem
from memoryd.dream.planner import Planner
from memoryd.dream.sweep import Sweep
from memoryd.service import Orchestrator
from memoryd.sync.engine import Syncing, SyncOutcome, initialise
from memoryd.testing import FakeClock


@dataclass
class Home:
    """One machine of the user, in this process."""

    folder: Path
    clock: FakeClock
    off: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.settings = load_settings({}, home=str(self.folder), embedder="none", rank="bm25")
        self.paths = self.settings.paths
        self.registry = ProjectRegistry(self.paths.projects)
        self.state = State(self.paths.state_db, self.clock, self.registry.folders)
        self.service = Orchestrator(self.settings, self.clock, None, self.state.ledger)
        self.service.catch_up()
        planner = Planner(self.service, self.state, self.settings, self.clock)
        self.sweep = Sweep(self.service, self.state, self.settings, self.clock, planner)
        self.syncing = Syncing(
            self.paths, self.service, self.state, self.sweep, self.registry, self.clock, lambda project: project in self.off
        )

    def init(self, target: Path | str, code: str = "", name: str = "") -> str:
        """Set up sync and return the code."""
        return initialise(self.paths, str(target), self.folder, code, name or self.folder.name).code

    def sync(self, **options: Any) -> SyncOutcome:
        self.clock.advance(seconds=1)
        return self.syncing.run(**options)

    def add(self, content: str, **fields: Any) -> str:
        self.clock.advance(seconds=1)
        return self.service.write(MemoryItem(content, **fields))

    def edit(self, id: str, **changes: Any) -> None:
        self.clock.advance(seconds=1)
        self.service.update(id, **changes)

    def delete_file(self, id: str) -> None:
        path = self.service.path_of(id)
        assert path is not None
        path.unlink()
        self.service.sync()

    def items(self) -> dict[str, MemoryItem]:
        """Return all memories as every machine should have them."""
        out = {}
        for item in self.service.all():
            ids = self.registry.shared_ids(item.project) if item.project else ("",)
            out[item.id] = replace(item, backends=(), project=min(ids))
        return out

    def texts(self) -> list[str]:
        return sorted(item.content for item in self.service.all() if item.status == "active")

    def close(self) -> None:
        self.service.close()
        self.state.close()


Homes = Callable[..., Home]


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[Homes]:
    clock, made = FakeClock(), []

    def make(name: str) -> Home:
        made.append(Home(tmp_path / name, clock))
        return made[-1]

    yield make
    for home in made:
        home.close()


@pytest.fixture
def pair(homes: Homes, tmp_path: Path) -> tuple[Home, Home]:
    """Create two machines that share a plain folder."""
    (tmp_path / "shared").mkdir()
    desk, laptop = homes("desk"), homes("laptop")
    laptop.init(tmp_path / "shared", desk.init(tmp_path / "shared"))
    return desk, laptop
