"""Protocols that the phases of a run use in place of concrete classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from memeval.core.calls import Stop
from memeval.core.types import EMPTY, Answer, Case, HookCall, Question, Retrieved, Score, SearchRequest, Session
from memoryd.core.types import Completion, Message


class Benchmark(Protocol):
    """A set of cases.

    `cases` yields them in a stable order and keeps at most one in memory.
    """

    @property
    def name(self) -> str:
        """The registered name of the benchmark."""
        ...

    def cases(self) -> Iterator[Case]:
        """Yield all cases. Raises DataError with the file, record and field."""
        ...

    def data_hash(self) -> str:
        """Return the SHA-256 of the data files."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The optional features of a provider. Each is named after the method of `Provider` that it enables.

    If `retries` is set, the provider retries failed calls itself, so the engine doesn't. The options in
    `search_options` affect only searches, so a run may reuse data that another run ingested with different values.
    """

    model: bool = False
    memory: bool = False
    gold: bool = False
    stop: bool = False
    check: bool = False
    provenance: bool = False
    guard: bool = False
    retries: bool = False
    search_options: frozenset[str] = frozenset()

    def searching(self, *options: str) -> Capabilities:
        """Return a copy with additional search options."""
        return replace(self, search_options=self.search_options.union(options))


class Provider(Protocol):
    """A memory system under test.

    A scope is one case of one run, and scopes are isolated from each other. `ingest` may be called several times for
    a scope, with batches in time order. It must be idempotent for sessions that are already stored, and it never
    receives a `source_id` or a gold answer. `search` returns up to k passages, best first.

    Methods raise ProviderError, and the engine retries transient ones. The class declares its `capabilities`. The
    last seven methods are called only if the capabilities include them.
    """

    capabilities: ClassVar[Capabilities] = Capabilities()

    @property
    def name(self) -> str:
        """The registered name of the provider."""
        ...

    def open(self, workdir: Path) -> None:
        """Prepare the system for use. A local provider keeps all of its state under `workdir`, so that it can be reused."""
        ...

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Store the sessions and return counts, ids and tokens to record."""
        ...

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Block until all ingested sessions are searchable."""
        ...

    def search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Retrieve passages for a question."""
        ...

    def clear(self, scope: str) -> None:
        """Delete the scope. Does nothing if it doesn't exist."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...

    def check(self) -> None:
        """Raise ConfigError if anything is missing, such as an API key. Called before any work is done."""
        return

    def use_stop(self, stop: Stop) -> None:
        """Use this flag to interrupt waits after a stop has been requested."""
        return

    def use_model(self, model: Model) -> None:
        """Use the model named by the option `model`. Called before `open`."""
        return

    def use_memory(self, memory: Any) -> None:
        """Use the caller's Python object. Called before `open`."""
        return

    def use_gold(self, scope: str, case: Case) -> None:
        """Receive the gold answers to a scope's questions (for the oracle). Called before the first search."""
        return

    def provenance(self) -> Mapping[str, Any]:
        """Return details to record with the results, such as the index actually used."""
        return EMPTY

    def guard(self, scope: str, call: HookCall, before: Sequence[HookCall]) -> str:
        """Return the message to the agent before it makes the call: a note, a question or a refusal, or "" for none.

        `before` contains the earlier calls of the agent's session, all of which were executed. Calls are judged independently.
        """
        return ""


class Memory(Protocol):
    """A memory system as a Python object, for `memeval.evaluate` and `adapter:`.

    Only `add` and `search` are required. There is no base class.

    The methods may also have any of the parameters `metadata`, `id`, `session`, `role`, `speaker`, `at` and `scope` (or
    `user_id`), and `k` may be named `limit` or `top_k`. Only declared parameters are passed. A hit is a text, a (text, score)
    pair, or a mapping or object with `text`, `content` or `memory`, and optionally `score`, `id` and `metadata`. A hit is
    traced to its source by the metadata passed to `add`, by the id returned from `add`, or by its text. The methods `clear`,
    `settle` and `close` are called if they exist.
    """

    def add(self, text: str) -> Any:
        """Store a text. The method may return an id."""
        ...

    def search(self, query: str, k: int) -> Any:
        """Return up to k hits, best first."""
        ...


@runtime_checkable
class Model(Protocol):
    """An answering or judging model. Raises ModelError, which may be transient.

    Inherit from this class for the default `cache_salt` and `estimate`.
    """

    @property
    def name(self) -> str:
        """The name, recorded with results."""
        ...

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return one completion at temperature 0."""
        ...

    @property
    def cache_salt(self) -> str:
        """Anything that affects the answers besides the name and the messages, such as the address."""
        return ""

    def estimate(self, messages: Sequence[Message], max_tokens: int | None) -> float | None:
        """Estimate the maximum cost of a call in US dollars, or None if it is unknown."""
        return None


class Judge(Protocol):
    """Scores a hypothesis against the gold answer."""

    @property
    def name(self) -> str:
        """The name, recorded with results."""
        ...

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Return one score per metric. The value is None if the answer can't be scored."""
        ...

    def prompt_hashes(self) -> Mapping[str, str]:
        """Return the hash of the prompt for each question type, for recording with results.

        Judges without prompts inherit this method.
        """
        return EMPTY


class RetrievalMetric(Protocol):
    """A pure function of the retrieved and the relevant ids of one question."""

    @property
    def name(self) -> str:
        """The name without the cut-off, such as recall_all."""
        ...

    def __call__(self, ranked: Sequence[Sequence[str]], relevant: Sequence[str], k: int) -> float | None:
        """Compute the value at cut-off k.

        `ranked` contains the ids covered by each retrieved passage. The result is None if the question can't be scored.
        """
        ...
