"""Measure a session from its log.

Results are only numbers, no text. Trials use them to compare sessions with and without memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from memoryd.clients.registry import open_log
from memoryd.core.types import Turn, TurnKind
from memoryd.daydream.handoff import is_test_run
from memoryd.daydream.transcript import Apart, ReadLimits, nothing_apart, read_all, read_lines
from memoryd.language.cues import opens_as_correction

MAX_EDITS = 2_000  # Per session, for detecting reverted edits.
_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_REJECTED = "User rejected tool use"
_REVERTS = re.compile(r"\bgit\s{1,4}(?:checkout\s{1,4}(?:\S{1,200}\s{1,4}){0,3}--\s|restore\s|revert\s|reset\s{1,4}--hard)")


@dataclass(slots=True)
class SessionMeasures:
    """Counts for one session.

    Attributes:
        prompts: Prompts typed by the user.
        steps: Tool calls by the agent and its subagents.
        tokens: Tokens read (including cached ones) and written by the model.
        corrections: Prompts that correct the agent, and tool calls rejected by the user.
        reverted: Edits exactly undone by a later edit, and git commands that discard changes.
        test_runs: Test runs, of which `tests_passed` succeeded.
    """

    prompts: int = 0
    steps: int = 0
    tokens: int = 0
    corrections: int = 0
    reverted: int = 0
    test_runs: int = 0
    tests_passed: int = 0

    def as_dict(self) -> dict[str, float]:
        """Return the measures by name."""
        return asdict(self)


def measure(path: Path, *, limits: ReadLimits | None = None, apart: Apart = nothing_apart) -> SessionMeasures:
    """Measure a whole log. Prompts are not counted on lines for which `apart` is true. Raises TranscriptError."""
    found = SessionMeasures()
    _count_turns(found, (turn for piece in read_all(path, limits=limits, apart=apart) for turn in piece.turns))
    edits = _Edits()
    costs: dict[str, int] = {}
    for entry in _entries(path, limits or ReadLimits()):
        found.corrections += _is_rejection(entry)
        message = entry.get("message")
        if entry.get("type") != "assistant" or not isinstance(message, dict):
            continue
        if isinstance(usage := message.get("usage"), dict):
            # The client repeats a message's usage on the line of each of its parts. The last one is complete.
            costs[str(message.get("id"))] = _tokens(usage)
        for call in _calls(message):
            found.steps += 1
            found.reverted += edits.reverts(call)
    found.tokens = sum(costs.values())
    return found


def _count_turns(found: SessionMeasures, turns: Iterable[Turn]) -> None:
    testing = False
    for turn in turns:
        if turn.sidechain:
            continue
        if turn.kind is TurnKind.USER:
            found.prompts += turn.via == "prompt"
            found.corrections += turn.via == "prompt" and opens_as_correction(turn.text)
        elif turn.kind is TurnKind.TOOL_USE:
            testing = is_test_run(turn)
        elif turn.kind is TurnKind.TOOL_RESULT and testing:
            found.test_runs += 1
            found.tests_passed += not turn.error
            testing = False


def _entries(path: Path, limits: ReadLimits) -> Iterator[Mapping[str, Any]]:
    with open_log(path) as stream:
        for line in read_lines(stream, 0, 0, limit=limits.line_bytes, block_bytes=limits.block_bytes):
            entry = None
            if line.data is not None:
                with suppress(orjson.JSONDecodeError):  # A broken line is reported by the day dream, which reads the same log.
                    entry = orjson.loads(line.data)
            if isinstance(entry, dict):
                yield entry


def _is_rejection(entry: Mapping[str, Any]) -> bool:
    """Return whether the user rejected a tool call. No proof is needed, because an imitation would only inflate a count."""
    return entry.get("type") == "user" and str(entry.get("toolUseResult", "")).strip() == _REJECTED


def _calls(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_use" and isinstance(part.get("input"), dict):
            yield part


def _tokens(usage: Mapping[str, Any]) -> int:
    counts = (usage.get(name) for name in _TOKENS)
    return sum(count for count in counts if isinstance(count, int) and count > 0)


class _Edits:
    """Previous edits in a session, for detecting edits that undo them."""

    def __init__(self) -> None:
        self._done: set[tuple[str, int, int]] = set()  # Path, and hashes of the text before and after.

    def reverts(self, call: Mapping[str, Any]) -> bool:
        """Return whether a tool call undoes earlier changes."""
        given = call["input"]
        command = given.get("command")
        if call.get("name") == "Bash" and isinstance(command, str):
            return _REVERTS.search(command[:2_000]) is not None
        old, new, path = (given.get(name) for name in ("old_string", "new_string", "file_path"))
        if call.get("name") != "Edit" or not (isinstance(old, str) and isinstance(new, str) and isinstance(path, str)):
            return False
        if (path, hash(new), hash(old)) in self._done:
            self._done.remove((path, hash(new), hash(old)))
            return True
        if len(self._done) < MAX_EDITS:
            self._done.add((path, hash(old), hash(new)))
        return False
