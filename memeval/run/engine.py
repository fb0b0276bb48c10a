"""Run any kind of subject: a memory system behind an API, or the sessions of a client.

The subject chooses the questions, lists the work items of each phase, processes single items and describes the
result. The engine opens or creates the run, skips recorded items, manages threads and progress, and writes the result
file.

Phases run one after another. Every item ends in a record, even if it fails. A run ends early only for reasons unrelated
to a single question, such as a stop by the user, an exhausted budget, broken data or a bug. Completed work is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from memeval.core.calls import Budget, Stop
from memeval.core.types import Phase
from memeval.results.files import ResultsDir
from memeval.results.provenance import provenance, version
from memeval.results.salvage import damage, read
from memeval.results.store import Record, RunStore
from memeval.run.checkpoint import ORDER, Run, now
from memeval.run.progress import Progress
from memeval.run.settings import Settings
from memoryd.core.files import write_atomic

Item = TypeVar("Item")
AnySubject = TypeVar("AnySubject", bound="Subject")


@dataclass(frozen=True, slots=True)
class Work:
    """The phases to run, and their concurrency. None means the subject's default."""

    concurrency: int | None = None
    phases: tuple[Phase, ...] = ORDER


@dataclass(frozen=True, slots=True)
class Stage:
    """The work of a phase. `items` contains the remaining items out of `total`, and `label` is shown in the progress display.

    `open` prepares the phase and returns the function that processes one item. It is not called if nothing is `pending`.
    """

    label: str
    total: int
    done: int
    items: Iterable[Any]
    open: Callable[[], AbstractContextManager[Callable[[Any], None]]]
    threads: int = 1
    pending: bool = True


class Reported(Protocol):
    """The source of the result of a run."""

    @property
    def benchmark(self) -> str:
        """Return the benchmark's name, which is part of the result's file name."""
        ...

    @property
    def results_version(self) -> str:
        """Return the version used as the name of the result's folder, or an empty string for the version of this package."""
        ...

    def result(self, run: Run) -> dict[str, Any]:
        """Build the result from the records so far. The run may be incomplete."""
        ...

    def attachments(self, run: Run, file: Path) -> Mapping[Path, bytes]:
        """Return the additional files of the result `file`, keyed by their path in the results folder."""
        ...


class Subject(Reported, Protocol):
    """The system that a run measures."""

    def about(self) -> Mapping[str, Any]:
        """Return values to store with a new run in addition to its settings."""
        ...

    def check_unchanged(self, run: Run) -> None:
        """Check that a resumed run would measure the same subject and data. Raises RunError or DataError."""
        ...

    def plan(self, run: Run) -> None:
        """Choose the questions of a new run. Raises DataError, ConfigError."""
        ...

    def stage(self, run: Run, phase: Phase, work: Work, progress: Progress) -> Stage | None:
        """Return the work of a phase, or None if the subject has no such work or did it in an earlier phase."""
        ...


def start(results: ResultsDir, run_id: str, settings: Settings, subject: Subject) -> Run:
    """Create a run. Raises RunError if the id is taken."""
    return Run.create(results, run_id, settings, {**subject.about(), "provenance": provenance()})


def reopen(results: ResultsDir, run: str, make: Callable[[Run], AnySubject]) -> tuple[Run, AnySubject]:
    """Open an existing run with its subject. Raises RunError if the subject has changed since the run started."""
    opened = Run.resume(results, run)
    try:
        subject = make(opened)
        subject.check_unchanged(opened)
        _note_change_of_code(opened.store)
    except BaseException:
        opened.close()
        raise
    return opened, subject


def _note_change_of_code(store: RunStore) -> None:
    here = provenance()
    seen = [store.meta("provenance"), *store.meta("resumed_with", [])]
    if seen[-1] != here:
        store.set_meta("resumed_with", [*seen[1:], here])


