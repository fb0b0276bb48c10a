"""The record of single decisions: written with the run, bounded, gone with a purged memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryd import verdicts
from memoryd.ledger import How
from memoryd.state import Cursor, Run, State
from memoryd.testing import FakeClock
from memoryd.verdicts import KEPT, MOST_OF_A_SESSION, REFUSED, TEXT_CHARS, Verdict


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state.db", FakeClock())


def finish(state: State, *decided: Verdict, session: str = "s1") -> None:
    state.finish_piece(Cursor("t"), Run(session, "t", "p", "2026-01-01T00:00:00Z", 0, 1), decided)


def test_verdicts_come_back_in_the_order_of_the_log_run_by_run(state: State) -> None:
    finish(state, Verdict(REFUSED, "weak", "later", line=9), Verdict(KEPT, "rule", "earlier", line=2))
    finish(state, Verdict(REFUSED, "weak", "of the next piece", line=1))
    finish(state, Verdict(REFUSED, "weak", "of another session"), session="s2")
    assert [v.text for v in state.verdicts("s1")] == ["earlier", "later", "of the next piece"]


def test_a_session_keeps_a_bounded_number_and_refused_ones_go_first(state: State) -> None:
    finish(state, Verdict(KEPT, "rule", "the kept one"))
    for _ in range(5):
        finish(state, *(Verdict(REFUSED, "weak", f"text {n}") for n in range(100)))
    left = state.verdicts("s1")
    assert len(left) == MOST_OF_A_SESSION
    assert left[0].text == "the kept one"


def test_all_sessions_together_are_bounded(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "MOST", 3)
    for number in range(5):
        finish(state, Verdict(REFUSED, "weak", f"text {number}"), session=f"s{number}")
    assert [bool(state.verdicts(f"s{number}")) for number in range(5)] == [False, False, True, True, True]


def test_a_long_text_is_cut(state: State) -> None:
    finish(state, Verdict(REFUSED, "length", "word " * 1000))
    assert len(state.verdicts("s1")[0].text) <= TEXT_CHARS


def test_nothing_of_a_purged_memory_stays_also_not_its_words_elsewhere(state: State) -> None:
    finish(state, Verdict(KEPT, "rule", "The key lies in the safe.", "mem_000000000001"), Verdict(KEPT, "rule", "Other."))
    finish(state, Verdict(REFUSED, "weak", "The key lies in the safe."), session="s2")
    state.ledger.erase("mem_000000000001")
    assert [v.text for v in state.verdicts("s1")] == ["Other."]
    assert state.verdicts("s2") == []


def test_uses_are_found_by_session(state: State) -> None:
    state.ledger.record_use(["mem_000000000001"], "s1", How.CITED)
    state.ledger.record_use(["mem_000000000002"], "s2", How.CITED)
    assert [use.memory for use in state.ledger.uses_in("s1")] == ["mem_000000000001"]
