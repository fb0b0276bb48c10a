"""The stores under contract test. To add a store, write a function that opens it in a scratch folder, and list it below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memoryd.core.config import load_settings
from memoryd.core.paths import Paths
from memoryd.core.protocols import MemoryStore
from memoryd.core.types import Hit, Query
from memoryd.service import Orchestrator
from memoryd.stores.graph import GraphStore
from memoryd.stores.markdown import MarkdownStore
from memoryd.stores.vector import VectorStore
from memoryd.testing import FakeClock, HashEmbedder

Factory = Callable[[Path], MemoryStore]


def markdown(tmp_path: Path) -> MemoryStore:
    return MarkdownStore(Paths(tmp_path), FakeClock())


def graph(tmp_path: Path) -> MemoryStore:
    return GraphStore(tmp_path / "graph.db")


def vector(tmp_path: Path) -> MemoryStore:
    return VectorStore(tmp_path / "vector.db", HashEmbedder(1024))


def vector_by_table(tmp_path: Path) -> MemoryStore:
    return VectorStore(tmp_path / "vector.db", HashEmbedder(1024), matrix_bytes=0)


def service(tmp_path: Path) -> MemoryStore:
    settings = load_settings({}, home=str(tmp_path), embedder="hash")
    return SettledOrchestrator(settings, FakeClock(), HashEmbedder(1024))


class SettledOrchestrator(Orchestrator):
    """The service, finishing its background work before each search, so that new items have vectors."""

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        assert self.settle(60)
        return super().search(query, k)


FACTORIES: dict[str, Factory] = {
    "graph": graph,
    "markdown": markdown,
    "service": service,
    "vector": vector,
    "vector-table": vector_by_table,
}
