"""Client of the daemon, which it starts if necessary."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from memoryd import __version__
from memoryd.core.config import Settings, daemon_environment
from memoryd.core.errors import BrokenFileError, DaemonError, DaemonUnavailable, InputError, MemorydError
from memoryd.core.files import make_private_dir, try_lock
from memoryd.core.paths import Paths
from memoryd.daemon.endpoint import Endpoint, connect, holder_pid, read_endpoint

CALL_SECONDS = 30.0
PING_SECONDS = 1.0
START_SECONDS = 10.0
STOP_SECONDS = 10.0
PAUSE_SECONDS = 0.02
OUTPUT_NAME = "daemon.out"
OUTPUT_BYTES = 1_000_000
SHOWN_BYTES = 400
CHUNK_BYTES = 65_536
WRONG_SETTING = 2  # Exit code of a daemon that would fail again if restarted.
MIN_DISK_BYTES = 2**20
START_FIX = "Start it with 'memoryd daemon' in another terminal, or run 'memoryd doctor'."
_BROKEN = re.compile(r"(?P<path>.+):(?P<line>\d+): (?P<problem>.*)", re.DOTALL)


class Client:
    """Calls the daemon of a home folder. Each call opens its own connection."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def call(self, method: str, params: Mapping[str, Any] | None = None, timeout: float = CALL_SECONDS) -> dict[str, Any]:
        """Call a method and return its result.

        Raises:
            MemorydError: The error from the daemon, with the same class.
            DaemonUnavailable: No daemon responds.
        """
        request = json.dumps({"id": 1, "method": method, "params": dict(params or {})}, ensure_ascii=False)
        try:
            data = request.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"{method}: a text is not valid Unicode.", fix="Write it in UTF-8.") from error
        line = self._exchange(b"memoryd/1 rpc\n" + data + b"\n", timeout)
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise DaemonError(
                f"Invalid response from the daemon: {line[:SHOWN_BYTES].decode('utf-8', 'replace')!r}", fix=START_FIX
            ) from error
        if fault := answer.get("error"):
            raise error_from(fault.get("code", ""), fault.get("message", ""), fault.get("fix", ""))
        result: dict[str, Any] = answer["result"]
        return result

    def ping(self, timeout: float = PING_SECONDS) -> tuple[str, int]:
        """Return the version and the process id of the daemon.

        Raises:
            DaemonUnavailable: No daemon is running.
            DaemonError: The daemon is too slow, or another program is listening at its address.
        """
        words = self._exchange(b"memoryd/1 ping\n", timeout).decode("utf-8", "replace").split()
        if len(words) != 3 or words[0] != "pong" or not words[2].isdecimal():
            raise DaemonError(
                "The process that responded is not a memoryd daemon.", fix="Delete run/endpoint under memoryd's home and retry."
            )
        return words[1], int(words[2])

    def is_running(self) -> bool:
        """Return whether a daemon responds."""
        try:
            self.ping()
        except DaemonError:
            return False
        return True

    def stop(self, timeout: float = STOP_SECONDS) -> bool:
        """Stop the daemon and wait until it exits. Return False if none was running.

        Raises:
            DaemonError: The daemon is still running after `timeout` seconds.
        """
        try:
            _, pid = self.ping()
        except DaemonUnavailable:
            return False
        try:
            self.call("daemon_stop", timeout=PING_SECONDS)
        except DaemonError:
            _terminate(self._paths, pid)
        deadline = time.monotonic() + timeout
        while _is_alive(self._paths):
            if time.monotonic() > deadline:
                raise DaemonError(f"The daemon (pid {pid}) did not stop.", fix=f"Stop it with 'kill -9 {pid}'; no data is lost.")
            time.sleep(PAUSE_SECONDS)
        return True

    def _exchange(self, request: bytes, timeout: float) -> bytes:
        endpoint = read_endpoint(self._paths)
        if endpoint is None:
            raise DaemonUnavailable("No daemon is running.", fix=START_FIX)
        deadline = time.monotonic() + timeout
        connection = _open(endpoint, timeout)
        with connection:
            try:
                connection.sendall(request)
                return _read_line(connection, deadline)
            except TimeoutError as error:
                raise DaemonError(f"The daemon did not respond within {timeout:g} s.", fix="Run 'memoryd doctor'.") from error
            except OSError as error:
                raise DaemonUnavailable(f"The daemon closed the connection: {error}", fix=START_FIX) from error


def _open(endpoint: Endpoint, timeout: float) -> socket.socket:
    try:
        return connect(endpoint, timeout)
    except TimeoutError as error:
        raise DaemonError(f"The daemon did not respond within {timeout:g} s.", fix="Run 'memoryd doctor'.") from error
    except OSError as error:
        raise DaemonUnavailable(f"No daemon is running ({error.strerror or error}).", fix=START_FIX) from error


def _read_line(connection: socket.socket, deadline: float) -> bytes:
    data = bytearray()
    while not data.endswith(b"\n"):
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        chunk = connection.recv(CHUNK_BYTES)
        if not chunk:
            break
        data += chunk
    if not data:
        raise DaemonUnavailable("The daemon closed the connection without a response.", fix=START_FIX)
    return bytes(data)


