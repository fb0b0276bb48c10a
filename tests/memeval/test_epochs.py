"""Tests of --epochs: each question is answered and judged several times."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memeval import stats
from memeval.console.library import Library
from memeval.report import load_run, parse_run
from memeval.report.html.run_page import anchor_of, question_details
from memeval.report.tables import whole_table
from memeval.results.files import ResultsDir
from memeval.run.result import interval_of
from memoryd.core.types import Completion, Usage
from tests.memeval.conftest import Invoke
from tests.memeval.fakes import COLOURS, Parrot
from tests.memeval.test_resume import without_times

ANSWERED = ("eval", "-b", "tiny", "-p", "notes", "-m", "parrot", "--judge", "f1", "--concurrency", "1")
Load = Callable[[str], Any]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the model answer with the next colour at each call, and return the answers."""
    numbers, answers = count(), list[str]()

    def answer(self: Parrot, messages: Any, **options: Any) -> Completion:
        answers.append(COLOURS[next(numbers) % 3])
        return Completion(answers[-1], "parrot", Usage(1, 10, 1, 0.001), 0.01)

    monkeypatch.setattr(Parrot, "complete", answer)
    return answers


def test_each_question_is_answered_and_judged_in_each_epoch(memeval: Invoke, result_of: Load, calls: list[str]) -> None:
    done = memeval(*ANSWERED, "--run-id", "r", "--epochs", "3")
    assert done.exit_code == 0, done.output
    result = result_of("r")
    first = result["questions"][0]
    assert len(calls) == 6 * 3
    assert [one["text"] for one in first["answer"]["epochs"]] == ["red", "green", "blue"]
    assert next(score for score in first["scores"] if score["metric"] == "f1")["epochs"] == [0.0, 1.0, 0.0]
    cell = result["metrics"]["f1"]
    assert cell["total"] == 6 and cell["value"] == pytest.approx(sum(cell["epochs"]["values"]) / 3)
    assert result["usage"]["answer"]["calls"] == 18 and result["usage"]["answer"]["cost_usd"] == pytest.approx(0.018)
    assert cell["interval"]["method"].startswith("cluster") and cell["interval"]["clusters"] == 3
    row = whole_table(parse_run(result)).rows[1]
    assert row[0] == "f1, sd between epochs" and row[2].startswith("3 epochs: ")
    page = str(question_details(parse_run(result).questions[0]))
    assert all(colour in page for colour in ("red", "green", "blue")) and "(0, 1, 0)" in page


def test_a_run_stopped_between_epochs_asks_only_for_what_is_missing(memeval: Invoke, result_of: Load, calls: list[str]) -> None:
    words = (*ANSWERED, "--epochs", "3", "--no-cache")
    assert memeval(*words, "--run-id", "whole").exit_code == 0
    whole = without_times(result_of("whole"))
    calls.clear()
    assert memeval(*words, "--run-id", "cut", "--budget-usd", "0.0075").exit_code == 3
    assert len(calls) == 7, "the run was stopped in the third question"
    resume = ("eval", "--resume", "cut", "--no-cache", "--concurrency", "1")
    assert memeval(*resume, "--budget-usd", "0.0105").exit_code == 3, "what was spent counts"
    assert len(calls) == 10
    assert memeval(*resume).exit_code == 0
    assert len(calls) == 18
    assert {**without_times(result_of("cut")), "run_id": "whole"} == whole


def test_an_epoch_is_asked_again_even_though_answers_are_cached(memeval: Invoke, result_of: Load, calls: list[str]) -> None:
    assert memeval(*ANSWERED, "--run-id", "one").exit_code == 0
    assert memeval(*ANSWERED, "--run-id", "two", "--epochs", "2").exit_code == 0
    assert len(calls) == 12, "the first epoch is that of the run before"
    assert memeval(*ANSWERED, "--run-id", "three", "--epochs", "2").exit_code == 0
    assert len(calls) == 12 and result_of("three")["metrics"]["f1"] == result_of("two")["metrics"]["f1"]


def test_epochs_need_answers(memeval: Invoke) -> None:
    done = memeval("eval", "-b", "tiny", "-p", "notes", "--epochs", "2")
    assert done.exit_code == 2 and "--answering-model" in done.stderr


def test_the_interval_covers_the_mean_that_more_epochs_and_questions_would_show() -> None:
    random, covered, naive = Random(3), 0, 0
    for _ in range(400):
        observed = [
            (str(q), float(random.random() < chance)) for q in range(40) for chance in [random.random()] for _ in range(4)
        ]
        interval = interval_of(observed, 0)
        assert interval is not None
        covered += interval["low"] <= 0.5 <= interval["high"]
        independent = stats.wilson(sum(value for _, value in observed), len(observed))
        assert independent is not None
        naive += independent.low <= 0.5 <= independent.high
    assert covered / 400 >= 0.93 > naive / 400


def test_every_prompt_and_reply_is_kept_with_its_record_and_not_in_the_result(
    memeval: Invoke, result_of: Load, calls: list[str], folder: Path
) -> None:
    script = folder / "yes.json"
    script.write_text('{"default": "yes"}')
    words = (
        "eval",
        "-b",
        "tiny",
        "-p",
        "notes",
        "-m",
        "parrot",
        "--judge",
        "llm",
        "--judge-model",
        f"scripted/{script}",
        "--limit",
        "1",
    )
    assert memeval(*words, "--run-id", "once", "--concurrency", "1").exit_code == 0
    assert memeval(*words, "--run-id", "twice", "--epochs", "2", "--concurrency", "1").exit_code == 0
    for run, times in (("once", 1), ("twice", 2)):
        detail = Library(folder / "results").question(
            run, anchor_of(load_run(ResultsDir(folder / "results"), run).questions[0].key)
        )
        assert [call.phase for call in detail.calls] == ["answer"] * times + ["evaluate"] * times
        assert detail.question.text in detail.calls[0].messages[-1][1] and detail.calls[0].reply in COLOURS
        assert detail.calls[0].reply in detail.calls[times].messages[-1][1], "the judge was sent the answer"
        assert detail.calls[times].reply == "yes"
        assert "calls" not in result_of(run)["questions"][0]["answer"]
