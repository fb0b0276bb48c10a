"""The peer's side of memeval's `process` protocol, for any Python from 3.9. Uses only the standard library.

A peer is a class with the methods of `Peer`. `serve(peer)` answers requests on standard input until it ends. Output
that libraries print to standard output is redirected to standard error, so that it can't corrupt an answer.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

Found = list[tuple[str, float]]


class Peer:
    """A memory system. Each scope has a separate folder. `packages` are reported with their versions."""

    packages: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.folder = Path()
        self.settings: dict[str, Any] = {}

    def open(self, folder: Path, settings: dict[str, Any]) -> None:
        """Load everything needed for the first request, because loading models does not count as query time."""
        self.folder, self.settings = folder, settings

    def add(self, scope: str, items: Sequence[dict[str, str]]) -> dict[str, Any]:
        """Store the items: id, session, role, speaker, text, at (ISO 8601 or empty)."""
        raise NotImplementedError

    def settle(self, scope: str) -> None:
        """Return once all added items can be found."""

    def search(self, scope: str, query: str, k: int, at: str) -> Found:
        """Return up to k ids of items with scores, best first."""
        raise NotImplementedError

    def clear(self, scope: str) -> None:
        """Delete the scope."""
        shutil.rmtree(self.of(scope), ignore_errors=True)

    def of(self, scope: str) -> Path:
        """Return the scope's folder."""
        return self.folder / scope

    def kept(self) -> list[Path]:
        """Return the folders with the files that count towards the system's disk size."""
        return [self.folder]

    def about(self) -> dict[str, Any]:
        """Return versions, memory and disk use."""
        return {
            "versions": {name: version(name) for name in self.packages},
            "python": sys.version.split()[0],
            "rss_mb": round(memory("VmRSS"), 1),
            "rss_peak_mb": round(memory("VmHWM"), 1),
            "disk_mb": round(sum(size(path) for path in self.kept()) / 1e6, 3),
        }


def once(ids: Sequence[tuple[str, float]], k: int) -> Found:
    """Return each id once, at the position of its best hit."""
    first: dict[str, float] = {}
    for id, score in ids:
        first.setdefault(id, score)
    return list(first.items())[:k]


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def size(folder: Path) -> int:
    """Return the total size of all files in a folder in bytes. Files that disappear during the call don't count."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def memory(field: str) -> float:
    """Return the megabytes of this process and its descendants from /proc. 0 without /proc. Shared pages count several times."""
    return sum(_status(pid, field) for pid in [os.getpid(), *_children(os.getpid())]) / 1000


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        direct = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
    return [one for child in direct for one in [child, *_children(child)]]


def _status(pid: int, field: str) -> float:
    """Return a field of /proc/PID/status in kB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0.0)


def answer(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    """Return the peer's answer to a request."""
    do, scope = request["do"], request.get("scope", "")
    if do == "open":
        peer.open(Path(request["folder"]), request["settings"])
    elif do == "add":
        return peer.add(scope, request["items"])
    elif do == "settle":
        peer.settle(scope)
    elif do == "search":
        found = peer.search(scope, request["query"], request["k"], request["at"])
        return {"found": [{"id": id, "score": score} for id, score in found]}
    elif do == "clear":
        peer.clear(scope)
    elif do == "info":
        return peer.about()
    else:
        raise ValueError(f"unknown request {do}")
    return {}


def serve(peer: Peer) -> None:
    """Answer requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply: dict[str, Any] = {"ok": answer(peer, request)}
        except Exception as error:  # noqa: BLE001 - memeval records any exception raised by the library
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        out.write(json.dumps({"id": request["id"], **reply}) + "\n")
        out.flush()
