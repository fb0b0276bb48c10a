"""Decide what to do with a candidate, given the known memories. Pure functions.

When in doubt, both statements are kept and linked. A wrong supersession loses a memory, whereas the dream can still
find a missing one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from memoryd.citations.cite import cite
from memoryd.citations.repository import head_commit
from memoryd.clients.registry import foreign_client
from memoryd.core import decision_log
from memoryd.core.clock import SKEW, to_iso
from memoryd.core.decision_log import LoggedDecision
from memoryd.core.protocols import Clock, MemoryStore
from memoryd.core.text import one_line, shorten
from memoryd.core.types import (
    AUTHORITY,
    CURRENT_STATUSES,
    HIDDEN_TAG,
    WISH_KINDS,
    Candidate,
    Evidence,
    Hit,
    Kind,
    Link,
    LinkType,
    MemoryItem,
    Passage,
    Polarity,
    Query,
    Refused,
    Scope,
    Source,
    Status,
    Turn,
)
from memoryd.daydream.model_answer import restrain
from memoryd.daydream.offline.findings import is_retraction, is_wrong_cause, names_cause
from memoryd.daydream.offline.moment import asks, binds
from memoryd.daydream.speakers import short_hash
from memoryd.language import CONFLICTS, RULES, Assertion, Compare, Comparison, Relation, adds, rephrases
from memoryd.language.entities import are_apart, find_entities
from memoryd.language.stems import roots

# HEAD is read together with the log, so for an older statement it might be a later commit.
FRESH = timedelta(hours=1)


def commit_for(cwd: str, said_at: datetime | None, now: datetime) -> str:
    """Return the commit to record for a statement made at that time, or an empty string if unknown."""
    return head_commit(cwd) if _is_fresh(said_at, now) else ""


def _is_fresh(said_at: datetime | None, now: datetime) -> bool:
    """Return whether the working tree has hardly changed since the statement was made."""
    return said_at is not None and abs(now - said_at) <= FRESH


UNKNOWN_SESSION = "unknown"
TOMBSTONE_SIMILARITY = 0.75
REPHRASED_SIMILARITY = 0.5


class KeepAction(StrEnum):
    """What to do with a candidate."""

    NEW = "new"
    KNOWN = "known"
    REFUSED = "refused"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    CONFIRMS = "confirms"


@dataclass(frozen=True, slots=True)
class Decision:
    """An action, the memory it applies to (empty for NEW), and the reason in words.

    Attributes:
        also: Further memories replaced by the candidate.
        opposed: Memories that it contradicts without replacing them.
        refined: A memory to which it adds details.
    """

    action: KeepAction
    target: str = ""
    reason: str = ""
    also: tuple[str, ...] = ()
    opposed: tuple[str, ...] = ()
    refined: str = ""


def reconcile(
    candidate: Candidate, known: Sequence[Hit | MemoryItem], compare: Compare = RULES.compare, session: str = ""
) -> Decision:
    """Compare a candidate with similar memories.

    The memories are ordered by similarity, nearest first, but the order matters only for ties. A tentative candidate replaces
    nothing. It can only confirm a proposal from another session (see `session`).
    """
    items = [entry.item if isinstance(entry, Hit) else entry for entry in known]
    pairs = [(item, relation(item, candidate, compare)) for item in items]
    settled = [pair for pair in pairs if pair[0].status is not Status.CANDIDATE]
    decided = _refused(candidate, settled) or _known(candidate, settled)
    if decided is None and candidate.status is not Status.CANDIDATE:
        decided = _against_active(candidate, settled)
    if decided is not None and (decided.action is not KeepAction.NEW or decided.refined):
        return decided
    waiting = [pair for pair in pairs if pair[0].status is Status.CANDIDATE]
    return _waiting(candidate, waiting, session) or Decision(KeepAction.NEW)


def _waiting(candidate: Candidate, found: Iterable[Found], session: str) -> Decision | None:
    """Decide about a candidate that repeats an earlier one.

    The earlier one becomes active if the statement is explicit or comes from a second session.
    """
    for item, comparison in found:
        same = comparison.relation is Relation.SAME
        reread = bool(set(candidate.uuids) & set(item.evidence.lines))
        if candidate.status is not Status.CANDIDATE:
            if same:
                return Decision(KeepAction.CONFIRMS, item.id, "said outright")
        elif reread or (same and (not session or item.session == session)):
            if same or _rephrases(item, candidate, REPHRASED_SIMILARITY):
                return Decision(KeepAction.KNOWN, item.id, "proposed already")
        elif same:
            # A momentary instruction may recur in many sessions without being a memory.
            lasting = not (binds(candidate.content) or asks(candidate.content))
            action = KeepAction.CONFIRMS if lasting else KeepAction.KNOWN
            return Decision(action, item.id, "said in a second session" if lasting else "proposed already")
    return None


def said(statement: MemoryItem | Candidate) -> Assertion:
    """Convert a memory or candidate to the form used in comparisons."""
    at = statement.valid_from if isinstance(statement, MemoryItem) else statement.at
    return Assertion(statement.content, statement.polarity is Polarity.DONT, statement.source is Source.USER, at)


def relation(item: MemoryItem, candidate: Candidate, compare: Compare = RULES.compare) -> Comparison:
    """Return the relation of the candidate to a memory."""
    return compare(said(item), said(candidate))


Found = tuple[MemoryItem, Comparison]


def _refused(candidate: Candidate, found: Iterable[Found]) -> Decision | None:
    """Refuse a statement that the user asked to forget, and close copies of it."""
    for item, comparison in found:
        if item.status is Status.BLACKLISTED and (
            comparison.relation is Relation.SAME or _rephrases(item, candidate, TOMBSTONE_SIMILARITY)
        ):
            return Decision(KeepAction.REFUSED, item.id, "forgotten at the user's request")
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
                return Decision(KeepAction.KNOWN, item.id, "known, and since replaced")
        elif (same and not raises(candidate, item)) or (reread and _rephrases(item, candidate, REPHRASED_SIMILARITY)):
            return Decision(KeepAction.KNOWN, item.id, "known")
    return None


def _was_said_before_its_end(candidate: Candidate, item: MemoryItem) -> bool:
    return candidate.at is not None and item.valid_to is not None and candidate.at < item.valid_to


def raises(candidate: Candidate, item: MemoryItem) -> bool:
    """Return whether the candidate is the same statement with more authority: from the user, or for all projects."""
    confirmed = candidate.source is Source.USER and item.source is not Source.USER
    wider = candidate.scope is Scope.USER and item.scope is Scope.PROJECT
    return (confirmed or wider) and may_replace(candidate, item)


def may_replace(candidate: Candidate, item: MemoryItem) -> bool:
    """Return whether the candidate may replace the memory.

    The user takes precedence over the agent, and the agent over tools. Only the user can change pinned memories. A project's
    exception does not affect the general rule. Proposals replace nothing.
    """
    if candidate.status is not Status.ACTIVE:
        return False
    if candidate.source is not Source.USER and (item.pinned or item.source is Source.USER):
        return False
    if item.scope is Scope.USER and candidate.scope is not Scope.USER:
        return False
    return AUTHORITY[candidate.source] >= AUTHORITY[item.source]


def _against_active(candidate: Candidate, found: Iterable[Found]) -> Decision:
    """Collect all memories that the candidate replaces or contradicts. A refusal takes precedence over both."""
    decisions = [
        decision
        for item, comparison in found
        if item.status is Status.ACTIVE and (decision := _opposed(candidate, item, comparison)) is not None
    ]
    by = {action: [decision for decision in decisions if decision.action is action] for action in KeepAction}
    if by[KeepAction.REFUSED]:
        return by[KeepAction.REFUSED][0]
    opposed = tuple(decision.target for decision in by[KeepAction.CONTRADICTS])
    refined = next((decision.refined for decision in by[KeepAction.NEW]), "")
    if by[KeepAction.SUPERSEDES]:
        first, *others = by[KeepAction.SUPERSEDES]
        return replace(first, also=tuple(decision.target for decision in others), opposed=opposed, refined=refined)
    if opposed:
        return replace(by[KeepAction.CONTRADICTS][0], opposed=opposed, refined=refined)
    return by[KeepAction.NEW][0] if by[KeepAction.NEW] else Decision(KeepAction.NEW)


def _is_of_another_place(candidate: Candidate, item: MemoryItem) -> bool:
    """Return whether a rule for a sub-folder meets a general one or one for another folder: both hold in their place."""
    if candidate.kind not in WISH_KINDS or item.kind not in WISH_KINDS:
        return False
    return are_apart(candidate.content, item.content)


def _is_for_everywhere(candidate: Candidate, item: MemoryItem) -> bool:
    """Return whether a wish for all projects meets one for this project, which may be an exception from it."""
    wishes = candidate.kind in WISH_KINDS and item.kind in WISH_KINDS
    return wishes and candidate.scope is Scope.USER and item.scope is Scope.PROJECT


def _opposed(candidate: Candidate, item: MemoryItem, found: Comparison) -> Decision | None:
    if found.relation is Relation.DIFFERENT:
        return None
    if found.relation in (Relation.SAME, Relation.REFINES):
        return _confirmed(candidate, item, found)
    if _is_of_another_place(candidate, item):
        return None
    if is_older(candidate, item):
        return Decision(KeepAction.REFUSED, item.id, "older than what is known")
    if not may_replace(candidate, item):
        if candidate.source is Source.TOOL:
            return Decision(KeepAction.REFUSED, item.id, "tool text against a better source")
        return Decision(KeepAction.CONTRADICTS, item.id, f"{found.reason}, from a lesser source or narrower")
    ends = found.relation is Relation.REPLACES and not _is_for_everywhere(candidate, item)
    return Decision(KeepAction.SUPERSEDES if ends else KeepAction.CONTRADICTS, item.id, found.reason)


def _confirmed(candidate: Candidate, item: MemoryItem, found: Comparison) -> Decision:
    """Replace the older memory with the same statement of greater authority, unless the older one is more detailed."""
    beside = Decision(KeepAction.NEW, reason=f"{found.reason} than {item.id}", refined=item.id)
    if is_older(candidate, item):
        return Decision(KeepAction.REFUSED, item.id, "older than what is known") if found.relation is Relation.SAME else beside
    if found.relation is Relation.SAME:
        if adds(said(candidate), said(item)):
            return beside
        return Decision(KeepAction.SUPERSEDES, item.id, "confirmed by the user or for all projects")
    wider = (
        candidate.source is Source.USER and item.source in (Source.IMPORT, Source.NOTE) and not item.pinned and not found.doubtful
    )
    return Decision(KeepAction.SUPERSEDES, item.id, "more detailed, in the user's own words") if wider else beside


def is_older(candidate: Candidate, item: MemoryItem) -> bool:
    """Return whether the candidate is older than the memory.

    Statements from a log that is read late must not override later statements.
    """
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
    """Create the memory to write.

    `created_at` is the current time, and `valid_from` is the time of the statement. The store assigns the id.
    """
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
        check=candidate.check,
        tags=candidate.tags,
        entities=entities,
        links=links,
        created_at=now,
        valid_from=candidate.at or now,
        evidence=Evidence(
            passage.transcript,
            candidate.uuids,
            commit,
            candidate.paths or _paths_in(entities),
            foreign_client(passage.transcript),
        ),
    )


def _links(decision: Decision) -> tuple[Link, ...]:
    gone = [Link(LinkType.SUPERSEDES, id) for id in decision.also]
    opposed = [Link(LinkType.CONTRADICTS, id) for id in decision.opposed]
    refined = [Link(LinkType.RELATES_TO, decision.refined)] if decision.refined else []
    return (*gone, *opposed, *refined)


def _paths_in(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if "/" in name and "://" not in name)


# Handle a reader's references to known memories. A statement may repeat, replace or close them. Pure functions.
#
# A reference has no more authority than its evidence. Only the user's own words can end a memory that the user stated or pinned.
# In all other cases, both statements are kept and linked as a contradiction for the user to decide.

MINOR = 1


@dataclass(frozen=True, slots=True)
class References:
    """Resolved references.

    Attributes:
        decision: The decision, or None to leave it to the comparison.
        ended: Memories to close.
        disputed: Memories to link as contradicted.
        only_closes: Whether the statement only reports that a todo is done and need not be stored itself.
    """

    decision: Decision | None = None
    ended: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()
    only_closes: bool = False


def resolve(candidate: Candidate, known: Mapping[str, MemoryItem]) -> References:
    """Resolve the ids referenced by a candidate. Unknown and ended memories are ignored."""
    repeated = _living(candidate.repeats, known)
    opposed = [item for item in repeated if relation(item, candidate).relation in CONFLICTS]
    repeated = [item for item in repeated if item not in opposed]
    closed = [item for item in _living(candidate.closes, known) if item.kind is Kind.TODO]
    targets = list(dict.fromkeys([*opposed, *_living(candidate.replaces, known), *closed]))
    targets = [item for item in targets if item not in repeated and not is_older(candidate, item)]
    ended = tuple(item.id for item in targets if may_replace(candidate, item))
    disputed = tuple(item.id for item in targets if item.id not in ended)
    done = [item for item in closed if item.id in ended]
    only_closes = bool(done) and len(done) == len(targets) and not repeated and candidate.importance <= MINOR
    return References(_repeats(candidate, repeated), ended, disputed, only_closes)


def _living(ids: Iterable[str], known: Mapping[str, MemoryItem]) -> list[MemoryItem]:
    return [known[id] for id in dict.fromkeys(ids) if id in known and known[id].status in CURRENT_STATUSES]


def _repeats(candidate: Candidate, items: Iterable[MemoryItem]) -> Decision | None:
    """Find a memory with the same content.

    Active memories are checked first, because they make it unnecessary to confirm a candidate.
    """
    for item in sorted(items, key=lambda item: item.status is not Status.ACTIVE):
        if item.status is Status.CANDIDATE:
            return Decision(KeepAction.CONFIRMS, item.id, "confirmed by the reader")
        if raises(candidate, item):
            return Decision(KeepAction.SUPERSEDES, item.id, "confirmed by the user or for all projects")
        return Decision(KeepAction.KNOWN, item.id, "known")
    return None


# From a candidate to the store. Day dreams and `remember` can only write through this code.

NEIGHBOURS = 8
MAX_OF_SESSION = 1_000
TAKEN_BACK = "retracted by the assistant"
SHARED_WITH_RETRACTION = 2


class KeepingStore(MemoryStore, Protocol):
    """The service interface required by Reconciler: find similar memories, and close replaced ones."""

    def keeping(self) -> AbstractContextManager[object]:
        """Let no other statement be compared with the memories until this one is written."""
        ...

    def near(self, content: str, *, project: str, k: int = 8) -> list[MemoryItem]:
        """Return memories that may have the same or the opposite meaning, nearest first. They may have any status."""
        ...

    def compare(self, old: Assertion, new: Assertion) -> Comparison:
        """Return the relation of a statement to an older one."""
        ...

    def supersede(self, old_id: str, new: MemoryItem) -> str:
        """Write `new` and close the old memory. Return the new id."""
        ...

    def update(self, id: str, **changes: Any) -> MemoryItem:
        """Change fields of a memory."""
        ...

    def restore(self, id: str) -> MemoryItem:
        """Restore a superseded memory."""
        ...

    def active_successor(self, id: str) -> MemoryItem | None:
        """Return the active memory that replaced this one, directly or indirectly."""
        ...

    def make_room(self, project: str) -> None:
        """Remove the least promising candidates if a project has too many."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for a candidate.

    `id` is the memory that now contains the statement, or the one that caused its refusal.
    """

    action: KeepAction
    id: str
    superseded: str = ""
    reason: str = ""


class Reconciler:
    """Compares candidates with known memories and writes new memories."""

    def __init__(self, store: KeepingStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def keep(self, candidate: Candidate, passage: Passage, *, pinned: bool = False, id: str = "") -> Outcome:
        """Write the candidate, supersede a memory with it, or leave everything unchanged.

        Args:
            candidate: The candidate.
            passage: The passage it comes from.
            pinned: Whether to pin the memory.
            id: The id of the new memory. A candidate that becomes a memory keeps its file this way.
        """
        with self._store.keeping():
            return self._keep(candidate, passage, pinned=pinned, id=id)

    def _keep(self, candidate: Candidate, passage: Passage, *, pinned: bool, id: str) -> Outcome:
        latest = self._clock.now() + SKEW
        ahead = candidate.at is not None and candidate.at > latest
        if ahead:  # The clock was wrong, so the time of the statement is unknown.
            candidate = replace(candidate, at=None)
        near = self._store.near(candidate.content, project=passage.project, k=NEIGHBOURS)
        others = [_believed(item, latest) for item in near if not self._is_said_anew(candidate, passage, item)]
        session = passage.session or UNKNOWN_SESSION
        decision = self._revision(candidate, passage) or reconcile(candidate, others, self._store.compare, session)
        if decision.action is KeepAction.REFUSED:
            return Outcome(decision.action, decision.target, reason=decision.reason)
        references = self._references(candidate, passage)
        decision = references.decision or decision
        if references.only_closes:
            self._close(references.ended)
            return Outcome(KeepAction.KNOWN, references.ended[0], reason="closed")
        if decision.action is KeepAction.KNOWN:
            self._finish_supersession(decision)
            self._close(id for id in references.ended if id != decision.target)
            return Outcome(decision.action, decision.target, reason=decision.reason)
        now = self._clock.now()
        item = to_item(candidate, passage, now=now, decision=decision, commit=commit_for(passage.cwd, candidate.at, now))
        if ahead or (candidate.at is None and passage.transcript):
            item = replace(item, valid_from=None)
        if _is_fresh(candidate.at, now):
            item = replace(item, cites=cite(item.content, item.kind, passage, item.evidence.commit, candidate.paths))
        if decision.action is KeepAction.CONFIRMS:
            self._confirm(decision.target, item, outright=candidate.status is not Status.CANDIDATE)
            self._close(id for id in references.ended if id != decision.target)
            return Outcome(decision.action, decision.target, reason=decision.reason)
        return self._write(replace(item, id=id, pinned=pinned), decision, references)

    def _references(self, candidate: Candidate, passage: Passage) -> References:
        """Resolve the candidate's references to memories of its own project or of all projects."""
        named = dict.fromkeys((*candidate.repeats, *candidate.replaces, *candidate.closes))
        items = [item for item in map(self._store.get, named) if item is not None]
        mine = [item for item in items if item.scope is Scope.USER or item.project == passage.project]
        return resolve(candidate, {item.id: item for item in mine})

    def _write(self, item: MemoryItem, decision: Decision, references: References) -> Outcome:
        """Write the memory and close the ones it ends.

        One of them is recorded as the superseded memory. The others are linked.
        """
        ended = list(references.ended)
        if decision.action is KeepAction.SUPERSEDES:
            ended = list(dict.fromkeys([decision.target, *decision.also, *ended]))
        links = [Link(LinkType.SUPERSEDES, id) for id in ended[1:]]
        links += [Link(LinkType.CONTRADICTS, id) for id in references.disputed]
        item = replace(item, links=tuple(dict.fromkeys([*item.links, *links])))
        if not ended:
            action = KeepAction.CONTRADICTS if references.disputed else decision.action
            written = self._store.write(item)
            if item.status is Status.CANDIDATE:
                self._store.make_room(item.project)
            return Outcome(action, written, reason=decision.reason or ("disputed" if references.disputed else ""))
        id = self._store.supersede(ended[0], item)
        self._close(ended[1:])
        return Outcome(KeepAction.SUPERSEDES, id, ended[0], decision.reason or "replaced, according to the reader")

    def _revision(self, candidate: Candidate, passage: Passage) -> Decision | None:
        """Find the statement of this session that its speaker retracts, however it is worded, and supersede it."""
        by_user = candidate.source is Source.USER
        for text in candidate.revises:
            head = text.rstrip("…")
            for item in self._store.near(text, project=passage.project, k=NEIGHBOURS):
                ours = item.session == (passage.session or UNKNOWN_SESSION) and (item.source is Source.USER) == by_user
                if ours and item.status is Status.ACTIVE and not item.pinned and item.content.startswith(head):
                    return Decision(KeepAction.SUPERSEDES, item.id, "retracted in the same session")
        return None

    def retract(self, retraction: Candidate, passage: Passage, found: Collection[str] = ()) -> Outcome | None:
        """End the memories of a cause that the assistant now calls wrong, whichever session they come from.

        Memories that the user stated or pinned are never ended. They are replaced by the memory in `found` on the
        same subject. If there is none, the retraction itself replaces them as a candidate, so that their lineage
        shows why they ended.
        """
        near = self._store.near(retraction.content, project=passage.project, k=NEIGHBOURS)
        wrong = [item for item in near if item.id not in found and _is_retracted(item, retraction, passage)]
        if not wrong:
            return None
        items = [item for item in map(self._store.get, found) if item is not None and item.status in CURRENT_STATUSES]
        about = [item for item in items if names_cause(item.content) and roots(item.content) & roots(wrong[0].content)]
        about += [item for item in items if item.content == retraction.content]
        if about:
            links = [Link(LinkType.SUPERSEDES, item.id) for item in wrong]
            self._store.update(about[0].id, links=tuple(dict.fromkeys([*about[0].links, *links])))
            self._close(item.id for item in wrong)
            return Outcome(KeepAction.SUPERSEDES, about[0].id, wrong[0].id, TAKEN_BACK)
        now = self._clock.now()
        item = to_item(retraction, passage, now=now, commit=commit_for(passage.cwd, retraction.at, now))
        links = [Link(LinkType.SUPERSEDES, other.id) for other in wrong[1:]]
        id = self._store.supersede(wrong[0].id, replace(item, links=tuple(dict.fromkeys([*item.links, *links]))))
        self._close(other.id for other in wrong[1:])
        return Outcome(KeepAction.SUPERSEDES, id, wrong[0].id, TAKEN_BACK)

    def _confirm(self, id: str, item: MemoryItem, *, outright: bool) -> None:
        """Turn a candidate file into a memory. If the new statement is explicit, its wording is used."""
        old = self._store.get(id)
        if not outright:
            self._store.update(id, status=Status.ACTIVE)
            return
        lines = dict.fromkeys([*(old.evidence.lines if old else ()), *item.evidence.lines])
        self._store.update(
            id,
            status=Status.ACTIVE,
            content=item.content,
            kind=item.kind,
            polarity=item.polarity,
            scope=item.scope,
            source=item.source,
            confidence=item.confidence,
            entities=item.entities,
            asked_as=item.asked_as or (old.asked_as if old else ()),
            check=item.check or (old.check if old else None),
            evidence=replace(item.evidence, lines=tuple(lines)),
            cites=item.cites or (old.cites if old else ()),
        )

    def _close(self, ids: Iterable[str]) -> None:
        now = self._clock.now()
        for id in ids:
            self._store.update(id, status=Status.SUPERSEDED, expired_at=now, valid_to=now)

    def take_back(self, session: str, left: Collection[str]) -> list[str]:
        """Close the memories from lines that the user rewound. `left` contains the short hashes of the lines' uuids.

        These memories were never valid, so their end equals their beginning. The memories they replaced become active again.

        Returns:
            The ids of the closed memories.
        """
        said = self._store.search(Query(session=session, statuses=(Status.ACTIVE, Status.CANDIDATE)), MAX_OF_SESSION)
        gone = [hit.item for hit in said if hit.item.evidence.lines]
        gone = [item for item in gone if all(short_hash(uuid) in left for uuid in item.evidence.lines)]
        for item in gone:
            ended = item.valid_from or item.created_at
            self._store.update(item.id, status=Status.SUPERSEDED, expired_at=self._clock.now(), valid_to=ended, pinned=False)
            old = self._store.get(item.supersedes) if item.supersedes else None
            if old is not None and old.status is Status.SUPERSEDED and self._store.active_successor(old.id) is None:
                self._store.restore(old.id)
        return [item.id for item in gone]

    def _is_said_anew(self, candidate: Candidate, passage: Passage, item: MemoryItem) -> bool:
        """Return whether the user repeated a statement after it was forgotten. Until then, it is refused.

        Statements forgotten by a model are refused only when models propose them. For the user, only the forgotten
        lines themselves are refused, because these may be read again. A line without a time may be old. A statement
        entered by hand counts as made now.
        """
        if item.status is not Status.BLACKLISTED or candidate.source is not Source.USER:
            return False
        if HIDDEN_TAG in item.tags:
            return not set(candidate.uuids) & set(item.evidence.lines)
        said = candidate.at or (None if passage.transcript else self._clock.now())
        return item.expired_at is not None and said is not None and said >= item.expired_at

    def _finish_supersession(self, decision: Decision) -> None:
        """Close the old statement if the process was killed between the two writes of a supersession."""
        item = self._store.get(decision.target)
        old = self._store.get(item.supersedes) if item and item.supersedes else None
        if item and old and item.status is Status.ACTIVE and old.status is Status.ACTIVE:
            ended = item.valid_from or item.created_at
            self._store.update(old.id, status=Status.SUPERSEDED, expired_at=item.created_at, valid_to=ended)


