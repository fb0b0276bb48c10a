"""Words, normal forms and sizes of text. Pure functions."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Set as AbstractSet

CJK = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯]")
_CJK_RUN = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯]+")
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPACE = re.compile(r"\s+")
# Controls but tab and line feed, signs that turn the direction of writing, lone surrogates, letters that no font shows.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")

STOP_WORDS = frozenset(
    """a an the and or but of to in on at by for from with as is are was were be been being it its this that these those
    there here then than so such into over under up out about via per they them he she his her you your we our us i me my
    do does did has have had will would can could should may might must shall if when while because since which who whom
    what where how why also only just more most very now already still again too own same other some any all both each
    s t re ve ll d m""".split()
)


def normalise(text: str) -> str:
    """The form in which two statements count as the same: NFKC, lower case, single spaces, no end stop."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SPACE.sub(" ", folded).strip().rstrip(".!。！ ")


def words(text: str) -> list[str]:
    """Lower-case words; identifiers are split at case changes, CJK runs become character bigrams."""
    out: list[str] = []
    for run in _CJK_RUN.findall(text):
        out += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    rest = _CAMEL.sub(" ", _CJK_RUN.sub(" ", text))
    return out + [word.casefold() for word in _WORD.findall(rest)]


def keywords(text: str) -> list[str]:
    """Words without stop words, duplicates removed, in order of appearance."""
    return list(dict.fromkeys(w for w in words(text) if w not in STOP_WORDS and (len(w) > 1 or w.isdigit())))


def token_count(text: str) -> int:
    """Estimate of model tokens: 4 characters of Latin text, 1 of CJK. Errs on the high side by a few per cent."""
    wide = len(CJK.findall(text))
    return wide + -(-(len(text) - wide) // 4)


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a word where possible, with an ellipsis when cut."""
    if len(text) <= limit:
        return text
    cut = text[: max(0, limit - 1)]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip() + "…"


def digest(*parts: str) -> str:
    """SHA-256 over the parts, each with its length, as hex."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(f"{len(data)}:".encode())
        hasher.update(data)
    return hasher.hexdigest()


# What two sets of words have in common, 0..1; nothing in common with an empty one. Which purpose takes which: `memoryd.language`.


def jaccard(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """What both have, of all that either has (Jaccard 1912): every word beyond counts against it."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def dice(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """What both have, of their mean size (Dice 1945), which is the F1 of the words of one as a guess at the other."""
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def containment(part: AbstractSet[str], whole: AbstractSet[str]) -> float:
    """The share of the first that the second has (Broder 1997): how far a long text says what a short one does."""
    return len(part & whole) / len(part) if part else 0.0


def overlap_coefficient(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """The share of the smaller one that the other has (Szymkiewicz and Simpson): whichever is the longer."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def visible(text: str) -> str:
    """The text as a terminal or a page may show it: a memory may quote what moves the cursor, turns the line around or hides."""
    return _UNSHOWN.sub("\ufffd", text)


def one_line(text: str) -> str:
    """White space folded to single spaces."""
    return _SPACE.sub(" ", text).strip()
