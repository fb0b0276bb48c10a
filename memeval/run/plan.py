"""Turn settings and specs into the components of a run and choose its questions.

This is the only module that resolves names to objects. Questions are stored with everything that later phases need to score them,
because later phases have no access to the haystack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from memeval import registry
from memeval.benchmarks.opening import open_benchmark
from memeval.benchmarks.reading import file_sha256
from memeval.benchmarks.source import Download, Sources
from memeval.core import embedding
from memeval.core.calls import Budget, Stop
from memeval.core.code import load_object
from memeval.core.embedding import RememberingEmbedder
from memeval.core.errors import ConfigError, DataError, ProviderError
from memeval.core.protocols import Benchmark, Capabilities, Judge, Model, Provider, RetrievalMetric
from memeval.core.types import EMPTY, Case, Question, QuestionType
from memeval.judges import open_judge
from memeval.metrics import VARIANTS, targets
from memeval.models import open_model
from memeval.models.guarded import GuardedModel, ModelCache
from memeval.prompts import Prompt, find_prompt
from memeval.prompts.official import Official, official_prompts
from memeval.registry import Catalog
from memeval.results.codec import question_to_json
from memeval.results.store import QuestionRow
from memeval.run.checkpoint import Run
from memeval.run.settings import Ref, Settings, select
from memeval.specs import BenchmarkSpec, ProviderSpec, ProviderType, to_plain

PROMPTED = ("llm", "rubric")
"""Judges with prompts."""
RUN_METRICS = ("accuracy", "abstention", "recency", "latency", "usage", "accuracy_gain")
"""Non-ranking metrics that a benchmark may specify. Every run reports them where applicable. Ranking metrics are registered."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """The resources shared by all runs of a command."""

    catalog: Catalog
    cache: ModelCache
    budget: Budget
    stop: Stop
    sources: Sources
    memories: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The caller's own objects by provider name."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a run, with the specs they refer to and derived values."""

    settings: Settings
    benchmark: BenchmarkSpec
    provider: ProviderSpec

    @property
    def variant(self) -> str:
        """Return the scoring protocol of the retrieval metrics."""
        return self.settings.variant or self.benchmark.retrieval.variant or "evidence"

    @property
    def granularity(self) -> str:
        """Return the unit of retrieval."""
        return self.settings.granularity or self.benchmark.retrieval.granularity

    @property
    def top_k(self) -> int:
        """Return the number of hits passed to the answering model."""
        limit = self.benchmark.search.limit
        return min(self.settings.top_k, limit) if limit and not self.settings.search_k else self.settings.top_k

    @property
    def search_k(self) -> int:
        """Return the number of hits to request. By default, it covers every cut-off even if a session yields several hits."""
        if self.settings.search_k:
            return max(self.settings.search_k, self.settings.top_k)
        if self.benchmark.search.limit:
            return self.benchmark.search.limit
        several = 4 if self.granularity != "session" and "session" in self.benchmark.retrieval.levels else 1
        return max(self.settings.top_k, several * max(self.benchmark.retrieval.k, default=0))

    @property
    def threshold(self) -> float | None:
        """Return the minimum score of a hit."""
        own = self.settings.threshold
        return self.benchmark.search.threshold if own is None else own

    @property
    def judges(self) -> tuple[str, ...]:
        """Return the names of the judges, or none if the run has no answers."""
        own = "custom" if self.benchmark.custom_evaluator else self.benchmark.judge.name
        return tuple(part.strip() for part in (self.settings.judge or own).split(",") if part.strip())

    def benchmark_json(self) -> dict[str, Any]:
        """Return the benchmark's resolved file."""
        return cast(dict[str, Any], to_plain(self.benchmark))

    def provider_json(self) -> dict[str, Any]:
        """Return the provider's resolved file.

        Header values and a server's environment are removed, because they may contain secrets.
        """
        spec = cast(dict[str, Any], _without_headers(to_plain(self.provider)))
        if self.provider.mcp is not None:
            spec["mcp"]["environment"] = dict.fromkeys(self.provider.mcp.environment, "***")
        return spec


NO_MODEL = "none"
"""The answering-model name that disables answering, even if the benchmark's file specifies a model."""


