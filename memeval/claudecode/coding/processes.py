"""Subprocesses that can't outlive their time: each has a process group of its own, which is killed with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from memeval.errors import DependencyError

KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""Variables that tests may see: no keys, no configuration of the user."""
OUTPUT_BYTES = 4_000_000
"""How much of the end of a program's output is kept."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a process ended. `output` is standard output and error as they came, at most the last `OUTPUT_BYTES`."""

    code: int
    output: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with code 0."""
        return self.code == 0 and not self.timed_out

    @property
    def last_line(self) -> str:
        """The last line that is not blank, cut to 200 characters."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


def plain_environment(**more: str) -> dict[str, str]:
    """The few variables of this process that don't matter for results, and `more`."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | more


def run(
    command: Sequence[str], cwd: Path, *, timeout: float, environment: Mapping[str, str] | None = None, stdin: str = ""
) -> Finished:
    """Run to the end or for `timeout` seconds. DependencyError when the program is not there.

    Whatever the process started and left running in its group is killed, too.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as given:
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=dict(environment if environment is not None else plain_environment()),
                stdin=given,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise DependencyError(f"The program {command[0]} can't be started.", fix=f"Install {command[0]}.") from None
        timed_out = _wait(process, timeout)
        return Finished(process.returncode, _tail(output), timed_out)


def _wait(process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Wait, then end the whole group, also when this wait is interrupted. Returns whether the time was up."""
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return True
    finally:
        _kill_group(process)
        process.wait()
    return False


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if not hasattr(os, "killpg"):
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing of the group is left
        os.killpg(process.pid, signal.SIGKILL)


def _tail(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - OUTPUT_BYTES))
    return output.read().decode("utf-8", "replace")
