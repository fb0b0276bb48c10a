"""merge_duplicates: what says the same becomes one memory. Pure.

Exact (same normal form), near (same words but for a few) and semantic (near vectors, the same kind), never across
projects or scopes, and never when numbers, paths, names or the sense differ (see memoryd.language). A group is a star: all
members say the same as its centre, so that no chain of small steps ties unlike statements together.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from memoryd.core.ledger import FileState
from memoryd.core.text import token_count
from memoryd.core.types import AUTHORITY, CHECK_TAG, Evidence, Kind, Link, LinkType, MemoryItem, Polarity, Source, Status
from memoryd.dream.neighbours import Claim, Neighbourhood, Pairing, Relations, family
from memoryd.dream.plan import Action, Board, Change, DreamLimits, Ending, Undecided, partition, said_at
from memoryd.language import CONFLICTS, Relation, has_correction
from memoryd.language.entities import find_entities, normalise_entity
from memoryd.recall.governance import UseCounts, age_days, inherited, value

MERGE_DUPLICATES = "merge_duplicates"
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
                board.retire(item.id, Ending(MERGE_DUPLICATES, Action.SUPERSEDE, reason, f"merge:{best.id}", by=best))
        return
    board.merge(united(best, members), members, MERGE_DUPLICATES, f"{len(members)} memories say the same")


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


# resolve_conflicts: of two memories that contradict each other one holds, or the user is asked. Pure.
#
# Who wins, in this order:
# 1. the better source (user, then import and reconciled, agent, tool): always for what one should do; for facts
#    unless the lesser source is newer and not a tool (a fact may have changed since): then the user decides
# 2. among equal sources the newer one, when it is the user's, says itself that something changed, or weighs
#    enough: weight = confidence × (1 + ½ for each further session that says the same); the older one holds when it
#    weighs twice as much, and between these nobody is right for sure
# 3. said at the same time: the user's words are undecided, else the clearly more confident one wins
# The loser stays readable for `as_of`; one that is pinned or in the user's hand never loses without consent.

RESOLVE_CONFLICTS = "resolve_conflicts"
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
    end = Ending(RESOLVE_CONFLICTS, Action.SUPERSEDE, reason, group, link=LinkType.CONTRADICTS, until=winner.at)
    links = []
    for item in loser.items:
        if board[item.id].status is Status.ACTIVE:
            links += [Link(LinkType.CONTRADICTS, item.id), Link(LinkType.SUPERSEDES, item.id)]
            board.retire(item.id, replace(end, by=board[winner.newest.id]))
    if not board.is_fixed(winner.newest):
        board.add_link(winner.newest.id, links, RESOLVE_CONFLICTS, f"holds against {loser.newest.id}", group)


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


# prune: relevancy fades, what has ended expires, what is worth least is archived. Pure.
#
# relevancy = 0.5^(age / (H·(1 + log2(1 + uses)))) · 0.5^contradictions, at least 0.05, in steps of 0.05,
# with H the half-life of the kind and the age in days since it was recorded or last used. It follows
# from the times alone, not from yesterday's value: a night that is missed, dreamt twice, or dreamt with a
# wrong clock does no lasting harm.
#
# An archived memory is superseded and carries the tag `archived`; `as_of` finds it as before, and one that a
# person restores keeps the tag, which tells later dreams to leave it alone. The same with `expired`.

PRUNE = "prune"
ARCHIVED = "archived"
EXPIRED = "expired"
LEAST = 0.05
STEPS = 20


def expire(board: Board, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """Close what has ended, before it can win against anything."""
    for item in list(board.active()):
        ended = _ended(item, board, inherited(item, usage, board.get), limits)
        if ended and EXPIRED not in item.tags and not board.is_spared(item):
            board.retire(item.id, Ending(PRUNE, Action.EXPIRE, ended, tag=EXPIRED))


def prune(board: Board, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """Let relevancy fade, then archive what is worth least."""
    for item in list(board.active()):
        if not (board.is_spared(item) or lasts(item)):
            _fade(item, board, inherited(item, usage, board.get), limits)
    _archive(board, usage, limits)


def lasts(item: MemoryItem) -> bool:
    """Rules and preferences that the user gave do not fade."""
    rule = item.kind in (Kind.RULE, Kind.PREFERENCE) or item.polarity is not Polarity.KNOW
    return item.source is Source.USER and rule


def _ended(item: MemoryItem, board: Board, counts: UseCounts, limits: DreamLimits) -> str:
    if item.valid_to is not None and item.valid_to <= board.now:
        return f"it held until {item.valid_to.date().isoformat()}"
    bound = limits.age_bounds.get(item.kind)
    if bound is not None and not lasts(item) and age_days(item, board.now, counts) > bound:
        return f"{item.kind.value}, not used for {bound:.0f} days"
    return ""


def relevancy_of(item: MemoryItem, age: float, counts: UseCounts, limits: DreamLimits) -> float:
    """The formula above; 0.05..1."""
    half_life = limits.half_lives[item.kind] * (1 + math.log2(1 + counts.used))
    faded: float = 0.5 ** (age / half_life + counts.contradicted)
    return max(LEAST, round(faded * STEPS) / STEPS)


def _fade(item: MemoryItem, board: Board, counts: UseCounts, limits: DreamLimits) -> None:
    new = relevancy_of(item, age_days(item, board.now, counts), counts, limits)
    if abs(new - item.relevancy) >= limits.least_step - 1e-9:
        verb = "fades" if new < item.relevancy else "is fresh again"
        board.touch(replace(item, relevancy=new), PRUNE, Action.DECAY, f"{verb}: relevancy {item.relevancy:.2f} → {new:.2f}")


def _archive(board: Board, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    by_partition: dict[tuple[str, str], list[MemoryItem]] = defaultdict(list)
    for item in board.active():
        by_partition[partition(item)].append(item)
    for _, items in sorted(by_partition.items()):
        _archive_in(board, items, usage, limits)


def _archive_in(board: Board, items: list[MemoryItem], usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """The least valuable ones of a project, while it has more than its cap, and whatever is worth next to nothing."""
    worth = {item.id: value(item, board.now, inherited(item, usage, board.get)) for item in items}
    surplus = len(items) - limits.cap
    for item in sorted(items, key=lambda item: (worth[item.id], item.id)):
        if board.is_spared(item) or lasts(item) or ARCHIVED in item.tags:
            continue
        if surplus <= 0 and worth[item.id] >= limits.floor:
            break
        crowded = f"the project has more than {limits.cap} memories"
        reason = crowded if surplus > 0 else f"worth {worth[item.id]:.3f}, not used for long"
        board.retire(item.id, Ending(PRUNE, Action.ARCHIVE, reason, tag=ARCHIVED))
        surplus -= 1


# link: memories that share rare names are joined, so that `related` has something to walk. Pure.
#
# Only names that few memories of a project have say something; each memory gets a bounded number of
# such edges, to those with which it shares most. Edges are kept once, at the newer memory.

LINK = "link"


def link(board: Board, limits: DreamLimits) -> None:
    """Name what is mentioned, and join memories that share rare names."""
    for item in list(board.active()):
        _mention(board, item)
    names: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in board.active():
        for name in _names(item):
            names[(*partition(item), name)].append(item.id)
    weights: dict[tuple[str, str], float] = defaultdict(float)
    shared: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (_, _, name), ids in sorted(names.items()):
        if 2 <= len(ids) <= limits.rare:
            for pair in _pairs(ids):
                weights[pair] += 1 / math.log2(1 + len(ids))
                shared[pair].append(name)
    _join(board, weights, shared, limits.degree)


def _mention(board: Board, item: MemoryItem) -> None:
    """Fill in names that were never looked for; the graph makes MENTIONS edges of them."""
    if not item.entities and not board.is_fixed(item):
        found = find_entities(item.content)
        if found:
            board.touch(replace(item, entities=found), LINK, Action.LINK, f"mentions {', '.join(found)}")


def _names(item: MemoryItem) -> set[str]:
    return {normalise_entity(name).casefold() for name in item.entities}


def _pairs(ids: list[str]) -> Iterable[tuple[str, str]]:
    return ((a, b) for at, a in enumerate(ids) for b in ids[at + 1 :])


def _join(board: Board, weights: dict[tuple[str, str], float], shared: dict[tuple[str, str], list[str]], degree: int) -> None:
    """The heaviest edges first, while both ends have room. Edges that are there count."""
    taken: dict[str, int] = defaultdict(int)
    for pair in sorted(weights, key=lambda pair: (-weights[pair], pair)):
        if all(taken[id] < degree for id in pair):
            end, start = sorted((board[id] for id in pair), key=lambda item: (board.is_new(item.id), said_at(item), item.id))
            if board.is_fixed(start):
                end, start = start, end
            if board.is_fixed(start):
                continue
            taken[end.id] += 1
            taken[start.id] += 1
            _add(board, start, end, shared[pair])


def _add(board: Board, start: MemoryItem, end: MemoryItem, names: list[str]) -> None:
    edge, back = Link(LinkType.RELATES_TO, end.id), Link(LinkType.RELATES_TO, start.id)
    if edge in start.links or back in end.links:
        return
    group = f"merge:{end.id}" if board.is_new(end.id) else ""
    board.add_link(start.id, [edge], LINK, f"shares {', '.join(names)} with {end.id}", group)


# Memories about code: when a file that one speaks of is gone or looks different, it is marked "check".
#
# A memory is anchored to the paths of its evidence. The first dream that sees it keeps a sketch of each
# file; later ones compare. No process and no network: a file whose size and time are as they were is
# not even read, and each dream reads at most MAX_READS files.
#
# Sketch: the 64 smallest hashes of the file's lines; the share that two sketches have in common among
# the 64 smallest of both estimates the Jaccard similarity of the sets of lines (bottom-k sketch,
# Broder 1997). Under FITS the file counts as changed a lot. Larger files are compared by size only.

ANCHORS = "anchors"
FITS = 0.5
SKETCH_SIZE = 64
MAX_BYTES = 1_000_000
MAX_READS = 2_000
_BY_SIZE = "size "
_STILL_DIFFERENT = "-"
_GONE = FileState(-1, 0, "")

RootsOf = Callable[[MemoryItem], Sequence[Path]]


@dataclass(slots=True)
class Inspection:
    """What a look at the files gave: prints to keep, and the memories whose mark must change, with the reason."""

    prints: dict[str, dict[str, FileState]] = field(default_factory=dict)
    mark: dict[str, str] = field(default_factory=dict)
    unmark: dict[str, str] = field(default_factory=dict)


def sketch_of(data: bytes) -> str:
    """The sketch of a file's bytes, as text."""
    lines = {line.strip() for line in data.splitlines()} - {b""}
    hashes = sorted(hashlib.blake2b(line, digest_size=6).hexdigest() for line in lines)
    return " ".join(hashes[:SKETCH_SIZE])


