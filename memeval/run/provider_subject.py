"""The subject for a memory system behind an API. Each phase processes its cases or questions with retries."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from memeval.core import embedding
from memeval.core.calls import RetryPolicy, with_retries
from memeval.core.embedding import RememberingEmbedder
from memeval.core.errors import ConfigError, DataError, MemevalError, ModelError, ProviderError, RunError, is_disk_full
from memeval.core.protocols import Benchmark, Judge, Model, Provider, RetrievalMetric
from memeval.core.types import EMPTY, Case, Phase, Question, Retrieved
from memeval.metrics import total_usage
from memeval.metrics.questions import Observation, question_scores
from memeval.models.guarded import Account, paid_by
from memeval.prompts import format_memories
from memeval.registry import Catalog
from memeval.results.codec import answer_from_json, answer_to_json, question_from_json, usage_from_json, usage_to_json
from memeval.results.files import ResultsDir
from memeval.results.store import Key, QuestionRow, Record, RunStore, Status
from memeval.run import phases, reuse
from memeval.run import plan as plans
from memeval.run.checkpoint import Run
from memeval.run.engine import Stage, Work
from memeval.run.plan import Plan, RunContext
from memeval.run.preparing import Chunks
from memeval.run.progress import FinishedItem, Progress
from memeval.run.result import about_run, result_of, without_secrets
from memeval.run.settings import OPTIONS, Settings
from memeval.specs import ProviderSpec, ProviderType
from memoryd.core.types import Usage

BREAK_AFTER = 20
"""Number of consecutive failures that ends a run. The provider or model is probably down, so further retries are pointless."""
MODEL_THREADS = 4
LOCAL_CASES = 2
"""Default number of concurrent model or network calls. A local provider works in one thread."""


def check(
    settings: Settings, context: RunContext, source: reuse.Source | None = None, results: ResultsDir | None = None
) -> ProviderSubject:
    """Build the subject of a new run. Every component is created once to report problems early. Raises ConfigError.

    If a `source` in `results` is given, the new run reuses its earlier phases. Raises RunError if the two runs don't match.
    """
    plan = plans.make_plan(settings, context.catalog)
    plans.check_parts(plan, context, searches=source is None or source.first is Phase.SEARCH)
    adopt = reuse.adoption(results, plan, source) if source is not None and results is not None else None
    return ProviderSubject(plan, context, adopt)


def subject_of(context: RunContext) -> Callable[[Run], ProviderSubject]:
    """Return a factory for the subject of an existing run (see `engine.reopen`).

    The factory raises RunError for another kind of subject.
    """

    def make(run: Run) -> ProviderSubject:
        refuse_client_run(run.store)
        return ProviderSubject(plans.make_plan(run.settings, context.catalog), context)

    return make


def minimal_plan(catalog: Catalog, benchmark: str, data: str = "") -> Plan:
    """Return a minimal plan for reading a benchmark's data."""
    return Plan(Settings(benchmark, "none", data=data), catalog.benchmark(benchmark), ProviderSpec("none", ProviderType.LOCAL))


def refuse_client_run(store: RunStore) -> None:
    """Reject a run that measured a client. Raises RunError."""
    if (client := store.meta("claudecode")) is not None:
        raise RunError(
            f"Run {store.path.parent.name} is a run_bench run.",
            fix=f"Resume it with: python -m memeval.claudecode.run_bench --resume {client['group']}",
        )


