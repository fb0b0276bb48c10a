"""From a candidate to the store: the one way in, for day dreams and for `remember` alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from memoryd.daydream.memo import short_hash
from memoryd.daydream.provenance import commit_for
from memoryd.daydream.reconcile import UNKNOWN_SESSION, Action, Decision, reconcile, to_item
from memoryd.daydream.references import References, resolve
from memoryd.protocols import Clock, MemoryStore
from memoryd.statements import Comparison, Said
from memoryd.types import HIDDEN_TAG, Candidate, Link, LinkType, MemoryItem, Passage, Query, Scope, Source, Status

NEIGHBOURS = 8
MOST_OF_SESSION = 1_000
# Clocks differ a little between machines; a log of a later time than this is not believed.
SKEW = timedelta(minutes=10)


class KeepingStore(MemoryStore, Protocol):
    """What keeping needs of the service: a store that knows neighbours and closes what is replaced."""

    def near(self, content: str, *, project: str, k: int = 8) -> list[MemoryItem]:
        """Memories that may say the same or the opposite, whatever their status, nearest first."""
        ...

    def compare(self, old: Said, new: Said) -> Comparison:
        """What a statement is to an older one."""
        ...

    def supersede(self, old_id: str, new: MemoryItem) -> str:
        """Write `new` and close the old one; returns the new id."""
        ...

    def update(self, id: str, **changes: Any) -> MemoryItem:
        """Change fields of a memory."""
        ...

    def restore(self, id: str) -> MemoryItem:
        """Bring back what was superseded."""
        ...

    def make_room(self, project: str) -> None:
        """Remove the least promising candidates of a project that has too many."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a candidate. `id` is the memory that now says it, or that refused it."""

    action: Action
    id: str
    superseded: str = ""
    reason: str = ""


