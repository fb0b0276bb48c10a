"""The contracts of the platform. Phases see these only, never a concrete class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from memeval.core.calls import Stop
from memeval.core.types import EMPTY, Answer, Case, Question, Retrieved, Score, SearchRequest, Session
from memoryd.core.types import Completion, Message


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


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider takes and reports beyond ingest and search. Each names a method of `Provider` that the engine calls.

    `retries`: it repeats failed calls itself, so the engine does not. `search_options` are options that act on searches
    alone: a run may reuse the ingest of one that had other ones.
    """

    model: bool = False
    memory: bool = False
    gold: bool = False
    stop: bool = False
    check: bool = False
    provenance: bool = False
    retries: bool = False
    search_options: frozenset[str] = frozenset()

    def searching(self, *options: str) -> Capabilities:
        """The same, with further options that act on searches alone."""
        return replace(self, search_options=self.search_options.union(options))


class Provider(Protocol):
    """A memory system under test. One scope is one case of one run; scopes never see each other.

    `ingest` may be called several times for a scope (batches, in time order) and must be idempotent for
    a session that it has seen. It never gets `source_id`s or gold. `search` returns at most k pieces, best first.
    Raises ProviderError; `transient` ones are retried by the engine. Its class declares `capabilities`; the last six
    methods are called only when they say so.
    """

    capabilities: ClassVar[Capabilities] = Capabilities()

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

    def check(self) -> None:
        """Raises ConfigError for what is missing, such as a key, before any work is done."""
        return

    def use_stop(self, stop: Stop) -> None:
        """End waits once the flag is set."""
        return

    def use_model(self, model: Model) -> None:
        """Take the model that the option `model` names. Called before `open`."""
        return

    def use_memory(self, memory: Any) -> None:
        """Take the Python object of the caller. Called before `open`."""
        return

    def use_gold(self, scope: str, case: Case) -> None:
        """Take the gold of a scope's questions (the oracle does). Called before its first search."""
        return

    def provenance(self) -> Mapping[str, Any]:
        """What a result should say of the provider, such as the index that it uses in fact."""
        return EMPTY


class Memory(Protocol):
    """A memory system as a Python object, for `memeval.evaluate` and `adapter:`. It needs these two methods and no base class.

    They may also take any of `metadata`, `id`, `session`, `role`, `speaker`, `at` and `scope` (or `user_id`), or call `k` `limit`
    or `top_k`: what they name they get. A hit is a text, (text, score), or a mapping or object with `text`, `content` or
    `memory`, and `score`, `id` and `metadata` where there are such. It is traced to its source by the metadata that `add` got,
    by the id that `add` returned, or by its text. Methods `clear`, `settle` and `close` are called where they exist.
    """

    def add(self, text: str) -> Any:
        """Remember a text; what it returns may be an id."""
        ...

    def search(self, query: str, k: int) -> Any:
        """At most k hits, best first."""
        ...


@runtime_checkable
class Model(Protocol):
    """An answering or judging model. Raises ModelError (transient or not).

    Classes inherit from it for the defaults of `cache_salt` and `estimate`.
    """

    @property
    def name(self) -> str:
        """As recorded with results."""
        ...

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """One answer at temperature 0."""
        ...

    @property
    def cache_salt(self) -> str:
        """What decides its answers besides its name and the messages, such as its address."""
        return ""

    def estimate(self, messages: Sequence[Message], max_tokens: int | None) -> float | None:
        """The most that a call should cost, in US dollars; None when that is unknown."""
        return None


class Judge(Protocol):
    """Scores a hypothesis against the gold."""

    @property
    def name(self) -> str:
        """As recorded with results."""
        ...

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """One score for each metric that the judge knows; value None where it can't be scored."""
        ...

    def prompt_hashes(self) -> Mapping[str, str]:
        """Hashes of its prompts by question type, as recorded with results; classes that have none inherit this."""
        return EMPTY


class RetrievalMetric(Protocol):
    """A pure function of what was retrieved and what was needed, for one question."""

    @property
    def name(self) -> str:
        """Name without the cut-off, e.g. recall_all."""
        ...

    def __call__(self, ranked: Sequence[Sequence[str]], relevant: Sequence[str], k: int) -> float | None:
        """Value at cut-off k. `ranked` holds for each retrieved piece the ids it covers; None means unscored."""
        ...
