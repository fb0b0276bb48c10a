"""Determine the relation of two memories from their words, values and meaning. Pure functions.

Vectors alone can't distinguish "port 8080" from "port 9090", or "run" from "never run". The cosines of such pairs
reach 0.95, while those of paraphrases start at 0.78. The words therefore decide, and the cosine only determines how
much they may differ. The thresholds were chosen on the training half of the labelled pairs in
tests/memoryd/dream/pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memoryd.core.text import STOP_WORDS, containment
from memoryd.language.cues import has_correction
from memoryd.language.reading import CHOICES, ENDS, OPPOSITES, SUBJECTS, WEAK, Clause, Reading, canonical
from memoryd.language.reading import NUMBER_WORDS as _NUMBER_WORDS
from memoryd.language.stems import ROOT
from memoryd.language.wording import IDENTIFIED, PREPOSITIONS, Wording, differ

SUBSET_COSINE = 0.8
EXCHANGE_COSINE = 0.9
CONTEXT = 0.5
ENDED = 0.6
CONFLICT_COSINE = 0.72
CONTAINED = 0.7
NEAR_OVERLAP = 0.8
DOUBTFUL_COSINE = 0.86
REBOUND = 3
MAX_BOUND = 24
MANY_DOTS = 3
# These verbs are compatible: "run lint" does not affect "run the tests".
_REPEATABLE = frozenset("run execute call invoke check read test lint open load import start restart format build".split())
_OPENERS = frozenset("always never please also and then you we must should first".split())
# A number after one of these words is one of several answers to a question. Another number is another version.
_EXCLUSIVE = frozenset("use uses using used prefer prefers need needs require requires is are called named want wants".split())
_SERIES = re.compile(r"(?P<name>[^\W\d_]{2,40}[_-]?)\d{1,6}$")
_LABEL = re.compile(r"\b(?P<thing>[^\W\d_]{3,40}) (?P<label>[A-Z])\b")
_DIRECTIONS = frozenset({"than", "from", "over", "into", "calls", "sends", "als", "que", "чем"})


class Verdict(StrEnum):
    """The relation of the later of two memories to the earlier one."""

    SAME = "same"
    REVERSED = "reversed"
    CHANGED = "other value"
    REPLACED = "replaced"
    DOUBTFUL = "doubtful"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class _Pair:
    a: Reading
    b: Reading
    shared: frozenset[str]
    left: frozenset[str]
    right: frozenset[str]
    cosine: float | None

    @property
    def context(self) -> float:
        """The share of the shorter statement's words found in the other one."""
        least = min(len(self.a.terms), len(self.b.terms))
        return len(self.shared) / least if least else 0.0

    def close(self, least: float) -> bool:
        """Return whether the meanings are similar enough. Without vectors, only the words decide."""
        if self.cosine is not None:
            return self.cosine >= least
        union = len(self.shared) + len(self.left) + len(self.right)
        return union > 0 and len(self.shared) / union >= NEAR_OVERLAP


def compare(earlier: Reading, later: Reading, cosine: float | None = None) -> Verdict:
    """Return the relation of `later` to `earlier`. `cosine` is the cosine similarity of their vectors, if known."""
    pair = _pair(earlier, later, cosine)
    if earlier.statement.norm == later.statement.norm and earlier.clauses == later.clauses:
        return Verdict.SAME
    if _other_subject(pair):
        return Verdict.OTHER
    conflict = _conflict(pair)
    if conflict is not None:
        return conflict
    if _same(pair):
        return Verdict.SAME
    return Verdict.DOUBTFUL if _doubtful(pair) else Verdict.OTHER


def _pair(a: Reading, b: Reading, cosine: float | None) -> _Pair:
    left, right = a.terms - b.terms, b.terms - a.terms
    matched = {(x, y) for x in left for y in right if len(x) >= ROOT and len(y) >= ROOT and x[:ROOT] == y[:ROOT]}
    gone_left, gone_right = frozenset(x for x, _ in matched), frozenset(y for _, y in matched)
    return _Pair(a, b, (a.terms & b.terms) | gone_left, left - gone_left, right - gone_right, cosine)


