"""The extractor that asks a language model. The prompt is a versioned file beside this module."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from memoryd.config import Settings
from memoryd.daydream.answer import SCHEMA, InvalidAnswerError, ground, parse_answer
from memoryd.daydream.decided import counts, refused
from memoryd.daydream.privacy import redacted_passage
from memoryd.daydream.redact import redact
from memoryd.daydream.render import render
from memoryd.errors import ModelError
from memoryd.protocols import LLM
from memoryd.text import shorten
from memoryd.types import Candidate, Extraction, Message, Passage, Refused, Usage

PROMPT_VERSION = "extract_v2"


@runtime_checkable
class Closable(Protocol):
    """Something that may be at work when the daemon stops."""

    def close(self) -> None:
        """Stop now."""
        ...


class UnusableAnswerError(ModelError):
    """The model answered twice with something else than was asked for. `usage` is what that cost."""

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(
            message,
            fix="It is tried again later; if it stays so, choose another model or reader = session.",
            transient=True,
        )
        self.usage = usage


def load_prompt(version: str = PROMPT_VERSION) -> str:
    """The instructions given to the model."""
    return files("memoryd.daydream").joinpath("prompts", f"{version}.md").read_text("utf-8")


class ModelExtractor:
    """An Extractor over any LLM.

    What it sends is redacted; what comes back is checked against the schema and its evidence.
    An answer that stays invalid after one repair is an error, never an empty success.
    """

    def __init__(self, llm: LLM, settings: Settings, name: str = "endpoint") -> None:
        self._llm = llm
        self._name = name
        self._budget = settings.chunk_tokens

    @property
    def name(self) -> str:
        """Which reader this is: endpoint or claude."""
        return self._name

    @property
    def version(self) -> str:
        """The prompt's version, recorded with results."""
        return PROMPT_VERSION

    def extract(self, passage: Passage) -> Extraction:
        """Candidates in the order of their evidence. Raises ModelError."""
        messages = self.messages(passage)
        completion = self._llm.complete(messages, SCHEMA)
        usage = completion.usage
        try:
            answer = parse_answer(completion.text)
        except InvalidAnswerError as problem:
            completion = self._llm.complete(_repair(messages, completion.text, str(problem)), SCHEMA)
            usage += completion.usage
            try:
                answer = parse_answer(completion.text)
            except InvalidAnswerError as again:
                raise UnusableAnswerError(f"{self._llm.name} gave an unusable answer: {again}.", usage) from again
        candidates, unfounded = ground(answer.proposals, passage)
        clean, secret = _without_secrets(candidates)
        left_out = (*unfounded, *secret)
        skipped = MappingProxyType(counts(left_out))
        model = completion.model or self._llm.name
        handoff = redact(answer.handoff).text if passage.ends else ""
        return Extraction(clean, skipped, self._name, model, usage, left_out, handoff)

    def close(self) -> None:
        """End a model run that is under way, from whatever thread; models over HTTP end by their time-out."""
        if isinstance(self._llm, Closable):
            self._llm.close()

    def messages(self, passage: Passage) -> list[Message]:
        """What is sent: the instructions, and the redacted passage as data."""
        return messages_for(passage, self._budget)

    def print_prompt(self, passage: Passage) -> str:
        """The exact text that would leave the machine, for people who want to see it."""
        return print_prompt(self.messages(passage))


def messages_for(passage: Passage, budget_tokens: int) -> list[Message]:
    """The instructions, the same in each call, and the redacted passage as data within the budget, tool noise cut first."""
    return [Message("system", load_prompt()), Message("user", redact(render(redacted_passage(passage), budget_tokens)).text)]


def print_prompt(messages: Sequence[Message]) -> str:
    """The exact text of the messages, each under its role."""
    return "\n\n".join(f"--- {message.role} ---\n{message.content}" for message in messages)


def _repair(messages: list[Message], answer: str, problem: str) -> list[Message]:
    told = f"Your answer can't be used: {problem}. Answer again with the one JSON object that was asked for, nothing else."
    return [*messages, Message("assistant", shorten(answer, 8_000)), Message("user", told)]


def _without_secrets(candidates: list[Candidate]) -> tuple[tuple[Candidate, ...], list[Refused]]:
    """A statement in which a secret is found on the way back is dropped: without the secret it says little."""
    kept = tuple(candidate for candidate in candidates if not _holds_secret(candidate))
    return kept, [refused(candidate, "holds a secret") for candidate in candidates if candidate not in kept]


def _holds_secret(candidate: Candidate) -> bool:
    return any(redact(text).found for text in (candidate.content, *candidate.asked_as))
