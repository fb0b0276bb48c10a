"""Embeddings from an OpenAI-compatible endpoint."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from memoryd.core import openai_api
from memoryd.core.errors import EmbeddingError, ModelError
from memoryd.core.protocols import FloatArray
from memoryd.core.text import token_count
from memoryd.embed.vectors import clean_text, no_rows, unit_rows

MAX_TEXTS = 128
MAX_TOKENS = 50_000
MAX_CHARACTERS = 24_000


class EndpointEmbedder:
    """A model behind an `/embeddings` endpoint. Connects on first use."""

    def __init__(self, model: str, base_url: str, api_key: str, timeout: float) -> None:
        self._model = model
        self._endpoint = (base_url, api_key, timeout)
        self._lock = threading.Lock()
        self._client: Any = None
        self._dimensions = 0

    @property
    def name(self) -> str:
        """Identity of the model, independent of the endpoint's address."""
        return f"openai:{self._model}"

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector. Queries the endpoint if no text has been embedded yet."""
        return self._dimensions or self.embed(["dimensions"]).shape[1]

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embed documents into shape (n, dimensions).

        Raises:
            EmbeddingError: The endpoint failed.
        """
        if not texts:
            return no_rows(self.dimensions)
        # These endpoints reject empty input.
        cleaned = [clean_text(text, MAX_CHARACTERS).strip() or "." for text in texts]
        return np.concatenate([self._embed_batch(batch) for batch in _batches(cleaned)])

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Embed queries. These endpoints treat them like documents."""
        return self.embed(texts)

    def _embed_batch(self, texts: Sequence[str]) -> FloatArray:
        try:
            values = openai_api.embeddings(self._connect(), self._model, texts)
        except ModelError as error:
            raise EmbeddingError(error.message, fix=error.fix or "Check embedding_base_url and embedding_api_key.") from error
        vectors = unit_rows(values, len(texts), self.name)
        if self._dimensions not in (0, vectors.shape[1]):
            raise EmbeddingError(
                f"The number of dimensions of {self.name} has changed.", fix="Restart the daemon to recompute all vectors."
            )
        self._dimensions = vectors.shape[1]
        return vectors

    def _connect(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = openai_api.make_client(*self._endpoint)
            return self._client


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        tokens = token_count(text)
        if batch and (len(batch) == MAX_TEXTS or size + tokens > MAX_TOKENS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += tokens
    if batch:
        yield batch
