"""Interfaces between the layers. Their docstrings are the contract, which tests/contract enforces."""

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
    """Stores memory items and searches them.

    Every store, and the orchestrator in front of them, guarantees:

    - `write` stores the item under its id, replacing any previous version. An item without an id gets a new one.
      Writing the same item twice changes nothing. The item is durable when the call returns.
    - `get` returns an equal item (except for `backends`), or None.
    - `search` applies every filter of the query and returns up to k hits in a total order (score descending, then
      id). For `k <= 0`, the list is empty. A query with empty text returns the newest matching items with score 0.
    - `delete` removes the item from this store. A missing id is not an error.
    - `all` yields every item once, whatever its status, ordered by id.
    """

    def write(self, item: MemoryItem) -> str:
        """Store the item and return its id."""
        ...

    def get(self, id: str) -> MemoryItem | None:
        """Return the item, or None if it does not exist."""
        ...

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Return at most k hits, best first."""
        ...

    def delete(self, id: str) -> None:
        """Remove the item. Do nothing if it does not exist."""
        ...

    def all(self) -> Iterable[MemoryItem]:
        """Yield every item, ordered by id."""
        ...


class Embedder(Protocol):
    """Maps texts to unit vectors.

    `name` identifies the model and its version. Vectors with different names are never mixed. Both methods return
    float32 of shape (n, dimensions) with rows of length 1, and shape (0, dimensions) for an empty input.
    """

    @property
    def name(self) -> str:
        """Identity of the model, stored with the vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embed documents."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Embed queries. Some models require a prefix for queries."""
        ...


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """A query for late interaction: token vectors of shape (tokens, dimensions), and the word of each token."""

    vectors: FloatArray
    words: tuple[str, ...]


class TokenEncoder(Protocol):
    """Maps texts to one unit vector per token. `name` has the same meaning as in `Embedder`."""

    @property
    def name(self) -> str:
        """Identity of the model, stored with the vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""
        ...

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        """Encode each text after its context. Return float32 of shape (tokens >= 1, dimensions) for the text's own tokens."""
        ...

    def encode_query(self, text: str) -> QueryTokens:
        """Encode a query. A text without words has no tokens."""
        ...


class PairReader(Protocol):
    """Reads two texts together, like a cross-encoder."""

    def read(self, first: str, second: str) -> FloatArray:
        """Return features of the relation between the two texts, in a fixed shape. Raises EmbeddingError."""
        ...


class LLM(Protocol):
    """A chat model. Raises ModelError and never returns a truncated answer."""

    @property
    def name(self) -> str:
        """Name of the model, recorded with results."""
        ...

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """Return one answer. If a JSON schema is given, the answer is JSON and the model was asked to follow the schema."""
        ...


class Extractor(Protocol):
    """Extracts statements worth remembering from a passage. Writes nothing.

    Candidates must be supported by the passage's own turns. Context turns may explain a candidate but never yield one.
    """

    @property
    def name(self) -> str:
        """Name of the reader: endpoint, claude, session or offline."""
        ...

    def extract(self, passage: Passage) -> Extraction:
        """Return the candidates in the order of their evidence."""
        ...


class Clock(Protocol):
    """The only source of the current time."""

    def now(self) -> datetime:
        """Return the current time as an aware datetime in UTC."""
        ...
