"""The daemon process. One per home folder, which keeps memory loaded for hooks, MCP and the CLI.

It listens before it loads, so the client that started it can connect within a fraction of a second. It shuts down
when idle for longer than the lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memoryd import __version__
from memoryd.core.config import Settings
from memoryd.core.errors import DaemonError, MemorydError
from memoryd.core.files import make_private_dir, try_lock
from memoryd.core.paths import Paths
from memoryd.daemon.connection import Connections
from memoryd.daemon.contract import ApiLike, Slot
from memoryd.daemon.core import Core
from memoryd.daemon.endpoint import BACKLOG, Endpoint, daemons_of, holder_pid, listen, publish, published, withdraw
from memoryd.daemon.logs import start_log, stop_log
from memoryd.daemon.schedule import Scheduler
from memoryd.daemon.threads import in_thread

if TYPE_CHECKING:
    from memoryd.console.server import ConsoleServer
    from memoryd.core.protocols import Clock  # Loads numpy, which must not delay the start.

LOG_NAME = "daemon.log"
SPOOL_POLL_SECONDS = 3.0
IDLE_POLL_SECONDS = 30.0
RECENT_USE_SECONDS = 60.0
LEASE_CHECK_SECONDS = 30.0
GRACE_SECONDS = 5.0
FAILED_START_SECONDS = 1.0
FIRST_ANSWERS_SECONDS = 0.25
SWITCH_SECONDS = 0.001  # Makes computing threads yield to hooks sooner (the default is 0.005).
HOME_CHECK_SECONDS = 0.25
PREDECESSOR_SECONDS = 3.0
PAUSE_SECONDS = 0.02
SHORTAGE_SECONDS = 5.0
NOTHING_TO_RETRY = 2  # Same as for an invalid setting, because another start would fail in the same way.
MIN_FILES = 64  # An idle daemon has about 30 files open.
MANY_FILES = 4_096
# Models and libraries are memory-mapped. An idle daemon maps 1,400 MB, of which 200 MB are resident.
MIN_SPACE = 1_600 * 2**20
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOBUFS})
_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_logger = logging.getLogger(__name__)

# Takes the settings and a function that returns the health of the process.
MakeApi = Callable[[Settings, Callable[[], Mapping[str, Any]]], ApiLike]


def run_daemon(settings: Settings, make_api: MakeApi, clock: Clock, ready: Callable[[], None] | None = None) -> int:
    """Serve until stopped or idle for longer than the lease.

    If a daemon is already running for this home, print a message to standard error and return 0.

    Args:
        settings: Settings.
        make_api: Creates the API, in the background after the socket starts listening.
        clock: Clock.
        ready: Called once clients can connect.

    Returns:
        The exit code: 1 if the API can't be created or the daemon can't listen, 2 if system limits are too low.
    """
    paths = settings.paths
    try:
        if problem := too_little():
            sys.stderr.write(f"memoryd can't start: {problem}\n")
            return NOTHING_TO_RETRY
        fresh = not paths.daemon_lock.exists()
        lock = try_lock(paths.daemon_lock)
        if lock is None:
            sys.stderr.write(f"memoryd is already running (pid {holder_pid(paths) or 'unknown'}).\n")
            return 0
        with lock:
            if fresh:
                _await_predecessors(paths)
            _note_pid(lock)
            paths.start_problem.unlink(missing_ok=True)
            return _run_locked(settings, make_api, clock, ready, lock)
    except OSError as error:
        _logger.exception("can't start")
        fix = "free some space" if error.errno in _FULL else "run 'memoryd doctor'"
        sys.stderr.write(f"memoryd can't start: {error}. Fix: {fix}.\n")
    except MemorydError as error:
        _logger.warning("can't start: %s", error)
        sys.stderr.write(f"memoryd can't start: {error}\n")
    return 1


def _run_locked(settings: Settings, make_api: MakeApi, clock: Clock, ready: Callable[[], None] | None, lock: IO[bytes]) -> int:
    handler = start_log(settings.paths.logs / LOG_NAME, settings.log_level)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        return asyncio.run(_Daemon(settings, make_api, clock, lock).run(ready))
    finally:
        sys.setswitchinterval(interval)
        stop_log(handler)


def _await_predecessors(paths: Paths) -> None:
    """Wait until daemons of a deleted and recreated home have exited. They lock the deleted file, not the new one."""
    deadline = time.monotonic() + PREDECESSOR_SECONDS
    while set(daemons_of(paths) or ()) - {os.getpid()} and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)


def _note_pid(lock: IO[bytes]) -> None:
    lock.seek(0)
    lock.write(f" {os.getpid()}\n".encode())
    lock.truncate()
    lock.flush()


class _Daemon:
    def __init__(self, settings: Settings, make_api: MakeApi, clock: Clock, lock: IO[bytes]) -> None:
        self._lock = lock
        self._settings = settings
        self._paths = settings.paths
        self._make_api = make_api
        self._clock = clock
        self._scheduler = Scheduler(clock)
        self._code = 0
        self._console: ConsoleServer | None = None
        self._opening = asyncio.Lock()
        self._displaced = False

    async def run(self, ready: Callable[[], None] | None) -> int:
        self._stopped = asyncio.Event()
        asyncio.get_running_loop().set_exception_handler(_on_loop_fault)
        self._core = Core(self._settings, self._clock, self._stop, lambda: self._why_displaced() == "")
        self._core.open_console = self._open_console
        make_private_dir(self._paths.spool)
        listener, endpoint = listen(self._paths, tcp=self._settings.listen == "tcp")
        connections = Connections(self._core, endpoint)
        server = await _serve(connections, listener)
        publish(self._paths, endpoint)
        self._is_found = partial(_is_found, self._paths, endpoint, published(self._paths, endpoint))
        self._core.listening = endpoint.public()
        self._catch_signals()
        _logger.info("memoryd %s is listening on %s (pid %d)", __version__, endpoint.public(), os.getpid())
        if ready is not None:
            ready()
        jobs = (self._prepare, self._watch_spool, self._watch_lease, self._watch_home)
        tasks = [asyncio.create_task(self._guard(work)) for work in jobs]
        await self._stopped.wait()
        server.close()
        await self._end(connections, endpoint, tasks)
        return self._code

    async def _open_console(self, cwd: str, results: str) -> dict[str, Any]:
        """Open the console. The first request imports its libraries, outside the event loop."""
        async with self._opening:
            if self._console is None:
                console = await in_thread(lambda: self._core.guarded("console", _load_console), "load console")
                self._console = console(self._core)
            return await self._console.open(cwd, results)

    def _stop(self, why: str) -> None:
        if not self._stopped.is_set():
            _logger.info("Shutting down: %s.", why)
            self._stopped.set()

    def _catch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is None:
                continue
            try:
                loop.add_signal_handler(number, self._stop, name)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_, name=name: loop.call_soon_threadsafe(self._stop, name))

    async def _guard(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a task of the daemon. If it fails, shut down, so that the next client starts a new daemon.

        If a task only ran out of file descriptors, memory or threads, it is restarted. `_prepare` then continues with the API
        that it has created.
        """
        while True:
            try:
                await work()
            except Exception as error:
                if not _is_shortage(error):
                    _logger.exception("a daemon task failed")
                    self._code = 1
                    self._stop("a task failed")
                    return
                self._core.report("daemon", f"out of resources, retrying: {error}")
                await asyncio.sleep(SHORTAGE_SECONDS)
            else:
                return

    async def _prepare(self) -> None:
        """Create the API, then load the heavy components."""
        core = self._core
        api = core.api_or_none
        if api is None:
            try:
                api = await in_thread(lambda: core.guarded("start", lambda: self._make_api(self._settings, core.info)), "start")
            except MemorydError as error:
                await self._give_up(error)
                return
            core.set_api(api)
            core.poked.set()
            core.worker.start()
        with contextlib.suppress(TimeoutError):  # Answer waiting calls before loading the rest.
            async with asyncio.timeout(FIRST_ANSWERS_SECONDS):
                await core.quiet()
        await in_thread(lambda: self._warm(api), "warm")
        core.warm = True

    async def _give_up(self, error: MemorydError) -> None:
        """Shut down because the API could not be created. Waiting clients receive the error."""
        _logger.error("can't start: %s", error)
        self._core.fail_api(error)
        self._code = 1
        await asyncio.sleep(FAILED_START_SECONDS)
        self._stop("the API could not be created")

    def _warm(self, api: ApiLike) -> None:
        """Load the heavy components. Errors are only reported, because the first call that needs a component tries again."""
        from memoryd.mcp import server  # noqa: F401 - takes most of a second

        with contextlib.suppress(DaemonError, MemorydError):
            self._core.guarded("warm", api.warm)
        with contextlib.suppress(DaemonError, MemorydError):
            self._core.guarded("schedule", lambda: self._schedule(api))

    def _schedule(self, api: ApiLike) -> None:
        slots = api.slots()
        for slot in slots:
            self._plan(slot)
        if slots:
            self._scheduler.start()

    def _plan(self, slot: Slot) -> None:
        def hand_over() -> None:
            self._core.worker.submit(slot.name, slot.run)

        if slot.daily_at is not None:
            self._scheduler.daily(slot.daily_at, hand_over, slot.name, slot.last_run)
        if slot.every_seconds is not None:
            self._scheduler.every(slot.every_seconds, hand_over, slot.name)

    async def _watch_spool(self) -> None:
        """Drain the spool when a hook signals a new record. The folder is also checked regularly in case a signal was lost."""
        core = self._core
        try:
            await core.api()
        except MemorydError:
            return  # `_prepare` reports the error and stops the daemon.
        await in_thread(core.spool.sweep, "spool")
        while True:
            core.poked.clear()
            await self._drain()
            await self._next_poke()

    async def _drain(self) -> None:
        try:
            done = await in_thread(self._core.spool.drain, "spool")
        except OSError as error:
            self._core.report("spool", f"can't be read: {error}")
            return
        if done:
            self._core.touch()
            self._core.worker.wake()

    async def _next_poke(self) -> None:
        core = self._core
        while not core.poked.is_set():
            idle = asyncio.get_running_loop().time() - core.last_used
            in_use = idle < RECENT_USE_SECONDS or core.mcp_connections
            with contextlib.suppress(TimeoutError):  # Without a signal, check the folder.
                async with asyncio.timeout(SPOOL_POLL_SECONDS if in_use else IDLE_POLL_SECONDS):
                    await core.poked.wait()
            if core.spool.changed():
                return

    async def _watch_home(self) -> None:
        """Shut down when the home folder, installation or socket is gone, because clients can no longer find this daemon."""
        while not (why := self._why_displaced() or self._why_unreachable()):
            await asyncio.sleep(HOME_CHECK_SECONDS)
            if self._scheduler.follow_clock():
                _logger.info("the clock was changed; rescheduling recurring work")
                self._core.worker.wake()
        self._displaced = True
        self._stop(why)

    def _why_unreachable(self) -> str:
        """Return why clients can't find this daemon, or "". What cleans up temporary folders may delete the socket."""
        return "" if self._is_found() else "its socket or its endpoint file was deleted or changed"

    def _why_displaced(self) -> str:
        """Return why this daemon must stop, or "". Its lock is valid only while the path leads to the locked file."""
        try:
            ours, there = os.fstat(self._lock.fileno()), self._paths.daemon_lock.stat()
        except FileNotFoundError:
            return "its home folder was deleted"
        except (OSError, ValueError):  # Too many open files, or the lock was closed during shutdown.
            return ""
        if (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino):
            return "its home folder was deleted and recreated"
        gone = next((path for path in (Path(__file__), Path(sys.executable)) if not path.exists()), None)
        return f"its installation was removed ({gone})" if gone else ""

    async def _watch_lease(self) -> None:
        core, loop = self._core, asyncio.get_running_loop()
        lease = self._settings.lease_minutes * 60
        while True:
            left = core.last_used + lease - loop.time()
            if left <= 0:
                if not await core.occupied(lease):
                    self._stop("idle for longer than the lease")
                    return
                left = min(lease, LEASE_CHECK_SECONDS)
            await asyncio.sleep(left)

    async def _end(self, connections: Connections, endpoint: Endpoint, tasks: list[asyncio.Task[None]]) -> None:
        if self._displaced and self._why_displaced().startswith("its home"):
            await self._end_displaced(connections, tasks)
            return
        withdraw(self._paths, endpoint)
        if self._console is not None:
            await self._console.close()
        await connections.close(GRACE_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=1.0)
        self._scheduler.stop()
        if not await in_thread(lambda: self._core.worker.stop(GRACE_SECONDS), "stop"):
            _logger.warning("background work was interrupted; it continues after the next start")
        api = self._core.api_or_none
        if api is not None:
            await self._close(api)
        _logger.info("stopped")

    async def _end_displaced(self, connections: Connections, tasks: list[asyncio.Task[None]]) -> None:
        """Shut down without writing or deleting anything, because the paths now belong to another daemon."""
        if self._console is not None:
            await self._console.close()
        await connections.close(0.0)
        for task in tasks:
            task.cancel()
        self._scheduler.stop()
        await in_thread(lambda: self._core.worker.stop(0.0), "stop")

    async def _close(self, api: ApiLike) -> None:
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await in_thread(lambda: self._core.guarded("close", api.close), "close")
        except (TimeoutError, MemorydError):
            _logger.warning("the API did not close cleanly")


