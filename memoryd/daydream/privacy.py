"""What a person keeps out of memory: `<private>` blocks, and secrets, before any extractor sees a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from memoryd.daydream.redact import redact
from memoryd.types import Passage, Turn

# Signs without a shape of their own, which copying puts between letters.
_HIDDEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
_OPENING, _CLOSING, _SLASH = "<＜﹤〈⟨‹❮", ">＞﹥〉⟩›❯", "/／∕⁄"
_GAP = rf"[\s{_HIDDEN}]{{0,8}}"
_LETTERS = (("p", "pｐ"), ("r", "rｒ"), ("i", "iｉ"), ("v", "vｖ"), ("a", "aａ"), ("t", "tｔ"), ("e", "eｅ"))
_NAME = rf"[{_HIDDEN}]{{0,3}}".join(f"[{spellings}{spellings.upper()}]" for _, spellings in _LETTERS)
_ATTRIBUTES = rf"[^{_OPENING}{_CLOSING}]{{0,300}}"
_PRIVATE = re.compile(
    rf"(?:[{_OPENING}]|&lt;){_GAP}(?P<close>(?:[{_SLASH}]{_GAP})?){_NAME}"
    rf"(?P<rest>(?:{_GAP}[{_SLASH}]{{0,1}}|[\s{_HIDDEN}:=]{_ATTRIBUTES}))(?:[{_CLOSING}]|&gt;)"
)


def strip_private(text: str) -> str:
    """Without `<private>` blocks, however they are spelled; one that is never closed reaches to the end. Blocks may be nested."""
    return "".join(_outside(text, to_the_end=True))


def strip_whole_private(text: str) -> str:
    """Without the blocks that are closed: in a text that is not the user's, a lone tag is only talked about."""
    return "".join(_outside(text, to_the_end=False))


def _outside(text: str, *, to_the_end: bool) -> Iterator[str]:
    found = list(_PRIVATE.finditer(text)) if _may_hold_private(text) else []
    last_close = max((match.start() for match in found if match["close"]), default=-1)
    depth = start = 0
    for match in found:
        # "<private key>" may be a placeholder: words without a sign of an attribute need a closing tag.
        words_only = match["rest"].strip(f" \t\n{_SLASH}") and not re.search("[:=]", match["rest"])
        if words_only and not match["close"] and match.start() > last_close:
            continue
        if depth == 0:
            yield text[start : match.start()]
            start = match.start()
        depth = max(0, depth - 1) if match["close"] else depth + 1
        if depth == 0:
            start = match.end()
    if depth == 0 or not to_the_end:
        yield text[start:]


def _may_hold_private(text: str) -> bool:
    """Whether a text holds what every tag needs; most texts don't, and are not walked through sign by sign."""
    if not any(sign in text for sign in (*_OPENING, "&lt;")):
        return False
    return not text.isascii() or "private" in text.lower()


def redacted_passage(passage: Passage) -> Passage:
    """The passage with each turn redacted as a whole: once a text is cut, half a secret is not recognised."""
    return replace(passage, turns=_redacted(passage.turns), context=_redacted(passage.context))


def _redacted(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    return tuple(replace(turn, text=redact(turn.text).text, detail=redact(turn.detail).text) for turn in turns)
