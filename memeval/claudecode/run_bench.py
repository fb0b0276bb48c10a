"""Measure whether memory helps Claude Code: `python -m memeval.claudecode.run_bench`.

The exit codes are those of `report.terminal`. Completed work is always kept, and --resume continues it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import click

from memeval.benchmarks.source import CACHE, Downloader, DownloadLines, Sources
from memeval.claudecode import console, planning
from memeval.claudecode.arms import INGESTS, REPLAY, find_plugin
from memeval.claudecode.auth import Auth, make_auth
from memeval.claudecode.client import ClaudeCode
from memeval.claudecode.clients import BenchClient, client_version, find_client, probe_models, scratch
from memeval.claudecode.command import (
    GRID_MODELS,
    Command,
    budgets_of,
    check_memory,
    command_of,
    count_paid,
    load_command,
    pairs,
    refuse_taken,
    refuse_with_resume,
    resolved,
    save_command,
)
from memeval.claudecode.contract import Arm, ClientName, Family, SessionResult
from memeval.claudecode.daemon import check_reader
from memeval.claudecode.families import FETCHED, OPTIONAL, FamilyOptions, check, opened, with_tasks
from memeval.claudecode.faults import Patience
from memeval.claudecode.grid import check_arms, perform
from memeval.claudecode.opencode import OpenCode
from memeval.claudecode.processes import Processes
from memeval.claudecode.result import check_embedder
from memeval.claudecode.sandbox import check_apart, check_root, default_root, interpreter, outside_path, stage
from memeval.claudecode.sessions import SessionCache
from memeval.claudecode.subject import Machine
from memeval.core.calls import Budget, RetryPolicy, Stop
from memeval.core.errors import ConfigError
from memeval.models.guarded import ModelCache
from memeval.registry import Catalog
from memeval.report.terminal import faults_reported, note, stopped_by_signals
from memeval.results.files import ResultsDir
from memeval.run.checkpoint import new_group
from memeval.run.plan import RunContext
from memeval.run.progress import make_progress

DEFAULT_BUDGET_USD = 20.0
_POSITIVE = click.FloatRange(0, min_open=True)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--benchmark", "-b", "benchmarks", multiple=True, help="Name, or all: those whose requirements are met. Repeatable."
)
@click.option(
    "--client",
    type=click.Choice([str(name) for name in ClientName]),
    default=str(ClientName.CLAUDE_CODE),
    envvar="MEMEVAL_CLIENT",
    show_default=True,
    help="The client to run.",
)
@click.option("--mode", default="all", show_default=True, help="Arms, separated by commas; all means off, builtin, plugin.")
@click.option("--model", default=GRID_MODELS[0], show_default=True, help="Model for the sessions.")
@click.option("--grid", is_flag=True, help="Haiku with memory, then Haiku, Sonnet and Opus without; --mode selects the memory.")
@click.option("--grid-models", default=",".join(GRID_MODELS), show_default=True, help="The grid's small, middle and large model.")
@click.option("--primary", default="", metavar="ARM:ARM", help="Comparison to be tested (default: plugin:off).")
@click.option("--data", multiple=True, metavar="[NAME=]PATH", help="Your own copy of a benchmark's data.")
@click.option("--limit", type=int, help="Maximum number of questions or tasks.")
@click.option("--start", type=int, help="First one, starting at 1.")
@click.option("--end", type=int, help="Last one, included.")
@click.option("--shard", help="Part i of n, as i/n; `memeval merge` joins them.")
@click.option("--dev-slice", type=float, help="Share of the questions, stratified by type.")
@click.option("--questions", default="", help="Ids, separated by commas.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the dev slice and of intervals.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Concurrent sessions.")
@click.option("--timeout", type=_POSITIVE, default=600.0, show_default=True, help="Maximum seconds of a session.")
@click.option("--settle-timeout", type=_POSITIVE, default=300.0, show_default=True, help="Seconds to wait for day dreams.")
@click.option("--max-turns", type=click.IntRange(1), default=30, show_default=True, help="Maximum turns of a session.")
@click.option("--retries", type=click.IntRange(0), default=2, show_default=True, help="Retries after a limit or network fault.")
@click.option(
    "--backoff",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    help="Seconds before the first retry, doubled each time.",
)
@click.option("--wait", is_flag=True, help="Wait for the end of a usage limit, however long it lasts.")
@click.option("--budget-usd", "budgets", multiple=True, metavar="[NAME=]USD", help="For all, or for a benchmark. Repeatable.")
@click.option(
    "--ingest", type=click.Choice(INGESTS), default=REPLAY, show_default=True, help="How history is loaded into memory."
)
@click.option("--judge", default="", help="Judge of answers (default: the benchmark's; without a model, contains).")
@click.option("--judge-model", default="", help="Model of the judge, e.g. openai/gpt-4o.")
@click.option(
    "--embedder", default="bge-small", show_default=True, help="Measure relevancy with this embedder; empty: not measured."
)
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option, for the benchmarks that have it. Repeatable."
)
@click.option("--plugin-setting", "settings", multiple=True, metavar="KEY=VALUE", help="Setting of memoryd. Repeatable.")
@click.option("--plugin-dir", type=_FOLDER, help="The plugin (default: the one included with this package).")
@click.option("--memory-from", metavar="RUN", default="", help="Start with another run's memory; no task may be in both.")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Number of runs of each cell.")
@click.option(
    "--auth", type=click.Choice(["subscription", "api-key"]), help="Login (default: subscription; api-key with --base-url)."
)
@click.option("--base-url", default="", help="Address of a gateway or test server.")
@click.option("--claude", default="claude", show_default=True, envvar="CLAUDE_BIN", help="The Claude Code client.")
@click.option("--opencode", default="opencode", show_default=True, envvar="OPENCODE_BIN", help="The OpenCode client.")
@click.option("--results-dir", type=_FOLDER, default=Path("results"), envvar="MEMEVAL_RESULTS", show_default=True)
@click.option("--work-dir", type=_FOLDER, help="Folder of the sandboxes, outside any project.")
@click.option(
    "--version", "version_of", default="", metavar="vX.Y", help="Folder of the results (default: this package's version)."
)
@click.option("--run-id", help="Id of the command (default: time and random digits).")
@click.option("--resume", metavar="ID", help="Resume a command with its own settings.")
@click.option("--retry-failed", is_flag=True, help="With --resume: try failed sessions again.")
@click.option("--no-probe", is_flag=True, help="Don't test each model with a session of a few tokens first.")
@click.option("--no-cache", is_flag=True, help="Use no cached sessions of earlier runs, and store none.")
@click.option("--offline", is_flag=True, help="Never fetch data.")
@click.option("--dry-run", is_flag=True, help="Print the plan with an estimate, and exit.")
@click.option("--validate", is_flag=True, help="Run each coding task's gold patch, print which can be graded here, and exit.")
@click.option("--plan", "plan_usd", type=_POSITIVE, metavar="USD", help="Print what each benchmark can detect for an amount.")
@click.option("--yes", is_flag=True, help="Start without confirmation, whatever the cost.")
@click.option("--list-benchmarks", is_flag=True, help="Show each benchmark's requirements and whether they are met.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON on standard output.")
def command(**values: Any) -> None:
    """Run benchmarks through Claude Code or OpenCode, with and without memory, and say whether memory pays."""
    with faults_reported():
        _main(values)


def _main(values: Mapping[str, Any]) -> None:
    results = ResultsDir(values["results_dir"].expanduser())
    context = _run_context(values)
    if values["list_benchmarks"]:
        console.list_benchmarks(_family_options(values, context), as_json=values["as_json"])
        return
    if values["resume"]:
        refuse_with_resume()
        group, asked = values["resume"], load_command(results, values["resume"])
        resolved(asked.conditions.plugin_settings)
    else:
        group, asked = values["run_id"] or new_group(), command_of(values, _family_options(values, context))
        refuse_taken(results, group)
    budgets = budgets_of(values["budgets"], asked.benchmarks)
    options = FamilyOptions(context, None, asked.judge, asked.judge_model, asked.options)
    families = opened(asked.benchmarks, options, asked.data, budgets)
    check(families)
    if values["validate"]:
        found = {name: dict(family.validate(asked.selection)) for name, family in families.items()}
        console.show_validated({name: tasks for name, tasks in found.items() if tasks}, as_json=values["as_json"])
        return
    if values["plan_usd"]:
        families = with_tasks(families, asked.selection, note)
        console.show_offers(planning.offers(asked, families, values["plan_usd"]), values["plan_usd"], as_json=values["as_json"])
        return
    if values["dry_run"]:
        families = with_tasks(families, asked.selection, note)
        check_arms(asked, families)
        console.show_plan(asked, families, as_json=values["as_json"])
        return
    _perform(values, results, context, group, asked, families, budgets)


def _perform(
    values: Mapping[str, Any],
    results: ResultsDir,
    context: RunContext,
    group: str,
    asked: Command,
    families: Mapping[str, Family],
    budgets: Mapping[str, Budget],
) -> None:
    processes = Processes()
    with stopped_by_signals(context.stop, ending=processes.stop):
        auth = make_auth(values["auth"], values["base_url"], asked.client)
        client = _client(values, asked.client, auth, processes)
        root = check_root(values["work_dir"] or default_root(os.environ))
        check_apart(root, {"results": results.root, **{f"data of {name}": Path(path) for name, path in asked.data.items()}})
        environment = _environment(auth, root)
        version = client_version(client, environment, root)
        auth.check(os.environ)
        for name, family in families.items():
            for need in family.needs():
                if not need.here and not need.name.endswith((OPTIONAL, FETCHED)):
                    raise ConfigError(f"{name} needs {need.name}.", fix=need.fix)
        families = with_tasks(families, asked.selection, note)
        check_memory(results, asked, families)
        check_arms(asked, families)
        budgets = _within_budget(values, asked, families, budgets)
        count_paid(results, group, budgets)
        plugin = stage(find_plugin(values["plugin_dir"]), root)
        cache = SessionCache(None if values["no_cache"] else _cache() / "sessions")
        check_embedder(asked.conditions.embedder)
        if not values["no_probe"]:
            wait = _wait_for_limit(asked, context.stop) if values["wait"] else None
            probe_models(client, environment, [model for _, model in asked.cells], root, wait)
            _probe_reader(asked, client, environment, root)
        if not values["resume"]:
            save_command(results, group, asked)
        console.announce(group, asked, None if values["budgets"] else DEFAULT_BUDGET_USD)
        with make_progress() as progress:
            machine = Machine(
                client,
                version,
                environment,
                plugin,
                root,
                results,
                context,
                budgets,
                values["retry_failed"],
                cache,
                values["wait"],
                note,
            )
            summary = perform(machine, group, asked, families, progress)
    console.show_summary(summary, as_json=values["as_json"])
    if not values["as_json"]:
        console.show_files(results, summary)
    if (fault := console.daydream_fault(summary) or console.unscored_fault(summary)) is not None:
        raise fault


def _client(values: Mapping[str, Any], name: ClientName, auth: Auth, processes: Processes) -> BenchClient:
    if name is ClientName.OPENCODE:
        program = find_client(values["opencode"], OpenCode, "npm install -g opencode-ai")
        return OpenCode(program, processes, auth.address(os.environ))
    return ClaudeCode(find_client(values["claude"], ClaudeCode, "npm install -g @anthropic-ai/claude-code"), processes)


def _wait_for_limit(asked: Command, stop: Stop) -> Callable[[SessionResult], None]:
    waits = count()
    patience = Patience(RetryPolicy(0, asked.conditions.backoff, maximum=600.0), wait=True, tell=note)

    def wait(result: SessionResult) -> None:
        stop.sleep(patience.pause(result, 0, next(waits), 1.0) or 0.0)

    return wait


def _probe_reader(asked: Command, client: BenchClient, environment: Mapping[str, str], root: Path) -> None:
    """Check that the day dream's model responds if an arm has the plugin. Raises ConfigError."""
    if any(Arm(arm).has_plugin for arm, _ in asked.cells):
        settings = resolved(asked.conditions.plugin_settings)
        with scratch(root) as state:
            variables = {**environment, **state.variables(), **client.memory_variables()}
            check_reader(settings, variables, state.memory_home)


