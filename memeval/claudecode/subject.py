"""Run the sequences of one run_bench cell (benchmark × arm × model × repeat), each in its own sandbox.

Every step is a checkpoint. Its records are written to run.db in one transaction. A replayed session has an ingest
record. A question or task has a search record (the texts returned by memory), an answer record (the session) and an
evaluate record (scores). A step without records runs again, so a single stage covers all four phases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Semaphore
from typing import Any

from memeval.claudecode import memories
from memeval.claudecode.arms import Conditions
from memeval.claudecode.clients import BenchClient
from memeval.claudecode.command import Command, GridRow
from memeval.claudecode.contract import (
    OWN_FAULTS,
    Arm,
    ErrorKind,
    Family,
    SessionResult,
    Step,
    StepKind,
    StepRecord,
    StepSequence,
)
from memeval.claudecode.controls import (
    MAX_HISTORY_TOKENS,
    conversation_of,
    curating,
    cut_notes,
    history_of_logs,
    history_of_sessions,
    placebo,
    said_in,
)
from memeval.claudecode.families import FamilyOptions, options_of
from memeval.claudecode.faults import CircuitBreaker, MemoryBreaker, Patience, add_lost
from memeval.claudecode.processes import end_leftover_processes
from memeval.claudecode.result import CellReport, family_scores, headline, memory_scores
from memeval.claudecode.sandbox import Sandbox, Staged, State, short_hash
from memeval.claudecode.seeding import Primer, make_primer, source_cell, stable_id
from memeval.claudecode.sessions import (
    Place,
    SessionCache,
    SessionRunner,
    StepOutcome,
    remembered,
    session_key,
    trajectory,
)
from memeval.core.calls import Budget, RetryPolicy, Stop
from memeval.core.errors import ConfigError, DataError, DependencyError
from memeval.core.text import estimate_tokens
from memeval.core.types import EMPTY, Phase, Retrieved, Score
from memeval.results.codec import question_to_json, retrieved_to_json, usage_to_json
from memeval.results.files import ResultsDir
from memeval.results.store import Key, QuestionRow, Status
from memeval.run.checkpoint import Run
from memeval.run.engine import Stage, Work, for_each
from memeval.run.plan import RunContext
from memeval.run.progress import FinishedItem, Progress
from memeval.run.result import without_secrets
from memeval.run.settings import Selection, Settings
from memoryd.core.types import Usage

IMPORTED = "history"
"""Part of the ingest record for a history imported all at once."""
_ADDRESS = re.compile(r"ANTHROPIC_\w*(URL|MODEL)|CLAUDE_CODE_USE_\w+")


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine-level resources of a command."""

    client: BenchClient
    client_version: str
    environment: Mapping[str, str]
    plugin: Staged
    root: Path
    results: ResultsDir
    context: RunContext
    budgets: Mapping[str, Budget] = field(default_factory=lambda: EMPTY)
    retry_failed: bool = False
    cache: SessionCache = SessionCache(None)
    wait: bool = False
    tell: Callable[[str], None] = lambda text: None


