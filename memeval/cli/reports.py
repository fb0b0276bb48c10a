"""Commands that read results: results, compare, trend, failures, calibrate, export, regress, html, ledger."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from pathlib import Path
from typing import Any, cast

import click

from memeval import stats
from memeval.cli.options import Command, SpreadCommand
from memeval.cli.root import Context, pass_context
from memeval.core.errors import MemevalError, RunError
from memeval.report.beside import (
    PUBLISHED_NOTE,
    gain_of,
    gain_row,
    missed,
    published_of,
    published_table,
    runs_without_memory,
    targets_table,
    trend_table,
    trends,
)
from memeval.report.boards import boards
from memeval.report.calibration import advice, bins_table, calibration_of, calibration_table
from memeval.report.compare import (
    ALPHA,
    baselines,
    compare,
    comparison_table,
    few_clusters,
    load_baseline,
    question_pairs,
    question_table,
    regress,
    set_baseline,
)
from memeval.report.export import FORMATS, TREC, export, ledger_table
from memeval.report.failures import THRESHOLD, failures, failures_table, summary
from memeval.report.html.site import write_run, write_site
from memeval.report.runs import RunResult, latest_run, ledger_file, load_run, load_runs
from memeval.report.table import Table
from memeval.report.tables import leaderboard, metrics_table, phases_table, run_heading, types_table, whole_table
from memeval.report.terminal import print_json, print_table, tell
from memeval.report.verify import Figures, rewrite, scores_of, scores_text, verify
from memoryd.core.files import write_atomic


def table_options(command: Command) -> Command:
    """Add the flags that choose how tables are printed, as the parameter `form`."""

    @wraps(command)
    def with_form(*args: Any, latex: bool, markdown: bool, **values: Any) -> Any:
        if latex and markdown:
            raise click.UsageError("Give --latex or --markdown, not both.")
        return command(*args, form="latex" if latex else "markdown" if markdown else "", **values)

    for form, label in (("latex", "LaTeX (package booktabs)"), ("markdown", "Markdown")):
        with_form = click.option(f"--{form}", is_flag=True, help=f"Print {label}.")(with_form)
    return cast(Command, with_form)


def show_text(text: str, *, form: str = "") -> None:
    """Print text that accompanies tables. In LaTeX, it is a comment, so that the output can be included in a document."""
    click.echo("\n".join(f"% {line}" if line.strip() else "" for line in text.splitlines()) if form == "latex" else text)


def show_table(table: Table, title: str = "", *, form: str = "") -> None:
    """Print a table for a terminal, or as Markdown or LaTeX."""
    if form == "latex":
        if table.columns:
            click.echo(table.latex())
    elif form == "markdown":
        click.echo(table.markdown())
    elif table.rows:
        print_table(title, table.columns, table.rows)


@click.command("results", cls=SpreadCommand)
@click.argument("runs", nargs=-1)
@click.option(
    "--compare", "providers", multiple=True, help="Providers, accepts several: the latest run of each. Requires --benchmark."
)
@click.option("--benchmark", "-b", default="", help="With --compare: the benchmark.")
@click.option("--metric", default="", help="Metric by question type (default: the main one).")
@click.option("--questions", is_flag=True, help="Also print one line per question.")
@click.option("--check-targets", is_flag=True, help="Exit with code 1 if a metric is below the target in the benchmark's file.")
@table_options
@click.option("--json", "as_json", is_flag=True, help="Print the result file (without --questions: without its questions).")
@pass_context
def results(
    ctx: Context,
    runs: tuple[str, ...],
    providers: tuple[str, ...],
    benchmark: str,
    metric: str,
    questions: bool,
    check_targets: bool,
    form: str,
    as_json: bool,
) -> None:
    """Show the figures of a run, or a table of several runs, best first.

    `memeval export` writes a run as CSV, JSONL, or for trec_eval.
    """
    if bool(providers) != bool(benchmark) or bool(runs) == bool(providers):
        raise click.UsageError("Give runs, or --compare A B with --benchmark NAME.")
    if as_json and (form or metric):
        raise click.UsageError(f"--json prints all metrics; omit --{form or 'metric'}.")
    if questions and not as_json and len(runs) + len(providers) > 1:
        raise click.UsageError(
            "--questions is only for one run, or with --json. To compare two runs by question: memeval compare A B --questions."
        )
    if providers:
        name = ctx.catalog.benchmark(benchmark).name
        found = [latest_run(ctx.results, name, provider) for provider in providers]
    else:
        found = load_runs(ctx.results, runs)
    if metric and len(found) > 1 and not any(metric in run.metrics for run in found):
        found[0].require(metric)
    _show_runs(ctx, found, metric, questions=questions, form=form, as_json=as_json)
    if providers and len(found) > 1 and not as_json:
        made = compare(found, (metric,) if metric else ())
        for warning in made.warnings:
            click.echo(f"Note: {warning}", err=True)
        show_table(comparison_table(made), form=form)
        click.echo(f"{HOW} Seed {made.seed}.", err=True)
    if check_targets and (short := [(run.run_id, name) for run in found for name in missed(run)]):
        targets = ", ".join(f"{name} of {run}" for run, name in short)
        raise RunError(f"Below the target: {targets}.", fix="See `targets` in the benchmark's file.")


def _show_runs(ctx: Context, found: Sequence[RunResult], metric: str, *, questions: bool, form: str, as_json: bool) -> None:
    """Print one run in full, or several runs as one table per board."""
    if as_json:
        kept = [{key: value for key, value in one.data.items() if questions or key != "questions"} for one in found]
        print_json(kept[0] if len(kept) == 1 else kept)
    elif len(found) > 1:
        _show_boards(ctx, found, metric, form=form)
    else:
        _show_one(ctx, found[0], metric, questions=questions, form=form)


def _show_boards(ctx: Context, found: Sequence[RunResult], metric: str, *, form: str) -> None:
    for run in (one for one in found if one.fault):
        click.echo(f"Omitted: {run.run_id} is not finished: {run.fault}.", err=True)
    for board in boards(found):
        if form:
            click.echo(f"## {board.title}\n" if form == "markdown" else f"% {board.title}")
        show_table(leaderboard(board.runs, metric), board.title, form=form)
    for benchmark in dict.fromkeys(run.benchmark for run in found):
        if figures := published_of(ctx.catalog, benchmark):
            show_table(published_table(figures), PUBLISHED_NOTE, form=form)
    for warning in dict.fromkeys(line for run in found if (line := few_clusters(run.clusters))):
        click.echo(f"Note: {warning}", err=True)


def _show_one(ctx: Context, run: RunResult, metric: str, *, questions: bool, form: str) -> None:
    show_text(run_heading(run), form=form)
    show_table(metrics_table(run), "All metrics", form=form)
    show_table(types_table(run, metric), "By question type", form=form)
    gain = gain_of(run, runs_without_memory(ctx.results, run.benchmark))
    for table in (targets_table(run), whole_table(run, [gain_row(gain)] if gain else []), phases_table(run)):
        if table.rows:
            click.echo()
            show_table(table, form=form)
    if questions:
        rows = [(q.key, q.type, q.status, q.hypothesis or "", " | ".join(q.answers), q.text) for q in run.questions]
        show_table(Table(("question", "type", "status", "answered", "expected", "asked"), tuple(rows)), form=form)


HOW = (
    "p: McNemar's exact test for yes/no values, a paired permutation test for graded ones; where questions share a conversation, "
    "sequence or repository, interval and test are by cluster (signs of clusters; t below 8 clusters). Holm over all rows."
)


@click.command("compare")
@click.argument("runs", nargs=-1, required=True)
@click.option("--metric", "metrics", multiple=True, help="Metric (default: the main one); repeatable.")
@click.option("--seed", type=click.IntRange(0), default=stats.SEED, show_default=True, help="Seed of permutations and bootstrap.")
@click.option("--questions", is_flag=True, help="With two runs, also compare every question on the (first) metric.")
@table_options
@pass_context
def compare_runs(ctx: Context, runs: tuple[str, ...], metrics: tuple[str, ...], seed: int, questions: bool, form: str) -> None:
    """Compare runs of one benchmark pairwise: wins, losses, ties, interval of the difference, p-values."""
    if questions and len(runs) != 2:
        raise click.UsageError("--questions requires two runs.")
    found = load_runs(ctx.results, runs)
    made = compare(found, metrics, seed=seed)
    for warning in made.warnings:
        click.echo(f"Note: {warning}", err=True)
    show_table(comparison_table(made), form=form)
    click.echo(f"{HOW} Seed {made.seed}.", err=True)
    if questions:
        pairs = question_pairs(found[0], found[1], made.rows[0].metric)
        show_table(question_table(pairs, *made.runs), form=form)


@click.command("trend")
@click.option("--benchmark", "-b", default="", help="Only this benchmark.")
@click.option("--provider", "-p", default="", help="Only this provider.")
@click.option("--metric", default="", help="Metric (default: the main one).")
@table_options
@pass_context
def trend(ctx: Context, benchmark: str, provider: str, metric: str, form: str) -> None:
    """Show providers over versions. Comparable runs are listed by time, each with its difference from the previous one."""
    wanted = ctx.catalog.benchmark(benchmark).name if benchmark else ""
    lines = [
        line
        for line in ctx.results.ledger_lines()
        if wanted in ("", line.get("benchmark")) and provider in ("", line.get("provider"))
    ]
    ids = dict.fromkeys(str(line.get("run_id")) for line in lines)
    series = trends(load_run(ctx.results, run) for run in ids if ledger_file(ctx.results, run))
    if not series:
        raise RunError("No provider has two finished, comparable runs.", fix="`memeval ledger` lists finished runs.")
    for some in series:
        title = f"{some[0].benchmark} × {some[0].provider}" + (f", {some[0].answering_model}" if some[0].answering_model else "")
        if form:
            click.echo(f"## {title}\n" if form == "markdown" else f"% {title}")
        show_table(trend_table(some, metric), title, form=form)


@click.command("failures")
@click.argument("run")
@click.option("--metric", default="", help="Metric (default: the main one).")
@click.option("--threshold", type=float, default=THRESHOLD, show_default=True, help="Lower values count as wrong.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of questions.")
@table_options
@pass_context
def failures_of(ctx: Context, run: str, metric: str, threshold: float, limit: int | None, form: str) -> None:
    """List the questions that failed, could not be scored, or have a wrong answer."""
    found = failures(load_run(ctx.results, run), metric, threshold=threshold)
    show_table(failures_table(found[:limit] if limit else found), form=form)
    show_text(", ".join(f"{number} {kind}" for kind, number in summary(found).items()) or "No failures.", form=form)


@click.command("calibrate")
@click.argument("run")
@click.option("--metric", default="", help="Metric that scores an answer (default: the main one).")
@table_options
@pass_context
def calibrate_run(ctx: Context, run: str, metric: str, form: str) -> None:
    """Measure how well a reader's confidence predicts correctness, and determine the threshold for --abstain-below.

    Create RUN with `--abstain-below 0`, which asks for confidences and withholds nothing.
    """
    made, answers = calibration_of(load_run(ctx.results, run), metric)
    show_table(calibration_table(made), form=form)
    show_table(bins_table(answers), form=form)
    show_text(f"For other questions: {advice(made)}.", form=form)


@click.command("export")
@click.argument("run")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="csv", show_default=True, help="Output format.")
@click.option(
    "--level",
    type=click.Choice(["session", "turn"]),
    help="Documents of trec and qrels (default: what was retrieved).",
)
@click.option("--metric", "metrics", multiple=True, help="With scores: only these metrics.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="File (default: standard output).")
@pass_context
def export_run(ctx: Context, run: str, form: str, level: str | None, metrics: tuple[str, ...], output: Path | None) -> None:
    """Export a run for other programs.

    `hypotheses` is LongMemEval's own JSONL. `trec` and `qrels` are the files read by trec_eval (the first --top-k
    hits). `latex` is a table. `scores` contains one value per question and metric but no text, for `memeval verify`.
    """
    loaded = load_run(ctx.results, run)
    if metrics and form != "scores":
        raise click.UsageError("--metric is only for --format scores.")
    if level and form not in TREC:
        raise click.UsageError(f"--level is only for --format {' and '.join(TREC)}.")
    text = scores_text(scores_of(loaded, metrics)) if form == "scores" else export(loaded, form, level or "")
    if output:
        write_atomic(output, text.encode(), private=False)
        click.echo(str(output))
    else:
        click.echo(text, nl=False)


@click.command("regress")
@click.argument("run")
@click.option("--baseline", help="Name of a baseline, a run id or a result file.")
@click.option("--metric", "metrics", multiple=True, help="Metric (default: the main one); repeatable.")
@click.option("--alpha", type=float, default=ALPHA, show_default=True, help="Significance level of a drop, after Holm.")
@click.option("--tolerance", type=float, default=0.0, show_default=True, help="Ignore drops smaller than this share.")
@click.option("--seed", type=click.IntRange(0), default=stats.SEED, show_default=True, help="Seed of the permutations.")
@click.option("--set", "name", metavar="NAME", help="Make the run the baseline of that name instead of comparing.")
@click.pass_context
def regress_run(
    click_ctx: click.Context,
    run: str,
    baseline: str | None,
    metrics: tuple[str, ...],
    alpha: float,
    tolerance: float,
    seed: int,
    name: str | None,
) -> None:
    """Exit with 1 if a run is significantly worse than a baseline, and with 2 if that can't be determined."""
    ctx = click_ctx.find_object(Context)
    assert ctx is not None
    if name:
        if baseline or metrics:
            raise click.UsageError("--set only names the baseline; omit --baseline and --metric.")
        click.echo(f"{name}: {set_baseline(ctx.results, name, run)}")
        return
    if not baseline:
        raise click.UsageError(f"Give --baseline. Named ones: {', '.join(sorted(baselines(ctx.results))) or 'none yet'}.")
    try:
        here, before = load_run(ctx.results, run), load_baseline(ctx.results, baseline)
        made = regress(here, before, metrics, alpha=alpha, tolerance=tolerance, seed=seed)
    except MemevalError as error:
        tell(error)
        click_ctx.exit(2)
    show_table(comparison_table(made.comparison))
    click.echo(f"{HOW} Seed {made.comparison.seed}.", err=True)
    for drop in made.drops:
        click.echo(f"Significantly worse: {drop.metric}", err=True)
    click_ctx.exit(made.exit_code)