def with_defaults(settings: Settings, catalog: Catalog, *, answers: bool = True) -> Settings:
    """Fill in models from the benchmark's file if no flag specifies one. Raises ConfigError.

    Without `answers`, only the judge's model is filled in, because the answers come from elsewhere.
    """
    models = catalog.benchmark(settings.benchmark).models
    if answers and settings.answering_model == NO_MODEL:
        return replace(settings, answering_model="")
    changes: dict[str, Any] = {}
    if answers and models.answering and not settings.answering_model:
        changes |= {"answering_model": models.answering}
        changes |= {"model_options": {**models.answering_options, **settings.model_options}}
    if models.judge and not settings.judge_model and not settings.judge:
        changes |= {"judge_model": models.judge}
        changes |= {"judge_model_options": {**models.judge_options, **settings.judge_model_options}}
    return replace(settings, **changes)


def make_plan(settings: Settings, catalog: Catalog) -> Plan:
    """Resolve the names in the settings. Raises ConfigError."""
    plan = Plan(settings, catalog.benchmark(settings.benchmark), catalog.provider(settings.provider))
    _check_names(plan.benchmark)
    for judge in plan.judges if settings.answering_model else ():
        registry.judge.get(judge)
    return plan


def _check_names(spec: BenchmarkSpec) -> None:
    """Check that all names in a benchmark's file exist. Raises ConfigError with the file, line and key."""
    metrics = {*registry.metric.names(), *registry.question_metric.names(), *RUN_METRICS}
    for key, names, known in (
        ("metrics", spec.metrics, metrics),
        ("judge.name", (spec.judge.name,), set(registry.judge.names())),
        ("retrieval.variant", (spec.retrieval.variant or "evidence",), set(VARIANTS)),
    ):
        if wrong := [name for name in names if name not in known]:
            raise ConfigError(f"{spec.origin.where(key)} has {wrong[0]!r}.", fix=f"Known: {', '.join(sorted(known))}.")


def open_data(plan: Plan, context: RunContext) -> Benchmark:
    """Open the benchmark, fetching its data if necessary."""
    data = Path(plan.settings.data) if plan.settings.data else None
    return open_benchmark(plan.benchmark, data, options=plan.settings.benchmark_options, sources=context.sources)


def make_provider(plan: Plan, context: RunContext) -> Provider:
    """Create the provider without opening it. The option `model` is the provider's model."""
    kind = _kind(plan.provider)
    can = capabilities_of(plan)
    provider = cast(Provider, kind(plan.provider, plan.settings.provider_options))
    if can.stop:
        provider.use_stop(context.stop)
    if can.memory and plan.provider.name in context.memories:
        provider.use_memory(context.memories[plan.provider.name])
    name = {**plan.provider.options, **plan.settings.provider_options}.get("model")
    if can.model and isinstance(name, str) and name:
        provider.use_model(make_model(name, plan.settings.model_options, context))
    return provider


def _kind(spec: ProviderSpec) -> Any:
    """Return the implementing class.

    An adapter with an `ingest` method is itself the provider. Any other adapter is a memory to wrap.
    """
    if spec.adapter:
        own = load_object(spec.adapter, spec.origin.path.parent, spec.origin.where("adapter"))
        if hasattr(own, "ingest"):
            return own
    return registry.provider.get(spec.effective_implementation)


def capabilities_of(plan: Plan) -> Capabilities:
    """Return the capabilities declared by the provider's class. Raises ConfigError if it declares none."""
    name = plan.provider.adapter or plan.provider.effective_implementation
    try:
        return cast(Capabilities, _kind(plan.provider).capabilities)
    except AttributeError:
        raise ConfigError(
            f"The class of provider {name!r} declares no capabilities.",
            fix="Give it `capabilities = Capabilities(…)` from memeval.core.protocols; docs/providers.md lists them.",
        ) from None


def make_model(name: str, options: Mapping[str, Any], context: RunContext) -> Model:
    """Create a model wrapped with caching, the budget and retries."""
    return GuardedModel(open_model(name, options), context.cache, context.budget, context.stop)


def make_judges(plan: Plan, context: RunContext) -> list[Judge]:
    """Create the judges in order. Raises ConfigError, for example if a judge's required model isn't specified."""
    name = plan.settings.judge_model
    model = make_model(name, plan.settings.judge_model_options, context) if name else None
    made = []
    for judge in plan.judges:
        options = _judge_options(plan, judge)
        if model is not None and (official := _official(plan, context, judge)) is not None:
            options["official"] = official
        if judge == "memoryagentbench" and name.startswith((*TABLED, "openrouter/")):
            options["summary_model"] = make_model(name, SUMMARIES | dict(plan.settings.judge_model_options), context)
        made.append(open_judge(judge, model, options))
    return made


SUMMARIES = {"temperature": 0.1}
"""Options of the model that judges MemoryAgentBench's summaries, as in the official code. The other official judges use 0."""


TABLED = ("openai/", "anthropic/", "compatible/", "http://", "https://")
"""Prefixes of models priced only by the price table. Other models report their cost in replies."""


