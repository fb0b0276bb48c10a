"""Split the text of a turn into statements.

Code and tables are removed, and lists and sentences are separated. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memoryd.core.text import CJK, one_line
from memoryd.core.types import Turn, TurnKind

# Split a session at the user's prompts


@dataclass(frozen=True, slots=True)
class Episode:
    """A user prompt and everything up to the next one.

    Attributes:
        before: The assistant's text that the user responds to, if known.
        first: Whether this is the first episode of the session.
        asked: The user's last prompt, if the passage starts in the middle of the answer.
        interrupted: Whether the user interrupted the assistant's work.
    """

    user: tuple[Turn, ...]
    rest: tuple[Turn, ...]
    before: Turn | None = None
    first: bool = False
    asked: tuple[Turn, ...] = ()
    interrupted: bool = False

    @property
    def last_line(self) -> int:
        """The line number of the episode's last log line, or 0 if unknown."""
        return max((turn.line for turn in (*self.user, *self.rest)), default=0)


def _last_said(turns: Sequence[Turn]) -> Turn | None:
    return next((t for t in reversed(turns) if t.kind is TurnKind.ASSISTANT and not t.sidechain), None)


def _groups(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Yield groups of consecutive turns. A new group starts when the user speaks after someone else."""
    group: list[Turn] = []
    for turn in turns:
        if turn.kind is TurnKind.USER and any(t.kind is not TurnKind.USER for t in group):
            yield group
            group = []
        group.append(turn)
    if group:
        yield group


def episodes(turns: Sequence[Turn], context: Sequence[Turn] = ()) -> list[Episode]:
    """Return the episodes of the main thread, in order. `context` only provides the text before the first episode."""
    out: list[Episode] = []
    before = _last_said(context)
    interrupted = bool(context) and context[-1].kind is TurnKind.INTERRUPT
    asked = tuple(t for t in context if t.kind is TurnKind.USER and not t.sidechain)[-1:]
    for group in _groups([t for t in turns if not t.sidechain]):
        user = tuple(t for t in group if t.kind is TurnKind.USER)
        rest = tuple(t for t in group if t.kind is not TurnKind.USER)
        opening = not out
        out.append(Episode(user, rest, before, opening and not context, asked if opening and not user else (), interrupted))
        before = _last_said(rest) or before
        interrupted = bool(rest) and rest[-1].kind is TurnKind.INTERRUPT
    return out


_FENCE = re.compile(r"[ \t]*(```|~~~)")
_BULLET = re.compile(r"^\s*(?:[-*+•·–]|\d{1,2}[.)]|✓|✔|→|✅|❌|☑|\[[ xX]\])\s+")
_HEADING = re.compile(r"^\s*#{1,6}\s+(.*)$")
_BOLD_HEADING = re.compile(r"^\s*\*\*([^*]{2,60})\*\*:?\s*$|^\s*([^\s*|][^*|.]{1,58}):\s*$")
_TABLE = re.compile(r"^\s*[|┃│┌└├╭╰+].*|^\s*[-=_─━]{3,}\s*$|^.*[─━═]{5,}")
_MARKS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_LINK = re.compile(r"\[([^\[\]]{1,300})\]\([^()\s]{1,600}\)")
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u2b50★]+ ?")
# A sentence ends at a full stop followed by a space and the start of a new sentence, but never inside `code`.
_END = re.compile(r"(?<=[.!?…])[\"')\]]?\s+(?=[\"'(\[`]?[A-ZА-ЯЁÄÖÜ0-9`])|(?<=[。！？；])|(?<=\.)\s+(?=[a-z]{2,} )")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|bzw|z\.B|ca|Nr|Dr|Mr|Mrs|St|No)|\.\.)\.$", re.I)
MAX_SENTENCE = 600


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or list item.

    `heading` is the nearest heading above it. `position` is its relative position (0 to 1) within the turn.
    """

    text: str
    heading: str = ""
    bullet: bool = False
    position: float = 0.0


def without_code(text: str) -> str:
    """Remove fenced blocks, including unclosed ones."""
    out: list[str] = []
    fence = ""
    for line in text.splitlines():
        match = _FENCE.match(line)
        if fence:
            fence = "" if match and match.group(1) == fence else fence
            out.append("")
        elif match:
            fence = "" if line.count(match.group(1)) > 1 else match.group(1)
            out.append("")
        else:
            out.append(line)
    return "\n".join(out)


def without_quoted(text: str) -> str:
    """Remove quoted lines ("> …"), which are other people's words."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith((">", "+++", "---")))


def plain(text: str) -> str:
    """Return one line without emphasis markers, link targets and images. Code in backticks is kept."""
    return one_line(_EMOJI.sub("", _MARKS.sub("", _LINK.sub(r"\1", text))))


def sentences(text: str) -> list[str]:
    """Return the non-empty sentences of one paragraph, in order."""
    out: list[str] = []
    start = 0
    for match in _END.finditer(text):
        piece = text[start : match.end()].strip()
        if piece.count("`") % 2 or piece.count("(") > piece.count(")") or _ABBREVIATION.search(piece):
            continue
        out.append(piece)
        start = match.end()
    out.append(text[start:].strip())
    return [piece for piece in out if piece]


def _heading_of(line: str) -> str | None:
    match = _HEADING.match(line)
    if match:
        return plain(match.group(1)).rstrip(":")
    match = _BOLD_HEADING.match(line)
    return plain(match.group(1) or match.group(2)).rstrip(":") if match else None


def statements(text: str) -> list[Sentence]:
    """Return the statements of a turn in order.

    Code, tables and headings are removed. Wrapped paragraphs are joined first.
    """
    blocks = _blocks(without_code(text))
    total = max(1, len(blocks) - 1)
    out: list[Sentence] = []
    for number, (heading, bullet, block) in enumerate(blocks):
        for sentence in sentences(plain(block)):
            if len(sentence) <= MAX_SENTENCE:
                out.append(Sentence(sentence, heading, bullet, number / total))
    return out


def _blocks(text: str) -> list[tuple[str, bool, str]]:
    """Yield each paragraph and list item with its heading and whether it is a list item."""
    out: list[tuple[str, bool, str]] = []
    heading = ""
    open_block = False
    for line in text.splitlines():
        if not line.strip() or _TABLE.match(line):
            open_block = False
            continue
        title = _heading_of(line)
        if title is not None:
            heading, open_block = title, False
            continue
        match = _BULLET.match(line)
        if match:
            out.append((heading, True, line[match.end() :]))
        elif open_block and not _ends(out[-1][2]):
            out[-1] = (out[-1][0], out[-1][1], f"{out[-1][2]} {line.strip()}")
        else:
            out.append((heading, False, line.strip()))
        open_block = True
    return out


def _ends(text: str) -> bool:
    """Return whether a line ends its paragraph with a full stop or a colon."""
    return text.rstrip().endswith((".", "!", "?", ":", "。", "！", "？", "；"))


def size(text: str) -> int:
    """Return the length in words. Two CJK characters count as one word."""
    wide = len(CJK.findall(text))
    return len(CJK.sub(" ", text).split()) + wide // 2


def joined(parts: Sequence[Sentence], fits: Callable[[Sentence, Sentence], bool]) -> list[Sentence]:
    """Join each statement to the previous one where `fits` allows it. List items are not joined."""
    out: list[Sentence] = []
    for part in parts:
        if out and not part.bullet and not out[-1].bullet and fits(out[-1], part):
            out[-1] = replace(out[-1], text=f"{out[-1].text} {part.text}")
        else:
            out.append(part)
    return out
