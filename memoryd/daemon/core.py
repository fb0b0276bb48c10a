"""State shared by all connections: the API, counters and recent errors."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memoryd import __version__
from memoryd.core.clock import to_iso
from memoryd.core.config import Settings
from memoryd.core.errors import DaemonError, MemorydError
from memoryd.core.text import one_line, shorten
from memoryd.daemon.contract import ApiLike, DaemonInfo, Fault
from memoryd.daemon.hook_events import HookRecord, check_event, parse_record
from memoryd.daemon.spool import Spool
from memoryd.daemon.threads import BackgroundWorker, in_thread

if TYPE_CHECKING:
    from memoryd.core.protocols import Clock  # Imported late because it loads numpy, which must not delay the start.

T = TypeVar("T")
KEPT_FAULTS = 20
FAULT_CHARACTERS = 300
CALLS_AT_ONCE = 32
QUIET_POLL_SECONDS = 0.005
UNEXPECTED_FIX = "This is a bug in memoryd: see logs/daemon.log under its home, and 'memoryd doctor'."
OpenConsole = Callable[[str, str], Awaitable[dict[str, Any]]]
_logger = logging.getLogger(__name__)


async def _no_console(cwd: str, results: str) -> dict[str, Any]:
    raise DaemonError("This daemon has no console.")


def _page_size() -> int:
    return os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def rss_bytes() -> int:
    """Return the resident memory of this process in bytes, or 0 where the platform does not report it."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _page_size()


