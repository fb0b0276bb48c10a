"""Commands for searching and changing memories."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from memoryd.api import memories, views
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context
from memoryd.core.codec import is_id
from memoryd.core.errors import BrokenFileError, InputError, MemorydError
from memoryd.core.files import write_atomic
from memoryd.core.types import Status


@click.command()
@takes(memories.recall, "query", "k", "project", "kinds", "sources", "tags", "session", "status", "after", "before")
@takes(memories.recall, "as_of", "valid_at", "include_old", "backend")
@click.option("--explain", is_flag=True, help="Show the route and how each score is composed.")
@takes(memories.recall, "weak")
@json_option
@pass_context
def search(context: Context, /, explain: bool, **filters: Any) -> None:
    """Search for memories that answer a question."""
    result = context.call("recall", **filters)
    if context.show(result):
        return
    _handoffs(context, result.get("handoffs", []))
    context.output.memories(hit for hit in result["hits"] if not hit.get("unsure"))
    if unsure := [hit for hit in result["hits"] if hit.get("unsure")]:
        sure = len(unsure) < len(result["hits"])
        context.output.line("Possibly relevant as well:" if sure else "No confident answer; possibly relevant:", "dim")
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
@takes(memories.remember, "content", "kind", "polarity", "scope", "tags", "asked_as", "valid_from", "pinned", "project")
@json_option
@pass_context
def remember(context: Context, /, **fields: Any) -> None:
    """Store a statement."""
    result = context.call("remember", **fields)
    if not context.show(result):
        context.output.line(f"{result['status']}  {result['id']}  {result['path']}")
        _show_secrets(context, result)


def _show_secrets(context: Context, /, result: dict[str, Any]) -> None:
    if secrets := result.get("left_out_secrets"):
        context.output.line(secrets, "yellow")


@click.command()
@click.argument("id")
@click.option("--evidence", is_flag=True, help="Also show the surrounding turns of the session's log.")
@json_option
@pass_context
def show(context: Context, /, id: str, evidence: bool) -> None:
    """Print a memory with all its details."""
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
@takes(memories.update_memory, "content", "kind", "polarity", "scope", "tags", "asked_as", "confidence", "valid_to", "pinned")
@json_option
@pass_context
def edit(context: Context, /, id: str, **changes: Any) -> None:
    """Change a memory, with options or in your editor."""
    if any(value not in (None, ()) for value in changes.values()):
        result = context.call("update_memory", id=id, **changes)
    else:
        result = edit_in_editor(context, id)
    if not context.show(result):
        context.output.memories([result["memory"]])
        _show_secrets(context, result)


def edit_in_editor(context: Context, id: str) -> dict[str, Any]:
    """Open the memory's file in $EDITOR and return the updated memory. Raises InputError if the result can't be parsed."""
    path = Path(context.call("get_memory", id=id)["path"])
    before = path.read_bytes()
    after = _edited(context, path, before)
    if after == before:
        return context.call("get_memory", id=id)
    if path.read_bytes() != before:
        raise InputError(f"{id} was changed while you edited it.", fix="Run the command again; your text was not saved.")
    write_atomic(path, after)
    context.call("sync")
    return context.call("get_memory", id=id)


def _edited(context: Context, path: Path, before: bytes) -> bytes:
    """Let the user edit a copy of the file, and return its bytes. The memory is unchanged until they can be parsed."""
    with tempfile.TemporaryDirectory(prefix="memoryd-edit-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(before)
        while True:
            try:
                click.edit(filename=str(copy))
            except click.ClickException as error:
                raise InputError(f"{error.message}.", fix="The memory was not changed. Check $VISUAL or $EDITOR.") from error
            if not copy.is_file():
                raise InputError("The editor deleted the file.", fix="The memory was not changed. Check $VISUAL or $EDITOR.")
            after = copy.read_bytes()
            problem = _problem(path, before, after)
            if not problem:
                return after
            if not _edit_again(context, problem):
                raise InputError(problem, fix="Run the command again. The memory is unchanged.")


def _problem(path: Path, before: bytes, after: bytes) -> str:
    """Return why the edited bytes can't replace the memory, or an empty string if they can."""
    from memoryd.stores import memory_file  # Imported here because only this function needs it.

    try:
        now = memory_file.read(after, str(path), path.name, 0).item.id
    except BrokenFileError as error:
        return str(error)
    except memory_file.EmptyNoteError:
        return "The memory has no text."
    try:
        was = memory_file.read(before, str(path), path.name, 0).item.id
    except (BrokenFileError, memory_file.EmptyNoteError):
        return ""  # The original could not be parsed either and is being repaired.
    return "" if now == was else f"The id was {was} and must not change."


def _edit_again(context: Context, problem: str) -> bool:
    if not context.output.is_interactive:
        return False
    context.output.note(problem)
    return click.confirm("Open the editor again?", default=True, err=True)


