"""Text embeddings for the relevancy metric and the `semantic` judge. Not used by the systems under test."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Vector = list[float]
DEFAULT = "bge-small"
CHARACTERS = 480
"""Maximum characters embedded per text. The same for every embedder, so that results are comparable."""
KEPT = 20_000


class TextEmbedder(Protocol):
    """A model that embeds texts. It may embed queries differently from documents."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts and return an array of shape (texts, dimensions)."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed a query and return an array of shape (dimensions,)."""
        ...


class RememberingEmbedder:
    """A thread-safe embedder that caches its results. The questions of a case often retrieve the same passages."""

    def __init__(self, inner: TextEmbedder) -> None:
        self._inner = inner
        self._known: dict[str, Vector] = {}
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed each text, in order."""
        with self._lock:
            if len(self._known) > KEPT:
                self._known.clear()
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                self._known.update(zip(new, self._inner.embed(new).tolist(), strict=True))
            return [self._known[text] for text in texts]

    def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        with self._lock:
            return cast(Vector, self._inner.embed_query(text).tolist())
