"""Commands that run phases: eval, prepare, run, evaluate, merge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click

from memeval.claudecode import console
from memeval.claudecode import merge as client_merge
from memeval.cli import options
from memeval.cli.root import Context, pass_context
from memeval.core.errors import BudgetError, MemevalError, RunError, StoppedError
from memeval.core.types import GRANULARITIES, Phase
from memeval.report.compare import few_clusters
from memeval.report.html.site import write_report
from memeval.report.runs import read_run
from memeval.report.terminal import print_table, stopped_by_signals, tell, with_interval
from memeval.results.files import read_result
from memeval.run import engine, hypotheses, ray_executor
from memeval.run.checkpoint import ORDER, Run, new_group
from memeval.run.engine import Work
from memeval.run.merge import merge
from memeval.run.plan import RunContext, with_defaults
from memeval.run.progress import make_progress
from memeval.run.provider_subject import ProviderSubject, check, refuse_client_run, subject_of
from memeval.run.reuse import Source, inherited
from memeval.run.settings import Settings

PHASES = click.Choice([str(phase) for phase in Phase])


@click.command("eval", cls=options.SpreadCommand)
@options.what_options
@options.selection_options
@options.search_options
@options.answer_options
@options.judge_options
@options.work_options
@options.executor_options
@click.option("--resume", metavar="RUN", help="Resume a run, or all runs of a command.")
@click.option("--retry-failed", is_flag=True, help="With --resume: try failed questions again.")
@click.option("--phase", type=PHASES, help="Only this phase; with --from, the first phase to run again.")
@click.option("--from", "source", metavar="RUN", help="Reuse the phases of another run that come before --phase.")
@click.option("--force", is_flag=True, help="With --resume: repeat the phase (or all phases) and those after it.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Also write each run's report to this folder.")
@pass_context
def evaluate_all(ctx: Context, /, **values: Any) -> None:
    """Run all phases for each benchmark with each provider, or resume runs."""
    context = ctx.run_context(values["budget_usd"], cache=not values["no_cache"])
    if values["resume"]:
        _resume(ctx, context, values)
        return
    for name, flag in (("retry_failed", "--retry-failed"), ("force", "--force")):
        if values[name]:
            raise click.UsageError(f"{flag} continues an existing run; give --resume RUN.")
    if values["source"]:
        _reuse(ctx, context, values)
        return
    _start(ctx, context, _cells(values), values, _work(values))


@click.command("prepare", cls=options.SpreadCommand)
@options.what_options
@options.selection_options
@options.search_options
@options.work_options
@click.option("--model-option", "model_options", multiple=True, metavar="KEY=VALUE", help="Option of the provider's model.")
@pass_context
def prepare(ctx: Context, /, **values: Any) -> None:
    """Only ingest. The run's folder contains the state of each case, for `memeval run` on this or another machine."""
    context = ctx.run_context(values["budget_usd"], cache=not values["no_cache"])
    _start(ctx, context, _cells(values), values, Work(values["concurrency"], (Phase.INGEST,)))


@click.command("run")
@click.argument("prepared")
@click.option("--run-id", help="Id of the new run.")
@options.answer_options
@options.judge_options
@options.work_options
@click.option("--top-k", type=int, help="Number of pieces passed to the answering model.")
@click.option("--granularity", type=click.Choice(GRANULARITIES), help="Unit of retrieval.")
@click.option("--evaluate/--no-evaluate", default=True, show_default=True, help="Also evaluate and report.")
@pass_context
def run_prepared(ctx: Context, /, prepared: str, **values: Any) -> None:
    """Search and answer with a prepared run (its id or the path of its folder), as a new run."""
    context = ctx.run_context(values["budget_usd"], cache=not values["no_cache"])
    with ctx.results.open(prepared) as store:
        refuse_client_run(store)
        old = Settings.from_json(store.meta("settings"))
    changes: dict[str, Any] = {
        **options.judge_settings(values),
        "answering_model": values["answering_model"],
        "answer_prompt": values["answer_prompt"],
        "reader": values["reader"],
        "abstain_below": values["abstain_below"],
        "epochs": values["epochs"],
        "top_k": values["top_k"] or old.top_k,
        "granularity": values["granularity"] or old.granularity,
    }
    if values["model_options"]:
        changes["model_options"] = options.key_values(values["model_options"], "--model-option")
    new = with_defaults(Settings.from_json({**old.to_json(), **changes}), ctx.catalog)
    _refuse_unused(answers=bool(new.answering_model))
    run_id = values["run_id"] or _cell_id(new_group(), new)
    phases = ORDER if values["evaluate"] else ORDER[:3]
    subject = check(new, context, Source(prepared, Phase.SEARCH), ctx.results)
    start_run(ctx, context, run_id, new, subject, Work(values["concurrency"], phases))


