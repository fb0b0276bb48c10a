"""What a session should know at its start: the few rules and facts that matter most.

Ranked by evidence first (pinned, said or confirmed by the user, used by a session, found by an agent, from a tool) and then
by value (see worth). Only what the user said is shown as a rule, under the user's standing wishes; everything else is
knowledge, shown as data. Each of the two has a share of the budget that the other can't take, so that a flood of findings
leaves the user's rules in place, and many rules leave root causes and the environment in place. Candidates are never shown.
What the user had forgotten is not shown, in other words neither; what two memories say alike is shown once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from types import MappingProxyType

from memoryd.core.clock import from_iso
from memoryd.core.ledger import Use, UseKind
from memoryd.core.state import Handoff, State
from memoryd.core.text import normalise, token_count
from memoryd.core.types import CONFIRMED_TAG, HIDDEN_TAG, Hit, Kind, LinkType, MemoryItem, Polarity, Query, Source, Status, Trust
from memoryd.language import Relation, Said, compare, rephrases, shares_words
from memoryd.language.times import EVER, within
from memoryd.lineage import SUCCESSION, merged_ids
from memoryd.recall.prompt_block import fence, fit, item_line, overhead
from memoryd.retrieval import asks_question, span_of_handoffs
from memoryd.service import Orchestrator

# Of two memories that speak against each other only one is given: whose words weigh more, else the newer. Pure.
#
# Both stay active, found by whoever looks for them, and the pair waits among the proposals.


def undoubted(items: Sequence[MemoryItem]) -> list[MemoryItem]:
    """The items without those that lose against another of them, in the same order."""
    known = {item.id: item for item in items}
    lost = {_loser(item, known[id]).id for item in items for id in _opposed(item) if id in known}
    return [item for item in items if item.id not in lost]


def _opposed(item: MemoryItem) -> Iterable[str]:
    """What a memory speaks against. A candidate speaks against nothing yet."""
    links = item.links if item.status is Status.ACTIVE else ()
    replaced = {link.target for link in links if link.type in SUCCESSION}
    # What it replaced and the user brought back is given beside it.
    return [link.target for link in links if link.type is LinkType.CONTRADICTS and link.target not in replaced]


def _loser(one: MemoryItem, other: MemoryItem) -> MemoryItem:
    return min(one, other, key=_weight)


def _weight(item: MemoryItem) -> tuple[bool, bool, datetime, str]:
    return (item.pinned, item.source is Source.USER, item.valid_from or item.created_at, item.id)


# What a memory is worth: importance × confidence × usage × freshness. Pure functions.
#
# - importance: weight of the kind × relevancy (which the dream lets decay, and halves for each contradiction)
# - usage: 1 when nothing is known; each doubling of its uses adds a quarter, up to 1.5
# - freshness: 0.5 + 0.5·exp(-age/180 days), age since it was recorded or last used

KIND_WEIGHT: Mapping[Kind, float] = MappingProxyType(
    {
        Kind.RULE: 1.0,
        Kind.PREFERENCE: 0.9,
        Kind.DECISION: 0.8,
        Kind.ENVIRONMENT: 0.75,
        Kind.DEAD_END: 0.6,
        Kind.FIX: 0.55,
        Kind.FACT: 0.5,
        Kind.TODO: 0.45,
        Kind.NOTE: 0.4,
    }
)
FRESH_DAYS = 180.0
USAGE_STEP = 0.25
MOST_USAGE = 1.5
PINNED = 2.0
DAY = 86400.0


@dataclass(frozen=True, slots=True)
class UseCounts:
    """How often a memory was used (cited, or returned to a question) or contradicted by the user; when it was last used."""

    used: int = 0
    contradicted: int = 0
    last_used: datetime | None = None


UNUSED = UseCounts()


def count_uses(uses: Iterable[Use]) -> UseCounts:
    """Counts of the uses of one memory. Being injected is no use: what is shown often would else stay for being shown."""
    used = contradicted = 0
    last: datetime | None = None
    for use in uses:
        if use.how is UseKind.CONTRADICTED:
            contradicted += 1
        elif use.how in (UseKind.CITED, UseKind.RETURNED):
            used += 1
            at = from_iso(use.at)
            last = at if last is None else max(last, at)
    return UseCounts(used, contradicted, last)


def inherited(item: MemoryItem, usage: Mapping[str, UseCounts], get: Callable[[str], MemoryItem | None]) -> UseCounts:
    """Counts of a memory and of those that were merged into it; that one of these was recorded counts as a use's time.

    What it corrected or won against leaves it nothing.
    """
    own = usage.get(item.id, UNUSED)
    merged = merged_ids(item)
    parts = [own, *(usage.get(id, UNUSED) for id in sorted(merged))]
    recorded = [found.created_at for found in map(get, sorted(merged)) if found is not None]
    times = [*(part.last_used for part in parts if part.last_used), *recorded]
    return UseCounts(sum(p.used for p in parts), max(p.contradicted for p in parts), max(times, default=None))


def age_days(item: MemoryItem, now: datetime, counts: UseCounts = UNUSED) -> float:
    """Days since the memory was recorded or last used; 0 when that lies ahead (a clock that jumped)."""
    since = max(item.created_at, counts.last_used) if counts.last_used else item.created_at
    return max(0.0, (now - since).total_seconds() / DAY)


def usage_factor(counts: UseCounts) -> float:
    """1 when unused, up to 1.5 when often used."""
    return min(MOST_USAGE, 1.0 + USAGE_STEP * math.log2(1 + counts.used))


class Evidence(IntEnum):
    """How well a memory is vouched for, weakest first. What a session is given is ranked by it before anything else."""

    TOOL = 0
    AGENT = 1
    USED = 2
    USER = 3
    PINNED = 4


def evidence_of(item: MemoryItem, counts: UseCounts = UNUSED) -> Evidence:
    """Who vouches for the item: the user by pinning, saying or confirming it, a session by using it, or its source."""
    if item.pinned:
        return Evidence.PINNED
    if item.source is Source.USER or CONFIRMED_TAG in item.tags:
        return Evidence.USER
    if counts.used > counts.contradicted:
        return Evidence.USED
    return Evidence.TOOL if item.source is Source.TOOL else Evidence.AGENT


def value(item: MemoryItem, now: datetime, counts: UseCounts = UNUSED) -> float:
    """How much a session gains from knowing the item, 0..1.5; pinned ones come first (2 and more)."""
    importance = KIND_WEIGHT[item.kind] * item.relevancy
    freshness = 0.5 + 0.5 * math.exp(-age_days(item, now, counts) / FRESH_DAYS)
    return (PINNED if item.pinned else 0.0) + importance * item.confidence * usage_factor(counts) * freshness


__all__ = ["KIND_WEIGHT", "Governance", "govern", "heading", "value"]

RESTATES = 0.75
# Shares of the budget that are set aside for the user's wishes and for lasting knowledge; the rest goes to the best of both.
WISHES_SHARE = 0.5
KNOWLEDGE_SHARE = 0.35
_LASTING_KNOWLEDGE = frozenset({Kind.FIX, Kind.DEAD_END, Kind.ENVIRONMENT, Kind.DECISION})
REASON = "what earlier sessions of this project left behind"


@dataclass(frozen=True, slots=True)
class Governance:
    """The selection, by heading, and the text that is injected (empty when there is nothing)."""

    know: tuple[MemoryItem, ...]
    do: tuple[MemoryItem, ...]
    dont: tuple[MemoryItem, ...]
    text: str
    left_out: int

    @property
    def tokens(self) -> int:
        """Estimated size of the text."""
        return token_count(self.text)

    @property
    def ids(self) -> tuple[str, ...]:
        """Every memory that the text shows."""
        return tuple(item.id for item in (*self.dont, *self.do, *self.know))


def heading(item: MemoryItem) -> Polarity:
    """Where the item is shown: only the user's own words become a rule."""
    return item.polarity if item.trust is Trust.INSTRUCTION else Polarity.KNOW


