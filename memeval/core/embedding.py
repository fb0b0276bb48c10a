"""Vectors for what is measured with them: the metric relevancy and the judge `semantic`. Not for systems under test."""

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
"""Of each text; results name the embedder, and this is the same for all."""
KEPT = 20_000


class TextEmbedder(Protocol):
    """Texts to vectors; a query may be embedded in another way than what is searched."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions)."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimensions,)."""
        ...


class RememberingEmbedder:
    """Embeds each text once: the questions of a case retrieve the same pieces again and again. Safe for threads."""

    def __init__(self, inner: TextEmbedder) -> None:
        self._inner = inner
        self._known: dict[str, Vector] = {}
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, in order."""
        with self._lock:
            if len(self._known) > KEPT:
                self._known.clear()
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                self._known.update(zip(new, self._inner.embed(new).tolist(), strict=True))
            return [self._known[text] for text in texts]

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        with self._lock:
            return cast(Vector, self._inner.embed_query(text).tolist())
