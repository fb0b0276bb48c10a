"""A local OpenAI-compatible server with scripted replies that records the requests."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.waiting import HANGS_SECONDS


@dataclass
class Reply:
    """A scripted reply: a whole completion around `text`, or `raw` bytes. `held` delays it until the server closes."""

    text: str = "yes"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10})
    finish: str = "stop"
    held: bool = False

    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps({"error": {"message": self.text}}).encode()
        choice = {"index": 0, "message": {"role": "assistant", "content": self.text}, "finish_reason": self.finish}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice]}
        return json.dumps(answer if self.usage is None else answer | {"usage": self.usage}).encode()


class ModelServer(ThreadingHTTPServer):
    """Sends `replies` in order, then repeats the last one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: deque[Reply] = deque([Reply()])
        self.seen: list[dict[str, Any]] = []
        self.headers_seen: list[dict[str, str]] = []
        self.released = threading.Event()
        self._guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def script(self, *replies: Reply) -> None:
        self.replies = deque(replies)

    def next(self) -> Reply:
        with self._guard:
            return self.replies.popleft() if len(self.replies) > 1 else self.replies[0]

    def handle_error(self, *args: object) -> None:
        """Ignore clients that disconnect, which some tests do on purpose."""


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(body)
        self.server.headers_seen.append({name.lower(): value for name, value in self.headers.items()})
        reply = self.server.next()
        if reply.held:
            self.server.released.wait(HANGS_SECONDS)
        data = reply.body()
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", "content-length": str(len(data)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def running() -> Iterator[ModelServer]:
    """Run a server until the block ends."""
    server = ModelServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
