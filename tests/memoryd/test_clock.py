"""Tests of the clock that a benchmark may start at another time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoryd.core.clock import CLOCK_ENV, SystemClock, clock_from
from memoryd.core.errors import InputError

START = datetime(2023, 5, 20, 10, tzinfo=UTC)


def test_the_clock_is_the_machines_unless_a_start_is_given() -> None:
    assert isinstance(clock_from({}), SystemClock)
    clock = clock_from({CLOCK_ENV: "2023-05-20T10:00:00Z"})
    first, second = clock.now(), clock.now()
    assert START <= first <= second < START + timedelta(minutes=5)


def test_a_start_that_is_not_a_time_is_an_error_with_its_text() -> None:
    with pytest.raises(InputError, match="'soon' is not a date or time"):
        clock_from({CLOCK_ENV: "soon"})


def test_a_clock_in_a_file_restarts_when_the_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    with pytest.raises(InputError, match="can't be read"):
        clock_from({CLOCK_ENV: f"@{file}"})
    file.write_text("2023-05-20T10:00:00Z")
    clock = clock_from({CLOCK_ENV: f"@{file}"})
    assert START <= clock.now() < START + timedelta(minutes=5)
    file.write_text("2024-01-01T00:00:00Z")
    assert clock.now().year == 2024
    file.write_text("half a ti")
    assert clock.now().year == 2024, "a file that is being written changes nothing"
    file.unlink()
    assert clock.now().year == 2024
