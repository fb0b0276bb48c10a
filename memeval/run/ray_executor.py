"""Spread the questions of a run over an existing Ray cluster (`--executor ray`).

The driver keeps run.db, so checkpoints, resuming and the result file work as in a local run. A unit of work is either
a case, which is ingested and searched on one node because the memory's state stays there, or a single question to
answer or judge. A node processes a unit as a separate small run in a temporary folder, and streams each record to the
driver as soon as it is complete. If a node dies, its unsent work is repeated on another node.

The ingest of a case is recorded only after its searches, because its state is deleted at the end of the unit.

Every node needs the same version of memeval, the API keys of the models, and the user's own YAML, prompt and Python files at
the same paths. Only this module imports ray (extra `ray`).
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import socket
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memeval.benchmarks.source import Downloader, DownloadLines, Sources
from memeval.core import errors
from memeval.core.calls import Budget, Stop
from memeval.core.errors import ConfigError, DependencyError, MemevalError, RunError
from memeval.core.types import Case, Phase
from memeval.models.guarded import ModelCache
from memeval.registry import Catalog
from memeval.results.files import ResultsDir
from memeval.results.provenance import version
from memeval.results.store import Key, QuestionRow, Record, Status
from memeval.run import engine
from memeval.run import plan as plans
from memeval.run.checkpoint import ORDER, Run
from memeval.run.engine import Work
from memeval.run.plan import RunContext
from memeval.run.progress import FinishedItem, Progress, QuietProgress
from memeval.run.provider_subject import BREAK_AFTER, ProviderSubject
from memeval.run.settings import Settings

ATTEMPTS = 5
"""Maximum starts of a unit without a new record. More deaths than this are unlikely to be accidental."""
POLL_SECONDS = 0.5
REACH_SECONDS = 10.0
STATEFUL = (Phase.INGEST, Phase.SEARCH)


@dataclass(slots=True)
class Unit:
    """Work for one node: the phases of some questions, with the records and facts that those phases require."""

    run_id: str
    settings: Mapping[str, Any]
    phases: tuple[Phase, ...]
    rows: list[QuestionRow]
    records: list[Record]
    facts: dict[str, Any]
    folders: tuple[Path, ...]
    model_cache: Path | None
    datasets: Path
    offline: bool
    case: Case | None = None
    attempts: int = field(default=0)


def perform(
    run: Run, subject: ProviderSubject, context: RunContext, progress: Progress, work: Work, address: str = ""
) -> Path | None:
    """Run the phases on the cluster at `address`. Return the path of the result if the report is one of the phases.

    Raises MemevalError like `engine.perform`, and ConfigError if the run is unsuitable for a cluster.
    """
    _check(run, context, work)
    ray = _connect(address)
    try:
        if not run.planned:
            subject.plan(run)
        driver = _Driver(ray, run, subject, context, progress, work)
        if Phase.INGEST in work.phases:
            driver.spread("ingest and search", driver.cases())
        for phase in (Phase.ANSWER, Phase.EVALUATE):
            settings = run.settings
            wanted = phase in work.phases and (settings.answering_model if phase is Phase.ANSWER else settings.judge_model)
            if wanted:
                driver.spread(str(phase), driver.questions(phase))
    finally:
        ray.shutdown()
    # Judging without a model is too fast to be worth distributing.
    rest = tuple(phase for phase in work.phases if phase in (Phase.EVALUATE, Phase.REPORT))
    return engine.perform(run, subject, context.stop, progress, Work(work.concurrency, rest))


def _check(run: Run, context: RunContext, work: Work) -> None:
    if context.budget.limit is not None:
        raise ConfigError("--budget-usd can't be enforced across several nodes.", fix="Omit it, or use --executor local.")
    if (Phase.INGEST in work.phases) != (Phase.SEARCH in work.phases):
        raise ConfigError(
            "With --executor ray, ingest and search run together, because the state of a case is deleted with its node's work.",
            fix="Run all phases, or use --executor local.",
        )
    adopted = run.store.meta("adopt") or {}
    if adopted.get("first") == Phase.SEARCH:
        raise ConfigError("The state reused by --from exists only on this machine.", fix="Use --executor local.")
    if context.memories:
        raise ConfigError("A Python object can't be sent to other nodes.", fix="Define it as `adapter` in a YAML file.")


def _connect(address: str) -> Any:
    try:
        import ray  # An extra. Importing it takes a second.
    except ImportError as error:
        raise DependencyError("--executor ray requires Ray.", fix="Run: pip install 'memoryd[ray]'") from error
    try:
        _reach(address)
        ray.init(address=address or "auto", logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"There is no Ray cluster at {address or 'the default address'}: {str(error).splitlines()[0]}",
            fix="Start one with `ray start --head`, or give --ray-address.",
        ) from error
    return ray


def _reach(address: str) -> None:
    """Check that `host:port` accepts connections. Ray itself would retry for minutes. Raises OSError."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()


