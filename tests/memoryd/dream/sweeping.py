"""Stores and hand-made plans for the tests of the sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from memoryd.core.config import Settings
from memoryd.core.state import State
from memoryd.core.types import Link, LinkType, MemoryItem, Source, Status
from memoryd.dream.plan import Action, Change, Plan, UndecidedConflict, merged_id
from memoryd.dream.sweep import Sweep
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock

World = tuple[Orchestrator, State, Settings, FakeClock]
CODE = "".join(f"def function_{number}():\n    return {number}\n" for number in range(60))
Planner = Callable[[Sequence[MemoryItem], frozenset[str]], Plan]


def item(content: str, **fields: object) -> MemoryItem:
    """Create a memory that the user said in a session."""
    return replace(MemoryItem(content=content, project="shop", session="s1"), **fields)  # type: ignore[arg-type]


def fill(service: Orchestrator, count: int = 12) -> list[str]:
    """Write unrelated memories and return their ids."""
    return service.write_many([item(f"Fact number {number} about module {number}.") for number in range(count)])


def merge(service: Orchestrator, clock: FakeClock, *ids: str) -> list[Change]:
    """Return the changes that merge these memories."""
    sources = [service.require(id) for id in ids]
    new = replace(
        sources[0],
        id=merged_id(*ids),
        source=Source.RECONCILED,
        links=tuple(Link(LinkType.MERGED, id) for id in sorted(ids)),
    )
    group = f"merge {new.id}"
    made = [Change("duplicates", Action.CREATE, None, new, "says the same", group)]
    for source in sources:
        ended = replace(source, status=Status.SUPERSEDED, expired_at=clock.now())
        made.append(Change("duplicates", Action.SUPERSEDE, source, ended, f"merged into {new.id}", group))
    return made


def archive(service: Orchestrator, clock: FakeClock, id: str) -> Change:
    """Return the change that archives a memory."""
    old = service.require(id)
    return Change("prune", Action.ARCHIVE, old, replace(old, status=Status.SUPERSEDED, expired_at=clock.now()), "low value")


def decay(service: Orchestrator, id: str, relevancy: float = 0.5) -> Change:
    """Return the change that lowers a memory's relevancy."""
    old = service.require(id)
    return Change("decay", Action.DECAY, old, replace(old, relevancy=relevancy), "not used")


def link(service: Orchestrator, id: str, other: str) -> Change:
    """Return the change that links two memories."""
    old = service.require(id)
    return Change("link", Action.LINK, old, replace(old, links=(*old.links, Link(LinkType.RELATES_TO, other))), "share Makefile")


def planned(changes: Iterable[Change] = (), undecided: Iterable[UndecidedConflict] = ()) -> Planner:
    """Return a planner with these fixed results, excluding what is already done."""
    wanted = list(changes)

    def plan(items: Sequence[MemoryItem], protected: frozenset[str]) -> Plan:
        known = {item.id: item for item in items}
        left = [change for change in wanted if known.get(change.id) == change.before]
        return Plan(tuple(left), tuple(undecided))

    return plan


def sweep_of(service: Orchestrator, state: State, settings: Settings, clock: FakeClock, planning: Planner) -> Sweep:
    """Create a sweep over a store."""
    return Sweep(service, state, settings, clock, planning)


def tree(folder: Path) -> dict[str, bytes]:
    """Return all memory files by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.md"))}
