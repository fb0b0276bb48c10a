"""Compares statements with what is at hand: the rules alone, or with vectors of words and the trained classifier."""

from __future__ import annotations

from functools import lru_cache

from memoryd.protocols import TextWords, WordEncoder
from memoryd.statements.compare import Comparison, Said, compare_read, reading
from memoryd.statements.reading import Reading

WORDS_KEPT = 4_096


class Comparer:
    """The product's one way to compare statements. Without an encoder the rules decide alone; safe between threads."""

    def __init__(self, encoder: WordEncoder | None = None) -> None:
        self._encoder = encoder
        self._words = lru_cache(maxsize=WORDS_KEPT)(self._encode)

    def compare(self, old: Said, new: Said) -> Comparison:
        """What `new`, said later, is to `old`."""
        return self.compare_read(old, new, reading(old), reading(new))

    def compare_read(self, old: Said, new: Said, a: Reading, b: Reading, cosine: float | None = None) -> Comparison:
        """The same, of statements that were read before. `cosine` of their vectors, None when there is none."""
        return compare_read(old, new, a, b, cosine)

    def _encode(self, text: str) -> TextWords:
        assert self._encoder is not None
        return self._encoder.encode_words([text])[0]


RULES = Comparer()
