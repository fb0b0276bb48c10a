"""Which memories governance chooses from, with what is known of their use."""

from __future__ import annotations

from datetime import datetime

from memoryd.recall.governance import Governance, govern
from memoryd.recall.worth import count_uses
from memoryd.service import Orchestrator
from memoryd.state import State
from memoryd.types import Kind, MemoryItem, Query, Status

NEWEST = 200
LASTING_KINDS = (Kind.RULE, Kind.PREFERENCE, Kind.DECISION, Kind.ENVIRONMENT)
MOST_LASTING = 1_000


def governance_of(service: Orchestrator, state: State, project: str, now: datetime, budget: int) -> Governance:
    """The project's governance: out of its newest memories, and of all that are made to last (rules, decisions …)."""
    candidates = _found(service, Query(project=project, now=now), NEWEST)
    candidates |= _found(service, Query(project=project, now=now, kinds=LASTING_KINDS), MOST_LASTING)
    tombstones = _found(service, Query(project=project, statuses=(Status.BLACKLISTED,)), NEWEST)
    usage = {id: count_uses(uses) for id, uses in state.ledger.all_uses().items() if id in candidates}
    return govern(candidates.values(), now, budget, usage=usage, forbidden=tombstones.values())


def _found(service: Orchestrator, query: Query, most: int) -> dict[str, MemoryItem]:
    return {hit.item.id: hit.item for hit in service.search(query, most)}