def _within_budget(
    values: Mapping[str, Any], asked: Command, families: Mapping[str, Family], budgets: Mapping[str, Budget]
) -> Mapping[str, Budget]:
    """Return the budgets, or a common default after asking for confirmation on a terminal.

    Raises ConfigError if the user declines.
    """
    if not values["budgets"]:
        budgets = {"": Budget(DEFAULT_BUDGET_USD, strict=False)}
    if not (values["yes"] or values["resume"]):
        sequences = {name: list(family.sequences(asked.selection)) for name, family in families.items()}
        console.confirm_cost(*planning.estimate_all(asked, sequences), budgets[""].limit if "" in budgets else None)
    return budgets


def _environment(auth: Auth, root: Path) -> dict[str, str]:
    made = auth.environment(os.environ)
    return {**made, "MEMORYD_PYTHON": interpreter(root), "PATH": outside_path(made.get("PATH", os.defpath))}


def _cache() -> Path:
    return Path(os.environ.get("MEMEVAL_CACHE", "~/.cache/memeval")).expanduser()


def _run_context(values: Mapping[str, Any]) -> RunContext:
    cache = _cache()
    place = cache / "datasets" if "MEMEVAL_CACHE" in os.environ else CACHE
    sources = Sources(place, Downloader(DownloadLines(note)), values["offline"])
    return RunContext(Catalog.default(), ModelCache(cache / "models"), Budget(None), Stop(), sources)


def _family_options(values: Mapping[str, Any], context: RunContext) -> FamilyOptions:
    return FamilyOptions(context, None, values["judge"], values["judge_model"], pairs(values["options"], "--option", typed=True))


if __name__ == "__main__":
    command()
