"""The pure stages of the dream. The first one, merge_duplicates, merges memories that make the same statement.

Duplicates are exact (same normal form), near (nearly the same words) or semantic (close vectors, same kind). They
never span projects or scopes, and never differ in numbers, paths, names or meaning (see memoryd.language). A group is
a star: every member matches its centre directly, so that a chain of small steps can't join different statements.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from memoryd.citations.check import CitationCheck, CodeState, overall
from memoryd.core.files import read_regular
from memoryd.core.ledger import FileState
from memoryd.core.text import token_count
from memoryd.core.types import (
    AUTHORITY,
    CHECK_TAG,
    WISH_KINDS,
    Citation,
    Evidence,
    Kind,
    Link,
    LinkType,
    MemoryItem,
    Polarity,
    Source,
    Status,
)
from memoryd.dream.neighbours import CandidatePair, Claim, Neighbourhood, Relations, family
from memoryd.dream.plan import Action, Change, DreamLimits, PlanBuilder, Retirement, UndecidedConflict, partition, said_at
from memoryd.language import CONFLICTS, Relation, has_correction
from memoryd.language.entities import are_apart, find_entities, normalise_entity
from memoryd.recall.governance import UseCounts, age_days, inherited, value

MERGE_DUPLICATES = "merge_duplicates"
LONGEST = 60  # In tokens. A longer wording is not considered better.


def merge_duplicates(builder: PlanBuilder, relations: Relations, near: Neighbourhood) -> None:
    """Merge active memories that make the same statement."""
    friends = _friends(relations, near)
    claims = [claim for claim in relations.claims if not claim.forbidden]
    taken: set[int] = set()
    for centre in sorted(claims, key=lambda claim: min(_rank(builder, item) for item in claim.items)):
        if id(centre) in taken:
            continue
        taken.add(id(centre))
        members = list(centre.items)
        for friend in friends.get(id(centre), []):
            if id(friend) not in taken:
                taken.add(id(friend))
                members += friend.items
        _merge(builder, [builder[item.id] for item in members if _is_active(builder, item)])


def _is_active(builder: PlanBuilder, item: MemoryItem) -> bool:
    return item.id in builder and builder[item.id].status is Status.ACTIVE


def _friends(relations: Relations, near: Neighbourhood) -> dict[int, list[Claim]]:
    out: dict[int, list[Claim]] = {}
    for pair in relations.of(Relation.SAME):
        if not (pair.earlier.forbidden or pair.later.forbidden) and _kinds_fit(pair, near):
            out.setdefault(id(pair.earlier), []).append(pair.later)
            out.setdefault(id(pair.later), []).append(pair.earlier)
    return out


def _kinds_fit(pair: CandidatePair, near: Neighbourhood) -> bool:
    a, b = pair.earlier.newest, pair.later.newest
    return a.kind is b.kind or (family(a) == family(b) and near.agree_in_words(pair))


def _rank(builder: PlanBuilder, item: MemoryItem) -> tuple[object, ...]:
    """Return a key that sorts the best wording first.

    Criteria: maintained by the user, stated by the user, most names, longest (up to a limit), oldest.
    """
    size = min(token_count(item.content), LONGEST)
    return (not builder.is_spared(item), -AUTHORITY[item.source], -len(item.entities), -size, item.created_at, item.id)


def _merge(builder: PlanBuilder, members: Sequence[MemoryItem]) -> None:
    if len(members) < 2:
        return
    best, *others = sorted(members, key=lambda item: _rank(builder, item))
    if builder.is_spared(best):
        for item in others:
            if not builder.is_spared(item):
                reason = f"same statement as {best.id}"
                builder.retire(item.id, Retirement(MERGE_DUPLICATES, Action.SUPERSEDE, reason, f"merge:{best.id}", by=best))
        return
    builder.merge(united(best, members), members, MERGE_DUPLICATES, f"{len(members)} memories make the same statement")


def united(best: MemoryItem, members: Sequence[MemoryItem]) -> MemoryItem:
    """Return the memory with the best wording, with the provenance of all, the earliest times and the highest confidence.

    Source, scope, kind and polarity are those of the best-worded memory, so that merging never raises the trust in a statement.
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
        cites=tuple(dict.fromkeys(cited for item in (best, *sorted(members, key=lambda item: item.id)) for cited in item.cites)),
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
        client=next((item.evidence.client for item in ordered if item.evidence.transcript), ""),
    )


