"""Reads what `claude -p --output-format stream-json --include-hook-events` prints. Unknown lines are skipped, never an error.

Seen with 2.1.332: a `system/init` line (tools, plugins, plugin_errors), `assistant` and `user` lines with the messages,
`system/hook_response` with what a hook printed, and one `result` line at the end; without a model's answer it has
`is_error`, and after too many turns no `result` text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memeval.claudecode.contract import ErrorKind, ToolCall
from memeval.types import EMPTY

SHOWN = 300
_LOGIN = re.compile(
    r"not logged in|failed to authenticate|/login|invalid (api key|bearer)|oauth token|authentication", re.IGNORECASE
)
_LIMIT = re.compile(
    r"(usage|rate|session|weekly|hour) limit|limit reached|hit your limit|overloaded|too many requests", re.IGNORECASE
)
_NETWORK = re.compile(
    r"connection error|unable to connect|econnrefused|enotfound|fetch failed|network|socket|timed out", re.IGNORECASE
)
_MODEL = re.compile(
    r"issue with the selected model|model.{0,40}(not exist|not found|not available|access)|not_found", re.IGNORECASE
)
_UNKNOWN_OPTION = re.compile(r"unknown option|invalid choice|error: option", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stream:
    """The lines of a run, sorted. `hooks`: (event, what it printed)."""

    init: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    result: Mapping[str, Any] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    hooks: tuple[tuple[str, str], ...] = ()


def read_stream(text: str) -> Stream:
    """Parse the output of one run."""
    init: Mapping[str, Any] = EMPTY
    result: Mapping[str, Any] | None = None
    hooks: list[tuple[str, str]] = []
    calls: dict[str, ToolCall] = {}
    for line in _lines(text):
        match line:
            case {"type": "system", "subtype": "init"}:
                init = line
            case {"type": "system", "subtype": "hook_response", "hook_event": str(event)}:
                hooks.append((event, str(line.get("stdout") or line.get("output") or "")))
            case {"type": "result"}:
                result = line
            case {"type": "assistant" | "user", "message": {"content": list(blocks)}}:
                _collect(calls, blocks)
    return Stream(init, result, tuple(calls.values()), tuple(hooks))


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _collect(calls: dict[str, ToolCall], blocks: Sequence[Any]) -> None:
    for block in blocks:
        match block:
            case {"type": "tool_use", "id": str(key), "name": str(name)}:
                arguments = block.get("input")
                calls[key] = ToolCall(name, arguments if isinstance(arguments, dict) else {})
            case {"type": "tool_result", "tool_use_id": str(key)} if key in calls:
                old = calls[key]
                calls[key] = ToolCall(old.name, old.arguments, text_of(block.get("content")), bool(block.get("is_error")))


def text_of(content: Any) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or [] if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a run failed, in the client's words, and what to do."""

    kind: ErrorKind
    message: str
    fix: str


FIXES = {
    ErrorKind.LOGIN: "Run `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN, or give --auth api-key with ANTHROPIC_API_KEY.",
    ErrorKind.MODEL: "Correct --model; `claude -p hello --model NAME` in a terminal tells whether you have it.",
    ErrorKind.RATE_LIMIT: "Wait for the limit to end, then go on with --resume; fewer --workers help.",
    ErrorKind.NETWORK: "Check the network (or --base-url), then go on with --resume.",
    ErrorKind.CLIENT: "Update the client with `claude update`, or name another with --claude.",
    ErrorKind.MAX_TURNS: "Raise --max-turns.",
    ErrorKind.BUDGET: "Raise --budget-usd.",
    ErrorKind.TIMEOUT: "Raise --timeout.",
    ErrorKind.CRASH: "Try it again with --resume --retry-failed.",
    ErrorKind.PLUGIN: "Run `memoryd doctor`; name the plugin's folder with --plugin-dir.",
}


def fault_of(stream: Stream, code: int, stderr: str) -> Fault | None:
    """What went wrong, None when there is an answer."""
    result = stream.result
    if result is None:
        return _no_result(code, stderr)
    if result.get("is_error"):
        return _told(result)
    return (
        None
        if isinstance(result.get("result"), str)
        else Fault(ErrorKind.CRASH, "The client gave no answer.", FIXES[ErrorKind.CRASH])
    )


def _no_result(code: int, stderr: str) -> Fault:
    said = short(stderr)
    if _UNKNOWN_OPTION.search(said):
        return Fault(ErrorKind.CLIENT, f"The Claude Code client is too old: {said}", FIXES[ErrorKind.CLIENT])
    kind = _by_words(said) or ErrorKind.CRASH
    return Fault(kind, f"The client ended with code {code} and no result{': ' + said if said else '.'}", FIXES[kind])


def _told(result: Mapping[str, Any]) -> Fault:
    subtype = str(result.get("subtype") or "")
    said = short(str(result.get("result") or result.get("errors") or subtype or "no reason"))
    kind = _by_subtype(subtype) or _by_status(result.get("api_error_status")) or _by_words(said) or ErrorKind.CRASH
    return Fault(kind, f"The client failed: {said}", FIXES[kind])


def _by_subtype(subtype: str) -> ErrorKind | None:
    if "max_turns" in subtype:
        return ErrorKind.MAX_TURNS
    return ErrorKind.BUDGET if "budget" in subtype else None


def _by_status(status: Any) -> ErrorKind | None:
    if not isinstance(status, int):
        return None
    if status in (401, 403):
        return ErrorKind.LOGIN
    if status == 404:
        return ErrorKind.MODEL
    return ErrorKind.RATE_LIMIT if status in (429, 529) else None


def _by_words(said: str) -> ErrorKind | None:
    for kind, sign in (
        (ErrorKind.MODEL, _MODEL),
        (ErrorKind.RATE_LIMIT, _LIMIT),
        (ErrorKind.LOGIN, _LOGIN),
        (ErrorKind.NETWORK, _NETWORK),
    ):
        if sign.search(said):
            return kind
    return None


def short(text: str) -> str:
    """One line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
