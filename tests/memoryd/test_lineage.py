"""Replacements, and sessions that count for a memory, by one definition."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memoryd.core.config import load_settings
from memoryd.core.state import State
from memoryd.core.types import Candidate, Kind, Link, LinkType, MemoryItem, Passage, Source, Status
from memoryd.daydream.reconcile import Reconciler
from memoryd.dream.plan import PlanBuilder
from memoryd.lineage import corrected_ids, merged_ids, with_merges
from memoryd.recall.governance import UseCounts, inherited
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder

START = datetime(2026, 4, 2, 9, tzinfo=UTC)


def opened(home: Path, clock: FakeClock) -> tuple[Orchestrator, State]:
    settings = load_settings({}, home=str(home), embedder="hash")
    state = State(settings.paths.state_db, clock)
    return Orchestrator(settings, clock, HashEmbedder(64), state.ledger), state


def test_a_session_that_said_the_old_port_does_not_count_for_the_new_one(tmp_path: Path) -> None:
    clock = FakeClock(START)
    store, state = opened(tmp_path, clock)
    store.catch_up()
    reconciler = Reconciler(store, clock)
    for session, text in (("s1", "The relay listens on port 8080."), ("s2", "The relay listens on port 9090 now, not 8080.")):
        said = Candidate(text, Kind.ENVIRONMENT, source=Source.USER, at=clock.now())
        reconciler.keep(said, Passage((), session=session, project="shop"))
        clock.advance(hours=1)
    [new] = [item for item in store.all() if item.status is Status.ACTIVE]
    [old] = [item for item in store.all() if item.status is Status.SUPERSEDED]
    assert "9090" in new.content and corrected_ids(new) == (old.id,) and merged_ids(new) == ()
    builder = PlanBuilder(list(store.all()), clock.now(), frozenset())
    assert [item.session for item in builder.merged_into(new)] == []
    assert inherited(new, {old.id: UseCounts(5, 0, START)}, store.get).used == 0
    store.close()
    state.close()


def older_version(store: Orchestrator) -> tuple[MemoryItem, MemoryItem]:
    """Create a merge and a correction in the format of versions without MERGED."""
    gone = {"status": Status.SUPERSEDED, "expired_at": START + timedelta(days=9)}
    copies = [
        store.write(MemoryItem(text, project="shop", session=f"c{n}", created_at=START + timedelta(days=n), **gone))  # type: ignore[arg-type]
        for n, text in enumerate(("Lint before pushing.", "Before pushing, lint."))
    ]
    links = tuple(Link(LinkType.SUPERSEDES, id) for id in copies)
    merged = store.write(MemoryItem("Lint before pushing!", project="shop", session="c0", created_at=START, links=links))
    wrong = store.write(MemoryItem("The relay is at 8080.", project="shop", session="s1", created_at=START, **gone))  # type: ignore[arg-type]
    newer = MemoryItem("The relay is at 9090.", project="shop", session="s2", created_at=START + timedelta(days=2))
    right = store.write(replace(newer, supersedes=wrong, links=(Link(LinkType.SUPERSEDES, wrong),)))
    return store.require(merged), store.require(right)


def test_merges_of_older_versions_are_converted_once_at_the_start_and_corrections_are_left(tmp_path: Path) -> None:
    clock = FakeClock(START + timedelta(days=20))
    store, state = opened(tmp_path, clock)
    merged, right = older_version(store)
    store.catch_up()
    now = store.require(merged.id)
    assert merged_ids(now) == tuple(link.target for link in merged.links)
    assert [link.type for link in store.require(right.id).links] == [LinkType.SUPERSEDES]
    assert with_merges(now, store.get) is now
    path = store.path_of(merged.id)
    assert path is not None and "type: MERGED" in path.read_text("utf-8")
    before = path.stat().st_mtime_ns
    store.close()
    state.close()
    store, state = opened(tmp_path, clock)
    store.catch_up()
    assert path.stat().st_mtime_ns == before
    assert state.ledger.edited() == frozenset()
    store.close()
    state.close()


def test_forgetting_a_converted_merge_forgets_its_sources(tmp_path: Path) -> None:
    store, state = opened(tmp_path, FakeClock(START + timedelta(days=20)))
    merged, _ = older_version(store)
    store.catch_up()
    store.forget(merged.id)
    assert {store.require(link.target).status for link in merged.links} == {Status.BLACKLISTED}
    store.close()
    state.close()
