"""Child processes that are started in a group of their own, and leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any


def kill_group(process: subprocess.Popen[Any]) -> None:
    """Kill the process with all it started. It must be its group's leader (`start_new_session`) and not be reaped yet."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing of the group is left
        os.killpg(process.pid, signal.SIGKILL)


def reap(process: subprocess.Popen[Any]) -> None:
    """Wait for a process that ended or was killed, and close its pipes."""
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # input that a dead process did not read
                stream.close()
