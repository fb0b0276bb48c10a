"""`rubric`: a model grades each point of a rubric alone; the score is their mean.

    score = mean over points of {yes: 1, partly: 0.5, no: 0}

Source: the nugget grading of BEAM (Tavakoli et al. 2025). The points are in the question's metadata (`rubric`), or its
golds. One point whose reply can't be read leaves the question unscored.
"""

from __future__ import annotations

import math

from memeval import registry
from memeval.judges.base import NO_GOLD
from memeval.judges.llm import PromptedJudge
from memeval.judges.verdict import grade
from memeval.prompts import Prompt, find_prompt
from memeval.types import Answer, Question, QuestionType, Score
from memoryd.types import Usage


@registry.judge("rubric")
class RubricJudge(PromptedJudge):
    """One call for each point. Raises ModelError when the model fails."""

    kind = "rubric"

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """One score named rubric, with the verdicts as its reason."""
        points = [str(point) for point in question.metadata.get("rubric", ())] or list(question.answers)
        if not points:
            return [Score("rubric", None, NO_GOLD, self.name)]
        replies = [self.ask(question, point, answer) for point in points]
        usage = sum((reply.usage for reply, _ in replies), Usage())
        grades = [grade(reply.text) for reply, _ in replies]
        told = "; ".join(reply.text[:60] for reply, _ in replies)
        known = [value for value in grades if value is not None]
        value = math.fsum(known) / len(points) if len(known) == len(points) else None
        return [Score("rubric", value, told, replies[0][1], usage)]

    def _find(self, kind: QuestionType) -> Prompt:
        given = self._by_type.get(kind.value) or self._override
        return find_prompt("judge", "beam", override=given, base=self._base)
