"""engram-search: FAISS and SQLite on disk. Its retrieval pipeline fuses dense search, BM25 and boosts, as in its README."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
from engram.backends.base import Document
from engram.backends.faiss_backend import FaissBackend
from engram.ingestion.parser import session_to_documents
from engram.retrieval.embedder import Embedder
from engram.retrieval.pipeline import RetrievalPipeline
from peer_protocol import Found, Peer, once, serve

SEVERAL = 3
"""A turn can become several documents (the turn and the preferences in it), so more are requested than needed."""


class Engram(Peer):
    """Settings: `model` (a folder of sentence-transformers)."""

    packages = ("engram-search", "sentence-transformers", "torch", "faiss-cpu")

    def open(self, folder: Path, settings: dict[str, Any]) -> None:
        super().open(folder, settings)
        self._embedder = Embedder(settings["model"])
        self._dimension = len(self._embedder.encode_query("warm"))
        self._pipeline = RetrievalPipeline(embedder=self._embedder, use_reranker=False)
        self._scope = ""
        self._documents: list[Document] = []

    def add(self, scope: str, items: Sequence[dict[str, str]]) -> dict[str, Any]:
        result = [one for item in items for one in _documents(item)]
        vectors = self._embedder.encode_documents([one["text"] for one in result])
        documents = [
            Document(id=one["id"], text=one["text"], embedding=vector.tolist(), metadata=one["metadata"])
            for one, vector in zip(result, vectors)  # noqa: B905 - Python 3.9 has no `strict`
        ]
        FaissBackend(path=self.of(scope), dimension=self._dimension).add(documents)
        self._scope = ""
        return {"documents": len(documents)}

    def search(self, scope: str, query: str, k: int, at: str) -> Found:
        if scope != self._scope:
            self._scope, self._documents = scope, _read(self.of(scope))
        found = self._pipeline.search(query, documents=self._documents, top_k=SEVERAL * k, question_date=at[:10] or None)
        return once([(one.metadata["session_id"], float(one.score)) for one in found], k)


def _documents(item: dict[str, str]) -> list[dict[str, Any]]:
    """Convert a turn to documents as engram's own ingestion does, with the settings of its `ingest` command."""
    turn = {"role": item["role"], "content": item["text"]}
    return list(session_to_documents([turn], session_id=item["id"], timestamp=item["at"][:10], include_assistant=True))


def _read(folder: Path) -> list[Document]:
    """Read all documents with their vectors, because the pipeline needs them. The backend itself returns no vectors."""
    vectors = faiss.read_index(str(folder / "engram.faiss"))
    with sqlite3.connect(folder / "engram_meta.db") as db:
        rows = db.execute("SELECT id, text, metadata, faiss_idx FROM documents ORDER BY faiss_idx").fetchall()
    return [
        Document(id=id, text=text, embedding=vectors.reconstruct(row), metadata=json.loads(meta)) for id, text, meta, row in rows
    ]


if __name__ == "__main__":
    serve(Engram())