@dataclass(frozen=True, slots=True)
class ClientSubject:
    """One cell of the grid.

    All cells of a command share `slots` and `outage`. `without` contains the records of the same model without
    memory. `injected` maps steps to the number of tokens injected in the plugin's arm, if that arm ran before.
    """

    machine: Machine
    group: str
    command: Command
    cell: GridRow
    family: Family
    sequences: Sequence[StepSequence]
    slots: Semaphore
    outage: CircuitBreaker
    without: Sequence[StepRecord] = ()
    injected: Mapping[str, int] = field(default_factory=lambda: EMPTY)

    @property
    def report(self) -> CellReport:
        """Return the report builder of this cell."""
        return CellReport(self.family, self.sequences, self.command.version, self.without)

    @property
    def benchmark(self) -> str:
        """Return the name of the benchmark."""
        return self.report.benchmark

    @property
    def results_version(self) -> str:
        """Return the results version of the command."""
        return self.report.results_version

    @property
    def run_id(self) -> str:
        """Return the id of the cell's run."""
        return self.cell.run_id(self.group)

    def settings(self) -> Settings:
        """Return the settings to store with the run."""
        command, cell = self.command, self.cell
        own = options_of(cell.benchmark, FamilyOptions(self.machine.context, options=command.options))
        return Settings(
            benchmark=cell.benchmark,
            provider=f"{command.client}-{cell.arm}",
            answering_model=cell.model,
            judge=command.judge,
            judge_model=command.judge_model,
            data=command.data.get(cell.benchmark, ""),
            seed=command.seed,
            selection=command.selection,
            benchmark_options=own.options,
        )

    def about(self) -> Mapping[str, Any]:
        """Describe the benchmark, the conditions, the arm's differences and the sandbox locations."""
        arm, command = self.cell.arm, self.command
        conditions = command.conditions.to_json()
        return {
            "benchmark_about": dict(self.family.about()),
            "sandboxes": str(self.machine.root / short_hash(self.run_id)),
            "claudecode": {
                "group": self.group,
                "arm": str(arm),
                "model": self.cell.model,
                "repeat": self.cell.repeat,
                "client": str(command.client),
                "client_version": self.machine.client_version,
                "conditions": conditions | {"plugin_settings": without_secrets(conditions["plugin_settings"])},
                "differences": self.machine.client.differences(arm, history_of(arm, command.conditions)),
                "memory_from": command.memory_from or None,
            },
        }

    def check_unchanged(self, run: Run) -> None:
        """Check that the data has not changed since the run started. Raises DataError."""
        if run.store.meta("benchmark_about").get("data_hash") != self.family.about().get("data_hash"):
            raise DataError(
                f"The data of {self.family.name} has changed since the run started.", fix="Restore it, or start a new run."
            )

    def plan(self, run: Run) -> None:
        """Store the selected questions with their position in the benchmark. Raises ConfigError if none is selected."""
        whole = list(self.family.sequences(Selection()))
        places = {(sequence.id, step.id): number for number, (sequence, step) in enumerate(_asked(whole))}
        rows = [_row(places[sequence.id, step.id], sequence, step) for sequence, step in _asked(self.sequences)]
        if not rows:
            raise ConfigError(f"The selection leaves no task of {self.family.name}.", fix="Loosen its flags.")
        run.plan(rows, {"cases": len(whole), "questions": len(places)})

    def stage(self, run: Run, phase: Phase, work: Work, progress: Progress) -> Stage | None:
        """Run all sequences, skipping completed steps."""
        if phase is not Phase.INGEST:
            return None
        workers = work.concurrency or self.command.conditions.workers
        done = len(run.store.keys(Phase.EVALUATE)) + sum(bool(key.part) for key in run.store.keys(Phase.INGEST))
        return Stage(self.cell.label, self._steps(), done, self.sequences, lambda: self._running(run, progress), workers)

    @contextmanager
    def _running(self, run: Run, progress: Progress) -> Iterator[Callable[[StepSequence], None]]:
        work = self._work(run, progress)
        yield lambda sequence: _run_sequence(work, sequence)

    def _work(self, run: Run, progress: Progress) -> CellWork:
        machine, cell, command = self.machine, self.cell, self.command
        budgets = tuple(budget for name, budget in machine.budgets.items() if name in ("", cell.benchmark))
        sessions = SessionRunner(
            machine.client,
            cell.arm,
            machine.plugin.folder,
            cell.model,
            machine.environment,
            command.conditions,
            budgets,
            machine.context.stop,
            self.slots,
            self.outage,
            Patience(
                RetryPolicy(command.conditions.retries, command.conditions.backoff, maximum=600.0), machine.wait, machine.tell
            ),
            partial(add_lost, run.store),
        )
        return CellWork(
            run=run,
            family=self.family,
            sessions=sessions,
            client=machine.client,
            conditions=command.conditions,
            arm=cell.arm,
            client_version=machine.client_version,
            folder=Path(run.store.meta("sandboxes")),
            stop=machine.context.stop,
            progress=progress,
            label=cell.label,
            repeat=cell.repeat,
            primed=self._primer(),
            cache=machine.cache if command.cache else SessionCache(None),
            decides=self._decides(),
            injected=self.injected,
        )

    def _primer(self) -> Primer | None:
        results, source, arm = self.machine.results, self.command.memory_from, self.cell.arm
        if not source or not arm.remembers:
            return None
        return make_primer(results, source_cell(results, source, self.cell.benchmark, arm, self.command.client), self.sequences)

    def _decides(self) -> dict[str, Any]:
        """Return the values that affect the outcome of all sessions in the cell. They become part of the cache key."""
        conditions, arm = self.command.conditions, self.cell.arm
        shared = {
            "client": f"{self.command.client} {self.machine.client_version}",
            "where": {
                **{name: value for name, value in self.machine.environment.items() if _ADDRESS.fullmatch(name)},
                **({"base_url": self.machine.client.base_url} if self.machine.client.base_url else {}),
            },
            "model": self.cell.model,
            "arm": self.machine.client.settings_of(arm),
            "limits": [conditions.max_turns, conditions.timeout],
        }
        if arm.has_plugin:
            return shared | {"plugin": self.machine.plugin.digest, "settings": dict(conditions.plugin_settings)}
        return shared

    def _steps(self) -> int:
        arm = self.cell.arm
        imported = self.command.conditions.imports(arm)
        total = 0
        for sequence in self.sequences:
            replays = sum(step.session is not None for step in sequence.steps)
            total += sum(step.question is not None for step in sequence.steps)
            total += 0 if not arm.remembers else min(1, replays) if imported else replays
        return total

    def result(self, run: Run) -> dict[str, Any]:
        """Build the result from the records so far."""
        return self.report.result(run)

    def attachments(self, run: Run, file: Path) -> Mapping[Path, bytes]:
        """Return the trajectory file about the use of memory in each session."""
        return self.report.attachments(run, file)


