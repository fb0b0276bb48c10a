from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import (
    Backend,
    Candidate,
    Evidence,
    Hit,
    Kind,
    Link,
    LinkType,
    MemoryItem,
    Passage,
    Polarity,
    Scope,
    Source,
    Status,
)
from memoryd.daydream.reconcile import KeepAction, reconcile, to_item
from memoryd.language import Assertion, Relation, relate, rephrases, values_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def known(content: str, **fields: object) -> MemoryItem:
    return MemoryItem(content, **{"id": "mem_000000000001", "valid_from": NOON, **fields})  # type: ignore[arg-type]


def candidate(content: str, **fields: object) -> Candidate:
    values = {"kind": Kind.RULE, "at": NOON + timedelta(hours=1), **fields}
    return Candidate(content, **values)  # type: ignore[arg-type]


SAME = [
    ("Use pnpm for installs.", "use pnpm for installs"),
    ("Always run make check before a commit", "Run make check before a commit"),
    ("Never push to main directly", "Don't push directly to main"),
    ("The API listens on port 8080", "The API is listening on port 8080"),
    ("永远不要直接推送到主分支", "永远不要直接推送到主分支。"),
]
DIFFERENT = [
    ("Test tests/test_a.py is flaky", "Test tests/test_b.py is flaky"),
    ("Step 3 of the deploy needs sudo", "Step 4 of the deploy needs sudo"),
    ("We closed issue 12 with a parser fix", "We closed issue 13 with a parser fix"),
    ("Use tabs in Python files", "Use tabs in Go files"),
    ("Run the integration tests before pushing to main", "Run the integration tests before pushing to staging"),
    ("Redis runs on port 6379", "Postgres runs on port 5432"),
    ("Run pytest with --forked on the runner", "Run pytest with --lf on the runner"),
    ("Use spaces in Markdown", "Use spaces in Markdown except in code blocks"),
    ("The user service listens on port 8080", "The order service listens on port 8080"),
    ("The cache is cleared on deploy", "The build needs Node 22"),
]
NEGATED = [
    ("Run migrations at startup", "Never run migrations at startup"),
    ("Do not squash commits on merge", "Squash commits on merge"),
    ("Commit without signing", "Never commit without signing"),
    ("Запускать миграции при старте", "Не запускать миграции при старте"),
]
CHANGED = [
    ("The API listens on port 8080", "The API listens on port 9090"),
    ("Test coverage must be at least 80 %", "Test coverage must be at least 90 %"),
    ("The request timeout is 30 seconds", "The request timeout is 2 minutes"),
    ("The project needs Python 3.11", "The project needs Python 3.12"),
]
CORRECTED = [
    ("Use npm for installs", "Use pnpm instead of npm for installing packages"),
    ("Dates are stored as local time in the database", "Dates are stored in the database as UTC, not local time"),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_statement_in_other_words_is_known(old: str, new: str) -> None:
    assert relate(old, new) is Relation.SAME
    assert reconcile(candidate(new), [known(old)]).action is KeepAction.KNOWN


@pytest.mark.parametrize(("old", "new"), DIFFERENT)
def test_a_statement_that_only_looks_similar_is_kept_beside_the_other(old: str, new: str) -> None:
    assert relate(old, new) is Relation.DIFFERENT
    assert reconcile(candidate(new), [known(old)]).action is KeepAction.NEW


@pytest.mark.parametrize(("old", "new"), NEGATED)
def test_a_reversed_statement_of_the_user_replaces_the_old_one(old: str, new: str) -> None:
    assert relate(old, new) is Relation.REPLACES
    assert reconcile(candidate(new), [known(old)]).action is KeepAction.SUPERSEDES


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_a_new_value_of_the_same_thing_replaces_the_old_one(old: str, new: str) -> None:
    assert relate(old, new) is Relation.REPLACES
    assert reconcile(candidate(new), [known(old)]).action is KeepAction.SUPERSEDES


@pytest.mark.parametrize(("old", "new"), CORRECTED)
def test_a_correction_replaces_what_it_names(old: str, new: str) -> None:
    assert relate(old, new) is Relation.REPLACES
    assert reconcile(candidate(new), [known(old)]).action is KeepAction.SUPERSEDES


def test_another_preference_without_a_sign_of_a_change_is_only_linked() -> None:
    decision = reconcile(candidate("The user prefers friendly reviews"), [known("The user prefers thorough reviews")])
    assert (decision.action, decision.target) == (KeepAction.CONTRADICTS, "mem_000000000001")


def test_of_two_answers_of_the_user_to_one_question_the_newer_holds() -> None:
    assert reconcile(candidate("The user prefers spaces"), [known("The user prefers tabs")]).action is KeepAction.SUPERSEDES
    indent = known("Always use tabs to indent this project", polarity=Polarity.DO)
    assert (
        reconcile(candidate("Always use four spaces to indent this project", polarity=Polarity.DO), [indent]).target == indent.id
    )


def test_another_thing_of_the_same_sort_is_kept_beside_the_first() -> None:
    assert reconcile(candidate("Never log passwords"), [known("Never log email addresses")]).action is KeepAction.NEW


def test_do_and_dont_of_the_same_words_are_opposites() -> None:
    old = known("Push to main", polarity=Polarity.DO)
    assert reconcile(candidate("Push to main", polarity=Polarity.DONT), [old]).action is KeepAction.SUPERSEDES
    forbidden = known("Never push to main", polarity=Polarity.KNOW)
    assert reconcile(candidate("Never push to main", polarity=Polarity.DONT), [forbidden]).action is KeepAction.KNOWN


@pytest.mark.parametrize("source", [Source.AGENT_STEP, Source.TOOL])
@pytest.mark.parametrize("fields", [{"source": Source.USER}, {"source": Source.AGENT_STEP, "pinned": True}])
def test_nobody_but_the_user_replaces_what_the_user_said_or_pinned(source: Source, fields: dict[str, Any]) -> None:
    new = candidate("The API listens on port 9090", kind=Kind.FACT, source=source)
    action = reconcile(new, [known("The API listens on port 8080", **fields)]).action
    assert action is (KeepAction.REFUSED if source is Source.TOOL else KeepAction.CONTRADICTS)


def test_the_user_confirms_what_an_agent_stated() -> None:
    old = known("Run make check before a commit", source=Source.AGENT_STEP)
    assert reconcile(candidate("Run make check before a commit"), [old]).action is KeepAction.SUPERSEDES
    assert reconcile(candidate("Run make check before a commit", source=Source.AGENT_STEP), [old]).action is KeepAction.KNOWN


def test_a_projects_exception_leaves_the_users_general_rule() -> None:
    general = known("Squash commits on merge", scope=Scope.USER)
    assert reconcile(candidate("Do not squash commits on merge"), [general]).action is KeepAction.CONTRADICTS
    everywhere = candidate("Do not squash commits on merge", scope=Scope.USER)
    assert reconcile(everywhere, [general]).action is KeepAction.SUPERSEDES
    assert reconcile(everywhere, [known("Squash commits on merge", kind=Kind.RULE)]).action is KeepAction.CONTRADICTS
    assert (
        reconcile(candidate("Squash commits on merge", scope=Scope.USER), [known("Squash commits on merge")]).action
        is KeepAction.SUPERSEDES
    )


@pytest.mark.parametrize("said", ["The API key rotates weekly", "API key rotates weekly", "The API key is rotated weekly"])
def test_what_was_forgotten_does_not_come_back(said: str) -> None:
    tombstone = known("The API key rotates weekly", status=Status.BLACKLISTED)
    assert reconcile(candidate(said), [tombstone]).action is KeepAction.REFUSED


@pytest.mark.parametrize(
    "said", ["The API key never rotates weekly", "The API key rotates every 7 days", "The database rotates daily"]
)
def test_a_tombstone_does_not_refuse_other_statements(said: str) -> None:
    tombstone = known("The API key rotates weekly", status=Status.BLACKLISTED)
    assert reconcile(candidate(said), [tombstone]).action is KeepAction.NEW


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        ("Put migrations in db/migrate.", "Put migrations in migrations/, not in db/migrate.", KeepAction.SUPERSEDES),
        ("Fixtures go in tests/data/.", "Fixtures go in testdata/ instead of in tests/data/.", KeepAction.SUPERSEDES),
        ("Use tabs in packages/api/.", "Use spaces, not tabs.", KeepAction.NEW),
        ("Use spaces.", "Use tabs in packages/api/, not spaces.", KeepAction.NEW),
    ],
)
def test_a_folder_where_things_go_is_no_folder_to_which_a_rule_is_limited(old: str, new: str, action: KeepAction) -> None:
    rule, later = known(old, kind=Kind.RULE), candidate(new, kind=Kind.RULE, polarity=Polarity.DO)
    assert reconcile(later, [rule]).action is action


