"""Chat completions of OpenAI-compatible servers, through the repository's only importer of the `openai` library.

There is one attempt per call, and the library's own retries are disabled. If a server rejects a parameter (newer models
accept no temperature, and some servers accept no JSON schema), the call is repeated without it, and later calls omit it.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from memeval.core.errors import ModelError
from memeval.core.protocols import Model
from memeval.core.text import estimate_tokens
from memeval.core.types import EMPTY
from memeval.models.prices import Price
from memoryd.core import errors as product
from memoryd.core import openai_api
from memoryd.core.types import Completion, Message, Usage

if TYPE_CHECKING:
    from openai import OpenAI

_FIXES = {
    401: "Check the API key.",
    402: "The account has no credit left.",
    403: "Check that the API key may use this model.",
    404: "Check the model's name and the base URL.",
    413: "Retrieve less: lower --top-k.",
}
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_ASSUMED_OUTPUT = 1024  # Number of output tokens assumed in estimates if the caller sets no limit.


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server and its peculiarities.

    `structured` means that it supports a JSON schema in response_format. `limit_name` is the parameter that limits
    the output tokens.
    """

    base_url: str
    api_key: str = ""
    structured: bool = True
    limit_name: str = "max_tokens"
    body: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


class OpenAICompatible(Model):
    """A thread-safe model on a server. The client and the library are loaded on the first call.

    `timeout` is the read timeout in seconds. `price` is used to compute the cost if the response doesn't contain it.
    """

    def __init__(
        self,
        name: str,
        model: str,
        endpoint: ModelServer,
        *,
        price: Price | None = None,
        timeout: float = 120.0,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
    ) -> None:
        self._name = name
        self._model = model
        self._endpoint = endpoint
        self._price = price
        self._timeout = timeout
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._refused: set[str] = set() if endpoint.structured else {"response_format"}
        self._guard = Lock()
        self._client: OpenAI | None = None

    @property
    def name(self) -> str:
        """The requested name."""
        return self._name

    @property
    def cache_salt(self) -> str:
        """The address and the temperature, which also affect the answers."""
        return f"{self._endpoint.base_url} {self._temperature} {self._max_tokens}"

    def estimate(self, messages: Sequence[Message], max_tokens: int | None) -> float | None:
        """Estimate the maximum cost of a call in US dollars, or None if the price is unknown."""
        if self._price is None:
            return None
        given = sum(estimate_tokens(message.content) + 4 for message in messages)
        return self._price.cost(given, max_tokens or self._max_tokens or _ASSUMED_OUTPUT)

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return one completion, which may be truncated at the limit.

        Raises ModelError if the call fails or the completion is empty.
        """
        started = time.monotonic()
        answer = self._ask(messages, schema, max_tokens or self._max_tokens)
        text = self._text(answer)
        usage = self._usage(getattr(answer, "usage", None), messages, text)
        return Completion(text, getattr(answer, "model", None) or self._model, usage, time.monotonic() - started)

    def _ask(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, limit: int | None) -> Any:
        while True:
            request = self._request(messages, schema, limit)
            try:
                with _translated(self._endpoint.base_url, self._timeout):
                    return self._connect().chat.completions.create(**request)
            except _Refused as error:
                refused = _named_parameter(error.message, request, self._endpoint.limit_name)
                if refused is None:
                    raise
                with self._guard:
                    self._refused.add(refused)

    def _request(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, limit: int | None) -> dict[str, Any]:
        plain = [{"role": message.role, "content": message.content} for message in messages]
        request: dict[str, Any] = {"model": self._model, "messages": plain}
        if self._temperature is not None and "temperature" not in self._refused:
            request["temperature"] = self._temperature
        if limit is not None:
            request[self._limit_name()] = limit
        if schema is not None and "response_format" not in self._refused:
            request["response_format"] = _format_of(schema)
        elif schema is not None:
            instruction = "Answer with one JSON object and nothing else. It follows this JSON schema:"
            plain.append({"role": "user", "content": f"{instruction}\n{json.dumps(dict(schema))}"})
        if self._endpoint.body:
            request["extra_body"] = dict(self._endpoint.body)
        return request

    def _limit_name(self) -> str:
        other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
        name = self._endpoint.limit_name
        return other[name] if name in self._refused else name

    def _connect(self) -> OpenAI:
        with self._guard:
            if self._client is None:
                self._client = openai_api.make_client(self._endpoint.base_url, self._endpoint.api_key, self._timeout, retries=0)
            return self._client

    def _text(self, answer: Any) -> str:
        choices = getattr(answer, "choices", None)
        if not choices:
            problem = str(getattr(answer, "error", None) or "no choices")[:300]
            raise ModelError(f"{self._endpoint.base_url} did not respond: {problem}", fix="Check the base URL.", transient=True)
        text = _THOUGHTS.sub("", choices[0].message.content or "").strip()
        reason = choices[0].finish_reason
        if reason == "content_filter":
            raise ModelError(f"{self._name} refused to answer (content filter).", fix="Use another model.")
        if not text and reason == "length":
            raise ModelError(f"{self._name} used up its tokens before answering.", fix="Raise max_tokens.")
        if not text:
            raise ModelError(f"{self._name} returned an empty answer.", fix="Use another model if this persists.", transient=True)
        return text

    def _usage(self, reported: Any, messages: Sequence[Message], text: str) -> Usage:
        """Read the usage from the response. Missing tokens are estimated, and a missing cost is computed from the price table."""
        given = getattr(reported, "prompt_tokens", None)
        taken = getattr(reported, "completion_tokens", None)
        given = sum(estimate_tokens(message.content) for message in messages) if given is None else int(given)
        taken = estimate_tokens(text) if taken is None else int(taken)
        cost = getattr(reported, "cost", None)
        if not isinstance(cost, int | float):
            cost = self._price.cost(given, taken) if self._price else None
        return Usage(1, given, taken, cost)


class _Refused(ModelError):
    """Raised when the server rejected the request (400 or 422), perhaps because it lacks a feature."""


def _format_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}


def _named_parameter(message: str, request: Mapping[str, Any], limit_name: str) -> str | None:
    """Return the optional parameter that the server rejected, or None."""
    signs = {
        "temperature": ("temperature",),
        "response_format": ("response_format", "json_schema", "structured output"),
        limit_name: (limit_name,),
    }
    lowered = message.lower()
    return next((name for name, words in signs.items() if name in request and any(word in lowered for word in words)), None)


@contextlib.contextmanager
def _translated(url: str, timeout: float) -> Iterator[None]:
    """Convert errors from `openai_api` to memeval's own errors."""
    try:
        with openai_api.translated(url, timeout, fixes=_FIXES, retry_unreadable=True):
            yield
    except product.ModelError as error:
        kind = _Refused if isinstance(error, openai_api.MalformedRequestError) else ModelError
        raise kind(error.message, fix=error.fix, transient=error.transient, retry_after=error.retry_after) from error
