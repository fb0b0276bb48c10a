"""`python -m memeval.claudecode.run_bench` tells whether memory helps Claude Code.

Exit codes: 0 done · 1 failed · 2 wrong call, setting, login, client or network · 3 stopped by the budget · 130 interrupted.
What was done is kept in any case: --resume goes on.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from memeval.assembly import Surroundings
from memeval.benchmarks.source import CACHE, Sources
from memeval.cache import ModelCache
from memeval.calls import Budget, Stop
from memeval.catalog import Catalog
from memeval.claudecode import benches, screen
from memeval.claudecode.arms import arms_of, find_plugin
from memeval.claudecode.auth import Auth, make_auth
from memeval.claudecode.client import ClaudeCode, find_client
from memeval.claudecode.conditions import INGESTS, REPLAY, Conditions
from memeval.claudecode.contract import Family
from memeval.claudecode.families import FETCHED, OPTIONAL, FamilyOptions
from memeval.claudecode.grid import GRID_MODELS, Command, Machine, grid_cells, load_command, perform, save_command
from memeval.claudecode.leaks import check_apart
from memeval.claudecode.preflight import client_version, probe_models
from memeval.claudecode.process import Processes
from memeval.claudecode.progress import make_progress
from memeval.claudecode.sandbox import check_root, default_root
from memeval.claudecode.scoring import check_embedder
from memeval.claudecode.session_cache import SessionCache
from memeval.claudecode.staging import interpreter, outside_path, stage
from memeval.config import parse_yaml
from memeval.errors import BudgetError, ConfigError, DependencyError, MemevalError, StoppedError
from memeval.results.files import ResultsDir
from memeval.sampling import Selection, Shard
from memeval.session import count_spent, new_group
from memeval.types import EMPTY

EXIT_CODES: dict[type[MemevalError], int] = {ConfigError: 2, DependencyError: 2, BudgetError: 3, StoppedError: 130}
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--benchmark", "-b", "benchmarks", multiple=True, help="Name, or all: those that have what they need. Repeatable.")
@click.option("--mode", default="all", show_default=True, help="off, builtin, plugin, both, or all (off, builtin, plugin).")
@click.option("--model", default=GRID_MODELS[0], show_default=True, help="Model of the sessions.")
@click.option("--grid", is_flag=True, help="Haiku with memory, then Haiku, Sonnet and Opus without; --mode names the memory.")
@click.option("--grid-models", default=",".join(GRID_MODELS), show_default=True, help="The grid's small, middle and large model.")
@click.option("--data", multiple=True, metavar="[NAME=]PATH", help="Your own copy of a benchmark's data.")
@click.option("--limit", type=int, help="The first so many questions or tasks.")
@click.option("--start", type=int, help="First one, counted from 1.")
@click.option("--end", type=int, help="Last one, included.")
@click.option("--shard", help="Part i of n, as i/n; `memeval merge` joins them.")
@click.option("--dev-slice", type=float, help="Share of the questions, stratified by type.")
@click.option("--questions", default="", help="Ids, parted by commas.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the dev slice and of intervals.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Sessions at once.")
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Seconds that a session may take.")
@click.option("--settle-timeout", type=float, default=300.0, show_default=True, help="Seconds to wait for day dreams.")
@click.option("--max-turns", type=click.IntRange(1), default=30, show_default=True, help="Turns of a session.")
@click.option(
    "--retries", type=click.IntRange(0), default=2, show_default=True, help="Further tries after a limit or network fault."
)
@click.option("--backoff", type=float, default=20.0, show_default=True, help="Seconds before the first of them; then double.")
@click.option("--budget-usd", "budgets", multiple=True, metavar="[NAME=]USD", help="For all, or for a benchmark. Repeatable.")
@click.option("--ingest", type=click.Choice(INGESTS), default=REPLAY, show_default=True, help="How a history gets into memory.")
@click.option("--judge", default="", help="Judge of answers (default: the benchmark's; without a model, contains).")
@click.option("--judge-model", default="", help="Model of the judge, e.g. openai/gpt-4o.")
@click.option("--embedder", default="bge-small", show_default=True, help="Measures relevancy; empty: not measured.")
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option, for the benchmarks that know it. Repeatable."
)
@click.option("--plugin-setting", "settings", multiple=True, metavar="KEY=VALUE", help="Setting of memoryd. Repeatable.")
@click.option("--plugin-dir", type=_FOLDER, help="The plugin (default: the one that this package came with).")
@click.option("--memory-from", metavar="RUN", default="", help="Begin with what another run remembered; no task may be in both.")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Run each cell so many times.")
@click.option(
    "--auth", type=click.Choice(["subscription", "api-key"]), help="Login (default: subscription; api-key with --base-url)."
)
@click.option("--base-url", default="", help="Address of a gateway or test server.")
@click.option("--claude", default="claude", show_default=True, envvar="CLAUDE_BIN", help="The client.")
@click.option("--results-dir", type=_FOLDER, default=Path("results"), envvar="MEMEVAL_RESULTS", show_default=True)
@click.option("--work-dir", type=_FOLDER, help="Where sandboxes lie; outside of any project.")
@click.option(
    "--version", "version_of", default="", metavar="vX.Y", help="Folder of the results (default: this package's version)."
)
@click.option("--run-id", help="Id of the command (default: time and chance).")
@click.option("--resume", metavar="ID", help="Go on with a command; it keeps its own settings.")
@click.option("--retry-failed", is_flag=True, help="With --resume: try failed sessions again.")
@click.option("--no-probe", is_flag=True, help="Don't try each model with a session of a few tokens first.")
@click.option("--no-cache", is_flag=True, help="Take no session from an earlier run's cache, and keep none.")
@click.option("--offline", is_flag=True, help="Never fetch data.")
@click.option("--dry-run", is_flag=True, help="Print the plan with an estimate, and end.")
@click.option("--list-benchmarks", is_flag=True, help="Say what each benchmark needs and whether it is here.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON on standard output.")
def command(**values: Any) -> None:
    """Run benchmarks through Claude Code with memory off, built-in and plugin, and say whether memory pays."""
    try:
        _main(values)
    except MemevalError as error:
        click.echo(f"Error: {error.message}", err=True)
        if error.fix:
            click.echo(f"  {error.fix}", err=True)
        sys.exit(EXIT_CODES.get(type(error), 1))
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        sys.exit(130)


def _main(values: Mapping[str, Any]) -> None:
    results = ResultsDir(values["results_dir"].expanduser())
    around = _surroundings(values)
    if values["list_benchmarks"]:
        screen.list_benchmarks(_family_options(values, around), as_json=values["as_json"])
        return
    if values["resume"]:
        group, asked = values["resume"], load_command(results, values["resume"])
    else:
        group, asked = values["run_id"] or new_group(), _command(values, around)
    options = FamilyOptions(around, None, asked.judge, asked.judge_model, asked.options)
    families = benches.opened(asked.benchmarks, options, asked.data)
    if values["dry_run"]:
        families = benches.with_tasks(families, asked.selection, screen.note)
        screen.show_plan(asked, families, as_json=values["as_json"])
        return
    _perform(values, results, around, group, asked, families)


def _perform(
    values: Mapping[str, Any],
    results: ResultsDir,
    around: Surroundings,
    group: str,
    asked: Command,
    families: Mapping[str, Family],
) -> None:
    processes = Processes()
    with _stopped_by_signals(around.stop, processes):
        auth = make_auth(values["auth"], values["base_url"])
        client = ClaudeCode(find_client(values["claude"]), processes)
        root = check_root(values["work_dir"] or default_root(os.environ))
        check_apart(root, {"results": results.root, **{f"data of {name}": Path(path) for name, path in asked.data.items()}})
        environment = _environment(auth, root)
        version = client_version(client, environment, root)
        auth.check(os.environ)
        for name, family in families.items():
            for need in family.needs():
                if not need.here and not need.name.endswith((OPTIONAL, FETCHED)):
                    raise ConfigError(f"{name} needs {need.name}.", fix=need.fix)
        families = benches.with_tasks(families, asked.selection, screen.note)
        plugin = stage(find_plugin(values["plugin_dir"]), root)
        cache = SessionCache(None if values["no_cache"] else _cache() / "sessions")
        check_embedder(asked.conditions.embedder)
        if not values["no_probe"]:
            probe_models(client, environment, [model for _, model in asked.cells], root)
        if not values["resume"]:
            save_command(results, group, asked)
        screen.announce(group, asked)
        budgets = _budgets(values["budgets"], results, group)
        with make_progress() as progress:
            machine = Machine(
                client, version, environment, plugin, root, results, around, progress, budgets, values["retry_failed"], cache
            )
            summary = perform(machine, group, asked, families)
    screen.show_summary(summary, as_json=values["as_json"])


def _environment(auth: Auth, root: Path) -> dict[str, str]:
    made = auth.environment(os.environ)
    return {**made, "MEMORYD_PYTHON": interpreter(root), "PATH": outside_path(made.get("PATH", os.defpath))}


def _cache() -> Path:
    return Path(os.environ.get("MEMEVAL_CACHE", "~/.cache/memeval")).expanduser()


def _surroundings(values: Mapping[str, Any]) -> Surroundings:
    cache = _cache()
    sources = Sources(cache=cache / "datasets" if "MEMEVAL_CACHE" in os.environ else CACHE, offline=values["offline"])
    return Surroundings(Catalog.default(), ModelCache(cache / "models"), Budget(None), Stop(), sources)


def _family_options(values: Mapping[str, Any], around: Surroundings) -> FamilyOptions:
    return FamilyOptions(around, None, values["judge"], values["judge_model"], _pairs(values["options"], "--option", typed=True))


def _command(values: Mapping[str, Any], around: Surroundings) -> Command:
    options = _family_options(values, around)
    named = tuple(entry for entry in values["data"] if "=" in entry)
    names = benches.choose(values["benchmarks"], options, _data(named, []))
    arms = arms_of(values["mode"])
    models = [part.strip() for part in values["grid_models"].split(",")]
    cells = grid_cells(arms, models) if values["grid"] else tuple((str(arm), values["model"]) for arm in arms)
    conditions = Conditions(
        ingest=values["ingest"],
        max_turns=values["max_turns"],
        timeout=values["timeout"],
        settle_timeout=values["settle_timeout"],
        retries=values["retries"],
        backoff=values["backoff"],
        workers=values["workers"],
        embedder=values["embedder"],
        plugin_settings=_pairs(values["settings"], "--plugin-setting"),
    )
    return Command(
        benchmarks=tuple(names),
        cells=cells,
        repeat=values["repeat"],
        selection=_selection(values),
        conditions=conditions,
        judge=values["judge"],
        judge_model=values["judge_model"],
        data=_data(values["data"], names),
        options=options.options,
        memory_from=values["memory_from"],
        version=values["version_of"],
        seed=values["seed"],
        cache=not values["no_cache"],
    )


def _selection(values: Mapping[str, Any]) -> Selection:
    return Selection(
        limit=values["limit"],
        start=values["start"],
        end=values["end"],
        shard=Shard.parse(values["shard"]) if values["shard"] else None,
        questions=tuple(part.strip() for part in values["questions"].split(",") if part.strip()),
        dev_slice=values["dev_slice"],
        seed=values["seed"],
    )


def _data(given: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """Paths by benchmark; a path alone is for the only benchmark."""
    found = {}
    for entry in given:
        name, sign, path = entry.partition("=")
        if not sign and len(names) != 1:
            raise ConfigError(f"--data {entry!r} names no benchmark.", fix="Write NAME=PATH.")
        full = benches.ALIASES.get(name, name) if sign else names[0]
        place = Path(path if sign else entry).expanduser().absolute()
        if not place.exists():
            raise ConfigError(f"--data {place} is not there.", fix="Correct the path.")
        found[full] = str(place)
    return found


def _pairs(given: tuple[str, ...], flag: str, *, typed: bool = False) -> dict[str, Any]:
    found = {}
    for entry in given:
        key, sign, value = entry.partition("=")
        if not sign or not key:
            raise ConfigError(f"{flag} {entry!r} is no KEY=VALUE.", fix="Correct it.")
        found[key] = parse_yaml(value, flag) if typed else value
    return found


def _budgets(given: tuple[str, ...], results: ResultsDir, group: str) -> Mapping[str, Budget]:
    """By benchmark, the empty name for all. What earlier starts have paid counts."""
    budgets = {}
    for entry in given:
        name, _, amount = entry.rpartition("=")
        try:
            budget = Budget(float(amount))
        except ValueError:
            raise ConfigError(f"--budget-usd {entry!r} is no amount.", fix="Write USD or NAME=USD.") from None
        full = benches.ALIASES.get(name, name)
        begin = f"{group}.{full}." if full else f"{group}."
        for run in results.run_ids():
            if run.startswith(begin):
                count_spent(results, run, budget)
        budgets[full] = budget
    return budgets or EMPTY


@contextmanager
def _stopped_by_signals(stop: Stop, processes: Processes) -> Iterator[None]:
    """The first ^C or SIGTERM ends all sessions and then the run, tidily; the second at once."""
    old = {}

    def handle(number: int, frame: Any) -> None:
        if stop.is_set:
            raise KeyboardInterrupt
        stop.set()
        processes.stop()
        click.echo("Stopping; sessions that are under way are ended and will be done again. Again to stop at once.", err=True)

    try:
        for one in (signal.SIGINT, signal.SIGTERM):
            old[one] = signal.signal(one, handle)
        yield
    finally:
        for one, before in old.items():
            signal.signal(one, before)


if __name__ == "__main__":
    command()
