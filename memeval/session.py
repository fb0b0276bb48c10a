"""A run from its start, or from where it stopped, to its result file."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memeval import assembly, embedding, registry
from memeval.assembly import Plan, Surroundings, make_plan
from memeval.calls import Budget
from memeval.catalog import Catalog
from memeval.checkpoint import ORDER, Run, is_complete, is_running, now
from memeval.errors import ConfigError, RunError
from memeval.phases.report import RunFacts, build_result
from memeval.results.codec import question_from_json
from memeval.results.files import ResultsDir
from memeval.results.provenance import provenance, version
from memeval.results.store import Key, QuestionRow, Record, RunStore
from memeval.runner import Progress, Runner, Work
from memeval.settings import OPTIONS, Settings
from memeval.specs import ProviderSpec, ProviderType
from memeval.types import Phase

DECIDES: Mapping[Phase, tuple[str, ...]] = MappingProxyType({
    Phase.INGEST: ("benchmark", "provider", "data", "variant", "provider_options", "benchmark_options", "selection"),
    Phase.SEARCH: ("search_k", "granularity", "top_k"),
    Phase.ANSWER: ("answering_model", "answer_prompt", "reader", "model_options"),
    Phase.EVALUATE: ("judge", "judge_model", "judge_prompt", "judge_model_options", "embedder"),
})  # fmt: skip
"""Settings that decide what a phase does."""
_SECRET = re.compile(r"key|token|secret|password", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """Another run, whose records up to (without) a phase are taken."""

    run: str
    first: Phase


def new_group() -> str:
    """An id for the runs of one command: time in UTC and a little chance."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def start(results: ResultsDir, run_id: str, settings: Settings, around: Surroundings, source: Source | None = None) -> Run:
    """A new run; with `source` it takes that run's earlier phases. Raises ConfigError, RunError."""
    plan = check(settings, around, searches=source is None or source.first is Phase.SEARCH)
    about: dict[str, Any] = {
        "benchmark_spec": plan.benchmark_json(),
        "provider_spec": plan.provider_json(),
        "provenance": provenance(),
    }
    if source is not None:
        folder = results.find(source.run).resolve()
        _check_source(plan, folder, source.first)
        about["adopt"] = {"folder": str(folder), "first": str(source.first)}
    return Run.create(results, run_id, settings, about)


def check(settings: Settings, around: Surroundings, *, searches: bool = True) -> Plan:
    """The plan, after making each part once: what is missing is told before any work. Raises ConfigError."""
    plan = make_plan(settings, around.catalog)
    assembly.check_parts(plan, around, searches=searches)
    return plan


def bare_plan(catalog: Catalog, benchmark: str, data: str = "") -> Plan:
    """A plan just to read a benchmark's data."""
    return Plan(Settings(benchmark, "none", data=data), catalog.benchmark(benchmark), ProviderSpec("none", ProviderType.LOCAL))


def plan_of(run: Run, around: Surroundings) -> Plan:
    """The plan of an open run."""
    return make_plan(run.settings, around.catalog)


def count_spent(results: ResultsDir, run: str, budget: Budget) -> None:
    """Count what a run has paid already, so that a budget holds over all its starts."""
    with results.open(run) as store:
        for phase in ORDER[:4]:
            whole = {(key.case_id, key.question_id) for key in store.keys(phase) if not key.part}
            for record in store.records(phase):
                batch_of_a_whole = record.key.part and (record.key.case_id, record.key.question_id) in whole
                cost = record.payload.get("usage", {}).get("cost_usd")
                if cost and not batch_of_a_whole:
                    budget.add(cost)


def refuse_client_run(store: RunStore) -> None:
    """Raises RunError for a cell of run_bench, which is no run of a provider."""
    if (told := store.meta("claudecode")) is not None:
        raise RunError(
            f"Run {store.path.parent.name} is one of run_bench.",
            fix=f"Go on with it by: python -m memeval.claudecode.run_bench --resume {told['group']}",
        )


def reopen(results: ResultsDir, run: str, around: Surroundings) -> tuple[Run, Plan]:
    """A run that is there, with its plan. Raises RunError when the files of benchmark or provider say something else now."""
    with results.open(run) as store:
        refuse_client_run(store)
    opened = Run.resume(results, run)
    try:
        plan = make_plan(opened.settings, around.catalog)
        _check_specs(opened.store, plan, f"run {opened.id}")
        _note_change_of_code(opened.store)
    except BaseException:
        opened.close()
        raise
    return opened, plan


