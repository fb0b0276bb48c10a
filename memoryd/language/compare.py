"""Determine the relation of two statements: the same, a refinement, a replacement, a contradiction, or something else.

Day dreams, the dream, `remember`, tombstones and session starts all use this comparison. Similarity alone can't
distinguish "port 8080" from "port 9090", or "run" from "never run", so the words decide: see `verdict` (clauses,
values, choices) and `wording` (differing words). In ambiguous cases, `doubtful` is set and both statements are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from memoryd.core.text import CJK, STOP_WORDS, jaccard, words
from memoryd.language.cues import (
    contrasts,
    excludes,
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
from memoryd.language.gloss import gloss
from memoryd.language.preferences import another_choice
from memoryd.language.reading import STATES, SUBJECTS, WEAK, Reading, canonical, canonical_terms, read_memory
from memoryd.language.verdict import Verdict, apart, exchanged, one_word_exchanged, other_choices, rebound, strong
from memoryd.language.verdict import compare as verdict_of
from memoryd.language.wording import PREPOSITIONS, Wording, differ, read, speaks_for


class Relation(StrEnum):
    """The relation of the later of two statements to the earlier one."""

    SAME = "same"
    REFINES = "refines"
    REPLACES = "replaces"
    CONTRADICTS = "contradicts"
    DIFFERENT = "different"


class Difference(StrEnum):
    """A possible difference between two statements that otherwise have the same meaning."""

    VALUES = "values"
    LIST = "list"
    EXCEPTION = "exception"
    DENIALS = "denials"
    ENDED = "ended"
    NAMES = "names"
    OPEN = "open"
    DONE = "done"
    IDENTIFIERS = "identifiers"
    ORDER = "order"
    STATES = "states"
    ARRANGEMENT = "arrangement"
    ADDITION = "addition"
    TURNED = "turned"
    EXCHANGED = "exchanged"
    REBOUND = "rebound"


# Markers of something ended, open or done. A passive ("old files are removed by a job") looks like one. Statements
# that are almost certainly the same may therefore differ in these, but in nothing else.
SIGNS = frozenset({Difference.ENDED, Difference.OPEN, Difference.DONE, Difference.STATES})


@dataclass(frozen=True, slots=True)
class Assertion:
    """A statement in the form used for comparison.

    `dont` means that it is listed under "don't". `by_user` means that it is in the user's own words. `at` is the time of the
    statement, or None if unknown.
    """

    text: str
    dont: bool = False
    by_user: bool = True
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A relation, the reason in words, and whether the result is in doubt.

    When in doubt, both statements are kept and the user is asked. `chance` is the probability (0 to 1) that only one
    of them is valid. Pairs with the highest chance are asked about first.
    """

    relation: Relation
    reason: str = ""
    doubtful: bool = False
    chance: float = 0.0


Compare = Callable[[Assertion, Assertion], Comparison]
CONFLICTS = frozenset({Relation.REPLACES, Relation.CONTRADICTS})
MIN_SHARED = 0.25
FEW_WORDS = 4
MAX_LONGER = 2
RETRACTED = "taken back"
_CAUSES = frozenset(canonical(word) for word in "root cause reason culprit wrong mistaken".split())
READ_KEPT = 8_192
_FLIPS = frozenset({Wording.NEGATED, Wording.CORRECTED, Wording.CHANGED_VALUE})
_CHANGES = frozenset({Verdict.REVERSED, Verdict.CHANGED, Verdict.REPLACED})
_reading = lru_cache(maxsize=READ_KEPT)(read_memory)
# Words that don't change the meaning of an instruction
_OBLIGATION = re.compile(
    r"\b(?:must|should|ought to|shall|(?:need|needs|have|has) to|(?:is|are) (?:required|supposed|expected) to"
    r"|(?:make|be) sure (?:to|that you)|remember to|please|always|(?:every|each) time)\b",
    re.IGNORECASE,
)
# Function words that the parser drops although they can be the only difference between two statements. They express
# direction, quantity, owner, time or permission, or are verbs with little meaning.
_GUARDED = frozenset(
    """from into out over under up down off by some most few half any other another own my your his her their was were had did
    may might can could sometimes try want like prefer ask give take get go come put set say tell mean happen need has have
    keep allow live file files""".split()
)
_GUARDED_TERMS = frozenset(map(canonical, _GUARDED))
_TELLING = frozenset(map(canonical, "my your his her their some most half may might can could sometimes".split()))
# "The command make lint" means "make lint", because the noun only classifies the name after it.
_SORT = re.compile(
    r"\bthe (command|tool|script|program) (?=[`\w])"
    r"|\b(?:the )?(package|library|file|folder|directory|module|function|method|class|variable|branch|flag|option) (?=`)",
    re.IGNORECASE,
)