def similarity(a: str, b: str) -> float:
    """How much two files have in common by their sketches, 0..1."""
    if a.startswith(_BY_SIZE) or b.startswith(_BY_SIZE):
        return _size_similarity(a, b)
    left, right = set(a.split()), set(b.split())
    smallest = sorted(left | right)[:SKETCH_SIZE]
    return len([code for code in smallest if code in left and code in right]) / len(smallest) if smallest else 1.0


def _size_similarity(a: str, b: str) -> float:
    if not (a.startswith(_BY_SIZE) and b.startswith(_BY_SIZE)):
        return 0.0
    small, large = sorted((int(a.removeprefix(_BY_SIZE)), int(b.removeprefix(_BY_SIZE))))
    return small / large


def inspect(items: Iterable[MemoryItem], known: Mapping[str, Mapping[str, FileState]], roots_of: RootsOf) -> Inspection:
    """Compare the files of all active memories with what is known. Nothing is written."""
    look = _Look(MAX_READS)
    out = Inspection()
    for item in sorted(items, key=lambda item: item.id):
        if item.evidence.paths and item.status is Status.ACTIVE:
            _inspect(item, known.get(item.id, {}), roots_of(item), look, out)
    return out


def _inspect(item: MemoryItem, known: Mapping[str, FileState], roots: Sequence[Path], look: _Look, out: Inspection) -> None:
    now, problems = {}, []
    for path in item.evidence.paths:
        found = look.at(path, roots, known.get(path))
        if found is None:
            continue
        problem = _problem(path, known.get(path), found)
        first = known.get(path, found)
        now[path] = replace(found, sketch=first.sketch, marked=bool(problem))
        problems += [problem] if problem else []
    if now != dict(known):
        out.prints[item.id] = {**known, **now}
    if problems and CHECK_TAG not in item.tags:
        out.mark[item.id] = "; ".join(problems)
    elif now and not problems and CHECK_TAG in item.tags and any(print.marked for print in known.values()):
        out.unmark[item.id] = "the file fits again"


