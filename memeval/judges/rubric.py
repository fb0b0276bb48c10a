"""`rubric`: a model grades each point of a rubric alone; the score is their mean.

    rubric      mean over points of {yes: 1, partly: 0.5, no: 0}
    rubric_cut  the same with {yes: 1, partly: 0, no: 0}: BEAM's code cuts every grade to a whole number
    event_order_tau, event_order_f1, event_order_score   for questions of the category event_ordering: each line of the
                answer is matched with the first free point that a model calls the same event; see `overlap.kendall`

BEAM's own report takes the tau for event ordering and the cut grades for all other categories.

Source: the nugget grading of BEAM (Tavakoli et al. 2025), src/evaluation/compute_metrics.py and report_results.py. The
points are in the question's metadata (`rubric`), or its golds. One point whose reply can't be read leaves the question unscored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from memeval import registry
from memeval.core import overlap
from memeval.core.types import Answer, Question, QuestionType, Score
from memeval.judges.base import NO_GOLD
from memeval.judges.llm import PromptedJudge
from memeval.judges.verdict import grade, json_score
from memeval.prompts import Prompt, find_prompt
from memoryd.core.types import Usage

ORDERED = "event_ordering"
MOST_LINES = 100
"""Lines of an answer that are matched: each costs a call for every point that is still free."""
UNDEFINED = "skipped: tau is undefined, a list has a single rank"


@registry.judge("rubric")
class RubricJudge(PromptedJudge):
    """One call for each point. Raises ModelError when the model fails."""

    kind = "rubric"

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Both readings of the grades with the verdicts as the reason, and the order of events where it is asked for."""
        points = [str(point) for point in question.metadata.get("rubric", ())] or list(question.answers)
        if not points:
            return [Score("rubric", None, NO_GOLD, self.name)]
        replies = [self.ask(question, point, answer) for point in points]
        usage = sum((reply.usage for reply, _ in replies), Usage())
        judge = replies[0][1]
        kept, cut = means([reply.text for reply, _ in replies])
        told = "; ".join(reply.text[:60] for reply, _ in replies)
        scores = [Score("rubric", kept, told, judge, usage), Score("rubric_cut", cut, told, judge)]
        return [*scores, *(self._order(points, answer) if question.category == ORDERED else ())]

    def _order(self, points: Sequence[str], answer: Answer) -> list[Score]:
        lines = answer.text.split("\n")[:MOST_LINES]
        used: set[int] = set()
        matched = []
        usage = Usage()
        for line in lines:
            place, spent = self._match(points, line, used)
            usage += spent
            used |= set() if place is None else {place}
            matched.append(line if place is None else points[place])
        found = overlap.event_order(points, matched)
        reason = UNDEFINED if found.tau_norm is None else ""
        return [
            Score("event_order_tau", found.tau_norm, reason, self.name, usage),
            Score("event_order_f1", found.f1, "", self.name),
            Score("event_order_score", found.score, reason, self.name),
        ]

    def _match(self, points: Sequence[str], line: str, used: set[int]) -> tuple[int | None, Usage]:
        """The first free point that the model calls the same as the line."""
        usage = Usage()
        for place, point in enumerate(points):
            if place in used:
                continue
            reply = self._model.complete(self._same().render({"answer": point, "response": line}), max_tokens=self._limit)
            usage += reply.usage
            if "yes" in reply.text.lower():
                return place, usage
        return None, usage

    def _same(self) -> Prompt:
        return find_prompt("same", "beam", base=self._base)

    def _find(self, kind: QuestionType) -> Prompt:
        given = self._by_type.get(kind.value) or self._override
        return find_prompt("judge", "beam", override=given, base=self._base)


def means(replies: Sequence[str]) -> tuple[float | None, float | None]:
    """Mean grade with halves, and with halves cut to 0; both None when a reply can't be read."""
    read = [grade(reply) if json_score(reply) is None else json_score(reply) for reply in replies]
    grades = [value for value in read if value is not None]
    if not replies or len(grades) < len(replies):
        return None, None
    return math.fsum(grades) / len(grades), math.fsum(map(int, grades)) / len(grades)
