"""Statements of a Markdown text: its bullets and paragraphs, each with the headings above it.

Lines are read one by one, so the time is linear in the length of the text. Front matter, HTML comments, tables and images are
skipped. A code block belongs to the statement before it, if that ends with a colon, or else to its heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

SECTION_BEGIN = "<!-- memoryd:begin -->"
SECTION_END = "<!-- memoryd:end -->"
MAX_CODE_LINES = 40
_FENCE = re.compile(r"\s{0,12}(`{3,20}|~{3,20})")
_HEADING = re.compile(r"\s{0,3}(?P<level>#{1,6})\s+(?P<title>.{1,300})")
_BULLET = re.compile(r"(?P<indent>\s{0,40})(?:[-*+]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>\S.*)")
_RULE = re.compile(r"\s{0,3}(?:[-*_]\s?){3,80}$")
_SKIPPED = re.compile(r"\s{0,3}(?:\||!\[|<(?!private)/?[a-zA-Z])")
_FRONT_MATTER = re.compile(r"\A\ufeff?-{3}[ \t]*\n.*?^-{3}[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MarkdownStatement:
    """One bullet or paragraph.

    Attributes:
        text: The text on one line, except for a code block that belongs to it.
        headings: The headings above it, outermost first.
        line: Number of its first line.
        is_bullet: Whether it is an item of a list.
    """

    text: str
    headings: tuple[str, ...] = ()
    line: int = 0
    is_bullet: bool = False


@dataclass(slots=True)
class _Open:
    """A statement of which more lines may follow."""

    lines: list[str]
    line: int
    indent: int = -1
    parent: str = ""

    def text(self) -> str:
        joined = " ".join(line.strip() for line in self.lines if line.strip())
        return f"{self.parent} {joined}" if self.parent else joined


@dataclass(slots=True)
class _Reader:
    headings: list[tuple[int, str]] = field(default_factory=list)
    open: _Open | None = None
    leads: list[tuple[int, str]] = field(default_factory=list)
    waiting: MarkdownStatement | None = None
    code: list[str] | None = None
    fence: str = ""

    def titles(self) -> tuple[str, ...]:
        return tuple(title for _, title in self.headings)

    def close(self) -> Iterator[MarkdownStatement]:
        """End the open statement. One that ends with a colon waits, since a list or a code block may complete it."""
        done, self.open = self.open, None
        if done is None:
            return
        made = MarkdownStatement(done.text(), self.titles(), done.line, done.indent >= 0)
        self.waiting = None
        if made.text.endswith(":"):
            self.leads = [lead for lead in self.leads if lead[0] < done.indent] + [(done.indent, made.text)]
            self.waiting = made
        elif made.text:
            yield made

    def lead_of(self, indent: int) -> str:
        """Return the text that introduces a list at this indentation, if it ends with a colon."""
        self.leads = [lead for lead in self.leads if lead[0] < indent]
        return self.leads[-1][1] if self.leads else ""


def statements(text: str, *, exported: bool = False) -> Iterator[MarkdownStatement]:
    """Yield the statements of a Markdown text in order. `exported` includes the section that memoryd wrote into it."""
    front = _FRONT_MATTER.match(text)
    offset = text.count("\n", 0, front.end()) if front else 0
    body = text[front.end() :] if front else text
    reader = _Reader()
    for number, line in _visible_lines(body.split("\n"), exported):
        yield from _read_line(reader, line.rstrip("\r"), number + offset)
    if reader.code is not None:
        yield from _end_code(reader)
    yield from reader.close()


def _visible_lines(lines: Iterable[str], exported: bool) -> Iterator[tuple[int, str]]:
    """Yield numbered lines without HTML comments and, unless `exported`, without the section that memoryd wrote."""
    hidden = ""
    for number, line in enumerate(lines, 1):
        if hidden:
            if hidden not in line:
                continue
            line = line.partition(hidden)[2] if hidden == "-->" else ""
            hidden = ""
        elif line.strip() == SECTION_BEGIN and not exported:
            hidden = SECTION_END
            continue
        shown, hidden = _without_comments(line)
        yield number, shown


def _without_comments(line: str) -> tuple[str, str]:
    """Return the line without HTML comments, and the mark that ends a comment which continues on the next line."""
    parts, at = [], 0
    while (begin := line.find("<!--", at)) >= 0:
        parts.append(line[at:begin])
        end = line.find("-->", begin + 4)
        if end < 0:
            return "".join(parts), "-->"
        at = end + 3
    return "".join((*parts, line[at:])), ""


def _read_line(reader: _Reader, line: str, number: int) -> Iterator[MarkdownStatement]:
    fence = _FENCE.match(line)
    if reader.code is not None:
        if fence and fence[1].startswith(reader.fence):
            yield from _end_code(reader)
        else:
            reader.code.append(line)
        return
    if fence:
        yield from reader.close()
        reader.code, reader.fence = [], fence[1]
        return
    if heading := _HEADING.match(line):
        yield from reader.close()
        reader.waiting = None
        level = len(heading["level"])
        title = heading["title"].strip().rstrip("#").strip()
        reader.headings = [entry for entry in reader.headings if entry[0] < level] + [(level, title)]
        reader.leads = []
    elif not line.strip() or _RULE.match(line) or _SKIPPED.match(line):
        yield from reader.close()
    elif bullet := _BULLET.match(line):
        yield from reader.close()
        indent = len(bullet["indent"].expandtabs(4))
        reader.open = _Open([bullet["text"]], number, indent, reader.lead_of(indent))
    elif reader.open is not None:
        reader.open.lines.append(line)
    else:
        reader.leads = [] if not line.startswith((" ", "\t")) else reader.leads
        reader.open = _Open([line], number)


def _end_code(reader: _Reader) -> Iterator[MarkdownStatement]:
    """Attach a code block to the statement that introduces it, or to the heading if nothing was said since."""
    code, reader.code = (reader.code or [])[:MAX_CODE_LINES], None
    block = "\n".join(code).strip("\n")
    lead, reader.waiting, reader.leads = reader.waiting, None, []
    if not block.strip():
        return
    if lead is not None:
        yield MarkdownStatement(f"{lead.text}\n{block}", lead.headings, lead.line, lead.is_bullet)
    elif reader.headings:
        yield MarkdownStatement(f"{reader.headings[-1][1]}:\n{block}", reader.titles())
