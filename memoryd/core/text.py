"""Pure functions to tokenise, normalise and measure text."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Set as AbstractSet

CJK_RANGES = "぀-ヿ㐀-䶿一-鿿豈-﫿가-힯"
CJK = re.compile(f"[{CJK_RANGES}]")
_CJK_RUN = re.compile(f"[{CJK_RANGES}]+")
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPACE = re.compile(r"\s+")
# Control characters except tab and line feed, direction overrides, lone surrogates and invisible tag characters.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")

STOP_WORDS = frozenset(
    """a an the and or but of to in on at by for from with as is are was were be been being it its this that these those
    there here then than so such into over under up out about via per they them he she his her you your we our us i me my
    do does did has have had will would can could should may might must shall if when while because since which who whom
    what where how why also only just more most very now already still again too own same other some any all both each
    s t re ve ll d m""".split()
)


def normalise(text: str) -> str:
    """Normalise a statement for comparison: NFKC, case-folded, single spaces, no final full stop."""
    return _SPACE.sub(" ", case_folded(text)).strip().rstrip(".!。！ ")


def case_folded(text: str) -> str:
    """Return the text in the Unicode form NFKC, case-folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def words(text: str) -> list[str]:
    """Split a text into case-folded words. Identifiers are split at case changes, and CJK runs into pairs of characters."""
    out: list[str] = []
    for run in _CJK_RUN.findall(text):
        out += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    rest = _CAMEL.sub(" ", _CJK_RUN.sub(" ", text))
    return out + [word.casefold() for word in _WORD.findall(rest)]


def keywords(text: str) -> list[str]:
    """Return the distinct words, without stop words, in order of appearance."""
    return list(dict.fromkeys(w for w in words(text) if w not in STOP_WORDS and (len(w) > 1 or w.isdigit())))


def token_count(text: str) -> int:
    """Estimate the number of model tokens, at 4 characters of Latin text or 1 CJK character each.

    Overestimates by a few per cent.
    """
    wide = len(CJK.findall(text))
    return wide + -(-(len(text) - wide) // 4)


def shorten(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters, at a word boundary where possible, and add an ellipsis."""
    if len(text) <= limit:
        return text
    cut = text[: max(0, limit - 1)]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip() + "…"


def digest(*parts: str) -> str:
    """Return the hexadecimal SHA-256 digest of the parts and their lengths."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(f"{len(data)}:".encode())
        hasher.update(data)
    return hasher.hexdigest()


# Similarities of two word sets, from 0 to 1. All are 0 if either set is empty. `memoryd.language` documents which one
# to use for what.


def jaccard(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """Return the size of the intersection relative to that of the union (Jaccard 1912). Every additional word lowers it."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def dice(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """Return the size of the intersection relative to the mean size of the sets (Dice 1945). This equals the F1 score."""
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def containment(part: AbstractSet[str], whole: AbstractSet[str]) -> float:
    """Return the share of `part` found in `whole` (Broder 1997)."""
    return len(part & whole) / len(part) if part else 0.0


def overlap_coefficient(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """Return the share of the smaller set found in the larger set (Szymkiewicz-Simpson)."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def visible(text: str) -> str:
    """Make a text safe to display by replacing characters that move the cursor, reverse the line or hide text."""
    return _UNSHOWN.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Replace each run of whitespace with a single space."""
    return _SPACE.sub(" ", text).strip()
