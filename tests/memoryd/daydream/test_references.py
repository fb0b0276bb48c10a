"""A reader's references to known memories count only as far as their evidence."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoryd.core.config import Settings
from memoryd.core.types import Candidate, Evidence, Kind, LinkType, MemoryItem, Passage, Source, Status, Turn, TurnKind
from memoryd.daydream.model_reader import MAX_RELATED, choose_related, find_related
from memoryd.daydream.reconcile import KeepAction, Reconciler
from memoryd.stores.markdown import MarkdownStore
from memoryd.testing import FakeClock
from tests.memoryd.daydream.test_pipeline import World

AT = datetime(2025, 6, 1, tzinfo=UTC)
PASSAGE = Passage((), session="s2", project="p1")
RULE = "Deploys go through the staging cluster."


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def known(world: World, content: str, **fields: object) -> str:
    values = {"project": "p1", "created_at": AT, "valid_from": AT, "kind": Kind.DECISION, **fields}
    return world.store.write(MemoryItem(content, **values))  # type: ignore[arg-type]


def keep(world: World, content: str, source: Source = Source.AGENT_STEP, **fields: object) -> tuple[KeepAction, MemoryItem]:
    candidate = Candidate(content, Kind.DECISION, source=source, at=datetime(2025, 7, 1, tzinfo=UTC), **fields)  # type: ignore[arg-type]
    outcome = Reconciler(world.store, FakeClock()).keep(candidate, PASSAGE)  # type: ignore[arg-type]
    item = world.store.get(outcome.id)
    assert item is not None
    return outcome.action, item


def status(world: World, id: str) -> Status:
    item = world.store.get(id)
    assert item is not None
    return item.status


def test_what_is_replaced_is_closed_whatever_the_wording(world: World) -> None:
    old = known(world, "The queue is RabbitMQ.", source=Source.AGENT_STEP)
    more = known(world, "Workers poll every second.", source=Source.AGENT_STEP)
    action, item = keep(world, "Jobs are kept in Postgres with pgmq.", replaces=(old, more))
    assert (action, item.supersedes) == (KeepAction.SUPERSEDES, old)
    assert status(world, old) is status(world, more) is Status.SUPERSEDED
    assert [link.target for link in item.links if link.type is LinkType.SUPERSEDES] == [more]


@pytest.mark.parametrize("named", ["replaces", "closes"])
def test_only_the_users_words_end_what_the_user_said(world: World, named: str) -> None:
    old = known(world, RULE, source=Source.USER, kind=Kind.TODO)
    action, item = keep(world, "Releases are pushed to production at once.", **{named: (old,)})  # type: ignore[arg-type]
    assert (action, status(world, old)) == (KeepAction.CONTRADICTS, Status.ACTIVE)
    assert [link.target for link in item.links] == [old]
    action, item = keep(world, "We ship straight to live now.", Source.USER, **{named: (old,)})
    assert (action, status(world, old)) == (KeepAction.SUPERSEDES, Status.SUPERSEDED)


def test_a_todo_that_is_done_is_closed_and_only_todos_are(world: World) -> None:
    todo = known(world, "Add a retry to the importer.", source=Source.AGENT_STEP, kind=Kind.TODO)
    other = known(world, "The importer runs hourly.", source=Source.AGENT_STEP, kind=Kind.FACT)
    before = len(world.store.items)
    action, item = keep(world, "The retry of the importer is in place.", closes=(todo, other), importance=1)
    assert (action, item.id) == (KeepAction.KNOWN, todo)
    assert (status(world, todo), status(world, other)) == (Status.SUPERSEDED, Status.ACTIVE)
    assert len(world.store.items) == before, "that it is done need not be kept"


def test_a_repeated_memory_is_not_written_twice(world: World) -> None:
    old = known(world, RULE, source=Source.AGENT_STEP)
    action, item = keep(world, "Every release passes the pre-production environment first.", repeats=(old,))
    assert (action, item.id, len(world.store.items)) == (KeepAction.KNOWN, old, 1)
    action, item = keep(world, "Every release passes staging first.", Source.USER, repeats=(old,))
    assert (action, item.source, status(world, old)) == (KeepAction.SUPERSEDES, Source.USER, Status.SUPERSEDED)


def test_a_repeated_candidate_becomes_a_memory_in_the_readers_words(world: World) -> None:
    old = known(world, "no, staging first, always", source=Source.USER, status=Status.CANDIDATE)
    action, item = keep(world, RULE, Source.USER, repeats=(old,), asked_as=("how do I ship?",), uuids=("u7",))
    assert (action, item.id, item.content, item.status) == (KeepAction.CONFIRMS, old, RULE, Status.ACTIVE)
    assert item.asked_as == ("how do I ship?",) and item.evidence.lines == ("u7",)


def test_a_claimed_repetition_that_says_the_opposite_is_none(world: World) -> None:
    old = known(world, "Strict mode is on in the parser tests.", source=Source.AGENT_STEP)
    action, _ = keep(world, "Strict mode is not on in the parser tests.", repeats=(old,))
    assert (action, status(world, old)) == (KeepAction.SUPERSEDES, Status.SUPERSEDED)


def test_memories_of_other_projects_and_ended_ones_cannot_be_named(world: World) -> None:
    other = known(world, RULE, project="p2", source=Source.AGENT_STEP)
    gone = known(world, "The queue is RabbitMQ.", status=Status.SUPERSEDED)
    action, _ = keep(world, "Jobs are kept in Postgres.", replaces=(other, gone, "mem_0000000000ff"))
    assert (action, status(world, other)) == (KeepAction.NEW, Status.ACTIVE)


def test_what_is_forgotten_does_not_come_back_as_a_repetition(world: World) -> None:
    gone = known(world, RULE, status=Status.BLACKLISTED)
    old = known(world, "Staging exists.", source=Source.AGENT_STEP)
    action, _ = keep(world, RULE, repeats=(old,))
    assert (action, status(world, gone)) == (KeepAction.REFUSED, Status.BLACKLISTED)


def test_the_memories_shown_are_few_and_begin_with_those_of_the_same_lines(tmp_path: Path) -> None:
    store = MarkdownStore(Settings(home=tmp_path).paths, FakeClock())
    item = MemoryItem("Something worded otherwise entirely.", kind=Kind.NOTE, project="p1", session="s2", created_at=AT)
    same = store.write(replace(item, status=Status.CANDIDATE, evidence=Evidence(lines=("u1",))))
    todo = store.write(replace(item, content="Write the changelog.", kind=Kind.TODO, session="s1"))
    for number in range(2 * MAX_RELATED):
        store.write(replace(item, content=f"The staging cluster number {number} is slow.", session="s1"))
    store.write(replace(item, content="The staging cluster of others is slow.", session="s1", project="p2"))
    turns = (
        Turn(TurnKind.USER, "Is the staging cluster slow?", "u1", 1),
        Turn(TurnKind.ASSISTANT, "Yes, staging is slow.", "a1", 2),
    )
    passage = replace(PASSAGE, turns=turns)
    found = find_related(store, passage)
    assert [item.id for item in found[:2]] == [same, todo]
    assert 2 < len(found) <= MAX_RELATED and len({item.id for item in found}) == len(found)
    assert {item.project for item in found} == {"p1"}
    chosen = choose_related(store.all(), passage)
    assert chosen[0].id == todo and 1 < len(chosen) <= MAX_RELATED
    store.close()
