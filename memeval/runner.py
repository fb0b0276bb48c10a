"""Runs the phases of one run over its questions: in threads, with retries, budget and stop flag.

Phases come one after another; within one, work that has a record is left out and every piece of work ends in a
record, also a failed one. What ends a run early is a fault that no question is to blame for: the user's stop, the
budget, broken data, a fault in the program. All else that was done by then is kept.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from memeval import assembly
from memeval.assembly import Plan, Surroundings
from memeval.cache import paid_by
from memeval.calls import RetryPolicy, with_retries
from memeval.checkpoint import Run
from memeval.embedding import RememberingEmbedder
from memeval.errors import DataError, MemevalError, ModelError, ProviderError
from memeval.metrics import total_usage
from memeval.phases import evaluate, ingest, search
from memeval.phases.answer import answer
from memeval.planning import choose_questions
from memeval.prompts import format_memories
from memeval.protocols import Benchmark, Judge, Model, Provider, RetrievalMetric
from memeval.results.codec import answer_from_json, answer_to_json, question_from_json, usage_from_json, usage_to_json
from memeval.results.store import Key, QuestionRow, Record, Status
from memeval.types import EMPTY, Case, Phase, Question, Retrieved
from memeval.workers import for_each
from memoryd.types import Usage

Item = TypeVar("Item")
MODEL_THREADS = 4
LOCAL_CASES = 2
"""Default number of model or network calls at once; a local provider works in one thread."""


class Progress(Protocol):
    """Who wants to know how a run goes. Called from several threads."""

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """A phase begins; `done` of `total` pieces of work are there from an earlier start."""

    def advance(self, phase: Phase, status: Status, scores: Mapping[str, float], cost_usd: float | None) -> None:
        """A piece of work ended."""

    def end(self, phase: Phase) -> None:
        """The phase ended."""


@dataclass(frozen=True, slots=True)
class Work:
    """How to run. `concurrency` None: one thread for a local provider, else four."""

    concurrency: int | None = None
    phases: tuple[Phase, ...] = tuple(Phase)


class Runner:
    """One run of one benchmark with one provider."""

    def __init__(self, run: Run, plan: Plan, around: Surroundings, progress: Progress, work: Work | None = None) -> None:
        self._run = run
        self._plan = plan
        self._around = around
        self._progress = progress
        self._work = work or Work()
        self._data: Benchmark | None = None
        self._embedder: RememberingEmbedder | None = None
        limits = plan.provider.rate_limit
        own = plan.provider.effective_implementation == "http"  # it tries again itself, call by call
        self._policy = RetryPolicy(0 if own else limits.retries, limits.backoff, limits.backoff_max)

    def execute(self) -> None:
        """Do the phases that are asked for. Raises MemevalError when the run ends early."""
        steps: dict[Phase, Callable[[], None]] = {
            Phase.INGEST: self._ingest,
            Phase.SEARCH: self._search,
            Phase.ANSWER: self._answer,
            Phase.EVALUATE: self._evaluate,
        }
        self.plan_questions()
        for phase in Phase:
            if phase in steps and phase in self._work.phases:
                self._run.require(phase)
                steps[phase]()

    def plan_questions(self) -> None:
        """Choose the questions, unless that is done."""
        if not self._run.planned:
            choose_questions(self._run, self._plan, self._benchmark(), self._around.stop)

    def _benchmark(self) -> Benchmark:
        if self._data is None:
            self._data = assembly.open_data(self._plan, self._around)
        return self._data

    # Ingest

    def _ingest(self) -> None:
        open_cases = self._run.pending_cases()
        total = len({row.case_id for row in self._run.store.questions()})
        self._progress.begin(Phase.INGEST, total, total - len(open_cases))
        if open_cases:
            self._check_data()
            with self._provider() as provider:
                cases = (case for case in self._benchmark().cases() if case.id in open_cases)
                self._each(Phase.INGEST, cases, lambda case: self._ingest_case(provider, case), self._ingest_threads())
        if missing := self._run.pending_cases():
            raise DataError(f"Case {min(missing)!r} is no longer in the data.", fix="Use the data that the run began with.")
        self._progress.end(Phase.INGEST)

    def _check_data(self) -> None:
        """A run that goes on must see the data that it began with."""
        planned = self._run.store.meta("plan")["data_hash"]
        if self._benchmark().data_hash() != planned:
            raise DataError("The data are not those that the run began with.", fix="Restore them, or start a new run.")

    def _ingest_case(self, provider: Provider, case: Case) -> None:
        scope = self._scope(case.id)
        key = Key(Phase.INGEST, case.id)
        timeout = self._plan.settings.index_timeout
        parts: list[Record] = []
        waited, usage = 0.0, Usage()
        try:
            self._clear_once(provider, case.id)
            for batch in ingest.batches(
                case.sessions, self._plan.benchmark.ingestion, user_only=self._plan.variant == "official"
            ):
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
        }
        self._finish(key, payload, sum(record.seconds for record in parts) + waited, cost=usage.cost_usd)

    def _clear_once(self, provider: Provider, case_id: str) -> None:
        """A case that is ingested anew by force begins empty."""
        if self._run.store.meta("clear_first") and self._run.store.get(Key(Phase.INGEST, case_id, part="000001")) is None:
            self._retried(lambda: provider.clear(self._scope(case_id)))

    def _ingest_batch(self, provider: Provider, scope: str, case_id: str, batch: ingest.Batch, timeout: float) -> Record:
        key = Key(Phase.INGEST, case_id, part=batch.part)
        if (there := self._run.store.get(key)) is not None:
            return there
        started = time.perf_counter()
        with paid_by(self._payer(key)) as account:
            told = self._retried(lambda: provider.ingest(scope, batch.sessions))
            if batch.wait:
                self._retried(lambda: provider.await_indexed(scope, timeout))
        payload = {"provider": dict(told or {}), "usage": usage_to_json(account.usage)}
        return self._run.done(key, payload, time.perf_counter() - started)

    # Search

    def _search(self) -> None:
        pending = self._begin(Phase.SEARCH)
        if pending:
            with self._provider() as provider:
                self._tell_gold(provider, pending)
                self._each(Phase.SEARCH, pending, lambda row: self._search_one(provider, row), self._provider_threads())
        self._progress.end(Phase.SEARCH)

    def _tell_gold(self, provider: Provider, pending: Sequence[QuestionRow]) -> None:
        """Only the oracle asks for it."""
        use_gold = getattr(provider, "use_gold", None)
        if use_gold is None:
            return
        by_case: dict[str, list[Question]] = defaultdict(list)
        for row in pending:
            by_case[row.case_id].append(_question(row))
        for case_id, questions in by_case.items():
            use_gold(self._scope(case_id), Case(case_id, (), tuple(questions)))

    def _search_one(self, provider: Provider, row: QuestionRow) -> None:
        key = Key(Phase.SEARCH, row.case_id, row.question_id)
        if self._inherit_failure(key, Key(Phase.INGEST, row.case_id)):
            return
        wanted = search.SearchPlan(self._plan.search_k, self._plan.settings.top_k, self._plan.granularity)
        started = time.perf_counter()
        try:
            with paid_by(self._payer(key)) as account:
                payload = self._retried(lambda: search.search(provider, self._scope(row.case_id), _question(row), wanted))
        except (ProviderError, ModelError) as error:
            self._failed(key, error)
            return
        if account.usage != Usage():
            payload["usage"] = usage_to_json(account.usage)
        self._finish(key, payload, time.perf_counter() - started, cost=account.usage.cost_usd)

    # Answer

    def _answer(self) -> None:
        if not self._plan.settings.answering_model:
            return
        pending = self._begin(Phase.ANSWER)
        if pending:
            model = assembly.make_model(self._plan.settings.answering_model, self._plan.settings.model_options, self._around)
            self._each(Phase.ANSWER, pending, lambda row: self._answer_one(model, row), self._model_threads())
        self._progress.end(Phase.ANSWER)

    def _answer_one(self, model: Model, row: QuestionRow) -> None:
        key = Key(Phase.ANSWER, row.case_id, row.question_id)
        before = Key(Phase.SEARCH, row.case_id, row.question_id)
        if self._inherit_failure(key, before):
            return
        started = time.perf_counter()
        try:
            with paid_by(self._payer(key)):
                made = answer(
                    model,
                    lambda question: assembly.answer_prompt(self._plan, question),
                    _question(row),
                    self._found(before)[: self._plan.settings.top_k],
                    self._plan.settings.reader,
                )
        except (ProviderError, ModelError) as error:
            self._failed(key, error)
            return
        cost = made.usage.cost_usd
        self._finish(key, answer_to_json(made), made.seconds or time.perf_counter() - started, cost=cost)

    def _found(self, key: Key) -> list[Retrieved]:
        record = self._run.store.get(key)
        return search.found(record.payload) if record is not None and record.status is Status.DONE else []

    # Evaluate

    def _evaluate(self) -> None:
        pending = self._begin(Phase.EVALUATE)
        if pending:
            answered = bool(self._run.store.keys(Phase.ANSWER))
            judges = assembly.make_judges(self._plan, self._around) if answered else []
            self._run.store.set_meta("judges", [_about_judge(judge) for judge in judges])
            metrics = assembly.ranking_metrics(self._plan)
            name = self._plan.settings.embedder
            self._embedder = assembly.make_embedder(name) if name else None
            threads = self._model_threads() if self._plan.settings.judge_model else 1
            self._each(Phase.EVALUATE, pending, lambda row: self._evaluate_one(row, judges, metrics), threads)
        self._progress.end(Phase.EVALUATE)

    def _evaluate_one(self, row: QuestionRow, judges: Sequence[Judge], metrics: Sequence[RetrievalMetric]) -> None:
        key = Key(Phase.EVALUATE, row.case_id, row.question_id)
        question = _question(row)
        started = time.perf_counter()
        scores: list[dict[str, Any]] = []
        searched = self._run.store.get(Key(Phase.SEARCH, row.case_id, row.question_id))
        answered = self._run.store.get(Key(Phase.ANSWER, row.case_id, row.question_id))
        pieces: list[Retrieved] = []
        if searched is not None and searched.status is Status.DONE:
            pieces = search.found(searched.payload)
            scores += evaluate.ranking_scores(
                pieces, _gold(row), metrics, self._plan.benchmark.retrieval.k, self._plan.granularity
            )
            scores += evaluate.code_scores(question, pieces, self._plan.benchmark.retrieval.k)
            if self._embedder is not None:
                scores.append(evaluate.relevancy_score(self._embedder, question, pieces[: self._plan.settings.top_k]))
        try:
            if answered is not None and answered.status is Status.DONE:
                hypothesis = answer_from_json(answered.payload, answered.seconds)
                with paid_by(self._payer(key)):
                    scores += evaluate.answer_scores(question, hypothesis, judges)
                if pieces:
                    shown = format_memories(pieces[: self._plan.settings.top_k], as_json=self._plan.settings.reader == "con")
                    scores.append(evaluate.efficiency_score(hypothesis, shown))
        except (ProviderError, ModelError) as error:
            self._failed(key, error, {"scores": scores, "usage": evaluate.total_usage(scores)})
            return
        usage = evaluate.total_usage(scores)
        self._finish(
            key,
            {"scores": scores, "usage": usage},
            time.perf_counter() - started,
            scores={s["metric"]: s["value"] for s in scores if s["value"] is not None},
            cost=usage["cost_usd"],
        )

    # Shared

    def _begin(self, phase: Phase) -> list[QuestionRow]:
        pending = self._run.pending(phase)
        total = len(self._run.store.questions())
        self._progress.begin(phase, total, total - len(pending))
        return pending

    def _inherit_failure(self, key: Key, before: Key) -> bool:
        """What was not ingested can't be searched, what was not searched can't be answered: it fails with the same error."""
        earlier = self._run.store.get(before)
        if earlier is None or earlier.status is not Status.FAILED:
            return False
        error = earlier.error if earlier.error.startswith("[") else f"[{before.phase}] {earlier.error}"
        self._run.done(key, status=Status.FAILED, error=error)
        self._progress.advance(key.phase, Status.FAILED, {}, 0.0)
        return True

    def _failed(self, key: Key, error: MemevalError, payload: Mapping[str, Any] = EMPTY) -> None:
        """Record a failure of the system or a model; all other errors end the run."""
        self._run.done(key, payload, status=Status.FAILED, error=f"{type(error).__name__}: {error}")
        self._progress.advance(key.phase, Status.FAILED, {}, 0.0)

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
        self._progress.advance(key.phase, Status.DONE, scores, cost)

    def _payer(self, key: Key) -> str:
        return "/".join((self._run.id, key.phase, key.case_id, key.question_id, key.part))

    def _scope(self, case_id: str) -> str:
        template = self._plan.provider.scoping.run_id_format
        return ingest.scope_of(template, self._run.store.meta("scope_run"), self._plan.benchmark.name, case_id)

    def _retried(self, call: Callable[[], Any]) -> Any:
        return with_retries(call, self._policy, self._around.stop)

    @contextmanager
    def _provider(self) -> Iterator[Provider]:
        provider = assembly.make_provider(self._plan, self._around)
        self._run.state.mkdir(parents=True, exist_ok=True)
        try:
            provider.open(self._run.state)
            self._note(provider)
            yield provider
            self._note(provider)
        finally:
            provider.close()

    def _note(self, provider: Provider) -> None:
        """Keep what the provider tells of itself, such as the index that it uses in fact."""
        describe = getattr(provider, "provenance", None)
        if describe is not None:
            self._run.store.set_meta("provider_provenance", dict(describe()))

    def _ingest_threads(self) -> int:
        """A local provider writes one case while it embeds another; searches are one by one, so that their times are true."""
        return self._work.concurrency or (LOCAL_CASES if assembly.is_local(self._plan) else MODEL_THREADS)

    def _provider_threads(self) -> int:
        return self._work.concurrency or (1 if assembly.is_local(self._plan) else MODEL_THREADS)

    def _model_threads(self) -> int:
        return self._work.concurrency or MODEL_THREADS

    def _each(self, phase: Phase, items: Iterable[Item], work: Callable[[Item], None], threads: int) -> None:
        for_each(items, work, threads, self._around.stop, f"memeval-{phase}")


def _question(row: QuestionRow) -> Question:
    return question_from_json(row.payload["question"])


def _gold(row: QuestionRow) -> evaluate.Gold:
    return evaluate.gold_from_json(row.payload)


def _about_judge(judge: Judge) -> dict[str, Any]:
    hashes = getattr(judge, "prompt_hashes", None)
    return {"name": judge.name, "prompt_hashes": hashes() if hashes else {}}


def _summed(payloads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums of the numbers that a provider tells with each batch; of other values the last one."""
    out: dict[str, Any] = {}
    for payload in payloads:
        for key, value in payload.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            out[key] = out.get(key, 0) + value if number else value
    return out
