"""The contracts between layers. The docstring is the contract; tests/contract runs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memoryd.core.types import Completion, Extraction, Hit, MemoryItem, Message, Passage, Query

FloatArray = NDArray[np.float32]


@runtime_checkable
class MemoryStore(Protocol):
    """Keeps memory items and finds them again.

    Every store, and the service in front of them, keeps these promises:
    - `write` stores the item under its id, replacing what was there; an item
      without an id gets a new, never used one. It returns the id. Writing the same
      item twice changes nothing. When it returns, the item is durable.
    - `get` gives back an equal item (`backends` apart), or None.
    - `search` honours every filter of the query, returns at most k hits in a total
      order (score descending, then id), and an empty list for `k <= 0`. A query with
      empty text returns the newest items that pass the filters, score 0.
    - `delete` removes the item from this store; an absent id is no error.
    - `all` yields every item once, ordered by id, whatever its status.
    """

    def write(self, item: MemoryItem) -> str:
        """Store the item and return its id."""
        ...

    def get(self, id: str) -> MemoryItem | None:
        """The item, or None when there is none."""
        ...

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """At most k hits, best first."""
        ...

    def delete(self, id: str) -> None:
        """Remove the item; absent is fine."""
        ...

    def all(self) -> Iterable[MemoryItem]:
        """Every item, ordered by id."""
        ...


class Embedder(Protocol):
    """Texts to unit vectors.

    `name` identifies model and version: vectors of different names never mix.
    Both methods return float32 of shape (n, dimensions) with rows of length 1;
    an empty input gives shape (0, dimensions).
    """

    @property
    def name(self) -> str:
        """Model identity, stored beside the vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of documents."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of queries (some models prefix them)."""
        ...


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """A query for late interaction: vectors of shape (tokens, dimensions), and the word that each token is (a part of)."""

    vectors: FloatArray
    words: tuple[str, ...]


class TokenEncoder(Protocol):
    """Texts to one unit vector for each token; `name` as in Embedder."""

    @property
    def name(self) -> str:
        """Model identity, stored beside the vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        """For each text, read after its context, the vectors of its own tokens: float32 of shape (at least 1, dimensions)."""
        ...

    def encode_query(self, text: str) -> QueryTokens:
        """A query's tokens; none for a text without words."""
        ...


class LLM(Protocol):
    """A chat model. Raises ModelError (transient or not); never returns half an answer."""

    @property
    def name(self) -> str:
        """Model name as recorded with results."""
        ...

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """One answer; with a JSON schema the text is JSON that was asked to follow it."""
        ...


class Extractor(Protocol):
    """Finds what is worth keeping in a passage.

    Candidates carry only statements that the passage's own turns support; context
    turns may explain but never yield a candidate. It writes nothing.
    """

    @property
    def name(self) -> str:
        """The reader's name as recorded: endpoint, claude, session or offline."""
        ...

    def extract(self, passage: Passage) -> Extraction:
        """Candidates in the order of their evidence."""
        ...


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """Aware UTC time."""
        ...
