"""Find the daemon for the stdio proxy. Start a daemon if there is none."""

import _socket
import os
import struct
import sys
import threading
import time

import environment
import protocol
import starter

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from queue import SimpleQueue
    from typing import Any

CONNECT_SECONDS = 1.0
SEND_SECONDS = 10
EAGER_SECONDS = 60.0
LASTING_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 30.0
FIRST_START_PAUSE_SECONDS = 10.0
LONGEST_START_PAUSE_SECONDS = 320.0


def working_folder(env: "Mapping[str, str]") -> str:
    """Return the folder whose memories the client uses."""
    return env.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def _ping(home: str) -> str:
    """Return the version of the running daemon.

    Raises NoDaemonError if another process responds, and BusyError if nothing responds.
    """
    answer = _exchange(home, b"memoryd/1 ping\n").split()
    if answer[:1] != [b"pong"] or len(answer) < 2:
        raise protocol.NoDaemonError("the listening process is not memoryd")
    return answer[1].decode("ascii", "replace")


def _exchange(home: str, request: bytes) -> bytes:
    link = protocol.connect(home, CONNECT_SECONDS)
    try:
        link.sendall(request)
        return link.recv(1000)
    except TimeoutError:
        raise protocol.BusyError("no answer") from None
    except OSError as error:
        raise protocol.NoDaemonError(str(error)) from None
    finally:
        link.close()


def is_older(version: str, ours: str) -> bool:
    """Return whether a version such as 0.1.0 is older than this one. Returns False for other formats."""
    try:
        return [int(part) for part in version.split(".")] < [int(part) for part in ours.split(".")]
    except ValueError:
        return False


def stop_outdated(home: str, env: "Mapping[str, str]", version: str) -> None:
    """Stop a daemon of an older version after an update, once the new version is ready to start."""
    if is_older(version, environment.version(environment.plugin_root())) and environment.find_ready(env, home):
        _exchange(home, b'memoryd/1 rpc\n{"id": 1, "method": "daemon_stop"}\n')
        raise protocol.NoDaemonError(f"the daemon has version {version}")


def open_link(home: str, env: "Mapping[str, str]") -> "_socket.socket":
    """Open an MCP connection. Raises NoDaemonError or BusyError."""
    stop_outdated(home, env, _ping(home))
    link = protocol.connect(home, CONNECT_SECONDS)
    folder = os.fsencode(working_folder(env))
    try:
        link.sendall(b"memoryd/1 mcp %d\n" % len(folder) + folder)
        link.settimeout(None)
        if hasattr(_socket, "SO_SNDTIMEO"):  # A daemon that stops reading must not block the proxy.
            link.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
    except OSError as error:
        raise protocol.NoDaemonError(str(error)) from None
    return link


class Finder:
    """Searches for the daemon in a thread. Each call of `look` puts ("found", link) into the queue once."""

    def __init__(self, home: str, env: "Mapping[str, str]", events: "SimpleQueue[tuple[str, Any]]") -> None:
        self.home = home
        self.env = env
        self.events = events
        self._running = threading.Lock()
        self._found_at = 0.0
        self._start_at = 0.0  # Earliest time of the next start. The pauses grow while starts fail.
        self._start_pause = FIRST_START_PAUSE_SECONDS
        self._short = 0  # Number of consecutive short-lived links.

    def look(self) -> None:
        """Start a search unless one is already running."""
        if self._running.acquire(blocking=False):
            threading.Thread(target=self._search, daemon=True).start()

    def _search(self) -> None:
        link = None
        begun = time.monotonic()
        self._short = self._short + 1 if begun - self._found_at < LASTING_SECONDS else 0
        if self._short > 1:  # The daemon accepts connections but closes them immediately.
            time.sleep(min(0.25 * 2.0**self._short, LONGEST_PAUSE_SECONDS))
        while link is None:
            try:
                link = open_link(self.home, self.env)
            except protocol.NoDaemonError:
                self._start()
                self._pause(begun)
            except (protocol.BusyError, OSError):  # OSError: the plugin's folder or the working folder was deleted.
                self._pause(begun)
        self._found_at = time.monotonic()
        self._start_at, self._start_pause = 0.0, FIRST_START_PAUSE_SECONDS
        self._running.release()
        self.events.put(("found", link))

    @staticmethod
    def _pause(begun: float) -> None:
        """Wait briefly at first and longer later, because building an environment takes a minute or more."""
        waited = time.monotonic() - begun
        time.sleep(0.03 if waited < 3 else 0.25 if waited < EAGER_SECONDS else 2.0)

    def _start(self) -> None:
        if time.monotonic() < self._start_at:
            return
        pid = starter.start_daemon(self.home, self.env)
        if pid:
            self._start_at = time.monotonic() + self._start_pause
            self._start_pause = min(self._start_pause * 2, LONGEST_START_PAUSE_SECONDS)
            threading.Thread(target=_reap, args=(pid,), daemon=True).start()


def _reap(pid: int) -> None:
    """Wait for the child process to end, so that it does not become a zombie. Windows has none."""
    if sys.platform != "win32":
        os.waitpid(pid, 0)
