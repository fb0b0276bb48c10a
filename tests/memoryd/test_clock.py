"""Tests of the clock that a benchmark may start at another time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