_PAST, _PRESENT = frozenset({"was", "were"}), frozenset({"is", "are"})
_POSSESSIVE = re.compile(r"['’]s?$")
MIN_TURNED = 3
_DIRECTED = frozenset("from to into before after over above under below".split())
_CONVERSE = (("from", "to"), ("to", "from"), ("into", "from"), ("from", "into"), ("before", "after"), ("after", "before"))
_COMMON_NAMES = frozenset(map(canonical, "api ui ci cli db sql url http json os ide gpu cpu ram vm pc pr prs qa id env".split()))
# The parts of an instruction, for those of which only one can be obeyed.
_CHOOSING = frozenset(
    """use using uses prefer choose pick target require verwende benutze nutze utilise utilisez usa usar usamos""".split()
)
_FILLERS = frozenset("a an the always please only we now".split())
_PURPOSE = frozenset("for when while as für als pour para".split())
_MANNER = frozenset("with as via by using through from".split())
_WRITING = frozenset("write answer reply respond format document express keep store save print".split())
_NAMING = frozenset("name call".split())
_FORMS = frozenset("case style format form tense notation mode".split())
_CHECKING = frozenset(
    """test check lint verify validate scan review ask tell notify inform add include mention log compare start begin""".split()
)
_VERSION = re.compile(r"([a-z]{0,12}-?)v?\d[\w.]{0,12}")
MAX_UNLIKE = 3
_PRECEDES = re.compile(
    r"\b(?:before|prior|first|until|without|beforehand|then|vorher|ohne|avant|sans|antes|sin|sem|без)\b", re.IGNORECASE
)


def reading(said: Assertion) -> Reading:
    """Parse a statement once, so that it can be compared many times."""
    return _reading(said.text, dont=said.dont)


def compare(old: Assertion, new: Assertion, cosine: float | None = None) -> Comparison:
    """Return the relation of `new`, the later statement, to `old`.

    `cosine` is the cosine similarity of their vectors, if known.
    """
    return compare_read(old, new, reading(old), reading(new), cosine)


def compare_read(old: Assertion, new: Assertion, a: Reading, b: Reading, cosine: float | None = None) -> Comparison:
    """Compare two parsed statements like `compare`. `a` is the parsed form of `old`."""
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
        return Comparison(Relation.DIFFERENT, "similar except for a distinguishing word", doubtful=True)
    if verdict is Verdict.SAME or words is Wording.SAME:
        return Comparison(Relation.REFINES, "says more") if _adds(a, b) else Comparison(Relation.SAME, "says no more")
    return Comparison(Relation.DIFFERENT, verdict.value, doubtful=verdict is Verdict.DOUBTFUL)


def _speaks_of(statement: Reading, things: frozenset[str]) -> bool:
    """Return whether a clause of the statement affirms any of the things."""
    standing = statement.spoken_for
    return bool(standing) and not things.isdisjoint(standing.union(statement.values))


def _retracted(old: Assertion, new: Assertion, a: Reading, b: Reading) -> bool:
    """Return whether the same speaker retracts an explanation and gives another one.

    Both must be about the same thing, unless it is not mentioned.
    """
    if old.by_user != new.by_user or not (retracts(new.text) and names_cause(old.text) and names_cause(new.text)):
        return False
    left, right = strong(a.terms) - _CAUSES, strong(b.terms) - _CAUSES
    return bool(left & right) or min(len(left), len(right)) <= FEW_WORDS


def may_be_same(old: Assertion, new: Assertion, a: Reading, b: Reading, most_longer: int = MAX_LONGER) -> bool:
    """Return whether the two statements may be merged.

    They may not if a negation, value, name, limit or direction occurs in only one of them. `most_longer` is the number of words
    by which the newer statement may be longer.
    """
    return not differences(old, new, a, b) and not is_longer(a, b, most_longer)


def is_longer(a: Reading, b: Reading, most: int) -> bool:
    """Return whether the newer statement `b` is more than `most` words longer."""
    came, went = b.statement.stems - a.statement.stems, a.statement.stems - b.statement.stems
    # Each pair of characters in a run of Chinese or Japanese counts as one word.
    return len(came) - len(went) > most * (3 if CJK.search(b.statement.text) else 1)