def _is_shortage(error: Exception) -> bool:
    """Return whether the error is a possibly temporary shortage of files, memory or threads."""
    no_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    no_file = isinstance(error, ImportError) and os.strerror(errno.EMFILE) in str(error)  # a library with native code
    return no_thread or no_file or isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORTAGES)


def _on_loop_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log a shortage of file descriptors as one line, because asyncio reports it every second. Leave other errors to asyncio."""
    error = context.get("exception")
    if isinstance(error, Exception) and _is_shortage(error):
        _logger.warning("can't accept connections for now: %s", error)
    else:
        loop.default_exception_handler(context)


def _is_found(paths: Paths, endpoint: Endpoint, before: tuple[object, ...]) -> bool:
    try:
        return published(paths, endpoint) == before
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def too_little() -> str:
    """Return a message with a fix if a resource limit is too low, or an empty string.

    The limit on open files is raised first, as far as allowed and up to MANY_FILES.
    """
    if sys.platform == "win32":
        return ""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, MANY_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # The limit remains as it is, and is checked next.
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft != resource.RLIM_INFINITY and soft < MIN_FILES:
        return f"only {soft} open files are allowed. Fix: allow at least {MIN_FILES}, e.g. 'ulimit -n 1024'."
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space != resource.RLIM_INFINITY and space < MIN_SPACE:
        return (
            f"only {space // 2**20} MiB of address space are allowed. "
            f"Fix: allow at least {MIN_SPACE // 2**20} MiB, e.g. 'ulimit -v unlimited'."
        )
    return ""


def _load_console() -> type[ConsoleServer]:
    from memoryd.console.server import ConsoleServer

    return ConsoleServer


async def _serve(connections: Connections, listener: socket.socket) -> asyncio.Server:
    if listener.family == getattr(socket, "AF_UNIX", None):
        return await asyncio.start_unix_server(connections.accept, sock=listener, backlog=BACKLOG)
    return await asyncio.start_server(connections.accept, sock=listener, backlog=BACKLOG)