def _official(plan: Plan, context: RunContext, judge: str) -> Official | None:
    """Return the official prompts of the benchmark's judge if available. The user's own prompt takes precedence."""
    options = plan.benchmark.judge.options
    named = options.get("official")
    if not isinstance(named, Mapping) or judge != named.get("judge", plan.benchmark.judge.name) or plan.settings.judge_prompt:
        return None
    listed = named.get("files") or [named]
    found = [file for one in listed if (file := _official_file(str(one["url"]), str(one["sha256"]), context)) is not None]
    if len(found) < len(listed):
        return None  # The score is then named llm_accuracy or rubric.
    protocol = str(options.get("protocol") or plan.benchmark.effective_loader)
    limit = named.get("maxTokens")
    return Official(official_prompts(protocol, found), str(named.get("model", "")), int(limit) if limit else None)


def _official_file(url: str, sha256: str, context: RunContext) -> Path | None:
    """Return a file of the official code, or None if unavailable. Raises DataError if a cached file doesn't match `sha256`."""
    target = context.sources.cache.expanduser() / "official" / sha256[:16] / url.rpartition("/")[2]
    if target.exists():
        if file_sha256(target) != sha256:
            raise DataError(
                f"{target} is not the official file: its SHA-256 differs.", fix=f"Remove it, or put a copy of {url} there."
            )
        return target
    if context.sources.offline:
        return None
    try:
        return replace(context.sources.downloader, attempts=1).fetch(Download(url, target, sha256))
    except DataError:
        return None


def check_parts(plan: Plan, context: RunContext, *, searches: bool = True) -> None:
    """Create every component once, so that a missing key, prompt or option is reported before any work. Raises ConfigError.

    A run that reuses another run's searches does not need the provider's key.
    """
    if plan.settings.epochs > 1 and not plan.settings.answering_model:
        raise ConfigError("--epochs repeats answers, but there is no answering model.", fix="Give --answering-model.")
    provider = make_provider(plan, context)
    if searches and provider.capabilities.check:
        provider.check()
    if plan.settings.embedder:
        make_embedder(plan.settings.embedder)
    if plan.settings.answering_model:
        _check_price(plan.settings.answering_model, plan.settings.model_options, context)
        if plan.settings.judge_model:
            _check_price(plan.settings.judge_model, plan.settings.judge_model_options, context)
        make_model(plan.settings.answering_model, plan.settings.model_options, context)
        make_judges(plan, context)
        for kind in QuestionType:
            answer_prompt(plan, Question("", "", kind))
            note_prompt(plan, Question("", "", kind))


def _check_price(name: str, options: Mapping[str, Any], context: RunContext) -> None:
    """Reject a budget for models without known prices before hours are spent on ingest. Raises ConfigError."""
    if context.budget.limit is None or not name.startswith(TABLED):
        return
    if open_model(name, options).estimate((), None) is None:
        raise ConfigError(
            f"The price of {name} is unknown, so --budget-usd can't be enforced.",
            fix="Give --model-option input_price=… output_price=… (US dollars per million tokens), or omit --budget-usd.",
        )


def make_embedder(name: str) -> RememberingEmbedder:
    """Create an embedder by its name in memoryd. Raises ConfigError."""
    from memeval.providers.memoryd import text_embedder  # This import loads memoryd, which most commands don't need.

    try:
        return RememberingEmbedder(text_embedder(name, embedding.CHARACTERS))
    except ProviderError as error:
        raise ConfigError(error.message, fix="Give --embedder bge-small or hash.") from error


def _judge_options(plan: Plan, judge: str) -> dict[str, Any]:
    """Return the options of a judge.

    The benchmark's own judge gets the benchmark's options. Judges with prompts get their prompts.
    """
    spec, prompts = plan.benchmark.judge, plan.benchmark.prompts
    options = {key: value for key, value in spec.options.items() if key != "official"} if judge == spec.name else {}
    options["benchmark"] = _prompt_folder(plan.benchmark)
    if judge == "custom":
        reference, origin = plan.benchmark.custom_evaluator, plan.benchmark.origin
        return {"reference": reference, "base": str(origin.path.parent), "where": origin.where("customEvaluator")}
    if judge == "memoryagentbench":
        options["entities"] = {**plan.benchmark.options, **plan.settings.benchmark_options}.get("entities", "")
    if judge == "semantic":
        options["embedder"] = make_embedder(plan.settings.embedder or embedding.DEFAULT).embed
    if judge not in PROMPTED:
        return options
    if own := plan.settings.judge_prompt:
        return {**options, "prompt": own}
    if prompts.judge:
        options["prompt"] = prompts.judge
    if prompts.judge_by_type:
        options["prompt_by_type"] = dict(prompts.judge_by_type)
    return {**options, "base": str(plan.benchmark.origin.path.parent)}


