"""Manage the plugin's daemon in a sandbox.

It is started before a session, awaited after it, and stopped before its state is copied.

A real user's daemon is already running when a session starts, and a hook gives up at once without one. So the daemon is
started first.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memeval.claudecode.sandbox import State
from memeval.core.errors import ConfigError, ProviderError
from memeval.core.types import EMPTY
from memoryd.core.config import HOME, Settings, check_name, parse_value
from memoryd.core.errors import ConfigError as SettingError
from memoryd.core.errors import DaemonError, MemorydError
from memoryd.core.paths import Paths
from memoryd.daemon.client import Client, start_daemon

PAUSE_SECONDS = 0.05
WARM_SECONDS = 60.0
DREAM_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """The contents of the plugin's memory after a step and the reports of its day dreams."""

    memories: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    daydreams: Sequence[Mapping[str, Any]] = ()
    failing: Sequence[Any] = ()
    waited: float = 0.0


def check_settings(settings: Mapping[str, str], where: str) -> None:
    """Check plugin settings. Raises ConfigError for an unknown setting, an invalid value, or another home."""
    for name, value in settings.items():
        if name == HOME:
            raise ConfigError(f"{where}: each sandbox has a home of its own.", fix=f"Leave {HOME} out.")
        try:
            check_name(name, where)
            parse_value(name, value, where)
        except SettingError as error:
            raise ConfigError(error.message, fix=error.fix) from error


class MemoryDaemon:
    """The daemon that serves one state. All errors are ProviderErrors with a fix."""

    def __init__(self, state: State, environment: Mapping[str, str], pause: Callable[[float], None] = time.sleep) -> None:
        self._settings = Settings(home=state.memory_home)
        self._paths = Paths(state.memory_home)
        self._client = Client(self._paths)
        self._environment = environment
        self._pause = pause
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the daemon and wait until its embedder is loaded."""
        if not self._client.is_running():
            self._process = start_daemon(self._settings, environment=self._environment)
        self._until(lambda status: bool(status["daemon"]["warm"]) and _is_indexed(status), WARM_SECONDS, "start")

    def settle(self, timeout: float) -> MemoryReport:
        """Wait until all events are handled, all day dreams are done and all memories are indexed.

        Return the contents of the memory.
        """
        started = time.monotonic()
        status = self._until(_is_idle, timeout, "finish its day dreams and indexes")
        return MemoryReport(
            self.memories(), status.get("sessions", ()), status["daydreams"]["failing"], round(time.monotonic() - started, 3)
        )

    def remember_log(self, log: Path) -> None:
        """Request a day dream of a session's log."""
        try:
            self._client.call("daydream", {"transcript": str(log)})
        except MemorydError as error:
            raise ProviderError(f"memoryd could not read a session's log: {error.message}", fix=error.fix) from error

    def dream(self) -> None:
        """Run the nightly dream and wait until it ends."""
        try:
            self._client.call("dream", {"dry_run": False}, timeout=DREAM_SECONDS)
        except MemorydError as error:
            raise ProviderError(f"memoryd could not dream: {error.message}", fix=error.fix) from error

    def memories(self) -> dict[str, str]:
        """Return the text of each memory file by id."""
        return {path.stem: path.read_text("utf-8", "replace") for path in sorted(self._paths.memories.rglob("mem_*.md"))}

    def stop(self) -> None:
        """Stop the daemon. None of its processes outlive the call."""
        try:
            self._client.stop()
        except MemorydError as error:
            if self._process is None:
                raise ProviderError(f"memoryd could not be stopped: {error.message}", fix=error.fix) from error
            self._process.kill()
        if self._process is not None:
            self._process.wait()
            self._process = None

    def _has_died(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _until(self, good: Callable[[Mapping[str, Any]], bool], timeout: float, doing: str) -> Mapping[str, Any]:
        deadline = time.monotonic() + timeout
        while True:
            try:
                status = self._client.call("memory_status")
                if good(status):
                    return status
            except DaemonError as error:  # a daemon that is still starting answers a moment later
                if time.monotonic() > deadline or self._has_died():
                    raise ProviderError(
                        f"memoryd did not {doing}: {error.message}{_last_words(self._paths)}", fix=error.fix
                    ) from error
            if time.monotonic() > deadline:
                raise ProviderError(f"memoryd did not {doing} within {timeout:g} s.", fix="Raise --settle-timeout.")
            self._pause(PAUSE_SECONDS)


def _last_words(paths: Paths) -> str:
    log = paths.logs / "daemon.log"
    lines = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
    return f" Its log ends: {lines[-1][:300]}" if lines else ""


def _is_idle(status: Mapping[str, Any]) -> bool:
    """Return whether no job is running. Failed jobs that wait for a retry are ignored."""
    waiting = status["daydreams"]["waiting"] - len(status["daydreams"]["failing"])
    return not status["daemon"]["spool_waiting"] and waiting <= 0 and _is_indexed(status)


def _is_indexed(status: Mapping[str, Any]) -> bool:
    """Return whether the index is complete. With an incomplete index, recall would depend on the speed of the machine."""
    index = status["index"]
    return not index["waiting_for_vectors"] or bool(index["embedder_error"])
