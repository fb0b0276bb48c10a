"""Model-free metrics of the overlap between an answer and its gold answers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from memeval.core.text import PUNCTUATION, normalize_answer, sentences
from memeval.core.types import QuestionType

_IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning",
    "canning": "canning", "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
Rule = tuple[str, str, Callable[[str], bool]]
"""Suffix, replacement, and the condition on the remaining stem."""


@lru_cache(maxsize=200_000)
def porter_nltk(word: str) -> str:
    """Stem a word with NLTK's variant of the Porter algorithm."""
    word = word.lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plurals, _past, _final_y, _double_suffixes, _step_3, _step_4, _final_e, _final_ll):
        word = step(word)
    return word


def _consonants(word: str) -> list[bool]:
    """Return a flag per letter that is true for consonants. `y` counts as one at the start of a word or after a vowel."""
    out: list[bool] = []
    for place, letter in enumerate(word):
        if letter == "y":
            out.append(place == 0 or not out[-1])
        else:
            out.append(letter not in "aeiou")
    return out


def _measure(stem: str) -> int:
    """Count the sequences of vowels followed by consonants (Porter's m)."""
    kinds = _consonants(stem)
    return sum(after and not before for before, after in zip(kinds, kinds[1:], strict=False))


def _has_vowel(stem: str) -> bool:
    return not all(_consonants(stem))


