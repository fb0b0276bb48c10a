"""What the person really typed, out of the texts that a log stores under the role `user`.

The client wraps commands, adds reminders and hook output, and puts notices of its own where a prompt stands.
Text of those is never the user's. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.client_tags import NAMES, RECALL_TAG, folded, without_hidden
from memoryd.daydream.privacy import strip_private, strip_whole_private
from memoryd.llm import is_internal_text

OBSERVER_MARKERS = ("<observed_from_primary_session>", "specialized observer tool for creating searchable memory")
INTERRUPTED = "[Request interrupted by user"
CONTINUED = "This session is being continued from a previous conversation"

_CLIENT_TAG = re.compile(rf"<\s{{0,8}}(?P<close>/?)\s{{0,8}}(?P<name>{NAMES})(?![\w-])(?P<rest>[^<>]{{0,2000}})>", re.IGNORECASE)
_CLIENT_CUT = re.compile(rf"\A\s*<\s{{0,8}}/?\s{{0,8}}(?:{NAMES})(?![\w-])", re.IGNORECASE)
_COMMAND = re.compile(r"\A\s*<command-(?:name|message)>")
_COMMAND_NAME = re.compile(r"<command-name>([^<]{0,400})</command-name>")
_ARGS_OPEN, _ARGS_CLOSE = "<command-args>", "</command-args>"
# Not with a colon behind it: then its text follows.
_PLACEHOLDER = re.compile(
    r"\[(?:Image #\d{1,9}|Image: [^\[\]\n]{0,1000}|Pasted text #\d{1,9}[^\[\]\n]{0,200}|Audio #\d{1,9})\](?!\s{0,3}[:：=])"
)
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
_CONTROL = re.compile("\x1b[\\[\\]()]|[\x07\x08\x0b\u202d\u202e]")
_ERROR_TAG = re.compile(r"</?tool_use_error>")
_INTERRUPT = re.compile(r"\[Request interrupted by user[^\[\]\n]{0,200}\]")
_BARE_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*")
_CLIENT_STARTS = (
    "Caveat: The messages below were generated",
    "Base directory for this skill:",
    "Stop hook feedback:",
    "Unknown slash command:",
    "Unknown skill:",
    "# claudeMd",
    "<task-notification>",
    '{"task_id":',
    "[SYSTEM NOTIFICATION",
)


@dataclass(frozen=True, slots=True)
class UserText:
    """What was typed (may be empty), the slash command it was an argument of, and whether it marks an interrupt."""

    text: str = ""
    command: str = ""
    interrupt: bool = False


def strip_client(text: str) -> str:
    """Without the blocks that the client, its hooks or memory added, each up to the last closing tag of its name.

    What stands in a block may hold closing tags itself. A block that is never closed is left in a text that is not the
    user's; only what memory injected reaches to the end then.
    """
    return _scan(text, unclosed=False)[0] if "<" in text else text


def _scan(text: str, *, unclosed: bool) -> tuple[str, bool]:
    """The text outside of the client's blocks, and whether a closing tag without its block was found.

    `unclosed`: a block without its end reaches to the end of the text.
    """
    found = _client_tags(text)
    last = {match["name"].casefold(): match.end() for match in found if match["close"]}
    out: list[str] = []
    at, stray = 0, False
    for match in found:
        if match.start() < at:
            continue
        name = match["name"].casefold()
        end = last.get(name, 0)
        if match["close"] or (end <= match.start() and not unclosed and name != RECALL_TAG):
            stray = stray or bool(match["close"])
            out.append(text[at : match.start()])
            at = match.end() if match["close"] else match.start()
            if not match["close"]:
                out.append(match[0])
                at = match.end()
            continue
        out.append(text[at : match.start()])
        at = end if end > match.start() else len(text)
    out.append(text[at:])
    return "".join(out), stray


def _client_tags(text: str) -> list[re.Match[str]]:
    plain = folded(text)
    return list(_CLIENT_TAG.finditer(plain)) if "<" in plain else []


def _typed_in(text: str) -> str:
    """What a person typed of one text of the log; nothing of a text whose parts can't be told apart."""
    rest, stray = _scan(text, unclosed=True)
    return "" if stray or _CLIENT_CUT.match(folded(rest)) else rest


def well_formed(text: str) -> str:
    """Text that can be written as UTF-8: lone surrogates replaced, NULs and terminal colours removed."""
    text = text.replace("\x00", "")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain_signs(text: str) -> str:
    """Text without signs that hide something, so that a tag can't be disguised; joiners of scripts and emojis stay."""
    text = well_formed(text)
    return without_hidden(text)


def clean(text: str) -> str:
    """For text that is not the user's: injected and client text removed, and private blocks that are repeated whole."""
    text = strip_whole_private(well_formed(text))
    if "<" not in text:
        return text.strip()
    return _ERROR_TAG.sub("", strip_client(_ERROR_TAG.sub("", text))).strip()


def is_client_text(text: str) -> bool:
    """Whether the whole text is a notice of the client, which begins in a known way."""
    return text.lstrip().startswith(_CLIENT_STARTS)


def clean_user(text: str) -> UserText:
    """What the person typed in a text with the role `user`."""
    return typed_text([text])


def typed_text(texts: Sequence[str]) -> UserText:
    """What the person typed in the text blocks of one message.

    The client writes its own blocks apart from the prompt. A block that can't be read alone is read with the others.
    """
    parts = [plain_signs(strip_private(well_formed(text))) for text in texts]
    parts = [part for part in parts if not is_client_text(part)]
    joined = "\n".join(parts)
    if not parts:
        return UserText()
    if _COMMAND.match(joined):
        return _command(joined)
    whole = all(_is_balanced(part) for part in parts)
    text = "\n".join(filter(None, map(_typed_in, parts))) if whole else _typed_in(joined)
    interrupt = INTERRUPTED in text
    text = _PLACEHOLDER.sub("", _INTERRUPT.sub("", text)).strip()
    if is_client_text(text) or _BARE_COMMAND.fullmatch(text):
        text = ""
    return UserText(text, "", interrupt)


def without_colours(text: str) -> str:
    """Up to the line with a control sign of terminals or a sign that turns the text around: nobody types these."""
    match = _CONTROL.search(text)
    return text if match is None else text[: text.rfind("\n", 0, match.start()) + 1]


def _is_balanced(text: str) -> bool:
    """Whether each client block of the text ends in it."""
    names = [(match["name"].casefold(), bool(match["close"])) for match in _client_tags(text)]
    return {name for name, close in names if close} == {name for name, close in names if not close}


def _command(text: str) -> UserText:
    """The arguments that were typed behind a slash command."""
    name = _COMMAND_NAME.search(text)
    start, end = text.find(_ARGS_OPEN), text.rfind(_ARGS_CLOSE)
    args = text[start + len(_ARGS_OPEN) : end if end > start else len(text)] if start >= 0 else ""
    return UserText(_PLACEHOLDER.sub("", _typed_in(args)).strip(), name.group(1).strip() if name else "")


def foreign_run(text: str) -> str:
    """Why a session that starts with this prompt is not a person's: own_run, observer, or empty."""
    if is_internal_text(text.lstrip()):
        return "own_run"
    return "observer" if any(marker in text for marker in OBSERVER_MARKERS) else ""
