"""Parse a memory's text for comparison, into clauses with polarity, canonical words and values. Pure functions.

A statement may affirm some things and deny others ("pnpm, never npm"). Counting negations can't distinguish these, so the text is
split into clauses, each with its own polarity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from memoryd.core.text import STOP_WORDS, words
from memoryd.language import lexicon
from memoryd.language.cues import READ, content, language, negation
from memoryd.language.stems import stem
from memoryd.language.wording import NONE, Statement, mask_values, read

_ORDER = frozenset({"before", "after", "only"})
NUMBER_WORDS = {word: str(n) for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_AT_LEAST = re.compile(
    r"\b(?:(?:must |should |may |can )?(?:not|never) (?:drop|fall|go|sink|be) (?:below|under)|no(?:t)? less than|at least"
    r"|at a minimum)\b|\bor (?:more|higher|above)\b",
    re.IGNORECASE,
)
_PHRASES = (
    (
        re.compile(
            r"^(?:a |the )?(?:dead end|note|important|fix|decision|rule|todo|reminder|fact|preference)\s*:\s*", re.IGNORECASE
        ),
        "",
    ),
    (re.compile(r"^to avoid:\s*", re.IGNORECASE), "never "),
    (_AT_LEAST, " atleast "),
    (re.compile(r"\bno longer\b|\bnot any ?(?:more|longer)\b", re.IGNORECASE), " not "),
    (re.compile(r"\bany ?(?:more|longer)\b", re.IGNORECASE), " "),
    (re.compile(r"\bpull requests?\b|\bmerge requests?\b|\bPRs?\b", re.IGNORECASE), " pullrequest "),
    (re.compile(r"\bend[- ]to[- ]end\b|\be2e\b", re.IGNORECASE), " endtoend "),
    (re.compile(r"\btime[- ]?stamps?\b", re.IGNORECASE), " timestamp "),
    (re.compile(r"\b(?:the )?user\b(?= (?!us)\w+s\b)|\bthe user['’]s\b", re.IGNORECASE), " "),
    (re.compile(r"\bcode ?base\b", re.IGNORECASE), " "),
    (re.compile(r"\b(?:stopped|stops) working\b", re.IGNORECASE), " fails "),
    (re.compile(r"\bsign(?:s|ed|ing)?[ -]off\b", re.IGNORECASE), " approve "),
    (re.compile(r"\bby hand\b", re.IGNORECASE), " manually "),
    (re.compile(r"\b(?:turned|switched|is|are) off\b", re.IGNORECASE), " disabled "),
    (re.compile(r"\b(?:turned|switched|is|are) on(?=[.;,]|$)", re.IGNORECASE), " enabled "),
)
# The text after one of these words is denied.
_AGAINST = re.compile(
    r"\s*(?:[,;]\s*)?\b(?:instead of|rather than|in place of|as opposed to|without"
    r"|(?:and |but )?(?:not|never)(?= (?:with|in|to|on|by|as|for|the|a)\b))\s",
    re.IGNORECASE,
)
_OVER = re.compile(r"\b(?:prefer|favou?r|choos|chos|pick|went with|go with|decid)\w*\b.{0,200}?(?P<over>\sover\s)", re.IGNORECASE)
_BOUNDARY = re.compile(
    r"[;,:!?。；，]\s*|\.(?=\s|$)|\s(?:but|because|although|though|while|so that|otherwise|and then)\s", re.IGNORECASE
)
_PLACE = re.compile(r"\b(?:in|for|on|at|under|inside|during|when|if)\s+(.{1,40})", re.IGNORECASE)
_MARKER = re.compile(r"\b(before|after)\s+(.{1,40})", re.IGNORECASE)
# Introduces the consequence of ignoring the statement. A "not" in it does not deny the statement itself.
_ELSE = re.compile(
    r"(?:\b(?:otherwise|or else|sonst|sinon|de lo contrario|si no|senão|иначе)\b|否则|さもないと|아니면)[^.;。]{1,200}",
    re.IGNORECASE,
)
_SECONDS = {
    **dict.fromkeys("ms msec millisecond milliseconds".split(), 0.001),
    **dict.fromkeys("s sec secs second seconds sekunde sekunden seconde secondes segundo segundos секунд секунды".split(), 1),
    **dict.fromkeys("m min mins minute minutes minuten minuto minutos минут минуты".split(), 60),
    **dict.fromkeys("h hour hours hr hrs stunde stunden heure heures hora horas часа часов час".split(), 3_600),
    **dict.fromkeys("d day days tag tage tagen jour jours día días dia dias день дня дней".split(), 86_400),
    **dict.fromkeys("week weeks woche wochen semaine semaines semana semanas неделя недели недель".split(), 604_800),
    **dict.fromkeys("month months monat monate monaten mois mes meses mês месяц месяца месяцев".split(), 2_629_746),
    **dict.fromkeys("year years jahr jahre jahren ans année años año ano anos год года лет".split(), 31_556_952),
}
_UNITS = {
    **{unit: "s" for unit in _SECONDS},
    **dict.fromkeys(("percent", "prozent"), "%"),
    **dict.fromkeys(("gig", "gigs", "gbyte", "gigabyte", "gigabytes"), "gb"),
    **dict.fromkeys(("meg", "megs", "mbyte", "megabyte", "megabytes"), "mb"),
}
_TEN = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = {
    **{word: n for n, word in enumerate(_TEN.split(), 2)},
    **{"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100},
    **{word: n for n, word in enumerate("zwei drei vier fünf sechs sieben acht neun zehn".split(), 2)},
    **{"zwanzig": 20, "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60},
    **{word: n for n, word in enumerate("deux trois quatre cinq six sept huit neuf dix".split(), 2)},
    **{"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60},
    **{word: n for n, word in enumerate("dos tres cuatro cinco seis siete ocho nueve diez".split(), 2)},
    **{"veinte": 20, "treinta": 30, "cuarenta": 40, "cincuenta": 50, "sesenta": 60},
    **{word: n for n, word in enumerate("dois três quatro cinco seis sete oito nove dez".split(), 2)},
    **{"vinte": 20, "trinta": 30, "quarenta": 40, "cinquenta": 50, "sessenta": 60},
    **{word: n for n, word in enumerate("два три четыре пять шесть семь восемь девять десять".split(), 2)},
    **{word: n for n, word in enumerate("двух трёх четырёх пяти шести семи восьми девяти десяти".split(), 2)},
    **{word: 1 for word in ("один", "одна", "одно")},
}
_WRITTEN_NUMBER = re.compile(rf"\b({'|'.join(_NUMBER_WORDS)})\b(?=[ -]\w)", re.IGNORECASE)
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_ONE = r"an?|one|ein\w{0,2}|une?|un[ao]|uma?|один|одну?"
_MONTH_NAMES = "january february march april may june july august september october november december".split()
_MONTH_NAME = "|".join(_MONTH_NAMES)
_FRACTIONS = {"half": 0.5, "of": 0.25, "one": 1.0}
# Normalise quantities such as "half a minute", "two weeks", "10,000" and "5 pm".
_QUANTITIES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?<=\d)(?=[぀-ヿ㐀-䶿一-鿿가-힯])|(?<=[぀-ヿ㐀-䶿一-鿿가-힯])(?=\d)"), lambda match: " "),
    (re.compile(r"\b(\d{1,3}(?:,\d{3}){1,4})(?![\d,])"), lambda match: match[1].replace(",", "")),
    (
        re.compile(r"\b(\d{1,6}(?:\.\d{1,6})?) ?(million|billion|thousand)\b", re.IGNORECASE),
        lambda match: f"{float(match[1]) * {'thousand': 1e3, 'million': 1e6, 'billion': 1e9}[match[2].casefold()]:.0f}",
    ),
    (
        re.compile(r"\b(half an?|(?:a )?quarter of an?|one) (second|minute|hour|day|week)\b", re.IGNORECASE),
        lambda match: (
            f"{_FRACTIONS[match[1].split()[-2 if ' ' in match[1] else 0].casefold()] * _SECONDS[match[2].casefold()]:.12g} s"
        ),
    ),
    (
        re.compile(rf"\b({_ONE}|\d{{1,4}}) ({'|'.join(_SECONDS)}) and a half\b", re.IGNORECASE),
        lambda match: f"{((float(match[1]) if match[1].isdigit() else 1) + 0.5) * _SECONDS[match[2].casefold()]:.12g} s",
    ),
    # Not "once a week", which is a rate.
    (
        re.compile(
            rf"\b(for|after|within|lasts?|every|than|of|after|nach|für|von|après|pendant|de|por|durante|через) (?:{_ONE})"
            r" (minute|hour|day|week|month|year|stunde|tag|woche|monat|jahr|heure|jour|semaine|hora|día|dia|semana"
            r"|час|день|неделю|месяц|год)\b",
            re.IGNORECASE,
        ),
        lambda match: f"{match[1]} 1 {match[2]}",
    ),
    (re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b"), lambda match: f"{match[1]}.{match[2]}.{match[3]}"),
    (
        re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH_NAME})(?:,? (\d{{4}}))?\b", re.IGNORECASE),
        lambda match: _date(match[3], match[2], match[1]),
    ),
    (
        re.compile(rf"\b({_MONTH_NAME}) (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?\b(?!:)", re.IGNORECASE),
        lambda match: _date(match[3], match[1], match[2]),
    ),
    (
        re.compile(r"(?<![\w.])(\d{1,6}(?:\.\d{1,6})?) ?hz\b", re.IGNORECASE),
        lambda match: f"{1 / float(match[1]):.12g} s" if float(match[1]) else match[0],
    ),
    (
        re.compile(
            r"\b(\d{1,2})(?::(\d\d))? ?(?:o'clock )?(?:([ap])\.?m\b\.?|in the (morning|afternoon|evening)\b)", re.IGNORECASE
        ),
        lambda match: _time_of_day(int(match[1]), match[2] or "00", (match[3] or match[4][0]).casefold(), match[4] or ""),
    ),
    (
        re.compile(rf"(?<![\w.:])(\d{{1,9}}(?:\.\d{{1,6}})?)[ -]?({_UNIT})(?!\w)", re.IGNORECASE),
        lambda match: _quantity(match[1], match[2].casefold()),
    ),
)
_K8S = re.compile(r"\bk8s\b", re.IGNORECASE)
_TIME = re.compile(r"0\d:\d\d")
_VALUE = re.compile(r"(v?)(\d[\d.,:]*?)\s*([a-z%]*)", re.IGNORECASE)


def _canonical_words() -> dict[str, str]:
    out: dict[str, str] = {}
    for line in lexicon.SYNONYMS.split("\n"):
        group = line.split()
        for word in group:
            out.setdefault(stem(word.replace("-", "")), stem(group[0].replace("-", "")))
    return out


def _classes(text: str) -> dict[str, frozenset[int]]:
    out: dict[str, set[int]] = {}
    for number, line in enumerate(text.strip().split("\n")):
        for word in line.split():
            out.setdefault(CANONICAL.get(stem(word), stem(word)), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in out.items()}


def canonical(word: str) -> str:
    """Return the stem that represents a lower-case word and its synonyms."""
    cut = stem(word)
    return CANONICAL.get(cut, cut)


CANONICAL: Mapping[str, str] = _canonical_words()
LIGHT = frozenset(lexicon.LIGHT)
WEAK = frozenset(canonical(word) for word in lexicon.WEAK)
SUBJECTS: Mapping[str, frozenset[int]] = _classes(lexicon.SUBJECTS)
CHOICES: Mapping[str, frozenset[int]] = _classes(lexicon.CHOICES)
OPPOSITES: Mapping[str, frozenset[int]] = _classes(lexicon.OPPOSITES)
STATES = frozenset(canonical(word) for word in lexicon.STATES)
ENDS: Mapping[str, frozenset[int]] = _classes(lexicon.ENDS)
UNIT_TERMS = frozenset(map(canonical, _SECONDS))  # Units of time. Values contain the amounts.


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a statement: its words, and whether they are affirmed."""

    terms: frozenset[str]
    affirmed: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed text.

    Attributes:
        terms: Canonical stems.
        order: Canonical stems in the order of the text.
        names: Words written like names.
        ends: Phrases for what has ended.
        gone: First words of `ends`.
        markers: The words after "before" and "after".
        places: The places and conditions after "in", "for" and "when".
    """

    statement: Statement
    clauses: tuple[Clause, ...]
    terms: frozenset[str]
    order: tuple[str, ...]
    values: tuple[str, ...]
    names: frozenset[str]
    gone: frozenset[str]
    ends: tuple[tuple[str, ...], ...]
    markers: tuple[tuple[str, str], ...]
    places: frozenset[str]

    @property
    def spoken_for(self) -> frozenset[str]:
        """The words of affirmed clauses."""
        return frozenset().union(*(clause.terms for clause in self.clauses if clause.affirmed))

    @property
    def spoken_against(self) -> frozenset[str]:
        """The words of denied clauses."""
        return frozenset().union(*(clause.terms for clause in self.clauses if not clause.affirmed))


def read_memory(text: str, *, dont: bool = False) -> Reading:
    """Parse a text.

    `dont` means that it is listed under "don't", which denies the words that have no negation of their own.
    """
    text = _K8S.sub("Kubernetes", text[:READ])
    plain, code = _plain(text), language(text)
    clauses = _clauses(plain, dont, code)
    statement = read(text)
    ends = tuple(phrase for thing in statement.replaced if (phrase := _phrase(thing, code)))
    return Reading(
        statement,
        clauses,
        clauses[0].terms if len(clauses) == 1 else frozenset().union(*(clause.terms for clause in clauses)),
        _ordered_terms(mask_values(plain), code),
        tuple(sorted(canonical_value(value) for value in read(normalise_quantities(text)).values)),
        _names(text, code),
        frozenset(phrase[0] for phrase in ends) or NONE,
        ends,
        tuple((match[1].casefold(), next(iter(_ordered_terms(match[2])), "")) for match in _MARKER.finditer(plain)),
        frozenset(term for match in _PLACE.finditer(plain) for term in _ordered_terms(match[1])[:1]) or NONE,
    )


def _phrase(thing: str, code: str) -> tuple[str, ...]:
    """Return the words and values, in order, of a phrase for something that has ended."""
    found = [(thing.find(value), canonical_value(value)) for value in read(thing).values]
    found += [(thing.find(word), canonical(word)) for word in _kept_words(mask_values(thing), code)]
    return tuple(entry for _, entry in sorted(found))


def canonical_value(value: str) -> str:
    """Normalise a number with its unit, so that "30seconds" and "30s" are equal."""
    match = _VALUE.fullmatch(value)
    if match is None:
        return value
    number = match[2].rstrip(".,:")
    number = number[1:] if _TIME.fullmatch(number) else number
    return f"{number}{_UNITS.get(match[3].casefold(), match[3].casefold())}"


def _quantity(number: str, unit: str) -> str:
    """Convert a quantity to the base unit of its kind."""
    return f"{float(number) * _SECONDS[unit]:.12g} s" if unit in _SECONDS else f"{number}{_UNITS[unit]}"


def _date(year: str | None, month: str, day: str) -> str:
    """Format a date as one value, without a year if none is given."""
    written = f"{_MONTH_NAMES.index(month.casefold()) + 1:02}.{int(day):02}"
    return f"{year}.{written}" if year else written


def _time_of_day(hour: int, minute: str, half: str, day_part: str) -> str:
    late = half == "p" or day_part in ("afternoon", "evening")
    return f"{hour % 12 + (12 if late else 0)}:{minute}"


def normalise_quantities(text: str) -> str:
    """Normalise numbers and quantities in the text, so that "half a minute" and "30 sec" are equal."""
    portuguese = language(text) == "pt"  # "dos" means "of the" in Portuguese and "two" in Spanish.
    text = _WRITTEN_NUMBER.sub(
        lambda match: match[0] if portuguese and match[1].casefold() == "dos" else str(_NUMBER_WORDS[match[1].casefold()]), text
    )
    for pattern, write in _QUANTITIES:
        text = pattern.sub(write, text)
    return text


def _plain(text: str) -> str:
    for pattern, replacement in _PHRASES:
        text = pattern.sub(replacement, text)
    return _ELSE.sub(lambda match: negation(text).sub(" ", match.group()), text)


def canonical_terms(text: str, code: str = "en") -> frozenset[str]:
    """Return the meaningful stems, with synonyms replaced by the representative of their group.

    `code` is the language code.
    """
    return frozenset(_ordered_terms(text, code))


def _ordered_terms(text: str, code: str = "en") -> tuple[str, ...]:
    return tuple(map(canonical, _kept_words(text, code)))


def _kept_words(text: str, code: str) -> list[str]:
    kept = (
        word for word in words(content(text, code).casefold()) if (word not in STOP_WORDS or word in _ORDER) and word not in LIGHT
    )
    return [word for word in kept if not word.isdigit() and len(word) > 1]


def _clauses(text: str, dont: bool, code: str) -> tuple[Clause, ...]:
    pieces = [(piece, affirmed) for piece, affirmed in _segments(text)]
    negator = negation(text)
    denied = [not affirmed or len(negator.findall(piece)) % 2 == 1 for piece, affirmed in pieces]
    if dont and not any(denied):
        denied = [True] * len(denied)
    out = [
        Clause(canonical_terms(mask_values(negator.sub(" ", piece)), code), not against)
        for (piece, _), against in zip(pieces, denied, strict=True)
    ]
    return tuple(clause for clause in _double(out, pieces) if clause.terms) or (Clause(frozenset(), True),)


def _double(clauses: list[Clause], pieces: list[tuple[str, bool]]) -> Iterable[Clause]:
    """Join two consecutive denials.

    "Don't deploy without a backup" requires the backup, so both parts are affirmed.
    """
    skip = False
    for clause, following, piece in zip(clauses, [*clauses[1:], None], [*pieces[1:], None], strict=True):
        if skip:
            skip = False
        elif following is not None and piece is not None and not clause.affirmed and not piece[1] and not following.affirmed:
            skip = True
            yield Clause(clause.terms | following.terms, True)
        else:
            yield clause


def _segments(text: str) -> Iterable[tuple[str, bool]]:
    """Yield the pieces of the text between clause boundaries, and whether each is affirmed."""
    over = _OVER.search(text)
    if over is not None:
        yield from _segments(text[: over.start("over")])
        yield text[over.end("over") :], False
        return
    start, affirmed = 0, True
    cuts = sorted(
        [(m.start(), m.end(), False) for m in _AGAINST.finditer(text)]
        + [(m.start(), m.end(), True) for m in _BOUNDARY.finditer(text)]
    )
    for begin, end, positive in cuts:
        if begin < start:
            affirmed = affirmed and positive
            continue
        yield text[start:begin], affirmed
        start, affirmed = end, positive
    yield text[start:], affirmed


_GERMAN_NAME = re.compile(r"`([^`]+)`|\b([A-Z]+[a-z0-9]+[A-Z]\w*|[a-z]+_[a-z_]+|[a-z]+[A-Z]\w+|[A-Z]{2,}[\w_]*)\b")
_NAME = re.compile(r"`([^`]+)`|(?<=[a-z,;] )([A-Z][\w+-]*[\w+])|\b([a-z]+_[a-z_]+|[a-z]+[A-Z]\w+|[A-Z]{2,}[\w_]*)\b")


def _names(text: str, code: str) -> frozenset[str]:
    """Return the words written like names.

    These are words in backticks, capitalised words within a sentence (except in German), and identifiers.
    """
    pattern = _GERMAN_NAME if code == "de" else _NAME
    found = (next(filter(None, match.groups())) for match in pattern.finditer(mask_values(text)))
    return frozenset(CANONICAL.get(stem(name.casefold()), stem(name.casefold())) for name in found) or NONE
