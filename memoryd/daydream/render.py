"""A passage as the text that a model reads: known memories, then numbered turns, tool noise cut first. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memoryd.text import one_line, shorten, token_count
from memoryd.types import MemoryItem, Passage, Status, Turn, TurnKind

SPEAKER = {
    TurnKind.USER: "USER",
    TurnKind.ASSISTANT: "ASSISTANT",
    TurnKind.TOOL_USE: "STEP",
    TurnKind.TOOL_RESULT: "TOOL",
    TurnKind.INTERRUPT: "INTERRUPT",
    TurnKind.COMPACTION: "SUMMARY",
}
EVIDENCE_KINDS = frozenset({TurnKind.USER, TurnKind.ASSISTANT, TurnKind.TOOL_USE, TurnKind.TOOL_RESULT})
CONTEXT_CHARACTERS = 400
KNOWN_CHARACTERS = 240
CONTINUED = "\n    "
END_MARK = "This piece is the end of the session: write the handoff."
_TAG = re.compile(r"<(?=\s{0,8}/?\s{0,8}(?:session|known)\b)", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Limits:
    """Characters kept of one turn, by who speaks."""

    user: int
    assistant: int
    tool: int


# Tried in order until the piece fits: what tools said goes first, what the user said last.
STEPS = (
    Limits(8_000, 3_000, 500),
    Limits(8_000, 2_000, 200),
    Limits(6_000, 1_000, 80),
    Limits(4_000, 500, 0),
    Limits(1_500, 200, 0),
    Limits(500, 80, 0),
    Limits(120, 0, 0),
)


def middle_cut(text: str, limit: int) -> str:
    """At most about `limit` characters: the head and the tail, since errors and conclusions stand at the end."""
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    head = -(-limit * 2 // 3)
    return f"{text[:head].rstrip()} […] {text[len(text) - (limit - head) :].lstrip()}"


def render(passage: Passage, budget_tokens: int) -> str:
    """The message about a passage: known memories, the turns as data, and whether the session ends here."""
    parts = [f"<known>\n{_known(passage.known)}\n</known>"] if passage.known else []
    parts.append(f"<session>\n{render_turns(passage, budget_tokens)}\n</session>")
    return "\n".join([*parts, END_MARK] if passage.ends else parts)


def alias(position: int) -> str:
    """How the known memory at a position (from 0) is called in the prompt: the same whatever the store's ids."""
    return f"m{position + 1}"


def _known(items: Sequence[MemoryItem]) -> str:
    lines = []
    for position, item in enumerate(items):
        mark = ", unconfirmed" if item.status is Status.CANDIDATE else ""
        said = shorten(_harmless(one_line(item.content)), KNOWN_CHARACTERS)
        lines.append(f"[{alias(position)}] {item.kind.value}{mark}: {said}")
    return "\n".join(lines)


def render_turns(passage: Passage, budget_tokens: int) -> str:
    """The turns; turn n of `passage.turns` is numbered n, counted from 1."""
    text = ""
    for limits in STEPS:
        text = "\n".join([*_context(passage.context), *_numbered(passage.turns, limits)])
        if token_count(text) <= budget_tokens:
            break
    return text


def _harmless(text: str) -> str:
    """Text that can't leave its place: no tags of ours, no control characters."""
    return _TAG.sub("<\u200b", _CONTROL.sub(" ", text))


def _indented(text: str) -> str:
    """Text whose further lines can't pass for turns of their own."""
    return CONTINUED.join(line.rstrip() for line in _harmless(text).splitlines())


def _context(turns: Sequence[Turn]) -> list[str]:
    return [
        f"earlier {SPEAKER[turn.kind]}: {middle_cut(_harmless(one_line(turn.text)), CONTEXT_CHARACTERS)}"
        for turn in turns
        if turn.text.strip() and turn.kind is not TurnKind.TOOL_RESULT
    ]


def _numbered(turns: Sequence[Turn], limits: Limits) -> list[str]:
    out = []
    for number, turn in enumerate(turns, 1):
        said = _indented(_said(turn, limits))
        if said or turn.kind is TurnKind.USER:
            out.append(f"[{number}] {_who(turn)}: {said}")
    return out


def _who(turn: Turn) -> str:
    speaker = "SUBAGENT" if turn.sidechain else SPEAKER[turn.kind]
    return f"{speaker} {turn.tool}{' FAILED' if turn.error else ''}".rstrip() if turn.tool else speaker


def _said(turn: Turn, limits: Limits) -> str:
    if turn.via == "answer" and turn.text.strip():
        return middle_cut(f"(asked: {one_line(turn.detail)}) {turn.text.strip()}", limits.user)
    if turn.kind in (TurnKind.USER, TurnKind.COMPACTION):
        return middle_cut(turn.text.strip(), limits.user)
    if turn.kind is TurnKind.ASSISTANT:
        return middle_cut(turn.text.strip(), limits.assistant)
    if turn.kind is TurnKind.TOOL_USE:
        return middle_cut(one_line(turn.detail or turn.text), limits.tool)
    return middle_cut(one_line(turn.text), limits.tool)
