"""Reasons to reject a statement regardless of its cues. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from memoryd.daydream.offline.acts import is_rule, quotes_a_rule
from memoryd.daydream.offline.cues import USER_CUES, WISH_CUES
from memoryd.daydream.offline.sentences import size
from memoryd.daydream.offline.units import Unit
from memoryd.daydream.secret_rules import MARK

MIN_WORDS, MAX_WORDS = 4, 60
# With one of these words, a request covers more than the next step.
_LASTING = frozenset({"prohibition", "standing rule", "wish", "alternative", "reason", "condition"})
# With one of these words, even a question can request something lasting.
_LASTING_QUESTION = _LASTING - {"reason", "condition"}
# With one of these words, a user's question expresses a wish ("why not X instead of Y?").
_TELLING = frozenset({"alternative", "wish", "prohibition", "standing rule"})


_FAREWELL = re.compile(
    r"^(?:ok(?:ay)?|great|perfect|good|so|well|thanks?(?: you)?|thx|danke|merci|gracias|спасибо|谢谢|[\s,.!])*"
    r"(?:that'?s (?:it|all|enough)|that is (?:it|all)|(?:good|see|talk) (?:night|you|to you)|bye|i'?m done|we'?re done|"
    r"done for|"
    r"das war'?s|bis morgen|c'est tout|eso es todo|на сегодня всё|это всё|就这样|今天就到这)",
    re.IGNORECASE,
)


def is_farewell(text: str) -> bool:
    """Return whether the text merely ends the session, as in "that's it for today"."""
    return size(text) <= 10 and bool(_FAREWELL.match(text))


def asks(text: str) -> bool:
    """Return whether the text ends with a question."""
    return text.rstrip().endswith(("?", "？"))


_WHETHER_NOT = re.compile(
    r"\b(?:should|could|would|can|do|does|did|is|are|was|were|has|have|had|will|must)n['’]?t "
    r"(?:the|a|an|this|that|these|those|it|we|you|they|there|I|he|she|our|your|my)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"[(（][^()（）]*[)）][.。!?！？]?")


def asks_whether_not(text: str) -> bool:
    """Return whether the text is a question that starts with a negation.

    "Shouldn't the cache be reused?" is not a prohibition.
    """
    return asks(text) and not re.search(r"\bwhy\b", text, re.IGNORECASE) and bool(_WHETHER_NOT.search(text))


def is_aside(text: str) -> bool:
    """Return whether a pair of brackets encloses the whole text, which makes it an aside."""
    return bool(_ASIDE.fullmatch(text.strip()))


def unfit(unit: Unit) -> str:
    """Return why a unit can't be a memory regardless of its cues, or an empty string if it can."""
    if MARK in unit.text:
        return "held a secret"
    if unit.by_user and quotes_a_rule(unit.text):
        return "quote"
    if unit.by_user and not unit.pasted and is_rule(unit.text):
        return ""
    if not MIN_WORDS <= size(unit.text) <= MAX_WORDS:
        return "length"
    checks = USER_CHECKS if unit.by_user else AGENT_CHECKS
    return next((reason for reason, refuses in checks if refuses(unit)), "")


def _only_requests(unit: Unit) -> bool:
    lasting = _LASTING_QUESTION if "noise question" in unit.cues else _LASTING
    return "noise request" in unit.cues and not unit.cues & lasting and unit.turn.via != "answer"


def _only_asks(unit: Unit) -> bool:
    """Return whether the unit only asks about facts.

    Even a question answered with yes needs a word that turns it into a statement.
    """
    if unit.turn.via == "answer":
        return asks(unit.turn.text)
    if "noise question" not in unit.cues:
        return False
    telling = _TELLING - {"prohibition"} if asks_whether_not(unit.text) else _TELLING
    states_something = unit.cues & telling or ("agreed" in unit.cues and unit.cues & USER_CUES.keys())
    return not states_something or (asks(unit.text) and "noise report" in unit.cues and "alternative" not in unit.cues)


def _only_reports(unit: Unit) -> bool:
    """Return whether the unit only reports a recent event, without a wish or a definite reason."""
    reasoned = "reason" in unit.cues and "noise uncertain" not in unit.cues
    return "noise report" in unit.cues and not unit.cues & WISH_CUES and not reasoned and unit.turn.via != "answer"


def _is_only_a_guess(unit: Unit) -> bool:
    """Return whether the user is unsure and gives no wish, reason or condition."""
    said = unit.cues & (WISH_CUES | {"reason", "condition"})
    return "noise uncertain" in unit.cues and not said and unit.turn.via != "answer"


def _has_noise(name: str, unit: Unit) -> bool:
    return f"noise {name}" in unit.cues


def _is_unfinished(unit: Unit) -> bool:
    """Return whether the unit is the start of a list, or an incomplete title written by the user."""
    return unit.text.endswith((":", "：", " ...", " …") if unit.by_user else (":", "："))


def _says_too_little(unit: Unit) -> bool:
    return {"bare", "no identifier"} <= unit.cues


def _lacks_subject(unit: Unit) -> bool:
    return _has_noise("no subject", unit) and not unit.cues & WISH_CUES


def _is_pasted(unit: Unit) -> bool:
    return unit.pasted and not unit.cues & WISH_CUES


def _opens_with_task(unit: Unit) -> bool:
    """Return whether the unit is the opening task of a session, without a lasting rule."""
    wanted = unit.cues & {"noise request", "noise task", "noise question"}
    return "first message" in unit.cues and bool(wanted) and not unit.cues & {"prohibition", "standing rule"}


def _is_passing(unit: Unit) -> bool:
    """Return whether the unit applies only at the moment and gives no reason."""
    return _has_noise("transient", unit) and not unit.cues & {"root cause", "fix", "contrast"}


Check = tuple[str, Callable[[Unit], bool]]


def _noise(*names: str) -> tuple[Check, ...]:
    return tuple((name, partial(_has_noise, name)) for name in names)


# Pairs of a reason and a check. The first check that succeeds determines the reason.
USER_CHECKS: tuple[Check, ...] = (
    ("farewell", lambda unit: is_farewell(unit.text)),
    ("aside", lambda unit: is_aside(unit.text)),
    *_noise("terminal", "quote", "for this task"),
    ("question", _only_asks),
    ("unfinished", _is_unfinished),
    ("request", _only_requests),
    ("report", _only_reports),
    ("guess", _is_only_a_guess),
    ("says too little", _says_too_little),
    ("no subject", _lacks_subject),
    ("pasted", _is_pasted),
    ("task", _opens_with_task),
)
AGENT_CHECKS: tuple[Check, ...] = (
    *_noise("question", "promise", "offer", "no subject", "speaks of itself"),
    ("unfinished", _is_unfinished),
    ("transient", _is_passing),
)
