"""Baselines without search: nothing, the full context, the most recent passages, the oracle, and a guard by words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memeval import registry
from memeval.core.protocols import Capabilities
from memeval.core.text import estimate_tokens
from memeval.core.types import Case, HookCall, Question, Retrieved, SearchRequest
from memeval.providers.local import LocalProvider, Options
from memeval.providers.retrieval import RetrievalUnit, cut


@registry.provider("none")
class NoneProvider(LocalProvider):
    """A provider that returns nothing. It is the lower bound."""

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return nothing."""
        return []


@registry.provider("full-context")
class FullContextProvider(LocalProvider):
    """A provider that returns all sessions in order as one passage.

    The option `maxTokens` limits the passage to the newest turns that fit. 0 means no limit.
    """

    capabilities = Capabilities().searching("maxTokens")

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._max_tokens = options.count("maxTokens", 0)

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return one passage of the newest turns that fit."""
        pieces = self._fitting(cut(self.store.all(scope), "session"))
        if not pieces:
            return []
        turns = tuple(id for piece in pieces for id in piece.turns)
        text = "\n\n".join(piece.text for piece in pieces)
        return [Retrieved(text, 1.0, tuple(piece.session for piece in pieces), turns, pieces[-1].at)]

    def _fitting(self, pieces: list[RetrievalUnit]) -> list[RetrievalUnit]:
        if not self._max_tokens:
            return pieces
        kept: list[RetrievalUnit] = []
        left = self._max_tokens
        for piece in reversed(pieces):
            left -= estimate_tokens(piece.text)
            if left < 0:
                break
            kept.insert(0, piece)
        return kept


@registry.provider("last-k")
class LastKProvider(LocalProvider):
    """A provider that returns the newest passages, newest first.

    The option `last` is the maximum number of passages. 0 means as many as requested.
    """

    capabilities = Capabilities().searching("last")

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._last = options.count("last", 0)

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return the newest passages. Scores start at 1 and decrease with the rank."""
        pieces = cut(self.store.all(scope), request.granularity)
        count = min(self._last or request.k, request.k)
        return [piece.retrieved(1.0 / (place + 1)) for place, piece in enumerate(reversed(pieces[-count:]))]


@registry.provider("oracle")
class OracleProvider(LocalProvider):
    """A provider that returns the gold evidence. It is the upper bound of retrieval."""

    capabilities = Capabilities(gold=True)

    def configure(self, options: Options) -> None:
        """Accept no options."""
        self._questions: dict[str, dict[str, Question]] = {}

    def use_gold(self, scope: str, case: Case) -> None:
        """Store the evidence of the case's questions."""
        self._questions[scope] = {question.text: question for question in case.questions}

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return the evidence passages in order. Return nothing for a question without evidence."""
        question = self._questions.get(scope, {}).get(request.text)
        if question is None:
            return []
        pieces = cut(self.store.all(scope), request.granularity)
        return [piece.retrieved(1.0) for piece in _evidence(pieces, question)]


_NAMED = re.compile(r"`([^`]{1,200})`|\(([^)]{1,200})\)|(\S{1,80}/|\.\w{1,40}|--?\w{1,40})(?=[\s.,]|$)")
_VERB = re.compile(
    r"\b(?:never|use|run|with|no|don't|kein|niemals|nie)\s+(?:mit\s+|use\s+|run\s+|with\s+)?([\w.-]{2,40})", re.IGNORECASE
)


@registry.provider("rule-words")
class RuleWordsProvider(NoneProvider):
    """A guard that acts on each call containing a word from one of the user's rules. It finds nothing in searches.

    Relevant words are those in backquotes or parentheses, flags, folders, and the words after `never`, `use` and the like.
    """

    capabilities = Capabilities(guard=True)

    def guard(self, scope: str, call: HookCall, before: Sequence[HookCall]) -> str:
        """Return the user's sentence that shares a name with the call."""
        text = "\n".join(call.input.values())
        said = (turn.text for session in self.store.all(scope) for turn in session.turns if turn.role == "user")
        return next((one for one in said if any(name in text for name in _names(one))), "")


def _names(rule: str) -> Iterator[str]:
    yield from (part for match in _NAMED.finditer(rule) for part in match.groups() if part)
    yield from (match[1] for match in _VERB.finditer(rule))


def _evidence(pieces: Sequence[RetrievalUnit], question: Question) -> list[RetrievalUnit]:
    """Return the passages with an evidence turn or, if the evidence turns are unknown, those of the evidence sessions."""
    turns, sessions = set(question.evidence_turns), set(question.evidence_sessions)
    if turns:
        return [piece for piece in pieces if turns & set(piece.turns)]
    return [piece for piece in pieces if piece.session in sessions]
