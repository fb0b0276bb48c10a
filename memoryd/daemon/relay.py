"""Relay standard input and output to the daemon, for hooks and for MCP clients that run `memoryd` themselves."""

from __future__ import annotations

import os
import socket
import threading
from typing import IO

from memoryd.core.config import OPTION_PREFIX
from memoryd.core.errors import DaemonUnavailable
from memoryd.core.paths import Paths
from memoryd.daemon.endpoint import connect, read_endpoint

CONNECT_SECONDS = 5.0
HOOK_SECONDS = 5.0
CHUNK = 65_536


def _connect(paths: Paths) -> socket.socket:
    endpoint = read_endpoint(paths)
    if endpoint is None:
        raise DaemonUnavailable("No daemon is running.", fix="Run 'memoryd doctor'.")
    try:
        return connect(endpoint, CONNECT_SECONDS)
    except OSError as error:
        raise DaemonUnavailable(f"No daemon answers: {error}", fix="Run 'memoryd doctor'.") from error


def send_hook(paths: Paths, event: str, payload: bytes) -> bytes:
    """Return the daemon's response to a hook. Raises DaemonUnavailable if it does not arrive in time."""
    options = "".join(f"{name}={value}\n" for name, value in os.environ.items() if name.startswith(OPTION_PREFIX))
    record = options.encode("utf-8", "replace") + b"\n" + payload
    answer = b""
    with _connect(paths) as connection:
        connection.settimeout(HOOK_SECONDS)
        try:
            connection.sendall(f"memoryd/1 hook {event} {len(record)}\n".encode() + record)
            while chunk := connection.recv(CHUNK):
                answer += chunk
        except OSError as error:
            raise DaemonUnavailable(f"The daemon did not respond to the hook: {error}", fix="Run 'memoryd doctor'.") from error
    return answer


def relay_mcp(paths: Paths, folder: str, source: IO[bytes], sink: IO[bytes]) -> None:
    """Relay MCP messages in both directions until either side closes."""
    where = os.fsencode(folder)
    connection = _connect(paths)
    connection.settimeout(None)
    connection.sendall(f"memoryd/1 mcp {len(where)}\n".encode() + where)

    def answers() -> None:
        while chunk := connection.recv(CHUNK):
            sink.write(chunk)
            sink.flush()

    reader = threading.Thread(target=answers, name="mcp-answers", daemon=True)
    reader.start()
    with connection:
        for line in iter(source.readline, b""):
            connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        reader.join(timeout=HOOK_SECONDS)