def perform(run: Run, subject: Subject, stop: Stop, progress: Progress, work: Work | None = None) -> Path | None:
    """Run the requested phases. Return the path of the result if they include the report.

    Raises MemevalError if the run ends early.
    """
    work = work or Work()
    if not run.planned:
        subject.plan(run)
    for phase in ORDER[:4]:
        if phase not in work.phases:
            continue
        run.require(phase)
        if (stage := subject.stage(run, phase, work, progress)) is not None:
            _do(stage, phase, stop, progress)
    if Phase.REPORT not in work.phases:
        return None
    run.require(Phase.REPORT)
    return report(run, subject)


def _do(stage: Stage, phase: Phase, stop: Stop, progress: Progress) -> None:
    progress.begin(stage.label, stage.total, stage.done)
    if stage.pending:
        with stage.open() as do:
            for_each(stage.items, do, stage.threads, stop, f"memeval-{phase}")
    progress.end(stage.label)


def report(run: Run, subject: Reported) -> Path:
    """Build the result and write it after its attachments. A repeated report overwrites the files of an interrupted one."""
    store = run.store
    with store.transaction():
        if store.meta("finished_at") is None:
            finished = now()
            stamp = re.sub(r"[^0-9TZ]", "", finished)
            number = subject.results_version.removeprefix("v") or version()
            store.set_meta("finished_at", finished)
            store.set_meta("result_file", run.results.choose_file(number, subject.benchmark, stamp).as_posix())
    file = Path(store.meta("result_file"))
    for path, data in subject.attachments(run, file).items():
        write_atomic(run.results.root / path, data, private=False)
    return run.results.write(file, subject.result(run))


def count_spent(results: ResultsDir, run: str, budget: Budget) -> None:
    """Charge the budget with the costs already paid by a run, so that the limit covers all starts of the run."""
    path = results.find(run) / "run.db"
    if damage(path):
        rows = read(path)
        budget.add(rows.meta.get("lost", {}).get("usage", {}).get("cost_usd") or 0.0)
        for phase in ORDER[:4]:
            some = [record for key, record in rows.records.items() if key.phase is phase]
            _count(some, budget, {(one.key.case_id, one.key.question_id) for one in some if not one.key.part})
        return
    with results.open(run) as store:
        budget.add(store.meta("lost", {}).get("usage", {}).get("cost_usd") or 0.0)
        for phase in ORDER[:4]:
            whole = {(key.case_id, key.question_id) for key in store.keys(phase) if not key.part}
            _count(store.records(phase), budget, whole)


def _count(records: Iterable[Record], budget: Budget, whole: Container[tuple[str, str]] = ()) -> None:
    """Add the costs of a phase's records. Batches and epochs are excluded if their whole item is recorded."""
    for record in records:
        batch_of_a_whole = record.key.part and (record.key.case_id, record.key.question_id) in whole
        cost = record.payload.get("usage", {}).get("cost_usd")
        if cost and not batch_of_a_whole:
            budget.add(cost)


def for_each(items: Iterable[Item], work: Callable[[Item], None], threads: int, stop: Stop, name: str = "memeval") -> None:
    """Process each item. With a single thread, the caller's thread is used.

    At most `threads` + 1 items are loaded at once, because an item can be a large case. The first error is raised
    after the work in progress has ended. Raises StoppedError once the stop flag is set.
    """
    if threads <= 1:
        for item in items:
            stop.check()
            work(item)
        return
    waiting: set[Future[None]] = set()
    with ThreadPoolExecutor(threads, thread_name_prefix=name) as pool:
        try:
            for item in items:
                stop.check()
                waiting.add(pool.submit(copy_context().run, work, item))
                if len(waiting) > threads:
                    waiting = _settled(waiting)
            while waiting:
                waiting = _settled(waiting)
        except BaseException:
            for future in waiting:
                future.cancel()
            raise


def _settled(waiting: set[Future[None]]) -> set[Future[None]]:
    """Wait for at least one future, and raise its error if it has one."""
    done, rest = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return rest
