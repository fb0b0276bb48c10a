"""From the words of a conversation to a sentence that is understood without it. Pure functions.

Only what can be done soundly: questions around a statement and a denial before a correction go, and "it" in a
correction becomes what the corrected claim was about. Everything else stays in the speaker's words.
"""

from __future__ import annotations

import re

from memoryd.daydream.heuristic.explicit import asks, is_correction
from memoryd.daydream.heuristic.sentences import sentences, size, statements
from memoryd.daydream.heuristic.units import Unit
from memoryd.text import CJK

LEAST_WORDS = 5
# A denial that stands apart ("No, …"); "No tests may …" is none.
_DENIAL = re.compile(
    r"^(?:(?:no|nope|wrong|actually|sorry|that'?s (?:wrong|not (?:right|true|correct))|not (?:quite|true)|nein|falsch|"
    r"(?:das )?stimmt nicht|non|faux|c'est faux|incorrecto|нет|неправильно|не так)(?:\s*[,.:;!—–]+|\s+-)\s*)+|"
    r"^(?:不对?|不是的?|错了?)[，,。！!]\s*",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"^(?:it|that|this)(?P<is>'s|s)?\b(?! (?:is|was) not\b)", re.IGNORECASE)
_WRONG_VALUE = re.compile(
    r"\b(?:not|instead of|rather than|no longer)(?: (?:on|at|in|to|from|the|a|an|with|by|called|named))*"
    r" `?(?P<value>[\w./:-]*\w)`?",
    re.IGNORECASE,
)
# "The staging database runs on 5432": what a claim is about, up to its verb.
_ABOUT = re.compile(
    r"^(?P<about>(?:the|our|your|this|its) [\w`'/. -]{2,60}?) (?:is|are|was|were|runs?|listens?|lives?|lies|uses?|points?|"
    r"stands?|sits?|comes?|goes|works?|needs?|starts?|reads?|writes?|has|stores?|expects?)\b",
    re.IGNORECASE,
)


def stated(unit: Unit) -> str:
    """The content of a memory for a unit."""
    if unit.turn.via == "answer":
        return worded(unit.text)
    text = without_questions(unit.text)
    if unit.by_user and is_correction(text):
        text = corrected(text, unit.before)
    return worded(text)


def corrected(text: str, before: str) -> str:
    """A correction without its denial, and with the thing that it is about, as the corrected text `before` names it."""
    match = _DENIAL.match(text)
    rest = text[match.end() :] if match else text
    if size(rest) < LEAST_WORDS - 1:
        return text
    pronoun = _PRONOUN.match(rest)
    about = _about(rest, before) if pronoun else ""
    if pronoun is None:
        return rest
    if not about:
        return text
    return f"{about}{' is' if pronoun['is'] else ''}{rest[pronoun.end() :]}"


def _about(correction: str, before: str) -> str:
    """The subject of the last claim that holds the value which the correction calls wrong, or empty."""
    wrong = _WRONG_VALUE.search(correction)
    if not wrong:
        return ""
    value = re.compile(rf"(?<![\w.]){re.escape(wrong['value'])}(?!\w)", re.IGNORECASE)
    claims = [_ABOUT.match(claim.text) for claim in statements(before) if value.search(claim.text)]
    subjects = [match["about"] for match in claims if match]
    return f"{subjects[-1][:1].upper()}{subjects[-1][1:]}" if subjects else ""


def worded(text: str) -> str:
    """As a sentence: a capital letter unless it starts with a name in code, a full stop."""
    text = text.strip().rstrip(" :：,;，；-—")
    head = text[:1]
    if head.isascii() and head.islower() and re.match(r"[a-z]+(?:'[a-z]+)?[ ,]", text):
        text = head.upper() + text[1:]
    if not text or text[-1] in ".!?。！？…`\"')":
        return text
    return text + ("。" if CJK.match(text[-1]) else ".")


def without_questions(text: str) -> str:
    """Without the questions before and after a statement, which it does not need; a text of questions only stays."""
    parts = sentences(text)
    said = [n for n, part in enumerate(parts) if not asks(part)]
    if not said or len(said) == len(parts) or sum(size(parts[n]) for n in said) < LEAST_WORDS:
        return text
    return " ".join(parts[said[0] : said[-1] + 1])