@click.command("evaluate")
@click.argument("run", required=False)
@options.judge_options
@options.work_options
@click.option(
    "--hypothesis",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help='LongMemEval\'s JSONL: {"question_id", "hypothesis"} on each line. Requires --benchmark.',
)
@click.option("--benchmark", "-b", help="With --hypothesis: the benchmark that was answered.")
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="With --hypothesis: your own copy of the data.")
@click.option("--system", help="With --hypothesis: name of the system that answered (default: the file's name).")
@click.option("--run-id", help="With --hypothesis: id of the new run.")
@click.option("--force", is_flag=True, help="Judge again what has already been judged.")
@pass_context
def evaluate(ctx: Context, /, run: str | None, **values: Any) -> None:
    """Judge and report a run that has answers, or a file of hypotheses."""
    context = ctx.run_context(values["budget_usd"], cache=not values["no_cache"])
    if bool(run) == bool(values["hypothesis"]):
        raise click.UsageError("Give a run, or --hypothesis FILE with --benchmark.")
    judge: dict[str, Any] = options.judge_settings(values)
    if values["hypothesis"]:
        _evaluate_file(ctx, context, values, judge)
        return
    for name in ctx.results.group(str(run)):
        opened, subject = engine.reopen(ctx.results, name, subject_of(context))
        _report_salvaged(opened)
        with opened:
            _refuse_unused(answers=bool(opened.settings.answering_model or opened.store.meta("hypotheses")))
            subject = subject.change_judge(opened, judge, force=values["force"])
            _perform(opened, subject, context, Work(values["concurrency"], (Phase.EVALUATE, Phase.REPORT)))


def _evaluate_file(ctx: Context, context: RunContext, values: dict[str, Any], judge: dict[str, Any]) -> None:
    if not values["benchmark"]:
        raise click.UsageError("--hypothesis needs --benchmark.")
    file: Path = values["hypothesis"]
    settings = Settings(
        benchmark=values["benchmark"],
        provider="none",
        data=str(values["data"].resolve()) if values["data"] else "",
        **judge,
    )
    settings = with_defaults(settings, ctx.catalog, answers=False)
    system = values["system"] or file.stem
    run_id = values["run_id"] or f"{new_group()}.{settings.benchmark}.{hypotheses.as_id(system)}"
    subject = hypotheses.HypothesesSubject(settings, context, file, system)
    start_run(ctx, context, run_id, settings, subject, Work(values["concurrency"], (Phase.EVALUATE, Phase.REPORT)))


@click.command("merge")
@click.argument("runs", nargs=-1, required=True)
@click.option("--run-id", required=True, help="Id of the new run.")
@pass_context
def merge_shards(ctx: Context, runs: tuple[str, ...], run_id: str) -> None:
    """Merge the shards of a run, and report.

    RUNS are ids of runs or of run_bench commands.
    """
    context = ctx.run_context()
    names = [name for run in runs for name in ctx.results.group(run)]
    if commands := client_merge.commands_of(ctx.results, names):
        summary, files = client_merge.merge_commands(ctx.results, commands, run_id, context)
        console.show_summary(summary, as_json=False)
        for file in files:
            click.echo(str(file))
        return
    with merge(ctx.results, names, run_id) as opened:
        _tell(engine.report(opened, subject_of(context)(opened)))


def _cells(values: dict[str, Any]) -> list[tuple[str, str]]:
    providers = [*values["providers"], *([values["retriever"]] if values["retriever"] else [])]
    if not values["benchmarks"] or not providers:
        raise click.UsageError("Give benchmarks and providers: --benchmarks sample --providers memoryd bm25.")
    return [(benchmark, provider) for benchmark in values["benchmarks"] for provider in providers]


