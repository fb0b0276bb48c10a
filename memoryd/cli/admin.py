"""Administrative commands: status, doctor, day dreams, switches, import and export."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from memoryd.api import admin, transfer
from memoryd.api import projects as project_operations
from memoryd.cli.options import takes
from memoryd.cli.root import Context, absolute, json_option, pass_context
from memoryd.cli.sessions import cited_of
from memoryd.clients.registry import CLIENTS
from memoryd.core.clock import SystemClock
from memoryd.core.config import ENDPOINT, OLD_READERS, READERS, with_flags
from memoryd.core.errors import InputError
from memoryd.core.types import Message

POLL_SECONDS = 0.3
LONG = 3600.0
MAX_SESSIONS = 1_000
CLAUDE_PROJECTS = "~/.claude/projects"
EXPORTS = (".tar.gz", ".tgz", ".jsonl")


@click.command()
@json_option
@pass_context
def status(context: Context, /) -> None:
    """Show the contents of the memory and whether everything works."""
    result = context.call("memory_status")
    if context.show(result):
        return
    out, index, dreams = context.output, result["index"], result["daydreams"]
    daemon = result["daemon"] or {}
    rows: list[tuple[str, object]] = [
        ("home", result["home"]),
        ("here", f"memory is {result['here']['memory']}: {result['here']['why']}"),
        ("memories", f"{result['memories']['active']} active, {result['memories']['all']} in all"),
        (
            "daemon",
            f"pid {daemon.get('pid')}, {daemon.get('rss_bytes', 0) // 2**20} MiB, up {daemon.get('uptime_seconds', 0):.0f} s",
        ),
        ("embedder", f"{index['embedder']}, {index['waiting_for_vectors']} waiting {index['embedder_error']}"),
        ("router", f"{result['router']['used']}: {result['router']['reason']}"),
        ("offers", _offers(result["offers"])),
        ("reader", result["reader_line"]),
        ("day dreams", f"{dreams['waiting']} waiting, {len(dreams['failing'])} failing"),
        ("dreams", _dreams(result["dreams"])),
        ("context", _context(result["context"])),
    ]
    out.table(("", ""), rows)
    for problem in [*index["broken_files"], *(job["error"] for job in dreams["failing"])]:
        out.line(f"! {problem}", "red")
    if result["sessions"]:
        out.line()
        columns = ("session", "turns", "kept", "known", "skipped", "given", "cited", "failed")
        out.table(columns, [_session_row(session) for session in result["sessions"]])


def _dreams(dreams: dict[str, Any]) -> str:
    waiting = dreams["proposals"] + dreams["undecided"]
    summary = f"last {dreams['last_run'][:16] or 'never'}" + (
        f", {waiting} waiting for you: memoryd proposals" if waiting else ""
    )
    return f"{summary} {dreams['last_error']}".strip()


def _offers(offers: dict[str, Any]) -> str:
    """Summarise the offers to sessions: their token cost and outcome."""
    if not offers["offers"]:
        return f"none in {offers['days']} days"
    settled = f"{offers['settled']} of {offers['shown']} settled: {offers['kept']} kept, {offers['dropped']} dropped"
    return f"{offers['offers']} in {offers['days']} days, {offers['tokens']} tokens; {settled}; {offers['own']} added"


def _session_row(session: dict[str, Any]) -> tuple[object, ...]:
    skipped = sum(session["skipped"].values())
    read = session["turns"], session["kept"], session["known"], skipped
    return session["session"][:8], *read, session["given"]["tokens"], cited_of(session["given"]), session["failed"][:60]


def _context(context: dict[str, int]) -> str:
    """Summarise what hooks gave to sessions, and how much of it was cited."""
    if not context["sessions"]:
        return "nothing given yet"
    per_session = context["tokens"] // context["sessions"]
    return f"{per_session} tokens a session in the last {context['sessions']}; cited {cited_of(context)} memories given"


@click.command()
@json_option
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Check everything and show how to fix problems. Exits with 1 if there are any."""
    from memoryd.cli import doctor as checks

    context: Context = ctx.obj
    results = checks.run_checks(context.settings)
    if context.fault is not None:
        results.insert(0, checks.SetupCheck("config", False, context.fault.message, context.fault.fix))
    healthy = all(check.ok for check in results)
    if not context.show({"healthy": healthy, "checks": [check.as_dict() for check in results]}):
        for check in results:
            context.output.line(f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}", "" if check.ok else "bold red")
            if not check.ok and check.fix:
                context.output.line(f"     fix: {check.fix}")
    ctx.exit(0 if healthy else 1)


