"""Judges that ask a model: yes or no with the prompt of the question's type, or each point of a rubric."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core import overlap
from memeval.core.errors import ConfigError
from memeval.core.protocols import Model
from memeval.core.types import Answer, Question, QuestionType, Score
from memeval.judges.base import NO_GOLD, check_names, grade, json_score, protocol_of, yes_or_no
from memeval.prompts import Prompt, find_prompt
from memoryd.core.types import Completion, Usage

MAX_TOKENS = 512
_METRICS = {"locomo": "locomo_llm_accuracy"}
_OPTIONS = frozenset({"prompt", "prompt_by_type", "base", "max_tokens", "official", "official_model"})
_OFFICIAL_TOKENS = 10
"""Output tokens of LongMemEval's own judge."""
_SHOWN = 500  # characters of the reply that are kept as the reason


class PromptedJudge:
    """A model with prompts by question type.

    Options: `prompt` (a name, file or text that replaces the benchmark's), `prompt_by_type` (the same by unified
    type), `base` (folder of relative files), `max_tokens`. `official`: the benchmark's own prompts by question type and
    `official_model` the model that its paper judges with; with both a result has the benchmark's name.
    """

    kind = ""

    def __init__(self, model: Model | None, options: Mapping[str, Any] | None = None) -> None:
        options = options or {}
        check_names(self.kind, options, _OPTIONS)
        if model is None:
            raise ConfigError(f"The judge {self.kind} needs a model.", fix="Choose one with --judge-model, or take the judge f1.")
        self._model = model
        self._protocol = protocol_of(options)
        self._override = str(options.get("prompt") or "")
        self._by_type = {str(key): str(value) for key, value in (options.get("prompt_by_type") or {}).items()}
        self._base = Path(options["base"]) if options.get("base") else None
        self._official: Mapping[QuestionType, Prompt] = options.get("official") or {}
        self._official_model = str(options.get("official_model") or "")
        self._limit = int(options.get("max_tokens", _OFFICIAL_TOKENS if self._official else MAX_TOKENS))
        self._prompt = lru_cache(maxsize=None)(self._find)
        self._prompt(QuestionType.FACT_RECALL)  # a prompt that can't be read is told before the run

    @property
    def name(self) -> str:
        """The kind with the model, which is part of what a number means."""
        return f"{self.kind}({self._model.name})"

    def prompt_hashes(self) -> dict[str, str]:
        """Hash of the prompt by question type, for the record of the run."""
        return {kind.value: self._prompt(kind).hash for kind in QuestionType}

    def ask(self, question: Question, gold: str, answer: Answer) -> tuple[Completion, str]:
        """The model's reply, and how it is recorded: the judge, the model that answered (a dated snapshot), the prompt's hash."""
        prompt = self._prompt(question.type)
        messages = prompt.render({"question": question.text, "answer": gold, "response": answer.text})
        reply = self._model.complete(messages, max_tokens=self._limit)
        return reply, f"{self.name} {reply.model} {prompt.hash}"

    def _find(self, kind: QuestionType) -> Prompt:
        if kind in self._official:
            return self._official[kind]
        return find_prompt("judge", self._protocol, kind.value, override=self._override, by_type=self._by_type, base=self._base)


@registry.judge("llm")
class LLMJudge(PromptedJudge):
    """Yes or no. Raises ModelError when the model fails; a reply that is neither yes nor no is unscored."""

    kind = "llm"

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """The accuracy of the benchmark's protocol; for LongMemEval also with the official label, from the same reply."""
        metric = _METRICS.get(self._protocol, "llm_accuracy")
        if self._protocol == "locomo" and question.is_abstention:
            return [Score(metric, None, "skipped: category 5 is not part of this accuracy", self.name)]
        if not question.answers and not question.is_abstention:
            return [Score(metric, None, NO_GOLD, self.name)]
        gold = " | ".join(question.answers) or "The information was never given."
        reply, judge = self.ask(question, gold, answer)
        verdict = yes_or_no(reply.text)
        scores = [Score(metric, None if verdict is None else float(verdict), reply.text[:_SHOWN], judge, reply.usage)]
        if self._protocol == "longmemeval":
            label = float("yes" in reply.text.lower())
            named = self._official and self._official_model and self._official_model in reply.model
            name = "longmemeval_accuracy" if named else f"{metric}_label"
            scores.append(Score(name, label, "", judge))  # the usage is counted once
        return scores


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
