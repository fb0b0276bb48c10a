"""memsearch: a Markdown file for each session with a heading for each turn, indexed and searched through its Python API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memsearch import MemSearch
from peer_protocol import Found, Peer, once, serve


class MemSearchPeer(Peer):
    """Settings: `provider` and `model` of the embedder.

    Each store loads the model again, so only one store stays open.
    """

    packages = ("memsearch", "pymilvus", "milvus-lite", "sentence-transformers", "torch")

    def open(self, folder: Path, settings: dict[str, Any]) -> None:
        super().open(folder, settings)
        self._loop = asyncio.new_event_loop()
        self._stores: dict[str, Any] = {}
        self._lines: dict[str, dict[str, dict[str, str]]] = {}

    def add(self, scope: str, items: Sequence[dict[str, str]]) -> dict[str, Any]:
        store, lines = self._store(scope), self._turns(scope)
        for session in dict.fromkeys(item["session"] for item in items):
            path = self.of(scope) / "memory" / f"{session}.md"
            text, lines[path.name] = _page([item for item in items if item["session"] == session])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            self._loop.run_until_complete(store.index_file(path))
        (self.folder / f"{scope}.json").write_text(json.dumps(lines), "utf-8")
        return {}

    def search(self, scope: str, query: str, k: int, at: str) -> Found:
        found = self._loop.run_until_complete(self._store(scope).search(query, top_k=k))
        lines = self._turns(scope)
        return once([(_turn(lines[Path(hit["source"]).name], int(hit["start_line"])), float(hit["score"])) for hit in found], k)

    def clear(self, scope: str) -> None:
        if (store := self._stores.pop(scope, None)) is not None:
            store.close()
        super().clear(scope)

    def kept(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.is_dir()]

    def _store(self, scope: str) -> Any:
        if scope not in self._stores:
            while self._stores:
                self._stores.popitem()[1].close()
            self.of(scope).mkdir(parents=True, exist_ok=True)
            self._stores[scope] = MemSearch(
                [self.of(scope) / "memory"],
                embedding_provider=self.settings["provider"],
                embedding_model=self.settings["model"],
                milvus_uri=str(self.of(scope) / "milvus.db"),
            )
        return self._stores[scope]

    def _turns(self, scope: str) -> dict[str, dict[str, str]]:
        """Return the turn ids by file name and first line."""
        path = self.folder / f"{scope}.json"
        if scope not in self._lines:
            self._lines[scope] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return self._lines[scope]


def _page(items: Sequence[dict[str, str]]) -> tuple[str, dict[str, str]]:
    """Return the file's text, and the first line of each turn.

    Headings consist of speaker and date, because they are embedded as well.
    """
    lines: list[str] = []
    starts: dict[str, str] = {}
    for item in items:
        starts[str(len(lines) + 1)] = item["id"]
        said = (f" {line}" if line.startswith("#") else line for line in item["text"].split("\n"))
        lines += [f"## {item['speaker'] or item['role']} {item['at'][:10]}".rstrip(), "", *said, ""]
    return "\n".join(lines), starts


def _turn(starts: dict[str, str], line: int) -> str:
    """Return the turn that a chunk belongs to: the last one that starts at or above the chunk's line."""
    return starts[str(max(start for start in map(int, starts) if start <= line))]


if __name__ == "__main__":
    serve(MemSearchPeer())
