"""resolve_conflicts: of two memories that contradict each other one holds, or the user is asked. Pure.

Who wins, in this order:
1. the better source (user, then import and reconciled, agent, tool): always for what one should do; for facts
   unless the lesser source is newer and not a tool (a fact may have changed since): then the user decides
2. among equal sources the newer one, when it is the user's, says itself that something changed, or weighs
   enough: weight = confidence × (1 + ½ for each further session that says the same); the older one holds when it
   weighs twice as much, and between these nobody is right for sure
3. said at the same time: the user's words are undecided, else the clearly more confident one wins
The loser stays readable for `as_of`; one that is pinned or in the user's hand never loses without consent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memoryd.dream.board import Board, Ending, said_at
from memoryd.dream.neighbours import Claim, Pairing, Relations
from memoryd.dream.plan import Action, Undecided
from memoryd.statements import CONFLICTS, Relation, has_correction
from memoryd.types import AUTHORITY, Kind, Link, LinkType, MemoryItem, Polarity, Source, Status

STAGE = "resolve_conflicts"
FORBIDDEN = "forbidden"
SAME_TIME = timedelta(minutes=1)
FURTHER_SESSION = 0.5
NEWER_MARGIN = 1.25
OLDER_MARGIN = 2.0
CLEARLY = 0.2
_PRESCRIPTIVE = frozenset({Kind.RULE, Kind.PREFERENCE})


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The winner and the loser, or None for both when nobody can tell. `reason` is for people."""

    winner: Claim | None
    loser: Claim | None
    reason: str


def drop_forbidden(board: Board, relations: Relations) -> None:
    """What the user had forgotten stays out, in other words as well; unless the user said it anew since."""
    for pairing in relations.of(Relation.SAME):
        tombstone, other = (pairing.earlier, pairing.later) if pairing.earlier.forbidden else (pairing.later, pairing.earlier)
        if tombstone.forbidden and not other.forbidden:
            for item in other.items:
                _drop(board, item, tombstone.newest)


def _drop(board: Board, item: MemoryItem, tombstone: MemoryItem) -> None:
    forgotten = tombstone.expired_at or tombstone.created_at
    said_anew = item.source is Source.USER and said_at(item) > forgotten
    if not said_anew and not board.is_spared(item) and board[item.id].status is Status.ACTIVE:
        reason = f"you had this forgotten ({tombstone.id})"
        board.retire(item.id, Ending(FORBIDDEN, Action.SUPERSEDE, reason))


def resolve_conflicts(board: Board, relations: Relations) -> list[Undecided]:
    """Close what was replaced, the newest first; the pairs that only the user can decide.

    Those that contradict each other without a sign of which holds are left to the user too.
    """
    sessions = _sessions(relations)
    found = [pairing for pairing in relations.of(*CONFLICTS) if _concerned(pairing)]
    undecided = []
    for pairing in sorted(found, key=_newest_first, reverse=True):
        if not (_open(board, pairing.earlier) and _open(board, pairing.later)):
            continue
        doubtful = pairing.relation is Relation.CONTRADICTS
        outcome = _Outcome(None, None, pairing.found.reason) if doubtful else _decide(pairing, sessions)
        if outcome.winner is None or outcome.loser is None or _all_spared(board, outcome.loser):
            undecided.append(Undecided(pairing.earlier.newest.id, pairing.later.newest.id, outcome.reason))
        else:
            _close(board, outcome.winner, outcome.loser, f"{pairing.found.reason}: {outcome.reason}")
    return [
        pair for pair in undecided if all(board[id].status is Status.ACTIVE for id in (pair.first, pair.second) if id in board)
    ]


def _concerned(pairing: Pairing) -> bool:
    kinds = {pairing.earlier.newest.kind, pairing.later.newest.kind}
    return not (pairing.earlier.forbidden or pairing.later.forbidden or Kind.TODO in kinds)


def _newest_first(pairing: Pairing) -> tuple[datetime, datetime, str, str]:
    a, b = pairing.earlier.newest, pairing.later.newest
    return pairing.later.at, pairing.earlier.at, b.id, a.id


