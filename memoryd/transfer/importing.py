"""Import memories. Existing memories are never overwritten."""

from __future__ import annotations

import contextlib
import re
import stat
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

import orjson

from memoryd.clients.base import this_system
from memoryd.clients.claude_code import logs_below
from memoryd.clients.registry import CLAUDE_CODE, CLIENTS
from memoryd.core.codec import item_digest, item_from_dict
from memoryd.core.errors import BrokenFileError, InputError
from memoryd.core.files import files_below, open_regular, read_regular
from memoryd.core.project import ProjectRegistry
from memoryd.core.protocols import Clock
from memoryd.core.text import digest, keywords, normalise, shorten
from memoryd.core.types import RESERVED_TAGS, Evidence, Kind, MemoryItem, Query, Scope, Source, Status
from memoryd.daydream.redact import says_something, storable_text
from memoryd.language.entities import find_entities
from memoryd.recall.governance import restates
from memoryd.service import Orchestrator
from memoryd.stores.front_matter import parse
from memoryd.transfer.foreign import IS_LINK, MAX_FILE, NO_TEXT, Format, Found, LeftOut

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
    """Import an archive or JSON lines. Existing memories are kept unchanged, and counted if they differ.

    `left_out` lists everything in the file that was not imported, with the reason.
    """
    counts: dict[str, Any] = {"new": 0, "known": 0, "different": 0, "broken": 0, "broken_lines": [], "left_out": []}
    batch: list[MemoryItem] = []
    seen: set[str] = set()
    for item in _read_export(source, counts):
        if item.id in seen:
            counts["left_out"].append(
                {"path": item.id, "reason": "the file contains this id more than once; the first one counts"}
            )
            continue
        seen.add(item.id)
        held = service.get(item.id)
        if held is not None:
            counts["known" if item_digest(held) == item_digest(item) else "different"] += 1
            continue
        batch.append(_without_review(item))
        if len(batch) >= BATCH:
            counts["new"] += len(service.write_many(batch))
            batch.clear()
    if batch:
        counts["new"] += len(service.write_many(batch))
    if counts["broken"] and not counts["new"] and not counts["known"] and not counts["different"]:
        raise InputError(
            f"{source} contains no memories{_first_problem(counts)}.",
            fix="Give a .tar.gz or .jsonl file written by 'memoryd export'.",
        )
    return counts


def _without_review(item: MemoryItem) -> MemoryItem:
    """Return a team's memory as an import. Only what is on a default branch was reviewed, and a file can claim anything."""
    if item.source is not Source.TEAM:
        return item
    scope = Scope.PROJECT if item.project else Scope.USER
    return replace(item, source=Source.IMPORT, scope=scope if item.scope is Scope.TEAM else item.scope)


def _first_problem(counts: dict[str, Any]) -> str:
    if counts["broken_lines"]:
        return f"; the first invalid line is {counts['broken_lines'][0]}"
    return f": {counts['left_out'][0]['path']}: {counts['left_out'][0]['reason']}" if counts["left_out"] else ""


def _read_export(source: Path, counts: dict[str, Any]) -> Iterator[MemoryItem]:
    try:
        if not stat.S_ISREG(source.stat().st_mode):
            raise InputError(f"{source} is not a file.", fix="Give a .tar.gz or .jsonl file written by 'memoryd export'.")
        if source.name.endswith(".jsonl"):
            with source.open("rb") as stream:
                yield from _parse_items(_lines(stream, source), counts)
        elif source.name.endswith((".tar.gz", ".tgz")):
            with tarfile.open(source, "r:gz") as archive:
                yield from _parse_items(_archived_items(archive, counts), counts)
        else:
            raise InputError(f"{source.name}: unknown format.", fix="Give a .tar.gz or .jsonl file written by 'memoryd export'.")
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
    """Return why a member of an archive can't be part of an export, or an empty string."""
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
    return "exports never contain such a file"


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
    """Return Claude Code's session logs under a folder, oldest first, or the one log given. Logs of subagents are excluded."""
    if folder.is_file() and folder.suffix == ".jsonl":
        return [folder]
    if not folder.is_dir():
        fix = "Give Claude Code's projects folder, e.g. ~/.claude/projects, or a session's .jsonl file."
        raise InputError(f"There is no folder {folder}.", fix=fix)
    return logs_below(folder)