# resolve_conflicts decides which of two contradicting memories is right, or leaves the decision to the user. It is pure.
#
# Criteria, in this order:
# 1. the more authoritative source (user, then import and reconciled, agent, tool): always for instructions; for facts unless
#    the lesser source is newer and not a tool, since a fact may have changed: then the user decides
# 2. for equal sources, the newer one if it is the user's, announces a change, or has enough weight:
# weight = confidence × (1 + ½ for each further session with the same statement); the older one if it weighs twice as
#    much; otherwise undecided
# 3. for equal times, the user's statements are undecided; else the clearly more confident one
# The loser remains available to `as_of`. A pinned or user-maintained memory never loses without consent.

RESOLVE_CONFLICTS = "resolve_conflicts"
FORBIDDEN = "forbidden"
SAME_TIME = timedelta(minutes=1)
FURTHER_SESSION = 0.5
NEWER_MARGIN = 1.25
OLDER_MARGIN = 2.0
CLEARLY = 0.2


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Winner and loser, both None if the conflict is undecided. `reason` is shown to the user."""

    winner: Claim | None
    loser: Claim | None
    reason: str


def drop_forbidden(builder: PlanBuilder, relations: Relations) -> None:
    """Retire memories that repeat a forgotten statement, unless the user has made the statement again since."""
    for pair in relations.of(Relation.SAME):
        tombstone, other = (pair.earlier, pair.later) if pair.earlier.forbidden else (pair.later, pair.earlier)
        if tombstone.forbidden and not other.forbidden:
            for item in other.items:
                _drop(builder, item, tombstone.newest)


def _drop(builder: PlanBuilder, item: MemoryItem, tombstone: MemoryItem) -> None:
    forgotten = tombstone.expired_at or tombstone.created_at
    said_again = item.source is Source.USER and said_at(item) > forgotten
    if not said_again and not builder.is_spared(item) and builder[item.id].status is Status.ACTIVE:
        reason = f"forgotten at your request ({tombstone.id})"
        builder.retire(item.id, Retirement(FORBIDDEN, Action.SUPERSEDE, reason))


def resolve_conflicts(builder: PlanBuilder, relations: Relations) -> list[UndecidedConflict]:
    """Close replaced memories, newest first, and return the pairs that only the user can decide.

    These include contradictions without any indication of which memory is right.
    """
    sessions = _sessions(relations)
    found = [pair for pair in relations.of(*CONFLICTS) if _concerned(pair)]
    undecided = []
    for pair in sorted(found, key=_newest_first, reverse=True):
        if not (_open(builder, pair.earlier) and _open(builder, pair.later)):
            continue
        doubtful = pair.relation is Relation.CONTRADICTS
        outcome = _Outcome(None, None, pair.found.reason) if doubtful else _decide(pair, sessions)
        if outcome.winner is None or outcome.loser is None or _all_spared(builder, outcome.loser):
            undecided.append(UndecidedConflict(pair.earlier.newest.id, pair.later.newest.id, outcome.reason))
        else:
            _close(builder, outcome.winner, outcome.loser, f"{pair.found.reason}: {outcome.reason}")
    return [
        pair
        for pair in undecided
        if all(builder[id].status is Status.ACTIVE for id in (pair.first, pair.second) if id in builder)
    ]


def _concerned(pair: CandidatePair) -> bool:
    one, other = pair.earlier.newest, pair.later.newest
    kinds = {one.kind, other.kind}
    if kinds <= WISH_KINDS and are_apart(one.content, other.content):
        return False
    return not (pair.earlier.forbidden or pair.later.forbidden or Kind.TODO in kinds)


def _newest_first(pair: CandidatePair) -> tuple[datetime, datetime, str, str]:
    a, b = pair.earlier.newest, pair.later.newest
    return pair.later.at, pair.earlier.at, b.id, a.id


def _open(builder: PlanBuilder, claim: Claim) -> bool:
    return claim.newest.id in builder and builder[claim.newest.id].status is Status.ACTIVE


def _all_spared(builder: PlanBuilder, claim: Claim) -> bool:
    return any(builder.is_spared(item) for item in claim.items)


def _close(builder: PlanBuilder, winner: Claim, loser: Claim, reason: str) -> None:
    group = f"conflict:{min(item.id for item in loser.items)}"
    end = Retirement(RESOLVE_CONFLICTS, Action.SUPERSEDE, reason, group, link=LinkType.CONTRADICTS, until=winner.at)
    links = []
    for item in loser.items:
        if builder[item.id].status is Status.ACTIVE:
            links += [Link(LinkType.CONTRADICTS, item.id), Link(LinkType.SUPERSEDES, item.id)]
            builder.retire(item.id, replace(end, by=builder[winner.newest.id]))
    if not builder.is_fixed(winner.newest):
        builder.add_link(winner.newest.id, links, RESOLVE_CONFLICTS, f"holds against {loser.newest.id}", group)


def _sessions(relations: Relations) -> dict[int, frozenset[str]]:
    """Return the sessions that contain each claim, in any wording."""
    own = {id(claim): claim.sessions for claim in relations.claims}
    out = dict(own)
    for pair in relations.of(Relation.SAME):
        a, b = id(pair.earlier), id(pair.later)
        out[a], out[b] = out[a] | own[b], out[b] | own[a]
    return out


def _decide(pair: CandidatePair, sessions: dict[int, frozenset[str]]) -> _Outcome:
    older, newer = pair.earlier, pair.later
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
        return _Outcome(newer, older, f"newer, and stated by {b.source.value}")
    if _prescribes(a) or b.source is Source.TOOL:
        return _Outcome(older, newer, f"stated by {a.source.value}, the other by {b.source.value}")
    return _Outcome(None, None, f"stated differently by {a.source.value}, and later by {b.source.value}")


def _prescribes(item: MemoryItem) -> bool:
    return item.kind in WISH_KINDS or item.polarity is not Polarity.KNOW


def _at_the_same_time(older: Claim, newer: Claim) -> _Outcome:
    a, b = older.newest, newer.newest
    if a.source is not Source.USER and abs(a.confidence - b.confidence) >= CLEARLY:
        winner, loser = (older, newer) if a.confidence > b.confidence else (newer, older)
        return _Outcome(winner, loser, "more certain, at the same time")
    return _Outcome(None, None, "stated at the same time")


def _by_weight(older: Claim, newer: Claim, sessions: dict[int, frozenset[str]]) -> _Outcome:
    if newer.newest.source is Source.USER or has_correction(newer.newest.content):
        return _Outcome(newer, older, "a newer statement")
    before, after = _weight(older, sessions), _weight(newer, sessions)
    if after * NEWER_MARGIN >= before:
        return _Outcome(newer, older, "a newer statement")
    if before >= OLDER_MARGIN * after:
        return _Outcome(older, newer, "supported by more sessions and confidence")
    return _Outcome(None, None, "the older one is better supported, the newer one is newer")


def _weight(claim: Claim, sessions: dict[int, frozenset[str]]) -> float:
    confidence = max(item.confidence for item in claim.items)
    return confidence * (1 + FURTHER_SESSION * (len(sessions[id(claim)]) - 1))


# prune decays relevancy, expires memories that have ended, and archives the least valuable ones. It is pure.
#
# relevancy = 0.5^(age / (H·(1 + log2(1 + uses)))) · 0.5^contradictions, at least 0.05, in steps of 0.05, where H is the
# half-life of the kind and age is in days since recording or last use. It is computed from the times alone, not from the
# previous value, so a missed night, a repeated dream or a wrong clock does no lasting harm.
#
# An archived memory is superseded and tagged `archived`; `as_of` finds it as before, and if a person restores it, the tag tells
# later dreams to leave it alone. The same applies to `expired`.

PRUNE = "prune"
ARCHIVED = "archived"
EXPIRED = "expired"
MIN_RELEVANCY = 0.05
STEPS = 20


def expire(builder: PlanBuilder, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """Close memories whose validity has ended, before they can win a conflict."""
    for item in list(builder.active()):
        ended = _ended(item, builder, inherited(item, usage, builder.get), limits)
        if ended and EXPIRED not in item.tags and not builder.is_spared(item):
            builder.retire(item.id, Retirement(PRUNE, Action.EXPIRE, ended, tag=EXPIRED))


def prune(builder: PlanBuilder, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """Decay relevancy, then archive the least valuable memories."""
    for item in list(builder.active()):
        if not (builder.is_spared(item) or lasts(item)):
            _fade(item, builder, inherited(item, usage, builder.get), limits)
    _archive(builder, usage, limits)


def lasts(item: MemoryItem) -> bool:
    """Return whether the item never decays. This applies to rules and preferences from the user."""
    rule = item.kind in (Kind.RULE, Kind.PREFERENCE) or item.polarity is not Polarity.KNOW
    return item.source is Source.USER and rule


def _ended(item: MemoryItem, builder: PlanBuilder, counts: UseCounts, limits: DreamLimits) -> str:
    if item.valid_to is not None and item.valid_to <= builder.now:
        return f"ended on {item.valid_to.date().isoformat()}"
    bound = limits.age_bounds.get(item.kind)
    if bound is not None and not lasts(item) and age_days(item, builder.now, counts) > bound:
        return f"{item.kind.value}, unused for {bound:.0f} days"
    return ""


def relevancy_of(item: MemoryItem, age: float, counts: UseCounts, limits: DreamLimits) -> float:
    """Compute the relevancy with the formula above. It is between 0.05 and 1."""
    half_life = limits.half_lives[item.kind] * (1 + math.log2(1 + counts.used))
    faded: float = 0.5 ** (age / half_life + counts.contradicted)
    return max(MIN_RELEVANCY, round(faded * STEPS) / STEPS)


def _fade(item: MemoryItem, builder: PlanBuilder, counts: UseCounts, limits: DreamLimits) -> None:
    new = relevancy_of(item, age_days(item, builder.now, counts), counts, limits)
    if abs(new - item.relevancy) >= limits.least_step - 1e-9:
        verb = "decays" if new < item.relevancy else "recovers"
        builder.touch(replace(item, relevancy=new), PRUNE, Action.DECAY, f"{verb}: relevancy {item.relevancy:.2f} → {new:.2f}")


def _archive(builder: PlanBuilder, usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    by_partition: dict[tuple[str, str], list[MemoryItem]] = defaultdict(list)
    for item in builder.active():
        by_partition[partition(item)].append(item)
    for _, items in sorted(by_partition.items()):
        _archive_in(builder, items, usage, limits)


def _archive_in(builder: PlanBuilder, items: list[MemoryItem], usage: Mapping[str, UseCounts], limits: DreamLimits) -> None:
    """Archive the least valuable memories above the project's cap, and those of almost no value."""
    values = {item.id: value(item, builder.now, inherited(item, usage, builder.get)) for item in items}
    surplus = len(items) - limits.cap
    for item in sorted(items, key=lambda item: (values[item.id], item.id)):
        if builder.is_spared(item) or lasts(item) or ARCHIVED in item.tags:
            continue
        if surplus <= 0 and values[item.id] >= limits.floor:
            break
        crowded = f"the project has more than {limits.cap} memories"
        reason = crowded if surplus > 0 else f"value {values[item.id]:.3f}, unused for a long time"
        builder.retire(item.id, Retirement(PRUNE, Action.ARCHIVE, reason, tag=ARCHIVED))
        surplus -= 1