def _problem(path: str, before: FileState | None, found: FileState) -> str:
    if before is None:
        return ""
    if found.size < 0:
        return f"{path} is gone"
    return "" if similarity(before.sketch, found.sketch) >= FITS else f"{path} has changed a lot"


class _Look:
    """Looks at files, up to a number of reads. `at` gives None for what can't be judged now."""

    def __init__(self, reads: int) -> None:
        self._reads = reads

    def at(self, path: str, roots: Sequence[Path], known: FileState | None) -> FileState | None:
        places = [Path(path)] if Path(path).is_absolute() else [root / path for root in roots if root.is_dir()]
        for place in places:
            try:
                if place.is_file():
                    return self._read(place, known)
            except OSError:
                return None  # no permission, a dead mount: nothing is known
        # What never was a file, such as "and/or", or whose whole project is away, says nothing.
        return _GONE if known is not None and _project_is_there(path, roots) else None

    def _read(self, place: Path, known: FileState | None) -> FileState | None:
        stat = place.stat()
        if known is not None and (stat.st_size, stat.st_mtime_ns) == (known.size, known.mtime_ns):
            return replace(known, sketch=_STILL_DIFFERENT) if known.marked else known
        if self._reads <= 0:
            return None
        self._reads -= 1
        sketch = f"{_BY_SIZE}{stat.st_size}" if stat.st_size > MAX_BYTES else sketch_of(place.read_bytes())
        return FileState(stat.st_size, stat.st_mtime_ns, sketch)


def _project_is_there(path: str, roots: Sequence[Path]) -> bool:
    return Path(path).parent.parent.is_dir() if Path(path).is_absolute() else any(root.is_dir() for root in roots)


def changes(items: Mapping[str, MemoryItem], found: Inspection) -> list[Change]:
    """The marks as changes, by id."""
    out = []
    for id, reason in sorted({**found.mark, **found.unmark}.items()):
        item = items[id]
        tags = (*item.tags, CHECK_TAG) if id in found.mark else tuple(tag for tag in item.tags if tag != CHECK_TAG)
        out.append(Change(ANCHORS, Action.CHECK, item, replace(item, tags=tags), reason))
    return out