def _prompt_folder(benchmark: BenchmarkSpec) -> str:
    """Return the prompt folder, which all benchmarks with the same loader share (longmemeval-s and longmemeval)."""
    return benchmark.loader or benchmark.name


def answer_prompt(plan: Plan, question: Question) -> Prompt:
    """Return the prompt of the answering model for a question."""
    prompts = plan.benchmark.prompts
    own = plan.settings.answer_prompt
    return find_prompt(
        "answer-con" if plan.settings.reader == "con" else "answer",
        _prompt_folder(plan.benchmark),
        str(question.type),
        override=own or ("" if plan.settings.reader == "con" else prompts.answer),
        by_type=None if own else prompts.answer_by_type,
        base=None if own else plan.benchmark.origin.path.parent,
    )


def note_prompt(plan: Plan, question: Question) -> Prompt:
    """Return the prompt for notes on a session (reader con-session)."""
    return find_prompt("note", _prompt_folder(plan.benchmark), str(question.type))


def ranking_metrics(plan: Plan) -> list[RetrievalMetric]:
    """Return the ranking metrics specified by the benchmark, or all of them by default. Names of answer metrics are ignored."""
    known = registry.metric.names()
    chosen = [name for name in plan.benchmark.metrics if name in known] or known
    return [cast(RetrievalMetric, registry.metric.get(name)) for name in chosen]


def ranked_names(plan: Plan) -> list[str]:
    """Return the names of the ranking scores."""
    spec, metrics = plan.benchmark.retrieval, ranking_metrics(plan)
    return [f"{level}.{metric.name}@{k}" for level in spec.levels for metric in metrics for k in spec.k]


def is_local(plan: Plan) -> bool:
    """Return whether the provider runs on this machine, as Python code or as a program."""
    return plan.provider.type in (ProviderType.LOCAL, ProviderType.MCP)


def with_settings(plan: Plan, **changes: Any) -> Plan:
    """Return the plan with changed settings."""
    return replace(plan, settings=replace(plan.settings, **changes))


def _without_headers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: dict.fromkeys(item, "***") if key == "headers" and isinstance(item, Mapping) else _without_headers(item)
            for key, item in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_headers(item) for item in value]
    return value


def choose_questions(run: Run, plan: Plan, benchmark: Benchmark, stop: Stop) -> None:
    """Choose the questions in a single pass over the data and store them in one transaction. Raises DataError or ConfigError."""
    rows: list[QuestionRow] = []
    refs: list[Ref] = []
    cases = 0
    for case in benchmark.cases():
        stop.check()
        cases += 1
        for question in case.questions:
            refs.append(Ref(case.id, question.id, question.type, question.category))
            rows.append(QuestionRow(len(rows), case.id, question.id, question_payload(plan, question, case)))
    if not refs:
        raise DataError(f"{plan.benchmark.name}: the data contains no questions.", fix="Give another file with --data.")
    _check_unique(refs, plan.benchmark.name)
    chosen = select(refs, plan.settings.selection)
    about = {"cases": cases, "questions": len(refs), "data_hash": benchmark.data_hash()}
    run.plan((rows[position] for position in chosen), about)


def question_payload(plan: Plan, question: Question, case: Case) -> dict[str, Any]:
    """Return the question with its targets at each level, and the time of each target."""
    aims = [targets(plan.variant, question, case, level) for level in plan.benchmark.retrieval.levels]
    wanted = {item for aim in aims for item in aim.ids}
    return {
        "question": question_to_json(question),
        "cluster": str(case.metadata.get("cluster") or case.id),
        "targets": [aim.to_json() for aim in aims],
        "dates": _dates(case, wanted),
    }


def _dates(case: Case, wanted: set[str]) -> dict[str, str]:
    dates = {session.id: session.at.isoformat() for session in case.sessions if session.at and session.id in wanted}
    for session in case.sessions:
        for turn in session.turns:
            if turn.id in wanted and (at := turn.at or session.at):
                dates[turn.id] = at.isoformat()
    return dates


def _check_unique(refs: list[Ref], benchmark: str) -> None:
    seen: set[tuple[str, str]] = set()
    for ref in refs:
        if (ref.case_id, ref.question_id) in seen:
            raise DataError(f"{benchmark}: question {ref.question_id!r} of case {ref.case_id!r} occurs twice.")
        seen.add((ref.case_id, ref.question_id))