@click.command()
@click.argument("ids", nargs=-1)
@takes(memories.forget, "purge")
@click.option("--project", help="All memories of the project with this id or name; asks for confirmation.")
@click.option("--yes", is_flag=True, help="With --project: don't ask for confirmation.")
@json_option
@pass_context
def forget(context: Context, /, ids: tuple[str, ...], purge: bool | None, project: str | None, yes: bool) -> None:
    """Hide memories permanently and refuse copies of them."""
    if project is not None:
        _forget_project(context, project, yes, alone=not ids and not purge)
        return
    if not ids:
        raise InputError("forget: no memory was given.", fix="Give the ids of memories, or use --project.")
    results: list[dict[str, Any]] = []
    for id in dict.fromkeys(ids):
        if not any(id in result.get("earlier_wordings", ()) for result in results):  # Otherwise it is already purged.
            results.append(_forgotten(context, id, purge, results))
    if not context.show({"forgotten": results}):
        for result in results:
            back = "" if purge else f"  (undo: memoryd restore {result['id']})"
            context.output.line(f"{result['status']}  {result['id']}{back}")
            if older := result.get("earlier_wordings"):
                context.output.line(f"with its earlier wordings: {', '.join(older)}", "dim")


def _forgotten(context: Context, /, id: str, purge: bool | None, before: list[dict[str, Any]]) -> dict[str, Any]:
    """Forget one memory. If that fails, the error also says what was forgotten before."""
    try:
        return context.call("forget", id=id, purge=purge)
    except MemorydError as error:
        if not before:
            raise
        done = ", ".join(result["id"] for result in before)
        raise type(error)(f"{error.message} Already forgotten: {done}.", fix=error.fix) from error


def _typed(question: str) -> str:
    try:
        return str(click.prompt(question, default="", show_default=False, err=True))
    except click.Abort:  # There is no terminal.
        return ""


def _forget_project(context: Context, /, project: str, yes: bool, *, alone: bool) -> None:
    if not alone:
        raise InputError("--project can't be combined with ids or --purge.", fix="Omit them.")
    found = context.call("forget_project", project=project, dry_run=True)
    if not yes and _typed(f"Hide {found['memories']} memories of {found['name']}? Type its name") != found["name"]:
        raise InputError("The name does not match; nothing was forgotten.", fix="Repeat the command, or use --yes.")
    result = context.call("forget_project", timeout=3600.0, project=found["project"])
    if not context.show(result):
        context.output.line(f"{result['memories']} memories of {result['name']} are forgotten", "bold")
        if result["entry"]:
            context.output.line(f"undo: memoryd undo {result['entry']}", "dim")


@click.command("list")
@takes(memories.list_memories, "project", "kinds", "tags", "sources", "status", "session", "after", "before", "as_of")
@takes(memories.list_memories, "limit", "offset", "cursor")
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
@takes(memories.related, "depth", "types", "k", "project")
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
        context.output.line("Nothing is linked to it.")


@click.command()
@takes(memories.timeline, "topic", "project", "after", "before", "k")
@json_option
@pass_context
def timeline(context: Context, /, **options: Any) -> None:
    """Show what was learnt, replaced and forgotten, newest first."""
    result = context.call("timeline", **options)
    if not context.show(result):
        rows = [(event["at"][:16], event["change"], event["id"], event["content"]) for event in result["events"]]
        context.output.table(("when", "what", "id", "memory"), rows)
        if not rows:
            context.output.line("Nothing has changed yet." if not options["topic"] else "Nothing relevant.")


@click.command()
@takes(memories.governance, "project", "budget")
@json_option
@pass_context
def governance(context: Context, /, **options: Any) -> None:
    """Show what the project's next session receives at its start."""
    result = context.call("governance", **options)
    if context.show(result):
        return
    context.output.line(result["text"] or "Nothing yet.")
    context.output.line(f"{result['tokens']} tokens, {result['left_out']} memories left out", "dim")


@click.command()
@takes(views.overview, "project")
@json_option
@pass_context
def overview(context: Context, /, project: str | None) -> None:
    """Show the number of memories by kind and status."""
    result = context.call("overview", project=project)
    if context.show(result):
        return
    columns = ("kind", *(status.value for status in Status), "all")
    total = {"kind": "all", **result["statuses"], "all": result["all"]}
    context.output.table(columns, [[row.get(name, 0) for name in columns] for row in (*result["kinds"], total)])


@click.command()
@takes(memories.handoff, "project")
@json_option
@pass_context
def handoff(context: Context, /, project: str | None) -> None:
    """Show where the project's latest sessions left off: what was requested, done and left open."""
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


COMMANDS = (overview, search, remember, show, edit, forget, list_, related, timeline, governance, handoff)
