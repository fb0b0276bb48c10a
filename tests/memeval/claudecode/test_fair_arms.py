"""Tests of the prompts of a session, which must not differ between arms or help one of them."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from memeval.benchmarks.source import Sources
from memeval.claudecode.client import placebo_flags, system_flags
from memeval.claudecode.contract import HARMS, Arm, Step, StepKind, StepSequence
from memeval.claudecode.controls import (
    arm_sequences,
    cut_notes,
    history_of_sessions,
    is_misled,
    placebo,
    said_in,
)
from memeval.claudecode.conversation import ASKING, Conversations
from memeval.claudecode.families import FamilyOptions
from memeval.claudecode.memories import without_ids
from memeval.claudecode.seeding import end_of, times_of
from memeval.claudecode.sessions import clock_of, session_key, share_of
from memeval.core.calls import Budget, Stop
from memeval.core.errors import ConfigError
from memeval.core.text import estimate_tokens
from memeval.core.types import Question, QuestionType, Session, Turn
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


def test_a_question_is_typed_as_a_user_would_and_its_instructions_are_in_the_system_prompt(
    sample: Conversations, tmp_path: Path
) -> None:
    for _, step in steps(sample, StepKind.QUESTION):
        assert step.question is not None
        assert step.prompt == step.question.text
        assert step.system.startswith(ASKING)
        assert system_flags(step.system, tmp_path) == ("--append-system-prompt", step.system)


def test_every_session_knows_its_date_and_memoryd_has_the_same_time(sample: Conversations) -> None:
    for kind in (StepKind.REPLAY, StepKind.QUESTION):
        for _, step in steps(sample, kind):
            assert step.at is not None
            day = (step.session or step.question).at
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


# Controls


def every(family: Conversations) -> list[StepSequence]:
    return list(family.sequences(Selection()))


def outcome(sequence: StepSequence) -> str:
    return "\n".join(turn.text for step in sequence.steps if step.session for turn in step.session.turns)


@pytest.mark.parametrize("arm", sorted(HARMS))
def test_a_harm_arm_asks_the_same_questions_with_a_memory_that_does_not_help(sample: Conversations, arm: Arm) -> None:
    whole = every(sample)
    asked = 0
    for sequence in arm_sequences(arm, whole, whole):
        text = outcome(sequence)
        for step in sequence.steps:
            if step.question is None:
                continue
            asked += 1
            right, wrong = step.question.answers, step.payload.get("misleading")
            if arm is Arm.SUPERSEDED:
                assert any(answer.lower() in text.lower() for answer in right)
            else:
                assert not any(answer.lower() in text.lower() for answer in right), step.id
            assert (wrong is None) == (arm is Arm.ABSENT)
            assert wrong is None or wrong in text
    assert asked == len([1 for one in arm_sequences(Arm.ABSENT, whole, whole) for step in one.steps if step.question])
    assert asked >= 20


def test_a_superseded_answer_is_said_before_the_right_one(sample: Conversations) -> None:
    whole = every(sample)
    for sequence in arm_sequences(Arm.SUPERSEDED, whole, whole):
        replays = [step for step in sequence.steps if step.kind is StepKind.REPLAY]
        assert [step.at for step in replays] == sorted(step.at for step in replays if step.at)
        for step in sequence.steps:
            if step.question:
                wrong, right = step.payload["misleading"], step.question.answers
                lie = next(n for n, one in enumerate(replays) if one.session and wrong in outcome(StepSequence("", (one,))))
                texts = [outcome(StepSequence("", (one,))).lower() for one in replays]
                assert lie < max(n for n, text in enumerate(texts) if any(answer.lower() in text for answer in right))


def test_an_arm_without_harm_has_the_histories_of_the_benchmark(sample: Conversations) -> None:
    assert arm_sequences(Arm.DREAMED, every(sample), every(sample)) == every(sample)


def test_a_benchmark_without_quoted_answers_has_no_harm_arms() -> None:
    question = Question("q", "How long?", QuestionType.TEMPORAL, ("four weeks",), evidence_sessions=("s",))
    step = Step("q", StepKind.QUESTION, "How long?", question=question)
    replay = Step("r", StepKind.REPLAY, "", session=Session("s", (Turn("t", "user", "It began in May."),)))
    with pytest.raises(ConfigError, match="answer is quoted in their evidence"):
        arm_sequences(Arm.ABSENT, [StepSequence("c", (replay, step))], [])


def test_an_answer_that_repeats_the_wrong_one_is_misled() -> None:
    step = Step("q", StepKind.QUESTION, "?", payload={"misleading": "Port 9090"})
    assert is_misled(step, "It is port 9090.") is True
    assert is_misled(step, "It is port 8080.") is False
    assert is_misled(Step("q", StepKind.QUESTION, "?"), "port 9090") is None


@given(tokens=integers(0, 2000))
def test_a_placebo_has_the_tokens_that_the_plugin_injected(tokens: int) -> None:
    assert tokens - 5 <= estimate_tokens(placebo(tokens)) + 1 <= tokens + 60
    if flags := placebo_flags(placebo(tokens)):
        (hook,) = json.loads(flags[1])["hooks"]["UserPromptSubmit"][0]["hooks"]
        printed = shlex.split(hook["command"])[2]
        assert json.loads(printed)["hookSpecificOutput"]["additionalContext"] == placebo(tokens)


def test_the_history_has_all_conversations_in_order(sample: Conversations) -> None:
    for sequence in every(sample):
        history = history_of_sessions(sequence.steps)
        places = [history.index(turn.text) for step in sequence.steps if step.session for turn in step.session.turns[:1]]
        assert places == sorted(places)
    assert history_of_sessions(()) == ""


def test_the_history_of_a_log_has_what_was_said_and_not_what_tools_returned(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    result = {"type": "tool_result", "tool_use_id": "x", "content": "a long listing"}
    lines = [
        {"type": "user", "message": {"content": "Fix the parser."}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "I will."}, {"type": "tool_use", "id": "x"}]}},
        {"type": "user", "message": {"content": [result]}},
        {"type": "user", "isMeta": True, "message": {"content": "meta"}},
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert said_in(log) == "User: Fix the parser.\nAssistant: I will."
    log.write_text(json.dumps({"type": "user", "message": {"content": "x" * 200_000}}))
    assert len(said_in(log)) < 61_000


def test_notes_are_cut_at_the_budget_by_whole_lines() -> None:
    text = "\n".join(f"- note {number} about the harbour" for number in range(100))
    cut = cut_notes(text, 50)
    assert estimate_tokens(cut) <= 52
    assert text.startswith(cut.rstrip("\n"))


def test_long_instructions_go_through_a_file(tmp_path: Path) -> None:
    step = Step("q", StepKind.QUESTION, "?", system="history " * 20_000)
    flag, path = system_flags(step.system, tmp_path)
    assert flag == "--append-system-prompt-file"
    assert Path(path).read_text("utf-8") == step.system


def test_the_limit_that_the_client_tells_the_model_is_the_same_until_little_is_left() -> None:
    assert [share_of(limit) for limit in (0.05, 1.0, 2.0, 4.0, 20.0, 100.0)] == [0.05, 1.0, 1.0, 1.0, 5.0, 25.0]
