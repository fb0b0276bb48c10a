from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from memoryd.core.errors import EmbeddingError, ModelError
from memoryd.core.protocols import FloatArray
from memoryd.core.types import Kind, Link, LinkType, MemoryItem, Polarity, Source, Status
from memoryd.dream.plan import Action, DreamLimits, Plan
from memoryd.dream.planner import make_plan
from memoryd.language import Comparer
from memoryd.testing import HashEmbedder, ScriptedLLM
from tests.memoryd.dream.samples import NOW, active, applied, memory, plan_of


def left(*items: MemoryItem, **options: object) -> list[str]:
    return active(applied(items, plan_of(*items, **options)))


OLD = "The API listens on port 8080"
NEW = "The API listens on port 9090"


def test_the_newer_statement_holds_and_the_older_stays_readable() -> None:
    old, new = memory(OLD, days=9, source=Source.USER), memory(NEW, days=2, source=Source.USER)
    plan = plan_of(old, new)
    by_id = {change.id: change for change in plan.changes}
    lost = by_id[old.id].after
    assert (lost.status, lost.expired_at, lost.valid_to) == (Status.SUPERSEDED, NOW, new.created_at)
    assert {Link(LinkType.CONTRADICTS, old.id), Link(LinkType.SUPERSEDES, old.id)} <= set(by_id[new.id].after.links)
    assert by_id[old.id].group == by_id[new.id].group != ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Run migrations at startup", "Never run migrations at startup"),
        ("Use npm for installs", "Use pnpm instead of npm for installs"),
        ("The team indents with tabs", "The team indents with spaces"),
        ("CI runs on Jenkins", "CI was moved from Jenkins to Buildkite"),
        ("Telemetry is enabled in builds", "Telemetry is disabled in builds"),
    ],
)
def test_reversals_corrections_and_other_choices_are_found(old: str, new: str) -> None:
    assert left(memory(old, days=9, source=Source.USER), memory(new, days=1, source=Source.USER)) == [new]


def test_do_against_dont_is_a_contradiction() -> None:
    do = memory("Push to main", days=9, kind=Kind.RULE, polarity=Polarity.DO, source=Source.USER)
    dont = memory("Push to main", days=1, kind=Kind.RULE, polarity=Polarity.DONT, source=Source.USER)
    assert [item.polarity for item in applied([do, dont], plan_of(do, dont)) if item.status is Status.ACTIVE] == [Polarity.DONT]


def test_a_preference_that_changes_twice_ends_at_the_last() -> None:
    said = [
        memory(text, days=n, source=Source.USER) for text, n in [(OLD, 9), (NEW, 6), ("The API is listening on port 8080", 3)]
    ]
    [content] = left(*said)
    assert "8080" in content


def test_the_user_ranks_above_the_agent_and_tools_where_rules_are_concerned() -> None:
    user = memory("Run migrations at startup", days=9, kind=Kind.RULE, source=Source.USER)
    agent = memory("Never run migrations at startup", days=1, kind=Kind.RULE, source=Source.AGENT_STEP)
    assert left(user, agent) == [user.content]
    tool = memory(NEW, days=1, source=Source.TOOL)
    assert left(memory(OLD, days=9, source=Source.USER), tool) == [OLD]


def test_what_an_agent_found_after_the_user_spoke_is_for_the_user_to_decide() -> None:
    user, agent = memory(OLD, days=9, source=Source.USER), memory(NEW, days=1)
    plan = plan_of(user, agent)
    assert [(pair.first, pair.second) for pair in plan.undecided] == [(user.id, agent.id)]
    assert plan.changes == ()


def test_statements_of_the_same_time_are_for_the_user_to_decide() -> None:
    plan = plan_of(memory(OLD, source=Source.USER), memory(NEW, source=Source.USER))
    assert len(plan.undecided) == 1 and plan.changes == ()
    sure, unsure = memory(OLD, confidence=0.9), memory(NEW, confidence=0.5)
    assert left(sure, unsure) == [OLD]


