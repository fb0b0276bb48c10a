"""Import memories. Existing memories are never overwritten."""

from __future__ import annotations

import contextlib
import re
import stat
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

import orjson

from memoryd.clients.base import this_system
from memoryd.clients.claude_code import logs_below
from memoryd.clients.registry import CLAUDE_CODE, CLIENTS
from memoryd.core.codec import item_digest, item_from_dict
from memoryd.core.errors import BrokenFileError, InputError
from memoryd.core.files import open_regular
from memoryd.core.project import ProjectRegistry
from memoryd.core.protocols import Clock
from memoryd.core.text import normalise, shorten
from memoryd.core.types import Evidence, Kind, MemoryItem, Query, Scope, Source
from memoryd.daydream.redact import storable_text
from memoryd.service import Orchestrator
from memoryd.stores.front_matter import parse

BATCH = 500
SHOWN_LINES = 20
SHOWN_MEMBERS = 100
MAX_NAME_CHARACTERS = 200
INDEX_FILE = "MEMORY.md"
MAX_LINE = 4_000_000
MAX_FOLDERS = 20_000
_WORKTREES = "--claude-worktrees-"
_SLUG_BREAK = re.compile(r"[^A-Za-z0-9]")
_BULLET = re.compile(r"^\s*[-*+]\s+(?P<text>.+)$")
_LINK_ONLY = re.compile(r"^\[[^\]]*\]\((?P<target>[^)]+\.md)\)")
_KIND_OF_TYPE = {"user": Kind.PREFERENCE, "feedback": Kind.RULE, "project": Kind.FACT, "reference": Kind.FACT}


def import_export(service: Orchestrator, source: Path) -> dict[str, Any]:
    """Import an archive or JSON lines. Memories that exist already are kept unchanged, and counted if they differ.

    `left_out` names everything in the file that was not imported, with the reason.
    """
    counts: dict[str, Any] = {"new": 0, "known": 0, "different": 0, "broken": 0, "broken_lines": [], "left_out": []}
    batch: list[MemoryItem] = []
    seen: set[str] = set()
    for item in _read_export(source, counts):
        if item.id in seen:
            counts["left_out"].append({"path": item.id, "reason": "the file holds this id more than once; the first counts"})
            continue
        seen.add(item.id)
        held = service.get(item.id)
        if held is not None:
            counts["known" if item_digest(held) == item_digest(item) else "different"] += 1
            continue
        batch.append(item)
        if len(batch) >= BATCH:
            counts["new"] += len(service.write_many(batch))
            batch.clear()
    if batch:
        counts["new"] += len(service.write_many(batch))
    if counts["broken"] and not counts["new"] and not counts["known"] and not counts["different"]:
        raise InputError(
            f"{source} contains no memories{_first_problem(counts)}.",
            fix="Give a .tar.gz or .jsonl file that 'memoryd export' wrote.",
        )
    return counts


def _first_problem(counts: dict[str, Any]) -> str:
    if counts["broken_lines"]:
        return f"; the first invalid line is {counts['broken_lines'][0]}"
    return f": {counts['left_out'][0]['path']}: {counts['left_out'][0]['reason']}" if counts["left_out"] else ""


def _read_export(source: Path, counts: dict[str, Any]) -> Iterator[MemoryItem]:
    try:
        if not stat.S_ISREG(source.stat().st_mode):
            raise InputError(f"{source} is not a file.", fix="Give a .tar.gz or .jsonl file that 'memoryd export' wrote.")
        if source.name.endswith(".jsonl"):
            with source.open("rb") as stream:
                yield from _parse_items(_lines(stream, source), counts)
        elif source.name.endswith((".tar.gz", ".tgz")):
            with tarfile.open(source, "r:gz") as archive:
                yield from _parse_items(_archived_items(archive, counts), counts)
        else:
            raise InputError(f"{source.name}: unknown format.", fix="Give a .tar.gz or .jsonl file that 'memoryd export' wrote.")
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InputError(
            f"{source} can't be read: {error}", fix="Check the path; export again if the file is truncated."
        ) from error


