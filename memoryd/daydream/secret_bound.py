"""Find the passwords and keys in logs of SQL statements, where the values are listed apart from the names of the columns.

A statement with a placeholder for a credential is followed by its parameters, in order or with their numbers. All
windows are bounded, so the time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoryd.daydream.secret_values import ScannedText, is_placeholder
from memoryd.daydream.secret_words import MARK, Found

_NAME = (
    r"\w{0,40}(?:passw(?:or)?d|passwort|passwd|pwd|pass|kennwort|passphrase|mot_?de_?passe|mdp|contrase(?:ñ|n)a|clave|senha|"
    "secret|token|api_?key)"
)
_PLACE = r"(?:\?|\$\d{1,3}|%s|%\(\w{1,40}\)s|:\w{1,40}|@\w{1,40})"
_COLUMN = re.compile(rf"{_NAME}[\"'`\]]?\s{{0,3}}=\s{{0,3}}(?P<place>{_PLACE})(?![\w(])", re.IGNORECASE)
_INSERT = re.compile(
    r"\binsert\s{1,3}into\s{1,3}[^()\n]{1,100}\((?P<columns>[^()]{1,1000})\)\s{1,3}values\s{0,3}\([^()]{1,600}\)",
    re.IGNORECASE,
)
_IS_CREDENTIAL = re.compile(rf"[\s\"'`\[]{{0,4}}{_NAME}[\s\"'`\]]{{0,4}}", re.IGNORECASE)
_STATEMENT = re.compile(r"\b(?:update|select|delete|insert|merge)\b", re.IGNORECASE)
_ANY_PLACE = re.compile(r"\?|%s")
_NUMBER_OF = re.compile(r"\$(\d{1,3})")
# Parameters with their numbers: "binding parameter [1] as [VARCHAR] - [x]", "(1:VARCHAR) <- [x]", "$1 = 'x'".
_NUMBERED = re.compile(
    r"(?:parameter\s\[(?P<a>\d{1,3})\]\sas\s\[\w{1,20}\]\s-\s\[|parameter\s\((?P<b>\d{1,3}):\w{1,20}\)\s<-\s\[)"
    r"(?P<secret>[^\]\n]{4,200})\]|\$(?P<c>\d{1,3})\s=\s'(?P<quoted>[^'\n]{4,200})'"
)
# Parameters in order: "Parameters: x(String), 3(Long)", "args=('x', 3)", "with params ["x", 3]".
_TYPED = re.compile(r"parameters:\s(?P<list>[^\n]{4,600})", re.IGNORECASE)
_TYPED_VALUE = re.compile(r"(?P<secret>[^,\n]{1,200}?)\(\w{1,20}\)(?:,\s|$)|null(?:,\s|$)")
_LISTED = re.compile(
    r"(?:args\s?[=:]\s?|params\"?\s?[=:]?\s?|parameters\s?[=:]\s?|\]\s)[(\[](?P<list>[^\n]{4,600})", re.IGNORECASE
)
_LISTED_VALUE = re.compile(r"[ub]?(?P<quote>[\"'])(?P<secret>[^\"'\n]{0,200})(?P=quote)|(?P<plain>[^\s,\"'()\[\]]{1,60})")
_REACH = 800
_LONGEST = 1_500
_SHORTEST = 4
ANCHORS = frozenset("binding parameter parameters parameters: args args= params".split())


def find_bound(scanned: ScannedText) -> Iterator[Found]:
    """Yield the parameters of logged statements that are the values of credentials."""
    text = scanned.text
    if not scanned.has(ANCHORS):
        return
    for match in _COLUMN.finditer(text):
        scanned.deadline.check()
        number = _number(text, match.start(), match["place"])
        if number is not None:
            yield from _parameter(text, match.end(), number)
    for match in _INSERT.finditer(text):
        scanned.deadline.check()
        for number, column in enumerate(match["columns"].split(","), 1):
            if _IS_CREDENTIAL.fullmatch(column):
                yield from _parameter(text, match.end(), number)


def _number(text: str, at: int, place: str) -> int | None:
    """Return the number of the parameter for a placeholder, or None if it has a name, which its value will have, too."""
    if numbered := _NUMBER_OF.fullmatch(place):
        return int(numbered[1])
    if not _ANY_PLACE.fullmatch(place):
        return None
    begins = [found.start() for found in _STATEMENT.finditer(text, max(0, at - _LONGEST), at)]
    return len(_ANY_PLACE.findall(text, begins[-1], at)) + 1 if begins else None


def _parameter(text: str, at: int, number: int) -> Iterator[Found]:
    """Yield the parameter of this number that follows a statement."""
    end = min(len(text), at + _REACH)
    for found in _NUMBERED.finditer(text, at, end):
        if int(found["a"] or found["b"] or found["c"]) == number:
            yield from _value(text, *found.span("secret" if found["secret"] else "quoted"))
            return
    for whole, one in ((_TYPED, _TYPED_VALUE), (_LISTED, _LISTED_VALUE)):
        listed = whole.search(text, at, end)
        if listed is None:
            continue
        values = [*one.finditer(text, *listed.span("list"))]
        if number <= len(values) and values[number - 1]["secret"]:
            yield from _value(text, *values[number - 1].span("secret"))
        return


def _value(text: str, start: int, end: int) -> Iterator[Found]:
    value = text[start:end]
    if len(value) >= _SHORTEST and MARK not in value and not is_placeholder(value):
        yield start, end, "password"
