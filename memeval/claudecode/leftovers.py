"""Processes of a sandbox whose runner was killed: found by the sandbox in their environment, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

WAIT_SECONDS = 5.0
_VARIABLES = (b"CLAUDE_CONFIG_DIR=", b"MEMORYD_HOME=")


def processes_of(root: Path) -> list[int]:
    """Ids of the processes whose configuration or memory lies under `root`; none where the platform doesn't tell."""
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
        return False  # it ended, or belongs to somebody else
    return any(variable.startswith(name + inside) for variable in variables for name in _VARIABLES)


def end_leftovers(root: Path) -> int:
    """End them; how many there were."""
    ended = processes_of(root)
    for pid in ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + WAIT_SECONDS
    while ended and processes_of(root) and time.monotonic() < deadline:
        time.sleep(0.02)
    return len(ended)
