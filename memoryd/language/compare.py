"""What one statement is to another: the same, a refinement, its replacement, its contradiction, or something else.

The one notion of it, for day dreams, the dream, `remember`, tombstones and what a session is given. Similarity alone can't
tell "port 8080" from "port 9090" or "run" from "never run", so the words decide: see `verdict` (clauses, values, choices)
and `wording` (which words differ). Where they leave it open, `doubtful` says so: nobody loses a memory for a doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from memoryd.core.text import CJK, STOP_WORDS, jaccard, words
from memoryd.language.cues import (
    contrasts,
    has_addition,
    has_correction,
    has_exception,
    identifiers,
    is_done,
    is_open,
    language,
    names_cause,
    negations,
    order_words,
    other_denials,
    permits,
    retracts,
)
from memoryd.language.preferences import another_choice
from memoryd.language.reading import STATES, SUBJECTS, WEAK, Reading, canonical, canonical_terms, read_memory
from memoryd.language.verdict import Verdict, apart, exchanged, one_word_exchanged, other_choices, rebound, strong
from memoryd.language.verdict import compare as verdict_of
from memoryd.language.wording import PREPOSITIONS, Wording, differ, read, speaks_for


class Relation(StrEnum):
    """What the later of two statements is to the earlier."""

    SAME = "same"
    REFINES = "refines"
    REPLACES = "replaces"
    CONTRADICTS = "contradicts"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Said:
    """A statement as it is compared. `dont`: it stands under "don't"; `by_user`: in the user's own words."""

    text: str
    dont: bool = False
    by_user: bool = True


@dataclass(frozen=True, slots=True)
class Comparison:
    """The relation, why in words, and whether it could be another one: then both are kept, and somebody is asked.

    `chance` says how likely it is that not both should stand (0..1): what is likeliest is asked first.
    """

    relation: Relation
    reason: str = ""
    doubtful: bool = False
    chance: float = 0.0


CONFLICTS = frozenset({Relation.REPLACES, Relation.CONTRADICTS})
LEAST_SHARED = 0.25
FEW_WORDS = 4
MOST_LONGER = 2
RETRACTED = "taken back"
_CAUSES = frozenset(canonical(word) for word in "root cause reason culprit wrong mistaken".split())
READ_KEPT = 8_192
_FLIPS = frozenset({Wording.NEGATED, Wording.CORRECTED, Wording.CHANGED_VALUE})
_CHANGES = frozenset({Verdict.REVERSED, Verdict.CHANGED, Verdict.REPLACED})
_reading = lru_cache(maxsize=READ_KEPT)(read_memory)
# An order says no more with these than without them.
_OBLIGATION = re.compile(
    r"\b(?:must|should|ought to|shall|(?:need|needs|have|has) to|(?:is|are) (?:required|supposed|expected) to"
    r"|(?:make|be) sure (?:to|that you)|remember to|please|always|(?:every|each) time)\b",
    re.IGNORECASE,
)
# Little words, left out of a reading, in which two statements with the same content may still differ: direction, quantity,
# owner, time, permission, and verbs that say little.
_GUARDED = frozenset(
    """from into out over under up down off by some most few half any other another own my your his her their was were had did
    may might can could sometimes try want like prefer ask give take get go come put set say tell mean happen need has have
    keep allow live file files""".split()
)
_GUARDED_TERMS = frozenset(map(canonical, _GUARDED))
_TELLING = frozenset(map(canonical, "my your his her their some most half may might can could sometimes".split()))
# "the command make lint" is "make lint": the noun only says what sort of thing the name after it is.
_SORT = re.compile(
    r"\bthe (command|tool|script|program) (?=[`\w])"
    r"|\b(?:the )?(package|library|file|folder|directory|module|function|method|class|variable|branch|flag|option) (?=`)",
    re.IGNORECASE,
)


_PAST, _PRESENT = frozenset({"was", "were"}), frozenset({"is", "are"})
_POSSESSIVE = re.compile(r"['’]s?$")
LEAST_TURNED = 3
_DIRECTED = frozenset("from to into before after over above under below".split())
_COMMON_NAMES = frozenset(map(canonical, "api ui ci cli db sql url http json os ide gpu cpu ram vm pc pr qa id env".split()))
_PRECEDES = re.compile(
    r"\b(?:before|prior|first|until|without|beforehand|then|vorher|ohne|avant|sans|antes|sin|sem|без)\b", re.IGNORECASE
)


