"""Run programs in process groups that another thread can end. Leftover processes of a killed run are ended too.

After a runner was killed, the processes of its sandbox are found by the sandbox path in their environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memeval.core.errors import DependencyError
from memoryd.core.processes import kill_group

GRACE_SECONDS = 3.0
"""How long a client has to end after SIGTERM, so that its SessionEnd hooks run."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a program. A negative exit code is the signal that ended the program."""

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False
    stopped: bool = False


class Processes:
    """The running programs. `stop` ends them all, and also those that are started later. Thread-safe."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, command: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float) -> Finished:
        """Run a program to its end, in its own process group. Raises DependencyError if it can't be started."""
        process = self._start(command, cwd, environment)
        timed_out = False
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            end_group(process, GRACE_SECONDS)
            stdout, stderr = _rest(process)
        finally:
            with self._lock:
                self._running.discard(process)
            end_group(process, 0)
        return Finished(process.returncode, _text(stdout), _text(stderr), timed_out, self._stopped)

    def _start(self, command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self._lock:
            try:
                process = subprocess.Popen(
                    list(command),
                    cwd=cwd,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise DependencyError(
                    f"{command[0]} can't be started: {error.strerror}.", fix="Install Claude Code, or name it with --claude."
                ) from error
            self._running.add(process)
            stopped = self._stopped
        if stopped:
            end_group(process, 0)
        return process

    def stop(self) -> None:
        """End all running programs on Ctrl-C."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _signal(process, signal.SIGTERM)


def end_group(process: subprocess.Popen[bytes], grace: float) -> None:
    """End the program and its process group.

    With a `grace` period, SIGTERM is sent first. Does nothing if the program has ended.
    """
    if process.returncode is not None:
        return
    if grace:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    kill_group(process)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        process.send_signal(number)


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Return the remaining output of the program. A grandchild that holds the pipe open is not awaited."""
    try:
        stdout, stderr = process.communicate(timeout=1)
    except subprocess.TimeoutExpired as late:
        return late.stdout or b"", late.stderr or b""
    return stdout, stderr


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


WAIT_SECONDS = 5.0
_VARIABLES = (b"CLAUDE_CONFIG_DIR=", b"MEMORYD_HOME=")


def processes_of(root: Path) -> list[int]:
    """Return the ids of processes that have their configuration or memory under `root`. The list is empty outside Linux."""
    if sys.platform != "linux":
        return []
    inside = str(root).encode() + b"/"
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid() and _is_inside(folder, inside):
            found.append(int(folder.name))
    return found


def _is_inside(process: Path, inside: bytes) -> bool:
    try:
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False  # the process has ended or belongs to another user
    return any(variable.startswith(name + inside) for variable in variables for name in _VARIABLES)


def end_leftover_processes(root: Path) -> int:
    """End the leftover processes of a sandbox and return their number."""
    ended = processes_of(root)
    for pid in ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + WAIT_SECONDS
    while ended and processes_of(root) and time.monotonic() < deadline:
        time.sleep(0.02)
    return len(ended)
