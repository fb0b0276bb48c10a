"""Separate the user's own text in a turn from pasted and quoted text. Pure functions that run in linear time.

A prompt may contain issues, logs, emails and whole instruction files. Their sentences are data, and only the turn's
own prose may become a rule. If the end of a paste is unclear, the rest of the turn is treated as pasted. A rule lost
this way will be repeated by the user, but a foreign rule that slips in would be followed in every later session.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from memoryd.core.client_tags import folded
from memoryd.core.deadline import NEVER, Deadline
from memoryd.core.files import read_regular
from memoryd.daydream.addressed import Addressee, addressee
from memoryd.daydream.quoted_signs import (
    AGREES,
    AGREES_AFTER,
    ANSWERS,
    ARTIFACT_LABEL,
    ASKED_TITLE,
    ASKS,
    ASKS_ABOUT,
    ASKS_BACK,
    ASKS_ON_SHOWN,
    ATTRIBUTE,
    BARE_WORDS,
    BB_TAG,
    BEGINS,
    BINDING,
    BINDING_WORDS,
    BOLD_HEADING,
    BULLET,
    CHAT,
    CHECKED,
    CITES,
    CJK_SIGN,
    CLAUSE_END,
    COLON,
    COMMENT_LINE,
    COMMENT_TAIL,
    COMMENTS,
    COMMIT,
    CONCEDES,
    CONDITION,
    CONSEQUENCE,
    CONTAINS_TEXT,
    DELIMITED,
    DIALOG,
    DIFF,
    DISCLAIMS,
    DOES_IT,
    END_OF_QUOTE,
    ENDS_BEFORE,
    EXAMPLES,
    FENCE,
    FILE_NAME,
    FIRST_PERSON,
    FOLLOWING,
    FOOT,
    FOOTNOTE,
    FORM,
    FORMER,
    FRONTED,
    GAP,
    GENERIC_WORDS,
    GREETING,
    GUIDANCE,
    HAS_NOUN,
    HEAD_CHARS,
    HEADING,
    HEADLINE_WORDS,
    HEARSAY,
    HEARSAY_STARTS,
    HEREDOC,
    INDENTED,
    INNER_KEY,
    KEY,
    LABEL,
    LAST_REMARK,
    LEADS,
    LINK,
    LINK_DEFINITION,
    LOG,
    LONE,
    LONE_COMMENT,
    LONG_WORDS,
    MACHINE,
    MAIL_FROM,
    MAIL_HEADER,
    MAIL_SUBJECT,
    MAKING_VERBS,
    MAX_COLONS,
    MAX_END_CHARS,
    MAX_META_WORDS,
    MAX_QUOTATIONS,
    META_CJK,
    META_WORDS,
    MY_RULES,
    NAMED,
    NAMED_ROLE,
    NAMES_ORIGIN,
    NAMES_TEXT,
    NEAR_CHARS,
    NEAR_LINES,
    NEEDED_TEXT,
    NEXT_IS_TEXT,
    NOUN_VERBS,
    NOW_ON,
    NUMBERED_ITEM,
    OBJECTS,
    ONESELF,
    OPENERS,
    OPENS_AFTER,
    OPINION_WORDS,
    ORDER,
    ORDER_INSIDE,
    OTHERS,
    OTHERS_WANT,
    OUTPUT_TAIL,
    OWN_LABEL,
    OWN_VOICE,
    PAIRED,
    PAIRS,
    PART_OF_FORM,
    PASSED_ON,
    PASSED_ON_CJK,
    PASSES_ON,
    PASSES_ON_TO,
    PASTED_ALONE,
    PATCHED,
    PLACES,
    PLAIN_VERBS,
    POINTS_BACK,
    POINTS_BELOW,
    PRESENTS,
    PRESENTS_ALONE,
    PRINTED,
    PUT_FORWARD,
    QUOTE_LINE,
    QUOTED_NEXT,
    QUOTES_WORD,
    REGIONS,
    REPLIES,
    REPORT_WORDS,
    REPORTED,
    REQUEST,
    REQUESTS,
    RETRACTS,
    ROLE,
    SAID_AFTER,
    SAID_BY_OTHERS,
    SAID_LATER,
    SALUTATION,
    SAVES,
    SAYS_ONESELF,
    SENTENCE,
    SENTENCE_INSIDE,
    SEPARATOR,
    SETEXT,
    SHORT_CHARS,
    SHORT_WORDS,
    SHOWS_OTHERS,
    SOURCE_BELOW,
    SPEAKS,
    SPEECH,
    STANDING,
    STATES,
    STATES_AT_END,
    SUPPOSES,
    TAG,
    TAG_QUESTION,
    TAUGHT,
    TAUGHT_WORDS,
    TELL_VERBS,
    THIS,
    TINY_WORDS,
    TITLE,
    UNFINISHED,
    WANT_WORDS,
    WANTED_TEXT,
    WORD,
    WORK_ON_TEXT,
    WRITE_VERBS,
    WROTE,
    YET,
    YOURS,
)

# The project's own instruction files, which the client reads itself. Their sentences are data if pasted into a prompt.

NAMES = (
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "AGENTS.md",
    "AGENT.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
)
FOLDERS = (".cursor/rules", ".claude/rules", ".github/instructions", ".clinerules")
# Limits on the file size in bytes, the files in a rules folder, and the parent folders.
FILE_BYTES, FOLDER_FILES, PARENTS = 200_000, 40, 12
MIN_WORDS = 3
_MARKS = re.compile(r"[\s*_`#>\"'“”‘’.,;:!?()\[\]。，；：！？-]+")
_ENDS = re.compile(r"(?<=[.!?。！？])\s*|\n")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6})\s+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Instructions:
    """Sentences of the instruction files in a folder and its parents, up to the root of the repository.

    Each folder's files are read once, on first use.
    """

    def __init__(self) -> None:
        self._known: dict[str, frozenset[str]] = {}

    def holds(self, sentence: str, cwd: str) -> bool:
        """Return whether one of the files contains the sentence. Very short sentences don't count."""
        if not cwd:
            return False
        if cwd not in self._known:
            self._known[cwd] = frozenset(filter(_is_long_enough, _sentences(Path(cwd))))
        known = self._known[cwd]
        return bool(known) and _plain(sentence) in known


