"""What local providers have in common: sessions kept by scope, cut into pieces, ranked for a question."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from memeval.errors import ProviderError
from memeval.protocols import Capabilities, Model, Provider
from memeval.providers.notes import Notes
from memeval.providers.options import Options
from memeval.providers.pieces import CONTEXT_CHARACTERS, Piece, cut, in_context
from memeval.providers.ranking import Scores, best
from memeval.providers.sessions import SessionStore
from memeval.providers.times import with_times
from memeval.specs import ProviderSpec
from memeval.types import Retrieved, SearchRequest, Session

INDEXES_KEPT = 6
IndexT = TypeVar("IndexT")


class LocalProvider(Provider):
    """Keeps sessions under its work folder. Subclasses answer `find`; they may be used from several threads."""

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self._name = spec.name
        self._awaited: dict[str, set[str]] = {}
        self.options = Options(spec, options)
        self._sessions: SessionStore | None = None
        self.configure(self.options)
        self.options.finish()

    @property
    def name(self) -> str:
        """Name of the spec."""
        return self._name

    def configure(self, options: Options) -> None:
        """Read the options. Raises ConfigError."""

    @property
    def store(self) -> SessionStore:
        """The sessions; a ProviderError before `open`."""
        if self._sessions is None:
            raise ProviderError(f"Provider {self.name} is not open.", fix="Call open first.")
        return self._sessions

    def open(self, workdir: Path) -> None:
        """Keep the state of all scopes under the folder."""
        self._sessions = SessionStore(workdir)

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Keep the sessions; counts of what is new."""
        new = self.store.add(scope, sessions, done=self._awaited.pop(scope, ()))
        self.changed(scope)
        return {"sessions": len(sessions), "new": new}

    def changed(self, scope: str) -> None:
        """The scope's sessions are not what they were."""

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Index what came since the last time; what fails is tried again with the next call.

        It is noted as done when the next sessions come: the caller has then recorded it. A run that was killed in between
        does it again, with answers of models from their cache.
        """
        awaited = self._awaited.setdefault(scope, set())
        fresh = [session for session in self.store.fresh(scope) if session.id not in awaited]
        self.index_fresh(scope, fresh)
        awaited.update(session.id for session in fresh)

    def index_fresh(self, scope: str, sessions: Sequence[Session]) -> None:
        """Do what is best done once for each session, before the first search."""

    def search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """At most k pieces, best first."""
        return self.find(scope, request)[: request.k] if request.k > 0 else []

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Pieces, best first; k is at least 1."""
        raise NotImplementedError

    def clear(self, scope: str) -> None:
        """Forget the scope."""
        self._awaited.pop(scope, None)
        self.store.clear(scope)
        self.changed(scope)

    def close(self) -> None:
        """Let go of the work folder."""
        if self._sessions is not None:
            self._sessions.close()
        self._sessions = None


class ModelAided(LocalProvider):
    """A provider whose option `model` names a model that helps it."""

    capabilities = Capabilities(model=True)

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self.model: Model | None = None
        self._made: dict[str, dict[str, Any]] = {}
        super().__init__(spec, options)

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self._named = options.text("model", "")

    def use_model(self, model: Model) -> None:
        """Let this model help."""
        self.model = model

    def open(self, workdir: Path) -> None:
        """Raises ProviderError when a model is named and none was handed in: a run without it would not be what it says."""
        if self._named and self.model is None:
            raise ProviderError(f"{self.name} was to use {self._named}, but got no model.", fix="Call use_model before open.")
        super().open(workdir)

    def answers(
        self, scope: str, notes: Notes, keys: Sequence[str], ask: Callable[[str, Mapping[str, Any]], Any], fresh: Collection[str]
    ) -> dict[str, Any]:
        """The model's answers by key; each is kept as soon as it is there.

        `ask` gets a key and the answers so far. It is called for keys without an answer, and for those of fresh sessions
        also when there is one of a killed run: that call comes from the cache, and its tokens are counted as in a run
        that nobody killed. What this process has asked since the last success it does not ask again.
        """
        made = self._made.setdefault(scope, {})
        known = {key: note for key, note in notes.get(scope, keys).items() if key in made or key not in fresh}
        for key in keys:
            if key not in known:
                known[key] = made[key] = ask(key, known)
                notes.put(scope, {key: known[key]})
        made.clear()
        return known


class IndexedProvider(LocalProvider, Generic[IndexT]):
    """A provider with one index in memory for each scope and granularity, built at its first search.

    Options: `keyExpansion` (a piece is found by the end of the one before it, too), `timeAware` (pieces from a time that
    the question names gain).
    """

    capabilities = Capabilities().searching("keyExpansion", "timeAware")

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self._indexes: OrderedDict[tuple[str, str], tuple[list[Piece], IndexT]] = OrderedDict()
        self._lock = threading.RLock()
        super().__init__(spec, options)

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self._context = CONTEXT_CHARACTERS if options.flag("keyExpansion", False) else 0
        self._time_aware = options.flag("timeAware", False)

    def pieces(self, scope: str, granularity: str) -> list[Piece]:
        """The pieces of a scope, with their keys."""
        return self.keyed(self.store.all(scope), granularity)

    def keyed(self, sessions: Sequence[Session], granularity: str) -> list[Piece]:
        """The pieces of sessions, with their keys."""
        return in_context(cut(sessions, granularity), self._context)

    def build(self, scope: str, pieces: Sequence[Piece]) -> IndexT:
        """An index of the pieces."""
        raise NotImplementedError

    def rank(self, index: IndexT, pieces: Sequence[Piece], request: SearchRequest) -> Scores:
        """A score for each piece, shape (pieces,)."""
        raise NotImplementedError

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """The pieces with the best scores."""
        pieces, index = self.index(scope, request.granularity)
        if not pieces:
            return []
        scores = self.rank(index, pieces, request)
        if self._time_aware:
            scores = with_times(scores, pieces, request.text, request.at)
        return [pieces[number].retrieved(score) for number, score in best(scores, request.k)]

    def index(self, scope: str, granularity: str) -> tuple[list[Piece], IndexT]:
        """Pieces and index of a scope; the last few are kept."""
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
        """Drop the scope's indexes."""
        with self._lock:
            for key in [key for key in self._indexes if key[0] == scope]:
                del self._indexes[key]

    def close(self) -> None:
        """Drop all indexes."""
        with self._lock:
            self._indexes.clear()
        super().close()
