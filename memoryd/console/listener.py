"""An HTTP server on loopback in the daemon's own event loop. The only importer of uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from memoryd.console.safety import MAX_HEAD_BYTES, AsgiApp

LOOPBACK = "127.0.0.1"
BACKLOG = 64
AT_ONCE = 64
KEEP_ALIVE_SECONDS = 5
GRACE_SECONDS = 1
POLL_SECONDS = 0.01


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals stay the daemon's."""
        yield


def bind(port: int) -> socket.socket:
    """A loopback socket; port 0 takes a free one. Raises OSError."""
    listening = socket.create_server((LOOPBACK, port), backlog=BACKLOG)
    # asyncio sets this for sockets that name TCP as their protocol, which these don't. Without it an answer of head and body
    # waits 40 ms for the acknowledgement of its head (Nagle's algorithm against delayed acknowledgements).
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class Listener:
    """Serves an application on a bound socket until `close`."""

    def __init__(self, app: AsgiApp, listening: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            http="h11",
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
        """Return when clients can connect. Raises OSError when the server ended instead."""
        self._task = asyncio.create_task(self._server.serve([self._socket]))
        while not self._server.started:
            if self._task.done():
                raise OSError("the console's server ended at once")
            await asyncio.sleep(POLL_SECONDS)

    async def close(self) -> None:
        """Let requests end within a second, then cut them; streams are cut."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait([self._task], timeout=GRACE_SECONDS + 1)
        self._socket.close()
