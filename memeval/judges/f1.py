"""`f1`: token F1 against the best gold; for LoCoMo the official score by category, named `locomo_f1`."""

from __future__ import annotations

from memeval import registry
from memeval.core import overlap
from memeval.core.overlap import CATEGORIES
from memeval.core.types import Answer, Question, Score
from memeval.judges.base import NO_GOLD, TextJudge, protocol_of


@registry.judge("f1")
class F1Judge(TextJudge):
    """Option `protocol: locomo` turns on LoCoMo's score."""

    name = "f1"

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """`locomo_f1` or `f1`."""
        if protocol_of(self._options) != "locomo":
            return super().score(question, answer)
        return [self._locomo(question, answer.text)]

    def value(self, question: Question, answer: str) -> float:
        """Token F1 with the best gold."""
        return overlap.best_f1(answer, question.answers)

    def _locomo(self, question: Question, answer: str) -> Score:
        category = CATEGORIES.get(question.type)
        if category is None:
            return Score("locomo_f1", None, f"skipped: LoCoMo has no questions of type {question.type}", self.name)
        if category != 5 and not question.answers:
            return Score("locomo_f1", None, NO_GOLD, self.name)
        gold = question.answers[0] if question.answers else ""
        return Score("locomo_f1", overlap.locomo_f1(answer, gold, category), f"category {category}", self.name)
