"""Translate a text word by word into English, for an embedder that only knows English.

A gloss is not a translation: order and grammar are unchanged, and unknown words are omitted. It suffices to match a
prompt with keys in English.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memoryd.core.text import CJK
from memoryd.language.cues import language
from memoryd.language.stems import is_foreign

GLOSSARY_FILE = Path(__file__).with_name("glossary.txt")
READ = 2_000
LONGEST = 600
LONGEST_WORD = 40
# Minimum length of a prefix (shorter ones must match whole words), maximum length of the rest, minimum length of a compound.
SHORTEST_STEM = 4
LONGEST_ENDING = 5
COMPOUND = 8
GLOSSES_KEPT = 8_192  # also the size of the cache of keys
_FOREIGN_CODES = frozenset({"ko", "ja", "zh", "ru"})
_TOKEN = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯]{1,400}|[^\W\d_][\w./-]{0,80}|\d[\w.]{0,40}")
_CYRILLIC = re.compile(r"[\u0400-\u052f]")
# Function words of the Latin languages, which would only be noise in English.
_LITTLE = frozenset(
    """der die das den dem des ein eine einen einem einer und oder mit fur auf im ist sind wird werden wir ich zu zum zur von vom
    bei nach nur auch er sie es man in an am le la les un une du de et ou avec pour sur dans est sont nous on au aux ce que qui
    par mais el los las una del y o con para por en es son se lo esta os as um uma do da dos das e com em na il gli dei che per
    sono hier""".split()
)


@dataclass(frozen=True, slots=True)
class _Glossary:
    stems: dict[str, str]
    own: dict[tuple[str, str], str]  # by language and word, for words that mean something else in another language
    signs: dict[str, str]
    longest: int


@lru_cache(maxsize=GLOSSES_KEPT)
def gloss(text: str) -> str:
    """Return the text in English words; empty for an English text and for one without known words."""
    head = text[:READ]
    code = language(head)
    if code == "en" or (code in _FOREIGN_CODES and not is_foreign(head)):
        return ""
    known, found = _glossary(), False
    out: list[str] = []
    for token in _TOKEN.findall(head):
        words = _of_signs(token, known) if CJK.search(token) else _of_word(_folded(token).strip("-"), code, known)
        found = found or bool(words)
        out += words or ([] if _CYRILLIC.search(token) or CJK.search(token) or _folded(token) in _LITTLE else [token])
    return " ".join(out)[:LONGEST] if found else ""


def in_english(key: str) -> str:
    """Return the key in a form that an English embedder can read: for an unknown script its gloss, if there is one."""
    return (gloss(key) or key) if is_foreign(key) else key


def is_readable(key: str) -> bool:
    """Return whether an English embedder can judge the key."""
    return not is_foreign(key) or bool(gloss(key))


@lru_cache(maxsize=1)
def _glossary() -> _Glossary:
    stems: dict[str, str] = {}
    own: dict[tuple[str, str], str] = {}
    signs: dict[str, str] = {}
    for line in GLOSSARY_FILE.read_text("utf-8").splitlines():
        english, colon, others = line.partition(":")
        for word in others.split() if colon and not line.startswith("#") else ():
            word, _, code = word.partition("/")
            if code:
                own[code, _folded(word)] = english
            else:
                (signs if CJK.search(word) else stems).setdefault(word if CJK.search(word) else _folded(word), english)
    return _Glossary(stems, own, signs, max(map(len, signs)))


def _folded(word: str) -> str:
    """Return the word in lower case without accents."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(sign))


def _of_word(word: str, code: str, known: _Glossary) -> list[str]:
    if english := known.own.get((code, word)) or known.stems.get(word):
        return [english]
    if len(word) > LONGEST_WORD or not word.replace("-", "").isalpha():  # identifiers are the same in English
        return []
    for length in range(len(word) - 1, max(SHORTEST_STEM, len(word) - LONGEST_ENDING) - 1, -1):
        if english := known.own.get((code, word[:length])) or known.stems.get(word[:length]):
            return [english]
    return _parts(word, known.stems, SHORTEST_STEM, LONGEST_WORD) if len(word) >= COMPOUND else []


def _of_signs(run: str, known: _Glossary) -> list[str]:
    return _parts(run, known.signs, 1, known.longest)


def _parts(text: str, known: dict[str, str], least: int, most: int) -> list[str]:
    """Return the meanings of the longest known pieces from the left; anything between them is omitted."""
    out, at = [], 0
    while at < len(text):
        lengths = range(min(most, len(text) - at), least - 1, -1)
        length = next((length for length in lengths if text[at : at + length] in known), 0)
        if length:
            out.append(known[text[at : at + length]])
        at += length or 1
    return out
