"""A model's answer, checked strictly and tied to its evidence. Pure functions.

The model proposes words and line numbers; who said it, and so how far it may go, is decided
here from the turns that it points to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memoryd.daydream.render import EVIDENCE_KINDS
from memoryd.statements import read
from memoryd.text import keywords, one_line
from memoryd.types import Candidate, Kind, Passage, Polarity, Refused, Scope, Source, Turn, TurnKind

MAX_CONTENT = 400
MAX_CANDIDATES = 40
# Share of a statement's keywords that its evidence must hold; a paraphrase reaches a third, an invention near nothing.
MIN_SUPPORT = 0.25
# To count as the user's own words, the user's turn must hold more of it.
MIN_USER_SUPPORT = 0.34
PREFIX = 5

_ENTRY: dict[str, Any] = {
    "content": {"type": "string"},
    "kind": {"type": "string", "enum": [kind.value for kind in Kind]},
    "polarity": {"type": "string", "enum": [polarity.value for polarity in Polarity]},
    "scope": {"type": "string", "enum": [Scope.PROJECT.value, Scope.USER.value]},
    "evidence": {"type": "array", "items": {"type": "integer"}},
    "importance": {"type": "integer"},
    "confidence": {"type": "number"},
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "candidates": {
            "type": "array",
            "items": {"type": "object", "properties": _ENTRY, "required": list(_ENTRY), "additionalProperties": False},
        }
    },
    "required": ["candidates"],
    "additionalProperties": False,
}
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")


class InvalidAnswerError(ValueError):
    """The answer does not follow the schema; the text says where."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One entry of a valid answer; `evidence` are turn numbers counted from 1."""

    content: str
    kind: Kind
    polarity: Polarity
    scope: Scope
    evidence: tuple[int, ...]
    importance: int
    confidence: float


