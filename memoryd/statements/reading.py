"""A memory's text read for comparison: clauses with their sense, canonical words, values. Pure functions.

A statement speaks for some things and against others ("pnpm, never npm"). Counting negations
mixes them up, so the text is cut into clauses, each with its own sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memoryd.retrieval.relevance import stem
from memoryd.statements import lexicon
from memoryd.statements.cues import READ, content, language, negation
from memoryd.statements.wording import NONE, Statement, mask_values, read
from memoryd.text import STOP_WORDS, words

_ORDER = frozenset({"before", "after", "only"})
NUMBER_WORDS = {word: str(n) for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_NUMBER_WORD = re.compile(r"\b(two|three|four|five|six|seven|eight|nine|ten)\b(?=\s\w)", re.IGNORECASE)
_LEAST = re.compile(
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
    (_LEAST, " atleast "),
    (re.compile(r"\bno longer\b|\bnot any ?(?:more|longer)\b", re.IGNORECASE), " not "),
    (re.compile(r"\bany ?(?:more|longer)\b", re.IGNORECASE), " "),
    (re.compile(r"\bpull requests?\b|\bmerge requests?\b|\bPRs?\b", re.IGNORECASE), " pullrequest "),
    (re.compile(r"\bend[- ]to[- ]end\b|\be2e\b", re.IGNORECASE), " endtoend "),
    (re.compile(r"\btime[- ]?stamps?\b", re.IGNORECASE), " timestamp "),
    (re.compile(r"\b(?:the )?user\b(?= (?!us)\w+s\b)|\bthe user['’]s\b", re.IGNORECASE), " "),
    (re.compile(r"\bcode ?base\b", re.IGNORECASE), " "),
    (re.compile(r"\b(?:stopped|stops) working\b", re.IGNORECASE), " fails "),
    (re.compile(r"\bby hand\b", re.IGNORECASE), " manually "),
    (re.compile(r"\b(?:turned|switched|is|are) off\b", re.IGNORECASE), " disabled "),
    (re.compile(r"\b(?:turned|switched|is|are) on(?=[.;,]|$)", re.IGNORECASE), " enabled "),
)
# What follows is spoken against.
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
# What happens if one does not do it: a "not" in there denies nothing of what is said.
_ELSE = re.compile(
    r"(?:\b(?:otherwise|or else|sonst|sinon|de lo contrario|si no|senão|иначе)\b|否则|さもないと|아니면)[^.;。]{1,200}",
    re.IGNORECASE,
)
_UNITS = {
    **dict.fromkeys(("seconds", "second", "sec"), "s"),
    **dict.fromkeys(("minutes", "minute", "m"), "min"),
    **dict.fromkeys(("hours", "hour"), "h"),
    **dict.fromkeys(("days", "day"), "d"),
    "percent": "%",
}
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
    """The stem that stands for a lower-case word and its synonyms."""
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


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a statement: its words, and whether they are spoken for."""

    terms: frozenset[str]
    stands: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the dream compares it.

    `terms` are canonical stems, `order` the same as they stand in the text, `names` those written like names, `ends` the
    phrases of what is said to be gone and `gone` their first words, `markers` what "before" and "after" are followed by,
    `places` what follows "in", "for", "when": where or in which case it holds.
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
        """Words of the clauses that stand."""
        return frozenset().union(*(clause.terms for clause in self.clauses if clause.stands))

    @property
    def spoken_against(self) -> frozenset[str]:
        """Words of the clauses that are denied."""
        return frozenset().union(*(clause.terms for clause in self.clauses if not clause.stands))


def read_memory(text: str, *, dont: bool = False) -> Reading:
    """Read a text. `dont`: it stands under "don't", which denies words that hold no negation themselves."""
    text = text[:READ]
    plain, code = _plain(text), language(text)
    clauses = _clauses(plain, dont, code)
    statement = read(text)
    ends = tuple(phrase for thing in statement.replaced if (phrase := _phrase(thing, code)))
    return Reading(
        statement,
        clauses,
        clauses[0].terms if len(clauses) == 1 else frozenset().union(*(clause.terms for clause in clauses)),
        _ordered_terms(mask_values(plain), code),
        tuple(sorted(canonical_value(value) for value in read(_NUMBER_WORD.sub(_digits, text)).values)),
        _names(text),
        frozenset(phrase[0] for phrase in ends) or NONE,
        ends,
        tuple((match[1].casefold(), next(iter(_ordered_terms(match[2])), "")) for match in _MARKER.finditer(plain)),
        frozenset(term for match in _PLACE.finditer(plain) for term in _ordered_terms(match[1])[:1]) or NONE,
    )


