"""Dates as the data sets write them.

None names a time zone. All are taken as UTC, which keeps their differences right.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from memeval.benchmarks.fields import Field

_MONTHS = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)
}  # fmt: skip
_LOCOMO = re.compile(r"(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE)
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\(\w+\))?(?:\s+(\d{1,2}):(\d{2})(?::\d{2})?)?")
_MONTH_FIRST = re.compile(r"([a-z]{3,9})[- ](\d{1,2})(?:st|nd|rd|th)?[-, ]+(\d{4})", re.IGNORECASE)


def read_date(field: Field) -> datetime:
    """The date in a field. Raises DataError if it is in no known notation."""
    text = field.text().strip()
    try:
        found = parse_date(text)
    except ValueError:
        found = None
    if found is None:
        raise field.error("a date such as '1:56 pm on 8 May, 2023', '2023/05/30 (Tue) 23:40', 'March-15-2024' or ISO 8601")
    return found


def parse_date(text: str) -> datetime | None:
    """The date, None if the notation is unknown; ValueError for a day that does not exist."""
    if match := _LOCOMO.fullmatch(text):
        hour, minute, half, day, month, year = match.groups()
        return datetime(int(year), _month(month), int(day), int(hour) % 12 + 12 * (half.lower() == "p"), int(minute), tzinfo=UTC)
    if match := _SLASHED.fullmatch(text):
        return datetime(*(int(part or 0) for part in match.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    if match := _MONTH_FIRST.fullmatch(text):
        month, day, year = match.groups()
        return datetime(int(year), _month(month), int(day), tzinfo=UTC)
    return _iso(text)


def _month(name: str) -> int:
    number = _MONTHS.get(name[:3].lower())
    if number is None:
        raise ValueError(name)
    return number


def _iso(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