def parse_answer(text: str) -> list[Proposal]:
    """The proposals in a model's answer. Raises InvalidAnswerError that names the place."""
    fenced = _FENCE.match(text)
    try:
        value = orjson.loads(fenced.group(1) if fenced else text)
    except orjson.JSONDecodeError as error:
        raise InvalidAnswerError(f"not JSON: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("candidates"), list):
        raise InvalidAnswerError('expected an object with the list "candidates"')
    if len(value["candidates"]) > MAX_CANDIDATES:
        raise InvalidAnswerError(f"more than {MAX_CANDIDATES} candidates")
    return [_proposal(entry, f"candidates[{i}]") for i, entry in enumerate(value["candidates"])]


def _proposal(entry: Any, where: str) -> Proposal:
    if not isinstance(entry, dict):
        raise InvalidAnswerError(f"{where}: expected an object")
    missing, extra = _ENTRY.keys() - entry.keys(), entry.keys() - _ENTRY.keys()
    if missing or extra:
        raise InvalidAnswerError(f"{where}: missing keys {sorted(missing)}, unknown keys {sorted(extra)}")
    return Proposal(
        content=_content(entry["content"], where),
        kind=Kind(_one_of(entry, "kind", where)),
        polarity=Polarity(_one_of(entry, "polarity", where)),
        scope=Scope(_one_of(entry, "scope", where)),
        evidence=_evidence(entry["evidence"], where),
        importance=int(_number(entry, "importance", where, 1, 3)),
        confidence=_number(entry, "confidence", where, 0, 1),
    )


def _content(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidAnswerError(f"{where}.content: expected a sentence")
    if len(value) > MAX_CONTENT:
        raise InvalidAnswerError(f"{where}.content: longer than {MAX_CONTENT} characters")
    return one_line(value)


def _one_of(entry: Mapping[str, Any], key: str, where: str) -> str:
    if entry[key] not in _ENTRY[key]["enum"]:
        raise InvalidAnswerError(f"{where}.{key}: expected one of {', '.join(_ENTRY[key]['enum'])}")
    return str(entry[key])


def _evidence(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in value):
        raise InvalidAnswerError(f"{where}.evidence: expected a list of turn numbers")
    return tuple(dict.fromkeys(value))


def _number(entry: Mapping[str, Any], key: str, where: str, low: float, high: float) -> float:
    value = entry[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidAnswerError(f"{where}.{key}: expected a number from {low} to {high}")
    return float(value)


def stems(text: str) -> set[str]:
    """Keywords cut to a prefix, so that inflected forms meet."""
    return {word[:PREFIX] for word in keywords(text)}


def support(content: str, evidence: str) -> float:
    """Share of the content's keywords that the evidence holds, 0..1."""
    said = stems(content)
    return len(said & stems(evidence)) / len(said) if said else 0.0


def ground(proposals: Sequence[Proposal], passage: Passage) -> tuple[list[Candidate], list[Refused]]:
    """Candidates whose evidence exists and supports them, in the order of their evidence, and the others."""
    kept: list[tuple[int, Candidate]] = []
    refused: list[Refused] = []
    everything = " ".join(_words(turn) for turn in (*passage.context, *passage.turns))
    for proposal in proposals:
        cited = [n for n in sorted(proposal.evidence) if _is_evidence(n, passage.turns)]
        turns = [passage.turns[n - 1] for n in cited]
        problem = _problem(proposal, turns, everything)
        if problem:
            first = turns[0] if turns else None
            said = (source_of(first), first.line, first.at) if first else (Source.AGENT_STEP, 0, None)
            refused.append(Refused(proposal.content, problem, *said))
        else:
            kept.append((cited[0], _candidate(proposal, turns)))
    return [candidate for _, candidate in sorted(kept, key=lambda pair: pair[0])], refused


def _is_evidence(number: int, turns: Sequence[Turn]) -> bool:
    return 1 <= number <= len(turns) and turns[number - 1].kind in EVIDENCE_KINDS


def _words(turn: Turn) -> str:
    return f"{turn.text} {turn.detail}"


def _problem(proposal: Proposal, turns: Sequence[Turn], everything: str) -> str:
    if not turns:
        return "no valid evidence"
    if support(proposal.content, " ".join(_words(turn) for turn in turns)) < MIN_SUPPORT:
        return "not supported by its evidence"
    if not all(re.search(rf"(?<!\d){re.escape(number)}(?!\d)", everything) for number in _NUMBER.findall(proposal.content)):
        return "holds a number that nobody said"
    return ""


def source_of(turn: Turn) -> Source:
    """Who speaks in a turn. What a sub-agent was told is the agent's, not the user's."""
    if turn.kind is TurnKind.TOOL_RESULT:
        return Source.TOOL
    return Source.USER if turn.kind is TurnKind.USER and not turn.sidechain else Source.AGENT_STEP


def _source(content: str, turns: Sequence[Turn]) -> Source:
    """The highest-ranking speaker whose own words support the statement; citing a user's "ok" lends it nothing."""
    by_support = sorted(turns, key=lambda turn: support(content, _words(turn)), reverse=True)
    for source, least in ((Source.USER, MIN_USER_SUPPORT), (Source.AGENT_STEP, MIN_SUPPORT)):
        if any(source_of(turn) is source and support(content, _words(turn)) >= least for turn in turns):
            return source
    best = source_of(by_support[0])
    return Source.AGENT_STEP if best is Source.USER else best


def _candidate(proposal: Proposal, turns: Sequence[Turn]) -> Candidate:
    source = _source(proposal.content, turns)
    return restrain(
        Candidate(
            content=proposal.content,
            kind=proposal.kind,
            polarity=proposal.polarity,
            source=source,
            confidence=proposal.confidence,
            importance=proposal.importance,
            lines=tuple(dict.fromkeys(turn.line for turn in turns if turn.line)),
            uuids=tuple(dict.fromkeys(turn.uuid for turn in turns if turn.uuid)),
            scope=proposal.scope,
            at=max((turn.at for turn in turns if turn.at), default=None),
        )
    )


def restrain(candidate: Candidate) -> Candidate:
    """Only the user makes rules: from others they are facts, and tool text never says what to do."""
    if candidate.source is Source.USER:
        return candidate
    changes: dict[str, Any] = {}
    if candidate.kind in (Kind.RULE, Kind.PREFERENCE):
        changes = {"kind": Kind.FACT, "polarity": Polarity.KNOW}
    if candidate.source is Source.TOOL:
        changes["polarity"] = Polarity.KNOW
    if changes and candidate.polarity is Polarity.DONT and not read(candidate.content).negations:
        # "Use emojis" under "don't" would come to say the opposite.
        changes["content"] = f"To avoid: {candidate.content}"
    if candidate.scope is Scope.USER:
        changes["scope"] = Scope.PROJECT
    return replace(candidate, **changes)
