"""A second opinion on acts of memory: how near a sentence's meaning is to what people say for good, by a small classifier.

It can only refuse what the rules took: a sentence that reads like an order of the moment is proposed instead of kept.
Fitted by benchmarks/fit_acts.py on sentences written for this project; needs the bundled embedder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from memoryd.protocols import Embedder, FloatArray

WEIGHTS = Path(__file__).with_name("acts.npy")
# "shard3", "case12": which member of a series is named must not decide whether a sentence is a rule.
_NUMBERED_NAME = re.compile(r"(?<![\w.-])([^\W\d_]{3,40})\d{1,6}(?![\w.-])")


class Judge:
    """Reads its weights at the first sentence. Raises EmbeddingError when the embedder can't work."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @cached_property
    def _weights(self) -> FloatArray:
        """The bar, the bias, and a weight for each dimension."""
        return np.asarray(np.load(WEIGHTS, allow_pickle=False), dtype=np.float32)

    def agrees(self, texts: Sequence[str]) -> list[bool]:
        """For each sentence whether it may be an act of memory."""
        if not texts:
            return []
        bar, bias, weights = self._weights[0], self._weights[1], self._weights[2:]
        scores = self._embedder.embed([_NUMBERED_NAME.sub(r"\1", text) for text in texts]) @ weights + bias
        return [bool(score >= bar) for score in scores]
