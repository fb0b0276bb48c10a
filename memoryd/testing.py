"""Fakes that are shipped, so that tests of this project and of its users need no patching."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from memoryd.core.errors import ModelError
from memoryd.core.protocols import FloatArray, QueryTokens
from memoryd.core.types import Completion, Message, Usage
from memoryd.text import token_count, words


class FakeClock:
    """A clock that moves only when told."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """The set time."""
        return self._now

    def advance(self, **delta: float) -> None:
        """Move by timedelta's keyword arguments; negative values jump back."""
        self._now += timedelta(**delta)


class HashEmbedder:
    """Bag-of-words vectors by hashing (feature hashing, Weinberger et al. 2009): similar words, similar vectors."""

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Identity of the vectors."""
        return f"hash-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors of shape (n, dimensions)."""
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
        """The same as for documents."""
        return self.embed(texts)


class HashTokenEncoder:
    """A vector for each word by hashing: equal words have cosine 1. Contexts change nothing."""

    def __init__(self, dimensions: int = 64) -> None:
        self._embedder = HashEmbedder(dimensions)

    @property
    def name(self) -> str:
        """Identity of the vectors."""
        return f"{self._embedder.name}-tokens"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._embedder.dimensions

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        """One vector a word, one for a text without words."""
        return [self._embedder.embed(words(text) or [""]) for text in texts]

    def encode_query(self, text: str) -> QueryTokens:
        """One vector a word."""
        return QueryTokens(self._embedder.embed(words(text)), tuple(words(text)))


class ScriptedLLM:
    """Answers from a list, in order; an exception in the list is raised instead. Calls are kept in `calls`."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[Message, ...]] = []

    @property
    def name(self) -> str:
        """Model name as recorded."""
        return "scripted"

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """The next answer; ModelError when the script is at its end."""
        self.calls.append(tuple(messages))
        if not self._answers:
            raise ModelError("The script has no further answer.")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        asked = sum(token_count(message.content) for message in messages)
        return Completion(answer, self.name, Usage(1, asked, token_count(answer)))
