"""What the daemon asks of the one place behind CLI, MCP and hooks, and what it tells about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Slot:
    """Recurring work: every `every_seconds`, or daily at `daily_at` (local HH:MM).

    With `last_run` given, a daily slot that was missed while no daemon ran is made up for once, at the start.
    The work runs in the daemon's background thread, one piece at a time.
    """

    name: str
    run: Callable[[], object]
    every_seconds: float | None = None
    daily_at: str | None = None
    last_run: datetime | None = None


class ApiLike(Protocol):
    """Answers calls. All methods may be called from any thread, several at once."""

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run one method; a JSON-ready answer. Raises MemorydError."""
        ...

    def hook(self, event: str, payload: dict[str, Any], options: dict[str, str]) -> bytes:
        """What the hook of this event prints, maybe nothing. Quick; never waits for a model."""
        ...

    def warm(self) -> None:
        """Load what is heavy. Called once, in the background, after the daemon listens."""
        ...

    def drain_spool_record(self, event: str, payload: dict[str, Any], options: dict[str, str]) -> None:
        """Take note of an event durably. A second time does no harm; the record is deleted when this returns."""
        ...

    def tick(self) -> float | None:
        """Do the background work that is due; seconds until there is more, None when there is none."""
        ...

    def slots(self) -> Sequence[Slot]:
        """Recurring work, asked for once after `warm`; may be empty."""
        ...

    def close(self) -> None:
        """Let go of everything; no call comes after this one."""
        ...

    def busy(self) -> bool:
        """Whether there is work that the end of the lease must not cut off."""
        ...


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong in the daemon: when (ISO), where, what."""

    at: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class DaemonInfo:
    """The daemon's health. `rss_bytes` is 0 where the platform doesn't tell; times in seconds."""

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
