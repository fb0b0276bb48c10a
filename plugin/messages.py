"""MCP messages as the pump sees them: one JSON object a line, looked into only as far as needed."""

import json

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
REPLAY_ID = "memoryd-pump-introduction"


def lines(read):
    """Whole lines, without their ends, from a function that reads some bytes; ends with it or with its error."""
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
    """One line. What can't be understood is passed on as it is: it is not the pump's to judge."""

    def __init__(self, line):
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
    def params(self):
        """The parameters, empty when there are none."""
        params = self.value.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def is_request(self):
        """Whether it wants an answer."""
        return self.method is not None and self.key is not None

    @property
    def is_answer(self):
        """Whether it answers a request."""
        return self.method is None and self.key is not None

    @property
    def cancels(self):
        """The key of the request that it cancels, if it does."""
        return json.dumps(self.params.get("requestId")) if self.method == "notifications/cancelled" else None

    @property
    def may_repeat(self):
        """Whether doing it twice is as good as once."""
        return self.method in REPEATABLE or self.method == "tools/call" and self.params.get("name") in READING_TOOLS


class Introduction:
    """The client's handshake, kept to be repeated to each daemon that takes over."""

    def __init__(self):
        self._request = None
        self._answered = False
        self._initialized = False

    def note(self, message):
        """Keep what the client says of itself."""
        if message.method == "initialize":
            self._request = message
        elif message.method == "notifications/initialized":
            self._initialized = True

    def note_answer(self, key):
        """The client has its answer, from whomever."""
        if self._request is not None and key == self._request.key:
            self._answered = True

    @property
    def replay(self):
        """The line that introduces the client to a further daemon; None when the handshake itself is still to go there."""
        if not self._answered:
            return None
        return json.dumps({**self._request.value, "id": REPLAY_ID}).encode()

    @property
    def confirmation(self):
        """The line that ends a repeated handshake."""
        return b'{"jsonrpc":"2.0","method":"notifications/initialized"}' if self._initialized else None

    @staticmethod
    def is_answer(message):
        """Whether a daemon's message answers the repeated handshake."""
        return message.is_answer and message.value["id"] == REPLAY_ID
