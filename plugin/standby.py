"""Answers of the stdio proxy while there is no daemon. Each answer is one line."""

import json

import environment
import starter

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from messages import Message

NOT_FOUND = -32601
TRY_AGAIN = -32000
TOOLS_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
LATEST_PROTOCOL = "2025-11-25"
STATUS_TOOL = {
    "name": "memory_status",
    "title": "Memory status",
    "description": "Reports why memory is not available yet. The other memory tools appear automatically when it is.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}


def _line(message: "Message", **rest: "Any") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message.value["id"], **rest}).encode()


def _error(message: "Message", code: int, text: str) -> bytes:
    return _line(message, error={"code": code, "message": text})


def state(home: str, env: "Mapping[str, str]") -> str:
    """Return the reason why there is no daemon, as a sentence."""
    return starter.setup_message(home, env) or (
        f"The memory daemon is starting or fails to start; see {home}/logs/launcher.log and `memoryd doctor`. "
        "Try again in a few seconds."
    )


def _initialize(message: "Message") -> "dict[str, Any]":
    protocol = message.params.get("protocolVersion") or LATEST_PROTOCOL
    info = {"name": "memoryd", "version": environment.version(environment.plugin_root())}
    return {"protocolVersion": protocol, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": info}


def answer(message: "Message", home: str, env: "Mapping[str, str]") -> "bytes | None":
    """Return the answer to a client's message, or None if the message needs no answer."""
    if not message.is_request:
        return None
    if message.method == "initialize":
        return _line(message, result=_initialize(message))
    if message.method == "ping":
        return _line(message, result={})
    if message.method == "tools/list":
        return _line(message, result={"tools": [STATUS_TOOL]})
    if message.method == "tools/call":
        text = state(home, env)
        failed = message.params.get("name") != STATUS_TOOL["name"]
        return _line(message, result={"content": [{"type": "text", "text": text}], "isError": failed})
    return _error(message, NOT_FOUND, f"{message.method} is not available while the memory daemon is not running.")


def lost(message: "Message") -> bytes:
    """Return the answer to a request whose daemon stopped before answering."""
    return _error(
        message, TRY_AGAIN, "The memory daemon stopped before it answered; the request may have been executed. Try again."
    )