class ProviderSubject:
    """A benchmark with a provider. `adopt` is the run whose first phases a new run reuses.

    `data` is an already opened benchmark. By default, the benchmark is opened from its files.
    """

    def __init__(
        self, plan: Plan, context: RunContext, adopt: Mapping[str, str] | None = None, data: Benchmark | None = None
    ) -> None:
        self._plan = plan
        self._context = context
        self._adopt = adopt
        self._data = data

    results_version = ""

    @property
    def benchmark(self) -> str:
        """Return the name of the benchmark."""
        return self._plan.benchmark.name

    @property
    def label(self) -> str:
        """Return a readable label."""
        return f"{self.benchmark} × {self._plan.provider.name}"

    def about(self) -> Mapping[str, Any]:
        """Return the resolved files of the benchmark and provider."""
        specs = {"benchmark_spec": self._plan.benchmark_json(), "provider_spec": self._plan.provider_json()}
        return specs | ({"adopt": self._adopt} if self._adopt else {})

    def check_unchanged(self, run: Run) -> None:
        """Check that the files of the benchmark and provider are unchanged. Raises RunError."""
        reuse.check_specs(run.store, self._plan, f"run {run.id}")

    def plan(self, run: Run) -> None:
        """Choose the questions, or adopt them from the source run."""
        if run.store.meta("hypotheses"):
            raise RunError(
                f"Run {run.id} ended before its hypotheses were read.", fix="Evaluate the file again with another --run-id."
            )
        if (wanted := run.store.meta("adopt")) is not None:
            reuse.adopt(run, self._plan, wanted)
        else:
            plans.choose_questions(run, self._plan, self.data(), self._context.stop)

    def data(self) -> Benchmark:
        """Return the benchmark, opening it on first use."""
        if self._data is None:
            self._data = plans.open_data(self._plan, self._context)
        return self._data

    @staticmethod
    def single_turns(run: Run) -> bool:
        """Return whether every hit of the run is a single turn, which is required to score the turn level."""
        return all(
            len(piece["turns"]) <= 1
            for record in run.store.whole_records(Phase.SEARCH)
            if record.status is Status.DONE
            for piece in record.payload["retrieved"]
        )

    def stage(self, run: Run, phase: Phase, work: Work, progress: Progress) -> Stage | None:
        """Return the remaining cases or questions of the phase, or None for the answer phase without an answering model."""
        if phase is Phase.ANSWER and not self._plan.settings.answering_model:
            return None
        label = f"{self.label}: {phase}"
        doing = _Phases(run, self._plan, self._context, self.data, work, progress, label)
        if phase is Phase.INGEST:
            return doing.ingest()
        rows = run.pending(phase)
        total = len(run.store.questions())
        opens, threads = {
            Phase.SEARCH: (doing.search, doing.provider_threads),
            Phase.ANSWER: (doing.answer, doing.model_threads),
            Phase.EVALUATE: (doing.evaluate, doing.judge_threads),
        }[phase]
        return Stage(label, total, total - len(rows), rows, lambda: opens(rows), threads, bool(rows))

    def change_judge(self, run: Run, changes: Mapping[str, Any], *, force: bool) -> ProviderSubject:
        """Return the subject with the non-empty `changes` to its judge settings. Judgements are kept if no setting changes.

        Raises ConfigError if a setting changes without `force`.
        """
        old = run.settings
        new = replace(old, **{name: value for name, value in changes.items() if value})
        judged = bool(run.store.keys(Phase.EVALUATE))
        if judged and new != old and not force:
            raise ConfigError(f"Run {run.id} has already been judged by another judge.", fix="Give --force to judge it again.")
        with run.store.transaction():
            if judged and (force or new != old):
                run.forget(Phase.EVALUATE)
            run.store.set_meta("settings", new.to_json())
        return ProviderSubject(replace(self._plan, settings=new), self._context)

    def attachments(self, run: Run, file: Path) -> Mapping[Path, bytes]:
        """Return no attachments."""
        return {}

    def result(self, run: Run) -> dict[str, Any]:
        """Build the result from the records so far."""
        answered = bool(self._plan.settings.answering_model or run.store.meta("hypotheses"))
        own = not run.store.meta("hypotheses")  # Hypotheses missing from another program's file count as wrong.
        floor = self._plan.provider.effective_implementation == "none"
        names = plans.ranked_names(self._plan)
        return result_of(run, self._about(run), answered=answered, ranked=names, strict=own, may_be_empty=floor)

    def _about(self, run: Run) -> dict[str, Any]:
        meta, plan = run.store.meta, self._plan
        provenance = meta("provider_provenance", {})
        system = (meta("hypotheses") or {}).get("system")
        return {
            "benchmark": {"name": plan.benchmark.name, **meta("plan", {}), "spec": plan.benchmark_json()},
            "provider": {"name": system or plan.provider.name, "spec": plan.provider_json(), "told": provenance},
            "settings": self._shown_settings(),
            "models": {
                "answering": plan.settings.answering_model or None,
                "judge": plan.settings.judge_model or None,
                "judges": meta("judges", []),
            },
            "prompts": self._prompts(run.store.questions()),
            "index_backend": provenance.get("index_backend"),
            **about_run(run),
        }

    def _prompts(self, rows: Sequence[QuestionRow]) -> dict[str, Any]:
        """Return the name and hash of the answer prompt by question type. Judges report their own prompts."""
        if not self._plan.settings.answering_model:
            return {"answer": {}}
        first = {row.payload["question"]["type"]: row for row in reversed(rows)}
        kinds = {"answer": plans.answer_prompt}
        if self._plan.settings.reader == "con-session":
            kinds["note"] = plans.note_prompt
        prompts = {name: {kind: find(self._plan, _question(row)) for kind, row in first.items()} for name, find in kinds.items()}
        return {
            name: {kind: {"name": one.name, "hash": one.hash} for kind, one in sorted(found.items())}
            for name, found in prompts.items()
        }

    def _shown_settings(self) -> dict[str, Any]:
        """Return the resolved settings without private values (the data folder, and options that look like secrets)."""
        plan = self._plan
        data = plan.settings.to_json()
        data.update(
            variant=plan.variant,
            granularity=plan.granularity,
            search_k=plan.search_k,
            top_k=plan.top_k,
            threshold=plan.threshold,
            judge=",".join(plan.judges),
        )
        if "semantic" in plan.judges:
            data["embedder"] = plan.settings.embedder or embedding.DEFAULT
        data["data"] = Path(data["data"]).name
        for name in OPTIONS:
            data[name] = without_secrets(data[name])
        return data


