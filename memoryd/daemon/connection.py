"""A client's connection. Its first line contains the request (docs/design/daemon-protocol.md)."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import os
import re
import secrets
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from memoryd import __version__
from memoryd.api.registry import only_a_person
from memoryd.core.config import IN_CLIENT
from memoryd.core.errors import InputError, MemorydError
from memoryd.daemon.core import Core
from memoryd.daemon.endpoint import NONCE_BYTES, Endpoint, proof
from memoryd.daemon.hook_events import MAX_RECORD_BYTES
from memoryd.daemon.lines import Incoming
from memoryd.daemon.threads import in_thread
from memoryd.daemon.wire import id_of, read_json, well_formed

PROTOCOL = b"memoryd/1"
MAX_CONNECTIONS = 256
FILES_PER_CONNECTION = 4  # Connections must leave most of the open files that are allowed to the daemon's work.
FIRST_LINE_BYTES = 256
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_FOLDER_BYTES = 16 * 1024
GREETING_SECONDS = 5.0
BODY_SECONDS = 10.0
IDLE_SECONDS = 60.0
WRITE_SECONDS = 10.0
SETTLE_SECONDS = 0.05  # Time for finished requests to send their responses.
NOT_ASCII_FIX = "Send a first line such as 'memoryd/1 ping'."
_HELLO = re.compile(rb"hello [0-9a-f]{32}")
_logger = logging.getLogger(__name__)


class Connections:
    """Accepts clients. Over TCP, both sides must prove that they know the endpoint's token."""

    def __init__(self, core: Core, endpoint: Endpoint) -> None:
        self._core = core
        self._endpoint = endpoint
        self._most = min(MAX_CONNECTIONS, open_files() // FILES_PER_CONNECTION)
        self._tasks: dict[asyncio.Task[None], Connection] = {}

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client until it disconnects. Errors caused by a client never propagate."""
        task = asyncio.current_task()
        assert task is not None
        connection = Connection(self._core, Incoming(reader), writer)
        has_room = len(self._tasks) < self._most or self._make_room()
        self._tasks[task] = connection
        self._core.connections += 1
        try:
            await self._serve(connection, has_room)
        except asyncio.CancelledError:
            _logger.debug("a connection was closed to make room or to shut down")  # Python 3.11 would log a traceback.
        except (TimeoutError, ConnectionError) as error:
            _logger.debug("a client was too slow or disconnected: %s", type(error).__name__)
        except Exception as error:
            _logger.exception("a connection failed")
            self._core.report_error("connection", error)
        finally:
            self._tasks.pop(task, None)
            self._core.connections -= 1
            writer.close()

    def _make_room(self) -> bool:
        """Close the connection whose client has kept us waiting longest. Return False if there is none.

        Only MCP sessions may be silent for as long as they like.
        """
        waiting = [
            (since, number, task)
            for number, (task, connection) in enumerate(self._tasks.items())
            if (since := connection.incoming.waiting_since) is not None and not connection.is_session
        ]
        if not waiting:
            return False
        *_, slowest = min(waiting)
        del self._tasks[slowest]
        slowest.cancel()
        return True

    async def _serve(self, connection: Connection, has_room: bool) -> None:
        try:
            if not has_room:
                raise InputError("Too many connections.", fix="Close some clients; see 'memoryd doctor'.")
            if self._endpoint.token and not await self._is_trusted(connection):
                raise InputError(
                    "Wrong token.", fix="Read run/endpoint under memoryd's home; see docs/design/daemon-protocol.md."
                )
            await connection.serve()
        except MemorydError as error:
            await connection.send(f"error {error}\n".encode())

    async def _is_trusted(self, connection: Connection) -> bool:
        """Prove to the client that we know the token, then require the same proof in return. The token itself is never sent."""
        endpoint, nonce = self._endpoint, secrets.token_hex(NONCE_BYTES)
        hello = await connection.incoming.line(FIRST_LINE_BYTES, GREETING_SECONDS)
        if hello is None or not _HELLO.fullmatch(hello):
            return False
        theirs = hello.split(b" ")[1].decode("ascii")
        await connection.send(f"proof {nonce} {proof(endpoint.token, 'daemon', endpoint.port, theirs, nonce)}\n".encode())
        answer = await connection.incoming.line(FIRST_LINE_BYTES, GREETING_SECONDS)
        expected = f"proof {proof(endpoint.token, 'client', endpoint.port, theirs, nonce)}"
        return hmac.compare_digest(answer or b"", expected.encode())

    async def close(self, timeout: float) -> None:
        """Give pending requests `timeout` seconds to finish, then close all connections."""
        with contextlib.suppress(TimeoutError):  # What takes longer is cancelled.
            async with asyncio.timeout(timeout):
                await self._core.quiet()
                await asyncio.sleep(SETTLE_SECONDS)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)


class Connection:
    """An authenticated client."""

    def __init__(self, core: Core, incoming: Incoming, writer: asyncio.StreamWriter) -> None:
        self.incoming = incoming
        self.is_session = False
        self._core = core
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Write to the client. Raises TimeoutError if the client does not read."""
        if data:
            self._writer.write(data)
        async with asyncio.timeout(WRITE_SECONDS):
            await self._writer.drain()

    async def serve(self) -> None:
        """Handle the request in the first line. Raises MemorydError if the request is invalid."""
        line = await self.incoming.line(FIRST_LINE_BYTES, GREETING_SECONDS)
        if line is None:
            return
        words = line.split(b" ")
        verbs: dict[bytes, Callable[..., Awaitable[None]]] = {
            b"hook": self._hook,
            b"poke": self._poke,
            b"rpc": self._rpc,
            b"mcp": self._mcp,
            b"ping": self._ping,
        }
        if words[0] != PROTOCOL or len(words) < 2 or words[1] not in verbs:
            raise InputError("Unknown request.", fix=NOT_ASCII_FIX)
        try:
            arguments = [word.decode("ascii") for word in words[2:]]
            work = verbs[words[1]](*arguments)
        except (UnicodeDecodeError, TypeError) as error:
            raise InputError("Invalid arguments.", fix=NOT_ASCII_FIX) from error
        await work

    async def _ping(self) -> None:
        await self.send(f"pong {__version__} {os.getpid()}\n".encode())

    async def _poke(self) -> None:
        self._core.touch()
        self._core.poked.set()

    async def _hook(self, event: str, length: str) -> None:
        """Handle a hook event. The response becomes the hook's standard output, so an error results in an empty response."""
        try:
            data = await self.incoming.exactly(_length(length, MAX_RECORD_BYTES), BODY_SECONDS)
            answer = await self._core.hook(event, data)
            try:
                await self.send(answer)
            except ConnectionError:  # The hook stopped waiting, so nobody sees the answer.
                await self._core.undelivered(event, data)
        except MemorydError as error:
            self._core.report(f"hook {event[:40]}", error.message)

    async def _mcp(self, length: str) -> None:
        folder = await self.incoming.exactly(_length(length, MAX_FOLDER_BYTES), BODY_SECONDS)
        self.is_session = True
        self._core.touch()
        self._core.mcp_connections += 1
        try:
            await in_thread(_load_mcp, "load mcp")
            from memoryd.mcp.server import serve_lines

            await serve_lines(self._core.call, self._core.settings.tool_budget, os.fsdecode(folder), self._next_line, self.send)
        finally:
            self._core.mcp_connections -= 1
            self._core.touch()

    async def _next_line(self) -> bytes | None:
        return await self.incoming.line(MAX_LINE_BYTES, None, rest_seconds=BODY_SECONDS)

    async def _rpc(self) -> None:
        while (line := await self.incoming.line(MAX_LINE_BYTES, IDLE_SECONDS)) is not None:
            if line.strip():
                await self.send(_dumped(await self._answer(line)) + b"\n")

    async def _answer(self, line: bytes) -> dict[str, Any]:
        id: Any = None
        try:
            request = _parse_request(line)
            id = request.get("id")
            return {"id": id, "result": await self._call(request["method"], request.get("params") or {})}
        except MemorydError as error:
            id = id_of(line) if id is None else id
            return {"id": id, "error": {"code": error.code, "message": error.message, "fix": error.fix}}

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        control = _CONTROLS.get(method)
        return await (self._core.call(method, params) if control is None else control(self._core, params))


async def _info(core: Core, params: dict[str, Any]) -> dict[str, Any]:
    return await in_thread(core.info, "info")


async def _stop(core: Core, params: dict[str, Any]) -> dict[str, Any]:
    core.stop("asked by a client")
    return {"pid": os.getpid()}


async def _open_console(core: Core, params: dict[str, Any]) -> dict[str, Any]:
    if params.get("caller") == IN_CLIENT:
        raise only_a_person()
    return await core.open_console(str(params.get("cwd") or ""), str(params.get("results") or ""))


# Methods handled by the process itself, even before the operations are loaded.
_CONTROLS: Mapping[str, Callable[[Core, dict[str, Any]], Awaitable[dict[str, Any]]]] = {
    "daemon_info": _info,
    "daemon_stop": _stop,
    "console_open": _open_console,
}


def _dumped(answer: dict[str, Any]) -> bytes:
    """Serialise as JSON, replacing invalid Unicode."""
    try:
        return orjson.dumps(answer, default=str)
    except TypeError:
        return well_formed(json.dumps(answer, default=str, ensure_ascii=False)).encode("utf-8")


def open_files() -> int:
    """Return how many files this process may have open at once."""
    if sys.platform == "win32":
        return FILES_PER_CONNECTION * MAX_CONNECTIONS
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return FILES_PER_CONNECTION * MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else soft


def _load_mcp() -> None:
    """Import the MCP library, which takes almost a second, outside the event loop."""
    from memoryd.mcp import server  # noqa: F401


def _length(text: str, limit: int) -> int:
    if not text.isdecimal() or len(text) > 12 or int(text) > limit:
        raise InputError(f"A length must be a number up to {limit}.", fix=NOT_ASCII_FIX)
    return int(text)


def _parse_request(line: bytes) -> dict[str, Any]:
    try:
        request = read_json(line)
    except InputError as error:
        raise InputError("The request is not JSON.", fix='Send {"id", "method", "params"} on one line.') from error
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        raise InputError("The request has no method.", fix='Send {"id", "method", "params"} on one line.')
    if not isinstance(request.get("params") or {}, dict):
        raise InputError("The parameters are not an object.", fix='Send {"id", "method", "params"} on one line.')
    return request
