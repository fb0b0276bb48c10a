"""Protocols that the run phases depend on, instead of concrete classes."""

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
        """Yield all cases. Raises DataError naming file, record and field."""
        ...

    def data_hash(self) -> str:
        """SHA-256 of the data files."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Optional features of a provider. Each names a method of `Provider` that the engine calls.

    `retries`: the provider retries failed calls itself, so the engine doesn't. `search_options` affect only
    searches: a run may reuse the ingest of a run with different values.
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
        """Return a copy with additional search options."""
        return replace(self, search_options=self.search_options.union(options))


class Provider(Protocol):
    """A memory system under test. A scope is one case of one run; scopes are isolated from each other.

    `ingest` may be called several times for a scope (batches, in time order) and must be idempotent for
    sessions already ingested. It never gets `source_id`s or gold. `search` returns at most k passages, best first.
    Raises ProviderError; `transient` ones are retried by the engine. Its class declares `capabilities`; the last six
    methods are called only when they say so.
    """

    capabilities: ClassVar[Capabilities] = Capabilities()

    @property
    def name(self) -> str:
        """Registered name."""
        ...

    def open(self, workdir: Path) -> None:
        """Prepare for use. Local providers keep all state under `workdir`, so that it can be reused."""
        ...

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Store the sessions; the returned counts, ids and tokens are recorded."""
        ...

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Block until everything ingested is searchable."""
        ...

    def search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Retrieve passages for a question."""
        ...

    def clear(self, scope: str) -> None:
        """Delete the scope; a no-op if it doesn't exist."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...

    def check(self) -> None:
        """Raise ConfigError if anything is missing, such as an API key, before any work is done."""
        return

    def use_stop(self, stop: Stop) -> None:
        """Interrupt waits once the flag is set."""
        return

    def use_model(self, model: Model) -> None:
        """Set the model named by the option `model`. Called before `open`."""
        return

    def use_memory(self, memory: Any) -> None:
        """Set the caller's Python object. Called before `open`."""
        return

    def use_gold(self, scope: str, case: Case) -> None:
        """Receive the gold of a scope's questions (for the oracle). Called before the first search."""
        return

    def provenance(self) -> Mapping[str, Any]:
        """Return details to record with results, such as the index actually in use."""
        return EMPTY


class Memory(Protocol):
    """A memory system as a Python object, for `memeval.evaluate` and `adapter:`. It needs these two methods and no base class.

    They may also take any of `metadata`, `id`, `session`, `role`, `speaker`, `at` and `scope` (or `user_id`), or call `k` `limit`
    or `top_k`; only the parameters they declare are passed. A hit is a text, (text, score), or a mapping or object with
    `text`, `content` or `memory`, and optionally `score`, `id` and `metadata`. It is traced to its source by the metadata that
    `add` got, by the id that `add` returned, or by its text. Methods `clear`, `settle` and `close` are called where they exist.
    """

    def add(self, text: str) -> Any:
        """Store a text; may return an id."""
        ...

    def search(self, query: str, k: int) -> Any:
        """Return at most k hits, best first."""
        ...


@runtime_checkable
class Model(Protocol):
    """An answering or judging model. Raises ModelError (transient or not).

    Inherit from it for the defaults of `cache_salt` and `estimate`.
    """

    @property
    def name(self) -> str:
        """As recorded with results."""
        ...

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return one completion at temperature 0."""
        ...

    @property
    def cache_salt(self) -> str:
        """Everything besides name and messages that affects the answers, such as the address."""
        return ""

    def estimate(self, messages: Sequence[Message], max_tokens: int | None) -> float | None:
        """Estimate the maximum cost of a call in US dollars; None if unknown."""
        return None


class Judge(Protocol):
    """Scores a hypothesis against the gold answer."""

    @property
    def name(self) -> str:
        """As recorded with results."""
        ...

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Return one score per metric; value None where it can't be scored."""
        ...

    def prompt_hashes(self) -> Mapping[str, str]:
        """Return prompt hashes by question type, as recorded with results. Judges without prompts inherit this."""
        return EMPTY


class RetrievalMetric(Protocol):
    """A pure function of the retrieved and the relevant ids of one question."""

    @property
    def name(self) -> str:
        """Name without the cut-off, e.g. recall_all."""
        ...

    def __call__(self, ranked: Sequence[Sequence[str]], relevant: Sequence[str], k: int) -> float | None:
        """Compute the value at cut-off k. `ranked` holds the ids that each retrieved passage covers; None means unscored."""
        ...
