"""Commands that find and change memories."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from memoryd.cli.root import Context, json_option, pass_context
from memoryd.codec import is_id
from memoryd.errors import BrokenFileError, InputError
from memoryd.files import write_atomic
from memoryd.stores import memory_file
from memoryd.types import Backend, Kind, LinkType, Polarity, Scope, Source, Status

KINDS = click.Choice([kind.value for kind in Kind])
SCOPES = click.Choice([scope.value for scope in Scope])
project_option = click.option("--project", help="Project id or name; 'all' for every project (default: this folder's).")
kinds_option = click.option("--kind", "kinds", multiple=True, type=KINDS, help="Only this kind; may be repeated.")
SOURCES = click.Choice([source.value for source in Source])
sources_option = click.option("--source", "sources", multiple=True, type=SOURCES, help="Only from this source; may be repeated.")
status_option = click.option("--status", type=click.Choice([*(s.value for s in Status), "all"]), help="Default: active.")
tags_option = click.option("--tag", "tags", multiple=True, help="Only with this tag; may be repeated.")
after_option = click.option("--after", help="Recorded at or after this time.")
before_option = click.option("--before", help="Recorded before this time.")


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("-k", default=8, show_default=True, type=click.IntRange(1, 50), help="At most this many.")
@project_option
@kinds_option
@sources_option
@tags_option
@click.option("--session", help="Only from this session.")
@status_option
@after_option
@before_option
@click.option("--as-of", help="What memory held at that time.")
@click.option("--valid-at", help="What was true at that time.")
@click.option("--old", "include_old", is_flag=True, help="Superseded memories too.")
@click.option("--backend", type=click.Choice([b.value for b in Backend]), help="Overrule the router.")
@click.option("--explain", is_flag=True, help="Say which way it was found and how each score came about.")
@click.option("--weak", is_flag=True, default=None, help="Also what lies below the floor.")
@json_option
@pass_context
def search(context: Context, /, query: tuple[str, ...], explain: bool, **filters: Any) -> None:
    """Find the memories that answer a question."""
    result = context.call("recall", query=" ".join(query), **filters)
    if context.show(result):
        return
    _handoffs(context, result.get("handoffs", []))
    context.output.memories(hit for hit in result["hits"] if not hit.get("unsure"))
    if unsure := [hit for hit in result["hits"] if hit.get("unsure")]:
        sure = len(unsure) < len(result["hits"])
        context.output.line("These may bear on it, too:" if sure else "Nothing sure; these may bear on it:", "dim")
        context.output.memories(unsure)
    elif not result["hits"] and not result.get("handoffs"):
        context.output.line("Nothing relevant.")
    if result.get("weak"):
        context.output.line("Below the floor:", "dim")
        context.output.memories(result["weak"])
    if explain:
        route = result["route"]
        context.output.line(f"route: {route['backend']} by rule {route['rule']}: {route['reason']}", "dim")
        for hit in [*result["hits"], *result.get("weak", [])]:
            parts = "  ".join(f"{name}={value:.3f}" for name, value in hit["parts"].items())
            context.output.line(f"{hit['id']}  score={hit['score']:.3f}  {parts}", "dim")
        context.output.line(f"{result['below_floor']} below the floor", "dim")


@click.command()
@click.argument("content", nargs=-1, required=True)
@click.option("--kind", type=KINDS, default=Kind.NOTE.value, show_default=True)
@click.option("--polarity", type=click.Choice([p.value for p in Polarity]), help="Show it under know, do or don't.")
@click.option("--scope", type=SCOPES, help="For you everywhere, or for the project (default).")
@click.option("--tag", "tags", multiple=True, help="May be repeated.")
@click.option("--pin", "pinned", is_flag=True, default=None, help="Never decayed, merged or removed.")
@project_option
@json_option
@pass_context
def remember(context: Context, /, content: tuple[str, ...], **fields: Any) -> None:
    """Keep a statement."""
    result = context.call("remember", content=" ".join(content), **fields)
    if not context.show(result):
        context.output.line(f"{result['status']}  {result['id']}  {result['path']}")
        _tell_secrets(context, result)


def _tell_secrets(context: Context, /, result: dict[str, Any]) -> None:
    if secrets := result.get("left_out_secrets"):
        context.output.line(secrets, "yellow")


@click.command()
@click.argument("id")
@click.option("--evidence", is_flag=True, help="Also what was said around it, from the session's log.")
@json_option
@pass_context
def show(context: Context, /, id: str, evidence: bool) -> None:
    """Print a memory with everything known about it."""
    result = context.call("get_memory", id=id)
    if evidence:
        result["evidence"] = context.call("evidence", id=id)
    if context.show(result):
        return
    memory = result["memory"]
    context.output.line(memory.pop("content"))
    context.output.line()
    context.output.table(("field", "value"), [(name, value) for name, value in memory.items() if value not in (None, "", [])])
    context.output.line(result["path"], "dim")
    if evidence:
        _evidence(context, result["evidence"])


def _evidence(context: Context, /, found: dict[str, Any]) -> None:
    context.output.line(found["reason"])
    for turn in found["turns"]:
        mark = ">" if turn["meant"] else " "
        context.output.line(f"{mark} {turn['line']:>6}  {turn['who']}  {turn['tool'] or turn['text']} {turn['detail']}".rstrip())


@click.command()
@click.argument("id")
@click.option("--content", help="New wording; without it the file opens in $EDITOR.")
@click.option("--kind", type=KINDS)
@click.option("--polarity", type=click.Choice([p.value for p in Polarity]))
@click.option("--scope", type=SCOPES)
@click.option("--tag", "tags", multiple=True, help="Replaces all tags; may be repeated.")
@click.option("--pin/--unpin", "pinned", default=None)
@json_option
@pass_context
def edit(context: Context, /, id: str, **changes: Any) -> None:
    """Change a memory: by options, or in your editor."""
    if any(value not in (None, ()) for value in changes.values()):
        result = context.call("update_memory", id=id, **changes)
    else:
        result = edit_in_editor(context, id)
    if not context.show(result):
        context.output.memories([result["memory"]])
        _tell_secrets(context, result)


def edit_in_editor(context: Context, id: str) -> dict[str, Any]:
    """Open the memory's file in $EDITOR; the memory as it is afterwards. Raises InputError for a file that can't be read."""
    path = Path(context.call("get_memory", id=id)["path"])
    before = path.read_bytes()
    after = _edited(context, path, before)
    if after == before:
        return context.call("get_memory", id=id)
    if path.read_bytes() != before:
        raise InputError(f"{id} was changed while you edited it.", fix="Run the command again; your text was not written.")
    write_atomic(path, after)
    context.call("sync")
    return context.call("get_memory", id=id)


def _edited(context: Context, path: Path, before: bytes) -> bytes:
    """The file's bytes after the editor, on a copy: until they can be read, the memory stays what it is."""
    with tempfile.TemporaryDirectory(prefix="memoryd-edit-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(before)
        while True:
            click.edit(filename=str(copy))
            after = copy.read_bytes() if copy.is_file() else before  # an editor that removed its copy changed nothing
            problem = _problem(path, before, after)
            if not problem:
                return after
            if not _edit_again(context, problem):
                raise InputError(problem, fix="Run the command again. The memory is as it was.")


def _problem(path: Path, before: bytes, after: bytes) -> str:
    """What stands against putting the edited bytes in the memory's place; empty when nothing does."""
    try:
        now = memory_file.read(after, str(path), path.name, 0).item.id
    except BrokenFileError as error:
        return str(error)
    except memory_file.EmptyNoteError:
        return "The memory has no text."
    try:
        was = memory_file.read(before, str(path), path.name, 0).item.id
    except (BrokenFileError, memory_file.EmptyNoteError):
        return ""  # it is just being repaired
    return "" if now == was else f"The id was {was} and must stay."


def _edit_again(context: Context, problem: str) -> bool:
    if not context.output.is_interactive:
        return False
    context.output.note(problem)
    return click.confirm("Open the editor again?", default=True, err=True)


@click.command()
@click.argument("ids", nargs=-1)
@click.option("--purge", is_flag=True, help="Remove the file for good instead of hiding it.")
@click.option("--project", help="All memories of the project with this id or name; asks for its name.")
@click.option("--yes", is_flag=True, help="With --project: don't ask.")
@json_option
@pass_context
def forget(context: Context, /, ids: tuple[str, ...], purge: bool, project: str | None, yes: bool) -> None:
    """Hide memories for good; copies of them are refused from now on."""
    if project:
        _forget_project(context, project, yes, alone=not ids and not purge)
        return
    if not ids:
        raise InputError("forget: what?", fix="Name memories by their ids, or give --project.")
    results = [context.call("forget", id=id, purge=purge or None) for id in ids]
    if not context.show({"forgotten": results}):
        for result in results:
            back = "" if purge else f"  (undo: memoryd restore {result['id']})"
            context.output.line(f"{result['status']}  {result['id']}{back}")
            if older := result.get("earlier_wordings"):
                context.output.line(f"with its earlier wordings: {', '.join(older)}", "dim")


def _typed(question: str) -> str:
    try:
        return str(click.prompt(question, default="", show_default=False, err=True))
    except click.Abort:  # nobody is there to ask
        return ""


def _forget_project(context: Context, /, project: str, yes: bool, *, alone: bool) -> None:
    if not alone:
        raise InputError("--project goes with neither ids nor --purge.", fix="Leave them out.")
    found = context.call("forget_project", project=project, dry_run=True)
    if not yes and _typed(f"Hide {found['memories']} memories of {found['name']}? Type its name") != found["name"]:
        raise InputError("Its name was not typed: nothing was forgotten.", fix="Repeat the command, or give --yes.")
    result = context.call("forget_project", timeout=3600.0, project=found["project"])
    if not context.show(result):
        context.output.line(f"{result['memories']} memories of {result['name']} are forgotten", "bold")
        if result["entry"]:
            context.output.line(f"bring them back: memoryd undo {result['entry']}", "dim")


@click.command()
@click.argument("id")
@json_option
@pass_context
def restore(context: Context, /, id: str) -> None:
    """Bring back a forgotten, superseded or deleted memory."""
    result = context.call("restore", id=id)
    if not context.show(result):
        context.output.memories([result["memory"]])


@click.command("list")
@project_option
@kinds_option
@tags_option
@sources_option
@status_option
@click.option("--session", help="Only from this session.")
@after_option
@before_option
@click.option("--as-of", help="What memory held at that time.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@click.option("--offset", default=0, type=click.IntRange(0))
@click.option("--cursor", help="Go on behind the page that gave this as `next` (see --json); as quick on every page.")
@json_option
@pass_context
def list_(context: Context, /, **filters: Any) -> None:
    """List memories, newest first."""
    result = context.call("list_memories", **filters)
    if context.show(result):
        return
    context.output.memories(result["memories"])
    context.output.line(f"{len(result['memories'])} of {result['total']}", "dim")


@click.command()
@click.argument("id_or_entity")
@click.option("--depth", default=2, show_default=True, type=click.IntRange(1, 4))
@click.option("--type", "types", multiple=True, type=click.Choice([t.value for t in LinkType]))
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 50))
@project_option
@json_option
@pass_context
def related(context: Context, /, id_or_entity: str, **options: Any) -> None:
    """Show what is linked with a memory, or with a file, command or name."""
    what = {"id" if is_id(id_or_entity) else "entity": id_or_entity}
    result = context.call("related", **{**options, **what})
    if context.show(result):
        return
    for entry in result["related"]:
        context.output.line(f"{entry['via']}  {' → '.join(entry['path'])}", "dim")
        context.output.memories([entry["memory"]])
    if not result["related"]:
        context.output.line("Nothing is linked with it.")


