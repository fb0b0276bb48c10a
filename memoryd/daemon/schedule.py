"""Run recurring work at fixed times with APScheduler, which idles in between.

Work that became due while the machine was asleep runs once on wake-up. Work that became due while no daemon was
running runs once at the next start. The caller provides the time of the last run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, tzinfo
from time import monotonic as time_passed
from typing import TYPE_CHECKING, Any

from memoryd.core.clock import SKEW
from memoryd.core.errors import InputError

if TYPE_CHECKING:
    from memoryd.core.protocols import Clock  # Loads numpy, which must not delay the start.

Work = Callable[[], object]


def parse_time(text: str) -> time:
    """Parse a local time of day from HH:MM. Raises InputError."""
    try:
        return time.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"'{text}' is not a time of day.", fix="Write it as 03:30.") from error


def previous_slot(now: datetime, at: time, zone: tzinfo | None = None) -> datetime:
    """Return the latest due time of a daily slot that is not after `now`. A `zone` of None means local time."""
    local = now.astimezone(zone)
    slot = _at(local, at, zone)
    return slot if slot <= now else _at(local - timedelta(days=1), at, zone)


def _at(day: datetime, at: time, zone: tzinfo | None) -> datetime:
    moment = datetime.combine(day.date(), at, tzinfo=zone)
    return moment.astimezone(UTC)


def was_missed(now: datetime, at: time, last_run: datetime | None, zone: tzinfo | None = None) -> bool:
    """Return whether the latest slot passed without a run. Work that has never run waits for its first slot.

    If the last run is in the future, it was recorded while the clock was wrong, and the latest slot counts as missed.
    """
    return last_run is not None and (last_run > now + SKEW or last_run < previous_slot(now, at, zone))


class Scheduler:
    """Runs work at intervals or daily. The work must be quick or move itself to another thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._scheduler: Any = None
        self._waiting: list[Callable[[Any], None]] = []
        self._offset = self._clock_offset()

    def every(self, seconds: float, work: Work, name: str) -> None:
        """Run the work at a regular interval."""

        def add(scheduler: Any) -> None:
            scheduler.add_job(work, "interval", seconds=seconds, id=name, name=name, replace_existing=True)

        self._add(add)

    def daily(self, at: str, work: Work, name: str, last_run: datetime | None = None) -> None:
        """Run the work daily at a local time, and also at start-up if the latest slot was missed. Raises InputError."""
        slot = parse_time(at)

        def add(scheduler: Any) -> None:
            scheduler.add_job(work, "cron", hour=slot.hour, minute=slot.minute, id=name, name=name, replace_existing=True)
            if was_missed(self._clock.now(), slot, last_run):
                scheduler.add_job(work, "date", run_date=self._clock.now(), id=f"{name}-missed", name=name, replace_existing=True)

        self._add(add)

    def _add(self, add: Callable[[Any], None]) -> None:
        if self._scheduler is None:
            self._waiting.append(add)
        else:
            add(self._scheduler)

    def start(self) -> None:
        """Start scheduling. Intervals start now. The library is imported only here."""
        from apscheduler.schedulers.background import BackgroundScheduler

        defaults = {"coalesce": True, "misfire_grace_time": None, "max_instances": 1}
        self._scheduler = BackgroundScheduler(job_defaults=defaults)  # type: ignore[no-untyped-call]
        self._scheduler.start()
        for add in self._waiting:
            add(self._scheduler)
        self._waiting.clear()

    def _clock_offset(self) -> timedelta:
        return timedelta(seconds=self._clock.now().timestamp() - time_passed())

    def follow_clock(self) -> bool:
        """Reschedule everything if the clock has changed since the last call, and return whether it has.

        Otherwise, work scheduled while the clock was ahead might not run for years.
        """
        offset = self._clock_offset()
        if abs(offset - self._offset) < SKEW:
            return False
        self._offset = offset
        for job in self._scheduler.get_jobs() if self._scheduler else []:
            job.reschedule(job.trigger) if job.id == job.name else job.modify(next_run_time=self._clock.now())
        return True

    def names(self) -> list[str]:
        """Return the sorted names of scheduled work."""
        return sorted({job.name for job in self._scheduler.get_jobs()}) if self._scheduler else []

    def stop(self) -> None:
        """Stop scheduling without waiting for running work. Safe to call twice."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
