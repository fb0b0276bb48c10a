"""LLM judges: yes or no with the prompt of the question type, or a grade for each point of a rubric.

With a benchmark's official prompts, replies are parsed as in the official code. If the model is also the pinned one, the
score is named after the benchmark. Otherwise, it is named `llm_accuracy` or `rubric`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core import overlap
from memeval.core.errors import ConfigError
from memeval.core.protocols import Model
from memeval.core.types import Answer, Question, QuestionType, Score
from memeval.judges.base import (
    NO_GOLD,
    check_names,
    correct_or_wrong,
    grade,
    json_score,
    labelled,
    protocol_of,
    right_or_wrong,
    yes_or_no,
)
from memeval.prompts import Prompt, find_prompt
from memeval.prompts.official import Official
from memoryd.core.types import Completion, Usage

MAX_TOKENS = 512
_OPTIONS = frozenset({"prompt", "prompt_by_type", "base", "max_tokens", "official"})
_SHOWN = 500  # Maximum characters of the reply to keep as the reason.
_KEPT_TYPES = {"user_evidence": "user", "abstention_evidence": "abstention"}
_RUBRICS = ("preference_evidence", "implicit_connection_evidence")


def _convomem_key(question: Question) -> str:
    """Return the prompt key of a category. User facts have separate keys for single and multiple messages."""
    if question.category in _RUBRICS:
        return "rubric"
    kind = _KEPT_TYPES.get(question.category, "default")
    several = len(question.metadata.get("evidence_texts", ())) != 1
    return f"user_{'n' if several else '1'}" if kind == "user" else kind


@dataclass(frozen=True, slots=True)
class Protocol:
    """The score name, reply parser and prompt selection of the official code."""

    metric: str
    read: Callable[[str], float | None]
    key: Callable[[Question], str]


def _label(reply: str) -> float:
    return float("yes" in reply.lower())


def _verdict(reply: str) -> float | None:
    value = right_or_wrong(reply)
    return None if value is None else float(value)


PROTOCOLS: Mapping[str, Protocol] = {
    "longmemeval": Protocol("longmemeval_accuracy", _label, lambda question: question.type.value),
    "locomo": Protocol("locomo_llm_accuracy", correct_or_wrong, lambda question: "accuracy"),
    "locomo-plus": Protocol("locomo_plus_score", labelled, lambda question: "Cognitive"),
    "convomem": Protocol("convomem_accuracy", _verdict, _convomem_key),
}


class PromptedJudge:
    """A judge that prompts a model by question type.

    The option `prompt` is a name, file or text that replaces the benchmark's prompt. `prompt_by_type` does the same
    per unified type. `base` is the folder for relative paths. `max_tokens` limits the reply. `official` provides the
    benchmark's own prompts and the judging model of its code or paper.
    """

    kind = ""

    def __init__(self, model: Model | None, options: Mapping[str, Any] | None = None) -> None:
        options = options or {}
        check_names(self.kind, options, _OPTIONS)
        if model is None:
            raise ConfigError(
                f"The judge {self.kind} requires a model.", fix="Choose one with --judge-model, or use the judge f1."
            )
        self._model = model
        self._protocol = protocol_of(options)
        self._override = str(options.get("prompt") or "")
        self._by_type = {str(key): str(value) for key, value in (options.get("prompt_by_type") or {}).items()}
        self._base = Path(options["base"]) if options.get("base") else None
        self._official: Official | None = options.get("official")
        own = self._official.max_tokens if self._official else MAX_TOKENS
        self._limit = int(options["max_tokens"]) if "max_tokens" in options else own
        self._prompt = lru_cache(maxsize=None)(self._find)
        self._prompt(QuestionType.FACT_RECALL)  # Report unreadable prompts before the run starts.

    @property
    def name(self) -> str:
        """The kind of judge and its model. Figures of different models aren't comparable."""
        return f"{self.kind}({self._model.name})"

    def prompt_hashes(self) -> dict[str, str]:
        """Return the hashes of the prompts by question type, or by the keys of the official code."""
        if self._official:
            return {str(key): prompt.hash for key, prompt in self._official.prompts.items()}
        return {kind.value: self._prompt(kind).hash for kind in QuestionType}

    def ask(self, prompt: Prompt, question: Question, gold: str, answer: Answer) -> tuple[Completion, str]:
        """Ask the model.

        Return the reply, and the origin of the judgement for the record. The origin consists of the judge, the model
        snapshot that replied and the hash of the prompt.
        """
        values = {"question": question.text, "answer": gold, "response": answer.text, "evidence": evidence_text(question)}
        reply = self._model.complete(prompt.render(values), max_tokens=self._limit)
        return reply, f"{self.name} {reply.model} {prompt.hash}"

    def _find(self, kind: QuestionType) -> Prompt:
        return find_prompt("judge", self._protocol, kind.value, override=self._override, by_type=self._by_type, base=self._base)


def evidence_text(question: Question) -> str:
    """Format the evidence texts. Several texts are numbered, as in ConvoMem's code."""
    texts = [str(text) for text in question.metadata.get("evidence_texts", ())]
    if len(texts) <= 1:
        return "".join(texts)
    return "\n".join(f"Evidence Message {number}: {text}" for number, text in enumerate(texts, start=1))


