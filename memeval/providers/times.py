"""Times that a question names, as a range: `in May 2023`, `on 8 May`, `yesterday`, `last week`, `three days ago`.

Rules only. What is relative counts from the time of the question; without that, it says nothing. Numbers are not
trusted too far: `a week ago` is taken with a margin of a few days on both sides.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from memeval.providers.pieces import Piece
from memeval.providers.ranking import Scores

BONUS = 1.5
"""What a piece inside the range gains, in standard deviations of the scores."""
Range = tuple[datetime, datetime]

_MONTHS = {
    name.lower(): number for names in (calendar.month_name, calendar.month_abbr) for number, name in enumerate(names) if name
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?,?(?: (\d{{4}}))?", re.I)
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", re.I)
_ONLY_MONTH = re.compile(rf"\b(?:in|during|of|since|early|late|mid|last) ({_MONTH})\b\.?,?(?: (?:of )?(\d{{4}}))?", re.I)
_ONLY_YEAR = re.compile(r"\b(?:in|during|of) (\d{4})\b", re.I)
_NUMBERS = {
    word: number for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
_AGO = re.compile(rf"\b(\d{{1,3}}|an?|couple of|few|{'|'.join(_NUMBERS)}) (day|week|month|year)s? ago\b", re.I)
_LAST = re.compile(r"\b(last|past|previous|this) (week|weekend|month|year)\b", re.I)
_UNIT_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}


def asked_range(text: str, at: datetime | None) -> Range | None:
    """From and until of the first time that the text names; None when it names none that can be told."""
    return _named(text, at) or (_relative(text, at) if at else None)


def _named(text: str, at: datetime | None) -> Range | None:
    if match := _DAY_FIRST.search(text):
        return _day(match[3], match[2], match[1], at)
    if match := _MONTH_FIRST.search(text):
        return _day(match[3], match[1], match[2], at)
    if match := _ONLY_MONTH.search(text):
        year = _year(match[2], _MONTHS[match[1].lower()], at)
        return _month(year, _MONTHS[match[1].lower()]) if year else None
    if match := _ONLY_YEAR.search(text):
        return _span(int(match[1]), 1, 1, 366) if 1900 < int(match[1]) < 2200 else None
    return None


def _day(year: str | None, month: str, day: str, at: datetime | None) -> Range | None:
    number = _MONTHS[month.lower()]
    chosen = _year(year, number, at)
    if not chosen or not 1 <= int(day) <= calendar.monthrange(chosen, number)[1]:
        return None
    return _span(chosen, number, int(day), 1)


def _year(year: str | None, month: int, at: datetime | None) -> int:
    """The year that is written, else the one of the newest such month that has begun; 0 when neither tells."""
    if year:
        return int(year) if 1900 < int(year) < 2200 else 0
    return 0 if at is None else at.year if month <= at.month else at.year - 1


def _month(year: int, month: int) -> Range:
    return _span(year, month, 1, calendar.monthrange(year, month)[1])


def _span(year: int, month: int, day: int, days: int) -> Range:
    start = datetime(year, month, day)  # noqa: DTZ001 - compared with local times of the data
    return start, start + timedelta(days=days)


def _relative(text: str, at: datetime) -> Range | None:
    now = at.replace(tzinfo=None)
    lowered = text.lower()
    for word, days in (("day before yesterday", 2), ("yesterday", 1), ("today", 0)):
        if word in lowered:
            start = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
            return start, start + timedelta(days=1)
    if match := _AGO.search(text):
        unit = _UNIT_DAYS[match[2].lower()]
        days = _count(match[1].lower()) * unit
        margin = timedelta(days=1 + days * 0.2)
        return now - timedelta(days=days) - margin, now - timedelta(days=days) + margin
    if match := _LAST.search(text):
        back = _UNIT_DAYS[match[2].lower()] * (1 if match[1].lower() in ("past", "this") else 2)
        return now - timedelta(days=back), now
    return None


def _count(word: str) -> int:
    if word.isdigit():
        return int(word)
    return {"a": 1, "an": 1, "couple of": 2, "few": 3}.get(word) or _NUMBERS.get(word, 1)


def with_times(scores: Scores, pieces: Sequence[Piece], text: str, at: datetime | None) -> Scores:
    """Scores with a bonus for pieces from the time that the question names; the same scores if it names none."""
    asked = asked_range(text, at)
    if asked is None or not len(scores):
        return scores
    inside = [piece.at is not None and asked[0] <= piece.at.replace(tzinfo=None) < asked[1] for piece in pieces]
    spread = float(scores.std()) or 1.0
    return scores + BONUS * spread * np.asarray(inside, dtype=np.float64)
