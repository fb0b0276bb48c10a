"""Client for OpenAI-compatible endpoints. No other module imports the `openai` library.

The library is imported lazily because the import takes almost a second. Every failure becomes a ModelError, with
`transient` set where a retry may help (no connection, timeouts, 408, 409, 425, 429 and 5xx).
"""

from __future__ import annotations

import contextlib
import email.utils
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from memoryd.core.errors import ModelError
from memoryd.core.types import Completion, Message, Usage

if TYPE_CHECKING:
    from openai import OpenAI

OPENROUTER_URL = "https://openrouter.ai/api/v1"
TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})  # HTTP statuses after which another attempt can succeed.
_UNSUPPORTED = frozenset({400, 422})
_FIXES = {
    401: "Check the API key.",
    402: "The account has no credit left.",
    403: "Check that the API key may use this model.",
    404: "Check the model name and the base URL.",
    413: "Lower chunk_tokens.",
    429: "The rate limit was reached; the call will be retried later.",
}


def make_client(base_url: str, api_key: str, timeout: float, *, retries: int = 1) -> OpenAI:
    """Create a client for the endpoint.

    Args:
        base_url: URL including the version path (`http://localhost:11434/v1`). An empty string means OpenRouter.
        api_key: API key. It may be empty for local servers.
        timeout: Seconds per request.
        retries: Number of immediate retries by the library itself.
    """
    import openai

    return openai.OpenAI(base_url=base_url or OPENROUTER_URL, api_key=api_key or "none", timeout=timeout, max_retries=retries)


def chat(
    client: OpenAI,
    model: str,
    messages: Sequence[Message],
    schema: Mapping[str, Any] | None = None,
    *,
    schema_name: str = "answer",
) -> Completion:
    """Return one complete answer, as structured output if there is a schema and the server supports it.

    If a server rejects the schema, it is asked for a JSON object, then for plain text, with the schema in the
    messages. The caller must validate the answer in every case.

    Raises:
        ModelError: The call failed, or the answer is empty, truncated or filtered.
    """
    plain = [{"role": message.role, "content": message.content} for message in messages]
    *attempts, last = _attempts(plain, schema, schema_name)
    for attempt in attempts:
        try:
            return _chat_once(client, model, attempt)
        except MalformedRequestError:
            continue  # The endpoint may accept a simpler request.
    return _chat_once(client, model, last)


def embeddings(client: OpenAI, model: str, texts: Sequence[str]) -> list[list[float]]:
    """Return one unnormalised vector per text, in order.

    Raises:
        ModelError: The call failed or returned the wrong number of vectors.
    """
    if not texts:
        return []
    with translated(str(client.base_url), client.timeout):
        answer = client.embeddings.create(model=model, input=list(texts), encoding_format="float")
    data = getattr(answer, "data", None) or []
    vectors = {entry.index: entry.embedding for entry in data}
    if sorted(vectors) != list(range(len(texts))):
        raise ModelError(f"{client.base_url} returned {len(data)} vectors for {len(texts)} texts.", fix="Check the endpoint.")
    return [vectors[i] for i in range(len(texts))]


class MalformedRequestError(ModelError):
    """The server rejected the request as malformed (400, 422), possibly because it lacks a feature."""


def _attempts(messages: list[dict[str, str]], schema: Mapping[str, Any] | None, name: str) -> list[dict[str, Any]]:
    if schema is None:
        return [{"messages": messages}]
    instruction = f"Answer with one JSON object and nothing else. It follows this JSON schema:\n{orjson.dumps(schema).decode()}"
    explained = [*messages, {"role": "user", "content": instruction}]
    strict = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": dict(schema)}}
    return [
        {"messages": messages, "response_format": strict},
        {"messages": explained, "response_format": {"type": "json_object"}},
        {"messages": explained},
    ]


def _chat_once(client: OpenAI, model: str, request: dict[str, Any]) -> Completion:
    # OpenRouter reports the cost only on request. Other servers reject the unknown key.
    extra = {"usage": {"include": True}} if "openrouter.ai" in client.base_url.host else None
    with translated(str(client.base_url), client.timeout):
        answer: Any = client.chat.completions.create(model=model, extra_body=extra, **request)
    return _completion(answer, model, str(client.base_url))


def _completion(answer: Any, model: str, url: str) -> Completion:
    choices = getattr(answer, "choices", None)
    if not choices:
        problem = getattr(answer, "error", None) or "no choices"
        raise ModelError(f"{url} did not respond: {str(problem)[:300]}", fix="Check the base URL and the model.", transient=True)
    text = choices[0].message.content or ""
    reason = choices[0].finish_reason
    if reason in ("length", "content_filter"):
        raise ModelError(f"{model} returned an incomplete answer ({reason}).", fix="Lower chunk_tokens or use another model.")
    if not text.strip():
        raise ModelError(f"{model} returned an empty answer.", fix="Use another model if this persists.", transient=True)
    return Completion(text, getattr(answer, "model", None) or model, _usage(getattr(answer, "usage", None)))


def _usage(usage: Any) -> Usage:
    cost = getattr(usage, "cost", None)
    return Usage(
        calls=1,
        input_tokens=getattr(usage, "prompt_tokens", None) or 0,
        output_tokens=getattr(usage, "completion_tokens", None) or 0,
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
    )


@contextlib.contextmanager
def translated(
    url: str, timeout: object = None, *, fixes: Mapping[int, str] = _FIXES, retry_unreadable: bool = False
) -> Iterator[None]:
    """Convert the library's errors, and responses that are not JSON, to ModelError.

    Args:
        url: Endpoint to mention in the message.
        timeout: Seconds to mention in the message.
        fixes: Texts for `fix` by HTTP status, overriding the default texts.
        retry_unreadable: Whether an unreadable response is transient.
    """
    import openai

    try:
        yield
    except openai.APITimeoutError as error:
        within = f"within {timeout:g} s" if isinstance(timeout, int | float) else "in time"
        raise ModelError(
            f"{url} did not respond {within}.", fix="Raise the timeout or try again later.", transient=True
        ) from error
    except openai.APIConnectionError as error:
        raise ModelError(f"{url} can't be reached.", fix="Check the network and the base URL.", transient=True) from error
    except openai.APIStatusError as error:
        raise _of_status(error.status_code, error.message, url, error.response.headers, fixes) from error
    except (openai.OpenAIError, ValueError) as error:
        message = f"{url} returned an unreadable response: {error}"[:400]
        fix = "Check that the base URL is an OpenAI-compatible API."
        raise ModelError(message, fix=fix, transient=retry_unreadable) from error


def _of_status(status: int, message: str, url: str, headers: Mapping[str, str], fixes: Mapping[int, str]) -> ModelError:
    kind = MalformedRequestError if status in _UNSUPPORTED else ModelError
    transient = status in TRANSIENT_STATUSES or status >= 500
    fix = fixes.get(status, "It is retried later." if transient else "Check the model, its options and the endpoint.")
    wait = retry_after(headers) if transient else None
    return kind(f"{url} answered {status}: {message[:300]}", fix=fix, transient=transient, retry_after=wait)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the delay in seconds from retry-after-ms or Retry-After (seconds or a date), or None if neither is set."""
    with contextlib.suppress(ValueError):
        return max(0.0, float(headers.get("retry-after-ms", "")) / 1000)
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    return None