def _work(values: dict[str, Any]) -> Work:
    return Work(values["concurrency"], (Phase(values["phase"]),) if values.get("phase") else ORDER)


def _reuse(ctx: Context, context: RunContext, values: dict[str, Any]) -> None:
    """Start a new run that reuses the earlier phases of another one."""
    source = _source(values)
    with ctx.results.open(source.run) as store:
        refuse_client_run(store)
        settings = options.reusing(inherited(store, source.first), values)
        hypotheses_given = bool(store.meta("hypotheses"))
    settings = with_defaults(settings, ctx.catalog, answers=source.first is not Phase.EVALUATE)
    if source.first is Phase.ANSWER and not settings.answering_model:
        raise click.UsageError("--phase answer requires --answering-model.")
    _refuse_unused(answers=bool(settings.answering_model) or hypotheses_given)
    run_id = values["run_id"] or _cell_id(new_group(), settings)
    start_run(ctx, context, run_id, settings, check(settings, context, source, ctx.results), Work(values["concurrency"]))


def _source(values: dict[str, Any]) -> Source:
    if not values["phase"] or values["phase"] == Phase.INGEST:
        raise click.UsageError("--from requires --phase: the first phase to run again (search or later).")
    chosen = ("limit", "start", "end", "shard", "types", "questions", "dev_slice")
    if any(values[name] for name in chosen):
        raise click.UsageError("With --from, the questions are those of that run.")
    return Source(values["source"], Phase(values["phase"]))


def _start(
    ctx: Context,
    context: RunContext,
    cells: Sequence[tuple[str, str]],
    values: dict[str, Any],
    work: Work,
) -> None:
    """Run all cells. The settings of all cells are checked before the first one starts."""
    group = values["run_id"] or new_group()
    named = [options.settings(benchmark, provider, values) for benchmark, provider in cells]
    wanted = [with_defaults(one, ctx.catalog) if "answering_model" in values else one for one in named]
    _refuse_unused(answers=any(settings.answering_model for settings in wanted))
    subjects = [check(settings, context) for settings in wanted]
    single = len(cells) == 1 and values["run_id"]
    with run_each() as alone:
        for settings, subject in zip(wanted, subjects, strict=True):
            with alone(len(wanted) > 1):
                start_run(ctx, context, group if single else _cell_id(group, settings), settings, subject, work)


OF_ANSWERS = ("answer_prompt", "reader", "abstain_below", "judge", "judge_model", "judge_model_options", "judge_prompt")


def _refuse_unused(*, answers: bool) -> None:
    """Refuse flags about answers if there are none."""
    unused = [flag for name, flag in options.given().items() if name in OF_ANSWERS]
    if unused and not answers:
        raise click.UsageError(f"{unused[0]} applies to answers, but there is no answering model. Give --answering-model.")


def _cell_id(group: str, settings: Settings) -> str:
    return f"{group}.{Path(settings.benchmark).stem}.{Path(settings.provider).stem}"


def start_run(
    ctx: Context,
    context: RunContext,
    run_id: str,
    settings: Settings,
    subject: ProviderSubject,
    work: Work,
) -> None:
    """Create a run and execute its phases."""
    with engine.start(ctx.results, run_id, settings, subject) as opened:
        _perform(opened, subject, context, work)


WITH_RESUME = {
    "output",
    "resume",
    "retry_failed",
    "phase",
    "force",
    "concurrency",
    "budget_usd",
    "no_cache",
    "executor",
    "ray_address",
}


def _resume(ctx: Context, context: RunContext, values: dict[str, Any]) -> None:
    if others := [flag for name, flag in options.given().items() if name not in WITH_RESUME]:
        raise click.UsageError(f"With --resume, the run's own settings apply; omit {others[0]}.")
    names = ctx.results.group(values["resume"])
    for name in names:
        engine.count_spent(ctx.results, name, context.budget)
    with run_each() as alone:
        for name in names:
            with alone(len(names) > 1):
                _resume_one(ctx, context, name, values)


def _report_salvaged(run: Run) -> None:
    if run.salvaged is not None:
        click.echo(f"{run.id}: {run.salvaged}. Missing parts are computed again.", err=True)


def resume_run(ctx: Context, context: RunContext, name: str, work: Work) -> None:
    """Do the remaining work of a run."""
    opened, subject = engine.reopen(ctx.results, name, subject_of(context))
    _report_salvaged(opened)
    with opened:
        _perform(opened, subject, context, work)


