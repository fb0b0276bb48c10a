"""Run programs in process groups that another thread can terminate. Also terminate leftover processes of a killed run.

Processes of a killed runner are found by the sandbox path in their environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from memeval.core.errors import DependencyError
from memoryd.core.processes import kill_group

GRACE_SECONDS = 3.0
"""Time between SIGTERM and SIGKILL, in which the client can run its SessionEnd hooks."""
REST_SECONDS = 2.0
"""How long to wait for remaining output if a child of the program keeps the pipe open."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a program. A negative exit code is the signal that terminated the program.

    `silent` is the number of seconds between its last output and its end.
    """

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False
    stopped: bool = False
    silent: float = 0.0


class _Output:
    """Reads a pipe in a thread and records the time of the last output.

    A child that keeps the pipe open does not delay the result. `watch` gets each complete line, in this thread.
    """

    def __init__(self, pipe: IO[bytes], watch: Callable[[str], None] | None = None) -> None:
        self.last = time.monotonic()
        self._parts: list[bytes] = []
        self._watch = watch
        self._pipe = pipe
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        line = b""
        with self._pipe as pipe, contextlib.suppress(OSError):  # A pipe that can't be read has ended.
            while part := os.read(pipe.fileno(), 1 << 16):
                self._parts.append(part)
                self.last = time.monotonic()
                if self._watch is None:
                    continue
                *lines, line = (line + part).split(b"\n") if b"\n" in part else [line + part]
                for one in lines:
                    self._watch(one.decode("utf-8", "replace"))

    def text(self) -> str:
        """Return the output, at most `REST_SECONDS` after the end of the program."""
        self._thread.join(REST_SECONDS)
        return b"".join(self._parts).decode("utf-8", "replace")


class Processes:
    """The running programs. `stop` terminates them all, including those started later. Thread-safe."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(
        self,
        command: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        timeout: float,
        given: str = "",
        ends: Callable[[str], bool] | None = None,
    ) -> Finished:
        """Run a program to completion in its own process group. Raises DependencyError if it can't be started.

        `given` is its input. `ends` is called with each line of its output, and returns whether to end the program.
        """
        process = self._start(command, cwd, environment, given)
        assert process.stdout is not None and process.stderr is not None

        def watch(line: str) -> None:
            if ends is not None and ends(line):
                kill_group(process)

        out, err = _Output(process.stdout, watch if ends else None), _Output(process.stderr)
        timed_out, silent = False, 0.0
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out, silent = True, time.monotonic() - out.last
            end_group(process, GRACE_SECONDS)
        finally:
            with self._lock:
                self._running.discard(process)
            end_group(process, 0)
        return Finished(process.returncode, out.text(), err.text(), timed_out, self._stopped, silent)

    def _start(self, command: Sequence[str], cwd: Path, environment: Mapping[str, str], given: str) -> subprocess.Popen[bytes]:
        with self._lock, tempfile.TemporaryFile() as source:
            source.write(given.encode())  # a file, since a long text does not fit into a pipe that nobody reads yet
            source.seek(0)
            try:
                process = subprocess.Popen(
                    list(command),
                    cwd=cwd,
                    env=dict(environment),
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise DependencyError(
                    f"{command[0]} can't be started: {error.strerror}.",
                    fix="Install the client, or name it with --claude or --opencode.",
                ) from error
            self._running.add(process)
            stopped = self._stopped
        if stopped:
            end_group(process, 0)
        return process

    def stop(self) -> None:
        """Terminate all running programs, and any that are started later, as on Ctrl-C."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _signal(process, signal.SIGTERM)


def end_group(process: subprocess.Popen[bytes], grace: float) -> None:
    """Terminate the program and its process group.

    With a `grace` period, SIGTERM is sent first. Does nothing if the program has ended.
    """
    if process.returncode is not None:
        return
    if grace:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):  # It is killed next.
            process.wait(grace)
    kill_group(process)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        process.send_signal(number)


WAIT_SECONDS = 5.0
_VARIABLES = (b"CLAUDE_CONFIG_DIR=", b"MEMORYD_HOME=")


def processes_of(root: Path) -> list[int]:
    """Return the ids of processes with their configuration or memory under `root`. Always empty except on Linux."""
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
        return False  # The process has ended or belongs to another user.
    return any(variable.startswith(name + inside) for variable in variables for name in _VARIABLES)


def end_leftover_processes(root: Path) -> int:
    """Terminate the leftover processes of a sandbox and return their number."""
    ended = processes_of(root)
    for pid in ended:
        with contextlib.suppress(ProcessLookupError):  # It has ended by itself.
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + WAIT_SECONDS
    while ended and processes_of(root) and time.monotonic() < deadline:
        time.sleep(0.02)
    return len(ended)
