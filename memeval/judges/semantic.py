"""`semantic`: cosine similarity of the embeddings of answer and gold, at least 0, best over golds.

Similarity is no truth: "in May" and "in June" are near. Read it next to another judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memeval import registry
from memeval.core.errors import ConfigError
from memeval.core.overlap import cosine
from memeval.core.protocols import Model
from memeval.core.types import Question
from memeval.judges.base import TextJudge

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]


@registry.judge("semantic")
class SemanticJudge(TextJudge):
    """Option `embedder`: a function from texts to vectors."""

    name = "semantic"
    options = frozenset({"embedder"})

    def __init__(self, model: Model | None = None, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(model, options)
        if not callable(self._options.get("embedder")):
            raise ConfigError("The judge semantic needs an embedder.", fix="Choose an embedder, or another judge.")
        self._embed: Embedder = self._options["embedder"]

    def value(self, question: Question, answer: str) -> float:
        """Similarity with the nearest gold; an empty answer is like nothing."""
        if not answer.strip():
            return 0.0
        said, *golds = self._embed([answer, *question.answers])
        return max(0.0, *(cosine(said, gold) for gold in golds))
