"""Semantic recall as in agent frameworks: the nearest messages with their neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memeval import registry
from memeval.core.types import Retrieved, SearchRequest
from memeval.providers.hybrid import EmbeddingProvider
from memeval.providers.local import Options
from memeval.providers.retrieval import RetrievalUnit, best

SCOPES = ("resource", "thread")


@registry.provider("semantic-recall")
class SemanticRecallProvider(EmbeddingProvider):
    """A provider that finds messages by meaning. It returns windows of the conversation regardless of the granularity.

    The option `topK` is the number of messages (0 for as many as requested). `messageRange` is a number, or the numbers
    before and after a message. `scope` is resource (all sessions) or thread (only the newest one). The other options are
    `embedder` and `embedCharacters`.
    """

    capabilities = EmbeddingProvider.capabilities.searching("topK", "messageRange", "scope")

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self._top_k = options.count("topK", 0)
        self._before, self._after = _range(options)
        self._thread_only = options.text("scope", "resource", SCOPES) == "thread"

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return windows around the nearest messages. Each message is returned only once."""
        turns, index = self.index(scope, "turn")
        if not turns:
            return []
        scores = self.rank(index, turns, request)
        reach = len(turns) if self._thread_only else request.k
        ranked = [(number, score) for number, score in best(scores, reach) if self._may(turns, number)]
        shown: set[int] = set()
        out = []
        for number, score in ranked[: min(self._top_k or request.k, request.k)]:
            window = [place for place in self._window(turns, number) if place not in shown]
            if number in window:
                shown.update(window)
                out.append(_joined([turns[place] for place in window], score))
        return out

    def _may(self, turns: Sequence[RetrievalUnit], number: int) -> bool:
        return not self._thread_only or turns[number].session == turns[-1].session

    def _window(self, turns: Sequence[RetrievalUnit], number: int) -> list[int]:
        places = range(max(0, number - self._before), min(len(turns), number + self._after + 1))
        return [place for place in places if turns[place].session == turns[number].session]


def _range(options: Options) -> tuple[int, int]:
    value = options.get("messageRange", 1)
    before, after = (value.get("before", 0), value.get("after", 0)) if isinstance(value, Mapping) else (value, value)
    for number in (before, after):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise options.wrong("messageRange", value, "an integer, or a mapping with before and after")
    return before, after


def _joined(window: Sequence[RetrievalUnit], score: float) -> Retrieved:
    ids = tuple(id for piece in window for id in piece.turns)
    return Retrieved("\n".join(piece.text for piece in window), score, (window[0].session,), ids, window[0].at)
