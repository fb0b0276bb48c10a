"""The log of single decisions: written with the run, limited, and removed with a purged memory."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from memoryd.core import decision_log
from memoryd.core.db import Database
from memoryd.core.decision_log import KEPT, MAX_PER_SESSION, REFUSED, TEXT_CHARS, LoggedDecision
from memoryd.core.ledger import UseKind
from memoryd.core.state import Cursor, Run, State
from memoryd.core.types import Refused, Source, Turn, TurnKind
from memoryd.daydream.reconcile import decided, shown_text
from memoryd.testing import FakeClock


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state.db", FakeClock())


def finish(state: State, *decided: LoggedDecision, session: str = "s1") -> None:
    state.finish_piece(Cursor("t"), Run(session, "t", "p", "2026-01-01T00:00:00Z", 0, 1), decided)


def test_verdicts_come_back_in_the_order_of_the_log_run_by_run(state: State) -> None:
    finish(state, LoggedDecision(REFUSED, "weak", "later", line=9), LoggedDecision(KEPT, "rule", "earlier", line=2))
    finish(state, LoggedDecision(REFUSED, "weak", "of the next piece", line=1))
    finish(state, LoggedDecision(REFUSED, "weak", "of another session"), session="s2")
    assert [v.line for v in state.verdicts("s1")] == [2, 9, 1]


def test_a_session_keeps_a_bounded_number_and_refused_ones_go_first(state: State) -> None:
    finish(state, LoggedDecision(KEPT, "rule", "the kept one"))
    for _ in range(5):
        finish(state, *(LoggedDecision(REFUSED, "weak", f"text {n}") for n in range(100)))
    left = state.verdicts("s1")
    assert len(left) == MAX_PER_SESSION
    assert left[0].outcome == KEPT


def test_all_sessions_together_are_bounded(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "MAX_DECISIONS", 3)
    for number in range(5):
        finish(state, LoggedDecision(REFUSED, "weak", f"text {number}"), session=f"s{number}")
    assert [bool(state.verdicts(f"s{number}")) for number in range(5)] == [False, False, True, True, True]


def test_decisions_store_the_place_of_a_statement_and_not_its_text(state: State, tmp_path: Path) -> None:
    finish(state, LoggedDecision(REFUSED, "weak", "Zebras like the harbour.", line=4, part=1, start=7, chars=24))
    (verdict,) = state.verdicts("s1")
    assert (verdict.text, verdict.line, verdict.part, verdict.start, verdict.chars) == ("", 4, 1, 7, 24)
    assert not [path for path in tmp_path.rglob("*") if b"Zebras" in path.read_bytes()]


def test_a_statement_is_shown_as_it_is_in_the_turn_and_cut_when_it_is_long() -> None:
    turns = [Turn(TurnKind.USER, "First. Second one. Third.", line=3), Turn(TurnKind.ASSISTANT, "word " * 1000, line=3)]
    result = decided(
        [], [Refused("Second one.", "weak", Source.USER, 3), Refused("not word for word", "weak", Source.USER, 3)], turns
    )
    assert [shown_text(verdict, turns) for verdict in result] == ["Second one.", "First. Second one. Third."]
    assert len(shown_text(LoggedDecision(REFUSED, "length", line=3, part=1), turns)) <= TEXT_CHARS
    assert shown_text(result[0], []) == "", "the log is gone"


def test_a_database_of_the_version_before_loses_its_prompts_and_statements(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    state = State(path, FakeClock())
    finish(state, LoggedDecision(KEPT, "rule", memory="mem_000000000001", line=2))
    state.close()
    old = Database(path)
    old.execute("ALTER TABLE verdict ADD COLUMN text TEXT DEFAULT ''")
    for name in ("part", "start", "chars"):
        old.execute(f"ALTER TABLE verdict DROP COLUMN {name}")
    old.execute("UPDATE verdict SET text = 'Zebras like the harbour.'")
    context = orjson.dumps({"v": 1, "turns": [{"text": "Zebras again"}], "held": {"text": "Zebras queued"}, "cwd": "/w"}).decode()
    old.execute("UPDATE cursor SET context = ?", (context,))
    old.execute("DELETE FROM _migrations WHERE name LIKE '%_no_text_%'")
    old.close()
    state = State(path, FakeClock())
    assert not [file for file in tmp_path.rglob("*") if b"Zebras" in file.read_bytes()], "also while it is open"
    assert orjson.loads(state.cursor("t").context)["cwd"] == "/w"
    assert state.verdicts("s1")[0].memory == "mem_000000000001"
    state.close()


def test_nothing_of_a_purged_memory_stays(state: State) -> None:
    finish(state, LoggedDecision(KEPT, "rule", memory="mem_000000000001", line=1), LoggedDecision(KEPT, "rule", line=2))
    state.ledger.erase("mem_000000000001")
    assert [v.line for v in state.verdicts("s1")] == [2]


def test_uses_are_found_by_session(state: State) -> None:
    state.ledger.record_use(["mem_000000000001"], "s1", UseKind.CITED)
    state.ledger.record_use(["mem_000000000002"], "s2", UseKind.CITED)
    assert [use.memory for use in state.ledger.uses_in("s1")] == ["mem_000000000001"]
