"""A candidate waits for a second session, the user or a model. It replaces nothing and expires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memoryd.core import candidates
from memoryd.core.config import load_settings
from memoryd.core.types import Candidate, Kind, MemoryItem, Passage, Polarity, Query, Source, Status
from memoryd.daydream.reconcile import KeepAction, Reconciler
from memoryd.lineage import replaced_ids
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder

FACT = "The reporting job of the warehouse reads its tables from the replica in Dublin."
WAITING = Candidate(FACT, Kind.FACT, source=Source.AGENT_STEP, confidence=0.3, status=Status.CANDIDATE)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def service(tmp_path: Path, clock: FakeClock) -> Iterator[Orchestrator]:
    made = Orchestrator(load_settings({}, home=str(tmp_path), embedder="hash"), clock, HashEmbedder())
    made.catch_up()
    yield made
    made.close()


@pytest.fixture
def reconciler(service: Orchestrator, clock: FakeClock) -> Reconciler:
    return Reconciler(service, clock)


def said_in(session: str) -> Passage:
    return Passage((), session=session, project="shop")


def status_of(service: Orchestrator, id: str) -> Status:
    return service.require(id).status


def test_what_one_session_proposes_is_a_candidate_and_is_not_found_by_an_ordinary_search(
    service: Orchestrator, reconciler: Reconciler
) -> None:
    outcome = reconciler.keep(WAITING, said_in("first"))
    assert outcome.action is KeepAction.NEW and status_of(service, outcome.id) is Status.CANDIDATE
    assert service.search(Query(text=FACT, project="shop")) == []
    assert len(service.search(Query(text=FACT, project="shop", statuses=(Status.CANDIDATE,)))) == 1


def test_the_same_session_saying_it_again_changes_nothing(service: Orchestrator, reconciler: Reconciler) -> None:
    first = reconciler.keep(WAITING, said_in("first"))
    again = reconciler.keep(WAITING, said_in("first"))
    assert again.action is KeepAction.KNOWN and again.id == first.id
    assert status_of(service, first.id) is Status.CANDIDATE


def test_a_second_session_that_says_the_same_makes_it_active(service: Orchestrator, reconciler: Reconciler) -> None:
    first = reconciler.keep(WAITING, said_in("first"))
    second = reconciler.keep(WAITING, said_in("second"))
    assert second.action is KeepAction.CONFIRMS and second.id == first.id
    assert status_of(service, first.id) is Status.ACTIVE


def test_an_order_of_the_moment_does_not_become_a_memory_by_being_given_in_two_sessions(
    service: Orchestrator, reconciler: Reconciler
) -> None:
    order = replace(WAITING, content="Don't run the integration tests now, wait for my review first.", source=Source.USER)
    first = reconciler.keep(order, said_in("first"))
    second = reconciler.keep(order, said_in("second"))
    assert second.action is KeepAction.KNOWN and status_of(service, first.id) is Status.CANDIDATE


def test_said_outright_a_candidate_becomes_active_in_those_words(service: Orchestrator, reconciler: Reconciler) -> None:
    first = reconciler.keep(WAITING, said_in("first"))
    outright = replace(WAITING, source=Source.USER, status=Status.ACTIVE, confidence=0.9)
    second = reconciler.keep(outright, said_in("first"))
    item = service.require(first.id)
    assert second.action is KeepAction.CONFIRMS and (item.status, item.source) == (Status.ACTIVE, Source.USER)


def test_a_candidate_replaces_nothing(service: Orchestrator, reconciler: Reconciler) -> None:
    known = reconciler.keep(
        Candidate("The staging database listens on port 5432.", Kind.ENVIRONMENT, source=Source.USER), said_in("first")
    )
    other = replace(WAITING, content="The staging database listens on port 6000, not on 5432.")
    reconciler.keep(other, said_in("second"))
    assert status_of(service, known.id) is Status.ACTIVE


def test_after_thirty_days_it_is_ignored_and_then_removed(
    service: Orchestrator, reconciler: Reconciler, clock: FakeClock
) -> None:
    waiting = reconciler.keep(WAITING, said_in("first"))
    query = Query(text=FACT, project="shop", statuses=(Status.CANDIDATE,))
    clock.advance(days=29)
    assert service.fade_candidates() == 0 and len(service.search(query)) == 1
    clock.advance(days=2)
    assert service.search(query) == []
    assert service.fade_candidates() == 1 and service.get(waiting.id) is None


def test_a_project_holds_a_bounded_number_and_the_least_promising_go() -> None:
    now = FakeClock().now()
    items = [
        MemoryItem(f"{n}", id=f"m{n}", status=Status.CANDIDATE, confidence=n / 10, created_at=now + timedelta(hours=n))
        for n in range(6)
    ]
    assert [item.id for item in candidates.surplus([*items, replace(items[0], id="active", status=Status.ACTIVE)], most=4)] == [
        "m0",
        "m1",
    ]


def test_what_the_speaker_takes_back_in_the_same_session_is_replaced(service: Orchestrator, reconciler: Reconciler) -> None:
    old = "From now on begin branch names with the author's initials."
    rule = Candidate(old, Kind.RULE, Polarity.DO, Source.USER)
    first = reconciler.keep(rule, said_in("one"))
    newer = replace(rule, content="Begin branch names with the ticket number.", revises=(old,))
    second = reconciler.keep(newer, said_in("one"))
    assert (second.action, second.superseded) == (KeepAction.SUPERSEDES, first.id)
    elsewhere = reconciler.keep(
        replace(rule, content="Name branches after their owner's team.", revises=(newer.content,)), said_in("two")
    )
    assert elsewhere.superseded != second.id


CAUSE = "Checkout is slow because `PriceService` loads each discount on its own; loading them at once fixes it."
NOT_THE_CAUSE = "Loading each discount on its own was not the root cause of the slow checkout."
RETRACTION = Candidate(NOT_THE_CAUSE, Kind.FACT, source=Source.AGENT_STEP, status=Status.CANDIDATE)


def test_a_cause_that_the_assistant_takes_back_in_a_later_session_is_withdrawn_and_its_lineage_says_why(
    service: Orchestrator, reconciler: Reconciler
) -> None:
    cause = reconciler.keep(Candidate(CAUSE, Kind.FIX, source=Source.AGENT_STEP), said_in("one"))
    outcome = reconciler.retract(RETRACTION, said_in("two"))
    assert outcome is not None and outcome.superseded == cause.id
    assert status_of(service, cause.id) is Status.SUPERSEDED and status_of(service, outcome.id) is Status.CANDIDATE
    assert replaced_ids(service.require(outcome.id)) == (cause.id,)
    assert reconciler.retract(RETRACTION, said_in("two")) is None


def test_the_new_cause_replaces_the_one_that_was_taken_back(service: Orchestrator, reconciler: Reconciler) -> None:
    cause = reconciler.keep(Candidate(CAUSE, Kind.FIX, source=Source.AGENT_STEP), said_in("one"))
    found = Candidate(
        "Checkout is slow because the tax table has no index on `region`; adding one fixes it.",
        Kind.FIX,
        source=Source.AGENT_STEP,
    )
    better = reconciler.keep(found, said_in("two"))
    outcome = reconciler.retract(RETRACTION, said_in("two"), [better.id])
    assert status_of(service, cause.id) is Status.SUPERSEDED and status_of(service, better.id) is Status.ACTIVE
    assert outcome is None or outcome.id == better.id
    assert cause.id in replaced_ids(service.require(better.id))


def test_a_retraction_that_names_nothing_but_the_cause_ends_it_in_another_session(
    service: Orchestrator, reconciler: Reconciler
) -> None:
    cause = Candidate("Root cause: the CDN caches the old bundle. Purging it fixed it.", Kind.FIX, source=Source.AGENT_STEP)
    kept = reconciler.keep(cause, said_in("one"))
    assert reconciler.retract(replace(RETRACTION, content="I was mistaken about the CDN."), said_in("two"))
    assert status_of(service, kept.id) is Status.SUPERSEDED


@pytest.mark.parametrize(
    ("known", "pinned"),
    [
        (Candidate(CAUSE, Kind.FIX, source=Source.USER), False),
        (Candidate(CAUSE, Kind.FIX, source=Source.AGENT_STEP), True),
        (Candidate("Images load late because the CDN has no discount plan; a plan fixes it.", Kind.FIX), False),
    ],
    ids=["said by the user", "pinned", "another cause"],
)
def test_a_retraction_ends_neither_what_the_user_holds_nor_another_cause(
    service: Orchestrator, reconciler: Reconciler, known: Candidate, pinned: bool
) -> None:
    kept = reconciler.keep(known, said_in("one"), pinned=pinned)
    assert reconciler.retract(RETRACTION, said_in("two")) is None
    assert status_of(service, kept.id) is Status.ACTIVE