class Core:
    """Dispatches requests. All methods but `report`, `info` and `drain_one` must run on the event loop.

    Calls wait until the API exists. Exactly one of `set_api` and `fail_api` must be called, once.

    Args:
        settings: Settings.
        clock: Clock.
        stop: Requests a shutdown, given a reason.
        owns_home: Returns whether the home folder is still the one from the daemon's start.
    """

    def __init__(
        self, settings: Settings, clock: Clock, stop: Callable[[str], None], owns_home: Callable[[], bool] = lambda: True
    ) -> None:
        self._owns_home = owns_home
        self.settings = settings
        self.stop = stop
        self.worker = BackgroundWorker(self._tick, self.report_error, owns_home)
        self.spool = Spool(settings.paths.spool, self.drain_one, self.report)
        self.poked = asyncio.Event()
        self.connections = 0
        self.mcp_connections = 0
        self.in_flight = 0
        self._loop = asyncio.get_running_loop()
        self.last_used = self._loop.time()
        self.warm = False
        self.listening = ""
        self.open_console: OpenConsole = _no_console
        self._clock = clock
        self._since = clock.now()
        self._started = self.last_used
        self._api: asyncio.Future[ApiLike] = asyncio.get_running_loop().create_future()
        self._ready: ApiLike | None = None
        self._gate = asyncio.Semaphore(CALLS_AT_ONCE)
        self._faults: deque[Fault] = deque(maxlen=KEPT_FAULTS)
        self._hooks = 0
        self._calls = 0

    def set_api(self, api: ApiLike) -> None:
        """Provide the API and release waiting calls."""
        self._ready = api
        self._api.set_result(api)

    def fail_api(self, error: MemorydError) -> None:
        """Make all calls fail with this error because the API could not be created."""
        self._api.set_exception(error)
        self._api.exception()  # Retrieve the exception so that asyncio does not report it as unhandled.

    async def api(self) -> ApiLike:
        """Return the API once it exists. Raises MemorydError if it could not be created."""
        return await asyncio.shield(self._api)

    @property
    def api_or_none(self) -> ApiLike | None:
        """The API, if it exists yet."""
        return self._ready

    def touch(self) -> None:
        """Renew the lease."""
        self.last_used = asyncio.get_running_loop().time()

    async def quiet(self) -> None:
        """Wait until no request is in progress."""
        while self.in_flight:
            await asyncio.sleep(QUIET_POLL_SECONDS)

    def report(self, where: str, what: str) -> None:
        """Record an error for the status and the log. Thread-safe."""
        _logger.warning("%s: %s", where, what)
        self._faults.append(Fault(to_iso(self._clock.now()), where, shorten(one_line(what), FAULT_CHARACTERS)))

    def report_error(self, where: str, error: BaseException) -> None:
        """Record an exception. Only expected exceptions are reported in full."""
        self.report(where, str(error) if isinstance(error, MemorydError) else type(error).__name__)

    @contextlib.contextmanager
    def _working(self, use: bool = True) -> Iterator[None]:
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            if use:
                self.touch()

    def guarded(self, where: str, work: Callable[[], T]) -> T:
        """Run `work`, logging unexpected exceptions and converting them to DaemonError."""
        try:
            return work()
        except MemorydError as error:
            _logger.info("%s refused: %s", where, error.code)
            raise
        except Exception as error:
            _logger.exception("%s failed", where)
            self.report_error(where, error)
            raise DaemonError(f"{where} failed unexpectedly ({type(error).__name__}).", fix=UNEXPECTED_FIX) from error

    async def call(self, method: str, params: Mapping[str, Any], *, use: bool = True) -> dict[str, Any]:
        """Call an API method in a thread. Raises only MemorydError. With `use=False`, the lease is not renewed."""
        with self._working(use):
            self._calls += 1
            api = await self.api()
            async with self._gate:
                answer = await in_thread(lambda: self.guarded(method, lambda: api.call(method, params)), "call")
        self.worker.wake()
        return answer

    async def hook(self, event: str, data: bytes) -> bytes:
        """Return a hook's output without queueing behind calls. Raises MemorydError."""
        with self._working():
            self._hooks += 1
            check_event(event)
            record = parse_record(data)
            api = await self.api()
            where = f"hook {event}"
            answer = await in_thread(lambda: self.guarded(where, lambda: api.hook(event, record.payload, record.options)), "hook")
        self.poked.set()
        self.worker.wake()
        return answer

    async def undelivered(self, event: str, data: bytes) -> None:
        """Report that a hook did not wait for the answer to this event. Raises MemorydError."""
        record = parse_record(data)
        api = await self.api()
        await in_thread(lambda: self.guarded(f"late {event}", lambda: api.undelivered(record.payload)), "hook")

    def drain_one(self, event: str, record: HookRecord) -> None:
        """Pass a spooled record to the API, in the spool's thread. Raises MemorydError."""
        api = self._ready
        if api is None:
            raise DaemonError("The daemon is not ready yet.")
        if not self._owns_home():  # The record belongs to another daemon, which now serves the home folder.
            raise DaemonError("The home folder was replaced.")
        self.guarded(f"spooled {event}", lambda: api.drain_spool_record(event, record.payload, record.options))

    def _tick(self) -> float | None:
        return None if self._ready is None else self._ready.tick()

    def info(self) -> dict[str, Any]:
        """Return the daemon's health as plain values. Thread-safe. Reads the spool folder."""
        found = DaemonInfo(
            pid=os.getpid(),
            version=__version__,
            since=to_iso(self._since),
            uptime_seconds=round(self._loop.time() - self._started, 3),
            rss_bytes=rss_bytes(),
            connections=self.connections,
            mcp_connections=self.mcp_connections,
            in_flight=self.in_flight,
            hooks=self._hooks,
            calls=self._calls,
            spool_waiting=len(self.spool.waiting()),
            spool_done=self.spool.done,
            spool_bad=self.spool.bad_count(),
            warm=self.warm,
            listening=self.listening,
            errors=tuple(self._faults),
        )
        return asdict(found)

    async def occupied(self, lease_seconds: float) -> bool:
        """Return whether the daemon must keep running because it has clients, is working, or has work due within a lease."""
        due = self.worker.next_due()
        if self.connections or self.in_flight or self.worker.busy() or (due is not None and due <= lease_seconds):
            return True
        api = self._ready
        return api is not None and await in_thread(api.busy, "busy")
