"""MemPalace: a palace for each scope. Turns are drawers, which are found by its programmatic search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mempalace.palace import get_collection
from mempalace.searcher import search_memories
from peer_protocol import Found, Peer, once, serve

BATCH = 64


class MemPalace(Peer):
    """Settings: `strategy` (vector or union)."""

    packages = ("mempalace", "chromadb", "onnxruntime")

    def open(self, folder: Path, settings: dict[str, Any]) -> None:
        super().open(folder, settings)
        self.add("warm", [{"id": "warm", "session": "warm", "role": "user", "speaker": "", "text": "The model loads.", "at": ""}])
        self.search("warm", "What loads?", 1, "")

    def add(self, scope: str, items: Sequence[dict[str, str]]) -> dict[str, Any]:
        collection = get_collection(str(self.of(scope)))
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            collection.upsert(
                ids=[item["id"] for item in part],
                documents=[item["text"] for item in part],
                metadatas=[_metadata(item) for item in part],
            )
        return {}

    def search(self, scope: str, query: str, k: int, at: str) -> Found:
        found = search_memories(query, str(self.of(scope)), n_results=k, candidate_strategy=self.settings["strategy"])
        if "error" in found:
            raise RuntimeError(found["error"])
        return once([(hit["drawer_id"], float(hit.get("similarity") or 0.0)) for hit in found["results"]], k)

    def kept(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.name != "warm"]


def _metadata(item: dict[str, str]) -> dict[str, Any]:
    """Return the metadata set by its own add_drawer. Each turn is a separate source, because hits of one source are merged."""
    return {
        "wing": "conversation",
        "room": item["session"],
        "source_file": item["id"],
        "chunk_index": 0,
        "added_by": "benchmark",
        "filed_at": item["at"],
    }


if __name__ == "__main__":
    serve(MemPalace())
