"""Manage the plugin's daemon in a sandbox.

It is started before a session, awaited after it, and stopped before its state is copied.

It must run first, because hooks give up at once without a daemon. A real user's daemon is already running when a session starts.
"""

from __future__ import annotations

import re
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memeval.claudecode.sandbox import State
from memeval.core.errors import ConfigError, ProviderError
from memeval.core.types import EMPTY
from memeval.models.prices import load_prices
from memoryd.clients.registry import log_status
from memoryd.core.clock import SystemClock
from memoryd.core.config import HOME, HOME_ENV, Settings, check_name, load_settings, parse_value
from memoryd.core.errors import ConfigError as SettingError
from memoryd.core.errors import DaemonError, MemorydError
from memoryd.core.paths import Paths
from memoryd.core.state import Run
from memoryd.core.state import State as MemoryState
from memoryd.core.types import Message, Usage
from memoryd.daemon.client import Client, start_daemon
from memoryd.daydream.readers import make_llm, models_of
from memoryd.llm.claude import PREFIX, is_login
from memoryd.stores.layout import id_in_name

PAUSE_SECONDS = 0.05
WARM_SECONDS = 60.0
DREAM_SECONDS = 600.0
RETRY_SECONDS = 0.5
MAX_RUNS = 1_000_000
_LASTS = re.compile(
    r"not logged in|failed to authenticate|/login|invalid (api key|bearer)|\b40[134]\b|daily token budget|no .{0,40}key",
    re.IGNORECASE,
)
"""Failure reasons that persist for the rest of the run, such as a model that does not respond."""


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """The contents of the plugin's memory after a step, and the reports of its day dreams.

    `problem` is why a day dream failed or is still waiting for its model. It is empty if all day dreams are done.
    """

    memories: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    daydreams: Sequence[Mapping[str, Any]] = ()
    failing: Sequence[Any] = ()
    waited: float = 0.0
    problem: str = ""


def check_settings(settings: Mapping[str, str], where: str) -> None:
    """Check plugin settings. Raises ConfigError for an unknown setting, an invalid value, or another home."""
    for name, value in settings.items():
        if name == HOME:
            raise ConfigError(f"{where}: each sandbox has its own home.", fix=f"Leave {HOME} out.")
        try:
            check_name(name, where)
            parse_value(name, value, where)
        except SettingError as error:
            raise ConfigError(error.message, fix=error.fix) from error


class LateError(ProviderError):
    """Raised when the daemon is working but did not finish in time."""


class MemoryDaemon:
    """The daemon that serves one state. Its errors are ProviderErrors with a fix."""

    def __init__(self, state: State, environment: Mapping[str, str], pause: Callable[[float], None] = time.sleep) -> None:
        self._settings = Settings(home=state.memory_home)
        self._paths = Paths(state.memory_home)
        self._client = Client(self._paths)
        self._environment = environment
        self._pause = pause
        self._process: subprocess.Popen[bytes] | None = None
        self._runs_before = 0

    def start(self) -> None:
        """Start the daemon and wait until its embedder is loaded."""
        if not self._client.is_running():
            self._runs_before = len(self._runs())
            self._process = start_daemon(self._settings, environment={**self._environment, **_login(self._environment)})
        self._until(lambda status: bool(status["daemon"]["warm"]) and _is_indexed(status), WARM_SECONDS, "start")

    def settle(self, timeout: float) -> MemoryReport:
        """Wait until all events are handled, all day dreams are done and all memories are indexed.

        The daemon retries a failed day dream until the timeout, unless the failure is permanent.

        Return the contents of the memory.
        """
        started = time.monotonic()
        while True:
            try:
                status = self._until(_is_idle, timeout, "finish its day dreams and indexes")
            except LateError as late:
                waited = time.monotonic() - started
                return MemoryReport(self.memories(), waited=round(waited, 3), problem=f"{late.message} {late.fix}")
            waited = time.monotonic() - started
            problem = _problem(status)
            if not problem or _LASTS.search(problem) or waited >= timeout:
                break
            self._pause(RETRY_SECONDS)
        failing = status["daydreams"]["failing"]
        return MemoryReport(self.memories(), status.get("sessions", ()), failing, round(waited, 3), problem)

    def spent(self) -> Usage:
        """Return the usage of the memory's models since the daemon was started."""
        runs = self._runs()
        free = is_local(self._environment.get("MEMORYD_OPENAI_BASE_URL", ""))
        return sum((_priced(run, free=free) for run in runs[: len(runs) - self._runs_before]), Usage())

    def _runs(self) -> Sequence[Run]:
        """Return the runs of day dreams and dreams, latest first."""
        if not self._paths.state_db.exists():
            return ()
        try:
            with closing(MemoryState(self._paths.state_db, SystemClock())) as state:
                return state.runs(limit=MAX_RUNS)
        except MemorydError as error:
            raise ProviderError(
                f"memoryd's state could not be read, so the cost of memory is unknown: {error.message}", fix=error.fix
            ) from error

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
        """Return the text of each memory file, keyed by id."""
        return {
            id_in_name(path.name): path.read_text("utf-8", "replace") for path in sorted(self._paths.memories.rglob("*mem_*.md"))
        }

    def stop(self) -> None:
        """Stop the daemon. None of its processes survive the call."""
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
            except DaemonError as error:  # A daemon that is still starting responds a moment later.
                if time.monotonic() > deadline or self._has_died():
                    raise ProviderError(
                        f"memoryd did not {doing}: {error.message}{_last_words(self._paths)}", fix=error.fix
                    ) from error
            if time.monotonic() > deadline:
                raise LateError(f"memoryd did not {doing} within {timeout:g} s.", fix="Raise --settle-timeout.")
            self._pause(PAUSE_SECONDS)