# link connects memories that share rare names, so that `related` can traverse them. It is pure.
#
# Only names shared by few memories of a project are informative. Each memory gets a limited number of edges, to the memories that
# share the most names with it. An edge is stored once, in the newer memory.

LINK = "link"


def link(builder: PlanBuilder, limits: DreamLimits) -> None:
    """Extract missing names, and connect memories that share rare names."""
    for item in list(builder.active()):
        _mention(builder, item)
    names: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in builder.active():
        for name in _names(item):
            names[(*partition(item), name)].append(item.id)
    weights: dict[tuple[str, str], float] = defaultdict(float)
    shared: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (_, _, name), ids in sorted(names.items()):
        if 2 <= len(ids) <= limits.rare:
            for pair in _pairs(ids):
                weights[pair] += 1 / math.log2(1 + len(ids))
                shared[pair].append(name)
    _join(builder, weights, shared, limits.degree)


def _mention(builder: PlanBuilder, item: MemoryItem) -> None:
    """Extract the names of a memory that has none yet. The graph turns them into MENTIONS edges."""
    if not item.entities and not builder.is_fixed(item):
        found = find_entities(item.content)
        if found:
            builder.touch(replace(item, entities=found), LINK, Action.LINK, f"mentions {', '.join(found)}")


def _names(item: MemoryItem) -> set[str]:
    return {normalise_entity(name).casefold() for name in item.entities}


