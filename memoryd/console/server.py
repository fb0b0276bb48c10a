"""Start the console in a running daemon when it is first requested, and stop it with the daemon."""

from __future__ import annotations

from typing import Any

from memoryd.console import pages, plugins
from memoryd.console.listener import Listener, bind
from memoryd.console.safety import LOOPBACK
from memoryd.console.sessions import ALL, TICKET_SECONDS, Sessions
from memoryd.console.web import Hooks, console_app
from memoryd.core.errors import DaemonError, MemorydError
from memoryd.daemon.core import Core


class ConsoleServer:
    """The console of a daemon. All methods must run on the daemon's event loop."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._sessions = Sessions()
        self._listener: Listener | None = None
        self._port = 0

    async def open(self, cwd: str = "", results: str = "") -> dict[str, Any]:
        """Start the listener if necessary, and return a one-time link with its validity in seconds. Raises MemorydError."""
        if self._listener is None:
            await self._start(self._core.settings.console_port)
        ticket = self._sessions.issue(await self._project(cwd), results)
        return {"url": f"http://{LOOPBACK}:{self._port}/open?ticket={ticket}", "port": self._port, "seconds": int(TICKET_SECONDS)}

    async def _start(self, port: int) -> None:
        try:
            listening = bind(port)
            self._port = listening.getsockname()[1]
            listener = Listener(self._web(self._port), listening)
            await listener.start()
        except OSError as error:
            fix = "Set console_port to another port, or to 0 for any free one."
            raise DaemonError(f"The console can't listen on port {port}: {error.strerror or error}.", fix=fix) from error
        self._listener = listener

    def _web(self, port: int) -> Any:
        found, faults = plugins.load(plugins.installed(), pages.PAGES)
        hooks = Hooks(self._core.call, self._core.touch, self._core.report_error)
        return console_app([*pages.PAGES, *found], self._sessions, port, hooks, faults=faults)

    async def _project(self, cwd: str) -> str:
        """Return the project of the folder where the console was opened, or "all" if it is unknown."""
        try:
            answer = await self._core.call("project_names", {"cwd": cwd} if cwd else {})
        except MemorydError:  # The page itself shows the error.
            return ALL
        return str(answer["current"] or ALL)

    async def close(self) -> None:
        """Stop the listener."""
        if self._listener is not None:
            await self._listener.close()
