"""Operations that export and import memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from memoryd.api.parameters import choice, flag, path, request, text
from memoryd.api.registry import Caller, operation
from memoryd.core.errors import InputError
from memoryd.core.text import one_line, shorten
from memoryd.core.types import ExportForm

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.transfer.foreign import Format

# The names of memoryd.transfer.foreign.FORMATS, which is slow to import.
FORMAT_NAMES = ("claude-mem", "codex", "gemini", "cursor", "rules", "obsidian", "letta", "basic-memory", "mem0")


@request
class Export:
    """The target file and the memories to export."""

    path: str = path(required=True, argument=True, help="A .tar.gz or .jsonl file, or with --as a Markdown file.")
    project: str = text(help="Only this project. With --as, the default is the project of this folder.")
    force: bool = flag(help="Overwrite the file if it exists.")
    form: ExportForm | None = choice(
        ExportForm,
        flags=("--as",),
        person_only=True,
        help="Markdown that a client loads: a section of CLAUDE.md or AGENTS.md with what you said or confirmed,"
        " or Claude Code's own MEMORY.md.",
    )


class Exported(TypedDict):
    """The exported file. `left_out` is the number of memories that did not fit into a client's file."""

    path: str
    memories: int
    bytes: int
    left_out: NotRequired[int]


@operation(Export, Exported)
def export(runtime: Runtime, request: Export, caller: Caller) -> Exported:
    """Export everything to an archive or a JSON-lines file, or the most important memories to a client's Markdown file."""
    from memoryd.transfer import exporting

    if request.form is not None:
        return _export_markdown(runtime, request, caller, request.form)
    done = exporting.export(runtime.service, Path(request.path), project=request.project or None, force=request.force)
    return cast("Exported", done)


def _export_markdown(runtime: Runtime, request: Export, caller: Caller, form: ExportForm) -> Exported:
    from memoryd.transfer import exporting

    project = runtime.required_project(request.project, caller.cwd, "export")
    name = runtime.registry.known().get(project, project)
    target = Path(request.path)
    chosen = runtime.injector.governance(project, exporting.budget_of(form), caller.cwd, for_file=form is ExportForm.SECTION)
    done = exporting.export_markdown(chosen, target, form, f"Memory of {name}")
    if form is ExportForm.SECTION:
        runtime.injector.known_already.add({str(target): project}, "")
        runtime.refresh_answers()
    return cast("Exported", done)


@request
class Migrate:
    """The store to copy all memories to."""

    target: str = text(required=True, argument=True, help="files, or postgres://user@host/database.")
    prepare: bool = flag(help="Only create or update the tables of the database, as their owner.")
    dry_run: bool = flag(help="Only count.")


class Migrated(TypedDict):
    """The contents of the target, and the number of copied memories."""

    target: str
    memories: int
    copied: int


@operation(Migrate, Migrated, person_only=True)
def migrate(runtime: Runtime, request: Migrate, caller: Caller) -> Migrated:
    """Copy all memories to another store. Set `store` to use it afterwards."""
    from memoryd.transfer import migrating

    options = {"prepare": request.prepare, "dry_run": request.dry_run}
    done = migrating.migrate(runtime.service, runtime.started, request.target, **options)
    return cast("Migrated", done)


@request
class ImportFile:
    """The file to import."""

    path: str = path(required=True, help="A file that `export` wrote.")


@request
class ImportFolder:
    """A folder of Claude Code's projects."""

    folder: str = path(required=True, help="The projects folder.")


class Imported(TypedDict):
    """The number of imported memories, and what was left out."""

    left_out: NotRequired[list[dict[str, str]]]


@request
class ImportForeign:
    """Memories of another tool."""

    source: str = path(required=True, help="The file or folder.")
    format: str = text(help=f"One of: {', '.join(FORMAT_NAMES)}. Default: recognised from the source.")
    project: str = text(help="Give everything to the project with this id or name.")
    dry_run: bool = flag(help="Only count, and show examples.")


class TakenInForeign(TypedDict):
    """The number of new memories, with the journal entry that undoes them, and what was not imported."""

    format: str
    source: str
    new: int
    known: int
    forgotten: int
    secrets: int
    kinds: dict[str, int]
    projects: dict[str, int]
    left_out: list[dict[str, str]]
    left_out_more: int
    sample: list[str]
    rules_files: list[str]
    entry: str


