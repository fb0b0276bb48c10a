"""Authentication with one-time tickets that are exchanged for sessions. Sessions sign their forms. Nothing is stored on disk."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

TICKET_SECONDS = 60.0
SESSION_SECONDS = 12 * 3600.0
MAX_TICKETS = 16
MAX_SESSIONS = 32
MAX_FLASHES = 8
ALL = "all"
THEMES = ("auto", "light", "dark")


@dataclass(frozen=True, slots=True)
class Flash:
    """A message for the next page. `kind` is done or failed."""

    text: str
    kind: str = "done"
    fix: str = ""


@dataclass
class BrowserSession:
    """An authenticated browser session.

    Attributes:
        project: Selected project's id, or "all".
        theme: One of THEMES.
        results: The folder of benchmark results given on the command line, or an empty string.
    """

    project: str = ALL
    theme: str = "auto"
    results: str = ""
    flashes: list[Flash] = field(default_factory=list)
    used: float = 0.0
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def csrf(self) -> str:
        """Return a fresh token, which consists of a nonce and its HMAC. No two pages contain the same bytes (BREACH)."""
        nonce = secrets.token_hex(8)
        return f"{nonce}.{self._sign(nonce)}"

    def is_csrf(self, token: str) -> bool:
        """Return whether this session issued the token."""
        nonce, _, signature = token.partition(".")
        return hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(nonce).encode())

    def _sign(self, nonce: str) -> str:
        return hmac.new(self._secret, nonce.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def flash(self, flash: Flash) -> None:
        """Add a message for the next page."""
        self.flashes = [*self.flashes, flash][-MAX_FLASHES:]

    def take_flashes(self) -> list[Flash]:
        """Return and clear the pending messages."""
        taken, self.flashes = self.flashes, []
        return taken


@dataclass(frozen=True, slots=True)
class _Ticket:
    until: float
    project: str
    results: str


class Sessions:
    """Tickets and sessions, keyed by digests to avoid timing leaks. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tickets: dict[bytes, _Ticket] = {}
        self._sessions: dict[bytes, BrowserSession] = {}

    def issue(self, project: str = ALL, results: str = "") -> str:
        """Issue a ticket that opens one session within a minute."""
        now = self._clock()
        self._tickets = {key: ticket for key, ticket in self._tickets.items() if ticket.until > now}
        while len(self._tickets) >= MAX_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        ticket = secrets.token_urlsafe(32)
        self._tickets[_key(ticket)] = _Ticket(now + TICKET_SECONDS, project, results)
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """Exchange a ticket for the token of a new session. Return None if the ticket is unknown, used or expired."""
        known = self._tickets.pop(_key(ticket), None)
        if known is None or known.until <= self._clock():
            return None
        while len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[min(self._sessions, key=lambda key: self._sessions[key].used)]
        token = secrets.token_urlsafe(32)
        self._sessions[_key(token)] = BrowserSession(project=known.project, results=known.results, used=self._clock())
        return token

    def get(self, token: str) -> BrowserSession | None:
        """Return the session of a token, or None if it does not exist or has expired."""
        session = self._sessions.get(_key(token))
        now = self._clock()
        if session is None:
            return None
        if now - session.used > SESSION_SECONDS:
            del self._sessions[_key(token)]
            return None
        session.used = now
        return session

    def end_session(self, session: BrowserSession) -> None:
        """Invalidate the session's token."""
        self._sessions = {key: known for key, known in self._sessions.items() if known is not session}


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
