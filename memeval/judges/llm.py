"""`llm`: a model says yes or no, by the prompt of the benchmark and of the question's type.

    LongMemEval  longmemeval_accuracy           strict: the reply is yes or no, anything else is unscored
                 longmemeval_accuracy_official  the official label: "yes" occurs in the reply
    LoCoMo       locomo_llm_accuracy            the vendors' accuracy, over categories 1 to 4; category 5 is unscored
    others       llm_accuracy

Sources: src/evaluation/evaluate_qa.py of LongMemEval (Wu et al. 2025); for LoCoMo the judge that vendors publish with.
The temperature is 0. The limit of output tokens is 512 where LongMemEval has 10: a model that thinks first would be cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.errors import ConfigError
from memeval.core.protocols import Model
from memeval.core.types import Answer, Question, QuestionType, Score
from memeval.judges.base import NO_GOLD, check_names, protocol_of
from memeval.judges.verdict import yes_or_no
from memeval.prompts import Prompt, find_prompt
from memoryd.core.types import Completion

MAX_TOKENS = 512
_METRICS = {"longmemeval": "longmemeval_accuracy", "locomo": "locomo_llm_accuracy"}
_SHOWN = 500  # characters of the reply that are kept as the reason


class PromptedJudge:
    """A model with prompts by question type.

    Options: `prompt` (a name, file or text that replaces the benchmark's), `prompt_by_type` (the same by unified
    type), `base` (folder of relative files), `max_tokens`.
    """

    kind = ""

    def __init__(self, model: Model | None, options: Mapping[str, Any] | None = None) -> None:
        options = options or {}
        check_names(self.kind, options, frozenset({"prompt", "prompt_by_type", "base", "max_tokens"}))
        if model is None:
            raise ConfigError(f"The judge {self.kind} needs a model.", fix="Choose one with --judge-model, or take the judge f1.")
        self._model = model
        self._protocol = protocol_of(options)
        self._override = str(options.get("prompt") or "")
        self._by_type = {str(key): str(value) for key, value in (options.get("prompt_by_type") or {}).items()}
        self._base = Path(options["base"]) if options.get("base") else None
        self._limit = int(options.get("max_tokens", MAX_TOKENS))
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
            scores.append(Score(f"{metric}_official", label, "", judge))  # the usage is counted once
        return scores
