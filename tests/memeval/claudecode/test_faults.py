"""Faults of the server: what is retried, how long the run waits, when it ends, and what is repeated when it is resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.claudecode.client import read_stream
from memeval.claudecode.console import unscored_fault
from memeval.claudecode.contract import OUTSIDE_FAULTS, ErrorKind, SessionResult
from memeval.claudecode.faults import (
    JUDGE_FAULT,
    PATIENCE_SECONDS,
    CircuitBreaker,
    MemoryBreaker,
    Patience,
    add_lost,
    forget_faults,
    lost_of,
    sum_lost,
)
from memeval.core.calls import RetryPolicy
from memeval.core.errors import ConfigError, ModelError
from memeval.core.types import Phase
from memeval.results.codec import usage_to_json
from memeval.results.files import ResultsDir
from memeval.results.store import Key, QuestionRow, Status
from memeval.run.checkpoint import Run
from memeval.run.settings import Settings
from memoryd.core.types import Usage

KINDS = st.sampled_from(list(ErrorKind))
SECONDS = st.none() | st.floats(0, 100_000)


def ended(kind: ErrorKind, retry_after: float | None = None, message: str = "said") -> SessionResult:
    return SessionResult("", error=kind, message=message, fix="fix", retry_after=retry_after)


@given(KINDS, SECONDS, st.integers(0, 5), st.booleans())
def test_a_pause_is_never_shorter_than_the_server_asked_and_only_faults_that_can_pass_are_retried(
    kind: ErrorKind, asked: float | None, attempt: int, wait: bool
) -> None:
    pause = Patience(RetryPolicy(2, 1.0), wait).pause(ended(kind, asked), attempt, 0, 1.0)
    if pause is not None:
        assert kind in OUTSIDE_FAULTS
        assert pause >= (asked or 0)
        assert (attempt < 2 and pause <= PATIENCE_SECONDS) or (wait and kind is ErrorKind.RATE_LIMIT)
    elif kind is ErrorKind.RATE_LIMIT:
        assert not wait


@pytest.mark.parametrize("kind", [ErrorKind.RATE_LIMIT, ErrorKind.NETWORK, ErrorKind.SERVER, ErrorKind.HANG])
def test_three_faults_of_the_server_in_a_row_end_the_run_and_an_answer_between_them_does_not(kind: ErrorKind) -> None:
    breaker = CircuitBreaker(resume="--resume g")
    for result in (kind, kind, ErrorKind.NONE, kind, kind):
        breaker.note(ended(result))
    with pytest.raises(ModelError, match="3 sessions in a row") as raised:
        breaker.note(ended(kind))
    assert "--resume g" in raised.value.fix


def test_a_lost_login_and_a_long_limit_end_the_run_at_once() -> None:
    with pytest.raises(ConfigError, match="said"):
        CircuitBreaker().note(ended(ErrorKind.LOGIN))
    with pytest.raises(ModelError, match="lasts until") as raised:
        CircuitBreaker().note(ended(ErrorKind.RATE_LIMIT, 5000))
    assert "--wait" in raised.value.fix


def test_three_failures_of_memory_in_a_row_stop_a_cell() -> None:
    breaker = MemoryBreaker()
    for kind in (ErrorKind.DAYDREAM, ErrorKind.DAYDREAM, ErrorKind.NONE, ErrorKind.DAYDREAM, ErrorKind.PLUGIN):
        breaker.note(ended(kind))
        assert breaker.fault is None
    breaker.note(ended(ErrorKind.DAYDREAM))
    assert breaker.fault is not None


def test_a_cell_in_which_faults_left_nothing_scored_ends_the_command_with_an_error() -> None:
    names = {"benchmark": "b", "arm": "off", "model": "m", "repeat": 1}
    cell = {**names, "questions": {"total": 3}, "unscored": {"crash": 2}}
    assert unscored_fault({"group": "g", "cells": [cell]}) is None
    fault = unscored_fault({"group": "g", "cells": [cell, {**cell, "unscored": {"crash": 1, "blocked": 2}}]})
    assert fault is not None and "1 of 2 cells because of faults (b off m)" in fault.message and "--resume g" in fault.fix


def printed(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_waits_limits_and_a_running_tool_are_read_from_the_output_of_the_client() -> None:
    use = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}}
    returned = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]}}
    retry = {"type": "system", "subtype": "api_retry", "retry_delay_ms": 4323}
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1_795_917_104}}
    allowed = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed", "resetsAt": 5}}
    stream = read_stream(printed(retry, limit, allowed, use))
    assert (stream.delay, stream.resets_at, stream.works) == (4.323, 1_795_917_104.0, True)
    assert not read_stream(printed(use, returned)).works


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    settings = Settings(benchmark="b", provider="p", answering_model="m", judge="", judge_model="", data="")
    with Run.create(ResultsDir(tmp_path), "g.b", settings, {}) as made:
        made.plan([QuestionRow(number, "c", f"q{number}", {"question": {}}) for number in range(4)], {})
        yield made


def record(run: Run, question: str, status: str, reason: str = "", **more: Any) -> None:
    usage = usage_to_json(Usage(1, 10, 2, 0.5))
    shown = {} if "blocked" in more else {"trajectory": {"status": status}}
    scores = [{"metric": "accuracy", "value": None if reason else 1.0, "reason": reason}]
    run.done(Key(Phase.SEARCH, "c", question))
    failed = Status.FAILED if status in OUTSIDE_FAULTS else Status.DONE
    run.done(Key(Phase.ANSWER, "c", question), {"usage": usage, **shown, **more}, status=failed)
    run.done(Key(Phase.EVALUATE, "c", question), {"scores": scores}, status=failed)


def test_a_resume_forgets_faults_what_they_blocked_and_questions_whose_judge_failed_and_keeps_their_cost(run: Run) -> None:
    for part, status in (("r0", "done"), ("r1", "server")):
        run.done(
            Key(Phase.INGEST, "c", part=part), {"trajectory": {"status": status}, "usage": usage_to_json(Usage(1, 1, 1, 0.25))}
        )
    run.done(Key(Phase.INGEST, "c"), {"usage": usage_to_json(Usage())})
    record(run, "q0", "timeout")
    record(run, "q1", "hang")
    record(run, "q2", "", blocked="r1")
    record(run, "q3", "done", f"{JUDGE_FAULT}503")
    assert forget_faults(run, cached=True) == 4
    assert [key.part for key in run.store.keys(Phase.INGEST)] == ["r0"]
    assert [key.question_id for key in run.store.keys(Phase.ANSWER)] == ["q0"]
    lost = lost_of(run.store)
    assert (lost["sessions"], lost["by_kind"], lost["usage"]["cost_usd"]) == (2, {"hang": 1, "server": 1}, 0.75)
    assert forget_faults(run, cached=True) == 0


def test_the_costs_of_failed_sessions_of_shards_are_added_up(run: Run) -> None:
    add_lost(run.store, "hang", Usage(1, 10, 1, 0.5))
    add_lost(run.store, "crash", Usage(1, 10, 1, None))
    both = sum_lost([run.store, run.store])
    assert (both["sessions"], both["by_kind"], both["usage"]["cost_usd"]) == (4, {"crash": 2, "hang": 2}, None)