def _is_long_enough(plain: str) -> bool:
    return plain.count(" ") + 1 + len(_CJK.findall(plain)) // 2 >= MIN_WORDS


def _plain(text: str) -> str:
    return _MARKS.sub(" ", _BULLET.sub("", text).casefold()).strip()


def _sentences(folder: Path) -> Iterator[str]:
    for path in _files(folder):
        text = _read(path)
        for line in text.splitlines():
            yield _plain(line)
            for sentence in _ENDS.split(line):
                yield _plain(sentence)
        for paragraph in text.split("\n\n"):  # Lines may be wrapped.
            for sentence in _ENDS.split(" ".join(paragraph.split())):
                yield _plain(sentence)


def _files(folder: Path) -> Iterator[Path]:
    for place in [folder, *folder.parents][:PARENTS]:
        for name in NAMES:
            yield place / name
        for name in FOLDERS:
            yield from _within(place / name)
        try:
            if (place / ".git").exists():
                return
        except (OSError, ValueError):  # The name is too long or contains a NUL.
            return


def _within(folder: Path) -> list[Path]:
    try:
        return (
            sorted(path for path in folder.iterdir() if path.suffix in (".md", ".mdc"))[:FOLDER_FILES] if folder.is_dir() else []
        )
    except (OSError, ValueError):
        return []


