"""Porter's stemmer with the departures that NLTK makes from it by default, which LoCoMo's script relies on.

Where it differs from Porter (1980): a pool of irregular words (`news`, `skies`); words of up to two letters stay; `ies`
and `ied` become `ie` in words of four letters (`dies` gives `die`); a final `y` turns to `i` after any consonant that
is not the first letter; `bli`, `fulli`, `logi` and a repeated step 2 after `alli`; a word of vowel and consonant (`us`)
counts as short. Source: the documented extensions of NLTK's `PorterStemmer`; tests compare a stored table of its output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from memeval.text import normalize_answer

_IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning",
    "canning": "canning", "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
Rule = tuple[str, str, Callable[[str], bool]]
"""Suffix, what takes its place, and the condition on what is left."""


@lru_cache(maxsize=200_000)
def porter_nltk(word: str) -> str:
    """Stem of a word in NLTK's reading of the algorithm."""
    word = word.lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plurals, _past, _final_y, _double_suffixes, _step_3, _step_4, _final_e, _final_ll):
        word = step(word)
    return word


def _consonants(word: str) -> list[bool]:
    """Whether each letter is a consonant; `y` is one at the start and after a vowel."""
    out: list[bool] = []
    for place, letter in enumerate(word):
        if letter == "y":
            out.append(place == 0 or not out[-1])
        else:
            out.append(letter not in "aeiou")
    return out


def _measure(stem: str) -> int:
    """How often a vowel is followed by a consonant."""
    kinds = _consonants(stem)
    return sum(after and not before for before, after in zip(kinds, kinds[1:], strict=False))


def _has_vowel(stem: str) -> bool:
    return not all(_consonants(stem))


def _doubled(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _consonants(word)[-1]


def _short(word: str) -> bool:
    """Ends in consonant, vowel, consonant (not w, x, y), or is a vowel and a consonant."""
    kinds = _consonants(word)
    if len(word) >= 3 and kinds[-3:] == [True, False, True] and word[-1] not in "wxy":
        return True
    return kinds == [False, True]


def _positive(stem: str) -> bool:
    return _measure(stem) > 0


def _large(stem: str) -> bool:
    return _measure(stem) > 1


def _apply(word: str, rules: Sequence[Rule]) -> str:
    """The first rule whose suffix fits decides, whether or not its condition holds."""
    for suffix, other, condition in rules:
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            return stem + other if condition(stem) else word
    return word


def _plurals(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-3] + "ie"
    for suffix, other in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word[: len(word) - len(suffix)] + other
    return word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-3] + ("ie" if len(word) == 4 else "i")
    if word.endswith("eed"):
        return word[:-1] if _positive(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return _restored(stem) if _has_vowel(stem) else word
    return word


def _restored(stem: str) -> str:
    """The stem before `ed` or `ing`, with what English dropped there."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _doubled(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _short(stem) else stem


def _final_y(word: str) -> str:
    stem = word[:-1]
    return stem + "i" if word.endswith("y") and len(stem) > 1 and _consonants(stem)[-1] else word


_STEP_2: tuple[Rule, ...] = (
    *((suffix, other, _positive) for suffix, other in (
        ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
        ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"),
        ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"),
        ("biliti", "ble"), ("fulli", "ful"))),
    ("logi", "log", lambda stem: _positive(stem + "l")),
)  # fmt: skip


def _double_suffixes(word: str) -> str:
    while word.endswith("alli") and _positive(word[:-4]):
        word = word[:-2]
    return _apply(word, _STEP_2)


_STEP_3: tuple[Rule, ...] = tuple(
    (suffix, other, _positive)
    for suffix, other in (
        ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
    )
)  # fmt: skip


def _step_3(word: str) -> str:
    return _apply(word, _STEP_3)


_STEP_4: tuple[Rule, ...] = (
    *((suffix, "", _large) for suffix in ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent")),
    ("ion", "", lambda stem: _large(stem) and stem[-1:] in ("s", "t")),
    *((suffix, "", _large) for suffix in ("ou", "ism", "ate", "iti", "ous", "ive", "ize")),
)


def _step_4(word: str) -> str:
    return _apply(word, _STEP_4)


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    stem = word[:-1]
    measure = _measure(stem)
    return stem if measure > 1 or (measure == 1 and not _short(stem)) else word


def _final_ll(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _large(word[:-1]) else word


def normal_stems(text: str) -> list[str]:
    """Stems of LoCoMo's normal form: what its F1 compares."""
    return [porter_nltk(word) for word in normalize_answer(text).split()]
