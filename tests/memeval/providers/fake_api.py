"""A local HTTP server that behaves as scripted and records its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """One answer. `body` bytes are sent unchanged, anything else as JSON."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Behaviour = Callable[[Asked], Reply]


class FakeApi:
    """`faults` are returned first, one per request. Then the behaviour answers."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.faults: list[Reply] = []
        self.asked: list[Asked] = []
        self.lock = threading.Lock()
        self.url = ""

    def answer(self, asked: Asked) -> Reply:
        with self.lock:
            self.asked.append(asked)
            return self.faults.pop(0) if self.faults else self.behaviour(asked)

    def bodies(self, method: str, path: str) -> list[Any]:
        return [asked.body for asked in self.asked if (asked.method, asked.path) == (method, path)]


@contextmanager
def serving(api: FakeApi) -> Iterator[FakeApi]:
    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            parts = urlsplit(self.path)
            body = json.loads(raw) if raw else None
            reply = api.answer(Asked(self.command, parts.path, parse_qs(parts.query), dict(self.headers.items()), body))
            data = reply.body if isinstance(reply.body, bytes) else b"" if reply.body is None else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for key, value in reply.headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_PUT = handle_any  # noqa: N815

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *args: None  # Clients that gave up are part of the tests.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