def _is_retracted(item: MemoryItem, retraction: Candidate, passage: Passage) -> bool:
    """Return whether a memory of the agent mentions the retracted cause. In another session, more words must match."""
    if item.status not in CURRENT_STATUSES or item.pinned or item.source is Source.USER or item.scope is Scope.USER:
        return False
    if AUTHORITY[retraction.source] < AUTHORITY[item.source] or is_older(retraction, item):
        return False
    if set(retraction.uuids) & set(item.evidence.lines) or is_retraction(item.content):
        return False
    least = 1 if item.session == (passage.session or UNKNOWN_SESSION) else SHARED_WITH_RETRACTION
    return is_wrong_cause(item.content, retraction.content, least)


def _believed(item: MemoryItem, latest: datetime) -> MemoryItem:
    """Return the item without times in the future.

    Otherwise, a wrong clock would make the item newer than all later statements.
    """
    if item.created_at <= latest or item.valid_from is None or item.valid_from <= latest:
        return item
    return replace(item, valid_from=None, valid_to=None)


# Record a day dream's decisions on individual statements. The record has a limited size and does not contain their text.

# Maximum number of refused statements to record per chunk. The counts by reason include all of them.
MAX_REFUSED = 60
_OUTCOMES: Mapping[KeepAction, str] = {KeepAction.KNOWN: decision_log.KNOWN, KeepAction.REFUSED: decision_log.REFUSED}


