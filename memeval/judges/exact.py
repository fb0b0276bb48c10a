"""`exact`, `contains` and `substring`: equality and containment (see `memeval.core.overlap`)."""

from __future__ import annotations

from memeval import registry
from memeval.core import overlap
from memeval.core.types import Question
from memeval.judges.base import TextJudge


@registry.judge("exact")
class ExactJudge(TextJudge):
    """1 if the answer equals a gold in normal form."""

    name = "exact"

    def value(self, question: Question, answer: str) -> float:
        """Exact match with any gold."""
        return overlap.exact_match(answer, question.answers)


@registry.judge("contains")
class ContainsJudge(TextJudge):
    """1 if a gold stands in the answer as whole words."""

    name = "contains"

    def value(self, question: Question, answer: str) -> float:
        """Containment of any gold."""
        return overlap.contains(answer, question.answers)


@registry.judge("substring")
class SubstringJudge(TextJudge):
    """1 if a gold occurs in the answer letter by letter: NoLiMa's score."""

    name = "substring"

    def value(self, question: Question, answer: str) -> float:
        """Occurrence of any gold."""
        return overlap.substring(answer, question.answers)
