"""Which memories governance chooses from, and which hits answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memoryd.clock import from_iso
from memoryd.recall.governance import Governance, govern
from memoryd.recall.worth import count_uses
from memoryd.router import EVER, asks_question, span_of_handoffs, within
from memoryd.service import Orchestrator
from memoryd.state import Handoff, State
from memoryd.types import Hit, Kind, MemoryItem, Query, Status

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