def past_transcripts(name: str) -> list[Path]:
    """Return the session logs of one of the user's clients, oldest first. Raises InputError for an unknown client."""
    client = next((client for client in CLIENTS if client.name == (name or CLAUDE_CODE.name)), None)
    if client is None:
        known = ", ".join(client.name for client in CLIENTS)
        raise InputError(f"Unknown client: {name!r}.", fix=f"Name one of: {known}.")
    try:
        return list(client.past_logs(this_system()))
    except OSError as error:
        raise InputError(f"The sessions of {client.title} can't be read: {error}", fix="Check the permissions.") from error


def import_claude_memory(service: Orchestrator, registry: ProjectRegistry, folder: Path, clock: Clock) -> dict[str, Any]:
    """Import `<projects>/<slug>/memory/` folders into their projects.

    `left_out` lists each skipped folder and file with the reason.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", fix="Give Claude Code's projects folder, e.g. ~/.claude/projects.")
    counts = {"new": 0, "known": 0, "files": 0}
    left_out: list[dict[str, str]] = []
    for memory in sorted(folder.glob("*/memory")) or ([folder] if (folder / INDEX_FILE).is_file() else []):
        cwd = _cwd_of(memory.parent)
        if not cwd:
            reason = "its project's folder no longer exists and is not given in any session log"
            left_out.append({"path": str(memory), "reason": reason})
            continue
        project = registry.resolve(cwd).id
        for path in sorted(path for path in files_below(memory) if path.suffix == ".md"):
            counts["files"] += 1
            items, reason = _read_file(path, memory, project, clock.now())
            if reason:
                left_out.append({"path": str(path), "reason": reason})
            for item in items:
                counts["new" if _keep(service, item) else "known"] += 1
    return {**counts, "left_out": left_out}


def _read_file(path: Path, memory: Path, project: str, now: datetime) -> tuple[list[MemoryItem], str]:
    """Return the statements of a file, or why the file was skipped."""
    if path.is_symlink() or not path.resolve().is_relative_to(memory.resolve()):
        return [], IS_LINK
    try:
        items = list(_items_of(path, project, now))
    except BrokenFileError as error:
        return [], error.problem
    except OSError as error:
        return [], f"it can't be read: {error.strerror}"
    if not items:
        return [], "" if path.name == INDEX_FILE else NO_TEXT
    return items, ""


def _cwd_of(project_folder: Path) -> str:
    """Return the working folder of a Claude Code project folder. It is read from the logs, because the folder's name is lossy."""
    for log in sorted(project_folder.glob("*.jsonl")):
        # The next log names the same folder.
        with contextlib.suppress(OSError, orjson.JSONDecodeError), open_regular(log) as stream:
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
    """Return the client's name for a project's log folder."""
    return _SLUG_BREAK.sub("-", str(folder)) if folder != Path("/") else ""


def _folders_in(folder: Path, slug: str) -> list[Path]:
    try:
        inside = [entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink()]
    except OSError:
        return []
    return [entry for entry in inside if slug == slug_of(entry) or slug.startswith(f"{slug_of(entry)}-")]


