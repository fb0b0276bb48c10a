"""Shared text functions: words, stems, sentences and token counts.

The only importer of `snowballstemmer` (pure Python, 0.1 MB, no dependencies).
"""

from __future__ import annotations

import re
import string
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|\n+")
_LOCOMO_DROPPED = re.compile(r"\b(a|an|the|and)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)
_STEMMER_LOCK = Lock()
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be because been before being but by can could did do does doing for from "
    "had has have having he her here hers him his how i if in into is it its just me more most my no not now of on once only or "
    "other our out over own she should so some such than that the their them then there these they this those to too up us was "
    "we were what when where which while who whom why will with would you your".split()
)


def words(text: str) -> list[str]:
    """Split a text into lower-case words. Apostrophes inside words are kept."""
    return [match.group().lower() for match in _WORD.finditer(text)]


@lru_cache(maxsize=1)
def _porter() -> Callable[[str], str]:
    import snowballstemmer

    stem_word: Callable[[str], str] = snowballstemmer.stemmer("porter").stemWord
    return stem_word


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Stem a lower-case word with the Snowball project's version of Porter's algorithm (Porter 1980).

    A stemmer keeps the current word as state, so it isn't thread-safe.
    """
    with _STEMMER_LOCK:
        return _porter()(word)


def stems(text: str) -> list[str]:
    """Return the stemmed words in order."""
    return [stem(word) for word in words(text)]


def content_stems(text: str) -> list[str]:
    """Return the stemmed words of a text, except function words."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def sentences(text: str) -> list[str]:
    """Split a text into its sentences and lines. They are stripped, and empty ones are dropped."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def normalize_answer(text: str) -> str:
    """Normalise an answer as LoCoMo does.

    Removes commas, ASCII punctuation and the words a, an, the and and, and leaves lower-case text with single spaces.

    Source: normalize_answer in task_eval/evaluation.py of LoCoMo (Maharana et al. 2024). It is SQuAD's function, except that
    it also drops `and`.
    """
    plain = text.replace(",", "").lower().translate(PUNCTUATION)
    return " ".join(_LOCOMO_DROPPED.sub(" ", plain).split())


def estimate_tokens(text: str) -> int:
    """Estimate the token count, for models that don't report it.

    Assumes one token per four characters of Latin text and one per CJK character.
    """
    wide = len(_CJK.findall(text))
    return wide + (len(text) - wide + 3) // 4
