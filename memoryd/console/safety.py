"""Check the security of every request, and add security headers to every response. This is plain ASGI.

- The Host header must be one of ours. A name that an attacker resolves to 127.0.0.1 (DNS rebinding) is rejected.
- Changes must come from our own pages, which is checked by Origin, and by Sec-Fetch-Site where available. With
  Referrer-Policy no-referrer, browsers send "Origin: null" with forms. This is accepted only together with
  Sec-Fetch-Site: same-origin, which no page can forge.
- Other sites may link to a page, but can neither fetch nor embed it.
- The size of the query, the path and the body is limited. A body of unknown length is counted as it arrives.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = "127.0.0.1"
MAX_BODY_BYTES = 512 * 1024
MAX_QUERY_BYTES = 8 * 1024
MAX_PATH_BYTES = 1024
MAX_HEAD_BYTES = 32 * 1024
READING = frozenset({"GET", "HEAD"})
METHODS = READING | {"POST"}
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason for rejecting a request."""

    status: int
    text: str


class BodyTooLarge(Exception):
    """Raised by `receive` when the body exceeds the limit. The response is 413."""


class RequestGuard:
    """ASGI middleware for the whole application. `hosts` are the allowed Host values, such as "127.0.0.1:4242"."""

    def __init__(self, app: AsgiApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject or forward a request. The security headers are added in either case."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return
        response = _GuardedResponse(send)
        refusal = self.refusal(scope)
        if refusal is not None:
            await response.refuse(refusal)
            return
        try:
            await self._app(scope, _limited(receive), response.send)
        except BodyTooLarge:
            await response.refuse(Refusal(413, "The request is too large."))

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return the reason to reject the request, judging by its path and headers, or None to accept it."""
        headers = _Headers(scope["headers"])
        if headers.size() > MAX_HEAD_BYTES:
            return Refusal(431, "The headers are too long.")
        host = headers.only("host")
        if host not in self._hosts:
            return Refusal(421, "This address does not belong to the console.")
        if scope["method"] not in METHODS:
            return Refusal(405, "This method is not supported.")
        if len(scope.get("query_string", b"")) > MAX_QUERY_BYTES or len(scope.get("raw_path") or b"") > MAX_PATH_BYTES:
            return Refusal(414, "The address is too long.")
        if _declared(headers) > MAX_BODY_BYTES:
            return Refusal(413, "The request is too large.")
        allowed = _may_read(headers) if scope["method"] in READING else _may_change(headers, host)
        return None if allowed else Refusal(403, "This request comes from another site.")


class _Headers:
    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = list(raw)

    def only(self, name: str) -> str | None:
        """Return the only value of a header. Return None if it is missing, repeated or not ASCII."""
        found = [value for key, value in self._raw if key.lower() == name.encode()]
        return found[0].decode("ascii", "replace") if len(found) == 1 else None

    def size(self) -> int:
        return sum(len(name) + len(value) for name, value in self._raw)

    def has(self, name: str) -> bool:
        return any(key.lower() == name.encode() for key, _ in self._raw)


def _declared(headers: _Headers) -> int:
    if not headers.has("content-length"):
        return 0
    length = headers.only("content-length") or ""
    return int(length) if length.isascii() and length.isdigit() and len(length) < 19 else MAX_BODY_BYTES + 1


def _may_read(headers: _Headers) -> bool:
    """Allow same-origin requests, those initiated by the user, and plain links from elsewhere."""
    site = headers.only("sec-fetch-site")
    if not headers.has("sec-fetch-site") or site in ("same-origin", "none"):
        return True
    return headers.only("sec-fetch-mode") == "navigate" and headers.only("sec-fetch-dest") == "document"


def _may_change(headers: _Headers, host: str | None) -> bool:
    site = headers.only("sec-fetch-site")
    if headers.has("sec-fetch-site") and site != "same-origin":
        return False
    origin = headers.only("origin")
    if origin == f"http://{host}":
        return True
    return site == "same-origin" and (origin == "null" or not headers.has("origin"))


def _limited(receive: Receive) -> Receive:
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BODY_BYTES:
            raise BodyTooLarge
        return message

    return counted


class _GuardedResponse:
    """Adds the headers and tracks whether the response has started."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            names = {name.lower() for name, _ in HEADERS}
            kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in names]
            message = {**message, "headers": [*kept, *HEADERS]}
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        if self._begun:
            return
        body = refusal.text.encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})
