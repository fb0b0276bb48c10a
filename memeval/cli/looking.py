"""Read-only commands: list, describe, show-question, status, state, check."""

from __future__ import annotations

import asyncio
import json
import webbrowser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import click

from memeval import registry
from memeval.cli.options import key_values
from memeval.cli.root import Context, pass_context
from memeval.console.library import model_calls
from memeval.console.live import reading
from memeval.core.errors import ConfigError, DataError, ProviderError, RunError
from memeval.core.protocols import Benchmark, Provider
from memeval.core.types import Case, Phase, Question, QuestionType, Retrieved, SearchRequest, Session, Turn
from memeval.report.table import cost_so_far
from memeval.report.terminal import note, print_json, print_mapping, print_table, tell
from memeval.results.codec import dumps, question_to_json
from memeval.results.store import RunStore
from memeval.run.checkpoint import is_running
from memeval.run.plan import RUN_METRICS, make_plan, make_provider, open_data, with_settings
from memeval.run.provider_subject import minimal_plan, refuse_client_run
from memeval.run.settings import Settings
from memeval.run.state import write_state
from memeval.specs import to_plain

WRITTEN = {"http:": "http://…#<model>", "https:": "https://…#<model>", "extractive": "extractive", "scripted": "scripted/<file>"}
"""How model names are written, if not as `<name>/<model>`."""
RAW = 2_000
"""Maximum bytes of a raw answer shown by `check`."""
FEW = 4
"""Maximum files of a benchmark shown by `describe` as text."""
KINDS = ("benchmarks", "providers", "judges", "metrics", "models")


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
@click.option("--benchmarks", "chosen", flag_value="benchmarks", help="Benchmarks only.")
@click.option("--providers", "chosen", flag_value="providers", help="Providers only.")
@click.option(
    "--tags",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Only benchmarks and providers with this tag; with several tags, those that have all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def list_parts(ctx: Context, kind: str | None, chosen: str | None, tags: tuple[str, ...], as_json: bool) -> None:
    """List benchmarks, providers, judges, metrics and models. Invalid files are reported, and the others are listed.

    Tags are those of the files, the question types of a benchmark, and the type of a provider.
    """
    if kind and chosen and kind != chosen:
        raise click.UsageError(f"Give {kind} or --{chosen}, not both.")
    kinds = [one] if (one := kind or chosen) else KINDS[:2] if tags else KINDS
    found = {one: [entry for entry in _entries(ctx, one) if set(tags) <= set(entry.get("tags", ()))] for one in kinds}
    if tags and not any(found.values()):
        known = sorted({tag for one in kinds for entry in _entries(ctx, one) for tag in entry.get("tags", ())})
        raise ConfigError(f"Nothing has the tags {', '.join(tags)}.", fix=f"Known: {', '.join(known) or 'none'}.")
    if as_json:
        print_json(found)
        return
    for one, entries in found.items():
        columns = ["name", "type", "tags", "description"] if one in ("benchmarks", "providers") else ["name"]
        print_table(one, columns, [[_shown(entry.get(column, "")) for column in columns] for entry in entries])


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _entries(ctx: Context, kind: str) -> list[dict[str, Any]]:
    if kind == "benchmarks":
        return _specs(ctx, list(ctx.catalog.benchmarks()), ctx.catalog.benchmark, lambda spec: str(spec.source.type))
    if kind == "providers":
        return _specs(ctx, list(ctx.catalog.providers()), ctx.catalog.provider, lambda spec: str(spec.type))
    if kind == "metrics":
        names = sorted([*registry.metric.names(), *registry.question_metric.names(), *RUN_METRICS])
    elif kind == "models":
        names = [WRITTEN.get(name, f"{name}/<model>") for name in registry.model.names()]
    else:
        names = registry.judge.names()
    return [{"name": name} for name in names]


def _specs(ctx: Context, names: list[str], load: Any, type_of: Any) -> list[dict[str, Any]]:
    entries = []
    for name in names:
        try:
            spec = load(name)
        except ConfigError as error:
            tell(error)
            continue
        own = {"type": type_of(spec), "tags": list(spec.all_tags), "description": spec.description}
        entries.append({"name": name, **own})
    return entries


@click.command("describe")
@click.argument("name")
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="Your own copy of the benchmark's data.")
@click.option(
    "--count/--no-count", default=True, show_default=True, help="Count a benchmark's cases if its data is on this machine."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def describe(ctx: Context, name: str, data: Path | None, count: bool, as_json: bool) -> None:
    """Show a benchmark or provider: its resolved file, and counts of the data."""
    about: dict[str, Any] = {}
    if name in ctx.catalog.providers():
        provider = ctx.catalog.provider(name)
        about["provider"] = {"file": str(provider.origin.path), **to_plain(provider)}
    if name in ctx.catalog.benchmarks() or not about:
        benchmark = ctx.catalog.benchmark(name)
        about["benchmark"] = {"file": str(benchmark.origin.path), **to_plain(benchmark)}
        if count:
            about["counts"] = _counts(ctx, name, data)
    if as_json:
        print_json(about)
    else:
        _shorten(about.get("benchmark", {}).get("source", {}))
        print_mapping(about)


def _shorten(source: dict[str, Any]) -> None:
    """Shorten a long list of files, which would push everything above it off the screen."""
    files = source.get("files", [])
    if len(files) > FEW:
        source["files"] = files[:FEW]
        source["more files"] = f"{len(files) - FEW}, shown by --json"


def _counts(ctx: Context, name: str, data: Path | None) -> dict[str, Any]:
    """Count the data on this machine. Nothing is fetched."""
    try:
        return count_cases(_open(ctx, name, data, offline=True))
    except DataError as error:
        return {"not counted": str(error)}


def count_cases(benchmark: Benchmark) -> dict[str, Any]:
    """Count cases, sessions, turns, questions, and questions by type and category."""
    totals: Counter[str] = Counter()
    types: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    for case in benchmark.cases():
        totals["cases"] += 1
        totals["sessions"] += len(case.sessions)
        totals["turns"] += sum(len(session.turns) for session in case.sessions)
        totals["questions"] += len(case.questions)
        types.update(str(question.type) for question in case.questions)
        categories.update(question.category for question in case.questions if question.category)
    return {**totals, "by type": dict(sorted(types.items())), "by category": dict(sorted(categories.items()))}


def _open(ctx: Context, name: str, data: Path | None, *, offline: bool = False) -> Benchmark:
    context = Context(ctx.results, ctx.catalog, ctx.cache_dir, ctx.offline or offline).run_context()
    return open_data(minimal_plan(ctx.catalog, name, str(data) if data else ""), context)


@click.command("show-question")
@click.argument("benchmark")
@click.argument("question")
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="Your own copy of the benchmark's data.")
@click.option("--run", help="Also show its outcome in this run, with each prompt and reply.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def show_question(ctx: Context, benchmark: str, question: str, data: Path | None, run: str | None, as_json: bool) -> None:
    """Show a question with its gold answer and evidence. The id may be case/question."""
    case, found = _find(_open(ctx, benchmark, data), question)
    about: dict[str, Any] = {
        "case": case.id,
        **json.loads(dumps(question_to_json(found))),
        "said": _evidence(case, found),
    }
    if run:
        entries = ctx.results.load(run)["questions"]
        about["run"] = next((e for e in entries if (e["case_id"], e["id"]) == (case.id, found.id)), None)
        with reading(ctx.results.find(run)) as store:
            about["calls"] = [asdict(call) for call in model_calls(store, case.id, found.id)]
    if as_json:
        print_json(about)
    else:
        print_mapping(about)


def _find(benchmark: Benchmark, name: str) -> tuple[Case, Question]:
    for case in benchmark.cases():
        for question in case.questions:
            if name in (question.id, f"{case.id}/{question.id}"):
                return case, question
    raise DataError(f"{benchmark.name} has no question {name!r}.", fix="`memeval results RUN --questions` lists ids.")


def _evidence(case: Case, question: Question) -> list[dict[str, str]]:
    """Return the evidence turns, or the whole evidence sessions if the turns are unknown."""
    turns, sessions = set(question.evidence_turns), set(question.evidence_sessions)
    return [
        {"turn": turn.id, "at": str(turn.at or session.at or ""), "who": turn.speaker or turn.role, "text": turn.text}
        for session in case.sessions
        for turn in session.turns
        if turn.id in turns or (not turns and session.id in sessions)
    ]


@click.command("status")
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def status(ctx: Context, run: str | None, as_json: bool) -> None:
    """Show the progress of runs: done and failed items per phase, cost so far, and whether a runner is active."""
    rows = []
    for name in ctx.results.group(run) if run else ctx.results.run_ids():
        try:
            rows.append(run_status(ctx, name))
        except RunError as error:
            tell(error)
    if as_json:
        print_json(rows)
        return
    columns = ["run", "state", "questions", *(str(phase) for phase in list(Phase)[:4]), "cost", "result"]
    print_table("", columns, [[row.get(column) for column in columns] for row in rows])


def run_status(ctx: Context, name: str) -> dict[str, Any]:
    """Return the status of one run.

    Each phase has the text `done` or `done+failed failed`, with counts in place of the words.
    """
    folder = ctx.results.find(name)
    with ctx.results.open(name) as store:
        counts = store.counts()
        finished = store.meta("finished_at")
        phases = {str(phase): _count(counts.get(phase, {})) for phase in list(Phase)[:4]}
        questions = len(store.questions())
        result = store.meta("result_file")
        cost = cost_so_far(*store.spent())
        if store.outdated and not finished:
            tell(_older(store, folder.name))
    state = "running" if is_running(folder) else "finished" if finished else "stopped"
    return {"run": folder.name, "state": state, "questions": questions, **phases, "cost": cost, "result": result}


def _older(store: RunStore, run: str) -> RunError:
    version = (store.meta("provenance") or {}).get("memeval_version")
    return RunError(
        f"Run {run} was made by an older memeval{f' ({version})' if version else ''}; its run.db lacks step "
        f"{store.outdated} and was not changed.",
        fix=f"`memeval eval --resume {run}` updates it, once its runner has ended.",
    )


def _count(counts: dict[str, int]) -> str:
    failed = counts.get("failed", 0)
    done = sum(counts.values())
    return f"{done} ({failed} failed)" if failed else str(done)


@click.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1 (default: any free one).")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@pass_context
def serve_pages(ctx: Context, port: int, no_browser: bool) -> None:
    """Show results and running runs in a browser, until Ctrl-C.

    Only this machine can connect, and only with the link, which works once within a minute. Enter prints a new one.
    Nothing is written to the results folder.
    """
    from memeval.console import server as pages  # Only this command needs the web server's libraries.

    server = pages.ResultsServer(ctx.results.root, port, lambda: ctx.catalog, lambda line: note(f"Error: {line}"))

    def link() -> None:
        click.echo(server.link())
        note(f"The link works once, within {pages.LINK_SECONDS} s. Press Enter for a new one, Ctrl-C to quit.")

    def begin() -> None:
        link()
        if not no_browser:
            webbrowser.open(server.link())

    asyncio.run(pages.serve(server, begin, link))


@click.command("state")
@click.argument("run")
@click.option("--output", "-o", type=click.Path(file_okay=False, path_type=Path), help="Folder (default: readable/ of the run).")
@click.option("--case", default="", help="Only this case.")
@pass_context
def state(ctx: Context, run: str, output: Path | None, case: str) -> None:
    """Write the state of a prepared run as readable files: db.json, vector.json and meta.json per case."""
    with ctx.results.open(run) as store:
        refuse_client_run(store)
        settings = store.meta("settings")
        if settings is None:
            raise RunError(f"Run {run} ended before it started any work.", fix="Name another run.")
        plan = make_plan(Settings.from_json(settings), ctx.catalog)
        for folder in write_state(store, plan, ctx.run_context(), output or store.path.parent / "readable", case):
            click.echo(str(folder))


PROBE = Session(
    "s1",
    (
        Turn(
            "s1:1",
            "user",
            "My sister Ines moved to Trondheim and works there as a boat builder.",
            at=datetime(2024, 3, 5, 10, tzinfo=UTC),
        ),
        Turn("s1:2", "assistant", "Trondheim is a fine place for boats.", at=datetime(2024, 3, 5, 10, 1, tzinfo=UTC)),
    ),
    datetime(2024, 3, 5, 10, tzinfo=UTC),
)
"""The session that `check` adds, and a question that it answers."""
PROBE_QUESTION = Question(
    "q1", "Where does Ines build boats?", QuestionType.FACT_RECALL, ("Trondheim",), PROBE.at, ("s1",), ("s1:1",)
)
PROBE_WORD = "Trondheim"


@click.command("check")
@click.argument("provider")
@click.option("--provider-option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the provider.")
@click.option("--model-option", "model_options", multiple=True, metavar="KEY=VALUE", help="Option of the provider's model.")
@pass_context
def check_provider(ctx: Context, provider: str, options: tuple[str, ...], model_options: tuple[str, ...]) -> None:
    """Test a provider with one add, one search and one clear, showing raw and parsed answers.

    Nothing from a run is stored. The search should find the added session and give it as its source.
    """
    context = ctx.run_context()
    plan = replace(minimal_plan(ctx.catalog, "sample"), provider=ctx.catalog.provider(provider))
    plan = with_settings(
        plan,
        provider_options=key_values(options, "--provider-option"),
        model_options=key_values(model_options, "--model-option"),
    )
    with TemporaryDirectory(prefix="memeval-check-") as folder:
        found, left = _probe(lambda: make_provider(plan, context), Path(folder), plan.settings.index_timeout)
    for problem in _problems(found, left):
        click.echo(f"Note: {problem}", err=True)
    if not found:
        raise ProviderError(
            f"{provider} did not find the session that was just added.",
            fix="Compare the raw answers with response.* in its file, or with the return values of its class. A "
            "system is closed after adding and opened again for the search, so additions must be stored by then.",
        )


def _probe(make: Callable[[], Provider], folder: Path, seconds: float) -> tuple[list[Retrieved], list[Retrieved]]:
    """Search once after adding a session and once after clearing, and print each answer.

    The provider is reopened for the search, as in a run. Anything that a system has not stored by then is not found.
    """
    scope = f"memeval-check-{token_hex(4)}"
    with _opened(make(), scope, folder) as system:
        click.echo("add: one session of two turns")
        response = dict(system.ingest(scope, [PROBE]) or {})
        system.await_indexed(scope, seconds)
        click.echo(f"  read {dumps(response)}")
    with _opened(make(), scope, folder) as system:
        found = _asked(system, scope, PROBE_QUESTION.text)
        if not found and (found := _asked(system, scope, PROBE_WORD)):
            click.echo("Note: a single word finds the session, but a whole question does not.", err=True)
        click.echo("clear")
        system.clear(scope)
        click.echo("search again")
        remaining: Callable[[str, SearchRequest], list[Retrieved]] = getattr(system, "remaining", system.search)
        left = remaining(scope, SearchRequest(PROBE_QUESTION.text, 5, PROBE.at))
        click.echo(f"  read {len(left)} results")
    return found, left


@contextmanager
def _opened(system: Provider, scope: str, folder: Path) -> Iterator[Provider]:
    if system.capabilities.check:
        system.check()
    try:
        system.open(folder)
        if system.capabilities.gold:
            system.use_gold(scope, Case(scope, (PROBE,), (PROBE_QUESTION,)))
        if (watch := getattr(system, "watch", None)) is not None:
            watch(_show_raw)
        yield system
    finally:
        system.close()


def _asked(system: Provider, scope: str, query: str) -> list[Retrieved]:
    click.echo(f"search: {query}")
    found = system.search(scope, SearchRequest(query, 5, PROBE.at))
    if not hasattr(system, "watch"):  # Code in this process returns these values directly, so there is no raw answer.
        for piece in found:
            _show_raw("search", repr(piece).encode())
    for rank, piece in enumerate(found, start=1):
        source = ", ".join(piece.turns or piece.sessions) or "no source"
        click.echo(f"  read {rank}. score {piece.score:g}, {source}: {' '.join(piece.text.split())[:200]}")
    return found


def _show_raw(where: str, body: bytes) -> None:
    click.echo(f"  raw  {where}\n       {body[:RAW].decode('utf-8', 'replace') or '(empty)'}")


def _problems(found: Sequence[Retrieved], left: Sequence[Retrieved]) -> Iterator[str]:
    if found and not any(piece.sessions or piece.turns for piece in found):
        yield "no source: retrieval metrics can't be scored. Set response.metadataField or response.idField."
    elif found and not any("s1" in piece.sessions for piece in found):
        yield "the sources given are not those of the session that was added."
    if found and not any("Trondheim" in piece.text for piece in found):
        yield "no result contains the text that was added."
    if left:
        yield "the scope still contains something after it was cleared. Correct the clear call, or repeated runs will mix."


COMMANDS = (list_parts, describe, show_question, status, serve_pages, state, check_provider)