def _open(board: Board, claim: Claim) -> bool:
    return claim.newest.id in board and board[claim.newest.id].status is Status.ACTIVE


def _all_spared(board: Board, claim: Claim) -> bool:
    return any(board.is_spared(item) for item in claim.items)


def _close(board: Board, winner: Claim, loser: Claim, reason: str) -> None:
    group = f"conflict:{min(item.id for item in loser.items)}"
    end = Ending(STAGE, Action.SUPERSEDE, reason, group, link=LinkType.CONTRADICTS, until=winner.at)
    links = []
    for item in loser.items:
        if board[item.id].status is Status.ACTIVE:
            links += [Link(LinkType.CONTRADICTS, item.id), Link(LinkType.SUPERSEDES, item.id)]
            board.retire(item.id, replace(end, by=board[winner.newest.id]))
    if not board.is_fixed(winner.newest):
        board.add_link(winner.newest.id, links, STAGE, f"holds against {loser.newest.id}", group)


def _sessions(relations: Relations) -> dict[int, frozenset[str]]:
    """For each claim the sessions that say it, in whatever words."""
    own = {id(claim): claim.sessions for claim in relations.claims}
    out = dict(own)
    for pairing in relations.of(Relation.SAME):
        a, b = id(pairing.earlier), id(pairing.later)
        out[a], out[b] = out[a] | own[b], out[b] | own[a]
    return out


def _decide(pairing: Pairing, sessions: dict[int, frozenset[str]]) -> _Outcome:
    older, newer = pairing.earlier, pairing.later
    a, b = _best(older), _best(newer)
    if AUTHORITY[a.source] != AUTHORITY[b.source]:
        return _by_source(older, newer)
    if newer.at - older.at < SAME_TIME:
        return _at_the_same_time(older, newer)
    return _by_weight(older, newer, sessions)


def _best(claim: Claim) -> MemoryItem:
    return max(claim.items, key=lambda item: AUTHORITY[item.source])


def _by_source(older: Claim, newer: Claim) -> _Outcome:
    a, b = _best(older), _best(newer)
    if AUTHORITY[b.source] > AUTHORITY[a.source]:
        return _Outcome(newer, older, f"newer, and said by {b.source.value}")
    if _prescribes(a) or b.source is Source.TOOL:
        return _Outcome(older, newer, f"said by {a.source.value}, the other by {b.source.value}")
    return _Outcome(None, None, f"{a.source.value} said one thing, and {b.source.value} found another later")


def _prescribes(item: MemoryItem) -> bool:
    return item.kind in _PRESCRIPTIVE or item.polarity is not Polarity.KNOW


def _at_the_same_time(older: Claim, newer: Claim) -> _Outcome:
    a, b = older.newest, newer.newest
    if a.source is not Source.USER and abs(a.confidence - b.confidence) >= CLEARLY:
        winner, loser = (older, newer) if a.confidence > b.confidence else (newer, older)
        return _Outcome(winner, loser, "more certain, at the same time")
    return _Outcome(None, None, "said at the same time")


def _by_weight(older: Claim, newer: Claim, sessions: dict[int, frozenset[str]]) -> _Outcome:
    if newer.newest.source is Source.USER or has_correction(newer.newest.content):
        return _Outcome(newer, older, "a newer statement")
    before, after = _weight(older, sessions), _weight(newer, sessions)
    if after * NEWER_MARGIN >= before:
        return _Outcome(newer, older, "a newer statement")
    if before >= OLDER_MARGIN * after:
        return _Outcome(older, newer, "more sessions and confidence stand behind it")
    return _Outcome(None, None, "the older one is better supported, the newer one is newer")


def _weight(claim: Claim, sessions: dict[int, frozenset[str]]) -> float:
    confidence = max(item.confidence for item in claim.items)
    return confidence * (1 + FURTHER_SESSION * (len(sessions[id(claim)]) - 1))