def _last_words(paths: Paths) -> str:
    log = paths.logs / "daemon.log"
    lines = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
    return f" Its log ends: {lines[-1][:300]}" if lines else ""


def _problem(status: Mapping[str, Any]) -> str:
    """Return why a session's day dream failed or is waiting. A log that the client never wrote does not count."""
    found = (str(one["error"]) for one in status["daydreams"]["failing"] if _exists(Path(one["transcript"])))
    return next(found, "")


def _exists(log: Path) -> bool:
    try:
        log_status(log)
    except OSError:
        return False
    return True


def _login(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the sessions' login in the form in which hooks pass it to a daemon that they start."""
    escaped = {
        name: value.replace("\\", "\\\\").replace("\r", "").replace("\n", "\\n")
        for name, value in environment.items()
        if is_login(name)
    }
    return {f"{PREFIX}{name}": value for name, value in escaped.items()}


def is_local(address: str) -> bool:
    """Return whether an address is on this machine."""
    return (urllib.parse.urlsplit(address).hostname or "") in ("localhost", "127.0.0.1", "::1")


def _priced(run: Run, *, free: bool) -> Usage:
    """Return the usage of a run, priced by its model if no cost was reported.

    A model without a price costs nothing if its endpoint is on this machine (`free`).
    """
    usage = run.usage
    if usage.cost_usd is not None or not usage.calls:
        return usage
    price = load_prices().of(run.model)
    if price is None:
        return replace(usage, cost_usd=0.0) if free else usage
    return replace(usage, cost_usd=price.cost(usage.input_tokens, usage.output_tokens))


def check_reader(settings: Mapping[str, str], environment: Mapping[str, str], home: Path) -> None:
    """Check that the day dream's model responds, with a call of a few tokens. Raises ConfigError.

    Readers without a model of their own are not checked.
    """
    variables = {f"MEMORYD_{name.upper()}": value for name, value in settings.items()}
    made = load_settings({**environment, **variables, HOME_ENV: str(home)})
    for name in models_of(made)[:1]:
        try:
            make_llm(made, name, environment).complete([Message("user", "Answer with OK.")])
        except MemorydError as error:
            raise ConfigError(f"The day dream's reader ({name}) does not respond: {error.message}", fix=error.fix) from error


def _is_idle(status: Mapping[str, Any]) -> bool:
    """Return whether no job is running. Failed jobs waiting for a retry are ignored."""
    waiting = status["daydreams"]["waiting"] - len(status["daydreams"]["failing"])
    return not status["daemon"]["spool_waiting"] and waiting <= 0 and _is_indexed(status)


def _is_indexed(status: Mapping[str, Any]) -> bool:
    """Return whether the index is complete. Otherwise, recall would depend on the speed of the machine."""
    index = status["index"]
    return not index["waiting_for_vectors"] or bool(index["embedder_error"])
