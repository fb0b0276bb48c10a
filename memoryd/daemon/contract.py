"""The interface between the daemon and the API, and the daemon's health report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Slot:
    """Recurring work that runs every `every_seconds`, or daily at `daily_at` (local time, HH:MM).

    If `last_run` is given, work missed while no daemon was running is run once at start-up. Work runs in the daemon's
    background thread, one item at a time.
    """

    name: str
    run: Callable[[], object]
    every_seconds: float | None = None
    daily_at: str | None = None
    last_run: datetime | None = None


class ApiLike(Protocol):
    """Handles calls. All methods are thread-safe."""

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run a method and return a JSON-serialisable result. Raises MemorydError."""
        ...

    def hook(self, event: str, payload: dict[str, Any], options: dict[str, str]) -> bytes:
        """Return a hook's output, which may be empty. Must be fast and must never wait for a model."""
        ...

    def warm(self) -> None:
        """Load heavy components. The daemon calls this once, in the background, after it has started listening."""
        ...

    def undelivered(self, payload: dict[str, Any]) -> None:
        """Take back what counts as shown to the user or the session by the latest answer to this session's hook."""
        ...

    def drain_spool_record(self, event: str, payload: dict[str, Any], options: dict[str, str]) -> None:
        """Record an event durably and idempotently. The caller then deletes the spooled record."""
        ...

    def tick(self) -> float | None:
        """Do all background work that is due. Return the seconds until more is due, or None."""
        ...

    def slots(self) -> Sequence[Slot]:
        """Return the recurring work. The daemon calls this once, after `warm`."""
        ...

    def close(self) -> None:
        """Release all resources. No other method is called afterwards."""
        ...

    def busy(self) -> bool:
        """Return whether work is in progress that must not be interrupted when the lease ends."""
        ...


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in the daemon, with its time (ISO), component and message."""

    at: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class DaemonInfo:
    """The health of the daemon. `rss_bytes` is 0 where the platform does not report it."""

    pid: int
    version: str
    since: str
    uptime_seconds: float
    rss_bytes: int
    connections: int
    mcp_connections: int
    in_flight: int
    hooks: int
    calls: int
    spool_waiting: int
    spool_done: int
    spool_bad: int
    warm: bool
    listening: str
    errors: tuple[Fault, ...]
