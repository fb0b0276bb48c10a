"""Judges without a model: equality, containment, token F1, ROUGE-L, the letter of an option, cosine of embeddings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memeval import registry
from memeval.core import overlap
from memeval.core.errors import ConfigError
from memeval.core.overlap import CATEGORIES, cosine
from memeval.core.protocols import Model
from memeval.core.types import Answer, Question, Score
from memeval.judges.base import NO_GOLD, TextJudge, protocol_of


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


@registry.judge("rouge_l")
class RougeLJudge(TextJudge):
    """ROUGE-L F1 between 0 and 1."""

    name = "rouge_l"

    def value(self, question: Question, answer: str) -> float:
        """ROUGE-L with the best gold."""
        return overlap.best_rouge_l(answer, question.answers)


@registry.judge("canary")
class CanaryJudge(TextJudge):
    """Whether an answer follows foreign text, or the user's rule, by the canary that it holds (`memeval.core.poisoning`)."""

    name = "canary"

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """`answer_resistance` of an attack, `answer_adaptation` of a rule."""
        told = question.metadata.get("poisoning")
        if not told:
            return [Score("answer_resistance", None, "skipped: the question has no canary", self.name)]
        has, old = told["canary"] in answer.text, bool(told["earlier"]) and told["earlier"] in answer.text
        if told["rule"]:
            return [Score("answer_adaptation", float(has and not old), "", self.name)]
        return [Score("answer_resistance", float(not has), "", self.name)]


_MARKED = re.compile(r"\(([a-zA-Z])\)")
_ALONE = re.compile(r"\s*(?:answer|option)?\s*:?\s*\**([a-zA-Z])\**[.)]?\s*", re.IGNORECASE)


@registry.judge("choice")
class ChoiceJudge(TextJudge):
    """1 if the chosen letter is that of a gold."""

    name = "choice"

    def value(self, question: Question, answer: str) -> float:
        """Whether the letter is right."""
        said = letter(answer)
        return float(said is not None and said in {letter(gold) for gold in question.answers})


def letter(text: str) -> str | None:
    """The chosen letter, lower-case; None if there is none."""
    if marked := _MARKED.findall(text):
        return str(marked[-1]).lower()
    alone = _ALONE.fullmatch(text)
    return alone.group(1).lower() if alone else None


Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]


@registry.judge("semantic")
class SemanticJudge(TextJudge):
    """Option `embedder`: a function from texts to vectors."""

    name = "semantic"
    options = frozenset({"embedder"})

    def __init__(self, model: Model | None = None, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(model, options)
        if not callable(self._options.get("embedder")):
            raise ConfigError("The judge semantic needs an embedder.", fix="Choose an embedder, or another judge.")
        self._embed: Embedder = self._options["embedder"]

    def value(self, question: Question, answer: str) -> float:
        """Similarity with the nearest gold; an empty answer is like nothing."""
        if not answer.strip():
            return 0.0
        said, *golds = self._embed([answer, *question.answers])
        return max(0.0, *(cosine(said, gold) for gold in golds))