def reading(said: Said) -> Reading:
    """A statement, read once for many comparisons."""
    return _reading(said.text, dont=said.dont)


def compare(old: Said, new: Said, cosine: float | None = None) -> Comparison:
    """What `new`, said later, is to `old`. `cosine` of their vectors, None when there is none."""
    return compare_read(old, new, reading(old), reading(new), cosine)


def compare_read(old: Said, new: Said, a: Reading, b: Reading, cosine: float | None = None) -> Comparison:
    """The same as `compare`, of statements that were read before: `a` is the reading of `old`."""
    words = differ(a.statement, b.statement, known_dont=old.dont, new_dont=new.dont)
    verdict = verdict_of(a, b, cosine)
    if words is Wording.SAME and a.statement.norm == b.statement.norm:
        return Comparison(Relation.SAME, "the same words")
    if has_exception(old.text) != has_exception(new.text) and verdict is not Verdict.REPLACED:
        return Comparison(Relation.DIFFERENT, "an exception of one of them", doubtful=verdict is not Verdict.OTHER)
    if verdict in _CHANGES:
        return Comparison(Relation.REPLACES, verdict.value)
    if _retracted(old, new, a, b):
        return Comparison(Relation.REPLACES, RETRACTED)
    if words in _FLIPS and not (words is Wording.CORRECTED and not _speaks_of(a, b.gone)):
        return Comparison(Relation.REPLACES, words.value)
    if words is Wording.CHANGED_WORD:
        return _changed_word(old, new, a, b)
    if (verdict is Verdict.SAME or words is Wording.SAME) and not may_be_same(old, new, a, b):
        return Comparison(Relation.DIFFERENT, "alike, but for what tells them apart", doubtful=True)
    if verdict is Verdict.SAME or words is Wording.SAME:
        return Comparison(Relation.REFINES, "says more") if _adds(a, b) else Comparison(Relation.SAME, "says no more")
    return Comparison(Relation.DIFFERENT, verdict.value, doubtful=verdict is Verdict.DOUBTFUL)


def _speaks_of(statement: Reading, things: frozenset[str]) -> bool:
    """Whether it speaks for one of the things."""
    standing = statement.spoken_for
    return bool(standing) and not things.isdisjoint(standing.union(statement.values))


def _retracted(old: Said, new: Said, a: Reading, b: Reading) -> bool:
    """The same speaker takes an explanation back and gives another one of the same thing, or of a thing that neither names."""
    if old.by_user != new.by_user or not (retracts(new.text) and names_cause(old.text) and names_cause(new.text)):
        return False
    left, right = strong(a.terms) - _CAUSES, strong(b.terms) - _CAUSES
    return bool(left & right) or min(len(left), len(right)) <= FEW_WORDS


def may_be_same(old: Said, new: Said, a: Reading, b: Reading) -> bool:
    """Whether nothing that must not be merged away stands on one side only: a negation, value, name, limit or direction."""
    left, right = a.terms - b.terms, b.terms - a.terms
    if a.values != b.values or old.dont != new.dont or has_exception(old.text) != has_exception(new.text):
        return False
    if not _deny_the_same(a, b) or _speaks_of(a, b.gone - a.gone) or _speaks_of(b, a.gone - b.gone):
        return False
    if _names_one_side(a, b) or is_open(old.text) != is_open(new.text) or is_done(old.text) != is_done(new.text):
        return False
    if identifiers(old.text) != identifiers(new.text):
        return False
    came, went = b.statement.stems - a.statement.stems, a.statement.stems - b.statement.stems
    # A run of Chinese or Japanese counts once for each two characters.
    if len(came) - len(went) > MOST_LONGER * (3 if CJK.search(new.text) else 1):
        return False
    if _ordered_otherwise(old.text, new.text) or not STATES.isdisjoint(left | right):
        return False
    if a.terms == b.terms and _rearranged(a, b):
        return False
    if has_addition(old.text) != has_addition(new.text) or _turned(a, b):
        return False
    exchange = apart(left, right) or exchanged(left, right, SUBJECTS) or one_word_exchanged(a, b)
    return not exchange and not rebound(a, b)