def _asked(sequences: Sequence[StepSequence]) -> Iterator[tuple[StepSequence, Step]]:
    return ((sequence, step) for sequence in sequences for step in sequence.steps if step.question is not None)


def _row(position: int, sequence: StepSequence, step: Step) -> QuestionRow:
    assert step.question is not None
    cluster = str(step.question.metadata.get("repo") or sequence.id)  # Tasks of one repository are not independent.
    gold = {"targets": step.payload.get("targets", []), "dates": step.payload.get("dates", {}), "cluster": cluster}
    return QuestionRow(position, sequence.id, step.question.id, {"question": question_to_json(step.question), **gold})


def history_of(arm: Arm, conditions: Conditions) -> str:
    """Describe how the conversation history enters the memory of this arm."""
    if arm is Arm.HISTORY:
        return "as a whole in the system prompt"
    if arm is Arm.NOTES:
        return "read by the model, which rewrites its notes after each session"
    if not arm.remembers:
        return "none: the arm has no memory"
    return "imported from session logs" if conditions.imports(arm) else "replayed in sessions"


@dataclass(frozen=True, slots=True)
class CellWork:
    """The inputs of a cell.

    `primed` fills a fresh state with another run's memory. `decides` contains the values shared by all of its sessions.
    """

    run: Run
    family: Family
    sessions: SessionRunner
    client: BenchClient
    conditions: Conditions
    arm: Arm
    client_version: str
    folder: Path
    stop: Stop
    progress: Progress
    label: str
    repeat: int = 1
    primed: Callable[[State, Path], None] | None = None
    cache: SessionCache = SessionCache(None)
    decides: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    injected: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    dreams: MemoryBreaker = field(default_factory=MemoryBreaker)

    @property
    def replays(self) -> bool:
        """Return whether this arm replays history. Only arms with a memory do."""
        return self.arm.remembers

    def session_id(self, sequence: StepSequence, step: Step) -> str:
        """Return the session id of a step. It is the same in every arm and run, because memory ids are derived from it."""
        return self.client.session_id(stable_id(self.family.name, sequence.id, step.id, str(self.repeat)))


def _run_sequence(work: CellWork, sequence: StepSequence) -> None:
    chain = _Chain(work, sequence)
    try:
        chain.run()
    finally:
        end_leftover_processes(chain.box.root)
    chain.drop()