def exchanged(left: Iterable[str], right: Iterable[str], classes: Mapping[str, frozenset[int]]) -> list[tuple[str, str]]:
    """Return the pairs of words of one class, each of which occurs in only one of the statements."""
    none: frozenset[int] = frozenset()
    return [(x, y) for x in sorted(left) for y in sorted(right) if classes.get(x, none) & classes.get(y, none)]


def apart(left: Iterable[str], right: Iterable[str]) -> bool:
    """Return whether words that occur in only one statement are opposites, or opposite ends of something."""
    left, right = list(left), list(right)
    return bool(exchanged(left, right, OPPOSITES) or exchanged(left, right, ENDS) or exchanged(left, right, CHOICES))


def _other_subject(pair: _Pair) -> bool:
    gone = pair.a.gone | pair.b.gone
    found = exchanged(pair.left, pair.right, SUBJECTS)
    return any(x not in gone and y not in gone and not exchanged([x], [y], OPPOSITES) for x, y in found)


def strong(terms: frozenset[str]) -> frozenset[str]:
    """Return the terms that distinguish one statement from another."""
    return terms - WEAK


# Conflicts


def _conflict(pair: _Pair) -> Verdict | None:
    if not _about_the_same(pair):
        return None
    if _replaced(pair):
        return Verdict.REPLACED
    if _narrower(pair, places=True):
        return None
    if _reversed(pair) or _turned_around(pair):
        return Verdict.REVERSED
    if _other_value(pair) or _other_choice(pair):
        return Verdict.CHANGED
    return _known_relation(pair)


def _about_the_same(pair: _Pair) -> bool:
    return bool(pair.shared) and pair.context >= CONTEXT and (pair.cosine is None or pair.cosine >= CONFLICT_COSINE)


def _narrower(pair: _Pair, *, places: bool = False) -> bool:
    """Return whether only one of the statements mentions a part, in which case both may be valid.

    With `places`, places and cases count as well.
    """
    couples = [*exchanged(pair.left, pair.right, OPPOSITES), *exchanged(pair.left, pair.right, CHOICES)]
    other = pair.a.gone | pair.b.gone | {term for couple in couples for term in couple}
    left, right = (
        {term for term in strong(side - other) if term in SUBJECTS or (places and term in reading.places)}
        for side, reading in ((pair.left, pair.a), (pair.right, pair.b))
    )
    return bool(left) != bool(right)


def _known_relation(pair: _Pair) -> Verdict | None:
    """Return the relation found by the day dream's comparison of words."""
    relation = differ(pair.a.statement, pair.b.statement)
    if relation is Wording.CORRECTED and pair.b.gone & pair.a.spoken_for:
        return Verdict.REPLACED
    if relation is Wording.CHANGED_WORD and has_correction(pair.b.statement.text):
        return Verdict.REPLACED
    return None


def _replaced(pair: _Pair) -> bool:
    """Return whether one statement ends the other.

    This is the case if one statement affirms something that has ended according to the other.
    """
    return _ends(pair.a, pair.b, pair) or _ends(pair.b, pair.a, pair)


def _ends(old: Reading, new: Reading, pair: _Pair) -> bool:
    affirmed = old.spoken_for
    affirmed = affirmed.union(old.values) if affirmed else affirmed
    over = {term for phrase in old.ends for term in phrase}
    for phrase in new.ends:
        known = affirmed.intersection(phrase)
        if phrase[0] not in affirmed or over.issuperset(phrase) or len(known) < ENDED * len(phrase):
            continue
        rest = strong(old.terms.difference(phrase))
        if not rest or len(rest & new.terms) / len(rest) >= CONTEXT:
            return True
    return False


