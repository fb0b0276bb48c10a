from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.errors import ModelError, NotFoundError
from memoryd.core.files import try_lock
from memoryd.core.types import Kind as MemoryKind
from memoryd.core.types import MemoryItem, Polarity, Query, Source, Status
from memoryd.dream.journal import EntryKind, EntryStep
from memoryd.dream.plan import Plan, UndecidedConflict
from memoryd.dream.sweep import DreamRunning, Sweep, dream
from memoryd.service import Orchestrator
from tests.memoryd.dream.sweeping import World, archive, decay, fill, item, link, merge, planned, sweep_of, tree


def active(store: Orchestrator) -> set[str]:
    return {found.id for found in store.all() if found.status is Status.ACTIVE}


def test_a_dream_applies_its_plan_and_an_undo_gives_the_same_bytes_back(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store)
    before = tree(store.folder)
    changes = [*merge(store, clock, *ids[:2]), decay(store, ids[3]), link(store, ids[4], ids[5])]
    sweep = sweep_of(*world, planned(changes))

    report = sweep.run("by hand")
    assert {change.id for change in report.applied} == {change.id for change in changes}
    assert store.require(ids[0]).status is Status.SUPERSEDED
    assert store.require(ids[3]).relevancy == 0.5
    after = tree(store.folder)

    undone = sweep.undo()
    assert undone.refused == []
    assert tree(store.folder) == before
    assert active(store) == set(ids)
    assert store.get(changes[0].id) is None

    again = sweep.undo(undone.entry)
    assert again.refused == []
    assert tree(store.folder) == after
    assert store.require(ids[0]).status is Status.SUPERSEDED


def test_an_undo_is_seen_by_every_index(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store)
    sweep = sweep_of(*world, planned(merge(store, clock, *ids[:2])))
    sweep.run("by hand")
    sweep.undo()
    store.settle()
    found = {hit.item.id for hit in store.search(Query(text="Fact number 0 about module 0."), 20)}
    assert ids[0] in found
    assert found <= set(ids)


def test_a_second_dream_changes_nothing_and_makes_no_entry(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store)
    sweep = sweep_of(*world, planned(merge(store, clock, *ids[:2])))
    sweep.run("by hand")
    after = tree(store.folder)
    assert sweep.run("by hand").entry == ""
    assert tree(store.folder) == after
    assert len(sweep.journal.names()) == 1


def test_a_dry_run_writes_nothing(world: World) -> None:
    store, state, settings, clock = world
    ids = fill(store)
    before = tree(settings.home)
    sweep = sweep_of(*world, planned(merge(store, clock, *ids[:2])))
    assert len(sweep.draft().changes) == 3
    assert tree(settings.home) == before
    assert sweep.journal.names() == []
    assert state.ledger.anchors() == {}


def test_a_single_change_is_undone_with_what_depends_on_it(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store)
    sweep = sweep_of(*world, planned([*merge(store, clock, *ids[:2]), decay(store, ids[3])]))
    sweep.run("by hand")
    undone = sweep.undo(ids[0])
    assert sorted(undone.ids) == sorted([ids[0], ids[1], sweep.journal.records(undone.of)[0].id])
    assert active(store) == set(ids)
    assert store.require(ids[3]).relevancy == 0.5
    sweep.undo()
    assert store.require(ids[3]).relevancy == 1.0


def test_what_was_undone_is_not_done_again_the_next_night(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store)
    sweep = sweep_of(*world, planned(merge(store, clock, *ids[:2])))
    sweep.run("nightly")
    sweep.undo()
    report = sweep.run("nightly")
    assert report.entry == ""
    assert report.draft.refused == 1
    wider = sweep_of(*world, planned(merge(store, clock, *ids[:3])))
    assert wider.run("nightly").draft.refused == 1
    undo = sweep.journal.heads()[0]
    assert undo.kind is EntryKind.UNDO
    sweep.undo(undo.name)
    assert ids[0] not in active(store)


def test_undo_leaves_an_edited_file_alone_and_names_it(world: World) -> None:
    store, state, _, clock = world
    ids = fill(store)
    sweep = sweep_of(*world, planned([*merge(store, clock, *ids[:2]), decay(store, ids[3])]))
    sweep.run("by hand")
    path = store.path_of(ids[0])
    assert path is not None
    path.write_bytes(path.read_bytes() + b"Edited.\n")
    edited = path.read_bytes()
    undone = sweep.undo()
    assert path.read_bytes() == edited
    assert {refusal.id: refusal.reason for refusal in undone.refused}[ids[0]] == "it has been edited since"
    assert str(path) in {refusal.path for refusal in undone.refused}
    assert store.require(ids[1]).status is Status.SUPERSEDED
    assert undone.ids == [ids[3]]


def test_undo_of_a_file_that_was_deleted_since_refuses_it(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store)
    sweep = sweep_of(*world, planned([decay(store, ids[3])]))
    sweep.run("by hand")
    path = store.path_of(ids[3])
    assert path is not None
    path.unlink()
    undone = sweep.undo()
    assert [refusal.reason for refusal in undone.refused] == ["it has been deleted since"]
    assert not path.exists()


