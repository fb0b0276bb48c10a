"""`rouge_l`: longest common subsequence against the best gold (see `memeval.core.overlap`)."""

from __future__ import annotations

from memeval import registry
from memeval.core import overlap
from memeval.core.types import Question
from memeval.judges.base import TextJudge


@registry.judge("rouge_l")
class RougeLJudge(TextJudge):
    """ROUGE-L F1 between 0 and 1."""

    name = "rouge_l"

    def value(self, question: Question, answer: str) -> float:
        """ROUGE-L with the best gold."""
        return overlap.best_rouge_l(answer, question.answers)
