"""`longmemeval-v2`: score with the function given by the question. Two of the functions use a model with the official prompts.

`longmemeval_v2_score` is 1 or 0 according to that function. Model-judged questions get this score only with the
official prompts and the pinned model. With another model, they get `llm_accuracy`. Without a model, they are skipped.
The answer UNKNOWN is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memeval import registry
from memeval.core import longmemeval_v2 as rules
from memeval.core.protocols import Model
from memeval.core.types import Answer, Question, Score
from memeval.judges.base import NO_GOLD, TextJudge
from memeval.prompts.official import Official

MAIN = "longmemeval_v2_score"
KEYS = {"llm_abstention_checker": "abstention", "llm_gotchas_checker": "gotchas"}
NO_MODEL = "skipped: a model judges this question, with the official prompts"
OTHER_MODEL = "skipped: the judge is not the model that the benchmark pins"


@registry.judge("longmemeval-v2")
class LongMemEvalV2Judge(TextJudge):
    """A judge for LongMemEval-V2. The option `official` provides the official prompts and the pinned model."""

    name = "longmemeval-v2"
    options = frozenset({"official"})

    def __init__(self, model: Model | None = None, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(model, options)
        self._model = model
        self._official: Official | None = self._options.get("official")

    def prompt_hashes(self) -> dict[str, str]:
        """Return the hashes of the official prompts, if in use."""
        return self._official.hashes() if self._official else {}

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Return one score, or two if the judging model isn't the pinned one. Raises ModelError."""
        spec = str(question.metadata.get("eval_function") or "")
        if not spec or not question.answers:
            return [Score(MAIN, None, NO_GOLD, self.name)]
        final = rules.boxed(answer.text)
        if rules.is_unknown(final):
            return [Score(MAIN, 0.0, "UNKNOWN", self.name)]
        name, _ = rules.parse_function(spec)
        if name in rules.BY_MODEL:
            return self._by_model(KEYS[name], question, answer.text, final)
        return [Score(MAIN, float(rules.score(spec, final, question.answers[0])), name, self.name)]

    def _by_model(self, key: str, question: Question, reply: str, final: str) -> list[Score]:
        if self._model is None or self._official is None:
            return [Score(MAIN, None, NO_MODEL, self.name)]
        prompt = self._official.prompts[key]
        values = {"question": question.text, "answer": question.answers[0], "response": reply.strip(), "final": final}
        judged = self._model.complete(prompt.render(values), max_tokens=self._official.max_tokens)
        judge = f"{self.name}({self._model.name}) {judged.model} {prompt.hash}"
        value = rules.binary_label(judged.text)
        if self._official.is_model(judged.model):
            return [Score(MAIN, value, judged.text[:500], judge, judged.usage)]
        return [Score(MAIN, None, OTHER_MODEL, judge), Score("llm_accuracy", value, judged.text[:500], judge, judged.usage)]