def _lines(stream: IO[bytes], source: Path) -> Iterator[bytes]:
    """Yield the lines of a file. Raises InputError if a line is longer than any memory can be."""
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise InputError(
                f"{source}: line {number} is longer than {MAX_LINE // 1_000_000} MB.", fix="It is not a memoryd export."
            )
        yield line


def _archived_items(archive: tarfile.TarFile, counts: dict[str, Any]) -> Iterator[bytes]:
    """Yield the items of an archive. Members that can't be part of an export are listed in `left_out` and never extracted."""
    left_out: list[dict[str, str]] = counts["left_out"]
    for entry in archive:
        if reason := _why_not_taken(entry):
            if len(left_out) < SHOWN_MEMBERS:
                left_out.append({"path": entry.name[:MAX_NAME_CHARACTERS], "reason": reason})
            counts["broken"] += 1
        elif entry.name.startswith("items/"):
            stream = archive.extractfile(entry)
            if stream is not None:
                yield stream.read()


def _why_not_taken(entry: tarfile.TarInfo) -> str:
    """Return the reason why a member of an archive can't be part of an export, or an empty string."""
    name = entry.name.removeprefix("./")
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        return "its path points outside the archive"
    if entry.isdir():
        return ""
    if not entry.isfile():
        return "it is not a regular file"
    if entry.size > MAX_LINE:
        return f"it is larger than {MAX_LINE // 1_000_000} MB"
    if name == "manifest.json" or name.startswith(("items/", "memories/")):
        return ""
    return "no export holds such a file"


def _parse_items(lines: Any, counts: dict[str, Any]) -> Iterator[MemoryItem]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values = orjson.loads(line)
            item = item_from_dict(values) if isinstance(values, dict) else None
        except (orjson.JSONDecodeError, InputError):
            item = None
        if item is None or not item.id or not item.content.strip():
            counts["broken"] += 1
            counts["broken_lines"] += [number] if len(counts["broken_lines"]) < SHOWN_LINES else []
        else:
            yield item