class _Phases:
    """The phases of one run. Every item ends in a record, even if it fails."""

    def __init__(
        self,
        run: Run,
        plan: Plan,
        context: RunContext,
        data: Callable[[], Benchmark],
        work: Work,
        progress: Progress,
        label: str,
    ) -> None:
        self._run = run
        self._plan = plan
        self._context = context
        self._data = data
        self._concurrency = work.concurrency
        self._progress = progress
        self._label = label
        self._counting = Lock()
        self._in_a_row = 0
        self._embedder: RememberingEmbedder | None = None
        limits = plan.provider.rate_limit
        retries = 0 if plans.capabilities_of(plan).retries else limits.retries
        self._policy = RetryPolicy(retries, limits.backoff, limits.backoff_max)

    # Ingest

    def ingest(self) -> Stage:
        """Ingest the incomplete cases."""
        left = self._run.pending_cases()
        total = len({row.case_id for row in self._run.store.questions()})
        cases = (case for case in self._data().cases() if case.id in left)
        return Stage(self._label, total, total - len(left), cases, self._ingesting, self._ingest_threads, bool(left))

    @contextmanager
    def _ingesting(self) -> Iterator[Callable[[Case], None]]:
        self._check_data()
        with self._provider() as provider:
            yield lambda case: self._ingest_case(provider, case)
        if missing := self._run.pending_cases():
            raise DataError(f"Case {min(missing)!r} is no longer in the data.", fix="Use the data with which the run started.")

    def _check_data(self) -> None:
        """Check that the data of a resumed run has not changed since its start."""
        planned = self._run.store.meta("plan")["data_hash"]
        if self._data().data_hash() != planned:
            raise DataError("The data has changed since the run started.", fix="Restore it, or start a new run.")

    def _ingest_case(self, provider: Provider, case: Case) -> None:
        scope = self._scope(case.id)
        key = Key(Phase.INGEST, case.id)
        timeout = self._plan.settings.index_timeout
        parts: list[Record] = []
        chunks: dict[str, Sequence[str]] = {}
        waited, usage = 0.0, Usage()
        try:
            self._clear_once(provider, case.id)
            spec = self._plan.benchmark
            for batch in phases.batches(case.sessions, spec.ingestion, user_only=self._plan.variant == "official", spec=spec):
                chunks |= batch.chunks
                if parts and spec.batching.delay:
                    self._context.stop.sleep(spec.batching.delay)
                parts.append(self._ingest_batch(provider, scope, case.id, batch, timeout))
            if not (parts and batch.wait):
                started = time.perf_counter()
                with paid_by(self._payer(key)) as account:
                    self._retried(lambda: provider.await_indexed(scope, timeout))
                waited, usage = time.perf_counter() - started, account.usage
        except (ProviderError, ModelError) as error:
            self._failed(key, error)
            return
        usage = total_usage([*(usage_from_json(record.payload["usage"]) for record in parts), usage])
        payload = {
            "batches": len(parts),
            "sessions": len(case.sessions),
            "turns": sum(len(session.turns) for session in case.sessions),
            "provider": _summed(record.payload["provider"] for record in parts),
            "usage": usage_to_json(usage),
            **({"chunks": chunks} if chunks else {}),
        }
        self._finish(key, payload, sum(record.seconds for record in parts) + waited, cost=usage.cost_usd)

    def _clear_once(self, provider: Provider, case_id: str) -> None:
        """Clear a case before it is ingested again with --force."""
        if self._run.store.meta("clear_first") and self._run.store.get(Key(Phase.INGEST, case_id, part="000001")) is None:
            self._retried(lambda: provider.clear(self._scope(case_id)))

    def _ingest_batch(self, provider: Provider, scope: str, case_id: str, batch: phases.Batch, timeout: float) -> Record:
        key = Key(Phase.INGEST, case_id, part=batch.part)
        if (there := self._run.store.get(key)) is not None:
            return there
        started = time.perf_counter()
        with paid_by(self._payer(key)) as account:
            response = self._retried(lambda: provider.ingest(scope, batch.sessions))
            if batch.wait:
                self._retried(lambda: provider.await_indexed(scope, timeout))
        payload = {"provider": dict(response or {}), "usage": usage_to_json(account.usage)}
        return self._run.done(key, payload, time.perf_counter() - started)

    # Search

    @contextmanager
    def search(self, rows: Sequence[QuestionRow]) -> Iterator[Callable[[QuestionRow], None]]:
        """Search the provider for each question."""
        with self._provider() as provider:
            if provider.capabilities.gold:
                self._give_gold(provider, rows)
            yield lambda row: self._search_one(provider, row)

    def _give_gold(self, provider: Provider, pending: Sequence[QuestionRow]) -> None:
        by_case: dict[str, list[Question]] = defaultdict(list)
        for row in pending:
            by_case[row.case_id].append(_question(row))
        for case_id, questions in by_case.items():
            chunks = self._chunks(case_id)
            provider.use_gold(self._scope(case_id), Case(case_id, (), tuple(_in_chunks(one, chunks) for one in questions)))

    def _chunks(self, case_id: str) -> Chunks:
        record = self._run.store.get(Key(Phase.INGEST, case_id)) if self._plan.benchmark.chunking else None
        chunks: Chunks = record.payload.get("chunks", {}) if record is not None else {}
        return chunks

    def _search_one(self, provider: Provider, row: QuestionRow) -> None:
        key = Key(Phase.SEARCH, row.case_id, row.question_id)
        if self._inherit_failure(key, Key(Phase.INGEST, row.case_id)):
            return
        plan = self._plan
        wanted = phases.SearchPlan(plan.search_k, plan.top_k, plan.granularity, plan.threshold, self._chunks(row.case_id))
        started = time.perf_counter()
        try:
            with paid_by(self._payer(key)) as account:
                payload = self._retried(lambda: phases.search(provider, self._scope(row.case_id), _question(row), wanted))
        except (ProviderError, ModelError) as error:
            self._failed(key, error, account.recorded())
            return
        payload |= account.recorded()
        if account.usage != Usage():
            payload["usage"] = usage_to_json(account.usage)
        self._finish(key, payload, time.perf_counter() - started, cost=account.usage.cost_usd)

    # Answer

    @contextmanager
    def answer(self, rows: Sequence[QuestionRow]) -> Iterator[Callable[[QuestionRow], None]]:
        """Have the answering model answer each question from its hits."""
        settings = self._plan.settings
        model = plans.make_model(settings.answering_model, settings.model_options, self._context)
        yield lambda row: self._answer_one(model, row)

    def _answer_one(self, model: Model, row: QuestionRow) -> None:
        key = Key(Phase.ANSWER, row.case_id, row.question_id)
        before = Key(Phase.SEARCH, row.case_id, row.question_id)
        if self._inherit_failure(key, before):
            return
        pieces, epochs = self._found(before)[: self._plan.top_k], self._plan.settings.epochs
        account = Account()

        def ask(epoch: int, payer: Key) -> tuple[dict[str, Any], float]:
            nonlocal account
            started = time.perf_counter()
            with paid_by(self._payer(payer), epoch) as account:
                made = phases.answer(model, self._reading, _question(row), pieces)
            return {**answer_to_json(made), **account.recorded()}, made.seconds or time.perf_counter() - started

        try:
            if epochs == 1:
                payload, seconds = ask(1, key)
            else:
                records = [self._epoch(key, epoch, ask) for epoch in range(1, epochs + 1)]
                answers = [{name: value for name, value in record.payload.items() if name != "calls"} for record in records]
                payload, seconds = {**answers[0], "epochs": answers}, sum(record.seconds for record in records) / epochs
                payload["usage"] = usage_to_json(total_usage(usage_from_json(one["usage"]) for one in answers))
        except (ProviderError, ModelError) as error:
            self._failed(key, error, account.recorded())
            return
        self._finish(key, payload, seconds, cost=payload["usage"]["cost_usd"])

    def _epoch(self, key: Key, epoch: int, do: Callable[[int, Key], tuple[dict[str, Any], float]]) -> Record:
        """Process one epoch of a question unless it is already recorded. An epoch is a part of the whole record."""
        part = replace(key, part=f"{epoch:06d}")
        if (there := self._run.store.get(part)) is not None:
            return there
        payload, seconds = do(epoch, part)
        return self._run.done(part, payload, seconds)

    @property
    def _reading(self) -> phases.ReaderSetup:
        settings, plan = self._plan.settings, self._plan
        note = (lambda question: plans.note_prompt(plan, question)) if settings.reader == "con-session" else None
        return phases.ReaderSetup(
            lambda question: plans.answer_prompt(plan, question), settings.reader, note, settings.abstain_below
        )

    def _found(self, key: Key) -> list[Retrieved]:
        record = self._run.store.get(key)
        return phases.found(record.payload) if record is not None and record.status is Status.DONE else []

    # Evaluate

    @contextmanager
    def evaluate(self, rows: Sequence[QuestionRow]) -> Iterator[Callable[[QuestionRow], None]]:
        """Score the retrieved hits and judge the answers."""
        answered = bool(self._run.store.keys(Phase.ANSWER))
        judges = plans.make_judges(self._plan, self._context) if answered else []
        self._run.store.set_meta("judges", [_about_judge(judge) for judge in judges])
        metrics = plans.ranking_metrics(self._plan)
        known = self._run.store.meta("single_turns")  # A node of a cluster has only a part of the run.
        self._single_turns = ProviderSubject.single_turns(self._run) if known is None else bool(known)
        name = self._plan.settings.embedder
        self._embedder = plans.make_embedder(name) if name else None
        yield lambda row: self._evaluate_one(row, judges, metrics)

    def _evaluate_one(self, row: QuestionRow, judges: Sequence[Judge], metrics: Sequence[RetrievalMetric]) -> None:
        key = Key(Phase.EVALUATE, row.case_id, row.question_id)
        question = _question(row)
        started = time.perf_counter()
        scores: list[dict[str, Any]] = []
        searched = self._run.store.get(Key(Phase.SEARCH, row.case_id, row.question_id))
        answered = self._run.store.get(Key(Phase.ANSWER, row.case_id, row.question_id))
        pieces: list[Retrieved] = []
        said: dict[str, Any] = {}
        if searched is not None and searched.status is Status.DONE:
            pieces = phases.found(searched.payload)
            cut_offs = self._plan.benchmark.retrieval.k
            unit = self._plan.granularity
            scores += phases.ranking_scores(pieces, _gold(row), metrics, cut_offs, unit, self._single_turns)
            scores += phases.budget_scores(pieces, phases.sizes(searched.payload), _gold(row), unit)
            guard = searched.payload.get("guard", {}).get("said")
            seen = Observation(question, pieces, self._plan.top_k, cut_offs, embedder=self._embedder, guard=guard)
            scores += question_scores(seen)
        try:
            if answered is not None and answered.status is Status.DONE:
                scores += self._judged(key, question, answered, judges, pieces, said)
        except (ProviderError, ModelError) as error:
            self._failed(key, error, {"scores": scores, "usage": phases.total_usage(scores), **said})
            return
        usage = phases.total_usage(scores)
        self._finish(
            key,
            {"scores": scores, "usage": usage, **said},
            time.perf_counter() - started,
            scores={s["metric"]: s["value"] for s in scores if s["value"] is not None},
            cost=usage["cost_usd"],
        )

    def _judged(
        self,
        key: Key,
        question: Question,
        answered: Record,
        judges: Sequence[Judge],
        pieces: Sequence[Retrieved],
        said: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Return the scores of the answer, or the mean scores of the answers in all epochs.

        The judges' model calls are added to `said`, except for those of completed epochs, which have their own records.
        """
        seen = Observation(question, pieces, self._plan.top_k, self._plan.benchmark.retrieval.k)
        memories = format_memories(seen.read, as_json=self._plan.settings.reader == "con") if pieces else ""

        def judge(payload: Mapping[str, Any], payer: Key, epoch: int = 1) -> list[dict[str, Any]]:
            hypothesis = answer_from_json(payload, answered.seconds)
            with paid_by(self._payer(payer), epoch) as account:
                try:
                    scores = list(phases.answer_scores(question, hypothesis, judges))
                finally:
                    said.update(account.recorded())
            return [*scores, *question_scores(replace(seen, answer=hypothesis, memories=memories))]

        if "epochs" not in answered.payload:
            return judge(answered.payload, key)

        def judge_epoch(epoch: int, payer: Key) -> tuple[dict[str, Any], float]:
            started = time.perf_counter()
            scores = judge(answered.payload["epochs"][epoch - 1], payer, epoch)
            calls, spent = {"calls": said.pop("calls")} if said else {}, phases.total_usage(scores)
            return {"scores": scores, "usage": spent, **calls}, time.perf_counter() - started

        numbers = range(1, len(answered.payload["epochs"]) + 1)
        return phases.over_epochs([self._epoch(key, epoch, judge_epoch).payload["scores"] for epoch in numbers])

    # Records

    def _inherit_failure(self, key: Key, before: Key) -> bool:
        """Fail a question with the error of the previous phase, if that phase failed. Return whether it did."""
        earlier = self._run.store.get(before)
        if earlier is None or earlier.status is not Status.FAILED:
            return False
        error = earlier.error if earlier.error.startswith("[") else f"[{before.phase}] {earlier.error}"
        self._run.done(key, status=Status.FAILED, error=error)
        self._progress.advance(self._label, FinishedItem(Status.FAILED))
        return True

    def _failed(self, key: Key, error: MemevalError, payload: Mapping[str, Any] = EMPTY) -> None:
        """Record a failure of the system or a model. All other errors, and a full disk, end the run."""
        if is_disk_full(error):
            raise RunError(error.message, fix=f"Free some space, then continue: memeval eval --resume {self._run.id}") from error
        self._run.done(key, payload, status=Status.FAILED, error=f"{type(error).__name__}: {error}")
        self._progress.advance(self._label, FinishedItem(Status.FAILED))
        with self._counting:
            self._in_a_row += 1
            broken = self._in_a_row >= BREAK_AFTER
        if broken:
            raise RunError(
                f"Stopped: the last {BREAK_AFTER} items of phase {key.phase} failed. The last one: {error.message}",
                fix=f"{error.fix or 'Correct the cause.'} Then: memeval eval --resume {self._run.id} --retry-failed",
            )

    def _finish(
        self,
        key: Key,
        payload: Mapping[str, Any],
        seconds: float,
        *,
        scores: Mapping[str, float] = EMPTY,
        cost: float | None = 0.0,
    ) -> None:
        self._run.done(key, payload, seconds)
        self._progress.advance(self._label, FinishedItem(scores=scores, cost_usd=cost))
        with self._counting:
            self._in_a_row = 0

    def _payer(self, key: Key) -> str:
        return "/".join((self._run.id, key.phase, key.case_id, key.question_id, key.part))

    def _scope(self, case_id: str) -> str:
        template = self._plan.provider.scoping.run_id_format
        return phases.scope_of(template, self._run.store.meta("scope_run"), self._plan.benchmark.name, case_id)

    def _retried(self, call: Callable[[], Any]) -> Any:
        return with_retries(call, self._policy, self._context.stop)

    @contextmanager
    def _provider(self) -> Iterator[Provider]:
        provider = plans.make_provider(self._plan, self._context)
        self._run.state.mkdir(parents=True, exist_ok=True)
        try:
            provider.open(self._run.state)
            self._note(provider)
            yield provider
            self._note(provider)
        finally:
            provider.close()

    def _note(self, provider: Provider) -> None:
        """Store the facts that the provider reports about itself, such as the index actually used."""
        if provider.capabilities.provenance:
            self._run.store.set_meta("provider_provenance", dict(provider.provenance()))

    @property
    def _ingest_threads(self) -> int:
        """Return the number of threads for ingest. A local provider can write one case while embedding another.

        Searches of a local provider run one at a time, so that their timings are accurate.
        """
        return self._concurrency or (LOCAL_CASES if plans.is_local(self._plan) else MODEL_THREADS)

    @property
    def provider_threads(self) -> int:
        """Return the number of threads for searches."""
        return self._concurrency or (1 if plans.is_local(self._plan) else MODEL_THREADS)

    @property
    def model_threads(self) -> int:
        """Return the number of threads for answers."""
        return self._concurrency or MODEL_THREADS

    @property
    def judge_threads(self) -> int:
        """Return the number of threads for judgements. Judging is fast without a model."""
        return self.model_threads if self._plan.settings.judge_model else 1


def _question(row: QuestionRow) -> Question:
    return question_from_json(row.payload["question"])


def _in_chunks(question: Question, chunks: Chunks) -> Question:
    """Return the question with its evidence mapped to the provider's chunks."""
    if not chunks:
        return question
    whole = {turn for turns in chunks.values() for turn in turns}
    wanted = set(question.evidence_turns)
    cut = [id for id, turns in chunks.items() if wanted.intersection(turns)]
    return replace(question, evidence_turns=(*(turn for turn in question.evidence_turns if turn not in whole), *cut))


def _gold(row: QuestionRow) -> phases.Gold:
    return phases.gold_from_json(row.payload)


def _about_judge(judge: Judge) -> dict[str, Any]:
    return {"name": judge.name, "prompt_hashes": dict(judge.prompt_hashes())}


def _summed(payloads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum the numbers reported by a provider for each batch. For other values, keep the last one."""
    out: dict[str, Any] = {}
    for payload in payloads:
        for key, value in payload.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            out[key] = out.get(key, 0) + value if number else value
    return out