def _resume_one(ctx: Context, context: RunContext, name: str, values: dict[str, Any]) -> None:
    opened, subject = engine.reopen(ctx.results, name, subject_of(context))
    _report_salvaged(opened)
    work = _work(values)
    with opened:
        if values["force"]:
            opened.forget(work.phases[0])
        if values["retry_failed"]:
            click.echo(f"{opened.id}: retrying {opened.forget_failed()} failed questions.", err=True)
        _perform(opened, subject, context, work)


@contextmanager
def run_each() -> Iterator[Callable[[bool], AbstractContextManager[None]]]:
    """Run several runs. Failures are reported and the rest continue. The command fails at the end."""
    failed: list[MemevalError] = []

    @contextmanager
    def alone(several: bool) -> Iterator[None]:
        try:
            yield
        except (BudgetError, StoppedError):
            raise
        except MemevalError as error:
            if not several:
                raise
            tell(error)
            failed.append(error)

    yield alone
    if failed:
        raise RunError(f"{len(failed)} of the runs did not finish.", fix="Resume them once the cause is fixed.")


def _perform(opened: Run, subject: ProviderSubject, context: RunContext, work: Work) -> None:
    click.echo(f"Run {opened.id}", err=True)
    with stopped_by_signals(context.stop), make_progress() as progress:
        values = click.get_current_context().params
        if values.get("executor") == "ray":
            path = ray_executor.perform(opened, subject, context, progress, work, values["ray_address"])
        else:
            path = engine.perform(opened, subject, context.stop, progress, work)
    if path is not None:
        _tell(path)
    else:
        click.echo(opened.id)


def _tell(path: Path) -> None:
    """Print the main figures of a run and the path of its result file."""
    result = read_result(path)
    metrics, totals = result["metrics"], result["totals"]
    first = result["primary_metric"]
    shown = [name for name in metrics if "." not in name or name == first or name.endswith(("_any@5", "_all@5", "_fraction@10"))]
    rows = [
        (name, with_interval(cell), cell["total"], cell["scored"], cell["failed"], cell["unscored"], cell["skipped"])
        for name, cell in metrics.items()
        if name in shown and cell["total"] > cell["skipped"]
    ]
    title = f"{result['run_id']}: {totals['total']} questions, {totals['failed']} failed"
    print_table(title, ["metric", "% [95%]", "total", "scored", "failed", "unsc.", "skip."], rows)
    if error := next((one["error"] for one in result["questions"] if one["error"]), None):
        click.echo(f"The first failure, in phase {error['phase']}: {error['message']}", err=True)
        click.echo(f"  `memeval failures {result['run_id']}` shows them all.", err=True)
    for line in _notes(result):
        click.echo(f"Note: {line}", err=True)
    click.echo(str(path))
    if (folder := click.get_current_context().params.get("output")) is not None:
        for written in write_report(read_run(path), folder):
            click.echo(str(written))
    if result["status"] == "broken":
        raise RunError(
            f"Run {result['run_id']} is not finished: {result['fault']}.",
            fix=result["fault_fix"],
        )


def _notes(result: Mapping[str, Any]) -> Iterator[str]:
    """Return caveats about the provider, the evidence and the clusters that affect the figures."""
    questions = result["questions"]
    pieces = [piece for question in questions for piece in question["retrieved"]]
    nothing = not pieces and not any(question.get("guard") for question in questions)
    if nothing and result["provider"]["name"] != "none" and any(question["status"] == "done" for question in questions):
        name = result["provider"]["name"]
        if result["status"] != "broken":
            yield f"{name} found nothing for any question: check with `memeval check {name}` whether it finds what it adds."
    if pieces and not any(piece["sessions"] or piece["turns"] for piece in pieces):
        yield f"{result['provider']['name']} does not report the sources of its pieces: its retrieval is not scored."
    if dangling := sum(bool(question.get("dangling")) for question in questions):
        yield (
            f"{dangling} questions refer to evidence that is not in the data. Only existing evidence counts; "
            "questions without any are skipped."
        )
    if warning := few_clusters(result["clusters"]):
        yield warning


COMMANDS = (evaluate_all, prepare, run_prepared, evaluate, merge_shards)
