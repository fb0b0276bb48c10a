from __future__ import annotations

import io

import pytest

from memeval.results.store import Status
from memeval.run.progress import FinishedItem, LiveProgress, PlainProgress, Tally


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_come_at_the_start_now_and_then_and_at_the_end() -> None:
    clock, out = Clock(), io.StringIO()
    with PlainProgress(out, clock) as progress:
        progress.begin("b × p: answer", 40, 10)
        for number in range(30):
            clock.now += 1
            progress.advance("b × p: answer", FinishedItem(cost_usd=0.01 * (number < 20)))
        progress.end("b × p: answer")
    lines = out.getvalue().splitlines()
    assert lines[0] == "b × p: answer: 40 to do, 10 done before"
    assert lines[1] == "b × p: answer: 20/40, 20 s left, 0.1000 US$"
    assert len(lines) == 5
    assert lines[-1] == "b × p: answer: 40/40 in 30.0 s, 0.2000 US$"


def test_accuracy_so_far_counts_failures_as_wrong() -> None:
    tally = Tally(10, 0)
    tally.add(FinishedItem(Status.DONE, {"session.recall_all@5": 0.0, "llm_accuracy": 1.0}, 0.0))
    tally.add(FinishedItem(Status.FAILED, {}, 0.0))
    assert tally.text() == "1 failed, llm_accuracy 50.0 so far"


def test_what_is_known_so_far_has_no_interval_for_its_questions_may_be_of_one_conversation() -> None:
    tally = Tally(10, 0)
    for value in (0.4, 0.6, 0.5, 0.5):
        tally.add(FinishedItem(Status.DONE, {"f1": value}, 0.0))
    assert tally.text() == "f1 50.0 so far"


def test_an_unknown_cost_is_not_shown_as_free() -> None:
    tally = Tally(2, 0)
    tally.add(FinishedItem(Status.DONE, {}, 0.5))
    tally.add(FinishedItem(Status.DONE, {}, None))
    assert tally.text() == "cost unknown"


def test_live_bars_show_the_phase_what_is_done_and_what_was_scored(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveProgress() as progress:
        progress.begin("b × p: evaluate", 2, 0)
        progress.advance("b × p: evaluate", FinishedItem(scores={"f1": 0.5}))
        progress.end("b × p: evaluate")
    shown = capsys.readouterr().err
    assert all(part in shown for part in ("b × p: evaluate", "2/2", "f1 50.0"))


def test_a_crash_of_the_client_counts_as_failed_but_not_as_a_wrong_answer() -> None:
    tally = Tally(4, 0)
    tally.add(FinishedItem(Status.DONE, {"accuracy": 1.0}, 0.5, 3_000))
    tally.add(FinishedItem(Status.FAILED, cost_usd=0.0, tokens=1_000, excused=True))
    tally.add(FinishedItem(Status.SKIPPED, excused=True))
    assert tally.text().startswith("1 failed, 1 could not be prepared, accuracy 100.0 so far")
    assert tally.text().endswith("0.5000 US$, 4k tokens")
