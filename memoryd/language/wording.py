"""Determine how the wording of two statements differs. Pure functions.

The wording may be the same, negated, different in one value, or different in other ways. The functions are
deliberately cautious. Sentences that differ in a number, a path or one noun look similar to any measure but have
different meanings. Only known kinds of differences count.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from memoryd.core.text import STOP_WORDS as ENGLISH_STOP_WORDS
from memoryd.core.text import jaccard, normalise, words
from memoryd.language import lexicon
from memoryd.language.cues import READ, content, contrasts, ended, language, limits, negations
from memoryd.language.preferences import another_choice, reversed_order
from memoryd.language.stems import stem

SAME_OVERLAP = 0.75
SAME_OVERLAP_SHORT = 0.6
FLIP_OVERLAP = 0.7
MIN_SHARED = 2
READ_KEPT = 4_000
NONE: frozenset[str] = frozenset()


class Wording(StrEnum):
    """How the wording of a second statement differs from that of the first."""

    SAME = "same"
    NEGATED = "negated"
    CHANGED_VALUE = "changed value"
    CHANGED_WORD = "changed word"
    CORRECTED = "corrected"
    DIFFERENT = "different"


_NEGATION_WORDS = frozenset(
    """not never no don doesn didn isn aren wasn won can cannot shouldn mustn dont without avoid stop forbidden longer always
    must please instead rather не нельзя никогда без nicht nie""".split()
)
_PATH = re.compile(
    r"(?<![\w.])(?:~?/|\./|\.\./)?[\w.@-]{1,100}(?:/[\w.@*-]{1,100}){1,40}/?|\b[\w-]{1,100}\.(?!\d)[A-Za-z]\w{0,5}\b(?!\.\w)"
)
_NUMBER = re.compile(
    r"(?<![\w.])v?\d{1,40}(?:[.:,]\d{1,40}){0,20}(?:\s?(?:%|ms|s|m|h|kb|mb|gb|min|days?|hours?|seconds?|minutes?))?(?!\w)",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(?<!\w)--?[A-Za-z][\w-]{0,100}(?:=\S{1,300})?")
_HAS_DIGIT = re.compile(r"\b(?:[A-Za-z_]+\d\w*|0x[0-9A-Fa-f]{1,40})\b")
# Words about a change or about the reader. They describe how a fact came about rather than the fact itself.
_PASSING_WORDS = frozenset(
    """now actually anymore any longer more instead rather from switched moved migrated changed replaced dropped final finally
    correction update remember note again today nowadays currently please lets let""".split()
)
PREPOSITIONS = frozenset(
    """to before after into against than between through in for on at of from under with within during by via per inside
    about""".split()
)
# A number after one of these words identifies a thing, so another number means another thing.
IDENTIFIED = frozenset(
    """issue issues pr ticket bug step phase line lines commit task test case chapter milestone item id section row column stage
    iteration round attempt sprint question fix story day page figure table listing rule node shard replica number module entry
    item sample fact note part level group slot worker server host room sensor camera build release sheet track exercise
    question""".split()
)
_SKIPPED = ENGLISH_STOP_WORDS | _NEGATION_WORDS | _PASSING_WORDS
_NAMES = frozenset(lexicon.CHOICES.split())
# "No, X" rejects another person's statement but affirms X.
_DENIAL = re.compile(r"^\W*(?:no|nope|wrong|nein|falsch|non|нет|不对|不)[,.:;!，。]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A text parsed once for many comparisons.

    Attributes:
        stems: Meaningful stems.
        values: Values that must match exactly.
        tokens: The words in order.
        replaced: Things that have ended, according to the statement.
        negations: The number of negations.
    """

    text: str
    norm: str
    stems: frozenset[str]
    values: tuple[str, ...]
    tokens: tuple[str, ...]
    replaced: tuple[str, ...]
    negations: int
    limits: frozenset[str]


def values_of(text: str) -> tuple[str, ...]:
    """Return paths, numbers, flags and names with digits, in order. Two statements can be the same only if these agree."""
    found: list[tuple[int, str]] = []
    rest = text
    for pattern in (_PATH, _FLAG, _NUMBER, _HAS_DIGIT):
        for match in pattern.finditer(rest):
            found.append((match.start(), match.group().rstrip("./").casefold().replace(" ", "")))
        rest = pattern.sub(lambda match: " " * len(match.group()), rest)
    return tuple(value for _, value in sorted(found))


def mask_values(text: str) -> str:
    """Return the text with its values masked."""
    for pattern in (_PATH, _FLAG, _NUMBER, _HAS_DIGIT):
        text = pattern.sub(" ", text)
    return text


def _without_contrasts(text: str) -> str:
    for match in reversed(contrasts(text)):
        text = f"{text[: match.start()]}{match['before']}{text[match.end() :]}"
    return text


def _stem(word: str) -> str:
    """Return the stem of a word.

    Names of tools are returned unchanged. Otherwise, "PostgreSQL" and "PostGIS" would become equal.
    """
    return word if word in _NAMES else stem(word)


