"""Helpers for the tests of the Markdown store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memoryd.core.paths import Paths
from memoryd.core.types import MemoryItem, Query
from memoryd.stores.markdown import MarkdownStore
from memoryd.testing import FakeClock

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def an_id(number: int) -> str:
    return f"mem_{number:012x}"


def an_item(number: int = 0, content: str = "The cache lives in redis.", **values: Any) -> MemoryItem:
    """Create an item. Number 0 means that it has no id yet."""
    return MemoryItem(content, an_id(number) if number else "", **{"project": "app", "created_at": NOW, **values})


def open_store(home: Path) -> MarkdownStore:
    return MarkdownStore(Paths(home), FakeClock())


def put_file(home: Path, relative: str, text: str | bytes) -> Path:
    path = home / "memories" / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def a_file(number: int, content: str = "Text.", more: str = "") -> str:
    return f"---\nid: {an_id(number)}\ncreated_at: 2026-03-01\n{more}---\n\n{content}\n"


def ids(store: MarkdownStore, text: str, k: int = 50, **query: Any) -> list[str]:
    return [hit.item.id for hit in store.search(Query(text=text, **query), k)]


def files(folder: Path) -> list[str]:
    """Return the relative paths of all Markdown and temporary files."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and path.suffix != ".json")
