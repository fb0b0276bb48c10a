"""JSON over HTTP with the manners of a good guest: pauses, retries with back-off and jitter, Retry-After.

On the standard library's urllib: a request every few hundred milliseconds needs no connection pool.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from memeval.calls import RetryPolicy, Stop, with_retries
from memeval.errors import ConfigError, ProviderError
from memeval.specs import AuthType, ConnectionSpec, ProviderSpec

EXCERPT = 300
LARGEST = 64_000_000
_TRANSIENT = frozenset({408, 423, 425, 429, 500, 502, 503, 504, 529})
_NETWORK = (urllib.error.URLError, http.client.HTTPException, OSError)


class Waiting(Protocol):
    """What the client needs of a stop flag: waits that end with it."""

    def check(self) -> None:
        """Raises when everything is to end."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait, or raise when everything is to end."""
        ...


class Pace:
    """At least `delay` seconds between the starts of calls of one kind, over all threads."""

    def __init__(self, sleep: Callable[[float], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def wait(self, kind: str, delay: float) -> None:
        """Wait for this call's turn."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next.get(kind, now))
            self._next[kind] = start + delay
        if start > now:
            self._sleep(start - now)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host: it is an error like any other status."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Not followed."""
        return


class JsonClient:
    """Calls of one API. Raises ProviderError: transient once the retries are used up, with what the server asked for."""

    def __init__(self, spec: ProviderSpec, stop: Stop, environ: Mapping[str, str] | None = None) -> None:
        if spec.connection is None:
            raise ConfigError(f"{spec.origin.where('connection')} is missing.", fix="Add connection.baseUrl.")
        self._name = spec.display_name or spec.name
        self._connection: ConnectionSpec = spec.connection
        self._auth = spec.auth
        self._limits = spec.rate_limit
        self._environ = os.environ if environ is None else environ
        self._stop = stop
        self._policy = RetryPolicy(self._limits.retries, self._limits.backoff, self._limits.backoff_max)
        self._pace = Pace(stop.sleep)
        self._opener = urllib.request.build_opener(NoRedirects)

    def check_key(self) -> None:
        """Raises ConfigError when the key is not set."""
        self._auth_header()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        kind: str = "",
        delay: float = 0.0,
        ignore: tuple[int, ...] = (),
    ) -> Any:
        """The parsed answer; None for an empty one and for a status in `ignore`."""
        request = self._request(method, path, body, query or {}, headers or {})

        def once() -> Any:
            self._pace.wait(kind, delay)
            return self._once(request, ignore)

        return with_retries(once, self._policy, self._stop)

    def _request(
        self, method: str, path: str, body: Any, query: Mapping[str, Any], headers: Mapping[str, str]
    ) -> urllib.request.Request:
        url = self._connection.base_url.rstrip("/") + path
        pairs = [(key, value) for key, value in query.items() if value is not None]
        if pairs:
            url += ("&" if "?" in url else "?") + urllib.parse.urlencode(pairs, doseq=True)
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        given = {"Accept": "application/json", "User-Agent": "memeval", **self._auth_header(), **headers}
        if data is not None:
            given["Content-Type"] = "application/json"
        try:
            return urllib.request.Request(url, data, given, method=method.upper())
        except ValueError:
            raise ConfigError(f"{self._name}: {url!r} is not a URL.", fix="Correct connection.baseUrl.") from None

    def _auth_header(self) -> dict[str, str]:
        if self._auth.type is AuthType.NONE:
            return {}
        key = self._environ.get(self._auth.env_var, "").strip()
        if not key:
            raise ConfigError(f"{self._name} needs a key in {self._auth.env_var}.", fix=f"Set {self._auth.env_var}.")
        return {self._auth.header: self._auth.effective_prefix + key}

    def _once(self, request: urllib.request.Request, ignore: tuple[int, ...]) -> Any:
        where = f"{request.get_method()} {request.full_url.partition('?')[0]}"
        try:
            with self._opener.open(request, timeout=self._connection.timeout) as response:
                return self._parse(response.read(LARGEST), where)
        except urllib.error.HTTPError as error:
            with error:
                if error.code in ignore:
                    return None
                raise self._status_error(error, where) from None
        except _NETWORK as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            fix = "Check the address and the network, or give it more time (connection.timeout)."
            raise ProviderError(f"{self._name}: {where}: {reason or type(error).__name__}.", fix=fix, transient=True) from error

    def _parse(self, data: bytes, where: str) -> Any:
        if not data.strip():
            return None
        try:
            return json.loads(data)
        except ValueError:
            shown = data[:EXCERPT].decode("utf-8", "replace")
            problem = f"{self._name}: {where} answered with something other than JSON: {shown!r}"
            raise ProviderError(problem, fix="Check connection.baseUrl; try again.", transient=True) from None

    def _status_error(self, error: urllib.error.HTTPError, where: str) -> ProviderError:
        try:
            said = error.read(EXCERPT).decode("utf-8", "replace").strip()
        except _NETWORK:
            said = ""
        asked = retry_after(error.headers.get("Retry-After")) if self._limits.honour_retry_after else None
        problem = f"{self._name}: {where}: HTTP {error.code} {error.reason}. {said}".rstrip()
        return ProviderError(problem, fix=self._fix(error.code), transient=error.code in _TRANSIENT, retry_after=asked)

    def _fix(self, status: int) -> str:
        if status in (401, 403):
            return f"Check the key in {self._auth.env_var or 'the environment'}."
        if status == 429:
            return "Try later, or raise rateLimit.addDelay and searchDelay."
        if status == 404:
            return "Check connection.baseUrl and the path of the endpoint."
        return "Try again later." if status >= 500 else "Compare the endpoint's body with the API's documentation."


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks for: a number or an HTTP date; None for nothing or nonsense."""
    if not value:
        return None
    text = value.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
