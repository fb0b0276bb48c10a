"""A run from its start, or from where it stopped, to its result file."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memeval import assembly, embedding
from memeval.assembly import Plan, Surroundings, make_plan
from memeval.calls import Budget
from memeval.catalog import Catalog
from memeval.checkpoint import ORDER, Run, now
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
    plan = check(settings, around)
    about: dict[str, Any] = {
        "benchmark_spec": plan.benchmark_json(),
        "provider_spec": plan.provider_json(),
        "provenance": provenance(),
    }
    if source is not None:
        about["adopt"] = {"folder": str(results.find(source.run).resolve()), "first": str(source.first)}
    return Run.create(results, run_id, settings, about)


def check(settings: Settings, around: Surroundings) -> Plan:
    """The plan, after making each part once: what is missing is told before any work. Raises ConfigError."""
    plan = make_plan(settings, around.catalog)
    assembly.check_parts(plan, around)
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
            for record in store.whole_records(phase):
                if cost := record.payload.get("usage", {}).get("cost_usd"):
                    budget.add(cost)


def reopen(results: ResultsDir, run: str, around: Surroundings) -> tuple[Run, Plan]:
    """A run that is there, with its plan. Raises RunError when the files of benchmark or provider say something else now."""
    opened = Run.resume(results, run)
    try:
        plan = make_plan(opened.settings, around.catalog)
        for name, here in (("benchmark", plan.benchmark_json()), ("provider", plan.provider_json())):
            if _comparable(opened.store.meta(f"{name}_spec")) != _comparable(here):
                raise RunError(
                    f"The file of {name} {here['name']} has changed since run {opened.id} began.",
                    fix="Undo the change, or start a new run.",
                )
        _note_change_of_code(opened.store)
    except BaseException:
        opened.close()
        raise
    return opened, plan


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
    _adopt(run, around)
    Runner(run, plan, around, progress, work).execute()
    if Phase.REPORT not in work.phases:
        return None
    run.require(Phase.REPORT)
    return report(run, plan)


def _adopt(run: Run, around: Surroundings) -> None:
    """Take over from the source run, unless that is done; after a crash it is done again."""
    if run.store.meta("hypotheses") and not run.planned:
        raise RunError(
            f"Run {run.id} ended before its hypotheses were read.", fix="Evaluate the file again under another --run-id."
        )
    wanted = run.store.meta("adopt")
    if wanted is None or run.planned:
        return
    folder = Path(wanted["folder"])
    with RunStore(folder / "run.db") as source:
        _check_source(run, source, folder.name, Phase(wanted["first"]))
        run.adopt(source, folder, Phase(wanted["first"]))


def _check_source(run: Run, source: RunStore, name: str, first: Phase) -> None:
    theirs, ours = Settings.from_json(source.meta("settings")), run.settings
    if theirs.benchmark != ours.benchmark or theirs.provider != ours.provider:
        raise RunError(
            f"Run {name} is of {theirs.benchmark} with {theirs.provider}, not of {ours.benchmark} with {ours.provider}.",
            fix="Name a run of the same benchmark and provider.",
        )
    if first is not Phase.SEARCH and ours.top_k > theirs.top_k:
        raise RunError(
            f"Run {name} kept {theirs.top_k} pieces for each question, --top-k asks for {ours.top_k}.",
            fix="Take a smaller --top-k, or --phase search.",
        )


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
    facts = RunFacts(run.id, plan.settings.seed, answered, _about(run, plan, rows), cases)
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