@click.command()
@click.argument("topic", nargs=-1)
@project_option
@after_option
@before_option
@click.option("-k", default=20, show_default=True, type=click.IntRange(1, 200))
@json_option
@pass_context
def timeline(context: Context, /, topic: tuple[str, ...], **options: Any) -> None:
    """Show what was learnt, replaced and forgotten, newest first."""
    result = context.call("timeline", topic=" ".join(topic) or None, **options)
    if not context.show(result):
        rows = [(event["at"][:16], event["change"], event["id"], event["content"]) for event in result["events"]]
        context.output.table(("when", "what", "id", "memory"), rows)


@click.command()
@project_option
@click.option("--budget", type=click.IntRange(0, 20_000), help="Token budget (default: the setting session_budget).")
@json_option
@pass_context
def governance(context: Context, /, **options: Any) -> None:
    """Show what the next session of this project is given at its start."""
    result = context.call("governance", **options)
    if context.show(result):
        return
    context.output.line(result["text"] or "Nothing yet.")
    context.output.line(f"{result['tokens']} tokens, {result['left_out']} memories left out", "dim")


@click.command()
@project_option
@json_option
@pass_context
def overview(context: Context, /, project: str | None) -> None:
    """Show how many memories there are, by kind and status."""
    result = context.call("overview", project=project)
    if context.show(result):
        return
    columns = ("kind", *(status.value for status in Status), "all")
    total = {"kind": "all", **result["statuses"], "all": result["all"]}
    context.output.table(columns, [[row.get(name, 0) for name in columns] for row in (*result["kinds"], total)])


@click.command()
@click.argument("id")
@click.argument("other")
@click.option("--content", help="Wording of the one that takes their place (default: that of the first).")
@json_option
@pass_context
def merge(context: Context, /, id: str, other: str, content: str | None) -> None:
    """Put one memory in the place of two that say the same; both stay readable."""
    result = context.call("merge", id=id, other=other, content=content)
    if not context.show(result):
        context.output.memories([result["memory"]])


@click.command()
@click.option("--project", help="Of this project (id or name) instead of this folder's.")
@json_option
@pass_context
def handoff(context: Context, /, project: str | None) -> None:
    """Say where the latest sessions of this project left off: what was asked, done and left open."""
    result = context.call("handoff", project=project)
    if context.show(result):
        return
    _handoffs(context, result["handoffs"])
    if not result["handoffs"]:
        context.output.line("No session of this project has ended yet.")


def _handoffs(context: Context, /, handoffs: list[dict[str, str]]) -> None:
    for entry in handoffs:
        context.output.line(f"{entry['at'][:16].replace('T', ' ')}  {entry['session'][:8]}", "dim")
        context.output.line(f"  {entry['text']}")


COMMANDS = (overview, search, remember, show, edit, merge, forget, restore, list_, related, timeline, governance, handoff)
