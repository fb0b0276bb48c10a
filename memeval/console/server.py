"""Serve the Results pages without memoryd's daemon, for `memeval serve`.

The application, its sessions and its security are those of memoryd's console. Nothing is written to the results folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memeval.console.pages import results_page
from memeval.core.errors import ConfigError
from memeval.registry import Catalog
from memoryd.console.contract import Context, Page, Reply, Route
from memoryd.console.listener import Listener, bind
from memoryd.console.replies import Site
from memoryd.console.safety import LOOPBACK, AsgiApp
from memoryd.console.sessions import TICKET_SECONDS, Sessions
from memoryd.console.web import Hooks, console_app
from memoryd.core.errors import NotFoundError

SITE = Site("memeval", "memeval serve", "This is a bug in memeval; please report it with the terminal output.", projects=False)
LINK_SECONDS = int(TICKET_SECONDS)
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def application(sessions: Sessions, port: int, catalog: Callable[[], Catalog], failing: Callable[[str], None]) -> AsgiApp:
    """Build the application. `failing` is called with one line per unexpected error."""

    async def call(method: str, params: Mapping[str, Any], *, use: bool = True) -> dict[str, Any]:
        raise NotFoundError("These pages only show results.", fix="To see memories, run: memoryd console")

    hooks = Hooks(call, lambda: None, lambda where, error: failing(f"{where} failed: {type(error).__name__}: {error}"))
    return console_app([Page("home", (Route("/", _home),)), results_page(catalog)], sessions, port, hooks, site=SITE)


async def _home(ctx: Context) -> Reply:
    return ctx.redirect("/results")


class ResultsServer:
    """The server of one results folder on a loopback address. Port 0 selects a free port."""

    def __init__(self, folder: Path, port: int, catalog: Callable[[], Catalog], failing: Callable[[str], None]) -> None:
        self._folder = folder
        self._sessions = Sessions()
        try:
            listening = bind(port)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(
                f"memeval serve can't listen on port {port}: {reason}.",
                fix="Give another --port, or omit it for a free one. If memeval serve is running there, press Enter "
                "in its terminal for a new link.",
            ) from error
        self.port = int(listening.getsockname()[1])
        self._listener = Listener(application(self._sessions, self.port, catalog, failing), listening)
        logging.getLogger("memoryd.console").addHandler(logging.NullHandler())  # `failing` reports errors in one line.

    def link(self) -> str:
        """Return a new one-time link, valid for `LINK_SECONDS`."""
        ticket = self._sessions.issue(results=str(self._folder.resolve()))
        return f"http://{LOOPBACK}:{self.port}/open?ticket={ticket}"

    async def start(self) -> None:
        """Wait until browsers can connect."""
        await self._listener.start()

    async def close(self) -> None:
        """Stop serving."""
        await self._listener.close()


async def serve(server: ResultsServer, ready: Callable[[], None], again: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is called once, and `again` for each line on a terminal's standard input."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, ended.set)
    await server.start()
    try:
        ready()
        with _lines(loop, again):
            await ended.wait()
    finally:
        await server.close()


@contextlib.contextmanager
def _lines(loop: asyncio.AbstractEventLoop, again: Callable[[], None]) -> Any:
    """Call `again` for each line that the user enters, if there is a terminal."""
    if not sys.stdin.isatty():
        yield
        return

    def read() -> None:
        if not sys.stdin.readline():
            loop.remove_reader(sys.stdin)
            return
        again()

    loop.add_reader(sys.stdin, read)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)
