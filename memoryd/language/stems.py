"""The stemmer, and the detection of texts that an English embedder can't process. Pure functions.

`stem` is for search and comparison, where "config" and "configure" are different words. `roots` checks whether two
texts have the same subject, in any language: statement and evidence, finding and fix, claim and retraction.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memoryd.core.text import keywords

CYRILLIC = re.compile(r"[\u0400-\u052f]")
_CYRILLIC_ENDING = re.compile(
    r"(?:иями|ями|ами|ого|его|ому|ему|ыми|ими|[аеиоуыэюяйьё]{1,3}|ов|ев|ом|ем|ам|ям|ах|ях|ых|их|ым|им)$"
)
_ENDINGS = ("ations", "ation", "ingly", "ings", "ing", "edly", "ies", "ied", "ers", "er", "ed", "es", "ly", "s", "e")
STEMS_KEPT = 50_000
ROOT = 5
_LETTER = re.compile(r"[^\W\d_]")
_FOREIGN = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯\u0370-\u03ff\u0400-\u052f\u0590-\u06ff\u0900-\u0e7f]")


@lru_cache(maxsize=STEMS_KEPT)  # The candidates for a query (up to 200) mostly share the same words.
def stem(word: str) -> str:
    """Return a crude stem of a lower-case word.

    Common English and Russian endings are removed, leaving at least three letters.
    """
    if CYRILLIC.search(word):
        cut = _CYRILLIC_ENDING.sub("", word)
        return cut if len(cut) >= 3 else word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def root(word: str) -> str:
    """Return the prefix shared by all forms of a lower-case word, including derived forms, in any language."""
    singular = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    return singular[:ROOT]


def roots(text: str) -> frozenset[str]:
    """Return the roots of a text's keywords."""
    return frozenset(map(root, keywords(text)))


def is_foreign(text: str) -> bool:
    """Return whether at least 30 % of the letters are in a script that an English embedder can't process."""
    letters = len(_LETTER.findall(text))
    return letters > 0 and len(_FOREIGN.findall(text)) >= 0.3 * letters