@click.command()
@takes(admin.daydream, "transcript")
@click.option("--reader", type=click.Choice(READERS), help="Override the setting (with --dry-run).")
@click.option("--extractor", "reader", type=click.Choice([*READERS, *OLD_READERS]), help="Former name of --reader.")
@click.option("--dry-run", "dry", is_flag=True, help="Print what would be kept; writes nothing and needs no daemon.")
@click.option("--record", type=click.Path(path_type=Path), help="Dry run that saves the model's answers in this folder.")
@click.option(
    "--replay", type=click.Path(path_type=Path), help="Dry run with saved answers; a request without an answer is written there."
)
@click.option("--print-prompt", is_flag=True, help="Print exactly what would be sent to a model, without calling one.")
@json_option
@pass_context
def daydream(
    context: Context,
    /,
    transcript: str | None,
    reader: str | None,
    dry: bool,
    record: Path | None,
    replay: Path | None,
    print_prompt: bool,
) -> None:
    """Read sessions now and keep what is worth remembering."""
    if record is not None and (replay is not None or print_prompt):
        raise InputError("--record requires a plain dry run.", fix="Omit --replay and --print-prompt.")
    if print_prompt:
        _print_prompts(context, transcript, replay)
        return
    if dry or record or replay:
        _dry_run(context, transcript, reader, record, replay)
        return
    if reader:
        raise InputError("--reader requires a dry run.", fix="Set 'reader' in config.toml to change it permanently.")
    context.call("daydream", transcript=transcript)
    result = _wait_for_daydreams(context)
    if not context.show(result):
        context.output.line(f"done; {len(result['failing'])} failing")


def _named(transcript: str | None) -> Path:
    if transcript is None:
        raise InputError("--transcript FILE is required.", fix="Give the path of a session's .jsonl file.")
    return Path(transcript)


def _print_prompts(context: Context, /, transcript: str | None, replay: Path | None) -> None:
    """Print the requests. In a replay, stop at the first request without an answer, since later requests depend on it."""
    from memoryd.daydream.model_reader import print_prompt as as_text
    from memoryd.daydream.pipeline import requests
    from memoryd.daydream.readers import make_extractor
    from memoryd.llm import UnansweredError, request_id

    path, settings = _named(transcript), with_flags(context.settings, reader=ENDPOINT)
    reader = make_extractor(settings, replay=replay) if replay else None
    found: list[list[Message]] = []
    try:
        for messages in requests(path, settings, SystemClock().now(), reader):
            found.append(messages)
    except UnansweredError:
        pass  # The last request printed is the one without an answer.
    texts = [as_text(messages) for messages in found]
    if context.show({"requests": texts, "ids": [request_id(messages) for messages in found]}):
        return
    for number, request in enumerate(texts, 1):
        context.output.line(f"=== request {number} of {len(texts)} ===", "bold")
        context.output.line(request)
    if not texts:
        context.output.line("Nothing would be sent.")


def _dry_run(context: Context, /, transcript: str | None, reader: str | None, record: Path | None, replay: Path | None) -> None:
    from memoryd.daydream.pipeline import dry_run
    from memoryd.daydream.readers import make_extractor
    from memoryd.embed import make_embedder

    path, settings = _named(transcript), with_flags(context.settings, reader=reader)
    embedder = make_embedder(settings) if settings.rank != "bm25" else None
    chosen = make_extractor(settings, record=record, replay=replay, embedder=embedder)
    result = dry_run(path, chosen, settings, SystemClock().now())
    if context.show(result):
        return
    for candidate in result["candidates"]:
        context.output.line(f"{candidate['kind']}/{candidate['polarity']}  {candidate['content']}")
        context.output.line(f"    lines {candidate['evidence']['lines']}: {candidate['reason']}", "dim")
    if result["handoff"]:
        context.output.line(f"handoff: {result['handoff']}")
    context.output.line(f"{len(result['candidates'])} candidates; skipped {result['skipped']}", "dim")


