"""Find times in a query and return them as a range of days.

Examples are `in May 2023`, `yesterday`, `three weeks ago`, `since March` and `before 8 May`.

The rules are for English. In other languages, only the words for today, yesterday, the day before and last week are
supported (`times_in_english`). Relative times, and times without a year, are relative to the time of the query. An
open end is the corresponding end of ANY_TIME. The given day is always included, whether the query asks for the time
before or after it.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta

from memoryd.language.cues import READ
from memoryd.language.patterns import later

Span = tuple[datetime, datetime]
DAY = timedelta(days=1)
ANY_TIME = (datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))
# "A week ago" is rarely exact, so the range is extended on both sides by this share of the distance.
MARGIN = 0.2
_MONTHS = {name.casefold(): n for names in (calendar.month_name, calendar.month_abbr) for n, name in enumerate(names) if name}
_MONTHS["sept"] = 9
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WEEKDAYS = {name.casefold(): n for n, name in enumerate(calendar.day_name)}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_YEAR = r"(?:,?\s*(?:of\s+)?(?P<year>(?:19|20)\d\d))"
_NAMED = (
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)-(?P<day>\d\d)\b"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<month>{_MONTH})\b\.?{_YEAR}?", re.I),
    re.compile(rf"\b(?P<month>{_MONTH})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR}?", re.I),
    re.compile(rf"\b(?P<month>{_MONTH})\.?{_YEAR}", re.I),
    re.compile(
        rf"\b(?:in|during|since|of|(?P<last>last)|early|late|mid|before|until|till|after|by)[\s-]+(?P<month>{_MONTH})\b", re.I
    ),
    re.compile(
        rf"\b(?:in|during|since|(?P<last>last)|this|early|late|before|after)\s+(?:the\s+)?(?P<season>{'|'.join(_SEASONS)})\b{_YEAR}?",
        re.I,
    ),
    re.compile(r"\bQ(?P<quarter>[1-4])\b(?:\s+(?P<year>(?:19|20)\d\d))?", re.I),
    re.compile(r"\b(?:in|during|of|since|before|until|till|after|by)\s+(?P<year>(?:19|20)\d\d)\b", re.I),
)
_COUNTS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
_COUNTS |= {"a": 1, "an": 1, "couple of": 2, "few": 3}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})"
_AGO = re.compile(rf"\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+ago\b", re.I)
_WITHIN = re.compile(rf"\b(?:last|past|previous)\s+{_COUNT}\s+(?P<unit>day|week|month|year)s?\b", re.I)
_LAST = re.compile(r"\b(?P<which>last|past|previous|this)\s+(?P<unit>week|weekend|month|quarter|year)\b", re.I)
_THE = re.compile(r"\bthe\s+$", re.I)
_WEEKDAY = re.compile(rf"\b(?:last|past|this|on|since|before|after)\s+(?P<day>{'|'.join(_WEEKDAYS)})\b", re.I)
_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "quarter": 91, "year": 365}
_NEAR = (("day before yesterday", 2), ("yesterday", 1), ("last night", 1), ("today", 0), ("this morning", 0))
_UP_TO = re.compile(r"\b(?:before|until|till|prior\s+to|up\s+to|by)\s*$", re.I)
_FROM = re.compile(r"\b(?:since|after|from|following)\s*$", re.I)
_OPENS = re.compile(r"^(?P<word>before|until|till|by|since|after)\b", re.I)
_RANGES = (
    re.compile(r"\b(?:between|from)\b(?P<first>.+?)\b(?:and|to|until|till)\b(?P<second>.+)", re.I),
    re.compile(
        r"\b(?:in|during|of)\s+(?P<first>\w+)(?:,\s*\w+)*,?\s+(?:and|or)\s+(?P<second>\w+(?:,?\s+(?:of\s+)?\d{4}\b)?)", re.I
    ),
)
_A_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_EVENT = re.compile(
    r"\b(?P<side>before|until|prior\s+to|after|since|following)\s+(?:we\s+|i\s+|you\s+|they\s+)?(?P<event>[^,.;?!]{3,80})", re.I
)
_PAST = re.compile(
    r"^\W*(?:what|which|who|where|how|why|when)\b.{0,60}\b(?:did|was|were|used\s+to|had)\b.{0,80}"
    r"\b(?:before|previously|originally|formerly|back\s+then|at\s+first|initially|prior\s+to|until|earlier)\b"
    r"|^\W*(?:what|which|who|where|how)\b.{0,60}\b(?:used\s+to|did\s+we\s+(?:previously|originally|formerly|once))\b",
    re.I,
)
_WHEN = re.compile(r"^\W*(?:when|what\s+(?:day|date|time|month|year)|which\s+(?:day|date|month|year)|how\s+long\s+ago)\b", re.I)
_TIME_WORDS = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past)\s+(?:week|month|year|night|weekend|summer|winter|spring|fall"
    rf"|\w+day)|(?:19|20)\d\d|(?:{'|'.join(name for name in _MONTHS if name not in ('may', 'mar'))})|(?:in|since|on)\s+may"
    r"|\w*(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{1,2}(?:st|nd|rd|th))\b",
    re.I,
)

_OTHER_LANGUAGES = (
    (
        later(r"前天|一昨日|おととい|그저께|\b(?:vorgestern|anteayer|anteontem|позавчера)\b|\bl['’]altro\s+ieri\b", re.I),
        " day before yesterday ",
    ),
    (later(r"昨天|昨日|어제|\b(?:gestern|ayer|ontem|ieri|вчера)\b", re.I), " yesterday "),
    (later(r"今天|今日|오늘|\b(?:heute|aujourd.?hui|hoy|hoje|oggi|сегодня)\b", re.I), " today "),
    (
        later(
            r"上(?:个)?(?:星期|周)|先週|지난\s?주|\b(?:letzte[rn]?\s+woche|la\s+semaine\s+dernière|la\s+semana\s+pasada"
            r"|(?:na\s+)?semana\s+passada|la\s+settimana\s+scorsa|на\s+прошлой\s+неделе)\b",
            re.I,
        ),
        " last week ",
    ),
)
_HIER = later(r"\bhier\b", re.I)  # "here" in German and Dutch, "yesterday" in French.
_AVANT_HIER = later(r"\bavant[- ]hier\b", re.I)
_WORD = later(r"[^\W\d_]+")
_BESIDE_GERMAN = frozenset(
    """was wer wo wie wann warum wieso welche welcher welches welchen ist sind war waren wurde wurden haben hat hatten habe wir
    ich gibt noch schon nicht kein keine alles alle zu zum zur der das dem den ein eine und oder im mit für offen offene
    wat waar zijn hebben heeft het een nog""".split()
)
_BESIDE_FRENCH = frozenset(
    """qu que quoi qui quel quelle quels quelles est ce c on a avons avez ai ont était étaient nous vous j je il elle d du de des
    la le les l un une et pas fait depuis jusqu avant soir matin où pour dans sur au aux""".split()
)


def times_in_english(text: str) -> str:
    """Translate the words for today, yesterday and last week from any of the nine languages into English."""
    if _HIER.search(text):
        beside = _WORD.findall(text[:READ].casefold())
        french = sum(word in _BESIDE_FRENCH for word in beside) > sum(word in _BESIDE_GERMAN for word in beside)
        text = _HIER.sub(" yesterday ", _AVANT_HIER.sub(" day before yesterday ", text)) if french else text
    for pattern, english in _OTHER_LANGUAGES:
        text = pattern.sub(english, text)
    return text


def asks_when(text: str) -> bool:
    """Return whether the query asks for a time."""
    return _WHEN.search(text) is not None


def asks_past(text: str) -> bool:
    """Return whether the query asks about the past, so that outdated memories are valid answers.

    An example is `what did we use before X?`.
    """
    return _PAST.search(text) is not None


def names_time(text: str) -> bool:
    """Return whether a statement mentions a time, such as a date, a weekday or `last week`."""
    return _TIME_WORDS.search(text) is not None


def is_open(span: Span) -> bool:
    """Return whether the span has no start or no end."""
    return span[0] == ANY_TIME[0] or span[1] == ANY_TIME[1]


def within(span: Span, start: datetime, end: datetime | None = None) -> bool:
    """Return whether any moment from `start` to `end` is in the span.

    If `end` is None, only `start` is checked. A whole day starts at midnight.
    """
    return start < span[1] and (end or start) >= span[0]


def asked_span(text: str, now: datetime) -> Span | None:
    """Return the start and end (exclusive, UTC) of the first time mentioned in the text, or None.

    For two consecutive times (`from March to May`, `in March and May`), the span extends from the start of the first to the end
    of the second.
    """
    text = times_in_english(text)
    for pattern in _RANGES:
        if (match := pattern.search(text)) and (span := _range(match["first"].strip(), match["second"].strip(), now)):
            return span
    found = _single(text, now)
    return _opened(*found) if found else None


def _range(first: str, second: str, now: datetime) -> Span | None:
    end = _single(f"in {second}", now)
    begin = _single(f"in {first}", now)
    if begin and end and (year := _A_YEAR.search(end[2])) and not _A_YEAR.search(begin[2]):
        begin = max(
            (
                result
                for back in (0, 1)
                if (result := _single(f"in {first} {int(year[0]) - back}", now)) and result[0][0] < end[0][1]
            ),
            default=None,
        )
    return (begin[0][0], end[0][1]) if begin and end and begin[0][0] < end[0][1] else None


def asked_event(text: str) -> tuple[bool, str] | None:
    """Return the event that the query asks about, and whether it asks for the time before or after it.

    An example is `before the migration`.
    """
    match = _EVENT.search(text)
    return (
        (match["side"].casefold() in ("before", "until") or match["side"].casefold().startswith("prior"), match["event"].strip())
        if match
        else None
    )


def span_around(before: bool, at: datetime) -> Span:
    """Return the span before or after a moment, including the whole day of the moment."""
    midnight = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (ANY_TIME[0], midnight + DAY) if before else (midnight, ANY_TIME[1])


def _single(text: str, now: datetime) -> tuple[Span, str, str] | None:
    """Return one time, its own text, and the text before it."""
    for pattern in _NAMED:
        if match := pattern.search(text):
            span = _named(match.groupdict(), now)
            return (span, text[: match.start()], match[0]) if span else None
    return _relative(text, now)


def _opened(span: Span, before: str, own: str) -> Span:
    word = (_OPENS.match(own) or {"word": ""})["word"].casefold()
    if word in ("before", "until", "till", "by") or _UP_TO.search(before):
        return ANY_TIME[0], span[0] + DAY
    if word in ("since", "after") or _FROM.search(before):
        return span[0], ANY_TIME[1]
    return span


def _named(parts: dict[str, str | None], now: datetime) -> Span | None:
    if quarter := parts.get("quarter"):
        return _months(3 * int(quarter) - 2, 3, parts, now)
    if season := parts.get("season"):
        return _months(_SEASONS[season.casefold()], 3, parts, now)
    name = parts.get("month")
    month = _MONTHS[name.casefold()] if name else int(parts.get("number") or 0)
    day = int(parts.get("day") or 0)
    if not month:
        year = int(parts.get("year") or now.year)
        return _span(datetime(year, 1, 1, tzinfo=UTC), 365 + calendar.isleap(year))
    if not day and month <= 12:
        return _months(month, 1, parts, now)
    year = int(parts.get("year") or (now.year if month <= now.month else now.year - 1))
    if not 1 <= month <= 12 or not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    return _span(datetime(year, month, day, tzinfo=UTC), 1)


def _months(month: int, count: int, parts: dict[str, str | None], now: datetime) -> Span:
    """Return a span of whole months.

    A month without a year is the latest one in the past. With `last`, the months before the current one are returned.
    """
    begun = month < now.month or (month == now.month and not parts.get("last"))
    year = int(parts.get("year") or (now.year if begun else now.year - 1))
    after = month - 1 + count
    return datetime(year, month, 1, tzinfo=UTC), datetime(year + after // 12, after % 12 + 1, 1, tzinfo=UTC)


def _span(start: datetime, days: int) -> Span:
    return start, start + days * DAY


def _relative(text: str, now: datetime) -> tuple[Span, str, str] | None:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    lowered = text.casefold()
    for word, back in _NEAR:
        if (place := lowered.find(word)) >= 0:
            return _span(midnight - back * DAY, 1), lowered[:place], word
    for pattern, reading in ((_AGO, _ago), (_WITHIN, _lately), (_LAST, _last), (_WEEKDAY, _weekday)):
        if match := pattern.search(text):
            return reading(match, midnight), text[: match.start()], match[0]
    return None


def _count(match: re.Match[str]) -> int:
    count = match["count"].casefold()
    return (int(count) if count.isdecimal() else _COUNTS[count]) * _DAYS[match["unit"].casefold()]


def _ago(match: re.Match[str], midnight: datetime) -> Span:
    margin = DAY * (1 + MARGIN * _count(match))
    return midnight - _count(match) * DAY - margin, midnight - _count(match) * DAY + margin


def _lately(match: re.Match[str], midnight: datetime) -> Span:
    return midnight - _count(match) * DAY, midnight + DAY


def _last(match: re.Match[str], midnight: datetime) -> Span:
    """Return the span of `last week` or `the last week`.

    `last week` excludes today, while `the last week` and `the past week` include it.
    """
    over = match["which"].casefold() == "last" and not _THE.search(match.string[: match.start()])
    back = _DAYS[match["unit"].casefold()] * (1 if match["which"].casefold() in ("past", "this") else 2)
    return midnight - back * DAY, midnight if over else midnight + DAY


def _weekday(match: re.Match[str], midnight: datetime) -> Span:
    """Return the latest such weekday before today. With `this`, today also counts."""
    back = (midnight.weekday() - _WEEKDAYS[match["day"].casefold()]) % 7
    same = match[0].casefold().startswith("this")
    return _span(midnight - (back if back or same else 7) * DAY, 1)
