"""A daemon with minimal MCP support. As a script it takes the home folder and serves until it is killed.

The tool `die` closes the connection without an answer. The tool `echo` returns its arguments.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    """Return a server's result for a request."""
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "memoryd", "version": "fake"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": "recall", "inputSchema": {"type": "object"}}]}
    return {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]}


class FakeMcpDaemon:
    """Serves `memoryd/1 ping` and `memoryd/1 mcp`. Other requests are closed. `received` contains the MCP messages."""

    def __init__(self, home: Path, version: str = "fake") -> None:
        self.home = home
        self.version = version
        self.stopped = False
        self.folders: list[str] = []
        self.received: list[dict[str, Any]] = []
        self.strange: list[bytes] = []
        self.pings = 0
        self._links: list[socket.socket] = []
        run = home / "run"
        run.mkdir(parents=True, exist_ok=True)
        path = run / "m.sock"
        path.unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(16)
        temporary = run / "endpoint.tmp"
        temporary.write_text(f"unix {path}\n")
        temporary.replace(run / "endpoint")
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self) -> None:
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            self._links.append(link)
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        try:
            stream = link.makefile("rb")
            words = stream.readline().split()
            if words[1:2] == [b"ping"]:
                self.pings += 1
                link.sendall(f"pong {self.version} 1\n".encode())
            elif words[1:2] == [b"rpc"]:
                self.stopped = json.loads(stream.readline())["method"] == "daemon_stop"
                link.sendall(b'{"id": 1, "result": {}}\n')
            elif words[1:2] == [b"mcp"]:
                self.folders.append(os.fsdecode(stream.read(int(words[2]))))
                for line in stream:
                    if line.startswith(b"{"):
                        self._answer(link, json.loads(line))
                    else:
                        self.strange.append(line)
        except (OSError, EOFError):
            return
        finally:
            link.close()

    def _answer(self, link: socket.socket, message: dict[str, Any]) -> None:
        self.received.append(message)
        if message.get("params", {}).get("name") == "die":
            raise EOFError
        if "id" in message and "method" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result_of(message)}
            link.sendall(json.dumps(answer).encode() + b"\n")

    def methods(self) -> list[str]:
        """Return the methods of all messages, in order."""
        return [message.get("method", "") for message in self.received]

    def close(self) -> None:
        """Close everything as after a kill: nothing listens, all links are cut, and the endpoint file remains."""
        for link in (self.listener, *self._links):
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()


if __name__ == "__main__":
    FakeMcpDaemon(Path(sys.argv[1]))
    threading.Event().wait(600)
