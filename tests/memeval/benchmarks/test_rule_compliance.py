"""The rule-compliance benchmark: what it generates, and how it scores guards of known behaviour."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest

from benchmarks import guard_rules as command
from memeval.benchmarks.opening import open_benchmark
from memeval.benchmarks.rule_compliance import CHAT, KINDS, MENTIONS, SPELLINGS, RuleSession, score, sessions
from memeval.core.errors import ConfigError, ProviderError
from memeval.core.types import Case, HookCall, Session, Turn
from memeval.providers.baselines import RuleWordsProvider
from memeval.providers.memoryd import MemorydProvider
from memeval.registry import Catalog
from memeval.report.html.run_page import question_details
from memeval.report.runs import RunResult, load_run
from memeval.results.files import ResultsDir
from memoryd.guard.compile import compile_rule
from tests.memeval.conftest import Invoke

from .conftest import shipped


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
    for kind in set(KINDS) - {"check before commit"}:  # The previous calls decide there.
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

    best, worst = score(oracle, given)["all"], score(lambda rule, call, before: False, given)["all"]
    assert (best.caught_share, best.touched_share, best.wrong) == (1.0, 0.0, [])
    assert (worst.caught_share, worst.touched_share) == (0.0, 0.0)
    assert len(worst.wrong) == worst.violations == 600


def test_a_guard_sees_the_calls_before(given: list[RuleSession]) -> None:
    seen: list[int] = []

    def guard(rule: str, call: HookCall, before: Sequence[HookCall]) -> bool:
        seen.append(len(before))
        return False

    score(guard, given[:1])
    assert seen == list(range(len(given[0].steps)))


def test_the_command_scores_compiled_rules_on_the_generated_calls(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    out = capsys.readouterr().out
    assert "| all | 600 | " in out
    assert "of 36 rules have a check" in out


# As a benchmark of memeval


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(open_benchmark(shipped("rule-compliance"), options={"sessions": 24}).cases())


def test_each_session_is_a_case_and_each_call_a_question(cases: list[Case]) -> None:
    made = list(sessions(24))
    assert [len(case.questions) for case in cases] == [len(session.steps) for session in made]
    for case, session in zip(cases, made, strict=True):
        said = [turn for one in case.sessions for turn in one.turns]
        (rule,) = (turn for turn in said if turn.text == session.rule)
        assert rule.role == "user"
        assert [question.evidence_turns for question in case.questions] == [
            (rule.id,) if step.violates else () for step in session.steps
        ]
        assert case.metadata["cluster"] == f"{session.kind}: {session.rule}", "sessions with the same rule are one cluster"
        last = case.questions[-1].metadata
        assert [one["input"] for one in last["before"]] == [dict(step.call.input) for step in session.steps[:-1]]


def test_nothing_else_that_the_user_says_is_a_rule() -> None:
    assert not [text for pair in CHAT for text in pair if compile_rule(text)]


def test_the_data_are_the_same_each_time_and_a_run_needs_a_session() -> None:
    made = [open_benchmark(shipped("rule-compliance"), options={"sessions": 5, "seed": seed}) for seed in (0, 0, 1)]
    first, second, other = (one.data_hash() for one in made)
    assert first == second != other
    with pytest.raises(ConfigError, match="below 1"):
        list(open_benchmark(shipped("rule-compliance"), options={"sessions": 0}).cases())


@pytest.fixture
def run(memeval: Invoke, folder: Path) -> Callable[..., RunResult]:
    def evaluated(provider: str, *options: str) -> RunResult:
        # The name with an underscore is accepted as well.
        named = ("-b", "rule_compliance", "-p", provider, "--benchmark-option", "sessions=12", "--run-id", provider)
        done = memeval("eval", *named, *options)
        assert done.exit_code == 0, done.output
        return load_run(ResultsDir(folder / "results"), provider)

    return evaluated


def test_a_guard_by_words_catches_some_violations_and_touches_innocent_calls(run: Callable[..., RunResult]) -> None:
    result = run("rule-words")
    caught, spared, touched = (result.metrics[f"rule_compliance_{name}"] for name in ("caught", "spared", "touched"))
    assert (caught.scored, spared.scored) == (36, len(result.questions) - 36)
    assert 0.3 < result["rule_compliance_caught"] < 0.8
    assert touched.value == pytest.approx(1 - (spared.value or 0)) and (touched.value or 0) > 0.1
    assert set(caught.by_category) == set(KINDS)
    assert result.primary == "rule_compliance_caught"
    touched_call = next(question for question in result.questions if question.guard)
    assert f"The guard said</h3>{touched_call.guard}" in re.sub("<div[^>]*>", "", unescape(question_details(touched_call)))
    assert result.clusters == 12


def test_a_provider_without_a_guard_is_measured_by_whether_its_search_finds_the_rule(run: Callable[..., RunResult]) -> None:
    result = run("bm25", "--limit", "8")
    cell = result.metrics["rule_compliance_caught"]
    assert (cell.scored, cell.failed, cell.value) == (0, 0, None)
    assert "the provider has no guard" in {score.get("reason") for score in result.data["questions"][0]["scores"]}
    assert result.metrics["turn.recall_any@5"].scored == 2


def test_a_call_whose_guard_fails_is_a_violation_missed_and_no_innocent_call_touched(
    run: Callable[..., RunResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, scope: str, call: HookCall, before: Sequence[HookCall]) -> str:
        if before:
            return ""
        raise ProviderError("no answer")

    monkeypatch.setattr(RuleWordsProvider, "guard", fail)
    result = run("rule-words", "--limit", "8", "--allow-empty", "--concurrency", "1")
    assert result.metrics["rule_compliance_caught"].failed + result.metrics["rule_compliance_spared"].failed == 1
    assert result.metrics["rule_compliance_touched"].failed == 0


def test_memoryds_guard_judges_calls_by_what_the_user_said(tmp_path: Path) -> None:
    catalog = Catalog.default(environ={})
    said = Case("c", (session_of("Never use npm here, always pnpm."),), ())
    provider = MemorydProvider(catalog.provider("memoryd"), {"settings": {"embedder": "hash", "rank": "hybrid"}})
    provider.open(tmp_path)
    try:
        provider.ingest("s", said.sessions)
        bad, good = (HookCall("Bash", {"command": command}, "/home/sam/shop") for command in ("CI=1 npm install", "pnpm install"))
        assert "Never use npm" in provider.guard("s", bad, ())
        assert provider.guard("s", good, (bad,)) == ""
        assert provider.guard("other", bad, ()) == ""
        provider.clear("s")
        assert provider.guard("s", bad, ()) == "", "a cleared scope has no rules"
    finally:
        provider.close()


def session_of(*texts: str) -> Session:
    turns = tuple(Turn(f"s1:{number}", "user", text) for number, text in enumerate(texts, start=1))
    return Session("s1", turns, datetime(2026, 1, 5, 10, tzinfo=UTC))