def _wait_for_daydreams(context: Context, /) -> dict[str, Any]:
    _follow(context, "day dreams", lambda: int(context.call("jobs")["waiting"]))
    return context.call("jobs")


def _follow(context: Context, title: str, waiting: Callable[[], int]) -> None:
    """Show progress until no jobs are pending."""
    with context.output.progress() as progress:
        most = left = waiting()
        task = progress.add_task(title, total=max(1, most))
        while left:
            time.sleep(POLL_SECONDS)
            left = waiting()
            most = max(most, left)
            progress.update(task, total=most, completed=most - left)


def _write_keys(context: Context) -> None:
    """Write keys batch by batch, so that an interruption loses at most one batch."""
    total: dict[str, Any] = {"written": 0, "left": 0, "stopped": "", "next": ""}
    with context.output.progress() as progress:
        task = progress.add_task("keys", total=None)
        while True:
            done = context.call("write_keys", timeout=LONG, after=total["next"])
            total = done | {"written": total["written"] + done["written"]}
            progress.update(task, total=total["written"] + done["left"], completed=total["written"])
            if not done["left"] or done["stopped"]:
                break
    if not context.show(total):
        context.output.line(f"{total['written']} memories got keys, {total['left']} are left. {total['stopped']}".rstrip())


@click.command()
@click.option("--wait/--no-wait", default=True, help="Wait for the vectors to be rebuilt as well.")
@click.option(
    "--keys",
    is_flag=True,
    help="Rebuild nothing; let the reader's model write keys (alternative wordings for search) for memories without any,"
    " within the daily budget. Can be interrupted and resumed.",
)
@json_option
@pass_context
def reindex(context: Context, /, wait: bool, keys: bool) -> None:
    """Rebuild every index from the Markdown files, or write keys for old memories."""
    if keys:
        _write_keys(context)
        return
    with context.output.progress() as progress:
        progress.add_task("files", total=None)
        result = context.call("reindex", timeout=LONG)
    if wait:
        _follow(context, "vectors", lambda: int(context.call("memory_status")["index"]["waiting_for_vectors"]))
        result["waiting"] = 0
    if not context.show(result):
        context.output.line(f"{result['memories']} memories indexed, {len(result['broken'])} broken files")


@click.command()
@takes(admin.log, "session", "limit")
@json_option
@pass_context
def log(context: Context, /, session: str | None, limit: int) -> None:
    """Show what day dreams did, and the last lines of the daemon's log."""
    result = context.call("log", session=session, limit=limit)
    if context.show(result):
        return
    rows = [
        (r["at"][:19], r["session"][:8], r["turns"], r["kept"], r["known"], r["extractor"], r["error"][:80])
        for r in result["runs"]
    ]
    context.output.table(("when", "session", "turns", "kept", "known", "reader", "error"), rows)
    for line in result["daemon_log"]:
        context.output.line(line, "dim")


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path), required=False)
@click.option("--claude-memory", is_flag=True, help="Claude Code's own MEMORY.md folders.")
@click.option("--transcripts", is_flag=True, help="Past sessions of all clients; resumes where it was stopped.")
@click.option("--client", metavar="NAME", help="With --transcripts: only those of this client.")
@click.option("--from", "tool", type=click.Choice(transfer.FORMAT_NAMES), help="The tool whose memories these are.")
@click.option("--project", help="With memories of another tool: give all of them to this project.")
@click.option("--dry-run", "dry", is_flag=True, help="With memories of another tool: only count, and show examples.")
@json_option
@pass_context
def import_(
    context: Context,
    /,
    source: Path | None,
    claude_memory: bool,
    transcripts: bool,
    client: str | None,
    tool: str | None,
    project: str | None,
    dry: bool,
) -> None:
    """Import an export, the memories of another tool, Claude Code's own memory, or past sessions.

    SOURCE is a .tar.gz or .jsonl file that 'memoryd export' wrote; a file or folder of another tool, which is recognised or named
    with --from; or, with --claude-memory and --transcripts, Claude Code's projects folder (default ~/.claude/projects).
    With --transcripts, it may also be the log of one session.
    """
    if client is not None and not transcripts:
        raise InputError("import: --client requires --transcripts.", fix="Add it, or leave --client out.")
    if tool and (claude_memory or transcripts):
        raise InputError("import: --from can't be combined with --claude-memory or --transcripts.", fix="Use two commands.")
    if tool or not (claude_memory or transcripts or source is None or source.name.endswith(EXPORTS)):
        _import_foreign(context, source, tool, project, dry)
        return
    if dry or project is not None:
        raise InputError("import: --dry-run and --project require memories of another tool.", fix="Name the tool with --from.")
    if not (claude_memory or transcripts):
        if source is None:
            fix = "Name an export file, a tool with --from, or use --claude-memory or --transcripts."
            raise InputError("import: no source was given.", fix=fix)
        result = context.call("import_file", timeout=LONG, path=str(absolute(source)))
    else:
        result = _import_memory(context, source or Path(CLAUDE_PROJECTS)) if claude_memory else {}
        if transcripts:
            result |= _import_sessions(context, source, client, result.get("left_out", []))
    if not context.show(result):
        _show_import(context, result)
    refused = not (claude_memory or transcripts) and (result["broken"] or result["left_out"])
    click.get_current_context().exit(1 if refused else 0)


