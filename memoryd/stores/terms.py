"""What the literal index holds of an item, and what a query asks of it. Pure functions.

Latin words go through FTS5's porter stemmer; a CJK run becomes overlapping pairs of characters,
so that two-character words are found; identifiers are kept whole and in their parts.
"""

from __future__ import annotations

import re

from memoryd.text import CJK, keywords, one_line, shorten, words
from memoryd.types import MemoryItem

MAX_QUERY_WORDS = 200
MIN_SUBSTRING = 4
# More or longer ones would be searched at the cost of all queries, and say little more.
MAX_KEYS = 8
MAX_KEY_CHARACTERS = 300
_CAMEL_WORD = re.compile(r"\b\w*[a-z0-9][A-Z]\w*")
_RUN = re.compile(r"[^\W_]+")
_CJK_RUN = re.compile(f"(?:{CJK.pattern})+")


def searchable(item: MemoryItem) -> str:
    """Everything of an item that words are looked up in."""
    return "\n".join((item.content, *item.tags, *item.entities))


def keys_of(item: MemoryItem) -> tuple[str, ...]:
    """The keys of an item as the indexes take them: at most eight, on one line each, none twice."""
    keys = (shorten(one_line(key), MAX_KEY_CHARACTERS) for key in item.asked_as)
    return tuple(dict.fromkeys(key for key in keys if key))[:MAX_KEYS]


def index_text(text: str) -> str:
    """The text as the word index takes it."""
    parts = [_CJK_RUN.sub(_pairs, text)]
    parts += [" ".join(words(name)) for name in _CAMEL_WORD.findall(text)]
    return " ".join(parts)


def runs_of(text: str) -> set[str]:
    """The runs of letters and digits in a text, folded, that may have a query word inside."""
    return {run for run in _RUN.findall(CJK.sub(" ", text.casefold())) if len(run) > MIN_SUBSTRING}


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    # The last character stands alone too, so that a query of one character finds it by prefix.
    return " " + " ".join([*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]]) + " "


def query_words(text: str) -> list[str]:
    """Distinct words of a query without stop words; with them when there is nothing else."""
    return (keywords(text) or list(dict.fromkeys(words(text))))[:MAX_QUERY_WORDS]


def is_single_cjk(word: str) -> bool:
    """Whether the word is one CJK character, which is looked up as a prefix of pairs."""
    return len(word) == 1 and CJK.fullmatch(word) is not None


def phrase(word: str) -> str:
    """The word as an FTS5 string; nothing in it is syntax."""
    return '"' + word.replace('"', '""') + '"' + (" *" if is_single_cjk(word) else "")


def grams(word: str) -> str:
    """FTS5 query for a trigram index: all three-character pieces of a word."""
    folded = word.casefold()
    return " AND ".join(dict.fromkeys(phrase(folded[i : i + 3]) for i in range(len(folded) - 2)))
