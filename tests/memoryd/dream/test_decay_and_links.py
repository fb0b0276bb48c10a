from __future__ import annotations

from datetime import timedelta

import pytest

from memoryd.core.ledger import Use, UseKind
from memoryd.core.types import Kind, LinkType, Source, Status
from memoryd.dream.plan import Action, DreamLimits, Plan
from memoryd.dream.planner import make_plan
from memoryd.recall.governance import UNUSED, UseCounts, age_days, count_uses, usage_factor, value
from tests.memoryd.dream.samples import NOW, active, applied, memory, plan_of


def actions(plan: Plan) -> list[Action]:
    return [change.action for change in plan.changes]


def test_relevancy_halves_in_the_half_life_of_its_kind() -> None:
    for kind, days in [(Kind.FACT, 180), (Kind.NOTE, 90), (Kind.FIX, 270)]:
        [change] = plan_of(memory("a", kind=kind, days=days)).changes
        assert (change.action, change.after.relevancy) == (Action.DECAY, 0.5)


def test_use_refreshes_and_contradiction_weakens() -> None:
    old = memory("a", days=180)
    used = {old.id: UseCounts(1, 0, NOW - timedelta(days=1))}
    assert plan_of(old, usage=used).changes == ()
    wrong = {old.id: UseCounts(0, 1)}
    assert plan_of(old, usage=wrong).changes[0].after.relevancy == 0.25


def test_a_merged_memory_keeps_what_its_sources_were_used_for() -> None:
    one, two = memory("The cache is cold", days=400), memory("the cache is cold.", days=399)
    usage = {two.id: UseCounts(5, 0, NOW - timedelta(days=2))}
    after = applied([one, two], plan_of(one, two, usage=usage))
    [merged] = [item for item in after if item.status is Status.ACTIVE]
    assert merged.relevancy == 1.0
    assert make_plan(after, now=NOW, usage=usage).changes == ()


def test_small_steps_are_not_written() -> None:
    assert plan_of(memory("a", days=10)).changes == ()


def test_rules_of_the_user_neither_fade_nor_go() -> None:
    rules = [memory(f"Rule {n}", kind=Kind.RULE, source=Source.USER, days=3000 + n) for n in range(3)]
    assert plan_of(*rules, limits=DreamLimits(cap=1)).changes == ()


@pytest.mark.parametrize("fields", [{"kind": Kind.TODO, "days": 61}, {"kind": Kind.ENVIRONMENT, "days": 366}])
def test_tasks_and_environment_facts_expire_unless_used(fields: dict[str, object]) -> None:
    item = memory("Ship the thing", **fields)  # type: ignore[arg-type]
    [change] = plan_of(item).changes
    assert (change.action, change.after.status, change.after.valid_to) == (Action.EXPIRE, Status.SUPERSEDED, NOW)
    assert Action.EXPIRE not in actions(plan_of(item, usage={item.id: UseCounts(1, 0, NOW)}))


def test_what_held_until_a_day_ends_on_that_day() -> None:
    until = NOW - timedelta(days=1)
    [change] = plan_of(memory("Code freeze", valid_to=until, source=Source.USER)).changes
    assert (change.action, change.after.valid_to, change.after.expired_at) == (Action.EXPIRE, until, NOW)
    assert plan_of(memory("Code freeze", valid_to=NOW + timedelta(days=1))).changes == ()


def test_an_expired_fact_does_not_win_against_a_current_one() -> None:
    current = memory("The API listens on port 8080", days=9)
    past = memory("The API listens on port 9090", days=2, valid_to=NOW - timedelta(days=1))
    assert active(applied([current, past], plan_of(current, past))) == [current.content]


def test_a_full_project_archives_what_is_worth_least() -> None:
    items = [memory(f"Fact of {name}", days=n, confidence=0.9) for n, name in enumerate(["ants", "bees", "cows", "dogs"], 1)]
    note = memory("A stray remark", kind=Kind.NOTE, confidence=0.3)
    other = memory("Elsewhere", project="q", confidence=0.1)
    plan = plan_of(*items, note, other, limits=DreamLimits(cap=4))
    [change] = plan.changes
    assert (change.id, change.action, change.after.status) == (note.id, Action.ARCHIVE, Status.SUPERSEDED)
    assert change.after.valid_to is None and "archived" in change.after.tags