def test_there_is_nothing_to_undo_at_first(world: World) -> None:
    sweep = sweep_of(*world, planned())
    with pytest.raises(NotFoundError):
        sweep.undo()
    with pytest.raises(NotFoundError):
        sweep.undo("dream-0009")
    with pytest.raises(NotFoundError):
        sweep.undo("../state")


def test_a_memory_that_changed_since_the_plan_is_left_out_with_its_group(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store)
    changes = [*merge(store, clock, *ids[:2]), decay(store, ids[3])]

    def plan(items: object, protected: object) -> Plan:
        store.update(ids[1], confidence=0.9)
        return Plan(tuple(changes))

    report = sweep_of(*world, plan).run("by hand")
    assert {change.id for change in report.stale} == {change.id for change in changes[:3]}
    assert [change.id for change in report.applied] == [ids[3]]
    assert active(store) == set(ids)


def test_an_edit_that_nobody_has_indexed_yet_is_kept(world: World) -> None:
    store, state, _, clock = world
    ids = fill(store)
    sweep = sweep_of(*world, planned([archive(store, clock, ids[0])]))
    path = store.path_of(ids[0])
    assert path is not None
    path.write_bytes(path.read_bytes() + b"Edited.\n")
    report = sweep.run("by hand")
    assert [change.id for change in report.stale] == [ids[0]]
    assert store.require(ids[0]).content.endswith("Edited.")
    assert ids[0] in state.ledger.edited()


# Consent


@pytest.mark.parametrize("how", ["pinned", "manual", "edited", "foreign"])
def test_what_is_the_users_waits_for_consent(world: World, how: str) -> None:
    store, state, _, clock = world
    fill(store)
    if how == "foreign":
        path = store.folder / "user" / "notes" / "idea.md"
        path.parent.mkdir(parents=True)
        path.write_text("---\ntitle: An idea\n---\nKeep the shop small.\n")
        store.sync([path])
        mine = next(found.id for found in store.all() if found.content.startswith("Keep the shop"))
    else:
        mine = store.write(item("Mine.", pinned=how == "pinned", session="manual" if how == "manual" else "s9"))
    if how == "edited":
        edited = store.path_of(mine)
        assert edited is not None
        edited.write_bytes(edited.read_bytes().replace(b"Mine.", b"Mine, reworded."))
        store.sync([edited])
    before = tree(store.folder)
    sweep = sweep_of(*world, planned([archive(store, clock, mine)]))
    report = sweep.run("nightly")
    assert report.entry == ""
    assert tree(store.folder) == before
    waiting = sweep.proposals.waiting()
    assert [change.id for proposal in waiting for change in proposal.changes] == [mine]

    sweep.accept([waiting[0].id])
    assert store.require(mine).status is Status.SUPERSEDED
    assert sweep.proposals.waiting() == []
    sweep.undo()
    assert tree(store.folder) == before


def test_our_own_writes_and_undos_do_not_count_as_edits(world: World) -> None:
    store, state, _, clock = world
    ids = fill(store)
    sweep = sweep_of(*world, planned([*merge(store, clock, *ids[:2]), decay(store, ids[3])]))
    sweep.run("by hand")
    sweep.undo()
    store.sync()
    store.update(ids[5], confidence=0.3)
    store.sync()
    assert state.ledger.edited() == frozenset()


# The shrink guard


def test_a_dream_that_would_drop_too_much_asks_first_and_does_the_rest(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store, 20)
    changes = [*(archive(store, clock, id) for id in ids[:5]), decay(store, ids[10])]
    sweep = sweep_of(*world, planned(changes))
    report = sweep.run("nightly")
    assert [change.id for change in report.applied] == [ids[10]]
    assert active(store) == set(ids)
    first = sweep.proposals.waiting()
    assert len(first) == 5
    clock.advance(days=1)
    sweep.run("nightly")
    assert sweep.proposals.waiting() == first

    sweep.accept([first[0].id])
    assert len(active(store)) == 19
    sweep.refuse([first[1].id])
    assert len(sweep.proposals.waiting()) == 3
    sweep.refuse([])
    assert sweep.proposals.waiting() == []
    assert sweep.run("nightly").entry == ""
    assert sweep.proposals.waiting() == []
    assert len(active(store)) == 19


def test_the_bound_is_a_number_too(world: World) -> None:
    store, state, settings, clock = world
    ids = fill(store, 60)
    strict = replace(settings, dream_max_items=4)
    five = [archive(store, clock, id) for id in ids[:5]]
    assert sweep_of(store, state, strict, clock, planned(five)).run("nightly").entry == ""
    assert sweep_of(store, state, settings, clock, planned(five)).run("nightly").entry != ""


def test_a_small_store_may_lose_a_pair_of_duplicates(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store, 4)
    assert sweep_of(*world, planned(merge(store, clock, *ids[:2]))).run("nightly").entry


