"""Operations that export and import memories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from memoryd.api.parameters import flag, path, request, text
from memoryd.api.registry import Caller, operation

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime


@request
class Export:
    """The target file, and what to export."""

    path: str = path(required=True, argument=True, help="A .tar.gz or .jsonl file.")
    project: str = text(help="Only this project.")
    force: bool = flag(help="Overwrite the file if it exists.")


class Exported(TypedDict):
    """The exported file."""

    path: str
    memories: int
    bytes: int


@operation(Export, Exported)
def export(runtime: Runtime, request: Export, caller: Caller) -> Exported:
    """Export everything to an archive or a JSON-lines file."""
    from memoryd.transfer import exporting

    done = exporting.export(runtime.service, Path(request.path), project=request.project or None, force=request.force)
    return cast("Exported", done)


@request
class ImportFile:
    """The file to import."""

    path: str = path(required=True, help="A file that `export` wrote.")


@request
class ImportFolder:
    """A folder of Claude Code's projects."""

    folder: str = path(required=True, help="The projects folder.")


class Imported(TypedDict):
    """Numbers of imported memories, and what was left out."""

    left_out: NotRequired[list[dict[str, str]]]


class QueuedTranscripts(TypedDict):
    """Queued sessions."""

    queued: int
    sessions: list[str]


@operation(ImportFile, Imported, person_only=True)
def import_file(runtime: Runtime, request: ImportFile, caller: Caller) -> Imported:
    """Import an archive or a JSON-lines file that `export` wrote."""
    from memoryd.transfer import importing

    return cast("Imported", importing.import_export(runtime.service, Path(request.path)))


@operation(ImportFolder, Imported, person_only=True)
def import_claude_memory(runtime: Runtime, request: ImportFolder, caller: Caller) -> Imported:
    """Import Claude Code's own MEMORY.md folders."""
    from memoryd.transfer import importing

    done = importing.import_claude_memory(runtime.service, runtime.registry, Path(request.folder), runtime.clock)
    return cast("Imported", done)


@operation(ImportFolder, QueuedTranscripts, person_only=True)
def import_transcripts(runtime: Runtime, request: ImportFolder, caller: Caller) -> QueuedTranscripts:
    """Queue past sessions for the day dream; text that was already read is not read again."""
    from memoryd.transfer import importing

    found = importing.find_transcripts(Path(request.folder))
    for file in found:
        runtime.state.enqueue(str(file), file.stem, "", "import")
    return {"queued": len(found), "sessions": [file.stem for file in found]}
