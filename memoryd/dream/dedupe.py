"""merge_duplicates: what says the same becomes one memory. Pure.

Exact (same normal form), near (same words but for a few) and semantic (near vectors, the same kind), never across
projects or scopes, and never when numbers, paths, names or the sense differ (see memoryd.statements). A group is a star: all
members say the same as its centre, so that no chain of small steps ties unlike statements together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memoryd.dream.board import Board, Ending, said_at
from memoryd.dream.neighbours import Claim, Neighbourhood, Pairing, Relations, family
from memoryd.dream.plan import Action
from memoryd.statements import Relation
from memoryd.text import token_count
from memoryd.types import AUTHORITY, Evidence, LinkType, MemoryItem, Status

STAGE = "merge_duplicates"
LONGEST = 60  # tokens; a longer wording is no better for its length


def merge_duplicates(board: Board, relations: Relations, near: Neighbourhood) -> None:
    """Merge what says the same, as far as both are still active."""
    friends = _friends(relations, near)
    claims = [claim for claim in relations.claims if not claim.forbidden]
    taken: set[int] = set()
    for centre in sorted(claims, key=lambda claim: min(_rank(board, item) for item in claim.items)):
        if id(centre) in taken:
            continue
        taken.add(id(centre))
        members = list(centre.items)
        for friend in friends.get(id(centre), []):
            if id(friend) not in taken:
                taken.add(id(friend))
                members += friend.items
        _merge(board, [board[item.id] for item in members if _is_active(board, item)])


def _is_active(board: Board, item: MemoryItem) -> bool:
    return item.id in board and board[item.id].status is Status.ACTIVE


def _friends(relations: Relations, near: Neighbourhood) -> dict[int, list[Claim]]:
    out: dict[int, list[Claim]] = {}
    for pairing in relations.of(Relation.SAME):
        if not (pairing.earlier.forbidden or pairing.later.forbidden) and _kinds_fit(pairing, near):
            out.setdefault(id(pairing.earlier), []).append(pairing.later)
            out.setdefault(id(pairing.later), []).append(pairing.earlier)
    return out


def _kinds_fit(pairing: Pairing, near: Neighbourhood) -> bool:
    a, b = pairing.earlier.newest, pairing.later.newest
    return a.kind is b.kind or (family(a) == family(b) and near.agree_in_words(pairing))


def _rank(board: Board, item: MemoryItem) -> tuple[object, ...]:
    """Best wording first: in the user's hand, said by the user, most names and values, longest (within reason), oldest."""
    size = min(token_count(item.content), LONGEST)
    return (not board.is_spared(item), -AUTHORITY[item.source], -len(item.entities), -size, item.created_at, item.id)


def _merge(board: Board, members: Sequence[MemoryItem]) -> None:
    if len(members) < 2:
        return
    best, *others = sorted(members, key=lambda item: _rank(board, item))
    if board.is_spared(best):
        for item in others:
            if not board.is_spared(item):
                reason = f"says the same as {best.id}"
                board.retire(item.id, Ending(STAGE, Action.SUPERSEDE, reason, f"merge:{best.id}", by=best))
        return
    board.merge(united(best, members), members, STAGE, f"{len(members)} memories say the same")


def united(best: MemoryItem, members: Sequence[MemoryItem]) -> MemoryItem:
    """The best wording with all provenance, the earliest times and the highest confidence.

    Source, scope, kind and polarity are those of the wording: nobody's words gain another's trust.
    """
    ends = [item.valid_to for item in members]
    starts = [said_at(item) for item in members]
    links = [link for item in members for link in item.links if link.type is not LinkType.MENTIONS]
    ids = {item.id for item in members}
    return replace(
        best,
        confidence=max(item.confidence for item in members),
        relevancy=max(item.relevancy for item in members),
        tags=_union(best, members, lambda item: item.tags),
        entities=_union(best, members, lambda item: item.entities),
        links=tuple(dict.fromkeys((*best.links, *(link for link in links if link.target not in ids)))),
        created_at=min(item.created_at for item in members),
        valid_from=min(starts),
        valid_to=None if None in ends else max(end for end in ends if end is not None),
        evidence=_evidence(best, members),
        supersedes=best.id,
        backends=(),
    )


def _union(best: MemoryItem, members: Sequence[MemoryItem], part: object) -> tuple[str, ...]:
    assert callable(part)
    ordered = (best, *sorted(members, key=lambda item: item.id))
    return tuple(dict.fromkeys(value for item in ordered for value in part(item)))


def _evidence(best: MemoryItem, members: Iterable[MemoryItem]) -> Evidence:
    ordered = [best, *sorted(members, key=lambda item: item.id)]
    return Evidence(
        transcript=next((item.evidence.transcript for item in ordered if item.evidence.transcript), ""),
        lines=tuple(dict.fromkeys(line for item in ordered for line in item.evidence.lines)),
        commit=best.evidence.commit,
        paths=tuple(dict.fromkeys(path for item in ordered for path in item.evidence.paths)),
    )
