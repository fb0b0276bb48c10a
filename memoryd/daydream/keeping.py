"""From a candidate to the store: the one way in, for day dreams and for `remember` alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from memoryd.daydream.provenance import commit_for
from memoryd.daydream.reconcile import Action, Decision, reconcile, to_item
from memoryd.protocols import Clock, MemoryStore
from memoryd.types import Candidate, MemoryItem, Passage, Source, Status

NEIGHBOURS = 8


class KeepingStore(MemoryStore, Protocol):
    """What keeping needs of the service: a store that knows neighbours and closes what is replaced."""

    def near(self, content: str, *, project: str, k: int = 8) -> list[MemoryItem]:
        """Memories that may say the same or the opposite, whatever their status, nearest first."""
        ...

    def supersede(self, old_id: str, new: MemoryItem) -> str:
        """Write `new` and close the old one; returns the new id."""
        ...

    def update(self, id: str, **changes: Any) -> MemoryItem:
        """Change fields of a memory."""
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

    def keep(self, candidate: Candidate, passage: Passage, *, pinned: bool = False) -> Outcome:
        """Write, supersede, or leave as it is. The passage says where the candidate comes from."""
        near = self._store.near(candidate.content, project=passage.project, k=NEIGHBOURS)
        decision = reconcile(candidate, [item for item in near if not self._is_said_anew(candidate, item)])
        if decision.action is Action.KNOWN:
            self._finish_supersession(decision)
        if decision.action in (Action.KNOWN, Action.REFUSED):
            return Outcome(decision.action, decision.target, reason=decision.reason)
        now = self._clock.now()
        item = to_item(candidate, passage, now=now, decision=decision, commit=commit_for(passage.cwd, candidate.at, now))
        item = replace(item, pinned=pinned)
        if decision.action is Action.SUPERSEDES:
            id = self._store.supersede(decision.target, item)
            return Outcome(decision.action, id, decision.target, decision.reason)
        return Outcome(decision.action, self._store.write(item), reason=decision.reason)

    def _is_said_anew(self, candidate: Candidate, item: MemoryItem) -> bool:
        """Whose file was deleted by hand stays out, until the user says it again after that."""
        if item.status is not Status.BLACKLISTED or item.expired_at is None or candidate.source is not Source.USER:
            return False
        return (candidate.at or self._clock.now()) >= item.expired_at and self._store.get(item.id) is None

    def _finish_supersession(self, decision: Decision) -> None:
        """A kill between the two writes of a supersession left the old statement open: close it now."""
        item = self._store.get(decision.target)
        old = self._store.get(item.supersedes) if item and item.supersedes else None
        if item and old and item.status is Status.ACTIVE and old.status is Status.ACTIVE:
            ended = item.valid_from or item.created_at
            self._store.update(old.id, status=Status.SUPERSEDED, expired_at=item.created_at, valid_to=ended)
