"""BM25 in memory, z-score fusion, and the order of answers. Pure functions of their input."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memeval.text import content_stems, stems

Scores = NDArray[np.float64]
K1 = 1.2
B = 0.75
DECIMALS = 9


class Bm25:
    """BM25 (Robertson & Zaragoza 2009) over Porter stems, with Lucene's idf log(1 + (N - n + 0.5) / (n + 0.5)).

    A query loses its function words, unless it has no others.
    """

    def __init__(self, documents: Sequence[str], k1: float = K1, b: float = B) -> None:
        self._size = len(documents)
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        counts = [Counter(stems(text)) for text in documents]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / len(lengths) if sum(lengths) else 1.0
        for number, count in enumerate(counts):
            norm = k1 * (1 - b + b * lengths[number] / mean)
            for term, frequency in count.items():
                self._postings[term].append((number, frequency * (k1 + 1) / (frequency + norm)))

    def scores(self, query: str) -> Scores:
        """A score for each document, shape (documents,); 0 without a common word."""
        out = np.zeros(self._size)
        for term, times in Counter(content_stems(query) or stems(query)).items():
            found = self._postings.get(term)
            if found:
                weight = times * math.log(1 + (self._size - len(found) + 0.5) / (len(found) + 0.5))
                for number, share in found:
                    out[number] += weight * share
        return out


def z_scores(values: Scores) -> Scores:
    """Values by their distance from the mean in standard deviations; zeros when all are equal."""
    spread = float(values.std()) if values.size else 0.0
    return np.zeros_like(values) if spread < 1e-12 else (values - values.mean()) / spread


def best(scores: Scores, k: int, least: float = -math.inf) -> list[tuple[int, float]]:
    """At most k (position, score), best first and equal ones by position, of those above `least`."""
    rounded = np.round(scores, DECIMALS)
    order = np.lexsort((np.arange(len(rounded)), -rounded))
    return [(int(number), float(rounded[number])) for number in order[: max(0, k)] if rounded[number] > least]