def _reversed(pair: _Pair) -> bool:
    if not _values_agree(pair) or _limits_differ(pair):
        return False
    if strong(pair.left) and strong(pair.right) and pair.context < CONTAINED:
        return False
    return _denies(pair.a.clauses, pair.b.clauses, CONTAINED) or _denies(pair.b.clauses, pair.a.clauses, CONTAINED)


def _limits_differ(pair: _Pair) -> bool:
    return pair.a.statement.limits != pair.b.statement.limits and not _negated_limit(pair)


def _negated_limit(pair: _Pair) -> bool:
    return any(not clause.affirmed for reading in (pair.a, pair.b) for clause in reading.clauses)


def _values_agree(pair: _Pair) -> bool:
    a, b = set(pair.a.values), set(pair.b.values)
    return a <= b or b <= a


def _denies(clauses: tuple[Clause, ...], others: tuple[Clause, ...], least: float) -> bool:
    """Return whether one reading denies a clause that the other affirms without also denying it."""
    for clause in clauses:
        if clause.affirmed:
            continue
        standing = max((_contained(clause, other) for other in others if other.affirmed), default=0.0)
        denied = max((_contained(clause, other) for other in others if not other.affirmed), default=0.0)
        explained = any(not other.affirmed and other.terms <= clause.terms for other in others)
        if standing >= least and denied < standing and not explained:
            return True
    return False


def _contained(clause: Clause, other: Clause) -> float:
    """Return the share of the denied words found in the other clause."""
    return containment(clause.terms, other.terms)


def _turned_around(pair: _Pair) -> bool:
    """Return whether one word is replaced by its opposite, and the rest differs by at most one word."""
    if pair.a.values != pair.b.values or not _same_sense(pair):
        return False
    return any(_is_rest_minor(pair.left - {x}, pair.right - {y}) for x, y in exchanged(pair.left, pair.right, OPPOSITES))


def _is_rest_minor(left: frozenset[str], right: frozenset[str]) -> bool:
    rest = strong(left), strong(right)
    return not (rest[0] and rest[1]) and len(rest[0] | rest[1]) <= 1


def _same_sense(pair: _Pair) -> bool:
    return all(clause.affirmed for clause in pair.a.clauses) == all(clause.affirmed for clause in pair.b.clauses)


def _other_value(pair: _Pair) -> bool:
    """Return whether each statement has one number with the same unit, and everything else agrees."""
    a, b = _surplus(pair.a.values, pair.b.values), _surplus(pair.b.values, pair.a.values)
    if not a or len(a) != len(b) or len(a) > 2 or (strong(pair.left) and strong(pair.right)) or not _same_sense(pair):
        return False
    if sorted(map(_sort_of, a)) != sorted(map(_sort_of, b)):
        return False
    return all(_is_number(value) and not _identifies(value, pair) for value in (*a, *b))


def _sort_of(value: str) -> tuple[str, bool]:
    """Return the unit of a number, and whether it is an address or a version rather than a quantity."""
    return value.lstrip("v").strip("0123456789.,:"), value.count(".") >= MANY_DOTS


