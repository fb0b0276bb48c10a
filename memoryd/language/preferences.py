"""Determine whether two statements of preferences contradict each other. Pure functions.

"I prefer tabs over spaces" and "The user prefers spaces over tabs" contain the same words, and "in German" and "in English" look
like limits of two statements. Comparing the preferred things distinguishes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_PREFERS = re.compile(
    r"^(?:i|we|the user|user|they|he|she)(?:'d| would)? (?:(?:really|always|generally|usually|strongly|much|now|only) )*"
    r"(?:prefers?|wants?|likes?|rather have)(?: to (?:have|get|use|see))? (?P<what>.+)$",
    re.IGNORECASE,
)
_OVER = re.compile(r"^(?P<first>.+?) (?:over|rather than|instead of|to|and not|not) (?P<second>.+)$", re.IGNORECASE)
_SMALL = frozenset({"a", "an", "the", "my", "your", "our", "his", "her", "their", "in", "to", "be", "of", "for", "with"})
MAX_EXCHANGED = 2
KEPT = 4_096


@dataclass(frozen=True, slots=True)
class Preference:
    """The preferred words in order, and the words they are preferred over (may be empty)."""

    what: tuple[str, ...]
    over: tuple[str, ...] = ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for raw in text.casefold().split() if (word := raw.strip("`'\"()[],;:!?.")))


@lru_cache(maxsize=KEPT)
def preference(text: str) -> Preference | None:
    """Return the preference stated in the text.

    Return None if there is none, or if the text only mentions something unwanted.
    """
    match = _PREFERS.match(text.strip())
    if match is None or re.search(r"\b(?:not|no|never|without)\b|n't\b", match["what"][:12], re.IGNORECASE):
        return None
    over = _OVER.match(match["what"])
    return Preference(_words(over["first"]), _words(over["second"])) if over else Preference(_words(match["what"]))


def reversed_order(known: str, new: str) -> bool:
    """Return whether one statement prefers X over Y and the other prefers Y over X."""
    a, b = preference(known), preference(new)
    return bool(
        a and b and a.over and b.over and a.what[:1] == b.over[:1] and a.over[:1] == b.what[:1] and a.what[:1] != a.over[:1]
    )


def another_choice(known: str, new: str) -> bool:
    """Return whether the statements prefer different things of one kind.

    This is the case if they differ in one run of up to two words and share other words.
    """
    a, b = preference(known), preference(new)
    if a is None or b is None or a.over or b.over:
        return False
    left, right = list(a.what), list(b.what)
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    shared = set(a.what[: len(a.what) - len(left)])
    while left and right and left[-1] == right[-1]:
        shared.add(left[-1])
        left, right = left[:-1], right[:-1]
    return bool(shared - _SMALL) and 0 < len(left) <= MAX_EXCHANGED and 0 < len(right) <= MAX_EXCHANGED
