"""Create stores of any size for the benchmarks, reproducible for each seed.

Texts come from a Zipf-like vocabulary with tools, paths and identifiers, in 20 projects, so that common and rare
words occur as in real notes. Computing 100,000 vectors with the bundled model takes ten minutes. Therefore, the model
embeds only POOL texts, and every other text reuses one of their vectors with a little noise (`Reused…`). Searches
then use the real model on the same number of vectors with the same size and spread.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings
from memoryd.core.protocols import Embedder, FloatArray, QueryTokens, TokenEncoder
from memoryd.core.types import Kind, MemoryItem
from memoryd.embed import make_embedder, make_encoder
from memoryd.service import Orchestrator

SYLLABLES = "ba co di fu ge ha ir jo ka le mi no pa qu ro sa te un va we xi yo za chi tor mer lin pad sto".split()
TOOLS = "pnpm pytest docker postgres redis webpack ruff cargo gradle kafka nginx terraform".split()
FORMS = (
    "Use {tool} for {a} {b}, never {c}; the {d} {e} depends on it.",
    "The {a} of {b} lives in src/{c}/{d}_{e}.py and is started by {tool}.",
    "{tool} fails with {a} {b} when {c} is unset: set {d} before the {e} step.",
    "We decided to keep {a} {b} in {tool} because the {c} {d} was too slow for {e}.",
)
VOCABULARY = 12_000
PROJECTS = 20
SESSION_ITEMS = 200
POOL = 384
NOISE = 0.5
START = datetime(2025, 1, 1, tzinfo=UTC)


class Texts:
    """A generator of memory-like texts, reproducible for each seed."""

    def __init__(self, seed: int, vocabulary: int = VOCABULARY) -> None:
        self.random = random.Random(seed)
        words = {"".join(self.random.choices(SYLLABLES, k=self.random.randint(2, 4))) for _ in range(vocabulary)}
        self.words = sorted(words)
        self.random.shuffle(self.words)
        self.weights = list(itertools.accumulate(1 / (rank + 5) for rank in range(len(self.words))))

    def pick(self, count: int) -> list[str]:
        """Return random words, weighted by frequency."""
        return self.random.choices(self.words, cum_weights=self.weights, k=count)

    def text(self) -> str:
        """Return a memory of one or two sentences."""
        names = dict(zip("abcde", self.pick(5), strict=True))
        sentence = self.random.choice(FORMS).format(tool=self.random.choice(TOOLS), **names)
        return f"{sentence} {' '.join(self.pick(self.random.randint(4, 20)))}."

    def item(self, number: int) -> MemoryItem:
        """Return a memory in one of the projects."""
        return MemoryItem(
            content=self.text(),
            kind=self.random.choice(list(Kind)),
            project=f"project-{number % PROJECTS}",
            session=f"session-{number // SESSION_ITEMS}",
            tags=tuple(self.pick(2)),
            created_at=START + timedelta(minutes=number),
        )

    def question(self) -> str:
        """Return a query that shares common and rare words with some memories."""
        return " ".join(["how do we", self.random.choice(TOOLS), *self.pick(self.random.randint(2, 5))])


def pool_texts() -> list[str]:
    """Return the texts that are actually embedded."""
    texts = Texts(seed=7)
    return [texts.text() for _ in range(POOL)]


def place_of(text: str) -> tuple[int, int]:
    """Return the index of a text's vector in the pool, and the seed of its noise."""
    number = int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "big")
    return number % POOL, number // POOL


@dataclass(frozen=True)
class ReusedVectors:
    """A stand-in for an embedder, used to fill a store. It has the embedder's name, its dimensions, and a pool of its vectors."""

    name: str
    pool: FloatArray

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return int(self.pool.shape[1])

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return a vector of the pool with noise for each text."""
        places = [place_of(text) for text in texts]
        noise = np.stack([np.random.default_rng(seed).standard_normal(self.dimensions, dtype=np.float32) for _, seed in places])
        vectors = self.pool[[place for place, _ in places]] + NOISE / np.sqrt(self.dimensions) * noise
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Embed queries in the same way as texts."""
        return self.embed(texts)


@dataclass(frozen=True)
class ReusedTokens:
    """A stand-in for a token encoder, with a pool of token vectors."""

    name: str
    dimensions: int
    pool: Sequence[FloatArray]

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        """Return the token vectors of a pool text for each text."""
        return [self.pool[place_of(text)[0]] for text in texts]

    def encode_query(self, text: str) -> QueryTokens:
        """Return the token vectors of a pool text. No queries are made while a store is filled."""
        return QueryTokens(self.pool[place_of(text)[0]], ())


def reused(settings: Settings) -> tuple[Embedder | None, TokenEncoder | None]:
    """Return stand-ins for the models selected by the settings, under the models' names."""
    texts = pool_texts()
    embedder = make_embedder(settings) if settings.rank != "bm25" else None
    encoder = make_encoder(settings)
    vectors = ReusedVectors(embedder.name, embedder.embed(texts)) if embedder else None
    tokens = ReusedTokens(encoder.name, encoder.dimensions, encoder.encode(texts, [""] * POOL)) if encoder else None
    return vectors, tokens


def items(count: int, first: int = 0) -> Iterator[MemoryItem]:
    """Yield memories without ids."""
    texts = Texts(seed=count + first)
    return (texts.item(number) for number in range(first, first + count))


def fill(settings: Settings, count: int) -> None:
    """Write the given number of memories with their vectors. Every index is complete afterwards."""
    embedder, encoder = reused(settings)
    service = Orchestrator(settings, SystemClock(), embedder, encoder=encoder)
    try:
        service.catch_up()
        made = items(count)
        while batch := list(itertools.islice(made, 1_000)):
            service.write_many(batch)
        if not service.settle(3_600):
            raise TimeoutError(f"{service.health().waiting} of {count} memories have no vectors after an hour")
    finally:
        service.close()
