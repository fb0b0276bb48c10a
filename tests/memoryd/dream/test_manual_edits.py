from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memoryd.core.types import Candidate, Kind, Passage, Polarity, Query, Source, Status
from memoryd.daydream.reconcile import KeepAction, Reconciler
from memoryd.service import Orchestrator
from memoryd.testing import HashEmbedder
from tests.memoryd.dream.sweeping import World, archive, decay, fill, item, merge, planned, sweep_of

RULE = "Never deploy the shop on a Friday afternoon."
PARAPHRASE = "The shop must never be deployed on a Friday afternoon."


def candidate(world: World, content: str, source: Source = Source.AGENT_STEP, **fields: object) -> Candidate:
    made = Candidate(content, Kind.RULE, Polarity.DONT, source, at=world[3].now())
    return replace(made, **fields)  # type: ignore[arg-type]


def kept(world: World, proposed: Candidate) -> KeepAction:
    store, _, _, clock = world
    return Reconciler(store, clock).keep(proposed, Passage(turns=(), session="s2", project="shop")).action


def rule(store: Orchestrator) -> str:
    return store.write(item(RULE, kind=Kind.RULE, polarity=Polarity.DONT))


@pytest.mark.parametrize("content", [RULE, PARAPHRASE])
@pytest.mark.parametrize("source", [Source.AGENT_STEP, Source.USER])
def test_what_was_forgotten_stays_out_also_after_dreams_and_a_year(world: World, content: str, source: Source) -> None:
    store, _, _, clock = world
    ids = fill(store)
    id = rule(store)
    store.forget(id)
    sweep_of(*world, planned([decay(store, ids[0]), archive(store, clock, ids[1])])).run("nightly")
    clock.advance(days=365)
    sweep_of(*world, planned()).run("nightly")
    # The user's later words lift a tombstone. Nobody else's words do.
    assert kept(world, candidate(world, content, source)) is (KeepAction.NEW if source is Source.USER else KeepAction.REFUSED)
    assert id not in {hit.item.id for hit in store.search(Query(text=RULE), 20)}


def test_what_the_user_said_before_forgetting_it_stays_out(world: World) -> None:
    store, _, _, clock = world
    said = candidate(world, RULE, Source.USER)
    clock.advance(days=1)
    store.forget(rule(store))
    assert kept(world, said) is KeepAction.REFUSED


def test_forgetting_a_merged_memory_forbids_each_wording_that_went_into_it(world: World) -> None:
    store, _, _, clock = world
    fill(store)
    first, second = rule(store), store.write(item("Release days end on Thursday.", kind=Kind.RULE, polarity=Polarity.DONT))
    changes = merge(store, clock, first, second)
    sweep_of(*world, planned(changes)).run("nightly")
    store.forget(changes[0].id)
    clock.advance(days=1)
    for wording in (RULE, "Release days end on Thursday."):
        assert kept(world, candidate(world, wording)) is KeepAction.REFUSED
    store.restore(changes[0].id)
    assert {store.require(id).status for id in (first, second)} == {Status.SUPERSEDED}
    assert kept(world, candidate(world, RULE)) is KeepAction.KNOWN


@pytest.mark.parametrize("content", [RULE, PARAPHRASE])
def test_a_memory_whose_file_was_deleted_by_hand_does_not_come_back_from_the_same_words(world: World, content: str) -> None:
    store, _, _, clock = world
    fill(store)
    said = candidate(world, content, Source.USER, uuids=("u1",))
    id = rule(store)
    clock.advance(minutes=5)
    path = store.path_of(id)
    assert path is not None
    path.unlink()
    store.sync([path])
    assert kept(world, said) is KeepAction.REFUSED
    clock.advance(hours=1)
    sweep_of(*world, planned()).run("nightly")
    assert kept(world, candidate(world, content, Source.AGENT_STEP)) is KeepAction.REFUSED
    assert kept(world, candidate(world, content, Source.USER)) is KeepAction.NEW


def test_a_file_that_was_put_back_is_no_longer_forbidden(world: World) -> None:
    store, state, _, clock = world
    id = rule(store)
    path = store.path_of(id)
    assert path is not None
    data = path.read_bytes()
    path.unlink()
    store.sync([path])
    assert [found.id for found in state.ledger.deleted("shop")] == [id]
    assert state.ledger.deleted("other") == []
    path.write_bytes(data)
    store.sync([path])
    assert state.ledger.deleted("shop") == []
    assert store.require(id).status is Status.ACTIVE


def test_a_file_that_was_moved_or_deleted_by_us_is_not_deleted_by_hand(world: World) -> None:
    store, state, _, _ = world
    first, second = rule(store), store.write(item("The shop sells shoes."))
    path = store.path_of(first)
    assert path is not None
    path.rename(path.with_name("moved.md"))
    store.sync()
    store.delete(second)
    store.sync()
    assert state.ledger.deleted("shop") == []
    assert state.ledger.edited() == frozenset()


def test_hand_work_while_the_daemon_was_off_is_noticed_at_the_next_start(world: World) -> None:
    store, state, settings, clock = world
    gone, changed, same = (store.write(item(f"Number {number} of the shop.")) for number in range(3))
    paths = {id: store.path_of(id) for id in (gone, changed, same)}
    store.close()
    paths[gone].unlink()
    data = paths[changed].read_bytes()
    paths[changed].write_bytes(data.replace(b"Number 1", b"Number one"))
    again = Orchestrator(settings, clock, HashEmbedder(), state.ledger)
    again.catch_up()
    assert state.ledger.edited() == {changed}
    assert [found.id for found in state.ledger.deleted("shop")] == [gone]
    again.close()


def test_a_rebuilt_index_makes_nothing_look_edited(world: World) -> None:
    store, state, _, _ = world
    fill(store)
    store.reindex()
    store.sync()
    assert state.ledger.edited() == frozenset()


def test_a_deletion_long_ago_does_not_hide_what_the_user_says_now(world: World) -> None:
    store, _, _, clock = world
    id = rule(store)
    path = store.path_of(id)
    assert path is not None
    path.unlink()
    store.sync([path])
    late = candidate(world, RULE, Source.USER, at=clock.now() - timedelta(days=1))
    assert kept(world, late) is KeepAction.REFUSED
    clock.advance(days=1)
    assert kept(world, candidate(world, RULE, Source.USER)) is KeepAction.NEW
    assert kept(world, candidate(world, RULE, Source.USER)) is KeepAction.KNOWN
