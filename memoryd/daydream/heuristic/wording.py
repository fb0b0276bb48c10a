"""From the words of a conversation to a sentence that is understood without it. Pure functions.

Only what can be done soundly: questions around a statement and a denial before a correction go, and "it" in a
correction becomes what the corrected claim was about. Everything else stays in the speaker's words.
"""

from __future__ import annotations

import re

from memoryd.daydream.heuristic.choices import picked, without_marks
from memoryd.daydream.heuristic.explicit import asks, is_correction
from memoryd.daydream.heuristic.sentences import sentences, size, statements
from memoryd.daydream.heuristic.units import Unit
from memoryd.text import CJK

LEAST_WORDS = 5
# Longer than this a message says more than which option it picks.
PICK_WORDS = 9
_WANTED = frozenset({"wish", "norm", "prohibition", "standing rule", "alternative", "proposal"})
# "I think we should …" is what the user wants; "I think the port is 80" is a guess and stays one.
_HEDGE = re.compile(
    r"^(?:(?:(?:I (?:do )?(?:think|guess|feel like|believe)|in my opinion|imh?o|personally|to be clear|honestly|basically)"
    r"(?: that)?\b|ich (?:finde|denke|glaube),?(?: dass)?\b|je pense que\b|creo que\b|(?:я )?думаю,?(?: что)?\b)[\s,]+|"
    r"我觉得[，,]?\s*)+"
    r"(?=(?:for now|we|you|it(?:'?s| is| would be) better|let'?s|this|that|the|a|an|all|each|every|never|always|there should|"
    r"wir|man|nous|on|il faut|hay que|нужно|надо|лучше)\b|[一-鿿])",
    re.IGNORECASE,
)
# "Key finding: …"
_LABEL = re.compile(
    r"^(?:(?:critical|key|important|main|interesting|new|final) (?:finding|insight|point|discovery|observation|takeaway|fact)|"
    r"finding|insight|takeaway|tl;?dr|fyi|note|erkenntnis|wichtig|hinweis|constat|вывод|важно|结论|关键发现|注意)\s*[:：—–]\s*",
    re.IGNORECASE,
)
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
    text = without_questions(chosen(unit.text) if unit.by_user else unit.text)
    if unit.by_user and is_correction(text):
        text = corrected(text, unit.before)
    return worded(without_opener(text, wanted=bool(unit.by_user and unit.cues & _WANTED)))


def chosen(text: str) -> str:
    """Of a short message that only picks an option, the option ("Let's take option 2: use a file" says "use a file")."""
    pick, colon, option = text.partition(": ")
    return without_marks(option) if colon and size(pick) <= PICK_WORDS and picked(pick) and size(option) >= LEAST_WORDS else text


def without_opener(text: str, wanted: bool) -> str:
    """Without the words before a statement that say nothing of it; "I think" goes only where something is `wanted`."""
    rest = _LABEL.sub("", text)
    rest = _HEDGE.sub("", rest) if wanted else rest
    return f"{rest[:1].upper()}{rest[1:]}" if rest != text and size(rest) >= LEAST_WORDS else text


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
