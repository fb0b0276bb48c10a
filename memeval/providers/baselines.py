"""Baselines without search: nothing, everything, the newest, the gold."""

from __future__ import annotations

from collections.abc import Sequence

from memeval import registry
from memeval.core.protocols import Capabilities
from memeval.core.text import estimate_tokens
from memeval.core.types import Case, Question, Retrieved, SearchRequest
from memeval.providers.local import LocalProvider, Options
from memeval.providers.retrieval import RetrievalUnit, cut


@registry.provider("none")
class NoneProvider(LocalProvider):
    """Remembers nothing: the floor."""

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Nothing."""
        return []


@registry.provider("full-context")
class FullContextProvider(LocalProvider):
    """All sessions as one piece, in order. Option `maxTokens`: the newest that fit (0: no limit)."""

    capabilities = Capabilities().searching("maxTokens")

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._max_tokens = options.count("maxTokens", 0)

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """One piece that covers what fits."""
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
    """The newest pieces, newest first. Option `last`: how many at most (0: as many as asked for)."""

    capabilities = Capabilities().searching("last")

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._last = options.count("last", 0)

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """The newest; the score falls from 1 with the place."""
        pieces = cut(self.store.all(scope), request.granularity)
        count = min(self._last or request.k, request.k)
        return [piece.retrieved(1.0 / (place + 1)) for place, piece in enumerate(reversed(pieces[-count:]))]


@registry.provider("oracle")
class OracleProvider(LocalProvider):
    """The gold evidence: the ceiling of any retrieval."""

    capabilities = Capabilities(gold=True)

    def configure(self, options: Options) -> None:
        """No options."""
        self._questions: dict[str, dict[str, Question]] = {}

    def use_gold(self, scope: str, case: Case) -> None:
        """Take the case's questions with their evidence."""
        self._questions[scope] = {question.text: question for question in case.questions}

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Pieces of the evidence in order; nothing for a question without evidence."""
        question = self._questions.get(scope, {}).get(request.text)
        if question is None:
            return []
        pieces = cut(self.store.all(scope), request.granularity)
        return [piece.retrieved(1.0) for piece in _evidence(pieces, question)]


def _evidence(pieces: Sequence[RetrievalUnit], question: Question) -> list[RetrievalUnit]:
    """Pieces with an evidence turn; where turns are not known, those of the evidence sessions."""
    turns, sessions = set(question.evidence_turns), set(question.evidence_sessions)
    if turns:
        return [piece for piece in pieces if turns & set(piece.turns)]
    return [piece for piece in pieces if piece.session in sessions]