@pytest.mark.parametrize(("sessions", "expected"), [(1, [NEW]), (2, [NEW, OLD]), (3, [OLD])])
def test_sessions_that_agree_weigh_more(sessions: int, expected: list[str]) -> None:
    agreeing = [memory(OLD, days=9 - n, session=f"s{n}") for n in range(sessions)]
    plan_items = [*agreeing, memory(NEW, days=1, session="s9")]
    assert sorted(set(left(*plan_items))) == sorted(expected)


def test_a_newer_statement_that_says_so_needs_no_support() -> None:
    agreeing = [memory(OLD, days=9 - n, session=f"s{n}") for n in range(3)]
    assert left(*agreeing, memory("The API now listens on port 9090", days=1)) == ["The API now listens on port 9090"]


@pytest.mark.parametrize("how", ["pinned", "protected"])
def test_the_users_own_note_does_not_lose_without_consent(how: str) -> None:
    own = memory(OLD, days=9, source=Source.USER, pinned=how == "pinned")
    plan = plan_of(own, memory(NEW, days=1, source=Source.USER), protected=frozenset({own.id} if how == "protected" else ()))
    assert plan.changes == () and len(plan.undecided) == 1


def test_a_protected_winner_is_left_alone_and_the_loser_points_to_it() -> None:
    old, own = memory(OLD, days=9, source=Source.USER), memory(NEW, days=1, source=Source.USER)
    plan = plan_of(old, own, protected=frozenset({own.id}))
    assert [change.id for change in plan.changes] == [old.id]
    assert Link(LinkType.CONTRADICTS, own.id) in plan.changes[0].after.links


@pytest.mark.parametrize("other", [{"project": "q"}, {"kind": Kind.TODO}])
def test_other_projects_and_tasks_do_not_contradict(other: dict[str, Any]) -> None:
    assert plan_of(memory(OLD, days=9), memory(NEW, days=1, **other)).changes == ()


@pytest.mark.parametrize("source", [Source.AGENT_STEP, Source.USER])
def test_what_was_forgotten_does_not_live_on_in_other_words(source: Source) -> None:
    tombstone = memory("Run the linter before each commit", status=Status.BLACKLISTED, expired_at=NOW - timedelta(days=1))
    copy = memory("Before every commit, run the linter", days=5, source=source)
    assert left(tombstone, copy) == []


def test_what_the_user_says_again_after_forgetting_it_stays() -> None:
    tombstone = memory("Run the linter before each commit", status=Status.BLACKLISTED, expired_at=NOW - timedelta(days=9))
    anew = memory("Run the linter before each commit", days=1, source=Source.USER)
    assert left(tombstone, anew) == [anew.content]
    proposed = memory("Run the linter before each commit", days=1, source=Source.AGENT_STEP)
    assert left(tombstone, proposed) == []


# With a model

DOUBTFUL = [
    ("The user likes quiet reviewers on the payments builder", "The user likes loud reviewers on the payments builder"),
    ("The importer reads the orders ledger on startup", "The importer reads the refunds ledger on startup"),
    ("Ship the mobile client from the harbour pipeline", "Ship the mobile client from the meadow pipeline"),
    ("The gateway greets visitors with the winter banner", "The gateway greets visitors with the autumn banner"),
]


