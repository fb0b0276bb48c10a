"""What becomes of a candidate, given what is known. Pure functions.

When unsure it links and keeps both: a wrong supersession loses a memory, a missing one
leaves work for the dream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from memoryd.daydream.answer import restrain
from memoryd.daydream.heuristic.moment import asks, binds
from memoryd.entities import find_entities
from memoryd.statements import RULES, Comparison, Relation, Said, adds, rephrases
from memoryd.types import (
    AUTHORITY,
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

UNKNOWN_SESSION = "unknown"
TOMBSTONE_SIMILARITY = 0.75
REPHRASED_SIMILARITY = 0.5


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
    """The action, the memory that it concerns (empty for NEW), and the reason in words.

    `also` are further memories that the candidate replaces, `opposed` those that it contradicts without replacing them,
    `refined` one that it says more about.
    """

    action: Action
    target: str = ""
    reason: str = ""
    also: tuple[str, ...] = ()
    opposed: tuple[str, ...] = ()
    refined: str = ""


Compare = Callable[[Said, Said], Comparison]


def reconcile(
    candidate: Candidate, known: Sequence[Hit | MemoryItem], compare: Compare = RULES.compare, session: str = ""
) -> Decision:
    """Compare a candidate with its neighbours, nearest first; the order among them matters only for ties.

    What only looks promising replaces nothing: at most it confirms what another `session` proposed.
    """
    items = [entry.item if isinstance(entry, Hit) else entry for entry in known]
    pairs = [(item, relation(item, candidate, compare)) for item in items]
    settled = [pair for pair in pairs if pair[0].status is not Status.CANDIDATE]
    decided = _refused(candidate, settled) or _known(candidate, settled)
    if decided is None and candidate.status is not Status.CANDIDATE:
        decided = _against_active(candidate, settled)
    if decided is not None and (decided.action is not Action.NEW or decided.refined):
        return decided
    waiting = [pair for pair in pairs if pair[0].status is Status.CANDIDATE]
    return _waiting(candidate, waiting, session) or Decision(Action.NEW)


def _waiting(candidate: Candidate, found: Iterable[Found], session: str) -> Decision | None:
    """What an earlier proposal that says the same becomes: active, if it is said outright or in a second session."""
    for item, comparison in found:
        same = comparison.relation is Relation.SAME
        reread = bool(set(candidate.uuids) & set(item.evidence.lines))
        if candidate.status is not Status.CANDIDATE:
            if same:
                return Decision(Action.CONFIRMS, item.id, "said outright")
        elif reread or (same and (not session or item.session == session)):
            if same or _rephrases(item, candidate, REPHRASED_SIMILARITY):
                return Decision(Action.KNOWN, item.id, "proposed already")
        elif same:
            # The same order of the moment is given in many sessions; that makes no memory of it.
            lasting = not (binds(candidate.content) or asks(candidate.content))
            action = Action.CONFIRMS if lasting else Action.KNOWN
            return Decision(action, item.id, "said in a second session" if lasting else "proposed already")
    return None


def said(statement: MemoryItem | Candidate) -> Said:
    """A memory or candidate as it is compared."""
    return Said(statement.content, statement.polarity is Polarity.DONT, statement.source is Source.USER)


def relation(item: MemoryItem, candidate: Candidate, compare: Compare = RULES.compare) -> Comparison:
    """What the candidate is to a memory."""
    return compare(said(item), said(candidate))


Found = tuple[MemoryItem, Comparison]


def _refused(candidate: Candidate, found: Iterable[Found]) -> Decision | None:
    """What the user had forgotten does not come back, nor a close copy."""
    for item, comparison in found:
        if item.status is Status.BLACKLISTED and (
            comparison.relation is Relation.SAME or _rephrases(item, candidate, TOMBSTONE_SIMILARITY)
        ):
            return Decision(Action.REFUSED, item.id, "the user had this forgotten")
    return None


def _rephrases(item: MemoryItem, candidate: Candidate, least: float) -> bool:
    return rephrases(said(item), said(candidate), least)


def _known(candidate: Candidate, found: Iterable[Found]) -> Decision | None:
    for item, comparison in found:
        if item.status is Status.BLACKLISTED:
            continue
        same = comparison.relation is Relation.SAME
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
    """User beats agent beats tool; only the user touches what is pinned; a project's exception leaves the general rule.

    What is itself only proposed replaces nothing.
    """
    if candidate.status is not Status.ACTIVE:
        return False
    if candidate.source is not Source.USER and (item.pinned or item.source is Source.USER):
        return False
    if item.scope is Scope.USER and candidate.scope is not Scope.USER:
        return False
    return AUTHORITY[candidate.source] >= AUTHORITY[item.source]


def _against_active(candidate: Candidate, found: Iterable[Found]) -> Decision:
    """All that it replaces, and all that it contradicts; a refusal comes before either."""
    decisions = [
        decision
        for item, comparison in found
        if item.status is Status.ACTIVE and (decision := _opposed(candidate, item, comparison)) is not None
    ]
    by = {action: [decision for decision in decisions if decision.action is action] for action in Action}
    if by[Action.REFUSED]:
        return by[Action.REFUSED][0]
    opposed = tuple(decision.target for decision in by[Action.CONTRADICTS])
    refined = next((decision.refined for decision in by[Action.NEW]), "")
    if by[Action.SUPERSEDES]:
        first, *others = by[Action.SUPERSEDES]
        return replace(first, also=tuple(decision.target for decision in others), opposed=opposed, refined=refined)
    if opposed:
        return replace(by[Action.CONTRADICTS][0], opposed=opposed, refined=refined)
    return by[Action.NEW][0] if by[Action.NEW] else Decision(Action.NEW)


def _opposed(candidate: Candidate, item: MemoryItem, found: Comparison) -> Decision | None:
    if found.relation is Relation.DIFFERENT:
        return None
    if found.relation in (Relation.SAME, Relation.REFINES):
        return _confirmed(candidate, item, found)
    if is_older(candidate, item):
        return Decision(Action.REFUSED, item.id, "older than what is known")
    if not may_replace(candidate, item):
        if candidate.source is Source.TOOL:
            return Decision(Action.REFUSED, item.id, "tool text against a better source")
        return Decision(Action.CONTRADICTS, item.id, f"{found.reason}, from a lesser source or narrower")
    return Decision(Action.SUPERSEDES if found.relation is Relation.REPLACES else Action.CONTRADICTS, item.id, found.reason)


def _confirmed(candidate: Candidate, item: MemoryItem, found: Comparison) -> Decision:
    """The same with more authority takes the place of the older, unless the older says more: no detail is lost."""
    beside = Decision(Action.NEW, reason=f"{found.reason} than {item.id}", refined=item.id)
    if is_older(candidate, item):
        return Decision(Action.REFUSED, item.id, "older than what is known") if found.relation is Relation.SAME else beside
    if found.relation is Relation.SAME:
        if adds(said(candidate), said(item)):
            return beside
        return Decision(Action.SUPERSEDES, item.id, "confirmed by the user or for all projects")
    wider = (
        candidate.source is Source.USER and item.source in (Source.IMPORT, Source.NOTE) and not item.pinned and not found.doubtful
    )
    return Decision(Action.SUPERSEDES, item.id, "the user's own words, which say more") if wider else beside


def is_older(candidate: Candidate, item: MemoryItem) -> bool:
    """A log that is read late must not overrule what was said after it; but the user's word comes before anybody else's time."""
    if candidate.source is Source.USER and item.source is not Source.USER:
        return False
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
    links = _links(decision) if decision else ()
    entities = candidate.entities or find_entities(candidate.content)
    return MemoryItem(
        content=candidate.content,
        kind=candidate.kind,
        polarity=candidate.polarity,
        scope=candidate.scope,
        project=passage.project,
        session=passage.session or UNKNOWN_SESSION,
        source=candidate.source,
        confidence=min(1.0, max(0.0, candidate.confidence)),
        status=candidate.status,
        asked_as=candidate.asked_as,
        tags=candidate.tags,
        entities=entities,
        links=links,
        created_at=now,
        valid_from=candidate.at or now,
        evidence=Evidence(passage.transcript, candidate.uuids, commit, candidate.paths or _paths_in(entities)),
    )


def _links(decision: Decision) -> tuple[Link, ...]:
    gone = [Link(LinkType.SUPERSEDES, id) for id in decision.also]
    opposed = [Link(LinkType.CONTRADICTS, id) for id in decision.opposed]
    refined = [Link(LinkType.RELATES_TO, decision.refined)] if decision.refined else []
    return (*gone, *opposed, *refined)


def _paths_in(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if "/" in name and "://" not in name)
