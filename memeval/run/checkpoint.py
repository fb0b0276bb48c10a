"""An open run in this process, with its folder, lock, plan and remaining work.

All state is in run.db. A record is both a result and a checkpoint, and is written in one transaction (see
`results.store`). A killed run therefore resumes with the first item without a record.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memeval.core.errors import RunError
from memeval.core.files import RunLock
from memeval.core.types import EMPTY, Phase
from memeval.results.files import ResultsDir
from memeval.results.salvage import Salvaged, damage, salvage
from memeval.results.store import Key, QuestionRow, Record, RunStore, Status
from memeval.run.settings import Settings

ORDER = tuple(Phase)


def new_group() -> str:
    """Return an id for the runs of one command, consisting of the UTC time and random characters."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def now() -> str:
    """Return the current UTC time in ISO 8601, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_running(folder: Path) -> bool:
    """Return whether a runner holds the lock of the run. Always false in a read-only folder."""
    if not os.access(folder, os.W_OK) or not (folder / "run.lock").exists():
        return False
    lock = RunLock(folder / "run.lock")
    try:
        lock.acquire(tries=1)
    except RunError:
        return True
    lock.release()
    return False


def is_complete(store: RunStore, phase: Phase) -> bool:
    """Return whether a phase has no work left. Phases disabled by the settings count as complete."""
    if store.meta("plan") is None:
        return False
    if phase is Phase.INGEST:
        return not _pending_cases(store)
    if phase is Phase.ANSWER and not store.meta("settings")["answering_model"] and not store.meta("hypotheses"):
        return True
    if phase is Phase.REPORT:
        return store.meta("finished_at") is not None
    return not _pending(store, phase)


def _pending(store: RunStore, phase: Phase) -> list[QuestionRow]:
    there = {(key.case_id, key.question_id) for key in store.keys(phase) if not key.part}
    return [row for row in store.questions() if (row.case_id, row.question_id) not in there]


def _pending_cases(store: RunStore) -> set[str]:
    there = {key.case_id for key in store.keys(Phase.INGEST) if not key.part}
    return {row.case_id for row in store.questions()} - there


class Run:
    """An open run. Holds the lock until `close`."""

    def __init__(self, results: ResultsDir, folder: Path, *, create: bool = False) -> None:
        self.results = results
        self.folder = folder
        self._lock = RunLock(folder / "run.lock")
        if not create and not (folder / "run.db").is_file():
            raise RunError(f"There is no run at {folder}.", fix="`memeval status` lists the runs.")
        self._lock.acquire()
        self.salvaged: Salvaged | None = None
        new = create and not (folder / "run.db").exists()
        try:
            if not create and damage(folder / "run.db"):
                self.salvaged = salvage(folder / "run.db")
            self.store = RunStore(folder / "run.db", create=create)
        except BaseException:
            if new:  # For example, a full disk: the remains could not be resumed.
                for rest in folder.glob("run.db*"):
                    rest.unlink(missing_ok=True)
            self._lock.release()
            raise

    @classmethod
    def create(cls, results: ResultsDir, run_id: str, settings: Settings, about: Mapping[str, Any]) -> Run:
        """Create a run. `about` is stored unchanged. Raises RunError if the id is taken.

        An existing run without questions (wrong flags, no data) is replaced.
        """
        run = cls(results, results.run_dir(run_id), create=True)
        try:
            if run.planned:
                raise RunError(f"Run {run_id} already exists.", fix=f"Resume it (--resume {run_id}) or give another --run-id.")
            with run.store.transaction():
                run.store.forget_meta()
                for key, value in {"scope_run": run_id, **about, "created_at": now(), "settings": settings.to_json()}.items():
                    run.store.set_meta(key, value)
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def resume(cls, results: ResultsDir, run: str) -> Run:
        """Open an existing run. Raises RunError if the run is locked by another runner or has no settings."""
        opened = cls(results, results.find(run))
        if opened.store.meta("settings") is None:
            opened.close()
            raise RunError(f"Run {run} ended before it started any work.", fix="Start a new run with another --run-id.")
        return opened

    def close(self) -> None:
        """Close the store and release the lock."""
        self.store.close()
        self._lock.release()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def id(self) -> str:
        """Return the run id."""
        return self.folder.name

    @property
    def state(self) -> Path:
        """Return the folder for the state of local providers."""
        return self.folder / "state"

    @property
    def settings(self) -> Settings:
        """Return the current settings of the run."""
        return Settings.from_json(self.store.meta("settings"))

    @property
    def planned(self) -> bool:
        """Return whether the questions have been chosen."""
        return self.store.meta("plan") is not None

    def plan(self, rows: Iterable[QuestionRow], about: Mapping[str, Any]) -> None:
        """Store the chosen questions and the facts about the data in one transaction."""
        chosen = list(rows)
        before = self.store.meta("planned_for")
        if before is not None and before != about.get("data_hash"):
            raise RunError(
                f"Run {self.id} lost questions, and the data has changed since it started.",
                fix="Restore the data, or start a new run.",
            )
        with self.store.transaction():
            self.store.add_questions(chosen)
            self.store.set_meta("plan", about)
            self.store.set_meta("chosen", len(chosen))

    def done(
        self, key: Key, payload: Mapping[str, Any] = EMPTY, seconds: float = 0.0, *, status: Status = Status.DONE, error: str = ""
    ) -> Record:
        """Record a completed item of work."""
        record = Record(key, status, payload, error, seconds, now())
        self.store.put(record)
        return record

    def pending(self, phase: Phase) -> list[QuestionRow]:
        """Return the questions without a record of the phase, in order."""
        return _pending(self.store, phase)

    def pending_cases(self) -> set[str]:
        """Return the cases that are not fully ingested."""
        return _pending_cases(self.store)

    def is_complete(self, phase: Phase) -> bool:
        """Return whether a phase of this run has no work left."""
        return is_complete(self.store, phase)

    def require(self, phase: Phase) -> None:
        """Check that all earlier phases are complete. Raises RunError."""
        for earlier in ORDER[: ORDER.index(phase)]:
            if not self.is_complete(earlier):
                raise RunError(
                    f"Phase {phase} of run {self.id} requires phase {earlier}, which is not complete.",
                    fix=f"memeval eval --resume {self.id}",
                )

    def forget(self, first: Phase) -> None:
        """Remove the records of a phase and of all later phases.

        If ingest is among them, providers also clear their state before the first batch of each case. State adopted
        from another run is not changed, because a new ingest uses its own scopes.
        """
        with self.store.transaction():
            for phase in ORDER[ORDER.index(first) :]:
                self.store.delete(phase)
            self.reopen()
            if first is Phase.INGEST:
                self.store.set_meta("clear_first", True)
                self.store.set_meta("scope_run", self.id)
                self.store.set_meta("source_run", None)
        if first is Phase.INGEST:
            shutil.rmtree(self.state, ignore_errors=True)

    def forget_failed(self) -> int:
        """Remove failed records and their dependents so that they are retried. Return the number of affected questions.

        A case with a failed batch is ingested again as a whole, because later batches were stored without it.
        """
        questions: set[tuple[str, str]] = set()
        with self.store.transaction():
            cases = {key.case_id for key in self.store.keys(Phase.INGEST, Status.FAILED)}
            for case_id in cases:
                self.store.delete_one(Key(Phase.INGEST, case_id))
            for place, phase in enumerate(ORDER[1:4], start=1):
                for key in self.store.keys(phase, Status.FAILED):
                    questions.add((key.case_id, key.question_id))
                    for later in ORDER[place:4]:
                        self.store.delete_one(Key(later, key.case_id, key.question_id))
            cases = {
                record.key.case_id
                for record in self.store.records(Phase.INGEST)
                if record.payload.get("status") not in (None, str(Status.DONE))
            }
            for key in [key for phase in ORDER[:4] for key in self.store.keys(phase) if key.case_id in cases]:
                self.store.delete_one(key)
            if questions or cases:
                self.reopen()
        return len(questions)

    def reopen(self) -> None:
        """Mark the report as outdated."""
        self.store.set_meta("finished_at", None)
        self.store.set_meta("result_file", None)

    def adopt(self, source: RunStore, source_folder: Path, first: Phase) -> None:
        """Adopt another run's plan and its records before phase `first`, and the state of its provider if needed."""
        earlier = ORDER[: ORDER.index(first)]
        if first is Phase.SEARCH and (source_folder / "state").is_dir():
            shutil.copytree(source_folder / "state", self.state, dirs_exist_ok=True)
        with self.store.transaction():
            self.store.copy_from(source, earlier)
            self.store.set_meta("plan", source.meta("plan"))
            self.store.set_meta("scope_run", source.meta("scope_run"))
            self.store.set_meta("source_run", source_folder.name)
            self.store.set_meta("provider_provenance", source.meta("provider_provenance", {}))
            if first not in (Phase.SEARCH, Phase.ANSWER) and (hypotheses := source.meta("hypotheses")):
                self.store.set_meta("hypotheses", hypotheses)
            if first is Phase.REPORT:
                self.store.set_meta("judges", source.meta("judges", []))
