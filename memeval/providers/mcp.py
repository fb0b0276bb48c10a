"""MCP servers as memory systems. The YAML file defines the start command, the tools and the parsing of responses.

Each case has its own server and folder, or one server handles all cases and its tools take `${runTag}`. A response is read
from the tool's structured content. Without structured content, the text is parsed as JSON or split into results by
`response.pattern`.
"""

from __future__ import annotations

import re
import shutil
import sysconfig
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.errors import ConfigError, ProviderError
from memeval.core.protocols import Capabilities
from memeval.core.types import EMPTY
from memeval.providers.http_client import Pace, fill, texts_of
from memeval.providers.local import folder_name
from memeval.providers.mcp_server import Launch, McpServer, matches
from memeval.providers.remote import RemoteProvider
from memeval.specs import McpSpec, ProviderSpec, ToolSpec, ToolsSpec

SERVERS_KEPT = 4
"""Maximum number of concurrent per-case servers. Stopped ones are restarted on demand."""
ALL = "all-cases"


@registry.provider("mcp")
class McpProvider(RemoteProvider):
    """A memory system behind an MCP server, with the common options of remote providers."""

    capabilities = Capabilities(stop=True, check=True)

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        if spec.mcp is None or spec.tools is None:
            raise ConfigError(f"{spec.origin.where('mcp')} or tools are missing.", fix="Add mcp.command and tools.")
        super().__init__(spec, options, spec.tools)
        self._how: McpSpec = spec.mcp
        self._tools: ToolsSpec = spec.tools
        self._workdir = Path()
        self._servers: OrderedDict[str, McpServer] = OrderedDict()
        self._busy: dict[str, int] = {}
        self._lock = threading.Lock()
        self._see: Callable[[str, bytes], None] = lambda where, body: None
        self._pace = Pace(self.stop.sleep)

    def check(self) -> None:
        """Raise ConfigError if the program is missing, or if cases could be mixed."""
        command = self._how.command[0]
        if "${folder}" not in command and _program(command) is None:
            raise ConfigError(
                f"{self.spec.origin.where('mcp.command')}: there is no program {command}.", fix="Install it, or correct the path."
            )
        started = " ".join([*self._how.command, *self._how.environment.values(), self._how.cwd])
        if self._how.per_case and "${folder}" not in started:
            raise ConfigError(
                f"{self.spec.origin.where('mcp')}: ${{folder}} is not used, so cases would mix with your own data.",
                fix="Make it store its data in ${folder}, through command, environment or cwd.",
            )
        for name in ("add", "search") if not self._how.per_case else ():
            if "runTag" not in " ".join(texts_of(dict(getattr(self._tools, name).arguments))):
                raise ConfigError(
                    f"{self.spec.origin.where(f'tools.{name}')}: one server has all cases, but no argument uses ${{runTag}}.",
                    fix="Put ${runTag} into an argument that separates users or projects, or omit perCase.",
                )

    def watch(self, see: Callable[[str, bytes], None]) -> None:
        """Pass each raw tool response to an observer."""
        self._see = see

    def open(self, workdir: Path) -> None:
        """Open the request log. Servers are started on first use."""
        self.check()
        super().open(workdir)
        self._workdir = workdir.resolve()

    def call(self, call: Any, kind: str, scope: str, values: Mapping[str, Any], page: Mapping[str, Any] = EMPTY) -> Any:
        """Call one tool and parse the response."""
        tool: ToolSpec = call
        limits = self.spec.rate_limit
        self._pace.wait(kind, {"add": limits.add_delay, "search": limits.search_delay}.get(kind, 0.0))
        arguments = fill(dict(tool.arguments), {"runTag": scope, "setup": self.log.setup(scope), **values})
        with self._server(scope) as server:
            value, text = server.call(tool.tool, arguments)
        self._see(f"tool {tool.tool}", text.encode())
        found = matches(tool.response.pattern, text) if tool.response.pattern else value
        if problem := _unread(tool, kind, found, text):
            where = self.spec.origin.where(f"tools.{kind}.response")
            raise ProviderError(f"{self.name}: tool {tool.tool} returned {text[:200]!r}, {problem}.", fix=f"See {where}.")
        return found

    def clear(self, scope: str) -> None:
        """Call the clear tool, if any, then stop the server of the case and delete its folder."""
        super().clear(scope)
        if self._how.per_case:
            with self._lock:
                server = self._servers.pop(scope, None)
            if server is not None:
                server.close()
            shutil.rmtree(self._folder(scope), ignore_errors=True)

    def close(self) -> None:
        """Stop all servers."""
        with self._lock:
            servers = [self._servers.popitem()[1] for _ in range(len(self._servers))]
        for server in servers:
            server.close()
        super().close()

    def _folder(self, scope: str) -> Path:
        return self._workdir / folder_name(scope if self._how.per_case else ALL)

    @contextmanager
    def _server(self, scope: str) -> Iterator[McpServer]:
        """Yield the server of a scope, starting it if necessary. A server in use is never stopped."""
        key = scope if self._how.per_case else ALL
        with self._lock:
            server = self._servers.get(key)
            if server is None or not server.running:
                if server is not None:
                    server.close()
                server = self._servers[key] = self._started(scope)
            self._servers.move_to_end(key)
            self._busy[key] = self._busy.get(key, 0) + 1
            over = [one for one in self._servers if not self._busy.get(one)][: max(0, len(self._servers) - SERVERS_KEPT)]
            old = [self._servers.pop(one) for one in over]
        for one in old:
            one.close()
        try:
            yield server
        finally:
            with self._lock:
                self._busy[key] -= 1

    def _started(self, scope: str) -> McpServer:
        folder = self._folder(scope)
        folder.mkdir(parents=True, exist_ok=True)

        def put(text: str) -> str:
            return text.replace("${folder}", str(folder))

        launch = Launch(
            _startable([put(part) for part in self._how.command]),
            _startable([put(part) for part in self._how.stop]),
            {name: put(value) for name, value in self._how.environment.items()},
            Path(put(self._how.cwd)) if self._how.cwd else None,
            self._workdir / "mcp.log",
            self._how.start_timeout,
            self._how.call_timeout,
        )
        server = McpServer(self.name, launch)
        try:
            for field in fields(self._tools):
                tool = getattr(self._tools, field.name)
                if tool is not None:
                    where = self.spec.origin.where(f"tools.{field.name}")
                    server.check(tool.tool, list(tool.arguments), where)
        except ConfigError as error:
            server.close()
            raise ProviderError(error.message, fix=error.fix) from None
        return server


def _unread(tool: ToolSpec, kind: str, found: Any, text: str) -> str:
    """Return why a response can't be parsed.

    An error reported as plain text must not be mistaken for an empty result.
    """
    response = tool.response
    if response.pattern:
        known = found["results"] or not text.strip() or (response.nothing and re.search(response.nothing, text))
        return "" if known else "which the pattern does not match"
    plain = isinstance(found, Mapping) and set(found) == {"text"}
    if not plain or kind not in ("search", "status") or not text.strip():
        return ""
    if response.nothing and re.search(response.nothing, text):
        return ""
    read = response.status_field if kind == "status" else response.results.removeprefix("$") or response.content_field
    return "" if "text" in read else "plain text instead of data"


def _program(name: str) -> str | None:
    """Return the path of a program on PATH or next to this Python interpreter, whose environment may not be active."""
    return shutil.which(name) or shutil.which(name, path=sysconfig.get_path("scripts"))


def _startable(command: list[str]) -> list[str]:
    return [_program(command[0]) or command[0], *command[1:]] if command else command