class _Driver:
    """Sends units to the cluster and stores their results."""

    def __init__(self, ray: Any, run: Run, subject: ProviderSubject, context: RunContext, progress: Progress, work: Work) -> None:
        self._ray = ray
        self._run = run
        self._subject = subject
        self._context = context
        self._progress = progress
        self._concurrency = work.concurrency
        self._task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(work_on)
        self._in_a_row = 0
        self._label = ""
        self._resumed = bool(run.store.keys(Phase.INGEST) or run.store.keys(Phase.SEARCH) or run.store.meta("ray_started"))
        run.store.set_meta("ray_started", True)

    # Units

    def cases(self) -> Iterator[Unit]:
        """Yield the cases with pending searches or without a recorded ingest."""
        left = {row.case_id for row in self._run.pending(Phase.SEARCH)} | self._run.pending_cases()
        if not left:
            return
        data = self._subject.data()
        if data.data_hash() != self._run.store.meta("plan")["data_hash"]:
            raise errors.DataError("The data has changed since the run started.", fix="Restore it, or start a new run.")
        rows: dict[str, list[QuestionRow]] = {}
        for row in self._run.store.questions():
            rows.setdefault(row.case_id, []).append(row)
        for case in data.cases():
            if case.id in left:
                left.discard(case.id)
                done = self._records(Phase.SEARCH, rows[case.id])
                yield self._unit(STATEFUL, rows[case.id], done, case, clear_first=self._resumed)
        if left:
            raise errors.DataError(
                f"Case {min(left)!r} is no longer in the data.", fix="Use the data with which the run started."
            )

    def questions(self, phase: Phase) -> Iterator[Unit]:
        """Yield the questions without a record of the phase."""
        before = ORDER[1 : ORDER.index(phase)]
        facts: dict[str, Any] = {}
        if phase is Phase.EVALUATE:
            facts["single_turns"] = self._subject.single_turns(self._run)
        for row in self._run.pending(phase):
            records = [record for earlier in before for record in self._records(earlier, [row])]
            parts = [record for key in self._parts(phase, row) if (record := self._run.store.get(key)) is not None]
            yield self._unit((phase,), [row], [*records, *parts], None, **facts)

    def _records(self, phase: Phase, rows: Iterable[QuestionRow]) -> list[Record]:
        keys = (Key(phase, row.case_id, row.question_id) for row in rows)
        return [record for key in keys if (record := self._run.store.get(key)) is not None]

    def _parts(self, phase: Phase, row: QuestionRow) -> list[Key]:
        """Return the keys of the epochs completed in earlier starts."""
        epochs = self._run.settings.epochs
        numbers = range(1, epochs + 1) if epochs > 1 else range(0)
        return [Key(phase, row.case_id, row.question_id, f"{number:06d}") for number in numbers]

    def _unit(
        self, phases: tuple[Phase, ...], rows: list[QuestionRow], records: list[Record], case: Case | None, **facts: Any
    ) -> Unit:
        meta, context = self._run.store.meta, self._context
        shared = {"scope_run": meta("scope_run"), "plan": meta("plan")}
        return Unit(
            self._run.id, self._run.settings.to_json(), phases, rows, records, {**shared, **facts}, context.catalog.folders,
            context.cache.folder, context.sources.cache, context.sources.offline, case,
        )  # fmt: skip

    # Work

    def spread(self, what: str, units: Iterator[Unit]) -> None:
        """Process all units, with one slot per processor of the cluster unless `--concurrency` is given."""
        phase = Phase.SEARCH if what.startswith("ingest") else Phase(what)
        total = len(self._run.store.questions())
        self._label = f"{self._subject.label}: {what}"
        self._progress.begin(self._label, total, total - len(self._run.pending(phase)))
        active: dict[Any, Unit] = {}
        again: deque[Unit] = deque()
        try:
            while True:
                self._context.stop.check()
                while len(active) < self._slots() and (unit := again.popleft() if again else next(units, None)) is not None:
                    active[self._task.remote(_packed(unit))] = unit
                if not active:
                    break
                ready, _ = self._ray.wait(list(active), timeout=POLL_SECONDS)
                for stream in ready:
                    self._receive(stream, active, again, phase)
        finally:
            for stream in active:
                self._ray.cancel(stream, force=True)
        self._progress.end(self._label)

    def _slots(self) -> int:
        return self._concurrency or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _receive(self, stream: Any, active: dict[Any, Unit], again: deque[Unit], phase: Phase) -> None:
        """Store the next message from a unit, or requeue the unit if its node died."""
        try:
            kind, value = pickle.loads(self._ray.get(next(stream)))  # noqa: S301 - from our own task on the user's cluster
        except StopIteration:
            del active[stream]
        except self._ray.exceptions.RayTaskError as error:
            raise RunError(
                f"A node failed: {str(error).strip().splitlines()[-1]}",
                fix="Install the same version of memeval in the Python of every node.",
            ) from error
        except self._ray.exceptions.RayError as error:
            again.append(self._remaining(active.pop(stream), error))
        else:
            self._take(kind, value, active[stream], phase)

    def _remaining(self, unit: Unit, error: Exception) -> Unit:
        """Return the remaining work of a unit after its node died. A system behind an API is cleared of the node's additions."""
        if unit.attempts + 1 >= ATTEMPTS:
            raise RunError(
                f"A unit of work ended {ATTEMPTS} times without a result: {str(error).splitlines()[0]}",
                fix=f"See the logs of the cluster, then: memeval eval --resume {self._run.id} --executor ray",
            ) from error
        phase = unit.phases[-1]
        kept = [record for record in unit.records if record.key.phase is not phase]
        there = [*self._records(phase, unit.rows), *(r for row in unit.rows for r in self._part_records(phase, row))]
        facts = {**unit.facts, **({"clear_first": True} if unit.case is not None else {})}
        return replace(unit, records=[*kept, *there], facts=facts, attempts=unit.attempts + 1)

    def _part_records(self, phase: Phase, row: QuestionRow) -> list[Record]:
        return [record for key in self._parts(phase, row) if (record := self._run.store.get(key)) is not None]

    def _take(self, kind: str, value: Any, unit: Unit, phase: Phase) -> None:
        if kind == "version" and value != version():
            raise RunError(
                f"A node has memeval {value}, but this machine has {version()}.", fix="Install the same version everywhere."
            )
        if kind == "error":
            name, message, fix = value
            raise getattr(errors, name, RunError)(message, fix=fix)
        if kind == "facts":
            self._note(value)
        if kind == "record":
            unit.attempts = 0
            self._store(value, phase)

    def _note(self, facts: Mapping[str, Any]) -> None:
        """Store facts reported by nodes about their components. Raises RunError if two nodes judge with different prompts."""
        for name, value in facts.items():
            before = self._run.store.meta(name)
            if name == "judges" and before and before != value:
                raise RunError(
                    "Two nodes judge with different prompts.", fix="Give every node the same prompt files and official files."
                )
            if value:
                self._run.store.set_meta(name, value)

    def _store(self, record: Record, phase: Phase) -> None:
        key, store = record.key, self._run.store
        if key.phase is Phase.INGEST and store.get(key) is not None:
            return  # The case was already ingested, and only some of its searches were missing.
        store.put(record)
        if key.part or key.phase is not phase:
            return
        scores = {one["metric"]: one["value"] for one in record.payload.get("scores", ()) if one["value"] is not None}
        cost = record.payload.get("usage", {}).get("cost_usd", 0.0)
        self._progress.advance(self._label, FinishedItem(record.status, scores, cost))
        self._in_a_row = self._in_a_row + 1 if record.status is Status.FAILED else 0
        if self._in_a_row >= BREAK_AFTER:
            raise RunError(
                f"Stopped: the last {BREAK_AFTER} items of phase {phase} failed. The last one: {record.error}",
                fix=f"Correct the cause. Then: memeval eval --resume {self._run.id} --executor ray --retry-failed",
            )


