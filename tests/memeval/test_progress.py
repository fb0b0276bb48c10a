from __future__ import annotations

import io

import pytest

from memeval.cli.progress import LiveProgress, PlainProgress
from memeval.reporting.tally import Tally
from memeval.results.store import Status
from memeval.types import Phase


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_come_at_the_start_now_and_then_and_at_the_end() -> None:
    clock, out = Clock(), io.StringIO()
    with PlainProgress("b × p:", out, clock) as progress:
        progress.begin(Phase.ANSWER, 40, 10)
        for number in range(30):
            clock.now += 1
            progress.advance(Phase.ANSWER, Status.DONE, {}, 0.01 * (number < 20))
        progress.end(Phase.ANSWER)
    lines = out.getvalue().splitlines()
    assert lines[0] == "b × p: answer: 40 to do, 10 done before"
    assert lines[1] == "b × p: answer: 20/40, 20 s left, 0.1000 US$"
    assert len(lines) == 5
    assert lines[-1] == "b × p: answer: 40/40 in 30.0 s, 0.2000 US$"


def test_accuracy_so_far_comes_with_its_interval_and_counts_failures_as_wrong() -> None:
    tally = Tally(10, 0)
    tally.add(Status.DONE, {"session.recall_all@5": 0.0, "llm_accuracy": 1.0}, 0.0)
    tally.add(Status.FAILED, {}, 0.0)
    assert tally.text() == "1 failed, llm_accuracy 50.0 [9.5, 90.5]"


def test_graded_values_have_an_interval_too() -> None:
    tally = Tally(10, 0)
    tally.add(Status.DONE, {"f1": 0.4}, 0.0)
    assert tally.text() == "f1 40.0"
    for value in (0.6, 0.5, 0.5):
        tally.add(Status.DONE, {"f1": value}, 0.0)
    assert tally.text() == "f1 50.0 [42.0, 58.0]"  # standard deviation 0.0816 over 4 values: ± 1.96 · 0.0408


def test_an_unknown_cost_is_not_shown_as_free() -> None:
    tally = Tally(2, 0)
    tally.add(Status.DONE, {}, 0.5)
    tally.add(Status.DONE, {}, None)
    assert tally.text() == "cost unknown"


def test_live_bars_show_the_phase_what_is_done_and_what_was_scored(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveProgress("b × p:") as progress:
        progress.begin(Phase.EVALUATE, 2, 0)
        progress.advance(Phase.EVALUATE, Status.DONE, {"f1": 0.5}, 0.0)
        progress.end(Phase.EVALUATE)
    shown = capsys.readouterr().err
    assert all(part in shown for part in ("b × p: evaluate", "2/2", "f1 50.0"))
