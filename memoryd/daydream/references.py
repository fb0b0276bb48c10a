"""What a reader says about known memories: that a statement repeats, replaces or closes them. Pure functions.

A reader's word is taken only as far as its evidence goes: what the user said, or pinned, is ended by the user's own
words alone. Otherwise both stay, linked as a contradiction that a person can decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memoryd.daydream.reconcile import Action, Decision, is_older, may_replace, raises, relation
from memoryd.statements import CONFLICTS
from memoryd.types import Candidate, Kind, MemoryItem, Status

_LIVING = frozenset({Status.ACTIVE, Status.CANDIDATE})
MINOR = 1


@dataclass(frozen=True, slots=True)
class References:
    """`decision` None leaves it to the comparison. `ended` are memories to close, `disputed` those to link as contradicted.

    `only_closes`: the statement says no more than that a todo is done, and need not be kept itself.
    """

    decision: Decision | None = None
    ended: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()
    only_closes: bool = False


def resolve(candidate: Candidate, known: Mapping[str, MemoryItem]) -> References:
    """What follows from the ids that a candidate names; those that are not known, or ended already, are passed over."""
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
    return [known[id] for id in dict.fromkeys(ids) if id in known and known[id].status in _LIVING]


def _repeats(candidate: Candidate, items: Iterable[MemoryItem]) -> Decision | None:
    """Active ones first: a candidate file that says the same as an active memory needs no confirmation."""
    for item in sorted(items, key=lambda item: item.status is not Status.ACTIVE):
        if item.status is Status.CANDIDATE:
            return Decision(Action.CONFIRMS, item.id, "confirmed by the reader")
        if raises(candidate, item):
            return Decision(Action.SUPERSEDES, item.id, "confirmed by the user or for all projects")
        return Decision(Action.KNOWN, item.id, "known")
    return None
