"""Run stdio MCP servers from ordinary threads. No other module imports the `mcp` SDK."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memeval.core.errors import ConfigError, DependencyError, ProviderError

LOG_TAIL = 4000
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Launch:
    """The start parameters of a server. Its standard error is written to `log`."""

    command: Sequence[str]
    stop: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path | None
    log: Path
    start_seconds: float
    call_seconds: float


class McpServer:
    """A running server.

    A server that exits or hangs is killed. The error is transient, because a new server may work.
    """

    def __init__(self, name: str, launch: Launch) -> None:
        from anyio.from_thread import start_blocking_portal  # Import the SDK only when an MCP server is started.
        from mcp import Client, MCPError, StdioServerParameters, stdio_client

        self._name = name
        self._launch = launch
        self._fault: type[Exception] = MCPError
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self.running = True
        command, *arguments = launch.command
        try:
            with self._stack:
                log = self._stack.enter_context(launch.log.open("a", encoding="utf-8"))
                self._portal = self._stack.enter_context(start_blocking_portal())
                program = StdioServerParameters(
                    command=command,
                    args=arguments,
                    env=dict(launch.environment),
                    cwd=launch.cwd,
                    encoding_error_handler="replace",
                )
                client = Client(stdio_client(program, log), read_timeout_seconds=launch.start_seconds, cache=None)
                self._client = self._stack.enter_context(self._portal.wrap_async_context_manager(client))
                self.tools = self._portal.call(self._list)
                self._stack = self._stack.pop_all()
        except FileNotFoundError as error:
            raise DependencyError(f"{name} can't be started: {error}.", fix="Install it, or correct mcp.command.") from error
        except (OSError, MCPError, TimeoutError, ExceptionGroup) as error:
            raise self._error(f"did not start as an MCP server: {_said(error)}", transient=False) from error

    async def _list(self) -> dict[str, Mapping[str, Any]]:
        tools: dict[str, Mapping[str, Any]] = {}
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            tools |= {tool.name: tool.input_schema for tool in page.tools}
            cursor = page.next_cursor
            if not cursor:
                return tools

    def check(self, tool: str, arguments: Sequence[str], where: str) -> None:
        """Raise ConfigError if the server doesn't have the tool, or the tool doesn't have an argument."""
        if tool not in self.tools:
            raise ConfigError(
                f"{where}: {self._name} has no tool {tool!r}.", fix=f"Its tools: {', '.join(sorted(self.tools)) or 'none'}."
            )
        schema = self.tools[tool]
        known = schema.get("properties", {})
        if schema.get("additionalProperties") is True or not isinstance(known, Mapping):
            return
        if wrong := [argument for argument in arguments if argument not in known]:
            raise ConfigError(
                f"{where}: tool {tool} of {self._name} has no argument {wrong[0]!r}.",
                fix=f"It takes: {', '.join(known) or 'nothing'}.",
            )

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Any, str]:
        """Call a tool and return its response as data (see `parsed`) and as text. Calls are made one at a time.

        Raises ProviderError. It is transient if the server exited or timed out, and otherwise contains the tool's message.
        """
        with self._lock:
            try:
                result = self._portal.call(self._call, tool, dict(arguments))
            except (self._fault, OSError, TimeoutError, RuntimeError, CancelledError) as error:
                self.running = False
                raise self._error(f"exited or did not respond to {tool}: {_said(error)}", transient=True) from error
        texts = [block.text for block in result.content if block.type == "text"]
        text = "\n".join(texts)
        if result.is_error:
            raise ProviderError(f"{self._name}: tool {tool} failed: {text[:300]}", fix="Compare its arguments with its schema.")
        return parsed(texts, result.structured_content), text

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return await self._client.call_tool(tool, arguments, read_timeout_seconds=self._launch.call_seconds)

    def close(self) -> None:
        """Stop the server and its children, then run the clean-up command."""
        self.running = False
        # A server that has already ended or does not answer is no obstacle to the clean-up.
        with contextlib.suppress(self._fault, OSError, ExceptionGroup, CancelledError):
            self._stack.close()
        if self._launch.stop:
            self._run_stop()

    def _run_stop(self) -> None:
        how = self._launch
        try:
            with how.log.open("ab") as log:
                environment = {**os.environ, **how.environment}
                subprocess.run(how.stop, cwd=how.cwd, env=environment, stdout=log, stderr=log, timeout=STOP_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise self._error(f"could not be stopped: {error}", transient=False) from error

    def _error(self, what: str, *, transient: bool) -> ProviderError:
        last = _last_line(self._launch.log)
        said = f" Its last output: {last}" if last else ""
        return ProviderError(f"{self._name} {what}.{said}", fix=f"See {self._launch.log}.", transient=transient)


def _said(error: BaseException) -> str:
    """Return the message of the first error in an exception group. The library wraps most errors in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error).strip().rstrip(".") or type(error).__name__


def _last_line(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - LOG_TAIL))
            lines = stream.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1][:200] if lines else ""


def parsed(texts: Sequence[str], structured: Any = None) -> Any:
    """Parse a response.

    Structured content is preferred over JSON in the response text. Several texts become a list, and plain text
    becomes `{text: …}`. Some libraries wrap a plain text result as `{result: text}`. In that case, the text itself is
    parsed.
    """
    if structured is not None and not (set(structured) == {"result"} and isinstance(structured["result"], str)):
        return structured
    try:
        values = [json.loads(text) for text in texts]
    except ValueError:
        return {"text": "\n".join(texts)}
    return values[0] if len(values) == 1 else values


def matches(pattern: str, text: str) -> dict[str, Any]:
    """Split plain text into results, each made of the named groups of a match.

    A numeric `score` group is converted to a number.
    """
    results = [match.groupdict() for match in re.finditer(pattern, text)]
    for one in results:
        with contextlib.suppress(ValueError, TypeError):  # Other scores remain texts.
            one["score"] = float(one.get("score", ""))
    return {"text": text, "results": results}