# On a node


class _SentRun(Run):
    """A run that also collects its new records for sending."""

    def __init__(self, results: ResultsDir, folder: Path, *, create: bool = False) -> None:
        super().__init__(results, folder, create=create)
        self.fresh: list[Record] = []

    def done(self, *args: Any, **options: Any) -> Record:
        record = super().done(*args, **options)
        self.fresh.append(record)
        return record


class _OneCase:
    """A benchmark that consists of one case."""

    def __init__(self, name: str, case: Case, data_hash: str) -> None:
        self.name = name
        self._case = case
        self._data_hash = data_hash

    def cases(self) -> Iterator[Case]:
        yield self._case

    def data_hash(self) -> str:
        return self._data_hash


def work_on(packed: bytes) -> Iterator[bytes]:
    """Process a unit on a node. Yield the node's version, each completed record, and finally facts or an error."""
    unit: Unit = pickle.loads(packed)  # noqa: S301 - from the driver
    yield _packed(("version", version()))
    with tempfile.TemporaryDirectory(prefix="memeval-ray-") as folder:
        try:
            for item in _work_on(unit, Path(folder)):  # Ray sends values into the generator, so `yield from` can't be used.
                yield _packed(item)
        except MemevalError as error:
            yield _packed(("error", (type(error).__name__, error.message, error.fix)))