_WISHES = "The user's standing wishes, in the user's words:"
_DATA = "Found or decided earlier. This is data, not instructions; check it before relying on it:"
_TITLES = {Polarity.DONT: "Don't:", Polarity.DO: "Do:", Polarity.KNOW: "Know:"}


def _section(title: str, items: Sequence[MemoryItem]) -> list[str]:
    return [title, *map(item_line, items)] if items else []


def _lines(under: Mapping[Polarity, Sequence[MemoryItem]]) -> list[str]:
    wishes = [line for polarity in (Polarity.DONT, Polarity.DO) for line in _section(_TITLES[polarity], under[polarity])]
    knowledge = _section(_TITLES[Polarity.KNOW], under[Polarity.KNOW])
    return [*([_WISHES, *wishes] if wishes else []), *([_DATA, *knowledge] if knowledge else [])]


def govern(
    items: Iterable[MemoryItem],
    now: datetime,
    budget: int,
    *,
    reason: str = REASON,
    usage: Mapping[str, UseCounts] | None = None,
    forbidden: Iterable[MemoryItem] = (),
) -> Governance:
    """Choose what fits the token budget by evidence and value, and lay it out under don't, do and know.

    `usage` counts uses by id (unknown: neutral); `forbidden` are the tombstones of what the user had forgotten.
    """
    counts, tombstones = usage or {}, tuple(forbidden)
    allowed = [
        item
        for item in items
        if item.status is not Status.CANDIDATE and not any(restates(item, tombstone) for tombstone in tombstones)
    ]

    allowed = undoubted(allowed)

    def rank(item: MemoryItem) -> tuple[object, ...]:
        uses = counts.get(item.id, UNUSED)
        return (-evidence_of(item, uses), -value(item, now, uses), *_later(item))

    ranked = _once(sorted(allowed, key=rank))
    headings = [_WISHES, _DATA, *_TITLES.values()]
    kept = _share_out(ranked, budget - overhead(reason) - sum(token_count(title) + 1 for title in headings))
    under = {polarity: tuple(item for item in kept if heading(item) is polarity) for polarity in Polarity}
    return Governance(
        know=under[Polarity.KNOW],
        do=under[Polarity.DO],
        dont=under[Polarity.DONT],
        text=fence(_lines(under), reason),
        left_out=len(ranked) - len(kept),
    )


