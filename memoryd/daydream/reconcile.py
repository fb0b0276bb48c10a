"""What becomes of a candidate, given what is known. Pure functions.

When unsure it links and keeps both: a wrong supersession loses a memory, a missing one
leaves work for the dream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from memoryd.daydream.answer import restrain
from memoryd.entities import find_entities
from memoryd.statements import Comparison, Relation, Said, compare, rephrases
from memoryd.types import (
    Candidate,
    Evidence,
    Hit,
    Link,
    LinkType,
    MemoryItem,
    Passage,
    Polarity,
    Scope,
    Source,
    Status,
)

TOMBSTONE_SIMILARITY = 0.75
REPHRASED_SIMILARITY = 0.5
_AUTHORITY: Mapping[Source, int] = MappingProxyType(
    {Source.USER: 3, Source.IMPORT: 2, Source.RECONCILED: 2, Source.AGENT_STEP: 1, Source.TOOL: 0}
)


class Action(StrEnum):
    """What to do with a candidate."""

    NEW = "new"
    KNOWN = "known"
    REFUSED = "refused"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    CONFIRMS = "confirms"


@dataclass(frozen=True, slots=True)
class Decision:
    """The action, the memory that it concerns (empty for NEW), and the reason in words."""

    action: Action
    target: str = ""
    reason: str = ""


def reconcile(candidate: Candidate, known: Sequence[Hit | MemoryItem]) -> Decision:
    """Compare a candidate with its neighbours, nearest first; the order among them matters only for ties."""
    items = [entry.item if isinstance(entry, Hit) else entry for entry in known]
    return (
        _refused(candidate, items)
        or _known(candidate, items)
        or _against_active(candidate, [item for item in items if item.status is Status.ACTIVE])
        or Decision(Action.NEW)
    )


def said(statement: MemoryItem | Candidate) -> Said:
    """A memory or candidate as it is compared."""
    return Said(statement.content, statement.polarity is Polarity.DONT, statement.source is Source.USER)


def relation(item: MemoryItem, candidate: Candidate) -> Comparison:
    """What the candidate is to a memory."""
    return compare(said(item), said(candidate))


def _refused(candidate: Candidate, items: Iterable[MemoryItem]) -> Decision | None:
    """What the user had forgotten does not come back, nor a close copy."""
    for item in items:
        if item.status is Status.BLACKLISTED and (
            relation(item, candidate).relation is Relation.SAME or _rephrases(item, candidate, TOMBSTONE_SIMILARITY)
        ):
            return Decision(Action.REFUSED, item.id, "the user had this forgotten")
    return None


def _rephrases(item: MemoryItem, candidate: Candidate, least: float) -> bool:
    return rephrases(said(item), said(candidate), least)


def _known(candidate: Candidate, items: Iterable[MemoryItem]) -> Decision | None:
    for item in items:
        if item.status is Status.BLACKLISTED:
            continue
        same = relation(item, candidate).relation is Relation.SAME
        reread = bool(set(candidate.uuids) & set(item.evidence.lines))
        if item.status is Status.SUPERSEDED:
            if same and (reread or _was_said_before_its_end(candidate, item)):
                return Decision(Action.KNOWN, item.id, "known, and replaced since")
        elif (same and not raises(candidate, item)) or (reread and _rephrases(item, candidate, REPHRASED_SIMILARITY)):
            return Decision(Action.KNOWN, item.id, "known")
    return None


def _was_said_before_its_end(candidate: Candidate, item: MemoryItem) -> bool:
    return candidate.at is not None and item.valid_to is not None and candidate.at < item.valid_to


def raises(candidate: Candidate, item: MemoryItem) -> bool:
    """The same statement, now with the user's authority or for all projects."""
    confirmed = candidate.source is Source.USER and item.source is not Source.USER
    wider = candidate.scope is Scope.USER and item.scope is Scope.PROJECT
    return (confirmed or wider) and may_replace(candidate, item)


def may_replace(candidate: Candidate, item: MemoryItem) -> bool:
    """User beats agent beats tool; only the user touches what is pinned; a project's exception leaves the general rule."""
    if candidate.source is not Source.USER and (item.pinned or item.source is Source.USER):
        return False
    if item.scope is Scope.USER and candidate.scope is not Scope.USER:
        return False
    return _AUTHORITY[candidate.source] >= _AUTHORITY[item.source]


def _against_active(candidate: Candidate, items: Iterable[MemoryItem]) -> Decision | None:
    doubtful: Decision | None = None
    for item in items:
        decision = _opposed(candidate, item)
        if decision is not None and decision.action is not Action.CONTRADICTS:
            return decision
        doubtful = doubtful or decision
    return doubtful


def _opposed(candidate: Candidate, item: MemoryItem) -> Decision | None:
    found = relation(item, candidate)
    if found.relation in (Relation.DIFFERENT, Relation.REFINES):
        return None
    if is_older(candidate, item):
        return Decision(Action.REFUSED, item.id, "older than what is known")
    if found.relation is Relation.SAME:
        return Decision(Action.SUPERSEDES, item.id, "confirmed by the user or for all projects")
    if not may_replace(candidate, item):
        if candidate.source is Source.TOOL:
            return Decision(Action.REFUSED, item.id, "tool text against a better source")
        return Decision(Action.CONTRADICTS, item.id, f"{found.reason}, from a lesser source or narrower")
    return Decision(Action.SUPERSEDES if found.relation is Relation.REPLACES else Action.CONTRADICTS, item.id, found.reason)


def is_older(candidate: Candidate, item: MemoryItem) -> bool:
    """A log that is read late must not overrule what was said after it."""
    return candidate.at is not None and item.valid_from is not None and candidate.at < item.valid_from


def to_item(
    candidate: Candidate,
    passage: Passage,
    *,
    now: datetime,
    decision: Decision | None = None,
    commit: str = "",
) -> MemoryItem:
    """The memory to write: `created_at` is now, `valid_from` when it was said. The id is the store's to give."""
    candidate = restrain(candidate)
    links = (Link(LinkType.CONTRADICTS, decision.target),) if decision and decision.action is Action.CONTRADICTS else ()
    entities = candidate.entities or find_entities(candidate.content)
    return MemoryItem(
        content=candidate.content,
        kind=candidate.kind,
        polarity=candidate.polarity,
        scope=candidate.scope,
        project=passage.project,
        session=passage.session or "unknown",
        source=candidate.source,
        confidence=min(1.0, max(0.0, candidate.confidence)),
        tags=candidate.tags,
        entities=entities,
        links=links,
        created_at=now,
        valid_from=candidate.at or now,
        status=candidate.status,
        asked_as=candidate.asked_as,
        evidence=Evidence(passage.transcript, candidate.uuids, commit, candidate.paths or _paths_in(entities)),
    )


def _paths_in(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if "/" in name and "://" not in name)