def _import_foreign(context: Context, source: Path | None, tool: str | None, project: str | None, dry: bool) -> None:
    from memoryd.clients.base import this_system
    from memoryd.transfer.foreign import format_named, usual_place

    place = source.expanduser() if source else usual_place(format_named(tool or ""), this_system(), absolute(""))
    options = {"format": tool, "project": project, "dry_run": dry or None}
    result = context.call("import_foreign", timeout=LONG, source=str(absolute(place)), **options)
    if context.show(result):
        return
    out = context.output
    verb = "would be new" if dry else "new"
    out.line(f"{result['new']} {verb}, {result['known']} already known, {result['forgotten']} stay forgotten", "bold")
    out.table(("", ""), [*result["kinds"].items(), *((f"of {name}", n) for name, n in result["projects"].items())])
    for text in result["sample"] if dry else ():
        out.line(f"- {text}", "dim")
    if result["secrets"]:
        out.line(f"Secrets were removed from {result['secrets']} of them.")
    for file in result["rules_files"]:
        out.line(f"{file}: sessions are not given its statements again, because the client already loads the file.")
    for entry in result["left_out"]:
        out.line(f"left out: {entry['path']}: {entry['reason']}")
    if result["left_out_more"]:
        out.line(f"… and {result['left_out_more']} more", "dim")
    if result["entry"]:
        out.line(f"undo: memoryd undo {result['entry']}", "dim")


def _show_import(context: Context, result: dict[str, Any]) -> None:
    left_out = result.get("left_out", [])
    if "broken" in result:
        kept, known = result["new"], result["known"] + result["different"]
        duplicates = sum("more than once" in entry["reason"] for entry in left_out)
        total = kept + known + result["broken"] + duplicates
        context.output.line(f"kept {kept} of {total}: {known} already known, {total - kept - known} refused", "bold")
    context.output.table(("", ""), [(name, value) for name, value in result.items() if name != "left_out"])
    for entry in left_out:
        context.output.line(f"left out: {entry['path']}: {entry['reason']}")


def _import_memory(context: Context, folder: Path) -> dict[str, Any]:
    return context.call("import_claude_memory", timeout=LONG, folder=str(absolute(folder)))


def _import_sessions(context: Context, folder: Path | None, client: str | None, left_out: list[Any]) -> dict[str, Any]:
    """Queue the sessions in a Claude Code folder, of one client, or of all clients, and wait for them."""
    if folder is not None:
        wanted = [{"folder": str(absolute(folder))}]
    else:
        wanted = [{"client": name} for name in ([known.name for known in CLIENTS] if client is None else [client])]
    queued = [context.call("import_transcripts", timeout=LONG, **where) for where in wanted]
    failing = len(_wait_for_daydreams(context)["failing"])
    theirs = {log for entry in queued for log in entry["logs"]}
    rows = [row for row in context.call("sessions", limit=MAX_SESSIONS)["sessions"] if row["transcript"] in theirs]
    return {
        "left_out": [*left_out, *(entry for some in queued for entry in some["left_out"])],
        "failing": failing,
        "queued": sum(entry["queued"] for entry in queued),
        "kept": sum(row["kept"] for row in rows),
        "turns": sum(row["turns"] for row in rows),
    }


