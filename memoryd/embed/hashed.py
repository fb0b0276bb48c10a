"""Hash-based embeddings for tests and demos: deterministic, with no model or download."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from memoryd.core.protocols import FloatArray, QueryTokens
from memoryd.core.text import words


class HashEmbedder:
    """Bag-of-words vectors by feature hashing (Weinberger et al. 2009). Texts that share words have similar vectors."""

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Identity of the embedder, stored with the vectors."""
        return f"hash-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embed documents into unit vectors of shape (n, dimensions)."""
        out = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in words(text) or [""]:
                code = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
                out[row, (code >> 1) % self._dimensions] += 1.0 if code & 1 else -1.0
            if not out[row].any():
                out[row, 0] = 1.0
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        return np.asarray(out / np.where(norms == 0, 1, norms), dtype=np.float32)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Embed queries in the same way as documents."""
        return self.embed(texts)


class HashTokenEncoder:
    """Encodes each word as one hashed vector. Equal words have a cosine of 1. Context is ignored."""

    def __init__(self, dimensions: int = 64) -> None:
        self._embedder = HashEmbedder(dimensions)

    @property
    def name(self) -> str:
        """Identity of the encoder, stored with the vectors."""
        return f"{self._embedder.name}-tokens"

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""
        return self._embedder.dimensions

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        """Return one vector per word. Text without words gets a single vector."""
        return [self._embedder.embed(words(text) or [""]) for text in texts]

    def encode_query(self, text: str) -> QueryTokens:
        """Return one vector per word of the query."""
        return QueryTokens(self._embedder.embed(words(text)), tuple(words(text)))