@click.command("html")
@click.argument("run", required=False)
@click.option("--output", "-o", type=click.Path(file_okay=False, path_type=Path), help="Folder (default: html in the results).")
@pass_context
def html(ctx: Context, run: str | None, output: Path | None) -> None:
    """Write a page for each run and an index, or only one run's page. The pages can be opened from disk."""
    if run:
        click.echo(str(write_run(load_run(ctx.results, run), output or ctx.results.root / "html")))
    else:
        click.echo(str(write_site(ctx.results, output)))


@click.command("ledger")
@click.option("--last", type=click.IntRange(1), help="Maximum number of runs.")
@table_options
@pass_context
def ledger(ctx: Context, last: int | None, form: str) -> None:
    """List all finished runs, newest last."""
    show_table(ledger_table(ctx.results, last=last), form=form)


@click.command("verify")
@click.option(
    "--docs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("docs"),
    show_default=True,
    help="Folder with figures.yaml, results/*.json and the pages.",
)
@click.option("--write", is_flag=True, help="Write the recomputed tables into the pages first.")
def verify_docs(docs: Path, write: bool) -> None:
    """Recompute the figures of the documents from stored scores.

    Exits with 1 if a table differs, or if a figure in a page is neither in a table nor marked as measured once.
    """
    if write:
        for page in rewrite(docs):
            click.echo(f"{page} rewritten")
    problems = verify(docs)
    for one in problems:
        click.echo(f"{one.page}:{one.line}: {one.text}")
    if problems:
        raise RunError(
            f"{len(problems)} figures can't be verified.",
            fix="Run the command with --write, or mark figures that were measured once.",
        )
    figures = Figures(docs)
    click.echo(f"{len(figures.names())} tables on {len(figures.pages)} pages match the stored scores.")


COMMANDS = (results, compare_runs, trend, failures_of, calibrate_run, export_run, regress_run, html, ledger, verify_docs)