def differences(old: Assertion, new: Assertion, a: Reading, b: Reading) -> frozenset[Difference]:
    """Return the elements that occur in only one of the statements and may change the meaning."""
    left, right = a.terms - b.terms, b.terms - a.terms
    found = {
        Difference.VALUES: a.values != b.values,
        Difference.LIST: old.dont != new.dont,
        Difference.EXCEPTION: has_exception(old.text) != has_exception(new.text),
        Difference.DENIALS: not _deny_the_same(a, b),
        Difference.ENDED: _speaks_of(a, b.gone - a.gone) or _speaks_of(b, a.gone - b.gone),
        Difference.NAMES: _names_one_side(a, b),
        Difference.OPEN: is_open(old.text) != is_open(new.text),
        Difference.DONE: is_done(old.text) != is_done(new.text),
        Difference.IDENTIFIERS: identifiers(old.text) != identifiers(new.text),
        Difference.ORDER: _differs_in_order(old.text, new.text),
        Difference.STATES: not STATES.isdisjoint(left | right),
        Difference.ARRANGEMENT: a.terms == b.terms and _rearranged(a, b),
        Difference.ADDITION: has_addition(old.text) != has_addition(new.text),
        Difference.TURNED: _turned(a, b),
        Difference.EXCHANGED: bool(apart(left, right) or exchanged(left, right, SUBJECTS)) or one_word_exchanged(a, b),
        Difference.REBOUND: rebound(a, b),
    }
    return frozenset(difference for difference, differs in found.items() if differs)


def _deny_the_same(a: Reading, b: Reading) -> bool:
    """Return whether both statements deny the same things.

    This is true if both have equally many negations, or if one affirms nothing that the other denies, and denies all of it.
    """
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


def excludes_instead(a: Reading, b: Reading) -> bool:
    """Return whether the statement with fewer denials excludes something in other words: "only A" for "no B"."""
    few = min(a, b, key=lambda reading: _denials(reading, contrasted=True)).statement.text
    return excludes(gloss(few) or few)


def _denials(statement: Reading, *, contrasted: bool) -> int:
    text = statement.statement.text
    return (negations(text) if contrasted else statement.statement.negations) + other_denials(text)


def _denied(statement: Reading) -> frozenset[str]:
    """Return the denied words of the statement, including Y in "X, not Y"."""
    contrasted = (canonical_terms(match["old"]) for match in contrasts(statement.statement.text))
    return (statement.spoken_against - statement.spoken_for).union(*contrasted)


def _names_one_side(a: Reading, b: Reading) -> bool:
    """Return whether a name occurs in only one of the statements.

    Generic words ("the API") count only if one replaces another.
    """
    left, right = _additional_names(a, b), _additional_names(b, a)
    return bool(left - _COMMON_NAMES or right - _COMMON_NAMES or (left and right))


def _additional_names(one: Reading, other: Reading) -> frozenset[str]:
    """Return the names in the first statement with a part that is missing from the other."""
    sorts, known = _sorts(one.statement.text), other.terms | terms_in_english(other.statement.text)
    # A name is already a stem. Stemming it again could shorten it.
    return frozenset(name for name in one.names - known if not known.issuperset(canonical_terms(name) - sorts))


def terms_in_english(text: str) -> frozenset[str]:
    """Return the meaningful stems of a text, or of its word-by-word translation if it is in another language."""
    return _terms_in_english(text)


@lru_cache(maxsize=READ_KEPT)
def _terms_in_english(text: str) -> frozenset[str]:
    return canonical_terms(gloss(text) or text)


def _differs_in_order(old: str, new: str) -> bool:
    """Return whether the two statements put things in a different order. "Not without X" means "after X"."""
    left, right = order_words(old), order_words(new)
    if left == right:
        return False
    return bool(left and right) or not (_PRECEDES.search(old) and _PRECEDES.search(new))


def orders_otherwise(a: Reading, b: Reading) -> bool:
    """Return whether both statements put things in an order, and name them in a different one."""
    if not (_PRECEDES.search(a.statement.text) and _PRECEDES.search(b.statement.text)):
        return False
    first, second = ([term for term in dict.fromkeys(one.order) if term in other.terms] for one, other in ((a, b), (b, a)))
    return first != second


