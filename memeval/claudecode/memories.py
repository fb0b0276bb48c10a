"""Extract the texts that memory returned to a session, and estimate their use. Needed for trajectories and retrieval metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memeval.claudecode.contract import SessionResult, StepSequence, ToolCall
from memeval.core.text import content_stems, estimate_tokens
from memeval.core.types import Retrieved

MEMORY_ID = re.compile(r"\bmem_[0-9a-f]{12}\b")
_LINE = re.compile(r"\[?(mem_[0-9a-f]{12})\]?(?: \([^)\n]*\))? ?(.*)")
_EVIDENCE = re.compile(r"^evidence: .*?lines: \[([^\]]*)\]", re.MULTILINE)
PLUGIN_TOOL = re.compile(r"(?:mcp__plugin_memoryd_memoryd__|memoryd_)(\w+)")
"""Names of the plugin's tools in Claude Code and in OpenCode."""
READING = frozenset({"recall", "get_memory", "related", "timeline", "list_memories", "governance"})
WHOLE = frozenset({"history", "notes"})
"""Channels with unranked texts that are always included. They count as memory tokens."""
USED_SHARE = 0.6
"""Share of a memory's distinctive words that must occur in the answer for its content to count as used."""


@dataclass(frozen=True, slots=True)
class DeliveredText:
    """A text that memory passed to the model, with its channel and, if known, its id."""

    via: str
    text: str
    id: str = ""


def injected(result: SessionResult) -> list[DeliveredText]:
    """Return the memories in the texts that the plugin added to the context."""
    found = []
    for event, context in result.injected:
        found += [DeliveredText(f"hook:{event}", text, key) for key, text in _items(context)]
    return found


def retrieved(calls: Iterable[ToolCall]) -> list[DeliveredText]:
    """Return the texts that the model requested through the plugin's tools or by reading files of the built-in memory."""
    found = []
    for call in calls:
        tool = PLUGIN_TOOL.fullmatch(call.name)
        if tool is not None and tool[1] in READING:
            found += [DeliveredText(f"tool:{tool[1]}", text, key) for key, text in _items(call.result)]
        elif call.name == "Read" and "/memory/" in str(call.arguments.get("file_path")) and not call.is_error:
            found.append(DeliveredText("tool:Read", call.result))
    return found


def _items(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if match := _LINE.search(line):
            yield match[1], match[2].strip()


def loaded(builtin: Mapping[str, str]) -> list[DeliveredText]:
    """Return the index of the built-in memory that the client adds to the first message."""
    return [DeliveredText("builtin", text) for path, text in builtin.items() if path.endswith("/MEMORY.md") and text.strip()]


def tokens(given: Iterable[DeliveredText]) -> int:
    """Estimate the tokens in all texts that memory passed to the model."""
    return sum(estimate_tokens(one.text) for one in given)


def used(given: Sequence[DeliveredText], result: SessionResult) -> list[dict[str, str]]:
    """Return the memories cited in the answer, or repeated in it or in the session's commands and edits."""
    work = [call for call in result.tool_calls if not call.name.startswith(("mcp__", "memoryd_"))]
    texts = [result.text, *(value for call in work for value in call.arguments.values() if isinstance(value, str))]
    cited = set(MEMORY_ID.findall(result.text))
    said = content_stems("\n".join(texts))
    out = []
    for one in given:
        words = set(content_stems(one.text))
        if one.id and one.id in cited:
            out.append({"id": one.id, "how": "cited"})
        elif words and len(words & set(said)) >= USED_SHARE * len(words):
            out.append({"id": one.id or one.via, "how": "content"})
    return out


_IN_BRACKETS = re.compile(r"\s?[\[(`]{1,2}mem_[0-9a-f]{12}(?:[,; ]{1,2}mem_[0-9a-f]{12}){0,20}[\])`]{1,2}")
_BARE = re.compile(r"\s?\bmem_[0-9a-f]{12}\b")


def without_ids(text: str) -> str:
    """Remove memory ids. A judge could recognise the arm by them or mistake their digits for an answer."""
    return _BARE.sub("", _IN_BRACKETS.sub("", text)).strip()


def line_sources(
    sequence: StepSequence, session_ids: Mapping[str, str], line_id: Callable[[str, int], str]
) -> dict[str, tuple[str, str]]:
    """Map lines of a replayed log to their session and turn. `line_id` returns the id of a line, given its session and place."""
    return {
        line_id(session_ids[step.id], place): (step.session.id, turn.id)
        for step in sequence.steps
        if step.session is not None
        for place, turn in enumerate(step.session.turns)
    }


def pieces(given: Sequence[DeliveredText], files: Mapping[str, str], sources: Mapping[str, tuple[str, str]]) -> list[Retrieved]:
    """Rank the memories, without duplicates, in the order in which the model saw them.

    Each one lists the turns it was derived from.
    """
    out: dict[str, Retrieved] = {}
    for place, one in enumerate(one for one in given if one.via not in WHOLE):
        origin = [sources[line] for line in _evidence(files.get(one.id, "")) if line in sources]
        out.setdefault(
            one.id or f"{one.via}:{place}",
            Retrieved(
                one.text,
                1.0 / (place + 1),
                tuple(dict.fromkeys(session for session, _ in origin)),
                tuple(dict.fromkeys(turn for _, turn in origin)),
                metadata={"via": one.via, "id": one.id},
            ),
        )
    return list(out.values())


def _evidence(file: str) -> list[str]:
    match = _EVIDENCE.search(file)
    return [part.strip().strip("'\"") for part in match[1].split(",")] if match else []


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, Any]:
    """Return the texts that a session wrote to memory, keyed by id or path."""
    return {
        "new": {key: text for key, text in after.items() if key not in before},
        "changed": {key: text for key, text in after.items() if key in before and before[key] != text},
        "removed": sorted(before.keys() - after.keys()),
    }