def _deny_the_same(a: Reading, b: Reading) -> bool:
    """Whether both say no as often, or each denies something that the other denies and nothing that the other affirms."""
    if permits(a.statement.text) != permits(b.statement.text) and (a.statement.negations or b.statement.negations):
        return False
    if any(_denials(a, contrasted=kept) % 2 == _denials(b, contrasted=kept) % 2 for kept in (False, True)):
        return True
    no_a, no_b = _denied(a), _denied(b)
    yes_a, yes_b = a.spoken_for - no_a, b.spoken_for - no_b
    if no_a & yes_b or no_b & yes_a:
        return False
    shared = strong(yes_a & yes_b) or not strong(yes_a) or not strong(yes_b)
    return bool(strong(no_a & no_b)) and bool(shared)


def _denials(statement: Reading, *, contrasted: bool) -> int:
    text = statement.statement.text
    return (negations(text) if contrasted else statement.statement.negations) + other_denials(text)


def _denied(statement: Reading) -> frozenset[str]:
    """What it speaks against, "X, not Y" included."""
    contrasted = (canonical_terms(match["old"]) for match in contrasts(statement.statement.text))
    return (statement.spoken_against - statement.spoken_for).union(*contrasted)


def _names_one_side(a: Reading, b: Reading) -> bool:
    """Whether a name stands on one side only; a word that any project has ("the API") is none unless it is exchanged."""
    left, right = _names_beyond(a, b), _names_beyond(b, a)
    return bool(left - _COMMON_NAMES or right - _COMMON_NAMES or (left and right))


def _names_beyond(one: Reading, other: Reading) -> frozenset[str]:
    """The names of one of them whose parts the other does not have."""
    sorts = _sorts(one.statement.text)
    return frozenset(name for name in one.names if not other.terms.issuperset(canonical_terms(name) - sorts))


def _ordered_otherwise(old: str, new: str) -> bool:
    """Whether they put things in another order; "not without X" says "after X" in other words."""
    left, right = order_words(old), order_words(new)
    if left == right:
        return False
    return bool(left and right) or not (_PRECEDES.search(old) and _PRECEDES.search(new))


def plainly_same(old: Said, new: Said, a: Reading, b: Reading) -> bool:
    """Whether both have the same content in the same order, but for words that add nothing or a phrase moved to the front."""
    if language(old.text) != "en" or language(new.text) != "en" or not may_be_same(old, new, a, b):
        return False
    extra = _sorts(old.text) ^ _sorts(new.text)
    if not a.terms & b.terms or a.terms ^ b.terms != extra & (a.terms ^ b.terms):
        return False
    if a.statement.limits != b.statement.limits or a.spoken_for - extra != b.spoken_for - extra:
        return False
    return a.spoken_against - extra == b.spoken_against - extra and _same_order(a, b, extra)


def _sorts(text: str) -> frozenset[str]:
    """Nouns that only say what sort of thing the name after them is."""
    return frozenset(canonical(noun.casefold()) for match in _SORT.finditer(text) for noun in match.groups() if noun)


def _rearranged(a: Reading, b: Reading) -> bool:
    """Whether statements with the same content differ in owner, time or quantity, or are the same words in another order."""
    if _guarded(a.statement.text) & _TELLING != _guarded(b.statement.text) & _TELLING:
        return True
    left, right = set(a.statement.tokens), set(b.statement.tokens)
    if any(x & _PAST and y & _PRESENT and not y & _PAST for x, y in ((left, right), (right, left))):
        return True
    first, second = (
        sorted(_POSSESSIVE.sub("", token) for token in reading.statement.tokens if token not in STOP_WORDS) for reading in (a, b)
    )
    turned = len(a.terms) >= LEAST_TURNED and _is_turned(a.order, b.order) and not _bound_otherwise(a, b)
    return first == second and not turned and not _same_order(a, b)