class _Chain:
    """The steps of one sequence. Steps that carry memory run in order. Questions run concurrently."""

    def __init__(self, work: CellWork, sequence: StepSequence) -> None:
        self._work = work
        self._sequence = sequence
        self._store = work.run.store
        self.box = Sandbox(work.folder / short_hash(sequence.id))
        self._ids = {step.id: work.session_id(sequence, step) for step in sequence.steps}
        self._sources = memories.line_sources(sequence, self._ids, work.client.line_id)

    def run(self) -> None:
        """Run the steps without records."""
        if self._is_done():
            return
        if (fault := self._work.dreams.fault) is not None:
            self._block(self._sequence.steps[0], fault)
            return
        end_leftover_processes(self.box.root)
        done = self._carried_done()
        if not self.box.begin(done):
            self._forget()
            done = ()
            self.box.begin(done)
        if not done and self._work.primed is not None:
            self._work.primed(self.box.now, self.box.work)
            self.box.keep(())
        for step in self._carried():
            if step.id not in done:
                if (fault := self._carry(step, done)) is not None:
                    self._block(step, fault)
                    return
                done = (*done, step.id)
        self._close_history()
        questions = [step for step in self._sequence.steps if step.kind is StepKind.QUESTION and not self._recorded(step)]
        for_each(questions, self._ask, self._work.conditions.workers, self._work.stop, "question")

    def drop(self) -> None:
        """Remove the working folders. The state of the memory remains available to --memory-from."""
        self.box.drop_unsaved()

    # Existing records

    def _is_done(self) -> bool:
        return all(self._recorded(step) for step in self._sequence.steps if step.question is not None) and self._history_closed()

    def _recorded(self, step: Step) -> bool:
        assert step.question is not None
        return self._store.get(Key(Phase.EVALUATE, self._sequence.id, step.question.id)) is not None

    def _history_closed(self) -> bool:
        return self._store.get(Key(Phase.INGEST, self._sequence.id)) is not None

    def _carried(self) -> list[Step]:
        """Return the steps that pass their memory on to later steps in this arm."""
        replays = [step for step in self._sequence.steps if step.kind is StepKind.REPLAY]
        tasks = [step for step in self._sequence.steps if step.kind is StepKind.TASK]
        if not self._work.replays or not replays:
            return tasks
        if self._imports:
            return [Step(IMPORTED, StepKind.REPLAY, ""), *tasks]
        return [*replays, *tasks]

    @property
    def _imports(self) -> bool:
        """Return whether logs are imported.

        The built-in memory can't read logs, because its model has to see the conversation.
        """
        return self._work.conditions.imports(self._work.arm)

    def _carried_done(self) -> tuple[str, ...]:
        """Return the leading steps that carry memory and have records."""
        done: list[str] = []
        for step in self._carried():
            there = self._recorded(step) if step.question is not None else self._replayed(step)
            if not there:
                break
            done.append(step.id)
        return tuple(done)

    def _replayed(self, step: Step) -> bool:
        return self._store.get(Key(Phase.INGEST, self._sequence.id, part=step.id)) is not None

    def _forget(self) -> None:
        """Delete the records of the sequence so that it restarts, because the corresponding memory state no longer exists."""
        with self._store.transaction():
            self._store.delete_one(Key(Phase.INGEST, self._sequence.id))
            for step in self._sequence.steps:
                if step.question is not None:
                    self._forget_question(step.question.id)

    def _forget_question(self, question: str) -> None:
        for phase in (Phase.SEARCH, Phase.ANSWER, Phase.EVALUATE):
            self._store.delete_one(Key(phase, self._sequence.id, question))

    # Steps

    def _carry(self, step: Step, done: tuple[str, ...]) -> SessionResult | None:
        """Run a step that carries memory.

        Return its result if a fault not caused by the step ended it. The saved state is then the one before the step.
        """
        place = Place(
            self.box.now.make(), self.box.work / step.folder, self._ids.get(step.id, ""), lambda: self._again(step, done)
        )
        outcome, grades = self._carried_out(step, place)
        if not outcome.is_fault:
            if outcome.result.error is ErrorKind.UNPREPARED:
                self.box.begin(done)
            if not self._work.replays and self._work.arm.has_plugin:
                self.box.now.remove()  # Nothing carries over from task to task.
                self.box.now.make()
            self.box.keep((*done, step.id))
        if step.question is None:
            self._record_replay(step, outcome)
        else:
            self._record(step, outcome, grades)
        self._work.dreams.note(outcome.result)
        return outcome.result if outcome.is_fault else None

    def _carried_out(self, step: Step, place: Place) -> tuple[StepOutcome, Sequence[Score]]:
        if step.id == IMPORTED:
            return self._import(place), ()
        if step.kind is StepKind.REPLAY:
            return self._replay(step, place), ()
        if self._work.arm is Arm.OFF:
            return self._off_task(step, place)
        outcome = self._prepared(self._equipped(step, place), place)
        grades = self._grade(step, outcome)
        if self._work.arm is Arm.NOTES and outcome.result.transcript is not None:
            notes = self._curate(step, place, said_in(outcome.result.transcript))
            result = replace(outcome.result, usage=outcome.result.usage + notes.result.usage)
            if notes.is_fault and not outcome.is_fault:
                result = replace(result, error=notes.result.error, message=notes.result.message, fix=notes.result.fix)
                grades = self._grade(step, replace(outcome, result=result))
            outcome = replace(outcome, result=result, written=notes.written)
        return outcome, grades

    def _equipped(self, step: Step, place: Place) -> Step:
        """Return a question or task with the additions of its arm."""
        arm, conditions = self._work.arm, self._work.conditions
        if arm is Arm.PLACEBO:
            tokens = self._work.injected.get(step_name(self._sequence, step), conditions.prompt_tokens)
            return replace(step, placebo=placebo(tokens))
        if arm is not Arm.HISTORY:
            return step
        history = history_of_sessions(self._sequence.steps) or history_of_logs(self._earlier_logs(place))
        return replace(step, system="\n\n".join(filter(None, (step.system, history))))

    def _earlier_logs(self, place: Place) -> Iterator[Path]:
        for step in self._sequence.steps:
            if step.kind is not StepKind.TASK or step.question is None or not self._recorded(step):
                continue
            answer = self._store.get(Key(Phase.ANSWER, self._sequence.id, step.question.id))
            session = answer.payload.get("trajectory", {}).get("session", "") if answer is not None else ""
            if (log := self._work.client.transcript(place.state, session)) is not None:
                yield log

    def _whole(self, step: Step, state: State) -> tuple[memories.DeliveredText, ...]:
        """Return the texts that the arm always includes in full, which count as memory tokens."""
        if notes := self._notes(state):
            return (memories.DeliveredText("notes", notes),)
        return (memories.DeliveredText("history", step.system),) if self._work.arm is Arm.HISTORY else ()

    def _notes(self, state: State) -> str:
        notes = self._work.client.notes_file(state)
        return notes.read_text("utf-8") if self._work.arm is Arm.NOTES and notes.is_file() else ""

    def _curate(self, step: Step, place: Place, conversation: str) -> StepOutcome:
        """Let the model rewrite its notes after a session."""
        budget = self._work.conditions.injected_tokens
        session = replace(
            place,
            cwd=self.box.work / "notes",
            session_id=self._work.client.session_id(stable_id(place.session_id, "notes")),
            restore=_nothing,
        )
        session.cwd.mkdir(parents=True, exist_ok=True)
        file = self._work.client.notes_file(place.state)
        outcome = self._work.sessions.run(curating(step, conversation, budget, file.name), session)
        if outcome.result.ok:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(cut_notes(outcome.result.text, budget), "utf-8")
        return replace(outcome, written={"notes": memories.changed({}, {file.name: outcome.result.text})})

    def _off_task(self, step: Step, place: Place) -> tuple[StepOutcome, Sequence[Score]]:
        """Run a task without memory. Later steps only need its answer and grades. An ungraded task is not cached."""
        decides = {**self._work.decides, "benchmark": dict(self._work.family.about())}
        key = session_key(decides, step, place.session_id, ())
        if (known := self._work.cache.get(key, self._payer(step))) is not None and known[1]:
            return known
        outcome = self._prepared(step, place)
        grades = self._grade(step, outcome)
        if grades and grades[0].value is not None:
            self._work.cache.put(key, self._payer(step), outcome, grades)
        return outcome, grades

    def _payer(self, step: Step) -> str:
        return f"{self._work.run.id}/{self._sequence.id}/{step.id}"

    def _again(self, step: Step, done: tuple[str, ...]) -> None:
        """Restore the state before the step for another attempt."""
        self.box.begin(done)
        if step.kind is StepKind.TASK:
            self._work.family.prepare(step, self.box.work)
        elif step.session is not None:
            self._write_log(step, self.box.now, self.box.work / step.folder)

    def _prepared(self, step: Step, place: Place) -> StepOutcome:
        try:
            self._work.family.prepare(step, self.box.work)
        except (DataError, DependencyError) as error:
            return StepOutcome(SessionResult("", error=ErrorKind.UNPREPARED, message=error.message, fix=error.fix), attempts=0)
        if (tokens := estimate_tokens(step.system)) > MAX_HISTORY_TOKENS:
            message = f"The history of about {tokens:,} tokens does not fit in the prompt."
            return StepOutcome(SessionResult("", error=ErrorKind.UNPREPARED, message=message), attempts=0)
        outcome = self._work.sessions.run(step, place, dream=self._dreams_after(step))
        return replace(outcome, given=(*self._whole(step, place.state), *outcome.given))

    def _replay(self, step: Step, place: Place) -> StepOutcome:
        place.cwd.mkdir(parents=True, exist_ok=True)
        if self._work.arm is Arm.NOTES:
            return self._curate(step, place, conversation_of(step))
        self._write_log(step, place.state, place.cwd)
        return self._work.sessions.run(step, place, resume=place.session_id, dream=self._dreams_after(step))

    def _dreams_after(self, step: Step) -> bool:
        """Return whether a nightly dream follows the step. It follows the last conversation and each task."""
        carried = [one.id for one in self._sequence.steps if one.kind is StepKind.REPLAY]
        return self._work.arm is Arm.DREAMED and (step.kind is StepKind.TASK or step.id in carried[-1:])

    def _write_log(self, step: Step, state: State, cwd: Path) -> Path:
        assert step.session is not None
        number = int(step.payload.get("number", 0))
        environment = self._work.sessions.environment(state)
        version = self._work.client_version
        return self._work.client.write_log(step.session, self._ids[step.id], state, cwd, version, environment, number=number)

    def _import(self, place: Place) -> StepOutcome:
        place.cwd.mkdir(parents=True, exist_ok=True)
        replays = [one for one in self._sequence.steps if one.kind is StepKind.REPLAY]
        logs = [(self._write_log(one, place.state, place.cwd), one.at) for one in replays]
        return self._work.sessions.import_logs(logs, place, dream=self._work.arm is Arm.DREAMED)

    def _ask(self, step: Step) -> None:
        state = self.box.fork(step.id)
        try:
            place = Place(state, self.box.work / step.folder, self._ids[step.id], lambda: self._fork_again(step))
            step = self._equipped(step, place)
            known_texts = [*remembered(state, self.box.root), self._notes(state)]
            key = session_key(self._work.decides, step, place.session_id, known_texts)
            if (known := self._work.cache.get(key, self._payer(step))) is not None:
                outcome = known[0]
            else:
                outcome = self._prepared(step, place)
                self._work.cache.put(key, self._payer(step), outcome)
            self._record(step, outcome, self._grade(step, outcome))
        finally:
            self.box.drop(state)

    def _fork_again(self, step: Step) -> None:
        self.box.fork(step.id)

    def _grade(self, step: Step, outcome: StepOutcome) -> Sequence[Score]:
        if step.question is None:
            return ()
        if outcome.result.error is ErrorKind.UNPREPARED:
            return (Score("accuracy", None, outcome.result.message, self._work.family.name),)
        return self._work.family.grade(step, outcome.result, self.box.work)

    # Records

    def _record_replay(self, step: Step, outcome: StepOutcome) -> None:
        result = outcome.result
        payload = {
            "status": "done" if result.ok else str(result.error),
            "message": result.message,
            "usage": usage_to_json(outcome.usage),
            "trajectory": trajectory(self._sequence, step, outcome, ()),
        }
        self._work.run.done(Key(Phase.INGEST, self._sequence.id, part=step.id), payload, result.seconds)
        self._work.progress.advance(self._work.label, _ended(result))

    def _block(self, step: Step, fault: SessionResult) -> None:
        """Record all remaining steps as unscored, because the memory they need was not created."""
        reason = f"{fault.error}: step {step.id} of the sequence ended early: {fault.message}"
        with self._store.transaction():
            self._close_history()
            for one in self._sequence.steps:
                if one.question is None or self._recorded(one):
                    continue
                key = partial(Key, case_id=self._sequence.id, question_id=one.question.id)
                self._work.run.done(key(Phase.SEARCH), {"retrieved": [], "kept": 0})
                for phase in (Phase.ANSWER, Phase.EVALUATE):
                    payload = {"blocked": step.id, "text": "", "scores": []}
                    self._work.run.done(key(phase), payload, status=Status.FAILED, error=f"[ingest] {reason}")
                self._work.progress.advance(self._work.label, _ended(fault))

    def _close_history(self) -> None:
        """Return the ingest record of the case, with totals over its parts."""
        if self._history_closed():
            return
        parts = list(self._parts())
        replayed = [step for step in self._sequence.steps if step.session is not None] if parts else []
        usage = sum((Usage(**part["usage"]) for part, _ in parts), Usage())
        payload = {
            "sessions": len(replayed),
            "turns": sum(len(step.session.turns) for step in replayed if step.session is not None),
            "batches": len(parts),
            "failed_sessions": [part["message"] for part, _ in parts if part["status"] != "done"],
            "usage": usage_to_json(usage),
        }
        self._work.run.done(Key(Phase.INGEST, self._sequence.id), payload, sum(seconds for _, seconds in parts))

    def _parts(self) -> Iterator[tuple[Mapping[str, Any], float]]:
        for key in self._store.keys(Phase.INGEST):
            if key.case_id == self._sequence.id and key.part and (record := self._store.get(key)) is not None:
                yield record.payload, record.seconds

    def _record(self, step: Step, outcome: StepOutcome, grades: Sequence[Score]) -> None:
        assert step.question is not None
        result = outcome.result
        found = memories.pieces(outcome.given, outcome.files, self._sources)
        again = bool(step.payload.get("again"))
        graded = any(score.value is not None for score in grades)
        failed = not (result.ok or graded or again) and result.error is not ErrorKind.UNPREPARED
        status, error = (Status.FAILED, f"{result.error}: {result.message}") if failed else (Status.DONE, "")
        scores = [] if failed else family_scores(grades, again=again)
        if not failed and result.error is not ErrorKind.UNPREPARED:
            scores += memory_scores(step, outcome, found, self._work.conditions.embedder)
        key = partial(Key, case_id=self._sequence.id, question_id=step.question.id)
        answer = {
            "text": result.text,
            "model": str(result.init.get("model") or ""),
            "prompt_hash": short_hash(step.prompt),
            "usage": usage_to_json(result.usage),
            "trajectory": trajectory(self._sequence, step, outcome, found, grades),
        }
        judged = sum((score.usage for score in grades), Usage())
        with self._store.transaction():
            self._work.run.done(
                key(Phase.SEARCH),
                {
                    "retrieved": [retrieved_to_json(_cut(one)) for one in found],
                    "kept": len(found),
                    **({"usage": usage_to_json(outcome.memory)} if outcome.memory.calls else {}),
                },
            )
            self._work.run.done(key(Phase.ANSWER), answer, result.seconds, status=status, error=error)
            evaluated = {"scores": scores, "usage": usage_to_json(judged)}
            self._work.run.done(key(Phase.EVALUATE), evaluated, status=status, error=f"[answer] {error}" if error else "")
        self._work.progress.advance(self._work.label, _ended(result, headline(scores)))


def step_name(sequence: StepSequence, step: Step) -> str:
    """Return the name of a step within its cell."""
    return f"{sequence.id}/{step.id}"


def _nothing() -> None:
    """Restore nothing, because a session that writes notes does not change the state."""


def _cut(piece: Retrieved) -> Retrieved:
    return replace(piece, text=piece.text[:4000])


def _ended(result: SessionResult, scores: Mapping[str, float] = EMPTY) -> FinishedItem:
    """Return the step's status for the progress display.

    Running out of time or turns is a wrong answer, while a crash or a limit is not.
    """
    status = Status.DONE if result.ok else Status.SKIPPED if result.error is ErrorKind.UNPREPARED else Status.FAILED
    usage = result.usage
    excused = str(result.error) not in OWN_FAULTS
    return FinishedItem(status, scores, usage.cost_usd, usage.input_tokens + usage.output_tokens, excused)
