"""What the person really typed, out of the texts that a log stores under the role `user`.

The client wraps commands, adds reminders and hook output, and puts notices of its own where a prompt stands.
Text of those is never the user's. Pure functions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memoryd.llm import is_internal_text

RECALL_TAG = "memoryd-recall"
OBSERVER_MARKERS = ("<observed_from_primary_session>", "specialized observer tool for creating searchable memory")
INTERRUPTED = "[Request interrupted by user"
CONTINUED = "This session is being continued from a previous conversation"

_PRIVATE = re.compile(r"<(/?)private\s*>", re.IGNORECASE)
_PRIVATE_BLOCK = re.compile(r"<private\s*>.*?</private\s*>", re.DOTALL | re.IGNORECASE)
_RECALL = re.compile(rf"<{RECALL_TAG}\b[^>]*>.*?(?:</{RECALL_TAG}\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_RECALL_END = re.compile(rf"</{RECALL_TAG}\s*>", re.IGNORECASE)
_CLIENT_TAGS = (
    "system-reminder|task-notification|local-command-stdout|local-command-stderr|local-command-caveat|command-message|"
    "command-contents|user-prompt-submit-hook|session-start-hook|ide_opened_file|ide_selection|ide_diagnostics|"
    "bash-input|bash-stdout|bash-stderr|post-tool-use-hook|teammate-message|tools-used-before-summary|"
    "new-diagnostics|background-task-notification|channel|channel-message|total_tokens"
)
_CLIENT_BLOCK = re.compile(rf"<({_CLIENT_TAGS})\b[^>]*>.*?</\1\s*>", re.DOTALL)
_CLIENT_OPEN = re.compile(rf"\A\s*<({_CLIENT_TAGS})\b[^>]*>", re.DOTALL)
_COMMAND_NAME = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_COMMAND_ARGS = re.compile(r"<command-args>(.*?)(?:</command-args>|\Z)", re.DOTALL)
_PLACEHOLDER = re.compile(r"\[(?:Image #\d+|Image: [^\]\n]*|Pasted text #\d+[^\]\n]*|Audio #\d+)\]")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ERROR_TAG = re.compile(r"</?tool_use_error>")
_INTERRUPT = re.compile(r"\[Request interrupted by user[^\]\n]*\]")
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


def strip_private(text: str) -> str:
    """Without `<private>` blocks; one that is never closed reaches to the end. Blocks may be nested."""
    out: list[str] = []
    depth = start = 0
    for match in _PRIVATE.finditer(text):
        if depth == 0:
            out.append(text[start : match.start()])
        depth = max(0, depth - 1) if match.group(1) else depth + 1
        start = match.end()
    if depth == 0:
        out.append(text[start:])
    return "".join(out)


def strip_recall(text: str) -> str:
    """Without anything that memory itself injected."""
    return _RECALL_END.sub("", _RECALL.sub("", text)) if RECALL_TAG in text.casefold() else text


def strip_client(text: str) -> str:
    """Without the blocks that the client or its hooks added."""
    return _CLIENT_BLOCK.sub("", text) if "<" in text else text


def well_formed(text: str) -> str:
    """Text that can be written as UTF-8: lone surrogates replaced, NULs and terminal colours removed."""
    text = text.replace("\x00", "")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean(text: str) -> str:
    """For text that is not the user's: injected and client text removed, and private blocks that are repeated whole."""
    text = strip_recall(well_formed(text))
    if "<" not in text:
        return text.strip()
    return _ERROR_TAG.sub("", strip_client(_PRIVATE_BLOCK.sub("", text))).strip()


def is_client_text(text: str) -> bool:
    """Whether the whole text is a notice of the client, which begins in a known way."""
    return text.lstrip().startswith(_CLIENT_STARTS)


def clean_user(text: str) -> UserText:
    """What the person typed in a text with the role `user`."""
    text = strip_recall(strip_private(well_formed(text)))
    if is_client_text(text):
        return UserText()
    name = _COMMAND_NAME.search(text)
    if name:
        args = _COMMAND_ARGS.search(text)
        text = args.group(1) if args else ""
    text = strip_client(text)
    interrupt = INTERRUPTED in text
    text = _PLACEHOLDER.sub("", _INTERRUPT.sub("", text)).strip()
    if _CLIENT_OPEN.match(text) or is_client_text(text) or _BARE_COMMAND.fullmatch(text):
        text = ""
    return UserText(text, name.group(1).strip() if name else "", interrupt)


def foreign_run(text: str) -> str:
    """Why a session that starts with this prompt is not a person's: own_run, observer, or empty."""
    if is_internal_text(text.lstrip()):
        return "own_run"
    return "observer" if any(marker in text for marker in OBSERVER_MARKERS) else ""