def _pairs(ids: list[str]) -> Iterable[tuple[str, str]]:
    return ((a, b) for at, a in enumerate(ids) for b in ids[at + 1 :])


def _join(
    builder: PlanBuilder, weights: dict[tuple[str, str], float], shared: dict[tuple[str, str], list[str]], degree: int
) -> None:
    """Add edges, heaviest first, while both ends have room for another. Existing edges count towards the limit."""
    taken: dict[str, int] = defaultdict(int)
    for pair in sorted(weights, key=lambda pair: (-weights[pair], pair)):
        if all(taken[id] < degree for id in pair):
            end, start = sorted((builder[id] for id in pair), key=lambda item: (builder.is_new(item.id), said_at(item), item.id))
            if builder.is_fixed(start):
                end, start = start, end
            if builder.is_fixed(start):
                continue
            taken[end.id] += 1
            taken[start.id] += 1
            _add(builder, start, end, shared[pair])


def _add(builder: PlanBuilder, start: MemoryItem, end: MemoryItem, names: list[str]) -> None:
    edge, back = Link(LinkType.RELATES_TO, end.id), Link(LinkType.RELATES_TO, start.id)
    if edge in start.links or back in end.links:
        return
    group = f"merge:{end.id}" if builder.is_new(end.id) else ""
    builder.add_link(start.id, [edge], LINK, f"shares {', '.join(names)} with {end.id}", group)


