"""Tests of `eval --from`: a run that reuses phases of another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.memeval.conftest import Invoke

EVAL = ("eval", "-b", "tiny", "-p", "notes")
ANSWERED = (*EVAL, "-m", "parrot", "--judge", "f1")
Load = Callable[[str], Any]


def test_answers_can_be_made_again_from_another_run_s_search(memeval: Invoke, result_of: Load) -> None:
    memeval(*EVAL, "--run-id", "r")
    done = memeval(*ANSWERED, "--from", "r", "--phase", "answer", "--run-id", "r2")
    assert done.exit_code == 0, done.output
    assert result_of("r2")["totals"]["done"] == 6
    assert result_of("r2")["metrics"]["f1"]["scored"] == 6
    assert result_of("r2")["source_run"] == "r"


def answers(result: Any) -> list[Any]:
    return [question["answer"] for question in result["questions"]]


def test_a_run_from_another_needs_no_flag_of_what_is_reused(memeval: Invoke, result_of: Load) -> None:
    memeval(*ANSWERED, "--run-id", "r", "--limit", "4", "--top-k", "3", "--granularity", "turn", "--search-k", "7")
    done = memeval("eval", "--from", "r", "--phase", "answer", "-m", "extractive", "--judge", "exact", "--run-id", "r2")
    assert done.exit_code == 0, done.output
    old, new = result_of("r"), result_of("r2")
    assert (new["totals"]["total"], new["settings"]["top_k"], new["settings"]["search_k"]) == (4, 3, 7)
    assert {answer["model"] for answer in answers(new)} == {"extractive"}
    assert "exact" in new["metrics"]
    judged = memeval("eval", "--from", "r", "--phase", "evaluate", "--judge", "exact", "--run-id", "r3")
    assert judged.exit_code == 0, judged.output
    assert answers(result_of("r3")) == answers(old)
    assert result_of("r3")["models"]["answering"] == "parrot"
    assert list(result_of("r3")["metrics"])[0] == "exact"
    response = memeval("eval", "--from", "r", "--phase", "report", "--run-id", "r4")
    assert response.exit_code == 0, response.output
    assert result_of("r4")["metrics"] == old["metrics"]
    assert result_of("r4")["models"] == old["models"]
    again = memeval("eval", "--from", "r", "--phase", "search", "--run-id", "r5", "--granularity", "session")
    assert again.exit_code == 0, again.output
    assert (result_of("r5")["settings"]["granularity"], result_of("r5")["totals"]["total"]) == ("session", 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--phase", "answer", "-m", "parrot", "--top-k", "20"), "--top-k 10, not 20"),
        (("--phase", "answer", "-m", "parrot", "--granularity", "session"), "--granularity"),
        (("--phase", "answer", "-m", "parrot", "--provider-option", "failSearch=x"), "--provider-options"),
        (("--phase", "search", "--provider-option", "failSearch=x"), "--provider-options"),
        (("--phase", "search", "--variant", "official"), "--variant"),
        (("--phase", "evaluate", "-m", "extractive", "--judge", "f1"), "--answering-model"),
        (("--phase", "evaluate", "--reader", "con"), "--reader"),
        (("--phase", "answer", "-p", "bm25", "-m", "parrot"), '--provider "notes", not "bm25"'),
        (("--phase", "answer"), "requires --answering-model"),
        (("--phase", "answer", "-p", "bm25", "notes", "-m", "parrot"), "one benchmark and one provider"),
        (("--phase", "answer", "-m", "parrot", "--limit", "2"), "questions are those of that run"),
    ],
)
def test_what_another_run_did_otherwise_is_an_error_and_no_run(
    memeval: Invoke, folder: Path, words: tuple[str, ...], said: str
) -> None:
    memeval(*ANSWERED, "--run-id", "r")
    done = memeval("eval", "--from", "r", "--run-id", "r2", *words)
    assert done.exit_code != 0
    assert said in done.stderr
    assert not (folder / "results" / "runs" / "r2").exists()


def test_only_what_is_complete_and_still_there_is_reused(memeval: Invoke, folder: Path) -> None:
    memeval("prepare", "-b", "tiny", "-p", "notes", "--run-id", "r")
    early = memeval("eval", "--from", "r", "--phase", "answer", "-m", "parrot", "--run-id", "r2")
    assert "Phase search of run r is not complete" in early.stderr
    (folder / "results" / "runs" / "r" / "state").rename(folder / "gone")
    assert "has no state" in memeval("run", "r", "--run-id", "r2").stderr
    assert not (folder / "results" / "runs" / "r2").exists()


def test_options_that_act_at_the_search_alone_may_differ_from_those_of_the_ingest(memeval: Invoke, result_of: Load) -> None:
    memeval("prepare", "-b", "tiny", "-p", "bm25", "--run-id", "r", "--provider-option", "k1=1.0")
    done = memeval("eval", "--from", "r", "--phase", "search", "--provider-option", "b=0.2", "--time-aware", "--run-id", "r2")
    assert done.exit_code == 0, done.output
    assert result_of("r2")["settings"]["provider_options"] == {"k1": 1.0, "b": 0.2, "timeAware": True}


def test_hypotheses_are_judged_again_but_never_searched(memeval: Invoke, result_of: Load, folder: Path) -> None:
    file = folder / "mine.jsonl"
    file.write_text('{"question_id": "c0/q1", "hypothesis": "green"}\n')
    memeval("evaluate", "--hypothesis", str(file), "-b", "tiny", "--judge", "f1", "--run-id", "h")
    refused = memeval("eval", "--from", "h", "--phase", "answer", "-m", "parrot", "--run-id", "r")
    assert "answers of another program" in refused.stderr
    assert memeval("eval", "--from", "h", "--phase", "evaluate", "--judge", "exact", "--run-id", "r").exit_code == 0
    assert result_of("r")["provider"]["name"] == "mine"
    assert result_of("r")["metrics"]["exact"]["scored"] == 1


def test_a_forced_ingest_leaves_the_state_of_the_run_it_came_from(memeval: Invoke, result_of: Load, folder: Path) -> None:
    memeval("prepare", "-b", "tiny", "-p", "notes", "--run-id", "base")
    memeval("run", "base", "--run-id", "r")
    assert memeval("eval", "--resume", "r", "--force").exit_code == 0
    assert result_of("r")["source_run"] is None
    names = {path.name for path in (folder / "results" / "runs" / "r" / "state").iterdir()}
    assert len(names) == 3
    assert all("base" not in name for name in names)


def test_a_resumed_run_keeps_its_settings(memeval: Invoke) -> None:
    memeval(*ANSWERED, "--run-id", "r")
    done = memeval("eval", "--resume", "r", "--judge", "exact")
    assert done.exit_code == 2
    assert "omit --judge" in done.stderr
