"""The stores that must keep the contract. To add one: a function from a scratch folder to an open store, and its name below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memoryd.paths import Paths
from memoryd.protocols import MemoryStore
from memoryd.stores.graph import GraphStore
from memoryd.stores.markdown import MarkdownStore
from memoryd.testing import FakeClock

Factory = Callable[[Path], MemoryStore]


def markdown(tmp_path: Path) -> MemoryStore:
    return MarkdownStore(Paths(tmp_path), FakeClock())


def graph(tmp_path: Path) -> MemoryStore:
    return GraphStore(tmp_path / "graph.db")


FACTORIES: dict[str, Factory] = {"graph": graph, "markdown": markdown}