def doubtful() -> tuple[list[MemoryItem], dict[str, FloatArray]]:
    items = [memory(text, days=9 - place) for pair in DOUBTFUL for place, text in enumerate(pair)]
    # One direction for each pair: near each other, far from the rest.
    vectors = HashEmbedder(256).embed([DOUBTFUL[n // 2][0] for n in range(len(items))])
    return items, {item.id: vector for item, vector in zip(items, vectors, strict=True)}


def answer(*relations: str) -> str:
    return json.dumps({"answers": [{"pair": n, "relation": relation} for n, relation in enumerate(relations, 1)]})


def ask(*answers: str | Exception, **limits: int) -> tuple[Plan, ScriptedLLM]:
    items, vectors = doubtful()
    llm = ScriptedLLM(*answers)
    return make_plan(items, now=NOW, vectors=vectors, llm=llm, limits=DreamLimits(**limits)), llm  # type: ignore[arg-type]


def closed(plan: Plan) -> int:
    return sum(change.action is Action.SUPERSEDE for change in plan.changes)


def test_without_a_model_doubtful_pairs_are_left_alone() -> None:
    items, vectors = doubtful()
    assert closed(make_plan(items, now=NOW, vectors=vectors)) == 0


def test_a_model_is_asked_about_doubtful_pairs_once_and_believed() -> None:
    plan, llm = ask(answer("replaces", "different", "unsure", "different"))
    assert (closed(plan), len(llm.calls), plan.counts["llm_asked"], plan.counts["llm_failed"]) == (1, 1, 4, 0)
    sent = json.loads(llm.calls[0][1].content)
    assert {pair["earlier"]["text"] for pair in sent["pairs"]} == {pair[0] for pair in DOUBTFUL}


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "no idea",
        "[]",
        '{"answers": []}',
        answer("replaces"),
        answer("replaces", "replaces", "replaces", "replaces"),
        answer("replaces", "delete everything", "different", "different"),
        answer(*["different"] * 5),
        json.dumps({"answers": [{"pair": 1, "relation": "replaces"}] * 4}),
        json.dumps({"answers": [{"pair": True, "relation": "replaces"}, {}, {}, {}]}),
        ModelError("The model is away."),
    ],
)
def test_a_useless_answer_changes_nothing_and_is_reported(bad: str | Exception) -> None:
    plan, _ = ask(bad)
    assert (closed(plan), plan.counts["llm_failed"]) == (0, 1)


def test_a_model_is_asked_in_batches_and_not_without_end() -> None:
    plan, llm = ask(answer("different", "different"), answer("replaces"), batch=2, asked=3)
    assert (len(llm.calls), plan.counts["llm_asked"], closed(plan)) == (2, 3, 1)


@pytest.mark.parametrize(("relation", "left", "open_pairs"), [("same", 4, 0), ("refines", 8, 0), ("contradicts", 8, 4)])
def test_what_a_model_says_of_a_pair_is_done(relation: str, left: int, open_pairs: int) -> None:
    plan, _ = ask(answer(*[relation] * 4))
    created = sum(change.action is Action.CREATE for change in plan.changes)
    assert (8 - closed(plan) + created, len(plan.undecided)) == (left, open_pairs)


def test_a_model_cannot_merge_statements_of_other_numbers() -> None:
    items = [
        memory("The harbour pipeline keeps 14 builds", days=9),
        memory("The harbour pipeline keeps the last 30 builds", days=8),
    ]
    vectors = {item.id: HashEmbedder(256).embed([items[0].content])[0] for item in items}
    plan = make_plan(items, now=NOW, vectors=vectors, llm=ScriptedLLM(*[answer("same")] * 3), comparer=Comparer())
    assert not any(change.action is Action.CREATE for change in plan.changes)


class CountingReader:
    """Reads two texts without finding anything in them. Fails if requested."""

    def __init__(self, *, fails: bool = False) -> None:
        self.read_pairs: list[frozenset[str]] = []
        self._fails = fails

    def read(self, first: str, second: str) -> FloatArray:
        self.read_pairs.append(frozenset({first, second}))
        if self._fails:
            raise EmbeddingError("The model is missing.", fix="")
        return np.zeros((3, 384), dtype=np.float32)


def near_pairs() -> list[MemoryItem]:
    texts = ("The {} depot is cleaned on Monday morning", "On Monday morning the {} depot gets cleaned")
    return [
        memory(text.format(name), days=days, project=name)
        for name, days in (("north", 9), ("south", 6), ("west", 3))
        for text in texts
    ]


def test_a_dream_reads_a_bounded_number_of_pairs_together_the_newest_first() -> None:
    reader = CountingReader()
    plan_of(*near_pairs(), comparer=Comparer(reader=reader), limits=DreamLimits(read=2))
    names = [next(name for name in ("north", "south", "west") if name in " ".join(pair)) for pair in reader.read_pairs]
    assert names == ["west", "west", "south", "south"]  # Each in both orders.


def test_a_dream_goes_by_words_alone_when_statements_cannot_be_read_together(caplog: pytest.LogCaptureFixture) -> None:
    reader = CountingReader(fails=True)
    plan = plan_of(*near_pairs(), comparer=Comparer(reader=reader))
    assert plan.changes == plan_of(*near_pairs(), comparer=Comparer()).changes
    assert len(reader.read_pairs) == 1
    assert "by their words alone" in caplog.text