def plainly_same(old: Assertion, new: Assertion, a: Reading, b: Reading) -> bool:
    """Return whether both statements have the same content in the same order.

    Filler words and fronted phrases are ignored.
    """
    if language(old.text) != "en" or language(new.text) != "en" or not may_be_same(old, new, a, b):
        return False
    extra = _sorts(old.text) ^ _sorts(new.text)
    if not a.terms & b.terms or a.terms ^ b.terms != extra & (a.terms ^ b.terms):
        return False
    if a.statement.limits != b.statement.limits or a.spoken_for - extra != b.spoken_for - extra:
        return False
    return a.spoken_against - extra == b.spoken_against - extra and _same_order(a, b, extra)


def _sorts(text: str) -> frozenset[str]:
    """Return the nouns that only classify the name after them."""
    return frozenset(canonical(noun.casefold()) for match in _SORT.finditer(text) for noun in match.groups() if noun)


def _rearranged(a: Reading, b: Reading) -> bool:
    """Return whether statements with the same content differ in owner, time, quantity or word order."""
    if _guarded(a.statement.text) & _TELLING != _guarded(b.statement.text) & _TELLING:
        return True
    left, right = set(a.statement.tokens), set(b.statement.tokens)
    if any(x & _PAST and y & _PRESENT and not y & _PAST for x, y in ((left, right), (right, left))):
        return True
    first, second = (
        sorted(_POSSESSIVE.sub("", token) for token in reading.statement.tokens if token not in STOP_WORDS) for reading in (a, b)
    )
    turned = len(a.terms) >= MIN_TURNED and _is_rotation(a.order, b.order) and not _differs_after_preposition(a, b)
    return first == second and not turned and not _same_order(a, b)


def _same_order(a: Reading, b: Reading, extra: frozenset[str] = frozenset()) -> bool:
    """Return whether statements with the same content also have the same order and relations.

    "Run lint before tests" and "run tests before lint" don't.
    """
    english = language(a.statement.text) == language(b.statement.text) == "en"
    if english and (_guarded(a.statement.text) != _guarded(b.statement.text) or _differs_after_preposition(a, b)):
        return False
    first, second = (tuple(term for term in reading.order if term not in extra and term not in WEAK) for reading in (a, b))
    return first == second or _is_fronted(first, second, a, b)


def _guarded(text: str) -> frozenset[str]:
    return frozenset(canonical(word) for word in words(_OBLIGATION.sub(" ", text))) & _GUARDED_TERMS


def _differs_after_preposition(a: Reading, b: Reading) -> bool:
    """Return whether different words follow the same preposition in the two statements."""
    left, right = _bound(a), _bound(b)
    return any(left[word].isdisjoint(right[word]) for word in left.keys() & right.keys())


def _turned(a: Reading, b: Reading) -> bool:
    """Return whether the prepositions are swapped, as in "from A to B" and "from B to A"."""
    left, right = _bound(a), _bound(b)
    shared = left.keys() & right.keys()
    return any(
        left[word].isdisjoint(right[word]) and left[word] <= b.terms and right[word] <= a.terms for word in shared & _DIRECTED
    )


def relates_otherwise(old: Assertion, new: Assertion, a: Reading, b: Reading) -> bool:
    """Return whether statements relate their words in a different order or direction.

    "Before a release do X" and "After a release do Y" can both be valid, like "calls from A are X" and "calls to A are Y".
    """
    if not {Difference.TURNED, Difference.REBOUND}.isdisjoint(differences(old, new, a, b)):
        return True
    if not (strong(a.terms - b.terms) and strong(b.terms - a.terms)):
        return False
    before, after = order_words(old.text), order_words(new.text)
    if before and after and before != after:
        return True
    left, right = _bound(a), _bound(b)
    return any(not left.get(one, set()).isdisjoint(right.get(other, set())) for one, other in _CONVERSE)


def _bound(reading: Reading) -> dict[str, set[str]]:
    """Return the content words after each preposition."""
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
    """Return whether one order is the other with a fronted prepositional phrase: "Before X, do Y" and "Do Y before X"."""
    fronted = any(reading.statement.tokens[0] in PREPOSITIONS for reading in (a, b) if reading.statement.tokens)
    return fronted and _is_rotation(first, second)


