"""The contracts of the platform. Phases see these only, never a concrete class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from memeval.types import Answer, Case, Question, Retrieved, Score, SearchRequest, Session
from memoryd.types import Completion, Message


class Benchmark(Protocol):
    """A set of cases. `cases` streams: at most one case is in memory at a time, in a stable order."""

    @property
    def name(self) -> str:
        """Registered name."""
        ...

    def cases(self) -> Iterator[Case]:
        """All cases. Raises DataError naming file, record and field."""
        ...

    def data_hash(self) -> str:
        """SHA-256 of the data files."""
        ...


class Provider(Protocol):
    """A memory system under test. One scope is one case of one run; scopes never see each other.

    `ingest` may be called several times for a scope (batches, in time order) and must be idempotent for
    a session that it has seen. It never gets `source_id`s or gold. `search` returns at most k pieces, best first.
    Raises ProviderError; `transient` ones are retried by the runner.
    """

    @property
    def name(self) -> str:
        """Registered name."""
        ...

    def open(self, workdir: Path) -> None:
        """Prepare; local providers keep the state of all scopes under `workdir`, so that it can be reused."""
        ...

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Remember the sessions; the result is recorded (counts, ids, tokens)."""
        ...

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Return when everything that was ingested can be found."""
        ...

    def search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Find pieces for a question."""
        ...

    def clear(self, scope: str) -> None:
        """Forget the scope; an unknown one is fine."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Model(Protocol):
    """An answering or judging model. Raises ModelError (transient or not)."""

    @property
    def name(self) -> str:
        """As recorded with results."""
        ...

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """One answer at temperature 0."""
        ...


class Judge(Protocol):
    """Scores a hypothesis against the gold."""

    @property
    def name(self) -> str:
        """As recorded with results."""
        ...

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """One score for each metric that the judge knows; value None where it can't be scored."""
        ...


class RetrievalMetric(Protocol):
    """A pure function of what was retrieved and what was needed, for one question."""

    @property
    def name(self) -> str:
        """Name without the cut-off, e.g. recall_all."""
        ...

    def __call__(self, ranked: Sequence[Sequence[str]], relevant: Sequence[str], k: int) -> float | None:
        """Value at cut-off k. `ranked` holds for each retrieved piece the ids it covers; None means unscored."""
        ...
