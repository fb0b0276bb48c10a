"""A minimal MCP client over `memoryd mcp`."""

from __future__ import annotations

import subprocess
import sys
from types import TracebackType
from typing import Any

import orjson

from memoryd.core.errors import DaemonError

PROTOCOL = "2025-11-25"


class McpSession:
    """A client connection, used as `with McpSession(env, cwd) as session: session.tool("recall", query=…)`."""

    def __init__(self, environment: dict[str, str], cwd: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memoryd", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=cwd
        )
        self._next = 0

    def __enter__(self) -> McpSession:
        about = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "demo", "version": "1"}}
        self._request("initialize", about)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=10)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured result."""
        result = self._request("tools/call", {"name": name, "arguments": arguments})
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(orjson.dumps(message) + b"\n")
        self._process.stdin.flush()

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = orjson.loads(line)
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise DaemonError(f"{method}: {answer['error']['message']}", fix="Run 'memoryd doctor'.")
                result: dict[str, Any] = answer["result"]
                return result
        raise DaemonError("The MCP connection ended early.", fix="Run 'memoryd doctor'.")