# Anchors: mark memories about code with "check" when a file that they refer to has been removed or has changed substantially.
#
# A memory is anchored to the paths of its evidence. The first dream that sees it stores a sketch of each file; later dreams
# compare. No process is started and no network is used. A file of unchanged size and time is not read. A dream reads at most
# MAX_READS files.
#
# A sketch holds the 64 smallest hashes of the lines of a file. Of the 64 smallest hashes of two files, the common share estimates
# the Jaccard similarity of the line sets (bottom-k sketch, Broder 1997). Below FITS, the file has changed substantially. Larger
# files are compared by size only.

ANCHORS = "anchors"
FITS = 0.5
SKETCH_SIZE = 64
MAX_BYTES = 1_000_000
MAX_READS = 2_000
_BY_SIZE = "size "
_STILL_DIFFERENT = "-"
_GONE = FileState(-1, 0, "")

RootsOf = Callable[[MemoryItem], Sequence[Path]]
CiteAgain = Callable[[MemoryItem, Citation, CitationCheck], Citation]


@dataclass(slots=True)
class Inspection:
    """Result of an inspection: file states to store, and memories to mark or unmark, with the reason."""

    prints: dict[str, dict[str, FileState]] = field(default_factory=dict)
    mark: dict[str, str] = field(default_factory=dict)
    unmark: dict[str, str] = field(default_factory=dict)


def sketch_of(data: bytes) -> str:
    """Compute the sketch of a file's content, as text."""
    lines = {line.strip() for line in data.splitlines()} - {b""}
    hashes = sorted(hashlib.blake2b(line, digest_size=6).hexdigest() for line in lines)
    return " ".join(hashes[:SKETCH_SIZE])


def similarity(a: str, b: str) -> float:
    """Estimate the similarity of two files from their sketches, from 0 to 1."""
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
    """Compare the files of all active memories with their stored states. Writes nothing."""
    look = _FileReader(MAX_READS)
    out = Inspection()
    for item in sorted(items, key=lambda item: item.id):
        if item.evidence.paths and item.status is Status.ACTIVE and not item.cites:  # Citations are compared more precisely.
            _inspect(item, known.get(item.id, {}), roots_of(item), look, out)
    return out


def _inspect(item: MemoryItem, known: Mapping[str, FileState], roots: Sequence[Path], look: _FileReader, out: Inspection) -> None:
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
        out.unmark[item.id] = "the file matches again"


def _problem(path: str, before: FileState | None, found: FileState) -> str:
    if before is None:
        return ""
    if found.size < 0:
        return f"{path} is gone"
    return "" if similarity(before.sketch, found.sketch) >= FITS else f"{path} has changed substantially"