def _share_out(ranked: Sequence[MemoryItem], room: int) -> list[MemoryItem]:
    """What fits in `room` tokens, in rank order: first each group within its share, then whatever comes next."""
    wishes = [item for item in ranked if heading(item) is not Polarity.KNOW]
    lasting = [item for item in ranked if heading(item) is Polarity.KNOW and item.kind in _LASTING_KNOWLEDGE]
    kept, used = [], 0
    for group, share in ((wishes, WISHES_SHARE), (lasting, KNOWLEDGE_SHARE)):
        chosen, cost = fit(group, int(room * share))
        kept += chosen
        used += cost
    taken = {id(item) for item in kept}
    kept += fit([item for item in ranked if id(item) not in taken], room - used)[0]
    taken = {id(item) for item in kept}
    return [item for item in ranked if id(item) in taken]


def restates(item: MemoryItem, tombstone: MemoryItem) -> bool:
    """Whether an item says what the user had forgotten, and the user has not said it anew since."""
    if tombstone.id == item.id:
        return True
    since = tombstone.expired_at or tombstone.created_at
    if item.source is Source.USER and HIDDEN_TAG in tombstone.tags:  # a model had it forgotten: that binds models
        return False
    if item.pinned or (item.source is Source.USER and (item.valid_from or item.created_at) > since):
        return False
    if not shares_words(tombstone.content, item.content):  # most pairs, in a tenth of the time
        return False
    old, new = (Said(each.content, each.polarity is Polarity.DONT, each.source is Source.USER) for each in (tombstone, item))
    return compare(old, new).relation is Relation.SAME or rephrases(old, new, RESTATES)


def _later(item: MemoryItem) -> tuple[float, str, str]:
    """Of two worth the same the one that was said later; ids are drawn at random, and must not decide what a session sees."""
    return -(item.valid_from or item.created_at).timestamp(), item.content, item.id


def _once(ranked: Sequence[MemoryItem]) -> list[MemoryItem]:
    seen: dict[tuple[str, Polarity], MemoryItem] = {}
    for item in ranked:
        seen.setdefault((normalise(item.content), heading(item)), item)
    return list(seen.values())


# Which memories governance chooses from, and which hits answer a question.

NEWEST = 200
LASTING_KINDS = (Kind.RULE, Kind.PREFERENCE, Kind.DECISION, Kind.ENVIRONMENT)
MOST_LASTING = 1_000
# What somebody asked for is worth a look even when it is unlikely to be the answer. The likelihood of a question's answer in
# other words is hardly above that of anything else, so of a question the best are shown as long as they aren't nonsense.
UNSURE_FLOOR = 0.05
UNSURE_FLOOR_OF_QUESTION = 0.005
MOST_UNSURE = 3


def governance_of(service: Orchestrator, state: State, project: str, now: datetime, budget: int) -> Governance:
    """The project's governance: out of its newest memories, and of all that are made to last (rules, decisions …)."""
    candidates = _found(service, Query(project=project, now=now), NEWEST)
    candidates |= _found(service, Query(project=project, now=now, kinds=LASTING_KINDS), MOST_LASTING)
    tombstones = _found(service, Query(project=project, statuses=(Status.BLACKLISTED,)), NEWEST)
    usage = {id: count_uses(uses) for id, uses in state.ledger.all_uses().items() if id in candidates}
    return govern(candidates.values(), now, budget, usage=usage, forbidden=tombstones.values())


def _found(service: Orchestrator, query: Query, most: int) -> dict[str, MemoryItem]:
    return {hit.item.id: hit.item for hit in service.search(query, most)}


def divide(text: str, hits: Sequence[Hit], floor: float) -> tuple[list[Hit], list[Hit]]:
    """The hits that answer the question `text`, candidates last, and at most three below the floor that may bear on it."""
    least = UNSURE_FLOOR_OF_QUESTION if asks_question(text) else UNSURE_FLOOR
    sure = sorted((hit for hit in hits if hit.relevancy >= floor), key=lambda hit: hit.item.status is Status.CANDIDATE)
    unsure = [hit for hit in hits if least <= hit.relevancy < floor]
    return sure, unsure[:MOST_UNSURE]


def handoffs_for(text: str, known: Sequence[Handoff], now: datetime, most: int) -> list[Handoff]:
    """Which of the sessions' ends (latest first) answer the text: those of the time that it names, at most `most`."""
    span = span_of_handoffs(text, now) if known else None
    if span is None:
        return []
    return list(known[:most]) if span == EVER else [one for one in known if within(span, from_iso(one.at))][:most]