def _read(path: Path) -> str:
    try:
        return read_regular(path, FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


@dataclass(frozen=True, slots=True)
class OwnProse:
    """The turn's own prose, with `[…]` in place of each quotation, and the quotations."""

    own: str
    quoted: str = ""


@dataclass(slots=True)
class _Removed:
    """Collects the removed parts in order."""

    quoted: list[str] = field(default_factory=list)

    def take(self, text: str) -> str:
        """Record the text as quoted and return the mark that replaces it."""
        if text.strip():
            self.quoted.append(text.strip("\n"))
        return GAP


def _nothing_known(_line: str) -> bool:
    return False


def own_words(text: str, is_instruction: Callable[[str], bool] = _nothing_known, deadline: Deadline = NEVER) -> OwnProse:
    """Split a user turn into the user's own prose and quotations.

    `is_instruction` recognises sentences from the project's instruction files. Raises TooSlowError.
    """
    parts = _Removed()
    if _is_guidance(text):
        return OwnProse(parts.take(text), text.strip())
    for step in (
        _without_fences,
        _without_regions,
        _without_comments,
        _without_tags,
        _without_code_over_lines,
        _without_quotations,
        _without_shown,
        _without_pasted_lines,
        _without_links,
    ):
        deadline.check()
        text = step(text, parts)
    deadline.check()
    text = _without_reports(text, parts)
    deadline.check()
    text = _without_hearsay(text, parts)
    deadline.check()
    text = _without_instructions(text, parts, is_instruction)
    return OwnProse(_tidy(text), "\n".join(parts.quoted))


def asserted(text: str) -> str:
    """Return the statements and requests in a text.

    Questions, suppositions, denials and hearsay are omitted.
    """
    return "\n".join(
        sentence for line in text.splitlines() for sentence in SENTENCE.split(line) if sentence.strip() and _is_asserted(sentence)
    )


def _is_asserted(sentence: str) -> bool:
    if SUPPOSES.match(sentence):
        return False
    if disclaimed := DISCLAIMS.search(sentence):
        yet = YET.search(sentence, disclaimed.end())
        return yet is not None and ORDER.search(sentence, yet.end()) is not None
    return not _is_question(sentence) or REQUESTS.search(sentence) is not None


def _is_question(sentence: str) -> bool:
    end = sentence.rstrip().rstrip("\"'”»」)`")
    if not end.endswith(("?", "？")) or _OPERATOR.search(end[-20:]):
        return False
    tag = TAG_QUESTION.search(end, max(0, len(end) - SHORT_CHARS))
    return tag is None or ORDER.search(end, 0, tag.start()) is None or ASKS.match(end) is not None


_OPERATOR = re.compile(r"\b(?:use|using|with|prefer|nutze|verwende|mit)\s[`\"']?\?$", re.IGNORECASE)  # as in "no unwrap(), use ?"


def _is_guidance(text: str) -> bool:
    """Return whether the text is an agent's instruction file.

    The pattern is only tried on texts that contain one of its words.
    """
    if text.isascii():
        lower = text.lower()
        if "guidance" not in lower and "instructions" not in lower:
            return False
    return GUIDANCE.search(text) is not None


_GAPS = re.compile(r"\[…\](?:[ \t]*\n?[ \t]*\[…\])+")
_BLANKS = re.compile(r"\n{3,}")


def _tidy(text: str) -> str:
    return _BLANKS.sub("\n\n", _GAPS.sub(GAP, text)).strip()


def _words(text: str) -> int:
    return len(WORD.findall(text)) + (0 if text.isascii() else len(CJK_SIGN.findall(text)) // 2)


# Delimited blocks


def _without_regions(text: str, parts: _Removed) -> str:
    """Remove regions between other kinds of begin and end marks, from the first begin mark to the last end mark."""
    for signs, opening, closing in REGIONS:
        start = opening.search(text) if any(sign in text for sign in signs) else None
        ends = list(closing.finditer(text, start.end())) if start else []
        if start and ends and _words(text[start.end() : ends[-1].start()]) > TINY_WORDS:
            text = text[: start.start()] + parts.take(text[start.start() : ends[-1].end()]) + text[ends[-1].end() :]
    return text


def _without_fences(text: str, parts: _Removed) -> str:
    """Remove code blocks.

    Everything from the first to the last fence is removed, because a paste may contain fences. An unclosed block
    extends to the end.
    """
    lines = _with_fences_first(text).split("\n")
    marks = [(number, match) for number, line in enumerate(lines) if (match := FENCE.match(line)) and not _closes_itself(match)]
    if not marks:
        return text
    first, sign = marks[0][0], marks[0][1]["mark"][0]
    own_kind = [number for number, match in marks if match["mark"][0] == sign]
    last = marks[-1][0] if len(own_kind) % 2 == 0 else len(lines) - 1
    gap = parts.take("\n".join(lines[first : last + 1]))
    return "\n".join([*lines[:first], gap, *lines[last + 1 :]])


# A code block that begins behind words of its line
_LATE_FENCE = re.compile(r"(?<=\S)[ \t]+(?=`{3,}[\w+-]{0,20}$)", re.MULTILINE)


def _with_fences_first(text: str) -> str:
    """Put a code block that opens at the end of a line of prose on a line of its own."""
    return _LATE_FENCE.sub("\n", text) if "```" in text else text


def _closes_itself(match: re.Match[str]) -> bool:
    return match["mark"] in match["rest"]


def _without_comments(text: str, parts: _Removed) -> str:
    for opening, closing in COMMENTS:
        start = text.find(opening)
        if start < 0 or (opening == "/*" and closing not in text):  # A glob such as src/* is not an opening mark.
            continue
        end = text.rfind(closing)
        end = end + len(closing) if end > start else len(text)
        if opening == "/*" and "\n" not in text[start:end] and not ORDER.search(text[start:end]):
            continue
        text = text[:start] + parts.take(text[start:end]) + text[end:]
    return text


def _without_tags(text: str, parts: _Removed) -> str:
    """Remove the content of tags. Each tag extends from its opening to the last closing tag of the same name."""
    for sign, pattern in (("<", TAG), ("[", BB_TAG), ("{", BB_TAG)):
        if sign in text and pattern.search(text):
            text = _tags_out(text, pattern, parts)
    return text


def _tags_out(text: str, pattern: re.Pattern[str], parts: _Removed) -> str:
    found = list(pattern.finditer(text))
    last_close = {m["name"].lower(): m for m in found if m["close"]}
    opened = {m["name"].lower() for m in found if not m["close"]}
    out: list[str] = []
    at = 0
    for match in found:
        if match.start() < at:
            continue
        name = match["name"].lower()
        if match["close"]:
            if name not in opened:  # The start of the paste was cut off, so everything before this point is part of it.
                gap = parts.take("".join(out) + text[at : match.end()])
                out, at = [gap], match.end()
            continue
        closing = last_close.get(name)
        if closing is not None and closing.start() >= match.end():
            inner = text[match.end() : closing.start()]
            keep = _words(inner) <= TINY_WORDS and "\n" not in inner
            out += [
                text[at : match.start()],
                text[match.start() : closing.end()] if keep else parts.take(text[match.start() : closing.end()]),
            ]
            at = closing.end()
        elif _alone_on_line(text, match):
            out += [text[at : match.start()], parts.take(text[match.start() :])]
            at = len(text)
        elif ATTRIBUTE.search(match["attributes"]):
            out += [text[at : match.start()], parts.take(match[0])]
            at = match.end()
    return "".join(out) + text[at:]


def _alone_on_line(text: str, match: re.Match[str]) -> bool:
    before = text.rfind("\n", 0, match.start()) + 1
    after = text.find("\n", match.end())
    return after >= 0 and not text[before : match.start()].strip() and not text[match.end() : after].strip()


# Quotation marks


def _without_quotations(text: str, parts: _Removed) -> str:
    """Remove quotations and inline code, unless they are short parts of the user's own sentence."""
    out: list[str] = []
    at = 0
    found = _quotations(text)
    for start, end in found:
        inner = text[start + 1 : end - 1]
        if len(found) <= MAX_QUOTATIONS and _is_part_of_sentence(text, start, end, inner):
            continue
        out += [text[at:start], parts.take(inner)]
        at = end
    return "".join(out) + text[at:]


def _quotations(text: str) -> list[tuple[int, int]]:
    """Return the outermost quotations as (start, end), in order. An unclosed quotation extends to the end."""
    spans = [*(() if text.isascii() else _typographic(text)), *_straight(text, '"'), *_straight(text, "'"), *_ticks(text)]
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def _typographic(text: str) -> Iterator[tuple[int, int]]:
    """Yield quotations with different opening and closing marks, which may be nested.

    A stray closing mark belongs to the previous quotation.
    """
    depth, start = 0, -1
    last: tuple[int, int] | None = None
    expected: list[str] = []
    for match in PAIRED.finditer(text):
        place, sign = match.start(), match[0]
        if expected and sign in expected[-1] and not _is_apostrophe(text, place):
            expected.pop()
            depth -= 1
            if depth == 0:
                if last is not None:
                    yield last
                last = (start, place + 1)
        elif sign in PAIRS and not _is_apostrophe(text, place):
            if depth == 0:
                start = place
            expected.append(PAIRS[sign])
            depth += 1
        elif sign in "”»」』" and last is not None and depth == 0:
            last = (last[0], place + 1)
    if depth and text[start] not in "‘‚":
        yield (start, len(text))
    if last is not None:
        yield last


def _is_apostrophe(text: str, place: int) -> bool:
    if text[place] not in "’‘'":
        return False
    return 0 < place < len(text) - 1 and text[place - 1].isalnum() and text[place + 1].isalnum()


def _straight(text: str, sign: str) -> Iterator[tuple[int, int]]:
    """Yield quotations in straight marks, based on adjacent characters.

    A stray closing mark belongs to the previous quotation.
    """
    depth, start = 0, -1
    last: tuple[int, int] | None = None
    for match in re.finditer(re.escape(sign), text):
        place = match.start()
        opens, closes = _sides(text, place, sign)
        if closes and depth:
            depth -= 1
            if depth == 0:
                if last is not None:
                    yield last
                last = (start, place + 1)
        elif opens:
            start = place if depth == 0 else start
            depth += 1
        elif closes and last is not None and _ends_paste(text, place, sign):
            last = (last[0], place + 1)
    if last is not None:
        yield last
    if depth and sign == '"':
        yield (start, len(text))
    elif depth and (end := text.rfind(sign)) > start:
        yield (start, end + 1)


def _sides(text: str, place: int, sign: str) -> tuple[bool, bool]:
    """Return whether a mark may open and whether it may close a quotation, based on adjacent characters."""
    before = text[place - 1] if place else " "
    after = text[place + 1] if place + 1 < len(text) else " "
    opens = (before in OPENS_AFTER or _is_cjk(before)) and not after.isspace()
    return opens, not before.isspace() and (after in ENDS_BEFORE or after == sign or _is_cjk(after))


def _ends_paste(text: str, place: int, sign: str) -> bool:
    """Return whether a stray mark closes a quotation.

    Unit marks (inches or feet) and genitive marks before a word don't.
    """
    before = text[place - 1]
    if before.isdigit():
        return False
    rest = text[place + 1 : place + 3].lstrip(" ")
    return sign == '"' or before in ".!?…)`" or not rest or not rest[0].isalpha()


def _is_cjk(sign: str) -> bool:
    return not sign.isascii() and bool(CJK_SIGN.match(sign))


def _ticks(text: str) -> Iterator[tuple[int, int]]:
    """Yield code in backticks on one line."""
    start = -1
    for match in re.finditer(r"[`\n]", text):
        if match[0] == "\n":
            start = -1
        elif start < 0:
            start = match.start()
        else:
            yield (start, match.end())
            start = -1


def _is_part_of_sentence(text: str, start: int, end: int, inner: str) -> bool:
    """Return whether a quotation is a word or value within the user's own sentence."""
    if "\n" in inner or len(inner) > 400 or GAP in inner:
        return False
    code = text[start] == "`"
    words = _words(inner)
    if words <= 1:
        return True
    if ORDER.search(inner):
        return False
    around = _around(text, start, end)
    before = text[max(0, start - 40) : start]
    if (not code and words > TINY_WORDS and QUOTES_WORD.search(before)) or (
        code and re.search(rf"\b{SPEECH}\s*$", before, re.IGNORECASE)
    ):
        return False
    if words <= SHORT_WORDS and len(inner) <= SHORT_CHARS:
        return True
    return bool(ORDER.search(around)) and (code or words <= LONG_WORDS)


def _around(text: str, start: int, end: int) -> str:
    """Return the line around a quotation, excluding the quotation."""
    first = max(text.rfind("\n", 0, start) + 1, start - NEAR_CHARS)
    last = text.find("\n", end)
    return text[first:start] + " " + text[end : min(last if last >= 0 else len(text), end + NEAR_CHARS)]


def _without_code_over_lines(text: str, parts: _Removed) -> str:
    """Remove the text between a backtick and a matching backtick on a later line."""
    odd = [number for number, line in enumerate(text.split("\n")) if line.count("`") % 2]
    if len(odd) < 2:  # noqa: PLR2004
        return text
    lines = text.split("\n")
    first, last = odd[0], odd[-1]
    head, _, begun = lines[first].partition("`")
    ended, _, tail = lines[last].rpartition("`")
    inner = "\n".join([begun, *lines[first + 1 : last], ended])
    return "\n".join([*lines[:first], f"{head}{parts.take(inner)}{tail}", *lines[last + 1 :]])


# Number of lines at the end of a turn that may refer to the text above them.
NEAR_FOOT, FOOT_CHARS = 4, 2_000


# Texts shown for discussion, recognised by the user's remarks about them


def _without_shown(text: str, parts: _Removed) -> str:
    """Remove a text that ends like a letter or page, or that the last line asks about."""
    start = max(0, len(text) - FOOT_CHARS)
    for sign in (FOOT, SOURCE_BELOW):
        if feet := list(sign.finditer(text, start)):
            text = parts.take(text[: feet[-1].end()]) + text[feet[-1].end() :]
    lines = text.rstrip().split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    back = next((number for number in reversed(filled[-NEAR_FOOT:]) if _points_back(lines[number])), None)
    if back is not None:
        return "\n".join([parts.take("\n".join(lines[: back + 1])), *lines[back + 1 :]])
    if not filled or (len(filled) > 1 and GAP in lines[filled[-2]]):
        return text
    last = lines[filled[-1]]
    if len(filled) > 1 and (_asks_about(last) or (is_about_text(last) and _binds("\n".join(lines[: filled[-1]])))):
        return "\n".join([parts.take("\n".join(lines[: filled[-1]])), last])
    *before, question = SENTENCE.split(last[-FOOT_CHARS:])
    asked = bool(before) and question.rstrip().endswith(("?", "？")) and GAP not in before[-1]
    if asked and is_about_text(question) and not BARE_WORDS.issuperset(WORD.findall(question.casefold())) and _binds(last):
        shown = parts.take("\n".join([*lines[: filled[-1]], last.removesuffix(question)]))
        return f"{shown} {question}"
    return text


def _points_back(line: str) -> bool:
    """Return whether a line refers to the text above it, or names the end of a quotation."""
    return POINTS_BACK.search(line) is not None or END_OF_QUOTE.search(line[-MAX_END_CHARS:]) is not None


def _binds(text: str) -> bool:
    """Return whether a text contains an instruction. "Only" alone may be part of a report."""
    return ORDER.search(text.casefold().replace("only", "")) is not None


def is_about_text(line: str) -> bool:
    """Return whether a short line only asks about a text elsewhere or requests work on it.

    All its words are about work on texts, parts and kinds of texts, or opinions on them, as in "typos?" and "make this a table".
    """
    if len(line) > NEAR_CHARS * 2:
        return False
    if META_CJK.match(line):
        return True
    words = WORD.findall(line.casefold())
    if not 0 < len(words) <= MAX_META_WORDS or CJK_SIGN.search(line) or GAP in line:
        return False
    if ASKS_BACK.search(line) or MY_RULES.search(line) or FORM.match(line):
        return False
    telling = [word for word in words if word not in BARE_WORDS and not word.isdigit()]
    asked = line.rstrip().endswith("?")
    if not telling:
        return len(words) <= SHORT_WORDS and asked
    if not all(word in META_WORDS or word in OPINION_WORDS or word in PLAIN_VERBS for word in telling):
        return False
    return any(word in META_WORDS for word in telling) or (asked and any(word in OPINION_WORDS for word in telling))


def _asks_about(line: str) -> bool:
    """Return whether a short line requests work on, or an opinion about, the text above it."""
    if _words(line) > GENERIC_WORDS * 3 or ORDER.search(line.casefold().replace("should", "").replace("please", "")):
        return False
    if WORK_ON_TEXT.search(line) or NAMES_ORIGIN.search(line):
        return True
    return bool(ASKS_ABOUT.search(line) and not ASKS_BACK.search(line))


# Lines


def _without_pasted_lines(text: str, parts: _Removed) -> str:
    return "\n".join(_Lines(text.split("\n"), parts).run())


# Maximum number of lines in a user's answer below a program's output.
LONGEST_ANSWER = 6
# In scripts without spaces, this many characters before a colon form a sentence. Labels and names are shorter.
CJK_SENTENCE = 10
_OUTPUT = (LOG, MACHINE, PRINTED, DIFF)
_FOREIGN = (DIFF, ROLE, MAIL_FROM, MAIL_HEADER, LOG, CHAT, MACHINE, PRINTED, HEADING, QUOTE_LINE, INDENTED)


def _first_of_dialog(lines: list[str]) -> int:
    """Return the index of the first of several lines that look like a conversation or contain only a name.

    Return -1 if there are none.
    """
    marked = [number for number, line in enumerate(lines) if DIALOG.match(line)]
    lone = [
        number for number, line in enumerate(lines) if LONE.match(line) and not _is_common(line) and not CJK_SIGN.search(line)
    ]
    starts = [found[0] for found in (marked, lone) if len(found) > 1]
    return min(starts, default=-1)


def _first_of_chat(lines: list[str]) -> int:
    """Return the index of the first of several lines with a label before a colon if one of two labels recurs, or -1."""
    found = [(number, match["label"].casefold()) for number, line in enumerate(lines) if (match := FORM.match(line))]
    names = Counter(label for _, label in found if label.count(" ") < TINY_WORDS)
    return found[0][0] if len(names) > 1 and max(names.values()) > 1 and len(found) > TINY_WORDS else -1


def _is_common(line: str) -> bool:
    word = line.strip().rstrip(":.").casefold()
    return word in OPENERS or word in BARE_WORDS or bool(OWN_LABEL.search(word))


def _is_output(line: str) -> bool:
    """Return whether a line looks like program output or part of a changelog."""
    return any(sign.match(line) for sign in (*_OUTPUT, INDENTED, OUTPUT_TAIL))


class _Lines:
    """A single pass over the lines of a turn."""

    def __init__(self, lines: list[str], parts: _Removed) -> None:
        self._lines = lines
        self._parts = parts
        self._out: list[str] = []
        self._held: list[str] = []
        self._to_end = False
        self._printed: int | None = None
        self._filled = [number for number, line in enumerate(lines) if line.strip()]
        self._in_list = False
        self._mail = sum(bool(MAIL_HEADER.match(line)) for line in lines) >= 2  # noqa: PLR2004
        fields = [number for number, line in enumerate(lines) if _is_field(line)]
        # Topics with one instruction each are the user's own list.
        self._form = fields if len(fields) > 1 and not all(_orders(lines[number]) for number in fields) else []
        self._talk = _first_of_dialog(lines)
        if self._talk < 0:
            self._talk = _first_of_chat(lines)
        quoted = [number for number, line in enumerate(lines) if QUOTE_LINE.match(line)]
        self._between = (quoted[0], self._end_of_quote(quoted[-1])) if quoted else (len(lines), 0)
        marks = [number for number, line in enumerate(lines) if SEPARATOR.match(line) and not self._underlines(number)]
        self._rule = (marks[0], marks[-1] if len(marks) > 1 else len(lines)) if marks else (len(lines), len(lines))

    def _underlines(self, number: int) -> bool:
        """Return whether a line underlines a title and therefore does not separate texts. A title itself marks a paste."""
        return number > 0 and bool(SETEXT.match(self._lines[number])) and bool(self._lines[number - 1].strip())

    def _end_of_quote(self, last: int) -> int:
        """Return the last line of a quotation whose last quote mark is on line `last`.

        Without marks, the quotation continues to the next empty line. A reply typed directly below it is recognised
        by its opening, or if the agent is being quoted.
        """
        end = last
        for number in range(last + 1, len(self._lines)):
            line = self._lines[number]
            answered = number == last + 1 and (REPLIES.match(line) or YOURS.search(self._lines[last]))
            if not line.strip() or answered:
                break
            end = number
        return end

    def run(self) -> list[str]:
        for number, line in enumerate(self._lines):
            if not line.strip():
                if self._to_end and not self._answers(number):
                    self._held.append(line)
                else:
                    self._to_end = False
                    self._flush()
                    self._out.append(line)
                continue
            self._line(number, line)
        tail = LAST_REMARK.search(self._held[-1]) if self._held and self._printed is not None else None
        if tail and not ORDER.search(tail[0]):
            self._held[-1] = self._held[-1][: tail.start()]
        self._flush()
        return [*self._out, tail[0]] if tail and not ORDER.search(tail[0]) else self._out

    def _answers(self, number: int) -> bool:
        """Return whether the text after the empty line `number` is the user's answer to program output above it.

        Program output does not read like conversation. A commit message is indented, so unindented text comes after it.
        """
        if self._printed is None or not self._lines[number - 1].strip():
            return False
        left = len(self._filled) - bisect_right(self._filled, number)
        if not 0 < left <= LONGEST_ANSWER:
            return False
        rest = [self._lines[place] for place in self._filled[-left:]]
        if any(sign.match(line) for line in rest for sign in _FOREIGN):
            return False
        if ANSWERS.match(rest[0]):
            return True
        above = [line for line in self._lines[self._printed : number] if line.strip()]
        if not above:
            return False
        if COMMIT.match(above[0]) and INDENTED.match(above[-1]):
            return True
        last = len(rest) == 1 and len(rest[0]) <= 2 * NEAR_CHARS and not _is_question(rest[0])
        return last and all(len(line) <= NEAR_CHARS and _is_output(line) for line in above)

    def _line(self, number: int, line: str) -> None:
        if not self._to_end and self._begins_paste(number, line):
            self._to_end = True
            self._printed = number if any(sign.match(line) for sign in _OUTPUT) else None
        if self._to_end or self._rule[0] <= number <= self._rule[1]:
            self._held.append(line)
            return
        if self._between[0] <= number <= self._between[1] or self._is_foreign_line(number, line):
            self._held.append(line)
            return
        self._flush()
        self._in_list = bool(BULLET.match(line))
        self._out.append(self._introduced(number, line))
        if self._to_end:
            below = self._filled[min(bisect_right(self._filled, number), len(self._filled) - 1)]
            self._printed = below if any(sign.match(self._lines[below]) for sign in _OUTPUT) else None

    def _flush(self) -> None:
        if self._held:
            self._out.append(self._parts.take("\n".join(self._held)))
            self._held = []

    def _has_more(self, number: int) -> bool:
        return any(line.strip() for line in self._lines[number + 1 : number + NEAR_LINES])

    def _begins_paste(self, number: int, line: str) -> bool:
        """Return whether a paste without a clear end starts at this line."""
        if number == 0 and line.strip() == "---" and self._has_more(number):
            return True
        more = self._has_more(number)
        if (HEADING.match(line) and (more or number)) or (more and self._is_title(number, line)):
            return True
        if ROLE.match(folded(line)) or any(sign.match(line) for sign in (DIFF, MAIL_FROM, LOG, CHAT, MACHINE, PRINTED)):
            return True
        if more and (PART_OF_FORM.match(line) or self._is_odd(number, line) or self._is_mapping(number, line)):
            return True
        data = BEGINS.match(line) or ("<<" in line and HEREDOC.search(line))
        if NAMED.match(line) or (data and (self._has_more(number) or number)):
            return True
        if number == self._talk or (self._form and number == self._form[0]):
            return True
        if MAIL_HEADER.match(line) and (self._mail or (MAIL_SUBJECT.match(line) and self._has_more(number))):
            return True
        if (GREETING.match(line) and self._has_more(number)) or SALUTATION.match(line):
            return True
        return bool(WROTE.match(line)) and more and not self._next_is_delimited(number)

    def _is_odd(self, number: int, line: str) -> bool:
        """Return whether a line above others is a title, label or name that does not start like a user's line."""
        if NAMED_ROLE.match(line) or (TITLE.match(line) and self._lines[number + 1].strip()):
            return True
        words = WORD.findall(line[:HEAD_CHARS])
        if QUOTE_LINE.match(line):
            return False
        if len(words) > HEADLINE_WORDS and number and self._lines[number - 1].strip():  # A wrapped line of a paragraph.
            return False
        if not words or CJK_SIGN.search(line) or GAP in line or BULLET.match(line) or ORDER.search(line):
            return False
        capital = words[0][0].isupper() or not line.lstrip()[0].isalnum()
        return capital and line.rstrip()[-1].isalnum() and words[0].casefold() not in OPENERS

    def _is_mapping(self, number: int, line: str) -> bool:
        """Return whether the line is a key above an indented key-value line, as in YAML."""
        return bool(KEY.match(line)) and bool(INNER_KEY.match(self._lines[number + 1]))

    def _is_title(self, number: int, line: str) -> bool:
        following = self._lines[number + 1] if number + 1 < len(self._lines) else ""
        return bool(BOLD_HEADING.match(line)) or bool(SETEXT.match(following) and line.strip())

    def _is_foreign_line(self, number: int, line: str) -> bool:
        if LONE_COMMENT.match(line) or (COMMENT_LINE.match(line) and len(self._lines) > 1):
            return True
        if QUOTE_LINE.match(line) or PATCHED.match(line) or LINK_DEFINITION.match(line) or FOOTNOTE.match(line):
            return True
        lone = number == 0 and not self._has_more(number)
        return bool(INDENTED.match(line)) and not lone and not (self._in_list and BULLET.match(line))

    def _next_is_delimited(self, number: int) -> bool:
        following = next((line for line in self._lines[number + 1 : number + NEAR_LINES] if line.strip()), "")
        return bool(DELIMITED.match(following) or INDENTED.match(following))

    def _introduced(self, number: int, line: str) -> str:
        """Return the text before a quotation on the line.

        The quotation extends to the end of the turn.
        """
        titled = ASKED_TITLE.match(line)
        if not titled and ("//" in line or "#" in line or "--" in line) and (tail := COMMENT_TAIL.search(line)):
            return f"{line[: tail.start()]} {self._parts.take(tail[0])}"
        asked = CHECKED.search(line) if "?" in line or "？" in line else None
        if asked and OWN_VOICE.match(line[asked.end() :]):
            return line
        shown = asked or FOLLOWING.search(line, 0, FOOT_CHARS // 4)
        cited = CITES.search(line, 0, shown.start()) if shown else None
        if shown and (cited is None or COLON.search(line, cited.end(), shown.start()) is None):
            self._to_end = True
            self._held.append(line[shown.end() :])
            return line[: shown.end()]
        for match in islice(COLON.finditer(line), MAX_COLONS):
            head = _last_sentence(line[: match.start()])
            if CONDITION.match(head) or SAVES.match(head):
                continue
            points = POINTS_BELOW.search(f"{head}:") and not DOES_IT.search(head)
            if not points and not introduces(head):
                continue
            rest = line[match.end() :].strip()
            if not rest:
                self._to_end = not self._next_is_delimited(number)
                return line
            if rest.startswith((GAP, "`")):
                return line
            self._to_end = True
            self._held.append(rest)
            return line[: match.end()]
        if self._has_more(number) and self._announces(line) and not self._next_is_delimited(number):
            self._to_end = True
        return line

    def _announces(self, line: str) -> bool:
        """Return whether the line announces a text without a colon, as in "Here is the issue text" or "Proofread this"."""
        if (
            (is_about_text(line) and not BULLET.match(line))
            or ASKED_TITLE.match(line)
            or (_words(line) <= HEADLINE_WORDS * 2 and self._names_text(line))
        ):
            return True
        if SHOWS_OTHERS.search(line.rstrip(" :")):
            return True
        if _words(line) <= GENERIC_WORDS * 3 and (
            WORK_ON_TEXT.search(line) or (POINTS_BELOW.search(line) and not DOES_IT.search(line))
        ):
            return True
        if _words(line) <= HEADLINE_WORDS and PASTED_ALONE.search(line) and not ORDER.search(line):
            return True
        short = _words(line) <= 12 and not line.rstrip().endswith("?")  # noqa: PLR2004
        return short and bool(PRESENTS_ALONE.search(line) and HAS_NOUN.search(line)) and not ORDER.search(line)

    def _names_text(self, line: str) -> bool:
        """Return whether an incomplete line refers to a text or must be followed by one, as in "the readme opens with"."""
        plain = line.casefold().replace("please", "").replace("rule", "")
        if ORDER.search(plain) or line.rstrip()[-1] in ".!?:;,。！？：" or BULLET.match(line):
            return False
        first = next(iter(WORD.findall(plain)), "")
        names = first in BARE_WORDS or first not in OPENERS or line.rstrip()[-1].isdigit()
        return bool(UNFINISHED.search(line)) or (names and NAMES_TEXT.match(line) is not None and not _is_own_title(line))


def _is_own_title(line: str) -> bool:
    return bool(OWN_LABEL.search(line.casefold().replace("release notes", ""))) and not OTHERS.search(line)


def _orders(field_line: str) -> bool:
    """Return whether a field of a list contains an instruction. A single word such as "rule" is a value."""
    label, _, value = field_line.replace("：", ":").partition(":")
    return bool(ORDER.search(value) and _words(value) > TINY_WORDS) or bool(ORDER.search(label))


def _is_field(line: str) -> bool:
    """Return whether the line belongs to a form or chat ("Summary: …", "Bob: …").

    A single such line may be the user's topic.
    """
    match = FORM.match(line)
    if match is None or len(CJK_SIGN.findall(match["label"])) >= CJK_SENTENCE:
        return False
    return not OWN_LABEL.search(match["label"])


def _verb_of_message(text: str) -> tuple[str, str]:
    """Return the verb that opens a request to say, write, name or find a text, and the word after it. Both may be empty."""
    words = WORD.findall(text[:HEAD_CHARS])
    plain = [word.casefold() for word in words[: MAX_LEADS + 1]]
    place = next((n for n, word in enumerate(plain) if word in TELL_VERBS or word in WRITE_VERBS or word not in LEADS), -1)
    if place < 0 or not (plain[place] in TELL_VERBS or plain[place] in WRITE_VERBS):
        return "", ""
    return plain[place], words[place + 1] if place + 1 < len(words) else ""


# Number of words such as "please" before the verb of a request
MAX_LEADS = 6


def _is_request_to_write(head: str) -> bool:
    """Return whether a text to say, write or find follows after this head, for somebody else or in a place that it names."""
    if STANDING.search(FILE_NAME.sub("", head)):
        return False
    head = FRONTED.sub("", head)
    verb, target = _verb_of_message(head)
    if not verb or target.casefold() in ONESELF:
        return False
    if verb in MAKING_VERBS and not (HAS_NOUN.search(head) or LABEL.search(head) or FILE_NAME.search(head)):
        return False
    if verb == "ignore":  # the user's own words follow
        return False
    if not target:
        return verb != "look"
    if verb in NOUN_VERBS and target.casefold() in PLACES:
        return False
    return target.casefold() in OBJECTS or target[:1].isupper() or "#" in head or "@" in head


def _is_message(sentence: str) -> bool:
    """Return whether the sentence asks to pass an order on to somebody, or is about a text that contains one."""
    if not sentence.isascii() and PASSED_ON_CJK.search(sentence):
        return True
    if ASKS.match(sentence) or SAID_LATER.search(sentence):
        return True
    if not TAUGHT_WORDS.isdisjoint(WORD.findall(sentence.casefold())) and TAUGHT.search(sentence):
        return True
    verb, target = _verb_of_message(sentence)
    if not verb or target.casefold() in ONESELF:
        return False
    start = sentence.casefold().find(verb) + len(verb)
    passes = PASSES_ON.search(sentence, start) or (verb in TELL_VERBS and PASSES_ON_TO.search(sentence, start))
    if passes and ORDER.search(sentence, passes.end()):
        return True
    return ORDER_INSIDE.search(sentence) is not None


def _last_sentence(text: str) -> str:
    return SENTENCE.split(text[-HEAD_CHARS:])[-1]


def introduces(head: str) -> bool:
    """Return whether the text before a colon introduces someone else's text, a former rule or an example."""
    if CONCEDES.search(head):
        return False
    return bool(FORMER.search(head) or EXAMPLES.search(head)) or _introduces_others(head)


_ANNOUNCE = (NUMBERED_ITEM, NEEDED_TEXT, PUT_FORWARD, SHOWS_OTHERS, WANTED_TEXT, OTHERS)


def _introduces_others(head: str) -> bool:
    noun = bool(HAS_NOUN.search(head))
    presents = bool(PRESENTS.search(head))
    if presents and noun:
        return True
    if REQUEST.match(head) and (noun or presents or THIS.search(head) or _words(head) <= TINY_WORDS):
        return True
    if any(sign.search(head) for sign in _ANNOUNCE) or _is_request_to_write(head):
        return True
    if CONTAINS_TEXT.search(head) and not FIRST_PERSON.search(head):
        return True
    if SPEAKS.search(head) and not FIRST_PERSON.search(head) and not MY_RULES.search(head):
        return True
    if is_about_text(head) and not OWN_LABEL.search(head):
        return True
    if noun and STATES_AT_END.search(head) or CITES.search(head) or ARTIFACT_LABEL.match(head) or PASSED_ON.search(head):
        return True
    if OWN_LABEL.search(head):
        return False
    if _words(head) >= GENERIC_WORDS:  # Too long for a topic, and nothing marks it as the user's own.
        return True
    return bool(YOURS.search(head)) or (not STATES.search(head) and bool(LABEL.search(head)))


# Parts of lines


def _without_links(text: str, parts: _Removed) -> str:
    """Replace links and images with their text if it is a name. Titles are removed."""

    def shown(match: re.Match[str]) -> str:
        label, target = match["text"], match["target"] or ""
        if match[0].startswith("!") or _words(label) > SHORT_WORDS or ORDER.search(label):
            return parts.take(match[0])
        if " " in target.strip():
            parts.take(target)
            return f"[{label}]({target.split()[0]})"
        return match[0]

    return LINK.sub(shown, text) if "[" in text else text


def _without_reports(text: str, parts: _Removed) -> str:
    """Remove text that the user merely reports from a page, file or email.

    The removed part ends where the user's own words continue.
    """
    words = set(WORD.findall(text.casefold()))
    silent = REPORT_WORDS.isdisjoint(words) and WANT_WORDS.isdisjoint(words)
    if silent and (text.isascii() or not CJK_SIGN.search(text)) and not SENTENCE_INSIDE.search(text):
        return text
    out: list[str] = []
    at = 0
    for clause in CLAUSE_END.finditer(text):
        out.append(_own_of_clause(text[at : clause.end()], parts))
        at = clause.end()
    out.append(_own_of_clause(text[at:], parts))
    return "".join(out)


def _own_of_clause(clause: str, parts: _Removed) -> str:
    if (after := SAID_AFTER.search(clause)) and ORDER.search(clause, 0, after.start()):
        return f"{parts.take(clause[: after.start()])}{clause[after.start() :]}"
    reported = REPORTED.search(clause)
    found = [match for match in (SAID_BY_OTHERS.search(clause), SENTENCE_INSIDE.search(clause)) if match]
    wanted = OTHERS_WANT.search(clause)
    if wanted and SAYS_ONESELF.search(clause[max(0, wanted.start() - SHORT_CHARS) : wanted.start()]):
        wanted = None
    if wanted and ORDER.search(clause, wanted.end()) and not AGREES.search(clause, 0, wanted.start()):
        found.append(wanted)
    if reported and ORDER.search(clause, reported.end()):
        found.append(reported)
    if not found or AGREES_AFTER.search(clause):
        return clause
    first = min(found, key=lambda match: match.start())
    rest = clause[first.end() :]
    if CONDITION.match(clause) and (QUOTED_NEXT.match(rest) or CONSEQUENCE.search(rest)):
        return clause
    if _words(rest) <= TINY_WORDS:
        return clause
    end = len(rest.rstrip())
    return f"{clause[: first.end()]} {parts.take(rest[:end])}{rest[end:]}"


def _without_hearsay(text: str, parts: _Removed) -> str:
    """Remove sentences about other people's wishes, about rules that applied elsewhere, and from stories or tests.

    A sentence is also removed if the next one retracts it.
    """
    if BINDING_WORDS.isdisjoint(WORD.findall(text.casefold())) and (text.isascii() or not CJK_SIGN.search(text)):
        return text
    return "\n".join(_own_of_line(line, parts) for line in text.split("\n"))


def _own_of_line(line: str, parts: _Removed) -> str:
    sentences = SENTENCE.split(line)
    out: list[str] = []
    for number, sentence in enumerate(sentences):
        following = sentences[number + 1] if number + 1 < len(sentences) else ""
        shown = ASKS_ON_SHOWN.search(f"{sentences[number - 1]} ") if number else None
        if number and NEXT_IS_TEXT.match(sentences[number - 1]):
            shown = NEXT_IS_TEXT.match(sentences[number - 1])
        shown = shown if shown and not OWN_VOICE.match(sentence) else None
        previous = sentences[number - 1] if number else ""
        foreign = (
            shown
            or RETRACTS.match(following)
            or _is_hearsay(sentence)
            or _is_message(sentence)
            or addressee(sentence, previous, following) is Addressee.OTHERS
        )
        if not foreign or BINDING.search(sentence) is None:
            out.append(sentence)
        elif shown:  # The text in question extends to the end of the line.
            out.append(parts.take(" ".join(sentences[number:])))
            break
        else:
            out.append(parts.take(sentence))
    return " ".join(out) if len(sentences) > 1 else "".join(out)


def _is_hearsay(sentence: str) -> bool:
    """Return whether the sentence attributes a requirement to a nearby source other than the user."""
    if HEARSAY_STARTS.isdisjoint(word[:4] for word in WORD.findall(sentence.casefold())):
        return False
    for binding in islice(BINDING.finditer(sentence), MAX_BINDINGS):
        source = HEARSAY.search(sentence, max(0, binding.start() - SOURCE_CHARS), binding.end() + SOURCE_CHARS // 4)
        if source is not None and BINDING.search(sentence, source.start(), source.end() + SOURCE_CHARS) is not None:
            # Directly after the source, "from now on" or "we" is part of what it says.
            yet = NOW_ON.search(sentence, source.end() + len(", ") + 1, source.end() + SOURCE_CHARS)
            return yet is None or BINDING.search(sentence, yet.start(), yet.end() + SOURCE_CHARS) is None
    return False


# Maximum distance between a source and a requirement, and the number of requirements examined per sentence.
SOURCE_CHARS, MAX_BINDINGS = 240, 12


def _without_instructions(text: str, parts: _Removed, is_instruction: Callable[[str], bool]) -> str:
    """Remove sentences from the project's own instruction files, which the client provides anyway."""
    out = []
    for line in text.split("\n"):
        if line.strip() and is_instruction(line):
            out.append(parts.take(line))
            continue
        pieces = SENTENCE.split(line)
        if len(pieces) > 1 and any(map(is_instruction, pieces)):
            line = " ".join(parts.take(piece) if is_instruction(piece) else piece for piece in pieces)
        out.append(line)
    return "\n".join(out)