def _phrase(thing: str, code: str) -> tuple[str, ...]:
    """The words and values of what has ended, in order."""
    found = [(thing.find(value), canonical_value(value)) for value in read(thing).values]
    found += [(thing.find(word), canonical(word)) for word in _kept_words(mask_values(thing), code)]
    return tuple(entry for _, entry in sorted(found))


def canonical_value(value: str) -> str:
    """One spelling of a number with its unit: "30seconds" and "30s" are the same."""
    match = _VALUE.fullmatch(value)
    if match is None:
        return value
    return f"{match[2].rstrip('.,:')}{_UNITS.get(match[3].casefold(), match[3].casefold())}"


def _digits(match: re.Match[str]) -> str:
    return NUMBER_WORDS[match[1].casefold()]


def _plain(text: str) -> str:
    for pattern, replacement in _PHRASES:
        text = pattern.sub(replacement, text)
    return _ELSE.sub(lambda match: negation(text).sub(" ", match.group()), text)


def canonical_terms(text: str, code: str = "en") -> frozenset[str]:
    """Stems that carry meaning, each synonym replaced by the word that stands for its group. `code`: the language."""
    return frozenset(_ordered_terms(text, code))


def _ordered_terms(text: str, code: str = "en") -> tuple[str, ...]:
    return tuple(map(canonical, _kept_words(text, code)))


def _kept_words(text: str, code: str) -> list[str]:
    kept = (
        word for word in words(content(text, code).casefold()) if (word not in STOP_WORDS or word in _ORDER) and word not in LIGHT
    )
    return [word for word in kept if not word.isdigit() and len(word) > 1]


def _clauses(text: str, dont: bool, code: str) -> tuple[Clause, ...]:
    pieces = [(piece, stands) for piece, stands in _segments(text)]
    negator = negation(text)
    denied = [not stands or len(negator.findall(piece)) % 2 == 1 for piece, stands in pieces]
    if dont and not any(denied):
        denied = [True] * len(denied)
    out = [
        Clause(canonical_terms(mask_values(negator.sub(" ", piece)), code), not against)
        for (piece, _), against in zip(pieces, denied, strict=True)
    ]
    return tuple(clause for clause in _double(out, pieces) if clause.terms) or (Clause(frozenset(), True),)


def _double(clauses: list[Clause], pieces: list[tuple[str, bool]]) -> Iterable[Clause]:
    """Two denials in a row: "don't deploy without a backup" asks for the backup: both parts stand, as one."""
    skip = False
    for clause, following, piece in zip(clauses, [*clauses[1:], None], [*pieces[1:], None], strict=True):
        if skip:
            skip = False
        elif following is not None and piece is not None and not clause.stands and not piece[1] and not following.stands:
            skip = True
            yield Clause(clause.terms | following.terms, True)
        else:
            yield clause


def _segments(text: str) -> Iterable[tuple[str, bool]]:
    """Pieces of the text between boundaries, with whether what precedes them leaves them standing."""
    over = _OVER.search(text)
    if over is not None:
        yield from _segments(text[: over.start("over")])
        yield text[over.end("over") :], False
        return
    start, stands = 0, True
    cuts = sorted(
        [(m.start(), m.end(), False) for m in _AGAINST.finditer(text)]
        + [(m.start(), m.end(), True) for m in _BOUNDARY.finditer(text)]
    )
    for begin, end, positive in cuts:
        if begin < start:
            stands = stands and positive
            continue
        yield text[start:begin], stands
        start, stands = end, positive
    yield text[start:], stands


_NAME = re.compile(r"`([^`]+)`|(?<=[a-z,;] )([A-Z][\w+-]*[\w+])|\b([a-z]+_[a-z_]+|[a-z]+[A-Z]\w+|[A-Z]{2,}[\w_]*)\b")


def _names(text: str) -> frozenset[str]:
    """Words that are written like names: in backticks, capitals within a sentence, identifiers."""
    found = (next(filter(None, match.groups())) for match in _NAME.finditer(mask_values(text)))
    return frozenset(CANONICAL.get(stem(name.casefold()), stem(name.casefold())) for name in found) or NONE
