"""Helpers that create memories and inspect plans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from memoryd.core.text import digest
from memoryd.core.types import Kind, MemoryItem, Source, Status
from memoryd.dream.plan import Plan
from memoryd.dream.planner import make_plan

NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)


def memory(content: str, *, days: float = 10, **fields: object) -> MemoryItem:
    """Create a fact that the agent found `days` ago in project p."""
    made = NOW - timedelta(days=days)
    base = MemoryItem(content, kind=Kind.FACT, source=Source.AGENT_STEP, project="p", session="s1", created_at=made)
    out = replace(base, **fields)  # type: ignore[arg-type]
    return out if out.id else replace(out, id=f"mem_{digest(content, str(days), repr(sorted(fields)))[:12]}")


def plan_of(*items: MemoryItem, **options: object) -> Plan:
    """Return the plan of a dream at `NOW`."""
    return make_plan(items, now=NOW, **options)  # type: ignore[arg-type]


def applied(items: Iterable[MemoryItem], plan: Plan) -> list[MemoryItem]:
    """Return the store after the plan."""
    by_id = {item.id: item for item in items} | {change.id: change.after for change in plan.changes}
    return list(by_id.values())


def active(items: Iterable[MemoryItem]) -> list[str]:
    """Return the contents of active memories, sorted."""
    return sorted(item.content for item in items if item.status is Status.ACTIVE)