def _surplus(values: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    return [value for value in values if value not in others]


def names_other_things(a: Reading, b: Reading) -> bool:
    """Return whether the statements are unrelated because they mention different things ("module 3", "PR 14", "run one")."""
    if has_correction(b.statement.text):
        return _numbers_name(a, b)
    if _numbers_name(a, b) or _other_object(a, b):
        return True
    return _differs_in_label(a, b) or _two_values_differ(a, b)


def _differs_in_label(a: Reading, b: Reading) -> bool:
    """Return whether the same kind of thing has a different letter, as in "sensor A" and "sensor B"."""
    labels, others = dict(_labels(a)), dict(_labels(b))
    return any(labels[thing] != others[thing] for thing in labels.keys() & others.keys())


def _labels(reading: Reading) -> list[tuple[str, str]]:
    return [(match["thing"].casefold(), match["label"]) for match in _LABEL.finditer(reading.statement.text)]


def _two_values_differ(a: Reading, b: Reading) -> bool:
    """Return whether two values differ and one of them is a name, as in "orders.created has 12, orders.closed has 3"."""
    left, right = _surplus(a.values, b.values), _surplus(b.values, a.values)
    named = [any(not _is_number(value) for value in side) for side in (left, right)]
    return len(left) >= 2 and len(right) >= 2 and all(named)


def _numbers_name(a: Reading, b: Reading) -> bool:
    left, right = set(a.values) - set(b.values), set(b.values) - set(a.values)
    pair = _pair(a, b, None)
    return (
        bool(left and right)
        and any(_identifies(value, pair) for value in left)
        and any(_identifies(value, pair) for value in right)
    )


def _other_object(a: Reading, b: Reading) -> bool:
    """Return whether one word is replaced by another object.

    This may be another member of a series ("shard1" and "shard2"), or the object of an instruction.
    """
    tokens, others = a.statement.tokens, b.statement.tokens
    unlike = [place for place, (x, y) in enumerate(zip(tokens, others, strict=False)) if x != y]
    if len(tokens) != len(others) or len(unlike) != 1 or unlike[0] == 0:
        return False
    x, y, before = tokens[unlike[0]], others[unlike[0]], tokens[unlike[0] - 1]
    series = _SERIES.match(x), _SERIES.match(y)
    if series[0] and series[1] and series[0]["name"] == series[1]["name"]:
        return before not in PREPOSITIONS and before not in _EXCLUSIVE
    order = [token for token in tokens if token not in _OPENERS][:1] == [before]
    return order and before in _REPEATABLE and not apart([canonical(x)], [canonical(y)])


def _is_number(value: str) -> bool:
    return value.lstrip("v")[:1].isdigit() and "/" not in value


def _identifies(value: str, pair: _Pair) -> bool:
    """Return whether a number identifies a thing, as in "issue 12". Another number then means another thing."""
    for tokens in (pair.a.statement.tokens, pair.b.statement.tokens):
        for before, token in zip(tokens, tokens[1:], strict=False):
            if token.startswith(value) and before in IDENTIFIED:
                return True
    return False


def _other_choice(pair: _Pair) -> bool:
    """Return whether the statements give different answers to the same question, such as "tabs" and "spaces".

    Subjects of sentences don't count.
    """
    if not _same_sense(pair):
        return False
    for x, y in exchanged(pair.left, pair.right, CHOICES):
        if _values_beside(pair.a, x) != _values_beside(pair.b, y):
            continue
        left, right = strong(pair.left - {x}), strong(pair.right - {y})
        stand = x in pair.a.spoken_for and y in pair.b.spoken_for
        if stand and not (left and right) and not _leads(x, y, pair):
            return True
    return False


def _values_beside(reading: Reading, choice: str) -> list[str]:
    """Return the values, except a number that belongs to the choice, as in "four spaces"."""
    out = list(reading.values)
    tokens = [_NUMBER_WORDS.get(token, token) for token in reading.statement.tokens]
    for before, token in zip(tokens, tokens[1:], strict=False):
        if canonical(token) == choice and before in out:
            out.remove(before)
    return out


def other_choices(tokens: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether words that occur in only one of the statements are different answers to the same question."""
    left, right = (frozenset(map(canonical, side)) for side in (tokens, others))
    return bool(exchanged(left - right, right - left, CHOICES))


def _leads(x: str, y: str, pair: _Pair) -> bool:
    """Return whether both words start their sentences, which makes them the subjects."""
    return _first(pair.a) == x and _first(pair.b) == y


def _first(reading: Reading) -> str:
    content = [token for token in reading.statement.tokens if token not in STOP_WORDS]
    return canonical(content[0]) if content else ""


# The same


def _same(pair: _Pair) -> bool:
    if pair.a.values != pair.b.values or pair.a.statement.limits != pair.b.statement.limits:
        return False
    if not pair.shared or not _senses_agree(pair) or _names_differ(pair) or _order_differs(pair):
        return False
    if one_word_exchanged(pair.a, pair.b) or _narrower(pair) or apart(pair.left, pair.right) or rebound(pair.a, pair.b):
        return False
    if differ(pair.a.statement, pair.b.statement) is Wording.SAME:
        return True
    left, right = strong(pair.left), strong(pair.right)
    if not left and not right:
        return pair.close(SUBSET_COSINE)
    if not left or not right:
        return _adds_little(left | right) and pair.close(SUBSET_COSINE)
    return len(left) == len(right) == 1 and len(pair.shared) >= 3 and pair.close(EXCHANGE_COSINE)


def _adds_little(extra: frozenset[str]) -> bool:
    return len(extra) <= 1 and not any(term in SUBJECTS for term in extra)


def is_inversion(a: Reading, b: Reading) -> bool:
    """Return whether one statement contains most of the words denied by the other."""
    return _denies(a.clauses, b.clauses, CONTAINED) or _denies(b.clauses, a.clauses, CONTAINED)


def _senses_agree(pair: _Pair) -> bool:
    """Return whether each shared word is affirmed in both statements, or denied in both."""
    return not (_denies(pair.a.clauses, pair.b.clauses, CONTEXT) or _denies(pair.b.clauses, pair.a.clauses, CONTEXT))


def _names_differ(pair: _Pair) -> bool:
    return bool(pair.left & pair.a.names) and bool(pair.right & pair.b.names)


def _order_differs(pair: _Pair) -> bool:
    """Return whether both statements use "before" (or "after") about different things."""
    a, b = dict(pair.a.markers), dict(pair.b.markers)
    return any(a[word] != b[word] for word in a.keys() & b.keys())


def rebound(a: Reading, b: Reading) -> bool:
    """Return whether shared words are combined differently.

    An example is "clang on Linux, gcc on macOS", compared with the same sentence with the compilers swapped.
    """
    common = [term for term in dict.fromkeys(a.order) if term in b.terms]
    named = [term for term in common if term in a.names or term in b.names or term in CHOICES or term in SUBJECTS]
    if len(common) < REBOUND or not 1 < len(named) <= MAX_BOUND:
        return False
    near_a, near_b = _followers(a.order, common), _followers(b.order, common)
    for first in named:
        for second in named:
            if first < second and near_a[first] != near_a[second]:
                kept = len(near_a[first] & near_b[first]) + len(near_a[second] & near_b[second])
                turned = len(near_a[first] & near_b[second]) + len(near_a[second] & near_b[first])
                if turned > kept and (turned > 1 or _directed(a, b)):
                    return True
    return False


def _directed(a: Reading, b: Reading) -> bool:
    """Return whether both statements compare two things, or lead from one thing to another."""
    return bool(_DIRECTIONS.intersection(a.statement.tokens)) and bool(_DIRECTIONS.intersection(b.statement.tokens))


def _followers(order: Sequence[str], common: Sequence[str]) -> dict[str, set[str]]:
    """Map each word shared by both texts to the next shared word after it."""
    line = [term for term in order if term in common]
    out: dict[str, set[str]] = {term: set() for term in common}
    for term, following in zip(line, line[1:], strict=False):
        out[term].add(following)
    return out


def one_word_exchanged(one: Reading, other: Reading) -> bool:
    """Return whether the sentences are equal except for one word and little words, and the two words are not synonyms."""
    a, b = one.statement.tokens, other.statement.tokens
    if len(a) != len(b) or len(a) == 1:  # In languages without spaces, a sentence is a single token.
        return False
    unlike = [(x, y) for x, y in zip(a, b, strict=True) if x != y and not {x, y} <= STOP_WORDS]
    return len(unlike) == 1 and canonical(unlike[0][0]) != canonical(unlike[0][1])


def _doubtful(pair: _Pair) -> bool:
    """Return whether the statements are similar enough to ask a model, if there is one."""
    few = len(pair.left) <= 2 and len(pair.right) <= 2
    return pair.cosine is not None and pair.cosine >= DOUBTFUL_COSINE and few and pair.context >= CONTEXT