def _items_of(path: Path, project: str, now: datetime) -> Iterator[MemoryItem]:
    data = read_regular(path, MAX_FILE)
    if len(data) >= MAX_FILE:
        raise BrokenFileError(str(path), 1, f"the file is larger than {MAX_FILE // 1_000_000} MB")
    document = parse(data, str(path))
    values, body = document.values, document.content
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    metadata = values.get("metadata")
    type_name = str(values.get("type") or (metadata.get("type") if isinstance(metadata, dict) else "") or "")
    kind = _KIND_OF_TYPE.get(type_name, Kind.NOTE)
    # The description says when to use the note, so it becomes a key rather than part of the statement.
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
    with service.keeping():
        if any(normalise(hit.item.content) == same for hit in service.search(query, 8)):
            return False
        service.write(item)
    return True


# Memories of other tools. They become one journal entry, and stay what their tool wrote: data, not the user's words.

MAX_LEFT_OUT = 100
MAX_SAMPLE = 10
TOMBSTONES_COMPARED = 8


@dataclass(slots=True)
class TakenIn:
    """What an import found. Nothing is written yet.

    Attributes:
        items: The new memories.
        known: Number of statements that memory holds already.
        forgotten: Number of statements that the user has forgotten; they stay forgotten.
        secrets: Number of statements from which a secret was removed.
        rules_files: The rules files that were read, and the project of each ("" for the user's own).
    """

    items: list[MemoryItem] = field(default_factory=list)
    known: int = 0
    forgotten: int = 0
    secrets: int = 0
    left_out: list[dict[str, str]] = field(default_factory=list)
    left_out_more: int = 0
    rules_files: dict[str, str] = field(default_factory=dict)

    def leave_out(self, path: str, reason: str) -> None:
        """Note something that is not imported."""
        if len(self.left_out) < MAX_LEFT_OUT:
            self.left_out.append({"path": path, "reason": reason})
        else:
            self.left_out_more += 1

    def by_kind(self) -> dict[str, int]:
        """Return the number of new memories of each kind, most frequent first."""
        return dict(Counter(item.kind.value for item in self.items).most_common())

    def by_project(self) -> dict[str, int]:
        """Return the number of new memories of each project. Those that concern the user everywhere are under "user"."""
        names = ("user" if item.scope is Scope.USER else item.project for item in self.items)
        return dict(Counter(names).most_common())


