"""From the words of a conversation to a sentence that is understood without it. Pure functions.

Only what can be done soundly: questions around a statement and a denial before a correction go, and "it" in a
correction becomes what the corrected claim was about. Everything else stays in the speaker's words.
"""

from __future__ import annotations

import re

from memoryd.daydream.heuristic.acts import LEAST_WORDS, worded
from memoryd.daydream.heuristic.choices import picked, without_marks
from memoryd.daydream.heuristic.sentences import sentences, size
from memoryd.daydream.heuristic.unfit import asks
from memoryd.daydream.heuristic.units import Unit

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


def stated(unit: Unit) -> str:
    """The content of a memory for a unit."""
    if unit.turn.via == "answer":
        return worded(unit.text)
    text = without_questions(chosen(unit.text) if unit.by_user else unit.text)
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


def without_questions(text: str) -> str:
    """Without the questions before and after a statement, which it does not need; a text of questions only stays."""
    parts = sentences(text)
    said = [n for n, part in enumerate(parts) if not asks(part)]
    if not said or len(said) == len(parts) or sum(size(parts[n]) for n in said) < LEAST_WORDS:
        return text
    return " ".join(parts[said[0] : said[-1] + 1])