@lru_cache(maxsize=READ_KEPT)
def read(text: str) -> Statement:
    """Parse a text for comparisons. The result is cached, because each statement is compared with many others.

    A dream keeps the results for all memories, so words are interned and empty sets are shared.
    """
    whole, text = text, _DENIAL.sub("", text[:READ])
    code = language(text)
    plain = [word for word in words(content(mask_values(text), code).casefold()) if word not in _SKIPPED]
    return Statement(
        text=text,
        norm=normalise(_DENIAL.sub("", whole)),
        stems=frozenset(sys.intern(_stem(word)) for word in plain),
        values=values_of(text),
        tokens=tuple(map(sys.intern, _tokens(text))),
        replaced=tuple(_replaced_things(text)),
        negations=negations(_without_contrasts(text)),
        limits=limits(text) or NONE,
    )


def differ(a: Statement, b: Statement, *, known_dont: bool = False, new_dont: bool = False) -> Wording:
    """Return how `b` differs from `a`.

    The `…_dont` arguments mean that a statement is listed under "don't", which negates words without a negation of their own.
    """
    flipped = speaks_for(a, known_dont) != speaks_for(b, new_dont)
    if a.norm == b.norm:
        return Wording.NEGATED if flipped else Wording.SAME
    if reversed_order(a.text, b.text):
        return Wording.NEGATED
    if _replaces(a, b):
        return Wording.CORRECTED
    if _replaces(b, a):
        return Wording.CHANGED_WORD  # The correction is quoted, so the words don't show which one is valid.
    alike = jaccard(a.stems, b.stems)
    if a.limits == b.limits and sorted(a.values) == sorted(b.values) and _one_sided(a, b):
        if flipped:
            return Wording.NEGATED if _enough(a, b) and alike >= FLIP_OVERLAP else Wording.DIFFERENT
        if alike >= (SAME_OVERLAP_SHORT if b.stems <= a.stems else SAME_OVERLAP):
            return Wording.SAME
    if not flipped and another_choice(a.text, b.text):
        return Wording.CHANGED_WORD
    return Wording.DIFFERENT if flipped or a.limits != b.limits else _changed(a, b)


def speaks_for(statement: Statement, dont: bool) -> bool:
    """Return whether the statement affirms its content (True) or denies it.

    Two negations cancel each other. For "Push to main" listed under "don't", the list counts as one negation.
    """
    return (statement.negations or int(dont)) % 2 == 0


def _one_sided(a: Statement, b: Statement) -> bool:
    """Return whether one statement only has additional words, and no word was replaced."""
    return a.stems <= b.stems or b.stems <= a.stems


def _enough(a: Statement, b: Statement) -> bool:
    return len(a.stems & b.stems) + len(set(a.values) & set(b.values)) >= MIN_SHARED


def _replaced_things(text: str) -> list[str]:
    return [thing.casefold().rstrip(".") for thing in ended(text)]


def _replaces(a: Statement, b: Statement) -> bool:
    """Return whether `b` says "X instead of Y" while `a` affirms Y and is otherwise about the same thing."""
    left, right = a.stems | set(a.values), b.stems | set(b.values)
    code = language(b.text)
    for old in b.replaced:
        gone = _content(old, code)
        if not gone or old in a.replaced or gone[0] not in left or len(left.intersection(gone)) < SAME_OVERLAP_SHORT * len(gone):
            continue
        rest = left.difference(gone)
        if not rest or len(rest & right) / len(rest) >= SAME_OVERLAP_SHORT:
            return True
    return False


def _content(phrase: str, code: str) -> list[str]:
    """Return the values and stems of a phrase, in order."""
    found = [(phrase.find(value), value) for value in values_of(phrase)]
    found += [(phrase.find(word), _stem(word)) for word in words(content(mask_values(phrase), code)) if word not in _SKIPPED]
    return [entry for _, entry in sorted(found)]


def _changed(a: Statement, b: Statement) -> Wording:
    """Determine whether exactly one run of words differs, and the kind of difference."""
    left, right = list(a.tokens), list(b.tokens)
    head = _common(left, right)
    tail = _common(left[head:][::-1], right[head:][::-1])
    gone, come = left[head : len(left) - tail], right[head : len(right) - tail]
    if not gone or not come or len(gone) > 2 or len(come) > 2:
        return Wording.DIFFERENT
    before = [word for word in left[:head] if word not in ENGLISH_STOP_WORDS]
    if len(before) < MIN_SHARED or before[-1] in IDENTIFIED:
        return Wording.DIFFERENT
    if _all_numbers(gone) and _all_numbers(come):
        return Wording.CHANGED_VALUE
    return Wording.DIFFERENT if left[head - 1] in PREPOSITIONS else Wording.CHANGED_WORD


def _tokens(text: str) -> list[str]:
    out = []
    for raw in text.casefold().split():
        word = raw.strip("`'\"()[],;:!?。，").rstrip(".")
        if word:
            out.append(word)
    return out


def _common(left: list[str], right: list[str]) -> int:
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


def _all_numbers(tokens: list[str]) -> bool:
    return any(_NUMBER.fullmatch(token) for token in tokens) and all(
        _NUMBER.fullmatch(token) or token.isalpha() and len(token) <= 8 for token in tokens
    )
