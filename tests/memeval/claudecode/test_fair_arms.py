"""Tests of what a session is asked, which must not differ between arms or help one of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memeval.benchmarks.source import Sources
from memeval.claudecode.contract import Step, StepKind, StepSequence
from memeval.claudecode.conversation import ASKING, Conversations
from memeval.claudecode.families import FamilyOptions
from memeval.claudecode.memories import without_ids
from memeval.claudecode.seeding import end_of, times_of
from memeval.claudecode.sessions import clock_of, session_key, system_flags
from memeval.core.calls import Budget, Stop
from memeval.core.types import Session, Turn
from memeval.models.guarded import ModelCache
from memeval.registry import Catalog
from memeval.run.plan import RunContext
from memeval.run.settings import Selection


@pytest.fixture
def sample(tmp_path: Path) -> Conversations:
    context = RunContext(Catalog.default(), ModelCache(tmp_path), Budget(None), Stop(), Sources(tmp_path))
    return Conversations("sample", FamilyOptions(context))


def steps(family: Conversations, kind: StepKind) -> list[tuple[StepSequence, Step]]:
    return [(one, step) for one in family.sequences(Selection()) for step in one.steps if step.kind is kind]


def test_a_question_is_typed_as_a_user_would_and_its_instructions_are_in_the_system_prompt(sample: Conversations) -> None:
    for _, step in steps(sample, StepKind.QUESTION):
        assert step.question is not None
        assert step.prompt == step.question.text
        assert step.system.startswith(ASKING)
        assert system_flags(step) == ("--append-system-prompt", step.system)


def test_every_session_knows_its_date_and_memoryd_has_the_same_time(sample: Conversations) -> None:
    for kind in (StepKind.REPLAY, StepKind.QUESTION):
        for _, step in steps(sample, kind):
            assert step.at is not None
            day = (step.session or step.question).at  # type: ignore[union-attr]
            assert day is not None
            assert f"{day:%Y-%m-%d}" in step.system
            assert clock_of(step.at)["MEMORYD_CLOCK"].startswith(f"{day:%Y-%m-%d}")


def test_a_question_is_asked_after_the_last_conversation(sample: Conversations) -> None:
    for sequence in sample.sequences(Selection()):
        ends = [step.at for step in sequence.steps if step.kind is StepKind.REPLAY and step.at]
        assert all(step.at >= max(ends) for step in sequence.steps if step.kind is StepKind.QUESTION and step.at)


def test_messages_without_a_time_are_spread_over_the_session_and_zones_are_kept() -> None:
    turns = (
        Turn("1", "user", "a"),
        Turn("2", "assistant", "b", at=datetime(2024, 3, 1, 9, 30, tzinfo=UTC)),
        Turn("3", "user", "c"),
    )
    session = Session("s", turns, datetime(2024, 3, 1, 9))  # noqa: DTZ001
    assert [f"{at:%H:%M:%S}" for at in times_of(session, 0)] == ["09:00:00", "09:30:00", "09:00:40"]
    assert end_of(session, 0) == datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
    assert end_of(Session("s", ()), 2) == datetime(2024, 1, 3, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        ("Biscuit [mem_0123456789ab].", "Biscuit."),
        ("Biscuit (mem_0123456789ab, mem_aaaaaaaaaaaa)", "Biscuit"),
        ("According to mem_212121212121 it is Biscuit", "According to it is Biscuit"),
        ("`mem_0123456789ab` says 19", "says 19"),
        ("Nothing about that in my memory.", "Nothing about that in my memory."),
    ],
)
def test_ids_of_memories_are_removed_before_judging(said: str, judged: str) -> None:
    assert without_ids(said) == judged


def test_another_instruction_or_time_is_another_session_for_the_cache() -> None:
    base = Step("q", StepKind.QUESTION, "Who?")
    other = [Step("q", StepKind.QUESTION, "Who?", system="Be brief."), Step("q", StepKind.QUESTION, "Who?", at=datetime.now(UTC))]
    keys = {session_key({}, step, "id", ()) for step in (base, *other)}
    assert len(keys) == 3