def _doubled(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _consonants(word)[-1]


def _short(word: str) -> bool:
    """Return whether the stem is short in Porter's sense.

    A short stem ends in a consonant, a vowel and a consonant other than w, x or y, or is just a vowel and a consonant.
    """
    kinds = _consonants(word)
    if len(word) >= 3 and kinds[-3:] == [True, False, True] and word[-1] not in "wxy":
        return True
    return kinds == [False, True]


def _positive(stem: str) -> bool:
    return _measure(stem) > 0


def _large(stem: str) -> bool:
    return _measure(stem) > 1


def _apply(word: str, rules: Sequence[Rule]) -> str:
    """Apply the first rule whose suffix matches. If its condition fails, no later rule is tried."""
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
    """Restore the letters that English spelling drops before `ed` or `ing`."""
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
    """Normalise a text like LoCoMo and return its stems, which are the tokens of LoCoMo's F1."""
    return [porter_nltk(word) for word in normalize_answer(text).split()]


@dataclass(frozen=True, slots=True)
class EventOrder:
    """The score of an ordered list of events. `tau_norm` and `score` are None where tau is undefined."""

    precision: float
    recall: float
    f1: float
    tau_norm: float | None

    @property
    def score(self) -> float | None:
        """The order score multiplied by F1."""
        return None if self.tau_norm is None else self.tau_norm * self.f1


def event_order(gold: Sequence[str], said: Sequence[str]) -> EventOrder:
    """Score an ordered list of events. Items that match a gold event must already use its exact wording."""
    common = len(set(gold) & set(said))
    extra = sum(item not in gold for item in said)
    missing = sum(item not in said for item in gold)
    precision = common / (common + extra) if common + extra else 0.0
    recall = common / (common + missing) if common + missing else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    union = list(dict.fromkeys([*gold, *said]))
    tau = tau_b(_ranks(gold, union), _ranks(said, union))
    return EventOrder(precision, recall, f1, None if tau is None else (tau + 1) / 2)


def _ranks(items: Sequence[str], union: Sequence[str]) -> list[int]:
    """Return the rank of each item of the union.

    An item that occurs several times gets its last position, as in the official script.
    """
    places = {item: place for place, item in enumerate(items, start=1)}
    return [places.get(item, len(union) + 1) for item in union]


def tau_b(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Compute Kendall's tau-b. Return None if either side is constant."""
    difference = pairs = tied_first = tied_second = 0
    for (a, x), (b, y) in combinations(zip(first, second, strict=True), 2):
        pairs += 1
        tied_first += a == b
        tied_second += x == y
        difference += ((a > b) - (a < b)) * ((x > y) - (x < y))
    scale = (pairs - tied_first) * (pairs - tied_second)
    return difference / math.sqrt(scale) if scale else None


Vector = Sequence[float]


def cosine(left: Vector, right: Vector) -> float:
    """Compute the cosine similarity. It is 0 if either vector is zero. Raises ValueError for different lengths."""
    dot = math.fsum(a * b for a, b in zip(left, right, strict=True))
    length = math.hypot(*left) * math.hypot(*right)
    return max(-1.0, min(1.0, dot / length)) if length else 0.0


def rouge_l(answer: str, gold: str) -> float:
    """Compute ROUGE-L, a value between 0 and 1. It is 0 if either side is empty."""
    said, wanted = normal_stems(answer), normal_stems(gold)
    common = longest_common_subsequence(said, wanted)
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def best_rouge_l(answer: str, golds: Sequence[str]) -> float:
    """Return the highest ROUGE-L over the accepted gold answers."""
    return max((rouge_l(answer, gold) for gold in golds), default=0.0)


def longest_common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    Time is O(|left| × |right|), and only one row is kept in memory.
    """
    row = [0] * (len(right) + 1)
    for item in left:
        diagonal = 0
        for column, other in enumerate(right, start=1):
            above = row[column]
            row[column] = diagonal + 1 if item == other else max(above, row[column - 1])
            diagonal = above
    return row[-1]


def token_f1(answer: str, gold: str) -> float:
    """Compute token F1, a value between 0 and 1. It is 0 if no token is shared or if either side is empty."""
    said, wanted = normal_stems(answer), normal_stems(gold)
    common = sum((Counter(said) & Counter(wanted)).values())
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def best_f1(answer: str, golds: Sequence[str]) -> float:
    """Return the highest F1 over the accepted gold answers."""
    return max((token_f1(answer, gold) for gold in golds), default=0.0)


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """Return 1 if the normalised answer equals a gold answer, otherwise 0."""
    return float(normalize_answer(answer) in {normalize_answer(gold) for gold in golds})


def contains(answer: str, golds: Sequence[str]) -> float:
    """Return 1 if the normalised answer contains a gold answer as whole words, otherwise 0.

    An empty gold answer never matches.
    """
    said = f" {normalize_answer(answer)} "
    wanted = (normalize_answer(gold) for gold in golds)
    return float(any(f" {gold} " in said for gold in wanted if gold))


def substring(answer: str, golds: Sequence[str]) -> float:
    """Return 1 if a gold answer is a substring of the answer, even within a word, otherwise 0."""
    return float(any(gold in answer for gold in golds if gold))


_NOTHING = re.compile(
    r"""
      \bno\s+(?:such\s+|relevant\s+|specific\s+)?(?:information|mention|record|evidence|memory|memories|answer)\b
    | \bnot\s+(?:mentioned|stated|specified|available|known|recorded|provided|discussed|given|answerable|enough\s+information)\b
    | \b(?:un(?:known|answerable)|insufficient\s+information)\b
    | \b(?:do|does|did|is|are|was|were|have|has|can)(?:n['’]?t|\s+not)\s+
        (?:\w+\s+){0,3}?(?:know|mention|mentioned|have\s+(?:any\s+|enough\s+)?(?:information|memory|record)|say|said|specify|specified
        |contain|find|found|tell|told|determine|recall|answer|provide|provided|enough|state|stated|include)\b
    | \bcannot\s+(?:\w+\s+){0,2}?(?:answer|determine|tell|find|know|say|be\s+(?:answered|determined))\b
    | \bnothing\s+(?:is\s+|was\s+)?(?:known|mentioned|recorded|said)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def says_nothing_known(answer: str) -> bool:
    """Return whether the answer abstains: it is empty, or its first sentence says that the answer isn't known."""
    parts = sentences(answer)
    return not parts or _NOTHING.search(parts[0]) is not None


CATEGORIES = {
    QuestionType.MULTI_HOP: 1,
    QuestionType.TEMPORAL: 2,
    QuestionType.INFERENCE: 3,
    QuestionType.FACT_RECALL: 4,
    QuestionType.ABSTENTION: 5,
}
"""Category numbers as in the official code. Several vendors number the categories differently."""
_REFUSALS = ("no information available", "not mentioned")


def locomo_f1(answer: str, gold: str, category: int) -> float:
    """Compute the official LoCoMo score, a value between 0 and 1. Raises ValueError unless `category` is 1 to 5."""
    if category == 1:
        return _multi_answer(answer, gold)
    if category == 3:
        return token_f1(answer, gold.split(";")[0].strip())
    if category in (2, 4):
        return token_f1(answer, gold)
    if category == 5:
        return float(any(refusal in answer.lower() for refusal in _REFUSALS))
    raise ValueError(f"LoCoMo has no category {category}")


def _multi_answer(answer: str, gold: str) -> float:
    said = [part.strip() for part in answer.split(",")]
    wanted = [part.strip() for part in gold.split(",")]
    return sum(max(token_f1(part, one) for part in said) for one in wanted) / len(wanted)


PRIMARY = (
    ("recsys", "recsys_recall@5"),
    ("ruler_niah", "ruler_recall"),
    ("icl", "exact_match"),
    ("detective", "exact_match"),
    ("eventqa", "substring_exact_match"),
    ("ruler", "substring_exact_match"),
    ("fact", "substring_exact_match"),
)
"""The primary metric of each sub-dataset, keyed by part of its name. A model judges InfBench and LongMemEval."""
CUT_OFFS = (1, 5, 10)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PARENTHESES = re.compile(r"\([^()]*\)")
_NUMBER = re.compile(r"^\d+[.)、]?\s*[-—–]?\s*")
_PREFIX = "answer:"
_ALONE = frozenset({"yes", "no", "noanswer"})
_LONGEST = 200
"""Maximum characters of a title to compare."""


def scores(sub_dataset: str, answer: str, golds: Sequence[str], titles: Mapping[str, str] | None = None) -> dict[str, float]:
    """Compute all scores of the sub-dataset.

    `titles` maps ids to names. Without it, the recommendation task (recsys) can't be scored.
    """
    if "recsys" in sub_dataset:
        return _recommended(answer, golds, titles) if titles else {}
    if "ruler_niah" in sub_dataset:
        return {"ruler_recall": _contained(answer, golds)}
    if "icl" in sub_dataset:
        return _plain(parsed(answer), golds)
    if "eventqa" in sub_dataset:
        return {**_plain(parsed(answer), golds), "eventqa_recall": float(_contained(answer, golds) == 1)}
    whole, part = _plain(answer, golds), _plain(parsed(answer), golds)
    return {name: max(value, part[name]) for name, value in whole.items()}


def primary(sub_dataset: str) -> str:
    """Return the name of the primary metric of a sub-dataset, or "" if a model judges it."""
    if "sum" in sub_dataset or "longmemeval" in sub_dataset:
        return ""
    return next((metric for part, metric in PRIMARY if part in sub_dataset), "substring_exact_match")


def parsed(answer: str) -> str:
    """Return the text after the first "Answer:" on its line, or the first line if there is none."""
    place = answer.lower().find(_PREFIX)
    rest = answer[place + len(_PREFIX) :] if place >= 0 else answer
    line = rest.split("\n", 1)[0].strip()
    return line[len(_PREFIX) :].strip() if line.lower().startswith(_PREFIX) else line


def normal(text: str) -> str:
    """Normalise a text like SQuAD.

    The result is lower case with single spaces, and without ASCII punctuation or articles.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def plain_f1(answer: str, gold: str) -> float:
    """Compute token F1 without stemming. The answers yes and no must match exactly."""
    said, wanted = normal(answer), normal(gold)
    if said != wanted and (said in _ALONE or wanted in _ALONE):
        return 0.0
    left, right = said.split(), wanted.split()
    common = sum((Counter(left) & Counter(right)).values())
    return 2 * common / (len(left) + len(right)) if common else 0.0


def _plain(answer: str, golds: Sequence[str]) -> dict[str, float]:
    said = normal(answer)
    return {
        "exact_match": max((float(said == normal(gold)) for gold in golds), default=0.0),
        "f1": max((plain_f1(answer, gold) for gold in golds), default=0.0),
        "substring_exact_match": max((float(normal(gold) in said) for gold in golds), default=0.0),
    }


def _contained(answer: str, golds: Sequence[str]) -> float:
    return sum(gold.lower() in answer.lower() for gold in golds) / len(golds) if golds else 0.0


def _recommended(answer: str, golds: Sequence[str], titles: Mapping[str, str]) -> dict[str, float]:
    names = list(dict.fromkeys(titles.values()))
    _, first, rest = answer.partition("1.")
    lines = (rest if first else answer.replace(",", "\n")).split("\n")
    chosen = [nearest(_title(line.strip()), names) for line in lines[: max(CUT_OFFS)]]
    wanted = [titles.get(gold.strip(), "") for gold in golds]
    return {f"recsys_recall@{k}": sum(name in chosen[:k] for name in wanted) / len(wanted) if wanted else 0.0 for k in CUT_OFFS}


def _title(text: str) -> str:
    return " ".join(_NUMBER.sub("", _PARENTHESES.sub("", text)).split())[:_LONGEST]


def title_of(name: str) -> str:
    """Extract the title from an entity name such as `<http://…/Night_Ferry_(film)>`."""
    plain = re.sub("[_>-]", " ", name.rsplit("/", 1)[-1])
    return " ".join(_PARENTHESES.sub("", plain).split())[:_LONGEST]


def nearest(text: str, names: Sequence[str]) -> str:
    """Return the name with the smallest edit distance to the text, ignoring case."""
    said = [ord(sign) for sign in text.lower()]
    lower = [name.lower() for name in names]
    width = max(map(len, lower), default=0)
    table = np.full((len(lower), width), -1, dtype=np.int64)
    for row, name in enumerate(lower):
        table[row, : len(name)] = [ord(sign) for sign in name]
    distances = np.tile(np.arange(width + 1), (len(lower), 1))
    for place, sign in enumerate(said, start=1):
        before = distances
        distances = np.empty_like(before)
        distances[:, 0] = place
        for column in range(1, width + 1):
            swapped = before[:, column - 1] + (table[:, column - 1] != sign)
            distances[:, column] = np.minimum(np.minimum(before[:, column], distances[:, column - 1]) + 1, swapped)
    ends = distances[np.arange(len(lower)), [len(name) for name in lower]]
    return names[int(np.argmin(ends))] if len(ends) else ""
