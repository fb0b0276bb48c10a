"""The command `suite`, which runs a versioned list of benchmarks and prints it as one table."""

from __future__ import annotations

from typing import Any

import click

from memeval.cli import options
from memeval.cli.reports import show_table, table_options
from memeval.cli.root import Context, pass_context
from memeval.cli.running import resume_run, run_each, start_run
from memeval.core.errors import ConfigError
from memeval.report.boards import suite_table
from memeval.report.runs import ledger_file, load_run
from memeval.report.table import Table
from memeval.run import engine
from memeval.run.checkpoint import new_group
from memeval.run.engine import Work
from memeval.run.plan import with_defaults
from memeval.run.provider_subject import check
from memeval.run.settings import Selection, Settings
from memeval.specs import SuiteEntrySpec, SuiteSpec


@click.command("suite", cls=options.SpreadCommand)
@click.argument("name", required=False)
@click.option("--providers", "--provider", "-p", "providers", multiple=True, help="Run the suite with these. Accepts several.")
@click.option("--data", multiple=True, metavar="NAME=PATH", help="Your own copy of a benchmark's data, by benchmark name.")
@click.option("--run-id", help="Prefix of the run ids; with that of an earlier command, its remaining work is done.")
@click.option("--provider-option", "provider_options", multiple=True, metavar="KEY=VALUE", help="Option of the providers.")
@options.answer_options
@options.judge_options
@options.work_options
@table_options
@pass_context
def suite(ctx: Context, /, name: str | None, form: str, **values: Any) -> None:
    """Run a versioned list of benchmarks, and print one table.

    Without --providers, show the table of finished runs. Without NAME, list the suites. Runs of another version of
    the suite, or of a file that has changed since, are never in its table.
    """
    if name is None:
        found = [ctx.catalog.suite(one) for one in ctx.catalog.suites()]
        rows = [(one.name, one.version, ", ".join(entry.name for entry in one.entries), one.description) for one in found]
        show_table(Table(("suite", "version", "entries", "description"), tuple(rows)), form=form)
        return
    chosen = ctx.catalog.suite(name)
    if values["providers"]:
        _run(ctx, chosen, values)
    _show(ctx, chosen, form)


def _run(ctx: Context, suite: SuiteSpec, values: dict[str, Any]) -> None:
    """Run each entry with each provider. Every run is checked before the first one starts. Finished runs are skipped."""
    context = ctx.run_context(values["budget_usd"], cache=not values["no_cache"])
    values = {**values, "benchmarks": tuple(dict.fromkeys(entry.benchmark for entry in suite.entries))}
    group = values["run_id"] or new_group()
    work = Work(values["concurrency"])
    known = ctx.results.run_ids()
    planned = []
    for entry in suite.entries:
        for provider in values["providers"]:
            settings = _settings(suite, entry, provider, values)
            settings = with_defaults(settings, ctx.catalog) if entry.answers else settings
            if entry.answers and not settings.answering_model:
                raise ConfigError(f"Entry {entry.name} of suite {suite.name} requires answers.", fix="Give --answering-model.")
            run_id = f"{group}.{entry.name.replace(' ', '-')}.{options.stem(provider)}"
            planned.append((run_id, settings, None if run_id in known else check(settings, context)))
    for run_id, _, _ in planned:
        if run_id in known:
            engine.count_spent(ctx.results, run_id, context.budget)
    click.echo(f"Suite {suite.identity}: continue with --run-id {group}", err=True)
    with run_each() as alone:
        for run_id, settings, subject in planned:
            with alone(len(planned) > 1):
                if subject is not None:
                    start_run(ctx, context, run_id, settings, subject, work)
                elif ledger_file(ctx.results, run_id) is None:
                    resume_run(ctx, context, run_id, work)


def _settings(suite: SuiteSpec, entry: SuiteEntrySpec, provider: str, values: dict[str, Any]) -> Settings:
    answers: dict[str, Any] = {}
    if entry.answers:
        answers = {
            **options.judge_settings(values),
            "answering_model": values["answering_model"],
            "answer_prompt": values["answer_prompt"],
            "reader": values["reader"],
            "abstain_below": values["abstain_below"],
            "epochs": max(entry.epochs, values["epochs"]),
            "model_options": options.key_values(values["model_options"], "--model-option"),
        }
    return Settings(
        benchmark=options.spec_path(entry.benchmark),
        provider=options.spec_path(provider),
        data=options.data_of(entry.benchmark, values),
        variant=entry.variant,
        granularity=entry.granularity,
        top_k=entry.top_k,
        selection=Selection(limit=entry.limit, dev_slice=entry.dev_slice, types=entry.question_types),
        provider_options=options.key_values(values["provider_options"], "--provider-option"),
        suite=suite.identity,
        suite_entry=entry.name,
        **answers,
    )


def _show(ctx: Context, suite: SuiteSpec, form: str) -> None:
    lines = [line for line in ctx.results.ledger_lines() if str(line.get("suite", "")).startswith(f"{suite.name} ")]
    ids = dict.fromkeys(str(line["run_id"]) for line in lines if line["suite"] == suite.identity)
    if others := sorted({str(line["suite"]) for line in lines if line["suite"] != suite.identity}):
        click.echo(f"Omitted, from another version: {', '.join(others)}.", err=True)
    runs = [load_run(ctx.results, run) for run in ids if ledger_file(ctx.results, run)]
    if not runs:
        click.echo(f"There is no finished run of suite {suite.identity}.", err=True)
        return
    show_table(suite_table(suite, runs), f"{suite.name} {suite.version}, per cent (95 %)", form=form)


COMMANDS = (suite,)
