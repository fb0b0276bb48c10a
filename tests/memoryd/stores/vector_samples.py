"""Embedders and items for the tests of the vector store."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from memoryd.core.protocols import FloatArray
from memoryd.core.types import MemoryItem

START = datetime(2026, 1, 1, tzinfo=UTC)


class ClusterEmbedder:
    """Unit vectors that depend only on the text: `12 …` is in cluster 12, with all vectors at acute angles. Counts its texts."""

    def __init__(self, dimensions: int = 16, name: str = "cluster", noise: float = 0.4) -> None:
        self.name, self.dimensions, self.noise = name, dimensions, noise
        self.seen = 0

    def embed(self, texts: Sequence[str]) -> FloatArray:
        self.seen += len(texts)
        return np.stack([self._one(text) for text in texts]) if texts else np.zeros((0, self.dimensions), np.float32)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        return self.embed(texts)

    def _one(self, text: str) -> FloatArray:
        centre = np.random.default_rng(zlib.crc32(text.split(" ")[0].encode())).random(self.dimensions) ** 3
        own = np.random.default_rng(zlib.crc32(text.encode())).random(self.dimensions)
        vector = centre / np.linalg.norm(centre) + self.noise * own / np.linalg.norm(own)
        return (vector / np.linalg.norm(vector)).astype(np.float32)  # type: ignore[no-any-return]


def item(n: int, content: str | None = None, **fields: Any) -> MemoryItem:
    return MemoryItem(
        content=content or f"{n % 20} fact {n}",
        **{"id": f"mem_{n:012x}", "project": f"p{n % 3}", "created_at": START + timedelta(minutes=n), **fields},
    )
