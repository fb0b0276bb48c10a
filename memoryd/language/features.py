"""Compute classifier features for a pair of statements from their words.

Pure functions. The numbers are in the order of NAMES, which must match the training.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from memoryd.core.protocols import FloatArray
from memoryd.language.compare import Assertion, Comparison, Relation, terms_in_english
from memoryd.language.cues import has_correction, has_exception, is_done, is_open, language, limits
from memoryd.language.reading import CHOICES, ENDS, OPPOSITES, SUBJECTS, UNIT_TERMS, Reading
from memoryd.language.verdict import exchanged, rebound, strong

_RULES = ("same", "refines", "replaces", "contradicts", "different")
NAMES: tuple[str, ...] = (
    *(f"rules say {name}" for name in _RULES),
    "rules doubt",
    "old words",
    "new words",
    "shared share of old",
    "shared share of new",
    "strong words of old only",
    "strong words of new only",
    "values equal",
    "values of old only",
    "values of new only",
    "values shared",
    "both have other values",
    "names of old only",
    "names of new only",
    "names shared",
    "both have other names",
    "negations differ",
    "new denies more",
    "old denies",
    "new denies",
    "limits of old only",
    "limits of new only",
    "exception of new only",
    "exception of old only",
    "correction in new",
    "correction in old",
    "new ends what old says",
    "new ends something",
    "old ends what new says",
    "choices exchanged",
    "opposites exchanged",
    "ends exchanged",
    "subjects exchanged",
    "places differ",
    "first words agree",
    "by user, old",
    "by user, new",
    "length ratio",
    "English",
    "same language",
    "dont differs",
    "order of shared words differs",
    "runs exchanged",
    "run at the start exchanged",
    "words before the first difference",
    "words in one run of old",
    "words in one run of new",
    "bound to others",
    "old is open",
    "new is done",
    "subject shared",
    "numbers of both differ alone",
)


def features(old: Assertion, new: Assertion, a: Reading, b: Reading, rules: Comparison) -> FloatArray:
    """Return the features of a pair. The cosine of their vectors is not included, because it did not improve the results."""
    left, right, shared = a.terms - b.terms, b.terms - a.terms, a.terms & b.terms
    values_left, values_right = set(a.values) - set(b.values), set(b.values) - set(a.values)
    names_left, names_right = a.names & left, b.names & right
    limits_left, limits_right = limits(old.text) - limits(new.text), limits(new.text) - limits(old.text)
    no_left, no_right = a.statement.negations, b.statement.negations
    ends = [phrase for phrase in b.ends if phrase[0] in a.terms or phrase[0] in a.values]
    numbers = [
        *(float(rules.relation is Relation(name)) for name in _RULES),
        float(rules.doubtful),
        min(len(a.terms), 20) / 10,
        min(len(b.terms), 20) / 10,
        _part(len(shared), len(a.terms)),
        _part(len(shared), len(b.terms)),
        min(len(strong(left)), 6) / 3,
        min(len(strong(right)), 6) / 3,
        float(sorted(a.values) == sorted(b.values)),
        min(len(values_left), 3),
        min(len(values_right), 3),
        min(len(set(a.values) & set(b.values)), 3),
        float(bool(values_left and values_right)),
        min(len(names_left), 3),
        min(len(names_right), 3),
        min(len(a.names & b.names), 3),
        float(bool(names_left and names_right)),
        float(no_left % 2 != no_right % 2),
        float(no_right > no_left),
        float(no_left > 0),
        float(no_right > 0),
        float(bool(limits_left)),
        float(bool(limits_right)),
        float(has_exception(new.text) and not has_exception(old.text)),
        float(has_exception(old.text) and not has_exception(new.text)),
        float(has_correction(new.text)),
        float(has_correction(old.text)),
        float(bool(ends)),
        float(bool(b.ends)),
        float(not a.gone.isdisjoint(b.terms | set(b.values))),
        float(bool(exchanged(left, right, CHOICES))),
        float(bool(exchanged(left, right, OPPOSITES))),
        float(bool(exchanged(left, right, ENDS))),
        min(len(exchanged(left, right, SUBJECTS)), 2),
        float(bool(a.places & left) and bool(b.places & right)),
        float(a.order[:1] == b.order[:1]),
        float(old.by_user),
        float(new.by_user),
        min(3.0, len(new.text) / max(1, len(old.text))),
        float(language(old.text) == "en"),
        float(language(old.text) == language(new.text)),
        float(old.dont != new.dont),
        float(_swapped(a.order, b.order)),
        *_runs(a.order, b.order),
        float(rebound(a, b)),
        float(is_open(old.text) and not is_open(new.text)),
        float(is_done(new.text) and not is_done(old.text)),
        float(bool(a.order) and a.order[0] in b.terms and bool(b.order) and b.order[0] in a.terms),
        float(bool(values_left) and len(values_left) == len(values_right) and len(left) + len(right) <= 1),
    ]
    return np.array(numbers, dtype=np.float32)


def speaks_of_another_part(a: Reading, b: Reading) -> bool:
    """Return whether the statements mention different members of a class of things, in any language.

    A statement about one member does not affect the other.
    """
    units = UNIT_TERMS if a.values and a.values == b.values else frozenset()  # "24 hours" is "one day".
    left, right = (terms_in_english(reading.statement.text) - units for reading in (a, b))
    return bool(exchanged(left - right, right - left, SUBJECTS))


def _runs(a: Sequence[str], b: Sequence[str]) -> list[float]:
    """Return statistics on the replaced runs of words.

    These are the number of runs, whether one is at the start, the number of equal words before it, and the lengths of the longest
    runs.
    """
    codes = [code for code in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if code[0] != "equal"]
    both = [code for code in codes if code[0] == "replace"]
    before = codes[0][1] if codes else len(a)
    longest = max(both, key=lambda code: code[2] - code[1] + code[4] - code[3], default=("", 0, 0, 0, 0))
    return [
        min(len(codes), 5) / 2,
        float(bool(both) and both[0][1] == 0),
        min(before, 6) / 3,
        min(longest[2] - longest[1], 5) / 2,
        min(longest[4] - longest[3], 5) / 2,
    ]


def _part(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _swapped(a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether the shared words are in a different order."""
    common = set(a) & set(b)
    first, second = ([term for term in dict.fromkeys(side) if term in common] for side in (a, b))
    return first != second