def _same_order(a: Reading, b: Reading, extra: frozenset[str] = frozenset()) -> bool:
    """Whether statements with the same content have it in the same order and relation: "lint before tests" has not."""
    english = language(a.statement.text) == language(b.statement.text) == "en"
    if english and (_guarded(a.statement.text) != _guarded(b.statement.text) or _bound_otherwise(a, b)):
        return False
    first, second = (tuple(term for term in reading.order if term not in extra and term not in WEAK) for reading in (a, b))
    return first == second or _is_fronted(first, second, a, b)


def _guarded(text: str) -> frozenset[str]:
    return frozenset(canonical(word) for word in words(_OBLIGATION.sub(" ", text))) & _GUARDED_TERMS


def _bound_otherwise(a: Reading, b: Reading) -> bool:
    """Whether a preposition is followed by other things here than there."""
    left, right = _bound(a), _bound(b)
    return any(left[word].isdisjoint(right[word]) for word in left.keys() & right.keys())


def _turned(a: Reading, b: Reading) -> bool:
    """Whether a preposition is followed by what the other has elsewhere: "from A to B" and "from B to A"."""
    left, right = _bound(a), _bound(b)
    shared = left.keys() & right.keys()
    return any(
        left[word].isdisjoint(right[word]) and left[word] <= b.terms and right[word] <= a.terms for word in shared & _DIRECTED
    )


def _bound(reading: Reading) -> dict[str, set[str]]:
    """For each preposition the content words that it is followed by."""
    out: dict[str, set[str]] = {}
    waiting = ""
    for token in reading.statement.tokens:
        if token in PREPOSITIONS:
            waiting = token
        elif waiting and (term := canonical(token)) in reading.terms:
            out.setdefault(waiting, set()).add(term)
            waiting = ""
    return out


def _is_fronted(first: tuple[str, ...], second: tuple[str, ...], a: Reading, b: Reading) -> bool:
    """Whether one order is the other with the phrase after a preposition put first: "Before X, do Y" and "Do Y before X"."""
    fronted = any(reading.statement.tokens[0] in PREPOSITIONS for reading in (a, b) if reading.statement.tokens)
    return fronted and _is_turned(first, second)


def _is_turned(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether the second has the end of the first put first."""
    return len(first) == len(second) and any(first[cut:] + first[:cut] == second for cut in range(1, len(first)))


def _changed_word(old: Said, new: Said, a: Reading, b: Reading) -> Comparison:
    """One run of words is exchanged. Without a sign of a change it may be another thing of the same sort."""
    if other_choices(a.statement.tokens, b.statement.tokens):
        return Comparison(Relation.REPLACES, "another choice")
    if has_correction(new.text):
        return Comparison(Relation.REPLACES, "changed, as it says itself")
    if another_choice(old.text, new.text):
        return Comparison(Relation.CONTRADICTS, "another preference", doubtful=True)
    return Comparison(Relation.DIFFERENT, "one word exchanged", doubtful=True)


def adds(old: Said, new: Said) -> bool:
    """Whether `new` says more than little words beyond `old`."""
    return _adds(reading(old), reading(new))


def _adds(old: Reading, new: Reading) -> bool:
    return bool(strong(new.terms) - strong(old.terms)) or bool(set(new.values) - set(old.values))


def relate(old: str, new: str, *, known_dont: bool = False, new_dont: bool = False) -> Relation:
    """The relation of two texts. `…_dont`: the statement stands under "don't"."""
    return compare(Said(old, known_dont), Said(new, new_dont)).relation


def rephrases(old: Said, new: Said, least: float) -> bool:
    """Whether the words overlap by `least` while sense, values and limits agree; an exchanged word is no rephrasing."""
    a, b = read(old.text), read(new.text)
    agree = sorted(a.values) == sorted(b.values) and a.limits == b.limits and speaks_for(a, old.dont) == speaks_for(b, new.dont)
    return agree and jaccard(a.stems, b.stems) >= least and compare(old, new).relation not in CONFLICTS


def shares_words(old: str, new: str) -> bool:
    """A quick look before `compare` and `rephrases`: with fewer words in common neither calls them the same."""
    a, b = read(old), read(new)
    return a.norm == b.norm or (not a.stems.isdisjoint(b.stems) and jaccard(a.stems, b.stems) >= LEAST_SHARED)
