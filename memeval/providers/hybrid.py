"""BM25 over Porter stems, dense retrieval with the bundled embedder, and a hybrid that sums their z-scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memeval import registry
from memeval.core.types import SearchRequest, Session
from memeval.providers.indexed import IndexedProvider, added
from memeval.providers.local import Options
from memeval.providers.memoryd import text_embedder
from memeval.providers.retrieval import K1, B, Bm25, EmbeddingCache, RetrievalUnit, Scores, Vectors, z_scores


@registry.provider("bm25")
class Bm25Provider(IndexedProvider[Bm25]):
    """A provider that ranks by BM25. Its options are `k1` and `b`."""

    capabilities = IndexedProvider.capabilities.searching("k1", "b")

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self._k1 = options.number("k1", K1)
        self._b = options.number("b", B)

    def build(self, scope: str, pieces: Sequence[RetrievalUnit]) -> Bm25:
        """Build a BM25 index of the keys."""
        return Bm25([piece.key for piece in pieces], self._k1, self._b)

    def rank(self, index: Bm25, pieces: Sequence[RetrievalUnit], request: SearchRequest) -> Scores:
        """Return the BM25 scores."""
        return index.scores(request.text)


EMBED_CHARACTERS = 480


@dataclass(frozen=True, slots=True)
class MixedIndex:
    """The turn vectors with their passages, and the BM25 index of the passages (None if unused).

    `questions` are the vectors of generated questions, and `askers` are the passages of the turns that answer them (see aqrag).
    """

    vectors: Vectors
    owners: Sequence[int]
    words: Bm25 | None
    questions: Vectors | None = None
    askers: Sequence[int] = ()


class EmbeddingProvider(IndexedProvider[MixedIndex]):
    """A provider that embeds each turn and scores a passage by its nearest turn.

    The options are `embedder` and `embedCharacters`.
    """

    capabilities = IndexedProvider.capabilities.searching("denseWeight", "wordWeight")
    word_weight = 0.0
    dense_weight = 1.0

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        name = options.text("embedder", "bge-small")
        self.embedder = text_embedder(name, options.count("embedCharacters", EMBED_CHARACTERS))

    def vectors(self, scope: str, texts: Sequence[str]) -> Vectors:
        """Embed the texts with the scope's cache."""
        return EmbeddingCache(self.store.folder(scope), self.embedder).vectors(texts)

    def index_fresh(self, scope: str, sessions: Sequence[Session]) -> None:
        """Embed the turns of these sessions and the model's additions before the first search."""
        more = self.expansions(scope, sessions, fresh=True)
        texts = [turn.key for turn in self.keyed(sessions, "turn")]
        self.vectors(scope, [*texts, *dict.fromkeys(text for some in more.values() for text in some)])

    def build(self, scope: str, pieces: Sequence[RetrievalUnit]) -> MixedIndex:
        """Build the vectors of all turns and model additions, and a BM25 index if words have a weight."""
        sessions = self.store.all(scope)
        turns, more = self.keyed(sessions, "turn"), self.expansions(scope, sessions)
        owner = {id: piece.order for piece in pieces for id in piece.turns}
        words = Bm25([piece.key for piece in pieces]) if self.word_weight else None
        pairs = [(turn.key, owner[turn.turns[0]]) for turn in turns]
        pairs += [(text, piece.order) for piece in pieces for text in added(piece, more)]
        return MixedIndex(self.vectors(scope, [text for text, _ in pairs]), [number for _, number in pairs], words)

    def rank(self, index: MixedIndex, pieces: Sequence[RetrievalUnit], request: SearchRequest) -> Scores:
        """Return the weighted sum of the z-scores of cosine and BM25, or the raw scores if only one of them is used."""
        cosines = self.cosines(index, len(pieces), request.text)
        if index.words is None:
            return cosines
        words = index.words.scores(request.text)
        return self.dense_weight * z_scores(cosines) + self.word_weight * z_scores(words)

    def cosines(self, index: MixedIndex, size: int, text: str) -> Scores:
        """Return the cosine of the nearest turn of each passage, as an array of shape (size,)."""
        return nearest(index.vectors @ self.embedder.embed_query(text), index.owners, size)


def nearest(cosines: Vectors, owners: Sequence[int], size: int) -> Scores:
    """Return the best cosine of each owner, as an array of shape (size,). Owners without vectors get -1."""
    out = np.full(size, -1.0)
    if len(owners):
        np.maximum.at(out, np.asarray(owners), cosines.astype(np.float64))
    return out


@registry.provider("dense")
class DenseProvider(EmbeddingProvider):
    """A provider that ranks by cosine only."""


@registry.provider("hybrid")
class HybridProvider(EmbeddingProvider):
    """A provider that ranks by cosine and BM25. Its options are `denseWeight` and `wordWeight`."""

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self.dense_weight = options.number("denseWeight", 1.0)
        self.word_weight = options.number("wordWeight", 1.0)