def refused(candidate: Candidate, reason: str) -> Refused:
    """Return the record of a refused candidate, which is not written."""
    line = candidate.lines[0] if candidate.lines else 0
    return Refused(candidate.content, reason, candidate.source, line, candidate.at)


def counts(entries: Iterable[Refused]) -> dict[str, int]:
    """Count the entries by reason."""
    return dict(Counter(entry.reason for entry in entries))


def decided(
    outcomes: Sequence[tuple[Candidate, Outcome]], left_out: Sequence[Refused], turns: Sequence[Turn] = ()
) -> list[LoggedDecision]:
    """Return records of the candidates compared with the store, and of the first few that were refused before.

    A record contains the statement's position in these turns instead of its text.
    """
    found = [(_of_outcome(*pair), pair[0].content) for pair in outcomes]
    found += [(_of_refused(entry), entry.text) for entry in left_out[:MAX_REFUSED]]
    by_line: dict[int, list[str]] = {}
    for turn in turns:
        by_line.setdefault(turn.line, []).append(turn.text)
    return [_placed(verdict, text, by_line.get(verdict.line, [])) for verdict, text in found]


def _placed(verdict: LoggedDecision, statement: str, texts: Sequence[str]) -> LoggedDecision:
    for part, text in enumerate(texts):
        if statement and (start := text.find(statement)) >= 0:
            return replace(verdict, part=part, start=start, chars=len(statement))
    return verdict


