"""`rouge_l`: longest common subsequence against the best gold (see `memeval.overlap.rouge_l`)."""

from __future__ import annotations

from memeval import overlap, registry
from memeval.judges.base import TextJudge
from memeval.types import Question


@registry.judge("rouge_l")
class RougeLJudge(TextJudge):
    """ROUGE-L F1 between 0 and 1."""

    name = "rouge_l"

    def value(self, question: Question, answer: str) -> float:
        """ROUGE-L with the best gold."""
        return overlap.best_rouge_l(answer, question.answers)
