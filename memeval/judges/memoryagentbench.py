"""`memoryagentbench`: score by the metrics of a question's sub-dataset (see `memeval.core.overlap`).

The main score, `memoryagentbench_score`, is the metric that the benchmark reports for the sub-dataset. The option
`entities` is the file `entity2id.json` of Recsys_Redial. Without it, recommendations are unscored.

Summaries (InfBench) and the LongMemEval part are judged by a model, with the official prompts:

    summary F1 = fluency · 2 · recall · precision / (recall + precision)

Recall is the share of key points covered by the summary. Precision is the share of the summary's sentences supported by the
expert's summary. Source: llm_based_eval/summarization_evaluate.py and longmem_qa_evaluate.py of MemoryAgentBench (Hu et al.
2025). This is the main score only with the models pinned in these files. With other models, the score is named
`summary_f1` or `llm_accuracy`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core import overlap as official
from memeval.core.errors import ConfigError
from memeval.core.protocols import Model
from memeval.core.types import Answer, Question, Score
from memeval.judges.base import NO_GOLD, TextJudge, last_object
from memeval.prompts.official import Official
from memoryd.core.types import Usage

MAIN = "memoryagentbench_score"
NO_TITLES = "skipped: requires entity2id.json (benchmark option entities)"
BY_MODEL = "skipped: this sub-dataset is judged by a model, with the official prompts"
OTHER_MODEL = "skipped: the judge is not the model that the benchmark pins"
SUMMARY_MODEL, SUMMARY_TOKENS = "gpt-4o-2024-05-13", 4096
ANSWER_MODEL, ANSWER_TOKENS = "gpt-4o", 10
TYPES = {
    "temporal-reasoning": "temporal",
    "knowledge-update": "knowledge_update",
    "single-session-preference": "preference",
}
"""LongMemEval's types that have their own prompt."""


@registry.judge("memoryagentbench")
class MemoryAgentBenchJudge(TextJudge):
    """Returns a score for each metric of the sub-dataset, starting with the metric reported by the benchmark."""

    name = "memoryagentbench"
    options = frozenset({"entities", "official", "summary_model"})

    def __init__(self, model: Model | None = None, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(model, options)
        self._model = model
        self._official: Official | None = self._options.get("official")
        self._summary_model: Model | None = self._options.get("summary_model") or model

    def prompt_hashes(self) -> dict[str, str]:
        """Return the hashes of the official prompts, if in use."""
        return self._official.hashes() if self._official else {}

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Return the main score, followed by all other scores."""
        if not question.answers:
            return [Score(MAIN, None, NO_GOLD, self.name)]
        kind = str(question.metadata.get("sub_dataset") or "")
        if "recsys" in kind and not self._titles:
            return [Score(MAIN, None, NO_TITLES, self.name)]
        found = official.scores(kind, answer.text, question.answers, self._titles)
        main = official.primary(kind)
        first = [Score(MAIN, found[main], main, self.name)] if main else self._by_model(kind, question, answer)
        return [*first, *(Score(name, value, "", self.name) for name, value in found.items())]

    def _by_model(self, kind: str, question: Question, answer: Answer) -> list[Score]:
        """Score the answer with a model and return the main score first. Raises ModelError.

        Unless the model is the pinned one, the scores have different names.
        """
        if self._official is None or self._model is None or self._summary_model is None:
            return [Score(MAIN, None, BY_MODEL, self.name)]
        if "infbench" in kind:
            return self._summary(self._official, self._summary_model, question, answer)
        if "longmemeval" in kind:
            return self._answer(self._official, self._model, question, answer)
        return [Score(MAIN, None, BY_MODEL, self.name)]

    def _summary(self, own: Official, model: Model, question: Question, answer: Answer) -> list[Score]:
        points = [str(point) for point in question.metadata.get("keypoints", ())]
        listed = "\n".join(f"{number}. {point}" for number, point in enumerate(points, start=1))
        values = {"response": answer.text.strip(), "evidence": listed, "answer": question.answers[0]}
        replies = {
            name: model.complete(own.prompts[name].render(values), max_tokens=SUMMARY_TOKENS)
            for name in ("fluency", "recall", "precision")
        }
        usage = sum((reply.usage for reply in replies.values()), Usage())
        judge = f"{self.name}({model.name}) {replies['fluency'].model}"
        value = summary_f1({name: reply.text for name, reply in replies.items()}, len(points))
        reason = " | ".join(reply.text[-120:] for reply in replies.values())
        named = replace(own, model=SUMMARY_MODEL).is_model(replies["fluency"].model)
        scores = [Score("summary_f1", value, reason, judge, usage)]
        return [Score(MAIN, value, "summary_f1", judge), *scores] if named else [Score(MAIN, None, OTHER_MODEL, judge), *scores]

    def _answer(self, own: Official, model: Model, question: Question, answer: Answer) -> list[Score]:
        kind = str(question.metadata.get("question_type", ""))
        unanswerable = "_abs" in str(question.metadata.get("question_id", ""))
        prompt = own.prompts[f"answer.{'abstention' if unanswerable else TYPES.get(kind, 'fact_recall')}"]
        values = {"question": question.text, "answer": question.answers[0], "response": answer.text}
        reply = model.complete(prompt.render(values), max_tokens=ANSWER_TOKENS)
        judge = f"{self.name}({model.name}) {reply.model} {prompt.hash}"
        value = float("yes" in reply.text.lower())
        named = replace(own, model=ANSWER_MODEL).is_model(reply.model)
        scores = [Score("llm_accuracy", value, reply.text[:500], judge, reply.usage)]
        return [Score(MAIN, value, "llm_accuracy", judge), *scores] if named else [Score(MAIN, None, OTHER_MODEL, judge), *scores]

    @cached_property
    def _titles(self) -> Mapping[str, str]:
        """Load the titles of all recommendable items by id."""
        named = str(self._options.get("entities") or "")
        if not named:
            return {}
        try:
            table = json.loads(Path(named).expanduser().read_text("utf-8"))
            return {str(number): official.title_of(name) for name, number in table.items()}
        except (OSError, ValueError, AttributeError) as error:
            raise ConfigError(
                f"{named} is not a table of entities: {error}", fix="Give the data set's entity2id.json."
            ) from error


def summary_f1(replies: Mapping[str, str], points: int) -> float | None:
    """Return the fluency multiplied by the F1 of key points and sentences, or None if a reply can't be parsed."""
    try:
        read = {name: last_object(text) for name, text in replies.items()}
        fluency = float(read["fluency"]["fluency"])
        found, supported = float(read["recall"]["recall"]), float(read["precision"]["precision"])
        sentences = float(read["precision"]["sentence_count"])
    except (KeyError, TypeError, ValueError):
        return None
    recall = found / points if points else 0.0
    precision = supported / sentences if sentences > 0 else 0.0
    return fluency * 2 * recall * precision / (recall + precision) if recall + precision > 0 else 0.0