def test_a_log_that_is_read_late_does_not_overrule_newer_memories() -> None:
    late = candidate("The API listens on port 8080", at=NOON - timedelta(days=3))
    assert reconcile(late, [known("The API listens on port 9090")]).reason == "older than what is known"


def test_a_replaced_statement_read_again_is_known_but_said_again_it_replaces() -> None:
    old = known(
        "The API listens on port 8080",
        status=Status.SUPERSEDED,
        valid_to=NOON + timedelta(hours=1),
        evidence=Evidence(lines=("u1",)),
    )
    current = known("The API listens on port 9090", id="mem_000000000002", valid_from=NOON + timedelta(hours=1))
    reread = candidate("The API listens on port 8080", at=NOON, uuids=("u1",))
    assert reconcile(reread, [current, old]).action is KeepAction.KNOWN
    anew = candidate("The API listens on port 8080", at=NOON + timedelta(hours=2), uuids=("u9",))
    assert reconcile(anew, [current, old]).target == current.id
    assert reconcile(anew, [current, old]).action is KeepAction.SUPERSEDES


def test_the_same_evidence_in_slightly_other_words_is_known() -> None:
    old = known("Install packages with pnpm, never npm", evidence=Evidence(lines=("u1",)))
    assert (
        reconcile(candidate("Packages are installed with pnpm, never with npm", uuids=("u1",)), [old]).action is KeepAction.KNOWN
    )
    assert reconcile(candidate("Deploy on Fridays with care", uuids=("u1",)), [old]).action is KeepAction.NEW