def test_what_is_worth_next_to_nothing_is_archived_and_stays_when_restored() -> None:
    note = memory("A stray remark", kind=Kind.NOTE, days=400)
    [change] = plan_of(note).changes
    assert change.action is Action.ARCHIVE
    restored = memory(note.content, kind=Kind.NOTE, days=400, tags=change.after.tags)
    assert Action.ARCHIVE not in actions(plan_of(restored))


def test_pinned_and_protected_memories_are_never_pruned() -> None:
    pinned = memory("A stray remark", kind=Kind.NOTE, days=900, pinned=True)
    own = memory("Another", kind=Kind.TODO, days=900)
    assert plan_of(pinned, own, protected=frozenset({own.id}), limits=DreamLimits(cap=0)).changes == ()


def test_worth_counts_importance_confidence_usage_and_freshness() -> None:
    base = memory("a", days=0, confidence=0.8)
    assert value(base, NOW) == pytest.approx(0.5 * 0.8)
    assert value(memory("a", days=0, confidence=0.8, kind=Kind.RULE), NOW) == pytest.approx(0.8)
    assert value(base, NOW, UseCounts(1)) == pytest.approx(0.5 * 0.8 * 1.25)
    assert value(base, NOW + timedelta(days=500)) < value(base, NOW)
    assert value(memory("a", pinned=True, confidence=0.0), NOW) >= 2 > value(base, NOW, UseCounts(10**6))
    assert usage_factor(UNUSED) == 1 and age_days(base, NOW - timedelta(days=9)) == 0


def test_being_shown_does_not_count_as_use() -> None:
    at = "2026-05-01T00:00:00Z"
    uses = [
        Use("m", f"s{n}", how, at)
        for n, how in enumerate([UseKind.INJECTED, UseKind.CITED, UseKind.RETURNED, UseKind.CONTRADICTED])
    ]
    assert (count_uses(uses).used, count_uses(uses).contradicted) == (2, 1)
    assert count_uses(uses[:1]) == UNUSED


# Links


def related(plan: Plan) -> set[tuple[str, str]]:
    return {(c.id, link.target) for c in plan.changes for link in c.after.links if link.type is LinkType.RELATES_TO}


def test_memories_that_share_a_rare_name_are_joined_once() -> None:
    old = memory("src/app/main.py reads the token", days=5, entities=("src/app/main.py",))
    new = memory("KeyError comes out of src/app/main.py", days=1, entities=("KeyError", "src/app/main.py"))
    assert related(plan_of(old, new)) == {(new.id, old.id)}


def test_names_are_filled_in_where_missing() -> None:
    [change] = plan_of(memory("The fault lies in src/app/main.py")).changes
    assert change.after.entities == ("src/app/main.py",)


def test_a_name_that_everything_mentions_joins_nothing() -> None:
    items = [memory(f"Thing {word} of Docker", entities=("Docker",)) for word in "one two three four five six".split()]
    assert related(plan_of(*items, limits=DreamLimits(rare=5))) == set()


def test_nobody_gets_more_edges_than_allowed() -> None:
    words = "ant bee cow dog eel fox gnu hen".split()
    items = [memory(f"{word} lives near src/zoo.py", entities=("src/zoo.py",)) for word in words]
    edges = related(plan_of(*items, limits=DreamLimits(degree=2)))
    ends = [id for edge in edges for id in edge]
    assert edges and max(map(ends.count, ends)) <= 2


def test_projects_are_not_joined() -> None:
    items = [
        memory("src/a.py is slow", project="p", entities=("src/a.py",)),
        memory("src/a.py is fast", project="q", entities=("src/a.py",)),
    ]
    assert related(plan_of(*items)) == set()
