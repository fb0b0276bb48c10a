"""mem0 without a language model: with `infer=False`, each turn is stored verbatim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mem0 import Memory
from peer_protocol import Found, Peer, once, serve

DIMENSIONS = 384


class Mem0(Peer):
    """Settings: `model` (a folder of sentence-transformers). One store stays open."""

    packages = ("mem0ai", "qdrant-client", "sentence-transformers", "torch")

    def open(self, folder: Path, settings: dict[str, Any]) -> None:
        super().open(folder, settings)
        self._scope = ""
        self._memory: Any = None

    def add(self, scope: str, items: Sequence[dict[str, str]]) -> dict[str, Any]:
        memory = self._opened(scope)
        for item in items:
            result = [{"role": item["role"], "content": item["text"]}]
            memory.add(result, user_id=scope, metadata={"turn": item["id"], "said": item["at"]}, infer=False)
        return {}

    def search(self, scope: str, query: str, k: int, at: str) -> Found:
        found = self._opened(scope).search(query, top_k=k, filters={"user_id": scope})
        return once([(hit["metadata"]["turn"], float(hit["score"])) for hit in found["results"]], k)

    def clear(self, scope: str) -> None:
        self._close()
        super().clear(scope)

    def _opened(self, scope: str) -> Any:
        if scope != self._scope:
            self._close()
            self.of(scope).mkdir(parents=True, exist_ok=True)
            self._memory, self._scope = Memory.from_config(_config(self.of(scope), self.settings["model"])), scope
        return self._memory

    def _close(self) -> None:
        if self._memory is not None:
            self._memory.vector_store.client.close()
        self._memory, self._scope = None, ""


def _config(folder: Path, model: str) -> dict[str, Any]:
    """Return the configuration with its default store, Qdrant in a folder.

    A language model must be configured even if it is never called.
    """
    store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSIONS, "collection_name": "turns"}
    return {
        "vector_store": {"provider": "qdrant", "config": store},
        "embedder": {"provider": "huggingface", "config": {"model": model}},
        "llm": {"provider": "openai", "config": {"api_key": "none", "model": "none"}},
        "history_db_path": str(folder / "history.db"),
    }


if __name__ == "__main__":
    serve(Mem0())