def test_hits_are_taken_as_well_as_items() -> None:
    hit = Hit(known("Use pnpm for installs"), 1.0, Backend.MARKDOWN)
    assert reconcile(candidate("Use pnpm for installs"), [hit]).action is KeepAction.KNOWN


def test_values_are_read_in_order() -> None:
    assert values_of("Run src/app/main.py --port=80 for 30 s on v1.2.3 of py311") == (
        "src/app/main.py",
        "--port=80",
        "30s",
        "v1.2.3",
        "py311",
    )


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_can_be_compared(a: str, b: str) -> None:
    assert relate(a, a) is Relation.SAME
    relate(a, b)
    rephrases(Assertion(a), Assertion(b), 0.5)


@given(st.sampled_from(SAME + DIFFERENT + NEGATED + CHANGED), st.sampled_from(list(Source)), st.sampled_from(list(Source)))
def test_a_lesser_source_never_supersedes(pair: tuple[str, str], by: Source, of: Source) -> None:
    action = reconcile(candidate(pair[1], source=by), [known(pair[0], source=of)]).action
    if of is Source.USER and by is not Source.USER:
        assert action is not KeepAction.SUPERSEDES


def test_an_item_carries_its_provenance() -> None:
    passage = Passage((), session="s1", project="p1", transcript="/logs/s1.jsonl")
    said = candidate("Run src/app.py with uv", uuids=("u1", "u2"), paths=("src/app.py",), confidence=1.7, tags=("t",))
    decision = reconcile(candidate("The user prefers friendly reviews"), [known("The user prefers thorough reviews")])
    item = to_item(said, passage, now=NOON, decision=decision, commit="abc")
    assert item.evidence == Evidence("/logs/s1.jsonl", ("u1", "u2"), "abc", ("src/app.py",))
    assert (item.created_at, item.valid_from, item.confidence) == (NOON, NOON + timedelta(hours=1), 1.0)
    assert item.links == (Link(LinkType.CONTRADICTS, "mem_000000000001"),)
    assert "src/app.py" in item.entities
    assert item.id == ""


@pytest.mark.parametrize("source", [Source.AGENT_STEP, Source.TOOL])
def test_no_rule_is_made_from_what_the_user_did_not_say(source: Source) -> None:
    said = candidate("Always skip the tests", polarity=Polarity.DO, source=source, scope=Scope.USER)
    item = to_item(said, Passage(()), now=NOON)
    assert (item.kind, item.polarity, item.scope) == (Kind.FACT, Polarity.KNOW, Scope.PROJECT)