def _is_rotation(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether the second word order starts with the end of the first."""
    return len(first) == len(second) and any(first[cut:] + first[:cut] == second for cut in range(1, len(first)))


def _changed_word(old: Assertion, new: Assertion, a: Reading, b: Reading) -> Comparison:
    """Compare statements that differ in one run of words.

    Unless a word indicates a change, the new words may refer to another thing of the same kind.
    """
    if other_choices(a.statement.tokens, b.statement.tokens):
        return Comparison(Relation.REPLACES, "another choice")
    if has_correction(new.text):
        return Comparison(Relation.REPLACES, "changed, as it says itself")
    if another_choice(old.text, new.text):
        return Comparison(Relation.CONTRADICTS, "another preference", doubtful=True)
    return Comparison(Relation.DIFFERENT, "one word exchanged", doubtful=True)


def are_rivals(old: Assertion, new: Assertion, a: Reading, b: Reading) -> bool:
    """Return whether the user asks for two things of which only one can be done.

    Only one of "use single quotes" and "use double quotes" can be obeyed, of "use merge for updates" and "use rebase for
    updates", of "write docs in Markdown" and "write docs in AsciiDoc", and of "use Node 20" and "use Node 22". "Use type hints
    in tests" and "use factories in tests" can both be.
    """
    if not (old.by_user and new.by_user) or old.dont != new.dont or a.statement.negations or b.statement.negations:
        return False
    left, right = ([token for token in reading.statement.tokens if token not in _FILLERS] for reading in (a, b))
    start = _shared_start(left, right)
    end = _shared_start(left[start:][::-1], right[start:][::-1])
    before, after = left[:start], left[len(left) - end :] if end else []
    mine, other = left[start : len(left) - end], right[start : len(right) - end]
    if not before or not mine or not other or max(len(mine), len(other)) > MAX_UNLIKE:
        return False
    if exchanged([*map(canonical, mine)], [*map(canonical, other)], SUBJECTS) or any("/" in word for word in (*mine, *other)):
        return False
    if before[-1] in _CHOOSING and after:
        return after[0] in _PURPOSE or (after[0] not in STOP_WORDS and after[0] not in PREPOSITIONS)
    if after and after[0] not in _FORMS:
        return False
    return (not after and _is_another_version(before, mine, other)) or _is_another_manner(before)


def _is_another_version(before: Sequence[str], mine: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether both name a version of the same thing, as in "use Node 20" and "target ES2019"."""
    if not (len(mine) == len(other) == 1 and all(_VERSION.fullmatch(word) for word in (*mine, *other))):
        return False
    same_name = _VERSION.sub(r"\1", mine[0]) == _VERSION.sub(r"\1", other[0])
    return same_name and not _CHOOSING.isdisjoint(before[-2:])


def _is_another_manner(before: Sequence[str]) -> bool:
    """Return whether the words lead to how something is done: "write docs in", "run tests with", "name booleans".

    Checks can be done in two ways, so that one doesn't exclude the other.
    """
    verb, *objects = before
    if verb in _CHECKING or verb in PREPOSITIONS:
        return False
    if len(objects) > 1 and (objects[-1] in _MANNER or (objects[-1] == "in" and verb in _WRITING)):
        return True
    return len(objects) == 1 and objects[0] not in PREPOSITIONS and verb in _NAMING


def _shared_start(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the number of equal tokens at the start of both."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(left), len(right)))


def adds(old: Assertion, new: Assertion) -> bool:
    """Return whether `new` adds more than function words to `old`."""
    return _adds(reading(old), reading(new))


def _adds(old: Reading, new: Reading) -> bool:
    return bool(strong(new.terms) - strong(old.terms)) or bool(set(new.values) - set(old.values))


def relate(old: str, new: str, *, known_dont: bool = False, new_dont: bool = False) -> Relation:
    """Return the relation of two texts. The `…_dont` arguments indicate that a text is listed under "don't"."""
    return compare(Assertion(old, known_dont), Assertion(new, new_dont)).relation


def rephrases(old: Assertion, new: Assertion, least: float) -> bool:
    """Return whether one text rephrases the other.

    Their words must overlap by at least `least`, and polarity, values and limits must agree. If only one word is
    replaced by another, the texts don't rephrase each other.
    """
    a, b = read(old.text), read(new.text)
    agree = sorted(a.values) == sorted(b.values) and a.limits == b.limits and speaks_for(a, old.dont) == speaks_for(b, new.dont)
    return agree and jaccard(a.stems, b.stems) >= least and compare(old, new).relation not in CONFLICTS


def shares_words(old: str, new: str) -> bool:
    """Check quickly, by shared words, whether `compare` or `rephrases` could find that the two texts are the same."""
    a, b = read(old), read(new)
    return a.norm == b.norm or (not a.stems.isdisjoint(b.stems) and jaccard(a.stems, b.stems) >= MIN_SHARED)
