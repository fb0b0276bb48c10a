"""An on-disk cache of model calls by content hash, so that a repeated call is paid for only once across all runs.

An entry records its payer, which is a run, phase and question. A run may be killed between a call and its checkpoint.
When the call is repeated, the same payer gets the entry with its full usage, so that the report equals that of an
uninterrupted run. Any other caller gets the entry at no cost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from memeval.core.calls import Budget, RetryPolicy, Stop, with_retries
from memeval.core.errors import MemevalError
from memeval.core.protocols import Model
from memoryd.core.files import write_atomic
from memoryd.core.types import Completion, Message, Usage

LONGEST = 200_000
"""Maximum recorded characters of a message or reply. The middle of longer texts is cut out, and the record says how much."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The messages sent to a model and its reply. If there is no reply, `error` is the reason."""

    model: str
    messages: Sequence[Message]
    reply: str = ""
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return JSON values for a record."""
        sent = [{"role": message.role, "content": _clipped(message.content)} for message in self.messages]
        error = {"error": self.error} if self.error else {}
        return {"model": self.model, "messages": sent, "reply": _clipped(self.reply), **error}


def _clipped(text: str) -> str:
    half = LONGEST // 2
    left_out = len(text) - 2 * half
    return text if left_out <= 0 else f"{text[:half]}\n[… {left_out:,} characters left out …]\n{text[-half:]}"


class Account:
    """Attributes model calls to a payer, sums their usage and keeps the exchanges. Thread-safe.

    Calls of a later `epoch` are not answered from the cache of an earlier one, because each epoch makes its own calls.
    """

    def __init__(self, payer: str = "", epoch: int = 1) -> None:
        self.payer = payer
        self.epoch = epoch
        self.usage = Usage()
        self._exchanges: list[Exchange] = []
        self._lock = Lock()

    def add(self, usage: Usage) -> None:
        """Count a call."""
        with self._lock:
            self.usage += usage

    def keep(self, exchange: Exchange) -> None:
        """Keep the exchange of a call."""
        with self._lock:
            self._exchanges.append(exchange)

    def recorded(self) -> dict[str, Any]:
        """Return the entry `calls` for a record's payload. It is empty if no model was called."""
        with self._lock:
            return {"calls": [exchange.to_json() for exchange in self._exchanges]} if self._exchanges else {}


_account: ContextVar[Account | None] = ContextVar("memeval_account", default=None)


@contextmanager
def paid_by(payer: str, epoch: int = 1) -> Iterator[Account]:
    """Attribute the model calls made by this thread within the block to `payer`, and yield the account."""
    account = Account(payer, epoch)
    token = _account.set(account)
    try:
        yield account
    finally:
        _account.reset(token)


class ModelCache:
    """A cache with one JSON file per call, named by the hash of everything that affects the answer.

    A corrupt file is a cache miss.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def folder(self) -> Path | None:
        """The folder of the cache, or None if nothing is cached."""
        return self._folder

    def get(self, key: str, payer: str) -> Completion | None:
        """Return the stored completion, or None if there is none."""
        if self._folder is None:
            return None
        try:
            data = json.loads(self._path(key).read_bytes())
            usage = Usage(**data["usage"])
            if not payer or data["payer"] != payer:
                usage = Usage(cached_calls=1, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
            return Completion(data["text"], data["model"], usage, data["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, payer: str, completion: Completion) -> None:
        """Store a completion."""
        if self._folder is not None:
            data = {**asdict(completion), "payer": payer}
            write_atomic(self._path(key), json.dumps(data, ensure_ascii=False, sort_keys=True).encode())

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / key[:2] / f"{key}.json"


def call_key(
    model: str, messages: Sequence[Message], schema: Mapping[str, Any] | None, max_tokens: int | None, salt: str = ""
) -> str:
    """Return the SHA-256 of the model's name and everything sent to the model."""
    content = [model, [[m.role, m.content] for m in messages], schema and dict(schema), max_tokens, salt]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


class GuardedModel(Model):
    """A model with a cache, a budget and retries. Raises ModelError, BudgetError or StoppedError.

    Calls may cost more than estimated, because tokens are guessed before a call and a model may reason at length.
    Later estimates are raised accordingly.
    """

    def __init__(self, model: Model, cache: ModelCache, budget: Budget, stop: Stop, policy: RetryPolicy | None = None) -> None:
        self._model = model
        self._cache = cache
        self._budget = budget
        self._stop = stop
        self._policy = policy or RetryPolicy()
        self._excess = 1.0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the cached completion, or request a new one and cache it."""
        account = _account.get() or Account()
        try:
            made = self._complete(account, messages, schema, max_tokens)
        except MemevalError as error:
            account.keep(Exchange(self.name, messages, error=error.message))
            raise
        account.add(made.usage)
        account.keep(Exchange(made.model or self.name, messages, made.text))
        return made

    def _complete(
        self, account: Account, messages: Sequence[Message], schema: Mapping[str, Any] | None, max_tokens: int | None
    ) -> Completion:
        salt = self._model.cache_salt + (f"#epoch {account.epoch}" if account.epoch > 1 else "")
        key = call_key(self._model.name, messages, schema, max_tokens, salt)
        if (known := self._cache.get(key, account.payer)) is not None:
            return known
        estimate = self._model.estimate(messages, max_tokens)
        with self._budget.reserve(None if estimate is None else estimate * self._excess) as settle:
            made = with_retries(
                lambda: self._model.complete(messages, schema=schema, max_tokens=max_tokens), self._policy, self._stop
            )
            usage = made.usage if made.usage.calls else replace(made.usage, calls=1)
            made = replace(made, usage=usage)
            self._cache.put(key, account.payer, made)
            if estimate and usage.cost_usd:
                self._excess = max(self._excess, usage.cost_usd / estimate)
            settle(made.usage.cost_usd)
        return made
