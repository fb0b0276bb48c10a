"""The system clock behind the Clock protocol."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memoryd.core.errors import InputError

# Time synchronisation makes smaller corrections than this. A timestamp further in the future came from a wrong clock.
SKEW = timedelta(minutes=5)


CLOCK_ENV = "MEMORYD_CLOCK"
FILE_MARK = "@"
"""Prefix of a path to a file that contains the time."""


class SystemClock:
    """Clock that returns the machine's time."""

    def now(self) -> datetime:
        """Return the current time as an aware datetime in UTC."""
        return datetime.now(UTC)


class SimulatedClock:
    """Clock that starts at a given time, so that memories of a replayed session get its original dates."""

    def __init__(self, start: datetime) -> None:
        self._restart(start)

    def _restart(self, start: datetime) -> None:
        self._start = start
        self._begun = time.monotonic()

    def now(self) -> datetime:
        """Return the start time plus the time elapsed since then."""
        return self._start + timedelta(seconds=time.monotonic() - self._begun)


class FileClock(SimulatedClock):
    """Clock that restarts from the time in a file whenever the file changes.

    With it, one daemon can read sessions from many days.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = path.read_text("utf-8")
        super().__init__(from_iso(self._text))

    def now(self) -> datetime:
        """Return the time in the file plus the time elapsed since it changed."""
        with contextlib.suppress(OSError, InputError):  # The file is being replaced.
            text = self._path.read_text("utf-8")
            if text != self._text:
                self._restart(from_iso(text))
                self._text = text
        return super().now()


def clock_from(environ: Mapping[str, str]) -> SystemClock | SimulatedClock:
    """Return the system clock, or the simulated clock requested in the environment. Raises InputError."""
    start = environ.get(CLOCK_ENV, "")
    if start.startswith(FILE_MARK):
        try:
            return FileClock(Path(start.removeprefix(FILE_MARK)))
        except OSError as error:
            raise InputError(
                f"{CLOCK_ENV} refers to {start[1:]}, which can't be read.", fix="Write a time to that file."
            ) from error
    return SimulatedClock(from_iso(start)) if start else SystemClock()


def to_iso(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC with a trailing Z. Microseconds are omitted if they are zero."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_iso(text: str) -> datetime:
    """Parse an ISO 8601 time into an aware UTC datetime. A date means midnight UTC, and a missing time zone means UTC.

    Raises:
        InputError: The text is not a date or time.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # Overflow: in UTC, the time is outside the years 1 to 9999.
        raise InputError(f"'{text}' is not a date or time.", fix="Write it as 2026-11-27 or 2026-11-27T09:30:00Z.") from error


def local_midnight(now: datetime) -> datetime:
    """Return the start of the user's local day, in UTC. Daily budgets are counted from this time."""
    return now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