class _FileReader:
    """Reads up to a maximum number of files. `at` returns None for a file whose state can't currently be determined."""

    def __init__(self, reads: int) -> None:
        self._reads = reads

    def at(self, path: str, roots: Sequence[Path], known: FileState | None) -> FileState | None:
        places = [Path(path)] if Path(path).is_absolute() else [root / path for root in roots if root.is_dir()]
        for place in places:
            try:
                if place.is_file():
                    return self._read(place, known)
            except OSError:
                return None  # The state is unknown because of a missing permission or a dead mount.
        # A path has no state if it never was a file (such as "and/or") or its project no longer exists.
        return _GONE if known is not None and _project_is_there(path, roots) else None

    def _read(self, place: Path, known: FileState | None) -> FileState | None:
        stat = place.stat()
        if known is not None and (stat.st_size, stat.st_mtime_ns) == (known.size, known.mtime_ns):
            return replace(known, sketch=_STILL_DIFFERENT) if known.marked else known
        if self._reads <= 0:
            return None
        self._reads -= 1
        sketch = f"{_BY_SIZE}{stat.st_size}" if stat.st_size > MAX_BYTES else sketch_of(read_regular(place, MAX_BYTES))
        return FileState(stat.st_size, stat.st_mtime_ns, sketch)


def _project_is_there(path: str, roots: Sequence[Path]) -> bool:
    return Path(path).parent.parent.is_dir() if Path(path).is_absolute() else any(root.is_dir() for root in roots)


def changes(items: Mapping[str, MemoryItem], found: Inspection) -> list[Change]:
    """Convert the marks to changes, ordered by id."""
    out = []
    for id, reason in sorted({**found.mark, **found.unmark}.items()):
        item = items[id]
        tags = (*item.tags, CHECK_TAG) if id in found.mark else tuple(tag for tag in item.tags if tag != CHECK_TAG)
        out.append(Change(ANCHORS, Action.CHECK, item, replace(item, tags=tags), reason))
    return out


# Citations: follow moved code, and propose changes to memories whose cited code has changed or no longer exists

CITATIONS = "citations"
CODE_CHANGED = "the code that it cites has changed; accept if the statement is still true"
CODE_GONE = "the code that it cites no longer exists"
Compared = Callable[[MemoryItem], Sequence[CitationCheck]]


def follow_citations(items: Iterable[MemoryItem], findings_of: Compared, cite_again: CiteAgain, now: datetime) -> list[Change]:
    """Return changes for memories whose cited code has moved, changed or disappeared.

    Citations of moved code get its new location. The other changes need consent (see `needs_answer`): updating the
    citation of changed code, which asserts that the statement is still true, and retiring a memory whose code no
    longer exists.
    """
    out = []
    for item in sorted(items, key=lambda item: item.id):
        found = findings_of(item) if item.cites and item.status is Status.ACTIVE else ()
        if not found:
            continue
        out += _followed(item, list(zip(item.cites, found, strict=True)), cite_again, now)
    return out


def _followed(
    item: MemoryItem, cited: Sequence[tuple[Citation, CitationCheck]], cite_again: CiteAgain, now: datetime
) -> list[Change]:
    state = overall([found for _, found in cited]).state
    if state is CodeState.GONE:
        ended = replace(item, status=Status.SUPERSEDED, expired_at=now, valid_to=now)
        return [Change(CITATIONS, Action.ARCHIVE, item, ended, CODE_GONE)]
    if state is CodeState.CHANGED:
        renewed = tuple(cite_again(item, citation, found) for citation, found in cited if found.state is not CodeState.GONE)
        return [Change(CITATIONS, Action.CITE, item, replace(item, cites=renewed), CODE_CHANGED)]
    moves = {citation: found.path for citation, found in cited if found.state is CodeState.MOVED}
    if not moves:
        return []
    now_at = tuple(replace(citation, path=moves.get(citation, citation.path)) for citation, _ in cited)
    paths = ", ".join(dict.fromkeys(f"{citation.path} is now {path}" for citation, path in moves.items()))
    return [Change(CITATIONS, Action.CITE, item, replace(item, cites=now_at), paths)]


def needs_answer(change: Change) -> bool:
    """Return whether only the user can decide what a change in cited code means for the memory."""
    return change.stage == CITATIONS and change.reason in (CODE_CHANGED, CODE_GONE)