def _check_specs(store: RunStore, plan: Plan, run: str) -> None:
    for name, here in (("benchmark", plan.benchmark_json()), ("provider", plan.provider_json())):
        if _comparable(store.meta(f"{name}_spec")) != _comparable(here):
            raise RunError(
                f"The file of {name} {here['name']} has changed since {run} began.",
                fix="Undo the change, or start a new run.",
            )


def _comparable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Where a server listens may change between two starts."""
    return {key: value for key, value in spec.items() if key != "connection"}


def _note_change_of_code(store: RunStore) -> None:
    here = provenance()
    seen = [store.meta("provenance"), *store.meta("resumed_with", [])]
    if seen[-1] != here:
        store.set_meta("resumed_with", [*seen[1:], here])


def perform(run: Run, plan: Plan, around: Surroundings, progress: Progress, work: Work) -> Path | None:
    """Do the work that is asked for; the result file's path if the report is part of it. Raises MemevalError."""
    _adopt(run, plan)
    Runner(run, plan, around, progress, work).execute()
    if Phase.REPORT not in work.phases:
        return None
    run.require(Phase.REPORT)
    return report(run, plan)


def _adopt(run: Run, plan: Plan) -> None:
    """Take over from the source run, unless that is done; after a crash it is done again."""
    if run.store.meta("hypotheses") and not run.planned:
        raise RunError(
            f"Run {run.id} ended before its hypotheses were read.", fix="Evaluate the file again under another --run-id."
        )
    wanted = run.store.meta("adopt")
    if wanted is None or run.planned:
        return
    folder, first = Path(wanted["folder"]), Phase(wanted["first"])
    _check_source(plan, folder, first)
    with RunStore(folder / "run.db") as source:
        run.adopt(source, folder, first)


def inherited(store: RunStore, first: Phase) -> dict[str, Any]:
    """The settings of a run that decide its phases before `first`. Raises RunError when it never got its settings."""
    told = store.meta("settings")
    if told is None:
        raise RunError(f"Run {store.path.parent.name} ended before it began.", fix="Name another run.")
    return {name: told[name] for phase in ORDER[: ORDER.index(first)] for name in DECIDES[phase]}


def _check_source(plan: Plan, folder: Path, first: Phase) -> None:
    """Raises RunError unless the phases before `first` of the run in the folder are those that the plan asks for."""
    with RunStore(folder / "run.db") as source:
        _check_settings(plan, source, folder.name, first)
        _check_specs(source, plan, f"run {folder.name}")
        for phase in ORDER[: ORDER.index(first)]:
            if not is_complete(source, phase):
                raise RunError(f"Phase {phase} of run {folder.name} is not complete.", fix=f"memeval eval --resume {folder.name}")
        if source.meta("hypotheses") and first in (Phase.SEARCH, Phase.ANSWER):
            raise RunError(f"Run {folder.name} holds answers of another program only.", fix="Take --phase evaluate.")
    if first is Phase.SEARCH:
        _check_state(folder)


def _check_settings(plan: Plan, source: RunStore, name: str, first: Phase) -> None:
    ours = plan.settings.to_json()
    for key, theirs in inherited(source, first).items():
        if key == "data":
            continue  # its questions are taken, wherever the file lies now
        if key == "provider_options" and first is Phase.SEARCH:
            theirs, here = _ingest_options(plan, theirs), _ingest_options(plan, ours[key])
        elif key == "top_k" and first is Phase.ANSWER:
            here = max(theirs, ours[key])
        else:
            here = ours[key]
        if _plain(theirs) != _plain(here):
            raise RunError(
                f"Run {name} has --{key.replace('_', '-')} {_plain(theirs)}, not {_plain(here)}.",
                fix=f"--phase {first} reuses what it did before that; leave that flag out, or begin with an earlier phase.",
            )


