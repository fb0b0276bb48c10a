"""How two statements relate: the same, one negated, one value changed, or something else. Pure functions.

Deliberately cautious: two sentences that differ by a number, a path or one noun look alike to
any similarity measure and mean different things. Only differences that are understood count.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from memoryd.preferences import another_choice, reversed_order
from memoryd.text import STOP_WORDS as ENGLISH_STOP_WORDS
from memoryd.text import normalise, overlap, words

SAME_OVERLAP = 0.75
SAME_OVERLAP_SHORT = 0.6
FLIP_OVERLAP = 0.7
MIN_SHARED = 2
PREFIX = 5
READ_KEPT = 4_000
NONE: frozenset[str] = frozenset()


class Relation(StrEnum):
    """What the second statement is to the first."""

    SAME = "same"
    NEGATED = "negated"
    CHANGED_VALUE = "changed value"
    CHANGED_WORD = "changed word"
    CORRECTED = "corrected"
    DIFFERENT = "different"


_NEGATION = re.compile(
    r"\b(?:not|never|no longer|no|don'?t|doesn'?t|didn'?t|isn'?t|aren'?t|wasn'?t|won'?t|can'?t|cannot|shouldn'?t|mustn'?t|"
    r"without|avoid|stop|forbidden|не|нельзя|никогда|без|kein\w*|nicht|nie)\b|不|别|勿|禁止|没有|しない|ない",
    re.IGNORECASE,
)
_NEGATION_WORDS = frozenset(
    """not never no don doesn didn isn aren wasn won can cannot shouldn mustn dont without avoid stop forbidden longer always
    must please instead rather не нельзя никогда без nicht nie""".split()
)
_LIMITED = re.compile(r"\b(?:except|unless|only|until|but not|кроме|только|außer|nur)\b|除了|只有|仅", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w.])(?:~?/|\./|\.\./)?[\w.@-]+(?:/[\w.@*-]+)+/?|\b[\w-]+\.(?!\d)[A-Za-z]\w{0,5}\b(?!\.\w)")
_NUMBER = re.compile(
    r"(?<![\w.])v?\d+(?:[.:,]\d+)*(?:\s?(?:%|ms|s|m|h|kb|mb|gb|min|days?|hours?|seconds?|minutes?))?(?!\w)", re.IGNORECASE
)
_FLAG = re.compile(r"(?<!\w)--?[A-Za-z][\w-]*(?:=\S+)?")
_HAS_DIGIT = re.compile(r"\b[A-Za-z_]+\d\w*\b")
_PREPOSITIONS = frozenset(
    """to before after into against than between through in for on at of from under with within during by via per inside
    about""".split()
)
# A number after one of these names a thing; another number means another thing.
IDENTIFIED = frozenset(
    """issue issues pr ticket bug step phase line lines commit task test case chapter milestone item id section row column stage
    iteration round attempt sprint question fix story day page figure table listing rule node shard replica""".split()
)
_REPLACED = re.compile(
    r"\b(?:instead of|rather than|in place of|no longer|replac(?:es|ed|ing)|switched (?:away )?from|moved (?:away )?from|"
    r"migrated from|вместо|statt)\s+(?:the |a |an |using |use )?(?P<old>[\w./@-]+)|(?:而不是|不再用|代替)\s*(?P<cjk>[\w./@-]+)",
    re.IGNORECASE,
)
# "X, not Y" speaks for X; "do not Y" is a negation.
_CONTRAST = re.compile(
    r"\b(?P<before>[\w']+)[,;]? (?:and |but )?not (?:(?:on|in|at|to|from|by|with|for|via|using) )?(?:the |a |an )?"
    r"(?P<old>[\w./@-]+)",
    re.IGNORECASE,
)
# "No, X" denies what somebody else said; of itself it says X.
_DENIAL = re.compile(r"^\W*(?:no|nope|wrong|nein|falsch|non|нет|不对|不)[,.:;!，。]\s*", re.IGNORECASE)
_AUXILIARIES = frozenset(
    """do does did is are was were be been must should will would can could may might shall has have had ought need it's
    please also or and but""".split()
)
_CORRECTION = re.compile(
    r"\b(?:actually|correction|no longer|instead of|rather than|not any ?more|anymore|turned out|was wrong|now|changed to|"
    r"switched to|moved to|renamed to|на самом деле|теперь|вместо)\b|其实|现在|改为|不再|而不是",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A text, read once for many comparisons.

    `stems` are cut words that carry meaning, `values` what must agree word for word, `tokens` the
    words in order, `replaced` the things it speaks of as gone, `negations` how often it says no.
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
    """Paths, numbers, flags and names with digits, in order: what must agree for two statements to be the same."""
    found: list[tuple[int, str]] = []
    rest = text
    for pattern in (_PATH, _FLAG, _NUMBER, _HAS_DIGIT):
        for match in pattern.finditer(rest):
            found.append((match.start(), match.group().rstrip("./").casefold().replace(" ", "")))
        rest = pattern.sub(lambda match: " " * len(match.group()), rest)
    return tuple(value for _, value in sorted(found))


def mask_values(text: str) -> str:
    """The text with its values blanked out."""
    for pattern in (_PATH, _FLAG, _NUMBER, _HAS_DIGIT):
        text = pattern.sub(" ", text)
    return text


def _contrasts(text: str) -> list[re.Match[str]]:
    return [match for match in _CONTRAST.finditer(text) if match["before"].casefold() not in _AUXILIARIES]


def _without_contrasts(text: str) -> str:
    for match in reversed(_contrasts(text)):
        text = f"{text[: match.start()]}{match['before']}{text[match.end() :]}"
    return text


def _stem(word: str) -> str:
    return word[:PREFIX]


@lru_cache(maxsize=READ_KEPT)
def read(text: str) -> Statement:
    """What comparisons need of a text. Kept for a while: one statement is compared with many.

    A dream holds those of all memories: words are kept once for all, and so is the empty set.
    """
    text = _DENIAL.sub("", text)
    plain = [word for word in words(mask_values(text)) if word not in ENGLISH_STOP_WORDS and word not in _NEGATION_WORDS]
    return Statement(
        text=text,
        norm=normalise(text),
        stems=frozenset(sys.intern(_stem(word)) for word in plain),
        values=values_of(text),
        tokens=tuple(map(sys.intern, _tokens(text))),
        replaced=tuple(_replaced_things(text)),
        negations=len(_NEGATION.findall(_without_contrasts(text))),
        limits=frozenset(match.casefold() for match in _LIMITED.findall(text)) or NONE,
    )


def shares_words(known: str, new: str) -> bool:
    """A quick look before `relate` and `rephrases`: without this many words in common neither calls them the same."""
    a, b = read(known), read(new)
    return a.norm == b.norm or (not a.stems.isdisjoint(b.stems) and overlap(a.stems, b.stems) >= SAME_OVERLAP_SHORT)


def rephrases(known: str, new: str, least: float, *, known_dont: bool = False, new_dont: bool = False) -> bool:
    """Whether the words overlap by `least` while sense, values and limits agree; an exchanged word is no rephrasing."""
    a, b = read(known), read(new)
    agree = sorted(a.values) == sorted(b.values) and a.limits == b.limits and speaks_for(a, known_dont) == speaks_for(b, new_dont)
    return agree and overlap(a.stems, b.stems) >= least and not _replaces(a, b) and _changed(a, b) is Relation.DIFFERENT


def has_correction(text: str) -> bool:
    """Whether the words say that something was replaced."""
    return _CORRECTION.search(text) is not None


def relate(known: str, new: str, *, known_dont: bool = False, new_dont: bool = False) -> Relation:
    """What `new` is to `known`. `…_dont`: the statement stands under "don't", which negates words without a negation."""
    return relate_read(read(known), read(new), known_dont=known_dont, new_dont=new_dont)


def relate_read(a: Statement, b: Statement, *, known_dont: bool = False, new_dont: bool = False) -> Relation:
    """The same as `relate`, of statements that were read before."""
    flipped = speaks_for(a, known_dont) != speaks_for(b, new_dont)
    if a.norm == b.norm:
        return Relation.NEGATED if flipped else Relation.SAME
    if reversed_order(a.text, b.text):
        return Relation.NEGATED
    if _replaces(a, b):
        return Relation.CORRECTED
    if _replaces(b, a):
        return Relation.CHANGED_WORD  # what was corrected is said again: nobody can tell from the words which holds
    alike = overlap(a.stems, b.stems)
    if a.limits == b.limits and sorted(a.values) == sorted(b.values) and _one_sided(a, b):
        if flipped:
            return Relation.NEGATED if _enough(a, b) and alike >= FLIP_OVERLAP else Relation.DIFFERENT
        if alike >= (SAME_OVERLAP_SHORT if b.stems <= a.stems else SAME_OVERLAP):
            return Relation.SAME
    if not flipped and another_choice(a.text, b.text):
        return Relation.CHANGED_WORD
    return Relation.DIFFERENT if flipped or a.limits != b.limits else _changed(a, b)


def speaks_for(statement: Statement, dont: bool) -> bool:
    """Whether it speaks for (True) or against: two negations cancel, "Push to main" under "don't" is one."""
    return (statement.negations or int(dont)) % 2 == 0


def _one_sided(a: Statement, b: Statement) -> bool:
    """One says no more than the other plus some words: nothing was exchanged."""
    return a.stems <= b.stems or b.stems <= a.stems


def _enough(a: Statement, b: Statement) -> bool:
    return len(a.stems & b.stems) + len(set(a.values) & set(b.values)) >= MIN_SHARED


def _replaced_things(text: str) -> list[str]:
    named = [match["old"] or match["cjk"] for match in _REPLACED.finditer(text)]
    return [thing.casefold().rstrip(".") for thing in [*named, *(match["old"] for match in _contrasts(text))]]


def _replaces(a: Statement, b: Statement) -> bool:
    """`b` says "X instead of Y" while `a` speaks for Y and is otherwise about the same."""
    left, right = a.stems | set(a.values), b.stems | set(b.values)
    for old in b.replaced:
        gone = {_stem(word) for word in words(old)} | {old}
        rest = left - gone
        about_it = bool(gone & left) and old not in a.replaced
        if about_it and rest and len(rest & right) / len(rest) >= SAME_OVERLAP_SHORT:
            return True
    return False


def _changed(a: Statement, b: Statement) -> Relation:
    """Whether exactly one run of words differs, and what kind of run it is."""
    left, right = list(a.tokens), list(b.tokens)
    head = _common(left, right)
    tail = _common(left[head:][::-1], right[head:][::-1])
    gone, come = left[head : len(left) - tail], right[head : len(right) - tail]
    if not gone or not come or len(gone) > 2 or len(come) > 2:
        return Relation.DIFFERENT
    before = [word for word in left[:head] if word not in ENGLISH_STOP_WORDS]
    if len(before) < MIN_SHARED or before[-1] in IDENTIFIED:
        return Relation.DIFFERENT
    if _all_numbers(gone) and _all_numbers(come):
        return Relation.CHANGED_VALUE
    return Relation.DIFFERENT if left[head - 1] in _PREPOSITIONS else Relation.CHANGED_WORD


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
