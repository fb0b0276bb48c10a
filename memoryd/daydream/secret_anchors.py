"""Which of the literals that patterns need occur in a text, and where.

A text is looked at word by word. Most words of a log were seen before, so that most of a text costs one operation on
sets, and a pattern whose literals are missing is not tried at all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import accumulate

# What is remembered is bounded: short words only, and so many of them.
_LONGEST_KNOWN = 24
_MOST_KNOWN = 40_000


class Anchors:
    """Finds literals (in lower case, without spaces) and shapes (patterns that match no space) in texts.

    Safe for several threads: what they remember at the same time is the same.
    """

    def __init__(self, literals: Iterable[str], shapes: Mapping[str, re.Pattern[str]]) -> None:
        folded = {literal.casefold() for literal in literals}
        self._plain = re.compile(_any_of(literal for literal in folded if literal.isascii()))
        self._foreign = tuple(literal for literal in folded if not literal.isascii())
        # Where a literal stands, those stand as well that it begins with.
        self._begins = {literal: frozenset(other for other in folded if literal.startswith(other)) for literal in folded}
        self._shapes = tuple(shapes.items())
        self._without = set[str]()
        self._with: dict[str, frozenset[str]] = {}

    def within(self, text: str) -> frozenset[str]:
        """The literals that occur in the text, in any case, and the names of the shapes."""
        found, new, known = set[str](), list[str](), self._with
        for word in set(text.split()) - self._without:
            anchors = known.get(word)
            if anchors is None:
                new.append(word)
            else:
                found |= anchors
        if new:
            found |= self._look(new)
        return frozenset(found)

    def _look(self, words: list[str]) -> set[str]:
        """The anchors of words that were not seen before, which are remembered."""
        ends = list(accumulate(len(word) + 1 for word in words))
        joined = "\n".join(words)
        of = dict[int, set[str]]()
        for name, shape in self._shapes:
            for match in shape.finditer(joined):
                of.setdefault(bisect_right(ends, match.start()), set()).add(name)
        folded = fold(joined)
        if len(folded) != len(joined):
            folded_words = [fold(word) for word in words]
            ends = list(accumulate(len(word) + 1 for word in folded_words))
            folded = "\n".join(folded_words)
        found = self._plain.search(folded)
        while found is not None:
            of.setdefault(bisect_right(ends, found.start()), set()).update(self._begins[found[0]])
            found = self._plain.search(folded, found.start() + 1)
        for literal in () if folded.isascii() else self._foreign:
            at = folded.find(literal)
            while at >= 0:
                number = bisect_right(ends, at)
                of.setdefault(number, set()).add(literal)
                at = folded.find(literal, ends[number])
        self._remember(words, of)
        return set[str]().union(*of.values())

    def remembered(self) -> int:
        """How many words are remembered."""
        return len(self._without) + len(self._with)

    def _remember(self, words: list[str], of: Mapping[int, set[str]]) -> None:
        if self.remembered() > _MOST_KNOWN:
            self._without, self._with = set(), {}
        self._without.update([word for number, word in enumerate(words) if number not in of and len(word) <= _LONGEST_KNOWN])
        self._with.update({words[number]: frozenset(own) for number, own in of.items() if len(words[number]) <= _LONGEST_KNOWN})


def _any_of(literals: Iterable[str]) -> str:
    """A pattern for the longest of the literals at a place, which compares each sign of the text only once."""
    by_first: dict[str, list[str]] = {}
    ends = False
    for literal in sorted(literals):
        if literal:
            by_first.setdefault(literal[0], []).append(literal[1:])
        else:
            ends = True
    branches = "|".join(re.escape(first) + _any_of(rest) for first, rest in by_first.items())
    return f"(?:{branches}){'?' if ends else ''}" if branches else ""


class Stems:
    """What the matches of a pattern begin with. They may hold spaces; each is searched for where its longest part occurs."""

    def __init__(self, stems: Iterable[str]) -> None:
        parts = [(max(stem.split(), key=len).casefold(), stem) for stem in stems]
        self._by_part = {part: tuple(stem for other, stem in parts if other == part) for part, _ in parts}
        self.parts = frozenset(self._by_part)

    def positions(self, low: str, there: frozenset[str]) -> list[int]:
        """Where one of the stems begins, in a text in lower case of which it is known what occurs in it."""
        at: set[int] = set()
        for part in self.parts & there:
            for stem in self._by_part[part]:
                start = low.find(stem)
                while start >= 0:
                    at.add(start)
                    start = low.find(stem, start + len(stem))
        return sorted(at)


@lru_cache(maxsize=64)
def stems_in(line: str) -> Stems:
    """Stems from a list in which `~` is a space; one object for all that share them."""
    return Stems(stem.replace("~", " ") for stem in line.split())


class Looked:
    """A text with what occurs in it; what several patterns ask about it is computed once."""

    __slots__ = ("_low", "_positions", "text", "there")

    def __init__(self, text: str, there: frozenset[str]) -> None:
        self.text = text
        self.there = there
        self._low = ""
        self._positions: dict[Stems, list[int]] = {}

    def low(self) -> str:
        """The text in lower case, every sign where it was."""
        if not self._low:
            self._low = self.text.replace("İ", "I").lower()
        return self._low

    def positions(self, stems: Stems) -> list[int]:
        """Where one of the stems begins."""
        known = self._positions.get(stems)
        if known is None:
            known = self._positions[stems] = stems.positions(self.low(), self.there) if stems.parts & self.there else []
        return known

    def has(self, anchors: frozenset[str]) -> bool:
        """Whether one of them occurs."""
        return not self.there.isdisjoint(anchors)

    def changed(self, text: str) -> Looked:
        """The text after something was cut out of it."""
        return self if text == self.text else Looked(text, self.there)


def fold(text: str) -> str:
    """For comparing without regard to case, as patterns do."""
    return text.lower() if text.isascii() else text.replace("İ", "I").casefold()
