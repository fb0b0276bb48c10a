"""Requests to hosted memory systems: templates, JSON over HTTP with retries, and the request log.

A killed run resumes after the last logged call.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import os
import re
import sqlite3
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from memeval.core.calls import RetryPolicy, Stop, with_retries
from memeval.core.errors import ConfigError, ProviderError
from memeval.specs import AuthType, ConnectionSpec, ProviderSpec

EXCERPT = 300
LARGEST = 64_000_000
_TRANSIENT = frozenset({408, 423, 425, 429, 500, 502, 503, 504, 529})
_NETWORK = (urllib.error.URLError, http.client.HTTPException, OSError)


class InterruptibleWait(Protocol):
    """The part of a stop flag used by the client: interruptible waits."""

    def check(self) -> None:
        """Raise an error if a stop was requested."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleep for the given time, or raise an error if a stop was requested."""
        ...


class Pace:
    """Keeps at least `delay` seconds between the starts of calls of the same kind, across all threads."""

    def __init__(self, sleep: Callable[[float], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def wait(self, kind: str, delay: float) -> None:
        """Wait until this call may start."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next.get(kind, now))
            self._next[kind] = start + delay
        if start > now:
            self._sleep(start - now)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A handler that treats redirects as errors, because following one could send the key to another host."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Return None to prevent the redirect."""
        return


class JsonClient:
    """A client for one API.

    Raises ProviderError with the server's Retry-After. A transient error is raised only after the last retry.
    """

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
        self.see: Callable[[str, bytes], None] = lambda where, body: None

    def check_key(self) -> None:
        """Raise ConfigError if the API key isn't set."""
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
        """Make a call and return the parsed response. Return None if it is empty or its status is in `ignore`."""
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
            raise ConfigError(f"{self._name} requires a key in {self._auth.env_var}.", fix=f"Set {self._auth.env_var}.")
        return {self._auth.header: self._auth.effective_prefix + key}

    def _once(self, request: urllib.request.Request, ignore: tuple[int, ...]) -> Any:
        where = f"{request.get_method()} {request.full_url.partition('?')[0]}"
        try:
            with self._opener.open(request, timeout=self._connection.timeout) as response:
                body = response.read(LARGEST)
                self.see(where, body)
                return self._parse(body, where)
        except urllib.error.HTTPError as error:
            with error:
                if error.code in ignore:
                    self.see(where, f"HTTP {error.code} {error.reason}, in ignoreStatus".encode())
                    return None
                raise self._status_error(error, where) from None
        except _NETWORK as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            fix = "Check the address and the network, or allow more time (connection.timeout)."
            raise ProviderError(f"{self._name}: {where}: {reason or type(error).__name__}.", fix=fix, transient=True) from error

    def _parse(self, data: bytes, where: str) -> Any:
        if not data.strip():
            return None
        try:
            return json.loads(data)
        except ValueError:
            shown = data[:EXCERPT].decode("utf-8", "replace")
            problem = f"{self._name}: {where} returned something other than JSON: {shown!r}"
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
            return "Try again later, or raise rateLimit.addDelay and searchDelay."
        if status == 404:
            return "Check connection.baseUrl and the path of the endpoint."
        return "Try again later." if status >= 500 else "Compare the endpoint's body with the API's documentation."


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Convert a Retry-After header (a number or an HTTP date) to seconds. Return None if it is missing or malformed."""
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


_STEP = re.compile(r"\.(?P<name>[A-Za-z_][\w-]*)|\['(?P<quoted>[^']*)'\]|\[(?P<index>-?\d+|\*)\]")
_PLACEHOLDER = re.compile(r"\$\{([a-z][\w.-]*)\}")
_ZIP = re.compile(r"zip\((.*)\)")
_SYNTAX = "Known are $, .name, ['name'], [n], [*], a | b, -path and zip(a, b)."


def is_path(text: str) -> bool:
    """Return whether a template string is a path rather than plain text."""
    return text == "$" or text.startswith(("$.", "$[", "-$.", "-$[")) or bool(_ZIP.fullmatch(text))


def find(path: str, data: Any) -> Any:
    """Return the value at a path, or None if it is missing. Raises ConfigError for unsupported syntax."""
    for alternative in path.split("|"):
        value = _one(alternative.strip(), data)
        if value is not None:
            return value
    return None


def find_all(path: str, data: Any) -> list[Any]:
    """Return the values at a path as a list. It is empty for a missing value, and has one element for a single value."""
    value = find(path, data)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _one(path: str, data: Any) -> Any:
    if zipped := _ZIP.fullmatch(path):
        columns = [find_all(column.strip(), data) for column in zipped[1].split(",")]
        width = max(map(len, columns))
        return [[column[row] if row < len(column) else None for column in columns] for row in range(width)]
    if path.startswith("-"):
        value = _one(path[1:], data)
        return -value if isinstance(value, int | float) else None
    return _walk(list(steps(path)), data)


def steps(path: str) -> Iterator[str | int]:
    """Parse a plain path into its steps, which are names, numbers and `*`. Raises ConfigError."""
    if not path.startswith("$"):
        raise ConfigError(f"{path!r} is not a path.", fix=f"A path starts with $. {_SYNTAX}")
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ConfigError(f"{path!r} can't be parsed from {path[position:]!r} on.", fix=_SYNTAX)
        position = match.end()
        index = match["index"]
        yield (match["name"] or match["quoted"]) if index is None else ("*" if index == "*" else int(index))


def roots(path: str) -> Iterator[str]:
    """Yield the first name in each plain path in the text, or "" for `$` alone or an index.

    Raises ConfigError for a malformed path.
    """
    for alternative in path.split("|"):
        plain = alternative.strip()
        if zipped := _ZIP.fullmatch(plain):
            for column in zipped[1].split(","):
                yield from roots(column)
            continue
        first = next(iter([*steps(plain.removeprefix("-"))]), "")
        yield first if isinstance(first, str) and first != "*" else ""


def mentioned(text: str) -> Iterator[str]:
    """Yield the names of the values used in a template string. Raises ConfigError for a malformed path."""
    if is_path(text):
        yield from roots(text)
    else:
        yield from (name.partition(".")[0] for name in _PLACEHOLDER.findall(text))


def _walk(path: Sequence[str | int], data: Any) -> Any:
    for number, step in enumerate(path):
        if step == "*" and not isinstance(data, Mapping):
            rest = path[number + 1 :]
            return [_walk(rest, element) for element in data] if isinstance(data, list) else None
        data = _step(step, data)
        if data is None:
            return None
    return data


def _step(step: str | int, data: Any) -> Any:
    if isinstance(step, int):
        inside = isinstance(data, list) and -len(data) <= step < len(data)
        return data[step] if inside else None
    return data.get(step) if isinstance(data, Mapping) else None


def fill(template: Any, data: Mapping[str, Any]) -> Any:
    """Fill in a template. Raises ConfigError for a placeholder without a value."""
    if isinstance(template, str):
        return find(template, data) if is_path(template) else fill_text(template, data)
    if isinstance(template, Mapping):
        if set(template) == {"each", "item"}:
            return [fill(template["item"], {**data, "item": element}) for element in find_all(template["each"], data)]
        filled = {key: fill(value, data) for key, value in template.items()}
        return {key: value for key, value in filled.items() if value is not None or template[key] is None}
    if isinstance(template, list | tuple):
        return [fill(value, data) for value in template]
    return template


def fill_text(template: str, data: Mapping[str, Any]) -> str:
    """Replace each `${…}` in a text. Raises ConfigError for a placeholder without a value."""

    def put(match: re.Match[str]) -> str:
        value = find(f"$.{match[1]}", data)
        if value is None:
            raise ConfigError(f"${{{match[1]}}} has no value in {template!r}.", fix=f"Known here: {', '.join(sorted(data))}.")
        return str(value)

    return _PLACEHOLDER.sub(put, template)


def texts_of(template: Any) -> Iterator[str]:
    """Yield all strings in a template."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from texts_of(value)
    elif isinstance(template, list | tuple):
        for value in template:
            yield from texts_of(value)


_SCHEMA = """
CREATE TABLE IF NOT EXISTS scope (scope TEXT PRIMARY KEY, setup TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sent (
    number INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, unit TEXT NOT NULL, remote TEXT NOT NULL,
    session TEXT NOT NULL, turns TEXT NOT NULL, ready INTEGER NOT NULL, UNIQUE (scope, unit));
CREATE INDEX IF NOT EXISTS sent_remote ON sent (scope, remote);
"""


class SentLog:
    """A thread-safe log of the units sent for each scope, with the ids assigned by the system."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
        self._db.executescript("PRAGMA journal_mode=WAL;" + _SCHEMA)

    def setup(self, scope: str) -> Any:
        """Return the response to the scope's setup call, or None if the call has not been made."""
        rows = self._rows("SELECT setup FROM scope WHERE scope = ?", scope)
        return json.loads(rows[0][0]) if rows else None

    def set_setup(self, scope: str, answer: Any) -> None:
        """Record the response to the setup call."""
        self._write("INSERT OR REPLACE INTO scope VALUES (?, ?)", scope, json.dumps(answer))

    def units(self, scope: str) -> set[str]:
        """Return the units already sent."""
        return {unit for (unit,) in self._rows("SELECT unit FROM sent WHERE scope = ?", scope)}

    def remotes(self, scope: str) -> list[str]:
        """Return the ids assigned by the system, in sending order."""
        rows = self._rows("SELECT remote FROM sent WHERE scope = ? GROUP BY remote ORDER BY min(number)", scope)
        return [remote for (remote,) in rows]

    def add(self, scope: str, unit: str, remote: str, sources: tuple[str, Sequence[str]], ready: bool) -> None:
        """Record a unit accepted by the system. `sources` are its session and turns."""
        session, turns = sources
        self._write(
            "INSERT OR IGNORE INTO sent (scope, unit, remote, session, turns, ready) VALUES (?, ?, ?, ?, ?, ?)",
            *(scope, unit, remote, session, json.dumps(list(turns)), int(ready)),
        )

    def waiting(self, scope: str) -> list[str]:
        """Return the ids that aren't indexed yet, in sending order."""
        rows = self._rows("SELECT DISTINCT remote FROM sent WHERE scope = ? AND NOT ready ORDER BY number", scope)
        return [remote for (remote,) in rows]

    def set_ready(self, scope: str, remote: str) -> None:
        """Mark an id as indexed."""
        self._write("UPDATE sent SET ready = 1 WHERE scope = ? AND remote = ?", scope, remote)

    def sources(self, scope: str, remote: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the session and turns of the unit with this id, or None if the id is unknown."""
        rows = self._rows("SELECT session, turns FROM sent WHERE scope = ? AND remote = ? LIMIT 1", scope, remote)
        return (rows[0][0], tuple(json.loads(rows[0][1]))) if rows else None

    def clear(self, scope: str) -> None:
        """Delete the scope."""
        self._write("DELETE FROM sent WHERE scope = ?", scope)
        self._write("DELETE FROM scope WHERE scope = ?", scope)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _write(self, statement: str, *values: Any) -> None:
        try:
            with self._lock, self._db:
                self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _error(self, error: sqlite3.Error) -> ProviderError:
        return ProviderError(f"{self._path} can't be used: {error}.", fix="Check the disk, or start a new run.")
