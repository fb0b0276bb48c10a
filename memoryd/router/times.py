"""Times that a query names, as a range of days: `in May 2023`, `on 8 May`, `yesterday`, `last week`, `three days ago`.

Rules for English only. What has no year, or is relative, counts from the time of the query.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta

Span = tuple[datetime, datetime]
DAY = timedelta(days=1)
# "a week ago" is seldom exact: this share of the distance is let through on both sides.
MARGIN = 0.2
_MONTHS = {name.casefold(): n for names in (calendar.month_name, calendar.month_abbr) for n, name in enumerate(names) if name}
_MONTHS["sept"] = 9
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?:,?\s*(?:of\s+)?(?P<year>(?:19|20)\d\d))"
_NAMED = (
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)-(?P<day>\d\d)\b"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<month>{_MONTH})\b\.?{_YEAR}?", re.I),
    re.compile(rf"\b(?P<month>{_MONTH})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR}?", re.I),
    re.compile(rf"\b(?P<month>{_MONTH})\.?{_YEAR}", re.I),
    re.compile(rf"\b(?:in|during|since|of|last|early|late|mid)[\s-]+(?P<month>{_MONTH})\b", re.I),
    re.compile(r"\b(?:in|during|of|since)\s+(?P<year>(?:19|20)\d\d)\b", re.I),
)
_COUNTS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
_COUNTS |= {"a": 1, "an": 1, "couple of": 2, "few": 3}
_AGO = re.compile(rf"\b(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})\s+(?P<unit>day|week|month|year)s?\s+ago\b", re.I)
_LAST = re.compile(r"\b(?P<which>last|past|previous|this)\s+(?P<unit>week|weekend|month|year)\b", re.I)
_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_NEAR = (("day before yesterday", 2), ("yesterday", 1), ("today", 0), ("this morning", 0))
_WHEN = re.compile(r"^\W*(?:when|what\s+(?:day|date|time|month|year)|which\s+(?:day|date|month|year)|how\s+long\s+ago)\b", re.I)
_TIME_WORDS = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past)\s+(?:week|month|year|night|weekend|summer|winter|spring|fall"
    rf"|\w+day)|(?:19|20)\d\d|(?:{'|'.join(name for name in _MONTHS if name not in ('may', 'mar'))})|(?:in|since|on)\s+may"
    r"|\w*(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{1,2}(?:st|nd|rd|th))\b",
    re.I,
)


def asks_when(text: str) -> bool:
    """Whether the query asks for a time."""
    return _WHEN.search(text) is not None


def names_time(text: str) -> bool:
    """Whether a statement says when: a date, a weekday, `last week`."""
    return _TIME_WORDS.search(text) is not None


def asked_span(text: str, now: datetime) -> Span | None:
    """From and until (exclusive, UTC) of the first time that the text names; None when it names none."""
    for pattern in _NAMED:
        if match := pattern.search(text):
            return _named(match.groupdict(), now)
    return _relative(text, now)


def _named(parts: dict[str, str | None], now: datetime) -> Span | None:
    name = parts.get("month")
    month = _MONTHS[name.casefold()] if name else int(parts.get("number") or 0)
    year = int(parts.get("year") or (now.year if month <= now.month else now.year - 1))
    day = int(parts.get("day") or 0)
    if not month:
        return _span(datetime(year, 1, 1, tzinfo=UTC), 365 + calendar.isleap(year))
    if not 1 <= month <= 12 or day > calendar.monthrange(year, month)[1]:
        return None
    return _span(datetime(year, month, day or 1, tzinfo=UTC), 1 if day else calendar.monthrange(year, month)[1])


def _span(start: datetime, days: int) -> Span:
    return start, start + days * DAY


def _relative(text: str, now: datetime) -> Span | None:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    lowered = text.casefold()
    for word, back in _NEAR:
        if word in lowered:
            return _span(midnight - back * DAY, 1)
    if match := _AGO.search(text):
        count = match["count"].casefold()
        days = (int(count) if count.isdecimal() else _COUNTS[count]) * _DAYS[match["unit"].casefold()]
        margin = DAY * (1 + MARGIN * days)
        return midnight - days * DAY - margin, midnight - days * DAY + margin
    if match := _LAST.search(text):
        back = _DAYS[match["unit"].casefold()] * (1 if match["which"].casefold() in ("past", "this") else 2)
        return midnight - back * DAY, midnight + DAY
    return None
