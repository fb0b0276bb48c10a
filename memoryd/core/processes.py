"""Child processes that run in their own process group and leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any


def kill_group(process: subprocess.Popen[Any]) -> None:
    """Kill the process and everything it started. It must lead its group (`start_new_session`) and must not have been reaped."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # No process of the group is left.
        os.killpg(process.pid, signal.SIGKILL)


def reap(process: subprocess.Popen[Any]) -> None:
    """Wait for a process that has ended or was killed, and close its pipes."""
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # The pipe still contained input that the dead process did not read.
                stream.close()
