"""What the judges without a model share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memeval.core.errors import ConfigError
from memeval.core.overlap import says_nothing_known
from memeval.core.protocols import Judge, Model
from memeval.core.types import Answer, Question, Score

NO_GOLD = "skipped: the question has no gold answer"


def check_names(judge: str, options: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raises ConfigError for an option that the judge does not have; `protocol` and `benchmark` are known to all."""
    every = known | {"protocol", "benchmark"}
    if unknown := options.keys() - every:
        raise ConfigError(f"Judge {judge} has no option {min(unknown)!r}.", fix=f"Known: {', '.join(sorted(every))}.")


def protocol_of(options: Mapping[str, Any]) -> str:
    """The protocol to judge by: option `protocol`, else the family of the benchmark's name (longmemeval-s: longmemeval)."""
    return str(options.get("protocol") or str(options.get("benchmark") or "").split("-")[0])


class TextJudge(Judge):
    """A judge that is a pure function of texts. An abstention question is right if the answer abstains."""

    name = ""
    options: frozenset[str] = frozenset()

    def __init__(self, model: Model | None = None, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        check_names(self.name, self._options, self.options)

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """One score, named as the judge."""
        return [self._score(question, answer)]

    def _score(self, question: Question, answer: Answer) -> Score:
        if question.is_abstention:
            said = says_nothing_known(answer.text)
            return Score(self.name, float(said), "abstained" if said else "did not abstain", self.name)
        if not question.answers:
            return Score(self.name, None, NO_GOLD, self.name)
        return Score(self.name, self.value(question, answer.text), "", self.name)

    def value(self, question: Question, answer: str) -> float:
        """The value for a question with a gold answer."""
        raise NotImplementedError
