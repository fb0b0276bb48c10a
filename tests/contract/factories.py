"""The stores that must keep the contract. To add one: a function from a scratch folder to an open store, and its name below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memoryd.paths import Paths
from memoryd.protocols import MemoryStore
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


FACTORIES: dict[str, Factory] = {"graph": graph, "markdown": markdown, "vector": vector, "vector-table": vector_by_table}
