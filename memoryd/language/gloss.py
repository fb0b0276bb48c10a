"""Translate a text word by word into English, for embedders that only support English.

A gloss is not a full translation. Word order and grammar are unchanged, and function words are dropped. Unknown words
are kept if they are in Latin script and omitted otherwise. This is enough to match a prompt with keys in English.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memoryd.core.text import CJK, CJK_RANGES
from memoryd.language.cues import language
from memoryd.language.stems import CYRILLIC, is_foreign

GLOSSARY_FILE = Path(__file__).with_name("glossary.txt")
READ = 2_000
LONGEST = 600
LONGEST_WORD = 40
# Minimum length of a prefix (shorter entries must match whole words, except in highly inflected languages), maximum
# length of the rest of the word, and minimum lengths of a compound and its parts.
SHORTEST_STEM = 4
SHORTEST_INFLECTED, SHORT_ENDING = 3, 3
LONGEST_ENDING = 6
COMPOUND, PART = 8, 4
# Maximum number of senses per word, and how many of them a gloss contains.
MAX_SENSES, SENSES = 4, 2
GLOSSES_KEPT = 8_192  # Also the size of the key cache.
COLUMNS = ("de", "fr", "es", "pt", "it", "nl", "pl", "ru", "zh", "ja")
_ASKING = frozenset({"where", "when", "why", "how", "how many"})
_INFLECTED = frozenset({"pl", "ru"})
_SCRIPTS = frozenset({"ko", "ja", "zh", "ru"})
# Names in such a script are often written without a space before the next word or particle ("npm을", "使用npm安装").
_TOKEN = re.compile(
    rf"[{CJK_RANGES}]{{1,400}}|[^\W\d_](?:(?![{CJK_RANGES}])[\w./-]){{0,80}}|\d(?:(?![{CJK_RANGES}])[\w.]){{0,40}}"
)
_LATIN_WORD = re.compile(r"[^\W\d_]{1,40}")
_IDENTIFIER = re.compile(r"[a-z][A-Z]|_|\.\w")
_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿]")


Senses = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Glossary:
    of: dict[str, dict[str, Senses]]  # By language. "" applies to any language.
    little: dict[str, frozenset[str]]
    longest: int  # For words in scripts without spaces.


@lru_cache(maxsize=GLOSSES_KEPT)
def gloss(text: str) -> str:
    """Return the text in English words.

    Returns an empty text for English, and for text without any known word.
    """
    return " ".join(english for of_word in senses(text) for english in of_word[:SENSES])[:LONGEST]


@lru_cache(maxsize=GLOSSES_KEPT)
def senses(text: str) -> tuple[Senses, ...]:
    """Return the possible English meanings of each word, likelier ones first.

    Returns an empty list if the gloss is empty.
    """
    head = text[:READ]
    code = _language_of(head)
    if code == "en" or (code in _SCRIPTS and not is_foreign(head)):
        return ()
    known, found = _glossary(), False
    little = known.little.get(code, frozenset())
    out: list[Senses] = []
    for token in _TOKEN.findall(head):
        if CJK.search(token):
            words = _of_signs(token, code, known)
        elif _IDENTIFIER.search(token):
            words = []
        else:
            words = _of_word(_folded(token).strip("-./"), code, known, little)
            if words == [()]:
                continue
        found = found or bool(words)
        out += words or ([] if CYRILLIC.search(token) or CJK.search(token) else [(token,)])
    return tuple(out) if found else ()


def in_english(key: str) -> str:
    """Return the key in a form that an English embedder can process.

    A key in an unknown script is replaced by its gloss, if there is one.
    """
    return (gloss(key) or key) if is_foreign(key) else key


def is_readable(key: str) -> bool:
    """Return whether an English embedder can process the key."""
    return not is_foreign(key) or bool(gloss(key))


def _language_of(text: str) -> str:
    """Detect the language by its script, or else by its function words. The default is English."""
    code = language(text)
    if code in _SCRIPTS:
        return code
    words = [_folded(word) for word in _LATIN_WORD.findall(text)]
    little = _glossary().little
    scores = {code: sum(word in of for word in words) for code, of in little.items() if code not in _SCRIPTS}
    best = max(scores, key=lambda code: scores[code])
    if scores[best] > scores["en"]:
        return best
    return "en" if scores["en"] else code


@lru_cache(maxsize=1)
def _glossary() -> _Glossary:
    of: dict[str, dict[str, list[tuple[int, str]]]] = {code: {} for code in ("", "ko", *COLUMNS)}
    little: dict[str, frozenset[str]] = {}
    for line in GLOSSARY_FILE.read_text("utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        if line[2:4] == "= ":
            little[line[:2]] = frozenset(_words_of(line[4:]))
        elif "|" in line:
            english, *columns = (part.strip() for part in line.split("|"))
            for code, words in zip(COLUMNS, columns, strict=False):
                for place, word in enumerate(_words_of(words)):
                    of[code].setdefault(word, []).append((place, english))
        else:
            english, _, others = line.partition(": ")
            for word in others.split():
                word, _, code = word.partition("/")
                of[code].setdefault(_words_of(word)[0], []).append((LONGEST, english))
    # A foreign word is listed first where the English word is its main meaning.
    read = {code: {word: _senses_of(found) for word, found in words.items()} for code, words in of.items()}
    return _Glossary(read, little, max(len(word) for words in read.values() for word in words if CJK.search(word)))


def _senses_of(found: list[tuple[int, str]]) -> Senses:
    return tuple(dict.fromkeys(english for _, english in sorted(found)))[:MAX_SENSES]


def _words_of(words: str) -> list[str]:
    return (words if CJK.search(words) else _folded(words)).split()


def _folded(word: str) -> str:
    """Return the word in lower case without accents."""
    if word.isascii():
        return word.lower()
    folded = word.casefold().replace("ł", "l").replace("ø", "o")
    return "".join(sign for sign in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(sign))


def _of_word(word: str, code: str, known: _Glossary, little: frozenset[str]) -> list[Senses]:
    """Return the senses of a word.

    Function words yield one entry without senses. Unknown words yield no entry.
    """
    own, common = known.of.get(code, {}), known.of[""]
    found = own.get(word) or common.get(word) or ()
    if word in little:
        return [tuple(english for english in found if english in _ASKING)]
    if found:
        return [found]
    if len(word) > LONGEST_WORD or not word.replace("-", "").isalpha():  # Identifiers are the same in English.
        return []
    for words in (own, common):
        if found := _by_beginning(word, words, code in _INFLECTED):
            return [found]
    return _parts(word, own, common) if len(word) >= COMPOUND else []


def _by_beginning(word: str, words: dict[str, Senses], inflected: bool) -> Senses:
    """Return the senses of the longest known prefix of the word."""
    for length in range(len(word) - 1, max(SHORTEST_STEM, len(word) - LONGEST_ENDING) - 1, -1):
        if found := words.get(word[:length]):
            return found
    short = inflected and SHORTEST_INFLECTED < len(word) <= SHORTEST_INFLECTED + SHORT_ENDING
    return words.get(word[:SHORTEST_INFLECTED], ()) if short else ()


def _parts(word: str, own: dict[str, Senses], common: dict[str, Senses]) -> list[Senses]:
    """Return the senses of the longest known parts of a compound, from left to right.

    Unknown text between the parts is omitted.
    """
    out, at = [], 0
    while at < len(word):
        for end in range(len(word), at + PART - 1, -1):
            if found := own.get(word[at:end]) or common.get(word[at:end]):
                out.append(found)
                at = end
                break
        else:
            at += 1
    return out


def _of_signs(run: str, code: str, known: _Glossary) -> list[Senses]:
    """Return the senses of the longest known pieces of a text without spaces, from left to right."""
    own, common = known.of.get(code, {}), known.of[""]
    little = known.little.get(code, frozenset())
    pieces: list[tuple[str, Senses]] = []
    at = 0
    while at < len(run):
        pieces.append(_longest(run[at : at + known.longest], own, common, little))
        at += len(pieces[-1][0])
    unknown = [not found and piece not in little and _HAN.match(piece) is not None for piece, found in pieces]
    near = [before or after for before, after in zip([False, *unknown], [*unknown[1:], False], strict=False)]
    # A single character next to an unknown one is probably part of a word missing from the glossary.
    doubted = [
        beside and len(piece) == 1 and _HAN.match(piece) is not None for (piece, _), beside in zip(pieces, near, strict=True)
    ]
    return [found for (_, found), doubt in zip(pieces, doubted, strict=True) if found and not doubt]


def _longest(run: str, own: dict[str, Senses], common: dict[str, Senses], little: frozenset[str]) -> tuple[str, Senses]:
    """Return the longest known piece at the start of the run, with its senses.

    Function words and unknown characters have no senses.
    """
    for length in range(len(run), 0, -1):
        piece = run[:length]
        if found := own.get(piece) or common.get(piece):
            return piece, found
        if piece in little:
            return piece, ()
    return run[:1], ()
