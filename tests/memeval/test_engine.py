"""Tests of the engine with a minimal subject: the engine knows subjects only by their protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memeval.core.calls import Stop
from memeval.core.errors import RunError, StoppedError
from memeval.core.types import Phase, Question, QuestionType
from memeval.results.codec import question_to_json
from memeval.results.files import ResultsDir
from memeval.results.store import Key, QuestionRow
from memeval.run import engine
from memeval.run.checkpoint import Run
from memeval.run.engine import Stage, Work
from memeval.run.progress import FinishedItem, PlainProgress, Progress
from memeval.run.result import about_run, result_of
from memeval.run.settings import Settings

CASES = ("a", "b", "c")


class Echo:
    """A subject that does all phases of a case at once and stops the run at a given case."""

    benchmark = "echo"
    results_version = "v9.9"

    def __init__(self, stop: Stop, stop_at: str = "", version: str = "1") -> None:
        self.stop, self.stop_at, self.version = stop, stop_at, version
        self.done: list[str] = []
        self.opened = 0

    def about(self) -> Mapping[str, Any]:
        return {"echo": self.version}

    def check_unchanged(self, run: Run) -> None:
        if run.store.meta("echo") != self.version:
            raise RunError("The subject has changed.", fix="Start a new run.")

    def plan(self, run: Run) -> None:
        rows = []
        for number, case in enumerate(CASES):
            question = Question(f"q-{case}", "What?", QuestionType.FACT_RECALL, ("x",))
            rows.append(
                QuestionRow(number, case, question.id, {"question": question_to_json(question), "targets": [], "dates": {}})
            )
        run.plan(rows, {"cases": 3, "questions": 3})

    def stage(self, run: Run, phase: Phase, work: Work, progress: Progress) -> Stage | None:
        if phase is not Phase.INGEST:
            return None
        left = sorted(run.pending_cases())
        return Stage("echo", 3, 3 - len(left), left, lambda: self._open(run, progress), pending=bool(left))

    @contextmanager
    def _open(self, run: Run, progress: Progress) -> Iterator[Callable[[str], None]]:
        self.opened += 1
        yield lambda case: self._do(run, case, progress)

    def _do(self, run: Run, case: str, progress: Progress) -> None:
        if case == self.stop_at:
            self.stop.set()
            self.stop.check()
        run.done(Key(Phase.SEARCH, case, f"q-{case}"), {"retrieved": [], "kept": 0})
        run.done(Key(Phase.ANSWER, case, f"q-{case}"), {"text": case, "model": "echo", "prompt_hash": ""})
        run.done(Key(Phase.EVALUATE, case, f"q-{case}"), {"scores": []})
        run.done(Key(Phase.INGEST, case), {"sessions": 0, "turns": 0})
        self.done.append(case)
        progress.advance("echo", FinishedItem())

    def result(self, run: Run) -> dict[str, Any]:
        about = {"benchmark": {"name": "echo"}, "provider": {"name": "echo"}, **about_run(run)}
        return result_of(run, about, answered=True)

    def attachments(self, run: Run, file: Path) -> Mapping[Path, bytes]:
        assert not (run.results.root / file).exists(), "attachments are written before the result that names them"
        return {file.with_suffix(".txt"): b"beside"}


def started(results: ResultsDir, subject: Echo) -> Run:
    return engine.start(results, "r", Settings("echo", "echo", answering_model="echo"), subject)


def test_any_subject_runs_to_a_result_with_its_attachments(tmp_path: Path) -> None:
    results, subject = ResultsDir(tmp_path), Echo(Stop())
    with started(results, subject) as run:
        path = engine.perform(run, subject, subject.stop, PlainProgress())
    assert path is not None and path.parent.name == "v9.9"
    assert path.with_suffix(".txt").read_bytes() == b"beside"
    assert [entry["answer"]["text"] for entry in results.load("r")["questions"]] == list(CASES)


def test_a_stopped_run_continues_with_what_is_left(tmp_path: Path) -> None:
    results, first = ResultsDir(tmp_path), Echo(Stop(), stop_at="b")
    with started(results, first) as run, pytest.raises(StoppedError):
        engine.perform(run, first, first.stop, PlainProgress())
    second = Echo(Stop())
    run, subject = engine.reopen(results, "r", lambda run: second)
    with run:
        assert engine.perform(run, subject, subject.stop, PlainProgress())
    assert (first.done, second.done) == (["a"], ["b", "c"])


def test_a_subject_is_not_opened_when_nothing_is_pending(tmp_path: Path) -> None:
    results, subject = ResultsDir(tmp_path), Echo(Stop())
    with started(results, subject) as run:
        first = engine.perform(run, subject, subject.stop, PlainProgress())
        assert engine.perform(run, Echo(Stop()), subject.stop, PlainProgress(), Work(phases=(Phase.INGEST,))) is None
        assert first is not None and subject.opened == 1


def test_a_phase_alone_needs_those_before_it(tmp_path: Path) -> None:
    results, subject = ResultsDir(tmp_path), Echo(Stop())
    with started(results, subject) as run, pytest.raises(RunError, match="requires phase ingest"):
        engine.perform(run, subject, subject.stop, PlainProgress(), Work(phases=(Phase.EVALUATE,)))


def test_a_subject_that_has_changed_is_refused(tmp_path: Path) -> None:
    results, subject = ResultsDir(tmp_path), Echo(Stop())
    started(results, subject).close()
    with pytest.raises(RunError, match="has changed"):
        engine.reopen(results, "r", lambda run: Echo(Stop(), version="2"))
    engine.reopen(results, "r", lambda run: subject)[0].close()  # The lock was released.


def test_a_change_of_code_between_starts_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, subject = ResultsDir(tmp_path), Echo(Stop())
    started(results, subject).close()
    monkeypatch.setattr(engine, "provenance", lambda: {"memeval_version": "99"})
    with engine.reopen(results, "r", lambda run: subject)[0] as run:
        assert run.store.meta("resumed_with") == [{"memeval_version": "99"}]