def _is_alive(paths: Paths) -> bool:
    """Return whether the daemon still holds its lock. The process table is unreliable because the process may be a zombie."""
    lock = try_lock(paths.daemon_lock)
    if lock is None:
        return True
    lock.close()
    return False


def _terminate(paths: Paths, pid: int) -> None:
    """Send SIGTERM to an unresponsive daemon, unless it has exited and its process id may have been reused."""
    if sys.platform != "win32" and pid == holder_pid(paths) and pid != os.getpid() and _is_alive(paths):
        os.kill(pid, signal.SIGTERM)


def _classes(root: type[MemorydError]) -> dict[str, type[MemorydError]]:
    """Map error codes to classes. If several classes share a code, use the most general one, which can represent all of them."""
    found: dict[str, type[MemorydError]] = {}
    for child in root.__subclasses__():
        found |= _classes(child)
    return found | {root.code: root}


def error_from(code: str, message: str, fix: str) -> MemorydError:
    """Recreate an error raised in the daemon. An unknown code becomes a MemorydError."""
    if code == BrokenFileError.code and (match := _BROKEN.fullmatch(message)):
        return BrokenFileError(match["path"], int(match["line"]), match["problem"], fix)
    kind = _classes(MemorydError).get(code, MemorydError)
    return (MemorydError if kind is BrokenFileError else kind)(message, fix=fix)


def ensure_daemon(settings: Settings, timeout: float = START_SECONDS, command: Sequence[str] = ()) -> None:
    """Wait until a daemon responds, starting one if necessary.

    The daemon runs detached. It outlives the caller, keeps none of its files open and does not inherit Claude Code's login.

    Args:
        settings: Settings with the home folder.
        timeout: Seconds to wait.
        command: Replaces `python -m memoryd.daemon`.

    Raises:
        DaemonUnavailable: No daemon responds in time.
    """
    client = Client(settings.paths)
    deadline = time.monotonic() + timeout
    child: subprocess.Popen[bytes] | None = None
    while not _is_fit(client, timeout):
        wrong = child is not None and child.poll() == WRONG_SETTING
        if wrong or time.monotonic() > deadline:
            raise _not_started(settings.paths, timeout)
        if child is None or child.poll() is not None:  # The child has exited because another daemon was still stopping.
            child = start_daemon(settings, command)
        time.sleep(PAUSE_SECONDS if child.poll() is None else 10 * PAUSE_SECONDS)


def _is_fit(client: Client, timeout: float) -> bool:
    """Return whether a daemon at least as new as this client responds. An older daemon left over from an update is stopped."""
    try:
        version, _ = client.ping()
    except DaemonError:
        return False
    if _version_key(version) >= _version_key(__version__):
        return True
    client.stop(timeout)
    return False


def _version_key(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _not_started(paths: Paths, timeout: float) -> DaemonUnavailable:
    pid = holder_pid(paths)
    if pid is not None and _is_alive(paths):
        return DaemonUnavailable(
            f"A daemon (pid {pid}) is running but does not respond.", fix=f"Stop it with 'kill -9 {pid}'; no data is lost."
        )
    if _disk_is_full(paths.home):
        return DaemonUnavailable(f"The daemon can't start: the disk with {paths.home} is full.", fix="Free some space.")
    return DaemonUnavailable(f"The daemon did not start within {timeout:g} s. {_last_output(paths)}".strip(), fix=START_FIX)


def _disk_is_full(home: Path) -> bool:
    """Return whether the disk is too full for a database. In that case, the daemon's error output is missing as well."""
    import shutil  # Imported here because it is rarely needed and every command imports this module.

    try:
        return shutil.disk_usage(home).free < MIN_DISK_BYTES
    except OSError:
        return False


def start_daemon(
    settings: Settings, command: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a detached daemon with the permitted part of the environment. Does not wait for it."""
    with _output(settings.paths) as output:
        child = subprocess.Popen(
            list(command) or [sys.executable, "-P", "-m", "memoryd.daemon"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=daemon_environment(settings, environment),
            cwd=settings.home,
            close_fds=True,
            **_detached(),
        )
    threading.Thread(target=child.wait, name="reaper", daemon=True).start()
    return child


def _detached() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _output(paths: Paths) -> IO[bytes]:
    """Open the file for the daemon's output until its log is open. A large file is truncated."""
    path = paths.logs / OUTPUT_NAME
    mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    try:
        make_private_dir(paths.run)
        make_private_dir(paths.logs)
        if path.exists() and path.stat().st_size > OUTPUT_BYTES:
            mode |= os.O_TRUNC
        return os.fdopen(os.open(path, mode, 0o600), "ab")
    except OSError as error:
        raise DaemonUnavailable(f"The daemon can't start: {error}", fix="Check free space and permissions.") from error


def _last_output(paths: Paths) -> str:
    path = paths.logs / OUTPUT_NAME
    if not path.exists():
        return ""
    text = path.read_bytes()[-SHOWN_BYTES:].decode("utf-8", "replace").strip()
    return f"Its last output: {text}" if text else ""