@registry.judge("llm")
class LLMJudge(PromptedJudge):
    """Judges an answer with yes or no. Any other reply leaves it unscored. Raises ModelError if the model fails."""

    kind = "llm"

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Score the answer by the benchmark's protocol.

        For LongMemEval, the official label is read from the same reply and returned as well.
        """
        skipped = self._skipped(question)
        if skipped:
            return [Score("llm_accuracy", None, skipped, self.name)]
        rules = PROTOCOLS.get(self._protocol)
        gold = " | ".join(question.answers) or "The information was never given."
        if self._protocol == "longmemeval":
            return self._with_label(question, gold, answer)
        if rules is None or self._official is None:
            reply, judge = self.ask(self._prompt(question.type), question, gold, answer)
            verdict = yes_or_no(reply.text)
            return [self._scored("llm_accuracy", None if verdict is None else float(verdict), reply, judge)]
        reply, judge = self.ask(self._official.prompts[rules.key(question)], question, gold, answer)
        name = rules.metric if self._official.is_model(reply.model) else "llm_accuracy"
        return [self._scored(name, rules.read(reply.text), reply, judge)]

    def _skipped(self, question: Question) -> str:
        if self._protocol == "locomo" and question.is_abstention:
            return "skipped: category 5 is not part of this accuracy"
        has_gold = question.answers or question.is_abstention or question.metadata.get("evidence_texts")
        return "" if has_gold else NO_GOLD

    def _with_label(self, question: Question, gold: str, answer: Answer) -> list[Score]:
        """Return the strict score and LongMemEval's label.

        The label is named after the benchmark if both the prompts and the model match the paper.
        """
        rules = PROTOCOLS["longmemeval"]
        prompt = self._official.prompts[rules.key(question)] if self._official else self._prompt(question.type)
        reply, judge = self.ask(prompt, question, gold, answer)
        verdict = yes_or_no(reply.text)
        named = self._official is not None and self._official.is_model(reply.model)
        return [
            self._scored("llm_accuracy", None if verdict is None else float(verdict), reply, judge),
            Score(rules.metric if named else "llm_accuracy_label", rules.read(reply.text), "", judge),  # Count usage only once.
        ]

    def _scored(self, metric: str, value: float | None, reply: Completion, judge: str) -> Score:
        return Score(metric, value, reply.text[:_SHOWN], judge, reply.usage)


ORDERED = "event_ordering"
MAX_LINES = 100
"""Maximum lines of an answer to match. Each line costs one call per unmatched point."""
UNDEFINED = "skipped: tau is undefined, a list has a single rank"


@registry.judge("rubric")
class RubricJudge(PromptedJudge):
    """Grades each point of a rubric with a separate model call. Raises ModelError if the model fails."""

    kind = "rubric"

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Return a score for each of the two interpretations of the grades, and a score for the order of events if required.

        The replies are recorded as the reason.
        """
        points = [str(point) for point in question.metadata.get("rubric", ())] or list(question.answers)
        if not points:
            return [Score("rubric", None, NO_GOLD, self.name)]
        prompt = self._official.prompts["rubric"] if self._official else self._prompt(question.type)
        replies = [self.ask(prompt, question, point, answer) for point in points]
        usage = sum((reply.usage for reply, _ in replies), Usage())
        judge = replies[0][1]
        kept, cut = means([reply.text for reply, _ in replies])
        reason = "; ".join(reply.text[:60] for reply, _ in replies)
        scores = [Score("rubric", kept, reason, judge, usage), Score("rubric_cut", cut, reason, judge)]
        order = self._order(points, answer) if question.category == ORDERED else []
        named = self._official is not None and self._official.is_model(replies[0][0].model)
        return [*([_beam_score(cut, order, judge)] if named else []), *scores, *order]

    def _order(self, points: Sequence[str], answer: Answer) -> list[Score]:
        lines = answer.text.split("\n")[:MAX_LINES]
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
        """Return the first unmatched point that the model considers equivalent to the line."""
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
        if self._official:
            return self._official.prompts["same"]
        return find_prompt("same", "beam", base=self._base)

    def _find(self, kind: QuestionType) -> Prompt:
        given = self._by_type.get(kind.value) or self._override
        return find_prompt("judge", "beam", override=given, base=self._base)


def _beam_score(cut: float | None, order: Sequence[Score], judge: str) -> Score:
    """Return BEAM's score.

    For the order of events, this is Kendall's tau. Otherwise, it is computed from truncated grades, as in BEAM's code.
    """
    if order:
        return Score("beam_score", order[0].value, order[0].reason, judge)
    return Score("beam_score", cut, "", judge)


def means(replies: Sequence[str]) -> tuple[float | None, float | None]:
    """Return two mean grades, one with halves and one with halves truncated to 0.

    Both are None if a reply can't be parsed.
    """
    read = [grade(reply) if json_score(reply) is None else json_score(reply) for reply in replies]
    grades = [value for value in read if value is not None]
    if not replies or len(grades) < len(replies):
        return None, None
    return math.fsum(grades) / len(grades), math.fsum(map(int, grades)) / len(grades)