def _ingest_options(plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's options without those that act at the search alone."""
    kind = registry.provider.get(plan.provider.effective_implementation)
    late: frozenset[str] = getattr(kind, "search_options", frozenset())
    return {key: value for key, value in {**plan.provider.options, **given}.items() if key not in late}


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return json.dumps(value, sort_keys=True, default=list)


def _check_state(folder: Path) -> None:
    """A search needs what the provider keeps, and nobody who writes there meanwhile."""
    if not (folder / "state").is_dir():
        raise RunError(
            f"Run {folder.name} keeps no state to search in.", fix="Name a run that ingested, not one that was joined."
        )
    if is_running(folder):
        raise RunError(f"A runner works on run {folder.name}.", fix="Wait until it has ended.")


def report(run: Run, plan: Plan) -> Path:
    """Build the result and write it; the same file again if the report was begun before."""
    store = run.store
    with store.transaction():
        if store.meta("finished_at") is None:
            finished = now()
            stamp = re.sub(r"[^0-9TZ]", "", finished)
            store.set_meta("finished_at", finished)
            store.set_meta("result_file", run.results.choose_file(version(), plan.benchmark.name, stamp).as_posix())
    return run.results.write(Path(store.meta("result_file")), result_of(run, plan))


def result_of(run: Run, plan: Plan) -> dict[str, Any]:
    """The result as it is now, also of a run that is not complete."""
    store = run.store
    rows = store.questions()

    def fetch(phase: Phase, row: QuestionRow) -> Record | None:
        return store.get(Key(phase, row.case_id, row.question_id))

    cases = list(store.whole_records(Phase.INGEST))
    answered = bool(plan.settings.answering_model or store.meta("hypotheses"))
    facts = RunFacts(run.id, plan.settings.seed, answered, _about(run, plan, rows), cases, assembly.ranked_names(plan))
    return build_result(facts, rows, fetch)


def _about(run: Run, plan: Plan, rows: Sequence[QuestionRow]) -> dict[str, Any]:
    meta = run.store.meta
    told = meta("provider_provenance", {})
    known = meta("plan", {})
    system = (meta("hypotheses") or {}).get("system")
    return {
        "benchmark": {"name": plan.benchmark.name, **known, "spec": plan.benchmark_json()},
        "provider": {"name": system or plan.provider.name, "spec": plan.provider_json(), "told": told},
        "settings": _shown_settings(plan),
        "models": {
            "answering": plan.settings.answering_model or None,
            "judge": plan.settings.judge_model or None,
            "judges": meta("judges", []),
        },
        "prompts": _prompts(run, plan, rows),
        "index_backend": told.get("index_backend"),
        "source_run": meta("source_run"),
        "hypotheses": meta("hypotheses"),
        "merged_from": meta("merged_from"),
        "provenance": meta("provenance"),
        "resumed_with": meta("resumed_with", []),
        "times": {"created_at": meta("created_at"), "finished_at": meta("finished_at")},
    }


def _prompts(run: Run, plan: Plan, rows: Sequence[QuestionRow]) -> dict[str, Any]:
    """Name and hash of the answer prompt by question type; those of judges are with the judges."""
    if not plan.settings.answering_model:
        return {"answer": {}}
    first = {row.payload["question"]["type"]: row for row in reversed(rows)}
    prompts = {kind: assembly.answer_prompt(plan, question_from_json(row.payload["question"])) for kind, row in first.items()}
    return {"answer": {kind: {"name": one.name, "hash": one.hash} for kind, one in sorted(prompts.items())}}


def _shown_settings(plan: Plan) -> dict[str, Any]:
    """Settings, filled in, without what is private: the folder of the data, and options that look like secrets."""
    data = plan.settings.to_json()
    data.update(variant=plan.variant, granularity=plan.granularity, search_k=plan.search_k, judge=",".join(plan.judges))
    if "semantic" in plan.judges:
        data["embedder"] = plan.settings.embedder or embedding.DEFAULT
    data["data"] = Path(data["data"]).name
    for name in OPTIONS:
        data[name] = {key: "***" if _SECRET.search(key) else value for key, value in data[name].items()}
    return data


def change_judge(run: Run, plan: Plan, changes: Mapping[str, Any], *, force: bool) -> Plan:
    """The run with another judge: settings that are not empty. Judgements that are there are kept unless one changes.

    That needs `force`, else it is a ConfigError.
    """
    old = run.settings
    new = replace(old, **{name: value for name, value in changes.items() if value})
    judged = bool(run.store.keys(Phase.EVALUATE))
    if judged and new != old and not force:
        raise ConfigError(f"Run {run.id} is judged already, by another judge.", fix="Give --force to judge it anew.")
    with run.store.transaction():
        if judged and (force or new != old):
            run.forget(Phase.EVALUATE)
        run.store.set_meta("settings", new.to_json())
    return replace(plan, settings=new)