@dataclass(frozen=True, slots=True)
class Importer:
    """Compares the statements of another tool with memory.

    Args:
        service: The memories.
        registry: Known projects.
        deleted: Returns the memories of a project whose files the user deleted.
        is_off: Returns whether memory is off for a project.
        now: The current time.
    """

    service: Orchestrator
    registry: ProjectRegistry
    deleted: Callable[[str], Iterable[MemoryItem]]
    is_off: Callable[[str], bool]
    now: datetime

    def read(self, format: Format, source: Path, project: str = "") -> TakenIn:
        """Read a file or folder. With `project`, everything belongs to that project.

        Raises:
            InputError: The source can't be read.
        """
        out = TakenIn()
        held, tombstones = self._held()
        ids = {item.id for items in held.values() for item in items}  # A memory that was moved or reworded keeps its id.
        removed: dict[str, _Tombstones] = {}
        seen: set[str] = set()
        for found in _readable(format, source):
            if isinstance(found, LeftOut):
                out.leave_out(found.path, found.reason)
                continue
            owner = project or self._project_of(found, format.name)
            item = self._item(found, format.name, owner, out)
            if item is None:
                continue
            if found.rules_file:
                out.rules_files[found.rules_file] = owner
            if item.id in seen or item.id in ids or self._known(item, held):
                out.known += item.id not in seen
            elif tombstones.forbids(item) or self._removed(owner, removed).forbids(item):
                out.forgotten += 1
            else:
                out.items.append(item)
            seen.add(item.id)
        return out

    def _held(self) -> tuple[dict[str, list[MemoryItem]], _Tombstones]:
        held: dict[str, list[MemoryItem]] = {}
        blacklisted = []
        for item in self.service.all():
            if item.status is Status.BLACKLISTED:
                blacklisted.append(item)
            else:
                held.setdefault(normalise(item.content), []).append(item)
        return held, _Tombstones(blacklisted)

    def _removed(self, project: str, known: dict[str, _Tombstones]) -> _Tombstones:
        """Return the memories of a project whose files the user deleted. They stay deleted, like forgotten ones."""
        if project not in known:
            known[project] = _Tombstones(self.deleted(project))
        return known[project]

    def _known(self, item: MemoryItem, held: dict[str, list[MemoryItem]]) -> bool:
        there = held.get(normalise(item.content), ())
        return any(other.scope is Scope.USER or other.project == item.project for other in there)

    def _project_of(self, found: Found, tool: str) -> str:
        """Return the id of the project, or an empty string for the user.

        A project that memoryd does not know gets an id from its name; `memoryd projects link` joins it with a folder later.
        """
        if not found.project:
            return ""
        folder = Path(found.project).expanduser()
        if folder.is_absolute() and folder.is_dir():
            return self.registry.resolve(folder).id
        name = folder.name or found.project
        return self.registry.find(name) or project_id_of_name(name)

    def _item(self, found: Found, tool: str, project: str, out: TakenIn) -> MemoryItem | None:
        stored = storable_text(found.content)
        content = stored.text.strip()
        if not says_something(content):
            out.leave_out(found.where, "it is a secret or private" if stored.found else "it says nothing")
            return None
        if project and self.is_off(project):
            out.leave_out(found.where, "memory is off for its project")
            return None
        out.secrets += bool(stored.found)
        entities = dict.fromkeys((*map(_public, found.entities), *find_entities(content)))
        return MemoryItem(
            content=content,
            id=f"mem_{digest('import', tool, found.key, content)[:12]}",
            kind=found.kind,
            polarity=found.polarity,
            scope=Scope.PROJECT if project else Scope.USER,
            project=project,
            session=tool,
            source=Source.IMPORT,
            created_at=self.now,
            valid_from=min(found.at, self.now) if found.at else None,
            tags=tuple(tag for tag in dict.fromkeys((tool, *map(_public, found.tags))) if tag and tag not in RESERVED_TAGS),
            entities=tuple(entity for entity in entities if entity)[:20],
            asked_as=tuple(key for key in map(_public, found.keys) if key and key != content),
            evidence=Evidence(transcript=found.where),
        )


def project_id_of_name(name: str) -> str:
    """Return the id of a project of which only the name is known. It is the same on each machine."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:40] or "project"
    return f"{slug}-{digest('project name', name)[:8]}"


def _public(text: str) -> str:
    return storable_text(text).text.strip()


def _readable(format: Format, source: Path) -> Iterator[Found | LeftOut]:
    try:
        yield from format.read(source)
    except OSError as error:
        raise InputError(f"{source} can't be read: {error.strerror}", fix="Check the path and the permissions.") from error
    except BrokenFileError as error:
        raise InputError(f"{source} can't be read: {error.message}", fix=error.fix) from error


class _Tombstones:
    """Forgotten memories, found by the words that they share with a statement."""

    def __init__(self, items: Iterable[MemoryItem]) -> None:
        self._by_word: dict[str, list[MemoryItem]] = {}
        for item in items:
            for word in keywords(item.content):
                self._by_word.setdefault(word, []).append(item)

    def forbids(self, item: MemoryItem) -> bool:
        """Return whether the statement restates a forgotten memory of its project or of the user."""
        shared: Counter[str] = Counter()
        known: dict[str, MemoryItem] = {}
        for word in keywords(item.content) if self._by_word else ():
            for tombstone in self._by_word.get(word, ()):
                if tombstone.scope is Scope.USER or tombstone.project == item.project:
                    shared[tombstone.id] += 1
                    known[tombstone.id] = tombstone
        nearest = [known[id] for id, _ in shared.most_common(TOMBSTONES_COMPARED)]
        return any(restates(item, tombstone) for tombstone in nearest)