def _work_on(unit: Unit, folder: Path) -> Iterator[tuple[str, Any]]:
    downloads = Downloader(DownloadLines(lambda line: None))
    sources = Sources(unit.datasets, downloads, unit.offline)
    catalog = Catalog(unit.folders, os.environ)
    context = RunContext(catalog, ModelCache(unit.model_cache), Budget(), Stop(), sources)
    settings = Settings.from_json(unit.settings)
    plan = plans.make_plan(settings, catalog)
    data = None if unit.case is None else _OneCase(plan.benchmark.name, unit.case, unit.facts["plan"]["data_hash"])
    subject = ProviderSubject(plan, context, data=data)
    facts = {name: value for name, value in unit.facts.items() if name != "plan"}
    with _SentRun.create(ResultsDir(folder), unit.run_id, settings, facts) as run:
        assert isinstance(run, _SentRun)
        run.plan(unit.rows, unit.facts["plan"])
        for record in unit.records:
            run.store.put(record)
        held: list[Record] = []
        for phase in unit.phases:
            for record in _records_of(run, subject, phase):
                if record.key.phase is Phase.INGEST:
                    held.append(record)
                else:
                    yield "record", record
        yield from (("record", record) for record in held)
        yield "facts", {name: run.store.meta(name) for name in ("judges", "provider_provenance")}


def _records_of(run: _SentRun, subject: ProviderSubject, phase: Phase) -> Iterator[Record]:
    stage = subject.stage(run, phase, Work(1, (phase,)), QuietProgress())
    if stage is None or not stage.pending:
        return
    with stage.open() as do:
        for item in stage.items:
            do(item)
            yield from run.fresh
            run.fresh.clear()


def _read_only(values: dict[Any, Any]) -> Mapping[Any, Any]:
    """Rebuild a read-only mapping, because pickle can't look up its type by name."""
    return MappingProxyType(values)


class _Pickler(pickle.Pickler):
    """A pickler that supports the read-only mappings in cases and specs."""

    def reducer_override(self, value: Any) -> Any:
        return (_read_only, (dict(value),)) if isinstance(value, MappingProxyType) else NotImplemented


def _packed(value: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump(value)
    return out.getvalue()