def find_transcripts(folder: Path) -> list[Path]:
    """Return Claude Code's session logs under a folder, oldest first. Logs of subagents are excluded."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", fix="Give Claude Code's projects folder, e.g. ~/.claude/projects.")
    return logs_below(folder)


def past_transcripts(name: str) -> list[Path]:
    """Return the session logs of a client of this user, oldest first. Raises InputError for an unknown client."""
    client = next((client for client in CLIENTS if client.name == (name or CLAUDE_CODE.name)), None)
    if client is None:
        known = ", ".join(client.name for client in CLIENTS)
        raise InputError(f"memoryd knows no client {name!r}.", fix=f"Name one of: {known}.")
    try:
        return list(client.past_logs(this_system()))
    except OSError as error:
        raise InputError(f"The sessions of {client.title} can't be read: {error}", fix="Check the permissions.") from error


def import_claude_memory(service: Orchestrator, registry: ProjectRegistry, folder: Path, clock: Clock) -> dict[str, Any]:
    """Import `<projects>/<slug>/memory/` folders into the projects that they belong to.

    `left_out` lists each skipped folder and file with the reason.
    """
    counts = {"new": 0, "known": 0, "files": 0}
    left_out: list[dict[str, str]] = []
    for memory in sorted(folder.glob("*/memory")) or ([folder] if (folder / INDEX_FILE).is_file() else []):
        cwd = _cwd_of(memory.parent)
        if not cwd:
            reason = "its project's folder no longer exists and no session log names it"
            left_out.append({"path": str(memory), "reason": reason})
            continue
        project = registry.resolve(cwd).id
        for path in sorted(memory.rglob("*.md")):
            counts["files"] += 1
            items, reason = _read_file(path, memory, project, clock.now())
            if reason:
                left_out.append({"path": str(path), "reason": reason})
            for item in items:
                counts["new" if _keep(service, item) else "known"] += 1
    return {**counts, "left_out": left_out}


def _read_file(path: Path, memory: Path, project: str, now: datetime) -> tuple[list[MemoryItem], str]:
    """Return the statements of a file, or the reason why the file was skipped."""
    if path.is_symlink() or not path.resolve().is_relative_to(memory.resolve()):
        return [], "it is a link, and links are not followed"
    try:
        items = list(_items_of(path, project, now))
    except BrokenFileError as error:
        return [], error.message
    except OSError as error:
        return [], f"it can't be read: {error.strerror}"
    if not items:
        return [], "" if path.name == INDEX_FILE else "it has no text"
    return items, ""


def _cwd_of(project_folder: Path) -> str:
    """Return the working folder of a Claude Code project folder. It is read from the logs, since the folder's name is lossy."""
    for log in sorted(project_folder.glob("*.jsonl")):
        with contextlib.suppress(OSError), open_regular(log) as stream:
            for _ in range(50):
                line = stream.readline(MAX_LINE)
                if not line:
                    break
                if b'"cwd"' in line:
                    found = re.search(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")', line)
                    if found:
                        return str(orjson.loads(found[1]))
    return _folder_of_slug(project_folder.name)


def _folder_of_slug(slug: str) -> str:
    """Return the only folder that the client would encode as this name, or the repository of a deleted worktree.

    The client replaces every character except letters and digits with a hyphen, so folders are walked and compared.
    """
    found: list[Path] = []
    repository: list[Path] = []
    waiting = [Path("/")]
    for _ in range(MAX_FOLDERS):
        if not waiting:
            break
        folder = waiting.pop()
        name = slug_of(folder)
        if name == slug:
            found.append(folder)
        elif slug.startswith(f"{name}{_WORKTREES}"):
            repository.append(folder)
        if slug.startswith(name):
            waiting += _folders_in(folder, slug)
    for choices in (found, repository):
        if len(choices) == 1:
            return str(choices[0])
    return ""


def slug_of(folder: Path) -> str:
    """Return the name that the client gives a project's log folder."""
    return _SLUG_BREAK.sub("-", str(folder)) if folder != Path("/") else ""


def _folders_in(folder: Path, slug: str) -> list[Path]:
    try:
        inside = [entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink()]
    except OSError:
        return []
    return [entry for entry in inside if slug == slug_of(entry) or slug.startswith(f"{slug_of(entry)}-")]


def _items_of(path: Path, project: str, now: datetime) -> Iterator[MemoryItem]:
    document = parse(path.read_bytes(), str(path))
    values, body = document.values, document.content
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    metadata = values.get("metadata")
    type_name = str(values.get("type") or (metadata.get("type") if isinstance(metadata, dict) else "") or "")
    kind = _KIND_OF_TYPE.get(type_name, Kind.NOTE)
    # The description says when to use the note, so it becomes a key and not part of the statement.
    described = storable_text(str(values.get("description") or "")).text.strip()
    for piece in _statements(body) if path.name == INDEX_FILE else [body.strip()]:
        content = storable_text(piece).text.strip()
        if content:
            yield MemoryItem(
                content=content,
                kind=kind,
                scope=Scope.USER if type_name == "user" else Scope.PROJECT,
                project=project,
                session="claude-memory",
                source=Source.IMPORT,
                confidence=0.7,
                created_at=now,
                valid_from=written,
                tags=("claude-memory",),
                asked_as=(described,) if described else (),
                evidence=Evidence(transcript=str(path)),
            )


def _statements(body: str) -> list[str]:
    """Return the bullets and paragraphs of the index. Lines that only link to a topic file are left to that file's import."""
    out: list[str] = []
    paragraph: list[str] = []
    for line in [*body.splitlines(), ""]:
        bullet = _BULLET.match(line)
        if bullet or not line.strip() or line.lstrip().startswith("#"):
            out += [" ".join(paragraph)] if paragraph else []
            paragraph = []
        if bullet:
            out += [] if _LINK_ONLY.match(bullet["text"]) else [bullet["text"].strip()]
        elif line.strip() and not line.lstrip().startswith("#"):
            paragraph.append(line.strip())
    return out


def _keep(service: Orchestrator, item: MemoryItem) -> bool:
    same = normalise(item.content)
    query = Query(text=shorten(item.content, 500), project=item.project)
    if any(normalise(hit.item.content) == same for hit in service.search(query, 8)):
        return False
    service.write(item)
    return True
