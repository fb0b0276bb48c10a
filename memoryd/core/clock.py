"""The system clock behind the Clock protocol."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoryd.core.errors import InputError

# Time servers move a clock by less; a time further ahead than this is from a clock that was wrong.
SKEW = timedelta(minutes=5)


class SystemClock:
    """Time as the machine tells it."""

    def now(self) -> datetime:
        """Aware UTC time."""
        return datetime.now(UTC)


def to_iso(moment: datetime) -> str:
    """ISO 8601 in UTC with a trailing Z, microseconds only when there are any."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_iso(text: str) -> datetime:
    """Aware UTC time from ISO 8601; a date alone means midnight UTC, no zone means UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # overflow: in UTC it lies before the year 1 or after 9999
        raise InputError(f"'{text}' is not a date or time.", fix="Write it as 2026-11-27 or 2026-11-27T09:30:00Z.") from error


def local_midnight(now: datetime) -> datetime:
    """The start of the day on the user's clock, in UTC: from then on budgets count."""
    return now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
