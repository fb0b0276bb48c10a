from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.clock import SystemClock
from memoryd.core.errors import InputError
from memoryd.daemon.schedule import Scheduler, parse_time, previous_slot, was_missed

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
NIGHT = time(3, 30)


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler(SystemClock())
    yield scheduler
    scheduler.stop()


def test_the_last_slot_is_today_or_yesterday_in_the_local_zone() -> None:
    assert previous_slot(NOON, NIGHT, UTC) == datetime(2026, 6, 10, 3, 30, tzinfo=UTC)
    assert previous_slot(NOON.replace(hour=3), NIGHT, UTC) == datetime(2026, 6, 9, 3, 30, tzinfo=UTC)
    assert previous_slot(NOON, NIGHT, timezone(timedelta(hours=9))) == datetime(2026, 6, 9, 18, 30, tzinfo=UTC)


@given(st.integers(0, 10_000_000).map(lambda minutes: NOON + timedelta(minutes=minutes)), st.times(), st.integers(-12, 14))
def test_the_last_slot_is_never_ahead_nor_a_day_old(now: datetime, at: time, hours: int) -> None:
    slot = previous_slot(now, at, timezone(timedelta(hours=hours)))
    assert timedelta(0) <= now - slot < timedelta(days=1)


def test_only_work_that_ran_before_its_latest_slot_was_missed() -> None:
    assert was_missed(NOON, NIGHT, NOON - timedelta(days=1), UTC)
    assert not was_missed(NOON, NIGHT, NOON - timedelta(hours=1), UTC)
    assert not was_missed(NOON, NIGHT, None, UTC)
    assert not was_missed(NOON, NIGHT, NOON + timedelta(seconds=2), UTC)
    assert was_missed(NOON, NIGHT, NOON + timedelta(days=1500), UTC)


def test_a_missed_slot_is_made_up_for_once_at_the_start(scheduler: Scheduler) -> None:
    ran = threading.Semaphore(0)
    scheduler.daily("03:30", ran.release, "dream", SystemClock().now() - timedelta(days=3))
    scheduler.start()
    assert ran.acquire(timeout=60)
    assert not ran.acquire(timeout=0.1)
    assert scheduler.names() == ["dream"]


def test_work_recurs(scheduler: Scheduler) -> None:
    ran = threading.Semaphore(0)
    scheduler.start()
    scheduler.every(0.02, ran.release, "flush")
    assert ran.acquire(timeout=60) and ran.acquire(timeout=60)


def test_nothing_runs_after_the_stop_and_stopping_twice_is_fine(scheduler: Scheduler) -> None:
    scheduler.start()
    scheduler.stop()
    scheduler.stop()
    assert scheduler.names() == []


@pytest.mark.parametrize("text", ["", "25:00", "noon"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="03:30"):
        parse_time(text)


class SetClock:
    """A clock that is set explicitly."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return SystemClock().now() + self.ahead


def test_after_the_clock_was_set_back_work_is_planned_from_now(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SetClock()
    clock.ahead = timedelta(days=1500)
    scheduler = Scheduler(clock)
    ran = threading.Semaphore(0)
    scheduler.every(0.02, ran.release, "flush")
    scheduler.start()
    try:
        far = clock.now() + timedelta(days=1)
        for job in scheduler._scheduler.get_jobs():
            job.modify(next_run_time=far)
        while ran.acquire(timeout=0.1):
            continue
        assert not scheduler.follow_clock()
        clock.ahead = timedelta(0)
        assert scheduler.follow_clock() and not scheduler.follow_clock()
        assert ran.acquire(timeout=60)
    finally:
        scheduler.stop()
