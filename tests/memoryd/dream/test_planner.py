from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.core.protocols import FloatArray
from memoryd.core.types import Evidence, Kind, MemoryItem, Polarity, Scope, Source, Status
from memoryd.dream.neighbours import pairs_by_meaning
from memoryd.dream.plan import DROPPING, STAGES, Action, DreamLimits, Plan
from memoryd.dream.planner import make_plan
from memoryd.recall.governance import UseCounts
from memoryd.testing import HashEmbedder
from tests.memoryd.dream.samples import NOW, applied

TEXTS = [
    "The API listens on port 8080",
    "The api listens on port 8080.",
    "The API is listening on port 8080",
    "The API listens on port 9090",
    "Use pnpm for installs",
    "Use npm for installs",
    "Use pnpm instead of npm for installs",
    "Never push to main",
    "Push to main",
    "Don't push to main directly",
    "Run make check before a commit",
    "Before each commit, run make check",
    "src/app/main.py raises KeyError on start",
    "KeyError in src/app/main.py comes from a missing default",
    "The team indents with tabs",
    "The team indents with spaces",
    "永远不要直接推送到主分支",
    "Не запускать миграции при старте",
    "Запускать миграции при старте",
    "",
    "!!!",
]

times = st.integers(-30, 900).map(lambda days: NOW - timedelta(days=days))


def memories() -> st.SearchStrategy[list[MemoryItem]]:
    item = st.builds(
        MemoryItem,
        content=st.sampled_from(TEXTS) | st.text(max_size=30),
        kind=st.sampled_from(Kind),
        polarity=st.sampled_from(Polarity),
        scope=st.sampled_from(Scope),
        project=st.sampled_from(["p", "q"]),
        session=st.sampled_from(["s1", "s2", "s3"]),
        source=st.sampled_from(Source),
        confidence=st.sampled_from([0.3, 0.6, 0.9]),
        relevancy=st.sampled_from([0.05, 0.5, 1.0]),
        status=st.sampled_from([*[Status.ACTIVE] * 6, Status.BLACKLISTED, Status.SUPERSEDED]),
        created_at=times,
        valid_from=st.none() | times,
        valid_to=st.none() | times,
        expired_at=st.none() | times,
        pinned=st.sampled_from([False] * 5 + [True]),
        evidence=st.builds(Evidence, lines=st.lists(st.sampled_from("uvw"), max_size=2).map(tuple)),
    )
    return st.lists(item, max_size=12).map(lambda found: [replace(each, id=f"mem_{n:012x}") for n, each in enumerate(found)])


def vectors_of(items: list[MemoryItem]) -> dict[str, FloatArray]:
    return {item.id: vector for item, vector in zip(items, HashEmbedder().embed([i.content for i in items]), strict=True)}


def options(items: list[MemoryItem], now: datetime = NOW) -> dict[str, object]:
    protected = frozenset(item.id for item in items if int(item.id[-1], 16) % 5 == 4)
    usage = {item.id: UseCounts(2, 0, NOW - timedelta(days=3)) for item in items if int(item.id[-1], 16) % 4 == 3}
    return {"now": now, "protected": protected, "usage": usage, "vectors": vectors_of(items), "limits": DreamLimits(cap=6)}


def plan_of(items: list[MemoryItem], like: list[MemoryItem] | None = None, now: datetime = NOW) -> Plan:
    given_options = options(like or items, now) | {"vectors": vectors_of(items)}
    return make_plan(items, **given_options)  # type: ignore[arg-type]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(memories(), st.randoms())
def test_the_order_of_memories_makes_no_difference(items: list[MemoryItem], random: object) -> None:
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert plan_of(shuffled) == plan_of(items)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(memories())
def test_a_second_dream_changes_nothing(items: list[MemoryItem]) -> None:
    after = applied(items, plan_of(items))
    assert plan_of(after, items).changes == ()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(memories())
def test_pinned_and_protected_memories_never_leave_and_never_change_their_words(items: list[MemoryItem]) -> None:
    plan = plan_of(items)
    protected = options(items)["protected"]
    for change in plan.changes:
        if change.before is not None and (change.before.pinned or change.id in protected):  # type: ignore[operator]
            assert change.action not in DROPPING
            assert change.after.content == change.before.content
            assert change.id not in protected  # type: ignore[operator]


@settings(max_examples=150, deadline=None)
@given(memories())
def test_a_plan_is_well_formed(items: list[MemoryItem]) -> None:
    by_id = {item.id: item for item in items}
    plan = plan_of(items)
    ids = [change.id for change in plan.changes]
    assert len(ids) == len(set(ids))
    assert list(plan.changes) == sorted(plan.changes, key=lambda c: (STAGES.index(c.stage), c.group, c.id))
    for change in plan.changes:
        assert change.reason and change.before == by_id.get(change.id) and change.before != change.after
        if change.action is Action.CREATE:
            assert change.before is None and change.after.content in {item.content for item in items}
        elif change.action in DROPPING:
            assert change.before is not None and change.after.status is Status.SUPERSEDED
            assert change.after.expired_at is not None and change.after.expired_at >= change.after.created_at
            assert change.after.content == change.before.content
        else:
            assert change.after.status is Status.ACTIVE
    held = by_id | {change.id: change.after for change in plan.changes}
    for pair in plan.undecided:
        assert all(held[id].status is Status.ACTIVE or id not in held for id in (pair.first, pair.second) if id in held)


@settings(max_examples=100, deadline=None)
@given(memories())
def test_nobodys_words_gain_trust(items: list[MemoryItem]) -> None:
    said_by_user = {item.content for item in items if item.source is Source.USER}
    for change in plan_of(items).changes:
        if change.after.source is Source.USER:
            assert change.after.content in said_by_user


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(memories(), st.integers(-400, 400))
def test_a_clock_that_jumps_raises_nothing_and_drops_nothing_for_good(items: list[MemoryItem], days: int) -> None:
    plan = plan_of(items, now=NOW + timedelta(days=days))
    for change in plan.changes:
        if change.before is not None:
            assert change.after.created_at == change.before.created_at


def test_a_clock_that_jumped_ahead_and_back_leaves_relevancy_as_it_was() -> None:
    item = MemoryItem("x", id="mem_000000000001", kind=Kind.FACT, source=Source.AGENT_STEP, created_at=NOW)
    ahead = applied([item], make_plan([item], now=NOW + timedelta(days=200)))
    assert ahead[0].relevancy < 0.6
    assert applied(ahead, make_plan(ahead, now=NOW))[0].relevancy == 1.0


def test_a_thousand_copies_are_one_memory_in_one_plan() -> None:
    items = [
        MemoryItem("Use uv.", id=f"mem_{n:012x}", created_at=NOW - timedelta(minutes=n), source=Source.AGENT_STEP)
        for n in range(1000)
    ]
    after = applied(items, make_plan(items, now=NOW))
    assert [item.content for item in after if item.status is Status.ACTIVE] == ["Use uv."]


def test_large_groups_of_vectors_are_split_and_near_ones_still_meet() -> None:
    random = np.random.default_rng(1)
    count = 3000
    vectors = random.normal(size=(count, 48)).astype(np.float32)
    vectors[1::2] = vectors[::2] + 0.2 * random.normal(size=(count // 2, 48)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = {tuple(pair) for pair in pairs_by_meaning(vectors, np.zeros(count, dtype=np.int64), 8).tolist()}
    wanted = {(n, n + 1) for n in range(0, count, 2)}
    assert len(found & wanted) >= 0.95 * len(wanted)
    assert len(found) < 3 * len(wanted)
