"""Words only: BM25 over stemmed text of both sides."""

from __future__ import annotations

from collections.abc import Sequence

from memeval import registry
from memeval.providers.local import IndexedProvider
from memeval.providers.options import Options
from memeval.providers.pieces import Piece
from memeval.providers.ranking import K1, B, Bm25, Scores
from memeval.types import SearchRequest


@registry.provider("bm25")
class Bm25Provider(IndexedProvider[Bm25]):
    """Options: `k1`, `b`."""

    capabilities = IndexedProvider.capabilities.searching("k1", "b")

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self._k1 = options.number("k1", K1)
        self._b = options.number("b", B)

    def build(self, scope: str, pieces: Sequence[Piece]) -> Bm25:
        """BM25 of the keys."""
        return Bm25([piece.key for piece in pieces], self._k1, self._b)

    def rank(self, index: Bm25, pieces: Sequence[Piece], request: SearchRequest) -> Scores:
        """BM25 scores."""
        return index.scores(request.text)