@operation(ImportForeign, TakenInForeign, person_only=True)
def import_foreign(runtime: Runtime, request: ImportForeign, caller: Caller) -> TakenInForeign:
    """Import the memories of another tool as one journal entry. They are data and never become rules."""
    from memoryd.transfer import importing

    source = Path(request.source)
    format = _format_of(request, source)
    project = runtime.required_project(request.project, caller.cwd, "import") if request.project else ""
    reader = importing.Importer(
        runtime.service, runtime.registry, runtime.state.ledger.deleted, runtime.is_off, runtime.clock.now()
    )
    found = reader.read(format, source, project)
    entry = ""
    if not request.dry_run:
        if found.items:
            entry = runtime.sweep.take_in(found.items, f"import from {format.title}").entry
        runtime.injector.known_already.add(found.rules_files, entry)
        runtime.refresh_answers()
    return {
        "format": format.name,
        "source": str(source),
        "new": len(found.items),
        "known": found.known,
        "forgotten": found.forgotten,
        "secrets": found.secrets,
        "kinds": found.by_kind(),
        "projects": found.by_project(),
        "left_out": found.left_out,
        "left_out_more": found.left_out_more,
        "sample": [shorten(one_line(item.content), 200) for item in found.items[: importing.MAX_SAMPLE]],
        "rules_files": sorted(found.rules_files),
        "entry": entry,
    }


def _format_of(request: ImportForeign, source: Path) -> Format:
    from memoryd.transfer import foreign

    if not source.exists():
        raise InputError(f"There is no {source}.", fix="Check the path.")
    format = foreign.format_named(request.format) if request.format else foreign.recognised(source)
    if format is None:
        what = f"{source} is of no format that memoryd recognises."
        raise InputError(what, fix=f"Name it with --from: {', '.join(foreign.NAMES)}.")
    return format


class QueuedTranscripts(TypedDict):
    """The queued sessions. Logs are not opened in folders where memory is off."""

    queued: int
    logs: list[str]
    left_out: list[dict[str, str]]


@operation(ImportFile, Imported, person_only=True)
def import_file(runtime: Runtime, request: ImportFile, caller: Caller) -> Imported:
    """Import an archive or JSON-lines file written by `export`."""
    from memoryd.transfer import importing

    return cast("Imported", importing.import_export(runtime.service, Path(request.path)))


@operation(ImportFolder, Imported, person_only=True)
def import_claude_memory(runtime: Runtime, request: ImportFolder, caller: Caller) -> Imported:
    """Import Claude Code's own MEMORY.md folders."""
    from memoryd.transfer import importing

    done = importing.import_claude_memory(runtime.service, runtime.registry, Path(request.folder), runtime.clock)
    return cast("Imported", done)


@request
class PastSessions:
    """The location of past sessions."""

    folder: str = path(help="Claude Code's projects folder; default: the logs of the client.")
    client: str = text(help="The name of the client, as in 'memoryd connect'; default: claude-code.")


@operation(PastSessions, QueuedTranscripts, person_only=True)
def import_transcripts(runtime: Runtime, request: PastSessions, caller: Caller) -> QueuedTranscripts:
    """Queue past sessions for the day dream. Text that was already read is skipped."""
    from memoryd.clients.registry import client_of_log
    from memoryd.transfer import importing

    folder = Path(request.folder) if request.folder else None
    found = importing.find_transcripts(folder) if folder else importing.past_transcripts(request.client)
    off = {str(file): reason for file, reason in _off(runtime, found)}
    wanted = [file for file in found if str(file) not in off]
    for file in wanted:
        runtime.state.enqueue(str(file), client_of_log(file).session_of(file), "", "import")
    left_out = [{"path": path, "reason": reason} for path, reason in off.items()]
    return {"queued": len(wanted), "logs": [str(file) for file in wanted], "left_out": left_out}


def _off(runtime: Runtime, files: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each log that must not be read because memory is off for its session or folder, with the reason.

    The client names a log's folder after the project's folder. If the names do not match, only the working folder is
    read from the log.
    """
    from memoryd.clients.registry import client_of_log
    from memoryd.daydream.transcript import first_folder
    from memoryd.transfer.importing import slug_of

    switches = runtime.state.switches
    if not switches.any_off() and not runtime.settings.exclude:
        return
    closed = [*switches.folders_off(), *(str(Path(entry).expanduser()) for entry in runtime.settings.exclude)]
    closed += [folder for project in switches.projects_off() for folder in runtime.registry.folders(project)]
    names = {slug_of(Path(folder)) for folder in closed}
    for file in files:
        record = runtime.state.session(client_of_log(file).session_of(file))
        if record is not None and record.off:
            yield file, "memory is off for this session"
        elif file.parent.name in names:
            yield file, "memory is off there"
        elif (folder := first_folder(str(file))) and runtime.switched(folder)["memory"] == "off":
            yield file, f"memory is off there: {runtime.switched(folder)['why']}"
