"""Find the definition of a name in source code, using the forms of definitions in common languages.

A definition is the line that introduces the name, and everything indented below it. This works for conventionally
formatted code with indentation or braces, without a grammar per language.
"""

from __future__ import annotations

import re

from memoryd.core.text import digest

MAX_BODY_LINES = 2_000
_WORDS = (
    "def|class|function|func|fn|fun|struct|enum|trait|interface|type|typedef|module|namespace|object|record|const|let|var|val|"
    "static|sub|macro_rules!|package|protocol|extension|impl|table|view|procedure|service|message|rpc|resource|variable|task"
)
_BEFORE = r"^(?P<indent>[ \t]{0,40})(?:[\w@.*&:<>\[\],?!()\"-]{1,60}[ \t]{1,4}){0,6}?"
_CLOSES = re.compile(r"[ \t]{0,40}(?:[)\]}]|end\b|esac\b|done\b|fi\b)")
_OPENS = re.compile(r"[:({\[]\s*$|=>\s*$")
_NAME = re.compile(r"[A-Za-z_$][\w$]{1,80}")


def definition(source: str, name: str) -> str | None:
    """Return the text of the first definition of a name, or None."""
    if not _NAME.fullmatch(name) or name not in source:
        return None
    lines = source.splitlines()
    shapes = _shapes(name)
    for number, line in enumerate(lines):
        if name in line and any(shape.match(line[:400]) for shape in shapes):
            return "\n".join(_body(lines, number))
    return None


def _shapes(name: str) -> tuple[re.Pattern[str], ...]:
    word = re.escape(name)
    receiver, type_words, quoted = r"(?:\([^)]{0,80}\)[ \t]{0,4})?", r"(?:\w{1,20}[ \t]{1,4}){0,2}?", r"[\"`]?(?:\w{1,60}\.)?"
    annotation = r"[ \t]{0,20}(?::[^=\n]{0,80})?"
    return (
        # def name, pub async fn name, func (s *Store) Name, CREATE TABLE name, export const name
        re.compile(rf"{_BEFORE}(?:{_WORDS})[ \t]{{1,4}}{receiver}{type_words}{quoted}{word}(?![\w$])", re.IGNORECASE),
        # name = 3, name: int = 3, NAME := 3, name: { and keys of configuration files, with little or no indentation
        re.compile(rf"^[ \t]{{0,8}}(?:export[ \t]+|readonly[ \t]+)?[\"']?{word}[\"']?{annotation}(?:=(?!=)|:=|:(?!:))"),
        # int name(…) { and name(…) { in C, Java and JavaScript classes
        re.compile(rf"^[ \t]{{0,8}}(?:[\w<>\[\],*&:]{{1,60}}[ \t]{{1,4}}){{0,5}}\*?{word}[ \t]?\([^;]{{0,300}}\{{[ \t]*$"),
        # name() { in shell scripts
        re.compile(rf"^[ \t]{{0,8}}{word}[ \t]?\(\)[ \t]*\{{?"),
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _body(lines: list[str], first: int) -> list[str]:
    out, depth = [lines[first]], _indent(lines[first])
    for line in lines[first + 1 : first + MAX_BODY_LINES]:
        if line.strip() and _indent(line) <= depth:
            if not _CLOSES.match(line):
                break
            out.append(line)
            if not _OPENS.search(line):
                break
            continue
        out.append(line)
    while not out[-1].strip():
        out.pop()
    return out


def body_digest(body: str) -> str:
    """Return a digest of a definition, ignoring whitespace."""
    return digest(" ".join(body.split()))[:16]


def holds_text(source: str, text: str) -> bool:
    """Return whether a line of the source contains the text, ignoring whitespace."""
    return " ".join(text.split()) in " ".join(source.split())


def alike(one: str, other: str) -> float:
    """Return the share of lines that two texts have in common, from 0 to 1."""
    left, right = ({line.strip() for line in text.splitlines()} - {""} for text in (one, other))
    return len(left & right) / max(1, len(left | right))
