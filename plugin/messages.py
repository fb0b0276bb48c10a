"""MCP messages for the stdio proxy: one JSON object per line, parsed only as far as necessary."""

import json

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

REPEATABLE = (
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
)
READING_TOOLS = ("recall", "get_memory", "related", "timeline", "list_memories", "governance", "memory_status")
REPLAY_ID = "memoryd-proxy-handshake"


def lines(read: "Callable[[], bytes]") -> "Iterator[bytes]":
    """Yield complete lines without their line ends. `read` is called for more bytes until it returns nothing or fails."""
    buffer = b""
    while True:
        try:
            part = read()
        except OSError:
            return
        if not part:
            return
        *whole, buffer = (buffer + part).split(b"\n")
        for line in whole:
            if line.strip():
                yield line


class Message:
    """One line of the protocol. An invalid message is passed on unchanged, because the proxy does not validate."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.repeated = False
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        self.value = value if isinstance(value, dict) else {}
        self.method = self.value.get("method")
        self.key = json.dumps(self.value["id"]) if self.value.get("id") is not None else None

    @property
    def params(self) -> "dict[str, Any]":
        """The parameters of the message. Empty if it has none."""
        params = self.value.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def is_request(self) -> bool:
        """Whether the message expects an answer."""
        return self.method is not None and self.key is not None

    @property
    def is_answer(self) -> bool:
        """Whether the message is the answer to a request."""
        return self.method is None and self.key is not None

    @property
    def cancels(self) -> "str | None":
        """The key of the request that the message cancels, if any."""
        return json.dumps(self.params.get("requestId")) if self.method == "notifications/cancelled" else None

    @property
    def may_repeat(self) -> bool:
        """Whether the request is idempotent and may be sent again."""
        return self.method in REPEATABLE or self.method == "tools/call" and self.params.get("name") in READING_TOOLS


class Handshake:
    """The client's handshake, stored for replaying it to each new daemon."""

    def __init__(self) -> None:
        self._request: Message | None = None
        self._answered = False
        self._initialized = False

    def note(self, message: "Message") -> None:
        """Store the client's handshake messages."""
        if message.method == "initialize":
            self._request = message
        elif message.method == "notifications/initialized":
            self._initialized = True

    def note_answer(self, key: "str | None") -> None:
        """Record that the client has received an answer to its handshake, from the daemon or the proxy."""
        if self._request is not None and key == self._request.key:
            self._answered = True

    @property
    def replay(self) -> "bytes | None":
        """The handshake request for another daemon, or None if the client's own handshake has not been answered yet."""
        if not self._answered or self._request is None:
            return None
        return json.dumps({**self._request.value, "id": REPLAY_ID}).encode()

    @property
    def confirmation(self) -> "bytes | None":
        """The message that completes a replayed handshake."""
        return b'{"jsonrpc":"2.0","method":"notifications/initialized"}' if self._initialized else None

    @staticmethod
    def is_answer(message: "Message") -> bool:
        """Return whether a daemon's message answers the replayed handshake."""
        return message.is_answer and message.value["id"] == REPLAY_ID