def shown_text(verdict: LoggedDecision, turns: Sequence[Turn]) -> str:
    """Return the text that a recorded decision refers to, given the turns of its line.

    If the statement does not occur there literally, return the start of the turn.
    """
    if not 0 <= verdict.part < len(turns):
        return ""
    text = turns[verdict.part].text
    said = text[verdict.start : verdict.start + verdict.chars] if verdict.chars else text
    return shorten(one_line(said), decision_log.TEXT_CHARS)


def _of_outcome(candidate: Candidate, outcome: Outcome) -> LoggedDecision:
    written = (
        decision_log.PROPOSED if candidate.status is Status.CANDIDATE and outcome.action is KeepAction.NEW else decision_log.KEPT
    )
    kind = _OUTCOMES.get(outcome.action, written)
    why = candidate.reason if outcome.action is KeepAction.NEW else f"{outcome.action}: {outcome.reason}"
    return LoggedDecision(
        kind,
        why,
        memory=outcome.id,
        kind=candidate.kind.value,
        source=candidate.source.value,
        line=candidate.lines[0] if candidate.lines else 0,
        said_at=to_iso(candidate.at) if candidate.at else "",
    )


def _of_refused(entry: Refused) -> LoggedDecision:
    said = to_iso(entry.at) if entry.at else ""
    return LoggedDecision(decision_log.REFUSED, entry.reason, source=entry.source.value, line=entry.line, said_at=said)
