"""What the user picked: "option 2" or "the second one", read against the list that the assistant offered. Pure functions."""

from __future__ import annotations

import re

from memoryd.daydream.heuristic.sentences import plain, sentences, statements, without_code
from memoryd.text import one_line, shorten
from memoryd.types import Turn

_NAMES = {"first": "1", "second": "2", "third": "3", "fourth": "4", "a": "1", "b": "2", "c": "3", "d": "4"}
_PICK = re.compile(
    r"\b(?:options?|choice|approach|variante?|opci[oó]n|вариант)\s*#?(?P<number>\d|[a-d])\b|(?:选项|方案|选)\s*(?P<han>\d)"
    r"|\bthe (?P<ordinal>first|second|third|fourth) (?:one|option|approach)\b|^\s*(?P<bare>\d)(?=\s*[.,!]?\s*$|"
    r"\s+(?:please|does|is|sounds|looks|seems)\b)",
    re.I,
)
_REFUSED = re.compile(
    r"n't\b|\b(?:not|dont|without|never|avoid|against|"
    r"instead|rather|why|what|how|compare|difference|between|versus|vs)\b|\?|不|吗|为什么|не |"
    r"kein|pas\b|no me\b",
    re.I,
)
_DETAIL_CHARS = 220
# "(recommended)", and the "or" that leads to the next option.
_TAIL = re.compile(
    r"\s{0,8}\((?:recommended|empfohlen|recommandé|recomendad[oa]|рекомендуется|推荐)\)|[,;]? (?:or|oder|ou|или)\W{0,40}$", re.I
)


def picked(text: str) -> str:
    """The number of the option that a short message picks, or empty. A message that doubts or asks picks nothing."""
    match = _PICK.search(text)
    if not match or len(text) > 400 or _REFUSED.search(text[: match.end() + 60]):
        return ""
    found = next(value for value in match.groups() if value)
    return _NAMES.get(found.lower(), found)


def offered(text: str, number: str) -> str:
    """The option's title and first statement in the assistant's text, or empty when it offered no such list."""
    lines = without_code(text).splitlines()
    letter = chr(ord("a") + int(number) - 1) if number != "0" else "0"
    named = re.compile(
        rf"^[\W_]*(?:option|choice|approach|variante?|opci[oó]n|вариант|选项|方案)\s*(?:{number}|{letter})\s*(?:[:.)—–-]|"
        rf"\*\*|$)[\W_]*(?P<title>.*)$",
        re.I,
    )
    listed = re.compile(rf"^\s*(?:#+\s*)?(?:\*\*)?{number}[.)]\s*(?P<title>.+)$")
    for pattern, which in ((named, 0), (listed, -1)):
        places = [index for index, line in enumerate(lines) if pattern.match(line)]
        if places:
            return _with_detail(lines, places[which], pattern)
    return ""


def _with_detail(lines: list[str], index: int, pattern: re.Pattern[str]) -> str:
    match = pattern.match(lines[index])
    title = plain(match.group("title")).strip(" :-—") if match else ""
    below = statements("\n".join(lines[index + 1 : index + 8]))
    detail = below[0].text.rstrip(":") if below and len(title) < 80 and not below[0].text.endswith("?") else ""
    text = f"{title}. {detail}" if title and detail else title or detail
    return shorten(without_marks(text), _DETAIL_CHARS)


def without_marks(option: str) -> str:
    """An option's text without "(recommended)" and without the "or" that leads to the next one."""
    return _TAIL.sub("", option)


_ASKS_LEAVE = re.compile(
    r"\b(?:should|shall|may|can) (?:I|we)\b(?! (?:use|store|keep|support|name|call|put))|"
    r"\b(?:do|would) you (?:want|like) (?:me|us)\b|"
    r"\bready to\b|\bsoll ich\b|\bdois-je\b|\b(?:debo|quieres que)\b|\bмне (?:сделать|начать|продолжить)|"
    r"(?:需|想)?要我|我(?:可以|应该)",
    re.I,
)
_LEAVE = re.compile(
    r"^\W*(?:(?:yes|no|ok(?:ay)?|sure|skip|go ahead|proceed|continue|later|not now|cancel|stop|wait|ja|nein|oui|non|sí|"
    r"да|нет)\b|"
    r"是的?|好的?|可以|不用|继续|跳过)",
    re.I,
)


def only_permits(turn: Turn) -> bool:
    """Whether an answer only says that a step may, or may not, be taken now."""
    return bool(_ASKS_LEAVE.search(turn.detail) and _LEAVE.match(turn.text))


def decided(turn: Turn) -> str:
    """Question and answer as one statement; of the question only what is asked, where the answer explains itself."""
    question = one_line(turn.detail)
    asked = [part for part in sentences(question) if part.endswith(("?", "？"))]
    explained = ": " in turn.text and asked
    return one_line(f"{asked[0] if explained else question} {turn.text}")


# A choice with so many words beside its name says what was chosen.
EXPLAINED = 5


def is_choice(turn: Turn) -> bool:
    """Whether the user chose one of the assistant's options by its name, and the option says what it means."""
    label, _, detail = turn.text.partition(": ")
    explained = len(detail.split()) >= EXPLAINED or len(detail) >= 4 * EXPLAINED
    return turn.via == "answer" and turn.offered and explained and not only_permits(turn) and not _LEAVE.match(label)
