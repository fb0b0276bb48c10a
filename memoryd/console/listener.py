"""The HTTP server on loopback, in the daemon's event loop. No other module imports uvicorn.

Any local user can connect, so unauthenticated clients are limited. A request must arrive in time, and when there are
too many connections, a new one replaces the one that has been waiting longest.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from memoryd.console.safety import LOOPBACK, MAX_HEAD_BYTES, AsgiApp

BACKLOG = 16  # asyncio accepts up to this many connections before any of them can be closed.
AT_ONCE = 64
MAX_CONNECTIONS = 48
# Time limit from the start of the connection or request to the request's last byte. A local browser needs milliseconds.
REQUEST_SECONDS = 8.0
KEEP_ALIVE_SECONDS = 5
GRACE_SECONDS = 1
POLL_SECONDS = 0.01


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the daemon."""
        yield


class _Bounded(H11Protocol):
    """A connection with a time limit per request. It counts towards the connection limit."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close another connection if there are too many, and start the time limit."""
        self._since = self.loop.time()
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()
        self._expect_request()

    def _make_room(self) -> None:
        others = [other for other in self.connections if isinstance(other, _Bounded) and other is not self]
        idle = [other for other in others if not other.is_answered()] or [other for other in others if other.flow.write_paused]
        oldest = min(idle, key=lambda other: other.since(), default=self)
        self.connections.discard(oldest)
        oldest.transport.abort()

    def since(self) -> float:
        """Return when the connection was made."""
        return self._since

    def is_answered(self) -> bool:
        """Return whether a complete request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def _expect_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._deadline = None
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Pass the data to the parser. The time limit applies until the request is complete."""
        if not self.is_answered():
            self._expect_request()
        super().data_received(data)
        if self.is_answered():
            self._forget_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limit."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bind(port: int) -> socket.socket:
    """Create a loopback socket. Port 0 selects a free port. Raises OSError."""
    listening = socket.create_server((LOOPBACK, port), backlog=BACKLOG)
    # asyncio sets TCP_NODELAY only for sockets created with the TCP protocol number, unlike this one. Without it, a
    # response consisting of header and body waits 40 ms for the acknowledgement of its header (Nagle's algorithm and
    # delayed acknowledgements).
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class Listener:
    """Serves an application on a bound socket until `close`."""

    def __init__(self, app: AsgiApp, listening: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            http=_Bounded,
            ws="none",
            loop="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=AT_ONCE,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        )
        self._server = _Server(config)
        self._socket = listening
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Wait until clients can connect. Raises OSError if the server exits instead."""
        self._task = asyncio.create_task(self._server.serve([self._socket]))
        while not self._server.started:
            if self._task.done():
                raise OSError("the console's server exited immediately")
            await asyncio.sleep(POLL_SECONDS)

    async def close(self) -> None:
        """Give requests one second to finish, then close all connections. Streams are closed immediately."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait([self._task], timeout=GRACE_SECONDS + 1)
        self._socket.close()
