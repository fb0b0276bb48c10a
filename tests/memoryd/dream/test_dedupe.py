from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memoryd.core.types import Evidence, Kind, Link, LinkType, Polarity, Scope, Source, Status
from memoryd.dream.plan import Action, merged_id
from tests.memoryd.dream.samples import NOW, active, applied, memory, plan_of


def test_duplicates_become_one_memory_with_all_provenance() -> None:
    one = memory("The API listens on port 8080.", days=9, evidence=Evidence("a.jsonl", ("u1",), "c1", ("a.py",)), tags=("x",))
    two = memory("the api listens on port 8080", days=3, evidence=Evidence("b.jsonl", ("u2",)), confidence=0.9, entities=("API",))
    plan = plan_of(two, one)
    [made] = [change.after for change in plan.changes if change.action is Action.CREATE]
    assert made.id == merged_id(one.id, two.id)
    assert (made.created_at, made.valid_from, made.confidence) == (one.created_at, one.created_at, 0.9)
    assert (set(made.evidence.lines), made.evidence.paths, made.tags, made.entities) == (
        {"u1", "u2"},
        ("a.py",),
        ("x",),
        ("API",),
    )
    assert {Link(LinkType.MERGED, one.id), Link(LinkType.MERGED, two.id)} <= set(made.links)
    gone = [change.after for change in plan.changes if change.action is Action.SUPERSEDE]
    assert {item.id for item in gone} == {one.id, two.id}
    assert all((item.status, item.expired_at, item.valid_to) == (Status.SUPERSEDED, NOW, NOW) for item in gone)
    assert len({change.group for change in plan.changes}) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Run tests/test_a.py alone", "Run tests/test_b.py alone"),
        ("The request timeout is 30 s", "The reply timeout is 30 s"),
        ("Push to main after the review", "Push to main before the review"),
        ("Use tabs in Go files", "Use tabs in Python files"),
        ("Step 3 of the deploy needs sudo", "Step 4 of the deploy needs sudo"),
    ],
)
def test_what_only_looks_similar_is_not_merged(a: str, b: str) -> None:
    assert not [change for change in plan_of(memory(a), memory(b)).changes if change.action is Action.CREATE]


@pytest.mark.parametrize(
    "other",
    [
        {"project": "q"},
        {"scope": Scope.USER},
        {"kind": Kind.TODO},
        {"polarity": Polarity.DONT},
    ],
)
def test_other_projects_scopes_kinds_and_senses_stay_apart(other: dict[str, Any]) -> None:
    items = [memory("Push to main"), replace(memory("Push to main"), id="mem_00000000000b", **other)]
    assert not [change for change in plan_of(*items).changes if change.action is Action.CREATE]


def test_what_the_user_said_for_all_projects_is_merged_over_projects() -> None:
    items = [memory("Answer briefly", scope=Scope.USER, project=p, days=n, kind=Kind.PREFERENCE) for n, p in enumerate("ab", 1)]
    assert active(applied(items, plan_of(*items))) == ["Answer briefly"]


def test_the_users_wording_wins_and_nobody_gains_trust() -> None:
    user = memory("Always run make check before a commit", source=Source.USER, kind=Kind.RULE, polarity=Polarity.DO)
    agent = memory("Run make check before a commit.", source=Source.AGENT_STEP, kind=Kind.RULE, confidence=1.0)
    tool = memory("run make check before a commit", source=Source.TOOL, kind=Kind.RULE)
    [made] = [change.after for change in plan_of(agent, user, tool).changes if change.action is Action.CREATE]
    assert (made.content, made.source, made.polarity) == (user.content, Source.USER, Polarity.DO)
    [made] = [change.after for change in plan_of(agent, tool).changes if change.action is Action.CREATE]
    assert made.source is Source.AGENT_STEP and made.content == agent.content


@pytest.mark.parametrize("how", ["pinned", "protected"])
def test_the_users_own_note_survives_as_it_is(how: str) -> None:
    own = memory("The API listens on port 8080", source=Source.TOOL, pinned=how == "pinned")
    other = memory("The API is listening on port 8080", source=Source.USER, confidence=1.0)
    plan = plan_of(own, other, protected=frozenset({own.id} if how == "protected" else ()))
    assert [(change.action, change.id) for change in plan.changes] == [(Action.SUPERSEDE, other.id)]
    assert how == "pinned" or Link(LinkType.RELATES_TO, own.id) in plan.changes[0].after.links


def test_two_notes_in_the_users_hand_stay_both() -> None:
    notes = [memory("Use pnpm"), memory("use pnpm.", days=2)]
    assert plan_of(*notes, protected=frozenset(note.id for note in notes)).changes == ()


def test_a_merge_that_was_undone_and_kept_is_not_overwritten() -> None:
    one, two = memory("Use pnpm", days=5), memory("use pnpm.", days=4)
    taken = memory("Something else", id=merged_id(one.id, two.id), status=Status.SUPERSEDED)
    assert not [change for change in plan_of(one, two, taken).changes if change.action is Action.CREATE]


def test_a_third_copy_found_later_joins_the_merged_one() -> None:
    items = [memory("Use pnpm to install packages", days=5), memory("use pnpm to install packages.", days=4)]
    night = applied(items, plan_of(*items))
    again = [*night, memory("Use pnpm to install packages!", days=1)]
    [made] = [change.after for change in plan_of(*again).changes if change.action is Action.CREATE]
    assert made.created_at == NOW - timedelta(days=5)
    assert len([link for link in made.links if link.type is LinkType.MERGED]) == 4


def test_no_chain_of_small_steps_ties_unlike_statements_together() -> None:
    chain = [
        memory("The nightly backup job copies the orders database"),
        memory("The nightly backup job copies the orders database to the vault server"),
        memory("The nightly backup job copies the orders database to the vault server and reports failures by mail"),
    ]
    contents = active(applied(chain, plan_of(*chain)))
    assert any("mail" in content for content in contents)
