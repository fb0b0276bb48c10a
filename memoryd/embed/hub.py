"""Models from the fastembed library. No other module imports fastembed (extra `hub`).

A model is downloaded on first use and stored in the home folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memoryd.core.errors import DependencyError, EmbeddingError
from memoryd.core.protocols import FloatArray
from memoryd.embed.vectors import clean_text, no_rows, unit_rows

MAX_CHARACTERS = 16_000
THREADS = 2
# The library retries for 40 s. Without this pause, every prompt would wait that long again.
PAUSE_SECONDS = 300.0


class HubEmbedder:
    """A model from the hub, loaded on first use. Failed loads are retried after five minutes."""

    def __init__(self, model: str, cache: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._model_name = model
        self._cache = cache
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._model: Any = None
        self._dimensions = 0
        self._failure: tuple[float, EmbeddingError] | None = None

    @property
    def name(self) -> str:
        """Identity of the model."""
        return f"hub:{self._model_name}"

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector. Loads the model if no text has been embedded yet."""
        return self._dimensions or self.embed(["dimensions"]).shape[1]

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embed documents into shape (n, dimensions).

        Raises:
            EmbeddingError: The model can't be loaded or failed.
            DependencyError: fastembed is not installed.
        """
        return self._vectors(texts, "embed")

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Embed queries with the model's own query prefix."""
        return self._vectors(texts, "query_embed")

    def _vectors(self, texts: Sequence[str], method: str) -> FloatArray:
        if not texts:
            return no_rows(self.dimensions)
        cleaned = [clean_text(text, MAX_CHARACTERS) for text in texts]
        model = self._load()
        try:
            # One text per batch, because with quantised models a text's vector depends on the other texts in the batch.
            rows = [next(iter(getattr(model, method)([text]))) for text in cleaned]
        except (RuntimeError, ValueError) as error:
            raise EmbeddingError(f"{self.name} failed: {error}", fix="Use another model.") from error
        vectors = unit_rows(rows, len(texts), self.name)
        self._dimensions = vectors.shape[1]
        return vectors

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                if self._failure and self._monotonic() < self._failure[0]:
                    raise self._failure[1]
                self._model = self._open()
            return self._model

    def _open(self) -> Any:
        try:
            import fastembed
        except ImportError as error:
            raise DependencyError(
                "Models from the hub require the fastembed library.", fix="Run: pip install 'memoryd[hub]'"
            ) from error
        try:
            return fastembed.TextEmbedding(self._model_name, cache_dir=str(self._cache), threads=THREADS)
        except (OSError, ValueError, RuntimeError) as error:
            failure = EmbeddingError(
                f"{self.name} can't be loaded: {error}",
                fix="Check the network and the model's name, or set embedder to bge-small, which needs no download.",
            )
            self._failure = (self._monotonic() + PAUSE_SECONDS, failure)
            raise failure from error
