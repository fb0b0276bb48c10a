from __future__ import annotations

from pathlib import Path

import pytest

from memoryd.core import state as state_module
from memoryd.core.clock import to_iso
from memoryd.core.config import Settings
from memoryd.core.db import Database
from memoryd.core.ledger import UseKind
from memoryd.core.state import MAX_BACKOFF_SECONDS, Cursor, Run, State
from memoryd.core.types import Usage
from memoryd.daydream.readers import reader_line, spending
from memoryd.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def state(tmp_path: Path, clock: FakeClock) -> State:
    return State(tmp_path / "state.db", clock)


def run(**values: object) -> Run:
    base: dict[str, object] = {
        "session": "s", "transcript": "t", "project": "p", "at": "2026-01-01T00:00:00Z", "start": 0, "stop": 10,
    }  # fmt: skip
    return Run(**(base | values))  # type: ignore[arg-type]


def test_a_cursor_moves_together_with_the_record_of_its_run(state: State) -> None:
    assert state.cursor("t") == Cursor("t")
    moved = Cursor("t", "s", 10, 2, "print", "[]")
    state.finish_piece(moved, run(kept=1, skipped={"noise": 3}, usage=Usage(1, 10, 5, 0.1)))
    assert state.cursor("t") == moved
    (kept,) = state.runs("s")
    assert kept.skipped == {"noise": 3}
    assert kept.usage == Usage(1, 10, 5, 0.1)
    assert state.tokens_since("2026-01-01") == 15
    assert state.tokens_since("2026-01-02") == 0


def test_a_job_that_is_asked_for_while_it_runs_is_not_lost(state: State) -> None:
    state.enqueue("t", "s", "/c", "Stop")
    job = state.due_job()
    assert job is not None
    state.enqueue("t", "s", "/c", "SessionEnd")
    state.finish_job(job)
    again = state.due_job()
    assert again is not None and again.reason == "SessionEnd"
    state.finish_job(again)
    assert state.due_job() is None


def test_a_failing_job_waits_longer_each_time(state: State, clock: FakeClock) -> None:
    state.enqueue("t", "s", "/c", "Stop")
    delays = []
    for _ in range(12):
        job = state.jobs()[0]
        delays.append(state.postpone_job(job, "model is down"))
        assert state.due_job() is None
        clock.advance(seconds=delays[-1] + 1)
        assert state.due_job() is not None
    assert delays == sorted(delays)
    assert delays[-1] == MAX_BACKOFF_SECONDS
    assert state.jobs()[0].error == "model is down"


def test_a_new_event_does_not_cut_a_back_off_short(state: State) -> None:
    state.enqueue("t", "s", "/c", "Stop")
    state.postpone_job(state.jobs()[0], "down")
    state.enqueue("t", "s", "/c", "Stop")
    assert state.due_job() is None


def test_nothing_is_injected_twice_until_the_session_forgets(state: State) -> None:
    state.touch_session("s", "p", "/c", "t")
    state.record_injection("s", ["mem_1", "mem_1", "mem_2"], "SessionStart")
    state.set_governed("s")
    assert state.injected("s") == {"mem_1", "mem_2"}
    state.forget_injections("s")
    session = state.session("s")
    assert state.injected("s") == set()
    assert session is not None and not session.governed


def test_a_session_that_continues_is_not_ended(state: State, clock: FakeClock) -> None:
    state.touch_session("s", "p", "/c", "t")
    state.end_session("s")
    clock.advance(minutes=1)
    state.touch_session("s", "p", "/c", "t")
    session = state.session("s")
    assert session is not None and session.ended_at == ""
    assert state.sessions()[0] == session


def test_a_project_is_switched_off_and_on(state: State) -> None:
    assert not state.is_off("p")
    state.switches.set("p", True)
    assert state.is_off("p") and state.switches.projects_off() == ["p"]
    state.switches.set("p", False)
    assert not state.is_off("p")


def test_what_is_remembered_survives_reopening(tmp_path: Path, clock: FakeClock) -> None:
    first = State(tmp_path / "state.db", clock)
    first.set_note("dream", "2026-01-01")
    first.close()
    assert State(tmp_path / "state.db", clock).note("dream") == "2026-01-01"


def test_a_database_of_the_first_version_gets_the_ledger_and_keeps_what_was_injected(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    db = Database(path)
    db.execute("CREATE TABLE _migrations (name TEXT PRIMARY KEY, applied_at TEXT DEFAULT CURRENT_TIMESTAMP)")
    state_module.m001_create(db)
    db.execute("INSERT INTO _migrations (name) VALUES ('m001_create')")
    db.execute("INSERT INTO injection VALUES ('s1', 'mem_000000000001', '2026-01-01T00:00:00Z', 'SessionStart')")
    db.close()
    state = State(path, FakeClock())
    assert [(use.session, use.how) for use in state.ledger.uses("mem_000000000001")] == [("s1", UseKind.INJECTED)]
    assert state.injected("s1") == {"mem_000000000001"}
    state.close()


def test_a_job_put_off_while_the_clock_was_ahead_is_due_afterwards(state: State, clock: FakeClock) -> None:
    state.enqueue("/log", "s1", "/shop", "Stop")
    clock.advance(days=1500)
    (job,) = state.jobs()
    state.postpone_job(job, "no answer")
    clock.advance(days=-1500)
    due = state.due_job()
    assert due is not None and due.transcript == "/log"
    state.postpone_job(due, "no answer")
    assert state.due_job() is None


def test_a_call_of_unknown_cost_makes_the_sum_unknown_and_not_free(state: State, clock: FakeClock) -> None:
    state.record_run(run(at=to_iso(clock.now()), usage=Usage(1, 10, 5, 0.25)))
    assert spending(state, clock)["usd_today"] == 0.25
    state.record_run(run(at=to_iso(clock.now()), usage=Usage(1, 10, 5, None)))
    assert state.runs(limit=1)[0].usage.cost_usd is None
    spent = spending(state, clock)
    assert (spent["tokens_today"], spent["usd_today"], spent["usd_month"]) == (30, None, None)
    assert "(cost unknown)" in reader_line(Settings(home=Path("home"), reader="endpoint"), spent)