@click.command()
@takes(transfer.export, target="path", project="project", force="force", form="form")
@json_option
@pass_context
def export(context: Context, /, target: str, **options: Any) -> None:
    """Export all memories to TARGET (.tar.gz or .jsonl), or with --as the most important ones to a client's Markdown file."""
    result = context.call("export", timeout=LONG, path=str(absolute(target)) if target else target, **options)
    if not context.show(result):
        left = f" ({result['left_out']} more did not fit or are not yours)" if result.get("left_out") else ""
        context.output.line(f"{result['memories']} memories{left}, {result['bytes']} bytes: {result['path']}")


@click.command()
@takes(transfer.migrate)
@json_option
@pass_context
def migrate(context: Context, /, target: str, **options: Any) -> None:
    """Copy all memories to TARGET: files, or the address of a Postgres database."""
    result = context.call("migrate", timeout=LONG, target=target, **options)
    if context.show(result):
        return
    context.output.line(f"{result['copied']} memories copied; {result['target']} now has {result['memories']}")
    if result["copied"]:
        context.output.line(f"To use it: memoryd config store {target}, then memoryd daemon --stop.")


def _switch(context: Context, name: str, options: dict[str, Any]) -> None:
    folder = options["folder"]
    given = [what for what in ("folder", "project", "session") if options[what] is not None]
    if len(given) > 1:
        raise InputError(f"{name}: give either a {' or a '.join(given)}.", fix="Use two commands for both.")
    if folder and not Path(folder).is_dir():
        raise InputError(
            f"There is no folder {os.path.relpath(folder)}.", fix="Check the path, or give a project by name: --project NAME"
        )
    result = context.call(name, **options)
    if not context.show(result):
        below = f", and for all below {result['folder']}" if result.get("folder") else ""
        context.output.line(f"memory is {result['memory']} for {result.get('project') or result['session']}{below}")


@click.command()
@takes(project_operations.off)
@json_option
@pass_context
def off(context: Context, /, **options: Any) -> None:
    """Switch memory off for a project (default: this folder's): nothing is read or injected.

    This also applies to all projects and folders below FOLDER, unless a nearer 'memoryd on' overrides it.
    """
    _switch(context, "off", options)


@click.command()
@takes(project_operations.on)
@json_option
@pass_context
def on(context: Context, /, **options: Any) -> None:
    """Switch memory on again. The nearest switch wins, so a project below a folder that is off can be on."""
    _switch(context, "on", options)


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def projects(ctx: click.Context, /) -> None:
    """List known projects."""
    context: Context = ctx.obj
    if ctx.invoked_subcommand is not None:
        return
    result = context.call("projects")
    if not context.show(result):
        rows = [(p["id"], p["name"], p["memories"], "off" if p["off"] else "on") for p in result["projects"]]
        context.output.table(("id", "name", "memories", "memory"), rows)


@projects.command()
@click.argument("project", metavar="OLD")
@click.argument("to", metavar="NEW")
@json_option
@pass_context
def move(context: Context, /, project: str, to: str) -> None:
    """Move the memories of project OLD to NEW, for example after moving a repository or changing its remote.

    NEW is a project or folder.
    """
    target = str(absolute(to)) if to and Path(to).expanduser().is_dir() else to
    result = context.call("move_project", timeout=LONG, project=project, to=target)
    if not context.show(result):
        twice = f"; {result['merged']} of them were duplicates and were merged" if result["merged"] else ""
        context.output.line(f"{result['moved']} memories of {result['from']} now belong to {result['project']}{twice}")


@projects.command()
@click.argument("project", metavar="OLD")
@click.argument("to", metavar="NEW")
@json_option
@click.pass_context
def link(ctx: click.Context, /, project: str, to: str) -> None:
    """Say that OLD, as another of your machines calls it, is the project or folder NEW here. Needed only without a common remote.

    The memories move to NEW as with 'projects move', and what your other machines add to OLD arrives in NEW.
    """
    ctx.invoke(move, project=project, to=to)


COMMANDS = (status, doctor, daydream, reindex, log, import_, export, migrate, off, on, projects)
