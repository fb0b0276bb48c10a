"""Reading memories in. What is there already is left alone; nothing is overwritten."""

from __future__ import annotations

import re
import stat
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import orjson

from memoryd.codec import item_digest, item_from_dict
from memoryd.daydream.redact import redact
from memoryd.errors import BrokenFileError, InputError
from memoryd.files import read_regular
from memoryd.project import ProjectRegistry
from memoryd.protocols import Clock
from memoryd.service import Orchestrator
from memoryd.stores.front_matter import parse
from memoryd.stores.memory_file import MAX_BYTES
from memoryd.text import normalise, shorten
from memoryd.types import Evidence, Kind, MemoryItem, Query, Source

BATCH = 500
INDEX_FILE = "MEMORY.md"
MAX_LINE = 4_000_000
_BULLET = re.compile(r"^\s*[-*+]\s+(?P<text>.+)$")
_LINK_ONLY = re.compile(r"^\[[^\]]*\]\((?P<target>[^)]+\.md)\)")
_KIND_OF_TYPE = {"user": Kind.PREFERENCE, "feedback": Kind.RULE, "project": Kind.FACT, "reference": Kind.FACT}


def import_export(service: Orchestrator, source: Path) -> dict[str, Any]:
    """Read an archive or JSON lines. Ids that exist keep what they have; differing ones are counted."""
    counts = {"new": 0, "known": 0, "different": 0, "broken": 0}
    batch: list[MemoryItem] = []
    for item in _read_export(source, counts):
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
    return counts


def _read_export(source: Path, counts: dict[str, int]) -> Iterator[MemoryItem]:
    try:
        if not stat.S_ISREG(source.stat().st_mode):
            raise InputError(f"{source} is no file.", fix="Give a .tar.gz or .jsonl file that 'memoryd export' wrote.")
        if source.name.endswith(".jsonl"):
            with source.open("rb") as stream:
                yield from _parse_items(_lines(stream, source), counts)
        elif source.name.endswith((".tar.gz", ".tgz")):
            with tarfile.open(source, "r:gz") as archive:
                yield from _parse_items(_archived_items(archive), counts)
        else:
            raise InputError(f"{source.name}: unknown format.", fix="Give a .tar.gz or .jsonl file that 'memoryd export' wrote.")
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InputError(
            f"{source} can't be read: {error}", fix="Check the path; export again if the file is cut off."
        ) from error


def _lines(stream: IO[bytes], source: Path) -> Iterator[bytes]:
    """The lines of a file; InputError at the first that is longer than any memory can be."""
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise InputError(
                f"{source}: line {number} is longer than {MAX_LINE // 1_000_000} MB.", fix="It is no export of memoryd's."
            )
        yield line


def _archived_items(archive: tarfile.TarFile) -> Iterator[bytes]:
    for entry in archive:
        if entry.isfile() and entry.name.startswith("items/") and entry.size <= MAX_LINE:
            stream = archive.extractfile(entry)
            if stream is not None:
                yield stream.read()


def _parse_items(lines: Any, counts: dict[str, int]) -> Iterator[MemoryItem]:
    for line in lines:
        if not line.strip():
            continue
        try:
            values = orjson.loads(line)
            item = item_from_dict(values) if isinstance(values, dict) else None
        except (orjson.JSONDecodeError, InputError):
            item = None
        if item is None or not item.id or not item.content.strip():
            counts["broken"] += 1
        else:
            yield item


def find_transcripts(folder: Path) -> list[Path]:
    """Session logs of Claude Code under a folder, oldest first; logs of subagents are left out."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", fix="Give Claude Code's projects folder, e.g. ~/.claude/projects.")
    found = [path for path in folder.rglob("*.jsonl") if "subagents" not in path.parts and not path.name.startswith("agent-")]
    return sorted(found, key=lambda path: (path.stat().st_mtime, str(path)))


def import_claude_memory(service: Orchestrator, registry: ProjectRegistry, folder: Path, clock: Clock) -> dict[str, Any]:
    """Read `<projects>/<slug>/memory/` folders as imported memories of the project that each belongs to."""
    counts = {"new": 0, "known": 0, "files": 0, "broken": 0, "unknown_project": 0}
    for memory in sorted(folder.glob("*/memory")) or ([folder] if (folder / INDEX_FILE).is_file() else []):
        cwd = _cwd_of(memory.parent)
        if not cwd:
            counts["unknown_project"] += 1
            continue
        project = registry.resolve(cwd).id
        for path in sorted(path for path in memory.rglob("*.md") if path.is_file()):
            counts["files"] += 1
            try:
                items = list(_items_of(path, project, clock.now()))
            except BrokenFileError:
                counts["broken"] += 1
                continue
            for item in items:
                counts["new" if _keep(service, item) else "known"] += 1
    return counts


def _cwd_of(project_folder: Path) -> str:
    """The working folder of a project folder of Claude Code: its name is lossy, its logs are not."""
    for log in sorted(path for path in project_folder.glob("*.jsonl") if path.is_file()):
        with log.open("rb") as stream:
            for _ in range(50):
                line = stream.readline(MAX_LINE)
                if not line:
                    break
                if b'"cwd"' in line:
                    found = re.search(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")', line)
                    if found:
                        return str(orjson.loads(found[1]))
    guess = Path("/" + project_folder.name.lstrip("-").replace("-", "/"))
    return str(guess) if guess.is_dir() else ""


def _items_of(path: Path, project: str, now: datetime) -> Iterator[MemoryItem]:
    document = parse(read_regular(path, MAX_BYTES), str(path))
    values, body = document.values, document.content
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    metadata = values.get("metadata")
    type_name = str(values.get("type") or (metadata.get("type") if isinstance(metadata, dict) else "") or "")
    kind = _KIND_OF_TYPE.get(type_name, Kind.NOTE)
    pieces = _bullets(body) if path.name == INDEX_FILE else [body.strip()]
    for piece in pieces:
        content = redact(piece).text.strip()
        if content:
            yield MemoryItem(
                content=content,
                kind=kind,
                project=project,
                session="claude-memory",
                source=Source.IMPORT,
                confidence=0.7,
                created_at=now,
                valid_from=written,
                tags=("claude-memory",),
                evidence=Evidence(transcript=str(path)),
            )


def _bullets(body: str) -> list[str]:
    """The index's own statements; lines that only point to a topic file come with that file."""
    out = []
    for line in body.splitlines():
        bullet = _BULLET.match(line)
        if bullet and not _LINK_ONLY.match(bullet["text"]):
            out.append(bullet["text"].strip())
    return out


def _keep(service: Orchestrator, item: MemoryItem) -> bool:
    same = normalise(item.content)
    query = Query(text=shorten(item.content, 500), project=item.project)
    if any(normalise(hit.item.content) == same for hit in service.search(query, 8)):
        return False
    service.write(item)
    return True