def test_accepting_what_changed_since_leaves_it(world: World) -> None:
    store, _, _, clock = world
    ids = fill(store, 20)
    sweep = sweep_of(*world, planned([archive(store, clock, id) for id in ids[:5]]))
    sweep.run("nightly")
    store.update(ids[0], confidence=0.1)
    report = sweep.accept([])
    assert [change.id for change in report.stale] == [ids[0]]
    assert store.require(ids[0]).status is Status.ACTIVE
    assert len(sweep.proposals.waiting()) == 1


def test_an_unknown_proposal_is_named(world: World) -> None:
    sweep = sweep_of(*world, planned())
    for decide in (sweep.accept, sweep.refuse):
        with pytest.raises(NotFoundError, match="prop_0123456789"):
            decide(["prop_0123456789"])


def test_contradictions_that_only_the_user_can_settle_are_listed(world: World) -> None:
    store = world[0]
    ids = fill(store)
    sweep = sweep_of(*world, planned(undecided=[UndecidedConflict(ids[0], ids[1], "two ports")]))
    sweep.run("nightly")
    assert sweep.proposals.page().undecided == (UndecidedConflict(ids[0], ids[1], "two ports"),)


# Failing, and one at a time


def test_a_plan_that_fails_changes_nothing_and_is_reported(world: World) -> None:
    store, state, _, _ = world
    fill(store)
    before = tree(store.folder)

    def failing(items: object, protected: object) -> Plan:
        raise ModelError("The model's answer was empty.")

    sweep = sweep_of(*world, failing)
    with pytest.raises(ModelError):
        sweep.run("nightly")
    assert tree(store.folder) == before
    assert "empty" in state.note("dream last error")
    sweep_of(*world, planned()).run("nightly")
    assert state.note("dream last error") == ""


def test_a_write_that_fails_in_the_middle_is_rolled_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _, _, clock = world
    ids = fill(store)
    before = tree(store.folder)
    from memoryd.core.errors import StoreError
    from memoryd.stores import markdown

    real, calls = markdown.write_atomic, []  # type: ignore[attr-defined]

    def full(target: Path, data: bytes, **options: Any) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise StoreError("Can't write: no space left.")
        real(target, data, **options)

    monkeypatch.setattr(markdown, "write_atomic", full)
    sweep = sweep_of(*world, planned([decay(store, id) for id in ids[:4]]))
    with pytest.raises(StoreError):
        sweep.run("nightly")
    assert tree(store.folder) == before
    assert sweep.journal.heads()[0].step is EntryStep.ROLLED_BACK
    assert all(store.require(id).relevancy == 1.0 for id in ids)


def test_only_one_dream_at_a_time(world: World) -> None:
    store, _, settings, _ = world
    fill(store)
    sweep = sweep_of(*world, planned())
    lock = try_lock(settings.paths.dream_lock)
    assert lock is not None
    with lock:
        for work in (lambda: sweep.run("nightly"), sweep.undo, lambda: sweep.accept([])):
            with pytest.raises(DreamRunning):
                work()
        assert sweep.recover() == []
    sweep.run("nightly")


def test_the_journal_keeps_the_newest_entries(world: World) -> None:
    store, state, settings, clock = world
    ids = fill(store)
    few = replace(settings, dream_journal=2)
    for number in range(4):
        sweep_of(store, state, few, clock, planned([decay(store, ids[0], 0.9 - number / 10)])).run("nightly")
    names = Sweep(store, state, few, clock, planned()).journal.names()
    assert names == ["dream-0003", "dream-0004"]


# When


def test_a_clock_that_was_ahead_holds_back_no_later_dream(world: World) -> None:
    store, state, _, clock = world
    sweep = sweep_of(*world, planned())
    clock.advance(days=1500)
    state.touch_session("s1", "shop", "/shop", "")
    sweep.run("nightly")
    clock.advance(days=-1500)
    assert sweep.last_run() < clock.now()
    fill(store, 25)
    assert sweep.is_due_when_idle()


def test_an_early_dream_needs_quiet_and_enough_that_is_new(world: World) -> None:
    store, state, _, clock = world
    sweep = sweep_of(*world, planned())
    sweep.last_run()
    state.touch_session("s1", "shop", "/shop", "")
    clock.advance(minutes=5)
    fill(store, 25)
    assert not sweep.is_due_when_idle()
    clock.advance(minutes=30)
    assert sweep.is_due_when_idle()
    sweep.run("idle")
    assert not sweep.is_due_when_idle()


def test_governance_after_a_dream_shows_what_is_valid(world: World) -> None:
    store, state, settings, clock = world
    ids = fill(store)
    rule = store.write(item("Never push to main.", kind=MemoryKind.RULE, polarity=Polarity.DONT, source=Source.USER))
    chosen = dream(store, state, settings, clock, planned(merge(store, clock, *ids[:2])), project="shop")
    assert [found.id for found in chosen.dont] == [rule]
    assert ids[0] not in chosen.ids
    assert isinstance(chosen.know[0], MemoryItem)
