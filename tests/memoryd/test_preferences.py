"""Contradicting preferences are detected, whoever reports them."""

from __future__ import annotations

import pytest

from memoryd.core.types import Candidate, Kind, LinkType, MemoryItem, Passage, Polarity, Source
from memoryd.daydream.model_answer import restrain
from memoryd.daydream.reconcile import KeepAction, reconcile, to_item
from memoryd.language import Relation, relate
from memoryd.testing import FakeClock

NOW = FakeClock().now()


def user_said(content: str, polarity: Polarity = Polarity.DO) -> MemoryItem:
    return MemoryItem(
        id="mem_000000000001", content=content, kind=Kind.PREFERENCE, polarity=polarity, source=Source.USER, project="p",
        session="s", created_at=NOW, valid_from=NOW,
    )  # fmt: skip


def agent_says(content: str, polarity: Polarity = Polarity.DO) -> Candidate:
    return restrain(Candidate(content, Kind.PREFERENCE, polarity, Source.AGENT_STEP))


@pytest.mark.parametrize(
    ("known", "new", "relation"),
    [
        ("I prefer tabs over spaces.", "The user prefers spaces over tabs.", Relation.REPLACES),
        ("I prefer pnpm rather than npm.", "User prefers npm over pnpm.", Relation.REPLACES),
        ("I prefer short answers.", "The user prefers long answers.", Relation.REPLACES),
        ("I prefer friendly reviews.", "The user prefers thorough reviews.", Relation.CONTRADICTS),
        ("I prefer answers in German.", "The user prefers answers in English.", Relation.REPLACES),
        ("I prefer tabs over spaces.", "The user prefers tabs over spaces.", Relation.SAME),
        ("I prefer short answers in German.", "The user prefers short answers in German.", Relation.SAME),
        ("I prefer pytest.", "The user prefers ruff.", Relation.DIFFERENT),
        ("I prefer short answers.", "The user prefers signed commits.", Relation.DIFFERENT),
    ],
)
def test_preferences_are_compared_by_what_is_preferred(known: str, new: str, relation: Relation) -> None:
    assert relate(known, new) is relation


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("I prefer tabs over spaces.", "The user prefers spaces over tabs."),
        ("I prefer answers in German.", "The user prefers answers in English."),
    ],
)
def test_an_agents_report_against_the_users_preference_is_linked_as_a_contradiction(known: str, new: str) -> None:
    candidate, item = agent_says(new), user_said(known)
    assert candidate.kind is Kind.FACT
    decision = reconcile(candidate, [item])
    assert (decision.action, decision.target) == (KeepAction.CONTRADICTS, item.id)
    written = to_item(candidate, Passage(()), now=NOW, decision=decision)
    assert [(link.type, link.target) for link in written.links] == [(LinkType.CONTRADICTS, item.id)]


def test_a_prohibition_that_an_agent_reports_does_not_come_to_say_the_opposite() -> None:
    candidate = agent_says("Use emojis in commit messages.", Polarity.DONT)
    assert (candidate.kind, candidate.polarity) == (Kind.FACT, Polarity.KNOW)
    assert candidate.content == "To avoid: Use emojis in commit messages."
    assert restrain(candidate) == candidate
    wanted = user_said("Use emojis in commit messages.")
    assert reconcile(candidate, [wanted]).action is KeepAction.CONTRADICTS
    assert reconcile(candidate, [user_said("Never use emojis in commit messages.")]).action is KeepAction.KNOWN
