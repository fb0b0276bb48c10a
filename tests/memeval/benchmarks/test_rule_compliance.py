"""The rule-compliance benchmark: what it generates, and what it says of guards of known behaviour."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence

import pytest

from benchmarks import rule_compliance as command
from memeval.benchmarks.rule_compliance import KINDS, MENTIONS, SPELLINGS, HookCall, RuleSession, mentions, score, sessions


@pytest.fixture(scope="module")
def given() -> list[RuleSession]:
    return list(sessions())


def test_there_are_200_sessions_of_12_kinds_the_same_each_time(given: list[RuleSession]) -> None:
    assert len(given) == 200
    assert Counter(session.kind for session in given).keys() == KINDS.keys()
    assert len(KINDS) == 12
    assert given == list(sessions()) != list(sessions(seed=1))


def test_each_session_has_as_many_look_alikes_as_violations(given: list[RuleSession]) -> None:
    for session in given:
        bad = [step for step in session.steps if step.violates]
        alike = [step for step in session.steps if not step.violates and step.spelling]
        assert len(bad) == 3, session.id
        assert len(alike) >= 3, session.id


def test_every_spelling_and_every_mention_occurs(given: list[RuleSession]) -> None:
    bad = {step.spelling for session in given for step in session.steps if step.violates}
    good = {step.spelling for session in given for step in session.steps if not step.violates}
    assert set(SPELLINGS) <= bad
    assert set(MENTIONS) <= good


def test_no_call_is_both_a_violation_and_innocent_under_one_kind(given: list[RuleSession]) -> None:
    for kind in set(KINDS) - {"check before commit"}:  # there the calls before decide
        steps = [step for session in given if session.kind == kind for step in session.steps]
        bad = {repr(step.call) for step in steps if step.violates}
        assert not bad & {repr(step.call) for step in steps if not step.violates}, kind


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_every_command_is_one_that_a_shell_can_read(given: list[RuleSession]) -> None:
    commands = {step.call.input["command"] for session in given for step in session.steps if step.call.tool == "Bash"}
    text = "\n".join(f"f{number}() {{\n{command}\n}}" for number, command in enumerate(sorted(commands)))
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_oracle_has_all_and_a_guard_that_lets_all_pass_has_nothing(given: list[RuleSession]) -> None:
    truth = {(session.rule, repr(step.call)) for session in given for step in session.steps if step.violates}

    def oracle(rule: str, call: HookCall, before: Sequence[HookCall]) -> bool:
        return (rule, repr(call)) in truth and not any(one.input.get("command") == "make typecheck" for one in before)

    best, worst = score(oracle, given)["all"], score(command.nothing, given)["all"]
    assert (best.caught_share, best.touched_share, best.wrong) == (1.0, 0.0, [])
    assert (worst.caught_share, worst.touched_share) == (0.0, 0.0)
    assert len(worst.wrong) == worst.violations == 600


def test_looking_for_the_rules_words_is_not_enough(given: list[RuleSession]) -> None:
    row = score(mentions, given)["all"]
    assert 0.3 < row.caught_share < 0.8
    assert row.touched_share > 0.1


def test_a_guard_sees_the_calls_before(given: list[RuleSession]) -> None:
    seen: list[int] = []

    def guard(rule: str, call: HookCall, before: Sequence[HookCall]) -> bool:
        seen.append(len(before))
        return False

    score(guard, given[:1])
    assert seen == list(range(len(given[0].steps)))


def test_the_command_measures_a_guard_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--guard", "benchmarks.rule_compliance:nothing", "--sessions", "12", "--wrong"]) == 0
    out = capsys.readouterr().out
    assert "| all | 36 | 0 (0.0%) |" in out
    assert "missed: " in out