class Keeper:
    """Compares a candidate with what is known and writes it if it is new."""

    def __init__(self, store: KeepingStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def keep(self, candidate: Candidate, passage: Passage, *, pinned: bool = False, id: str = "") -> Outcome:
        """Write, supersede, or leave as it is. The passage says where the candidate comes from.

        With `id` it is written under that id, as a candidate that becomes a memory keeps its file.
        """
        ahead = candidate.at is not None and candidate.at > self._clock.now() + SKEW
        if ahead:  # a clock that was wrong: when it was said is not known
            candidate = replace(candidate, at=None)
        near = self._store.near(candidate.content, project=passage.project, k=NEIGHBOURS)
        others = [item for item in near if not self._is_said_anew(candidate, passage, item)]
        session = passage.session or UNKNOWN_SESSION
        decision = self._revision(candidate, passage) or reconcile(candidate, others, self._store.compare, session)
        if decision.action is Action.REFUSED:
            return Outcome(decision.action, decision.target, reason=decision.reason)
        references = self._references(candidate, passage)
        decision = references.decision or decision
        if references.only_closes:
            self._close(references.ended)
            return Outcome(Action.KNOWN, references.ended[0], reason="closed")
        if decision.action is Action.KNOWN:
            self._finish_supersession(decision)
            self._close(id for id in references.ended if id != decision.target)
            return Outcome(decision.action, decision.target, reason=decision.reason)
        now = self._clock.now()
        item = to_item(candidate, passage, now=now, decision=decision, commit=commit_for(passage.cwd, candidate.at, now))
        item = replace(item, valid_from=None) if ahead else item
        if decision.action is Action.CONFIRMS:
            self._confirm(decision.target, item, outright=candidate.status is not Status.CANDIDATE)
            self._close(id for id in references.ended if id != decision.target)
            return Outcome(decision.action, decision.target, reason=decision.reason)
        return self._write(replace(item, id=id, pinned=pinned), decision, references)

    def _references(self, candidate: Candidate, passage: Passage) -> References:
        """What the candidate says about memories of its own project, or of every project."""
        named = dict.fromkeys((*candidate.repeats, *candidate.replaces, *candidate.closes))
        items = [item for item in map(self._store.get, named) if item is not None]
        mine = [item for item in items if item.scope is Scope.USER or item.project == passage.project]
        return resolve(candidate, {item.id: item for item in mine})

    def _write(self, item: MemoryItem, decision: Decision, references: References) -> Outcome:
        """Write the memory and close what it ends: one as the memory that it supersedes, others with a link."""
        ended = list(references.ended)
        if decision.action is Action.SUPERSEDES:
            ended = list(dict.fromkeys([decision.target, *decision.also, *ended]))
        links = [Link(LinkType.SUPERSEDES, id) for id in ended[1:]]
        links += [Link(LinkType.CONTRADICTS, id) for id in references.disputed]
        item = replace(item, links=tuple(dict.fromkeys([*item.links, *links])))
        if not ended:
            action = Action.CONTRADICTS if references.disputed else decision.action
            written = self._store.write(item)
            if item.status is Status.CANDIDATE:
                self._store.make_room(item.project)
            return Outcome(action, written, reason=decision.reason or ("disputed" if references.disputed else ""))
        id = self._store.supersede(ended[0], item)
        self._close(ended[1:])
        return Outcome(Action.SUPERSEDES, id, ended[0], decision.reason or "replaced, as the reader says")

    def _revision(self, candidate: Candidate, passage: Passage) -> Decision | None:
        """A statement of this session that its speaker takes back is replaced, whatever the wording."""
        by_user = candidate.source is Source.USER
        for text in candidate.revises:
            head = text.rstrip("…")
            for item in self._store.near(text, project=passage.project, k=NEIGHBOURS):
                ours = item.session == (passage.session or UNKNOWN_SESSION) and (item.source is Source.USER) == by_user
                if ours and item.status is Status.ACTIVE and not item.pinned and item.content.startswith(head):
                    return Decision(Action.SUPERSEDES, item.id, "taken back in the same session")
        return None

    def _confirm(self, id: str, item: MemoryItem, *, outright: bool) -> None:
        """A candidate file becomes a memory; said outright, in the words of whoever said so."""
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
            evidence=replace(item.evidence, lines=tuple(lines)),
        )

    def _close(self, ids: Iterable[str]) -> None:
        now = self._clock.now()
        for id in ids:
            self._store.update(id, status=Status.SUPERSEDED, expired_at=now, valid_to=now)

    def take_back(self, session: str, left: Collection[str]) -> list[str]:
        """Close what was kept from lines that the user took back; `left` holds the short hashes of their uuids.

        It was never true: it ends when it began, and what it had replaced holds again. The ids of what was closed.
        """
        said = self._store.search(Query(session=session, statuses=(Status.ACTIVE, Status.CANDIDATE)), MOST_OF_SESSION)
        gone = [hit.item for hit in said if hit.item.evidence.lines]
        gone = [item for item in gone if all(short_hash(uuid) in left for uuid in item.evidence.lines)]
        for item in gone:
            ended = item.valid_from or item.created_at
            self._store.update(item.id, status=Status.SUPERSEDED, expired_at=self._clock.now(), valid_to=ended, pinned=False)
            old = self._store.get(item.supersedes) if item.supersedes else None
            if old is not None and old.status is Status.SUPERSEDED:
                self._store.restore(old.id)
        return [item.id for item in gone]

    def _is_said_anew(self, candidate: Candidate, passage: Passage, item: MemoryItem) -> bool:
        """What was forgotten stays out until the user says it again after that.

        What a model had forgotten binds models: of the user it keeps out only the very lines that were forgotten, which
        may be read once more. Without a time a line of a log may be an old one; what is given by hand is said now.
        """
        if item.status is not Status.BLACKLISTED or candidate.source is not Source.USER:
            return False
        if HIDDEN_TAG in item.tags:
            return not set(candidate.uuids) & set(item.evidence.lines)
        said = candidate.at or (None if passage.transcript else self._clock.now())
        return item.expired_at is not None and said is not None and said >= item.expired_at

    def _finish_supersession(self, decision: Decision) -> None:
        """A kill between the two writes of a supersession left the old statement open: close it now."""
        item = self._store.get(decision.target)
        old = self._store.get(item.supersedes) if item and item.supersedes else None
        if item and old and item.status is Status.ACTIVE and old.status is Status.ACTIVE:
            ended = item.valid_from or item.created_at
            self._store.update(old.id, status=Status.SUPERSEDED, expired_at=item.created_at, valid_to=ended)
