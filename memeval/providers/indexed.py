"""Local providers that rank passages with an in-memory index. The keys of the passages can be expanded."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from memeval.core.protocols import Capabilities
from memeval.core.types import Retrieved, SearchRequest, Session
from memeval.providers.expansion import CONTEXT, by_turn, expand, kinds_of
from memeval.providers.local import ModelAided, Options, sqlite_notes
from memeval.providers.retrieval import CONTEXT_CHARACTERS, RetrievalUnit, Scores, best, cut, in_context, with_times
from memeval.specs import ProviderSpec

INDEXES_KEPT = 6
IndexT = TypeVar("IndexT")


class IndexedProvider(ModelAided, Generic[IndexT]):
    """A provider with an in-memory index for each scope and granularity, built at the first search.

    The option `keyExpansion` adds text to the keys of a passage: the end of the previous passage, or keys generated
    for its session by the model in the option `model`. The option `timeAware` raises the scores of passages from a
    time mentioned in the question.
    """

    capabilities = Capabilities(model=True).searching("keyExpansion", "timeAware")
    expands = True
    """Whether a model can add keys."""

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self._indexes: OrderedDict[tuple[str, str], tuple[list[RetrievalUnit], IndexT]] = OrderedDict()
        self._lock = threading.RLock()
        super().__init__(spec, options)

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        kinds = kinds_of(options)
        self._context = CONTEXT_CHARACTERS if CONTEXT in kinds else 0
        self._kinds = tuple(kind for kind in kinds if kind != CONTEXT)
        if self._kinds and not (self.expands and self._named):
            wanted = (
                "the option model, for the model that writes them" if self.expands else "true or false: it writes its own keys"
            )
            raise options.wrong("keyExpansion", ", ".join(kinds), wanted)
        self._time_aware = options.flag("timeAware", False)

    def pieces(self, scope: str, granularity: str) -> list[RetrievalUnit]:
        """Return the passages of a scope with their keys and the model's additions."""
        sessions = self.store.all(scope)
        more = self.expansions(scope, sessions)
        if not more:
            return self.keyed(sessions, granularity)
        return [replace(one, key="\n".join([one.key, *added(one, more)])) for one in self.keyed(sessions, granularity)]

    def index_fresh(self, scope: str, sessions: Sequence[Session]) -> None:
        """Generate the model's keys for these sessions before the first search."""
        self.expansions(scope, sessions, fresh=True)

    def expansions(self, scope: str, sessions: Sequence[Session], *, fresh: bool = False) -> dict[str, list[str]]:
        """Return the model's expansions by turn. They are generated only once and stored."""
        model = self.model
        if not self._kinds or model is None:
            return {}
        by_id = {session.id: session for session in sessions}
        keys = [f"{kind}:{id}" for kind in self._kinds for id in by_id]

        def made(key: str, _: Mapping[str, Any]) -> Any:
            kind, id = key.split(":", 1)
            return expand(model, kind, by_id[id])

        known = self.answers(scope, sqlite_notes(self.store.folder), keys, made, keys if fresh else ())
        return by_turn(sessions, known, self._kinds)

    def keyed(self, sessions: Sequence[Session], granularity: str) -> list[RetrievalUnit]:
        """Split the sessions into passages with keys."""
        return in_context(cut(sessions, granularity), self._context)

    def build(self, scope: str, pieces: Sequence[RetrievalUnit]) -> IndexT:
        """Build an index of the passages."""
        raise NotImplementedError

    def rank(self, index: IndexT, pieces: Sequence[RetrievalUnit], request: SearchRequest) -> Scores:
        """Return the score of each passage, as an array of shape (passages,)."""
        raise NotImplementedError

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return the passages with the best scores."""
        pieces, index = self.index(scope, request.granularity)
        if not pieces:
            return []
        scores = self.rank(index, pieces, request)
        if self._time_aware:
            scores = with_times(scores, pieces, request.text, request.at)
        return [pieces[number].retrieved(score) for number, score in best(scores, request.k)]

    def index(self, scope: str, granularity: str) -> tuple[list[RetrievalUnit], IndexT]:
        """Return the passages and the index of a scope. The most recently used ones are cached."""
        key = (scope, granularity)
        with self._lock:
            if key not in self._indexes:
                pieces = self.pieces(scope, granularity)
                self._indexes[key] = (pieces, self.build(scope, pieces))
                while len(self._indexes) > INDEXES_KEPT:
                    self._indexes.popitem(last=False)
            self._indexes.move_to_end(key)
            return self._indexes[key]

    def changed(self, scope: str) -> None:
        """Drop the indexes of the scope."""
        with self._lock:
            for key in [key for key in self._indexes if key[0] == scope]:
                del self._indexes[key]

    def close(self) -> None:
        """Drop all indexes."""
        with self._lock:
            self._indexes.clear()
        super().close()


def added(piece: RetrievalUnit, more: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the model's additions to a passage: those of its turns, without duplicates."""
    return list(dict.fromkeys(text for turn in piece.turns for text in more.get(turn, ())))
