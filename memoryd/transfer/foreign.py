"""Readers for the memories of other tools. Each yields statements as data; nothing is written here.

The formats were read from the tools' sources and documentation in November 2026 (docs/import-export.md). A reader names what it
leaves out, and survives records of later versions: unknown fields are ignored.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from memoryd.clients.base import System
from memoryd.clients.gemini_log import folder_of
from memoryd.core.clock import from_iso
from memoryd.core.db import read_only
from memoryd.core.errors import BrokenFileError, InputError, StoreError
from memoryd.core.files import files_below, open_regular, read_regular
from memoryd.core.text import one_line, shorten
from memoryd.core.types import Kind, Polarity
from memoryd.daydream.offline.acts import is_negative
from memoryd.language.markdown import MarkdownStatement, statements
from memoryd.recall.known_already import RULES_TAG
from memoryd.stores import front_matter

MAX_FILE = 4_000_000
MAX_JSON = 200_000_000
MAX_FILES = 100_000
MAX_DIGITS = 18
MAX_STATEMENT = 4_000
LONG_NOTE = 1_500
SHORTEST = 3
NO_TEXT = "it has no text"
IS_LINK = "it is a link, and links are not followed"
RULES_FILES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md")
_HIDDEN_FOLDERS = frozenset({"node_modules", "templates", "_templates"})
_SQLITE = b"SQLite format 3\0"
_HASHTAG = re.compile(r"(?<![\w/#&])#(?P<tag>[A-Za-z][\w/-]{0,60})")
_WIKI_LINK = re.compile(r"!?\[\[(?P<target>[^\]|#^\n]{1,200})(?:[#^][^\]|\n]{0,200})?(?:\|(?P<shown>[^\]\n]{1,200}))?\]\]")
_OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()\n]{1,60})\]\s+(?P<text>\S.*)")
_RELATION = re.compile(r"(?P<type>[\w -]{1,60}?)\s*\[\[(?P<target>[^\]\n]{1,200})\]\]")
_CONTEXT = re.compile(r"\s*\((?P<context>[^()\n]{1,300})\)\s*$")
_TASK_REFERENCE = re.compile(r"(?:\s*\[Task \d{1,3}\])+\s*$")
# An escaped backslash, a character in two halves, or half a character.
_ESCAPE = re.compile(r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})")
_LISTS = ("results", "memories", "items", "data")  # Where a JSON file has its records, if it isn't a list itself.
_CWD = re.compile(r"\bcwd=(?P<folder>[^;,\s]{1,400})")
_KIND_OF_CATEGORY: Mapping[str, Kind] = {
    **dict.fromkeys(("decision", "decisions", "choice"), Kind.DECISION),
    **dict.fromkeys(("preference", "preferences", "personal_preference", "like"), Kind.PREFERENCE),
    **dict.fromkeys(("rule", "constraint", "requirement", "convention", "guideline"), Kind.RULE),
    **dict.fromkeys(("bug", "bugfix", "fix", "solution", "root_cause"), Kind.FIX),
    **dict.fromkeys(("problem", "issue", "gotcha", "pitfall", "dead_end", "failure", "failures"), Kind.DEAD_END),
    **dict.fromkeys(("environment", "setup", "config", "configuration", "tech"), Kind.ENVIRONMENT),
    **dict.fromkeys(("todo", "task", "next", "action"), Kind.TODO),
}


@dataclass(frozen=True, slots=True)
class Found:
    """One statement of another tool.

    Attributes:
        key: What identifies it within its source, so that a second import finds the same memory.
        project: Name or folder of its project. Empty for what concerns the user everywhere.
        where: The file, and the record in it, for the memory's evidence.
        at: When the tool recorded it.
        keys: Its title or description: words to find it by.
        rules_file: The file from which clients already give it to the model, or an empty string.
    """

    content: str
    key: str
    where: str
    kind: Kind = Kind.FACT
    polarity: Polarity = Polarity.KNOW
    project: str = ""
    at: datetime | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    rules_file: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not imported, and the reason."""

    path: str
    reason: str


Reading = Iterator[Found | LeftOut]
Record = dict[str, Any] | LeftOut


@dataclass(frozen=True, slots=True)
class Format:
    """The memories of another tool: where they usually are, and how they are recognised and read."""

    name: str
    title: str
    places: Callable[[System, Path], Sequence[Path]]
    is_one: Callable[[Path], bool]
    read: Callable[[Path], Reading] = field(repr=False)


# claude-mem: a SQLite database with observations and session summaries

_KIND_OF_OBSERVATION = {"decision": Kind.DECISION, "bugfix": Kind.FIX, "change": Kind.NOTE}


def read_claude_mem(path: Path) -> Reading:
    """Read the observations of claude-mem, and what its session summaries say was learnt."""
    columns = _columns(path, "observations")
    if not columns:
        raise InputError(f"{path} has no table of observations.", fix="Name claude-mem's database, ~/.claude-mem/claude-mem.db.")
    for row in _rows(path, "observations", columns):
        content = _observation(row)
        if not content:
            yield LeftOut(f"{path}#observation-{row['id']}", NO_TEXT)
            continue
        yield Found(
            content,
            f"observation-{row['id']}",
            f"{path}#observation-{row['id']}",
            _KIND_OF_OBSERVATION.get(str(row.get("type")), Kind.FACT),
            project=str(row.get("merged_into_project") or row.get("project") or ""),
            at=_moment(row.get("created_at_epoch") or row.get("created_at")),
            tags=tuple(_texts(row.get("concepts"))[:8]),
            entities=tuple(dict.fromkeys([*_texts(row.get("files_modified")), *_texts(row.get("files_read"))]))[:12],
            keys=tuple(filter(None, [_line(row.get("subtitle"))])),
        )
    for row in _rows(path, "session_summaries", _columns(path, "session_summaries")):
        if learned := _line(row.get("learned")):
            key = f"summary-{row['id']}"
            at = _moment(row.get("created_at_epoch") or row.get("created_at"))
            asked = tuple(filter(None, [shorten(_line(row.get("request")), 300)]))
            project = str(row.get("merged_into_project") or row.get("project") or "")
            yield Found(learned, key, f"{path}#{key}", Kind.FACT, project=project, at=at, keys=asked)


def _observation(row: Mapping[str, Any]) -> str:
    """Return an observation as one text: its title and its facts, or else its narrative."""
    title, facts = _line(row.get("title")), [_line(fact) for fact in _texts(row.get("facts"))]
    body = " ".join(fact if fact.endswith((".", "!", "?")) else f"{fact}." for fact in facts if fact)
    body = body or _line(row.get("narrative")) or _line(row.get("text")) or _line(row.get("subtitle"))
    if not title or body.casefold().startswith(title.casefold().rstrip(".")):
        return body or title
    return f"{title}: {body}" if body else title


def _columns(path: Path, table: str) -> tuple[str, ...]:
    return tuple(str(row[0]) for row in read_only(path, "SELECT name FROM pragma_table_info(?)", (table,)))


def _rows(path: Path, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table in order. The names of its columns come from the database itself."""
    if not columns:
        return
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    for row in read_only(path, f'SELECT {quoted} FROM "{table}" ORDER BY rowid'):  # noqa: S608 - names of its own schema
        yield dict(zip(columns, row, strict=True))


# basic-memory and Obsidian: folders of Markdown notes


def read_basic_memory(path: Path) -> Reading:
    """Read the observations of each note of basic-memory, and its prose as one further statement."""
    for file, note in _notes(path):
        if isinstance(note, LeftOut):
            yield note
            continue
        relative, title = file.relative_to(path).as_posix(), note.title or file.stem
        linked = _linked(note)
        prose: list[str] = []
        number = 0
        for statement in statements(note.body):
            observed = _OBSERVATION.match(statement.text) if statement.is_bullet else None
            if observed:
                number += 1
                yield _basic_observation(observed, note, relative, title, number, str(file), linked)
            elif not (statement.is_bullet and _RELATION.match(statement.text)):
                prose.append(statement.text)
        if prose:
            text = shorten(_shown_links(" ".join(prose)), MAX_STATEMENT)
            yield Found(
                f"{title}: {text}", relative, str(file), Kind.NOTE, at=note.at, tags=note.tags, entities=linked, keys=(title,)
            )


def _linked(note: _Note) -> tuple[str, ...]:
    """Return the first notes to which a note links."""
    return tuple(dict.fromkeys(match["target"].strip() for match in _WIKI_LINK.finditer(note.body)))[:12]


def _basic_observation(
    match: re.Match[str], note: _Note, relative: str, title: str, number: int, file: str, linked: tuple[str, ...]
) -> Found:
    category, text = match["category"].strip().casefold().replace(" ", "_"), match["text"].strip()
    tags = tuple(dict.fromkeys((*note.tags, *(found["tag"] for found in _HASHTAG.finditer(text)))))
    context = _CONTEXT.search(text)
    text = _HASHTAG.sub("", text[: context.start()] if context else text).strip()
    text = _shown_links(one_line(f"{text} ({context['context']})" if context else text))
    kind = _KIND_OF_CATEGORY.get(category, Kind.FACT)
    key, keys = f"{relative}#{number}", (title,)
    return Found(text, key, f"{file}#{number}", kind, _polarity(kind, text), "", note.at, tags[:8], (title, *linked)[:12], keys)


def read_obsidian(path: Path) -> Reading:
    """Read each note of an Obsidian vault as one statement, or as one per heading if it is long."""
    for file, note in _notes(path):
        if isinstance(note, LeftOut):
            yield note
            continue
        relative, title = file.relative_to(path).as_posix(), note.title or file.stem
        linked = _linked(note)
        tags = tuple(dict.fromkeys((*note.tags, *(match["tag"] for match in _HASHTAG.finditer(note.body)))))[:8]
        for number, (heading, text) in enumerate(_sections(note.body)):
            key = f"{relative}#{number}" if number else relative
            name = f"{title}: {heading}" if heading and heading != title else title
            keys = tuple(dict.fromkeys((*((heading,) if heading else ()), title, *note.aliases)))[:8]
            content = f"{name}: {_shown_links(text)}"
            yield Found(
                content,
                key,
                f"{file}#{heading}" if heading else str(file),
                Kind.NOTE,
                Polarity.KNOW,
                "",
                note.at,
                tags,
                linked,
                keys,
            )


def _shown_links(text: str) -> str:
    return _WIKI_LINK.sub(lambda match: match["shown"] or match["target"], text)


def _sections(body: str) -> list[tuple[str, str]]:
    """Return (heading, text) of a note: a single section if it is short."""
    found: dict[str, list[str]] = {}
    for statement in statements(body):
        found.setdefault(statement.headings[-1] if statement.headings else "", []).append(statement.text)
    if sum(len(text) for texts in found.values() for text in texts) <= LONG_NOTE:
        texts = [text for texts in found.values() for text in texts]
        return [("", " ".join(texts))] if texts else []
    return [(heading, shorten(" ".join(texts), MAX_STATEMENT)) for heading, texts in found.items()]


@dataclass(frozen=True, slots=True)
class _Note:
    body: str
    title: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    at: datetime
    description: str = ""


def _notes(folder: Path) -> Iterator[tuple[Path, _Note | LeftOut]]:
    """Yield the notes below a folder in order. Hidden folders, templates and links are not followed."""
    for file in _markdown_files(folder):
        yield file, _note_of(file)


def _note_of(file: Path) -> _Note | LeftOut:
    if file.is_symlink():
        return LeftOut(str(file), IS_LINK)
    try:
        values, body = _document(file)
        written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except BrokenFileError as error:
        return LeftOut(str(file), error.problem)
    except OSError as error:
        return LeftOut(str(file), f"it can't be read: {error.strerror}")
    if not any(statements(body)):
        return LeftOut(str(file), NO_TEXT)
    at = _moment(values.get("created") or values.get("date")) or written
    tags, aliases = tuple(_texts(values.get("tags")))[:8], tuple(_texts(values.get("aliases")))[:4]
    return _Note(body, _line(values.get("title")), tags, aliases, at, _line(values.get("description")))


def _document(file: Path) -> tuple[Mapping[str, Any], str]:
    """Return the front matter and the body of a file. Front matter that is not YAML is read line by line."""
    data = read_regular(file, MAX_FILE)
    if len(data) >= MAX_FILE:
        raise BrokenFileError(str(file), 1, f"the file is larger than {MAX_FILE // 1_000_000} MB")
    try:
        document = front_matter.parse(data, str(file))
    except BrokenFileError:
        document = front_matter.split(data, str(file))
        lines = (line.partition(":") for line in document.head.splitlines())
        return {name.strip(): value.strip().strip("\"'") for name, colon, value in lines if colon}, document.content
    return document.values, document.content


def _markdown_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", fix="Name the folder of the notes.")
    found: list[Path] = []
    waiting = [folder]
    while waiting and len(found) < MAX_FILES:
        for entry in sorted(waiting.pop().iterdir()):
            if entry.name.startswith(".") or entry.name.casefold() in _HIDDEN_FOLDERS:
                continue
            if entry.is_dir() and not entry.is_symlink():
                waiting.append(entry)
            elif entry.suffix.casefold() == ".md":
                found.append(entry)
    return sorted(found)


def _files_ending(folder: Path, suffix: str) -> list[Path]:
    return sorted(path for path in files_below(folder) if path.suffix == suffix)


# mem0: what `get_all` returns as JSON, or the database of changes that it keeps locally


# The histories of mem0 for Python and for JavaScript. Each names its columns and times differently.
_MEM0_TABLES = (("history", "new_memory", "event"), ("memory_history", "new_value", "action"))
_MEM0_TIMES = ("updated_at", "updatedAt", "created_at", "createdAt")


def read_mem0(path: Path) -> Reading:
    """Read memories of mem0 from a file with the result of `get_all`, or from its history database."""
    for number, record in enumerate(_mem0_history(path) if _is_database(path) else _records(path), 1):
        if isinstance(record, LeftOut):
            yield record
            continue
        content = _line(record.get("memory") or record.get("data") or record.get("text") or record.get("content"))
        key = str(record.get("id") or number)
        if not content:
            yield LeftOut(f"{path}#{key}", NO_TEXT)
            continue
        metadata = record.get("metadata") if isinstance(record.get("metadata"), Mapping) else {}
        assert isinstance(metadata, Mapping)
        category = str(metadata.get("type") or metadata.get("category") or "").casefold()
        kind = _KIND_OF_CATEGORY.get(category, Kind.FACT)
        at = next(filter(None, (_moment(record.get(name)) for name in _MEM0_TIMES)), None)
        tags = tuple(_texts(record.get("categories")))[:8]
        yield Found(content, key, f"{path}#{key}", kind, _polarity(kind, content), _line(metadata.get("project")), at, tags)


def _mem0_history(path: Path) -> list[dict[str, Any]]:
    """Return the last state of each memory that was not deleted."""
    table = _mem0_table(path)
    if table is None:
        raise InputError(f"{path} is not a history of mem0.", fix="Name ~/.mem0/history.db, or a JSON file with the memories.")
    name, text, event = table
    last: dict[str, dict[str, Any]] = {}
    for row in _rows(path, name, _columns(path, name)):
        gone = str(row.get(event)) == "DELETE" or row.get("is_deleted")
        last[str(row["memory_id"])] = {} if gone else {**row, "id": row["memory_id"], "memory": row[text]}
    return [row for row in last.values() if row]


def _mem0_table(path: Path) -> tuple[str, str, str] | None:
    """Return the table of mem0's history with its columns of the new text and the event, or None if there is none."""
    return next((found for found in _MEM0_TABLES if {"memory_id", found[1]} <= set(_columns(path, found[0]))), None)


# Letta: an agent file (.af), a list of blocks or passages, or the folder of Markdown blocks that Letta Code writes


def read_letta(path: Path) -> Reading:
    """Read the memory blocks and passages of a Letta agent file or folder. Its persona describes the agent and is left out."""
    if path.is_dir():
        yield from _letta_folder(path)
        return
    whole = _json(path)
    blocks = _entries(whole, "blocks") or _entries(whole, "core_memory")
    for agent in _entries(whole, "agents"):
        blocks += [block for block in _entries(agent, "memory_blocks") if block not in blocks]
    for number, block in enumerate(blocks, 1):
        label = str(block.get("label") or block.get("name") or f"block-{number}")
        yield from _letta_block(label, str(block.get("value") or ""), _line(block.get("description")), f"{path}#{label}")
    passages = _entries(whole, "passages") or _entries(whole, "archival_memory")
    found: Sequence[Record] = passages or (_records(path) if isinstance(whole, list) and not blocks else [])
    for number, passage in enumerate(found, 1):
        if isinstance(passage, LeftOut):
            yield passage
            continue
        if text := _line(passage.get("text") or passage.get("content")):
            key = str(passage.get("id") or f"passage-{number}")
            yield Found(
                text, key, f"{path}#{key}", at=_moment(passage.get("created_at")), tags=tuple(_texts(passage.get("tags")))[:8]
            )


def _letta_block(label: str, value: str, description: str, where: str, at: datetime | None = None) -> Reading:
    if label.rpartition("/")[2] == "persona":
        yield LeftOut(where, "it describes the agent and not you or your work")
        return
    kind = Kind.PREFERENCE if label.rpartition("/")[2] == "human" else Kind.FACT
    keys = (description,) if description else ()
    for place, statement in enumerate(statements(value), 1):
        polarity = _polarity(kind, statement.text)
        yield Found(statement.text, f"{label}-{place}", where, kind, polarity, at=at, keys=keys, tags=(label,))


def _letta_folder(path: Path) -> Reading:
    """Read the memory of Letta Code: one Markdown file a block, with its description in the front matter. Skills are left out."""
    for file in _markdown_files(path):
        label = file.relative_to(path).with_suffix("").as_posix()
        if label.startswith("skills/"):
            continue
        note = _note_of(file)
        if isinstance(note, LeftOut):
            yield note
        else:
            yield from _letta_block(label, note.body, note.description, str(file), note.at)


# Codex: the handbook that it writes, and its instructions

_CODEX_SECTIONS = {
    "user preferences": Kind.PREFERENCE,
    "reusable knowledge": Kind.FACT,
    "failures and how to do differently": Kind.DEAD_END,
}


_CODEX_SUMMARY = {"user profile": Kind.FACT, "user preferences": Kind.PREFERENCE, "general tips": Kind.FACT}


def read_codex(path: Path) -> Reading:
    """Read Codex's memories and its AGENTS.md. `path` is Codex's folder, or one of these files."""
    files = [path]
    if path.is_dir():
        folders = (path / "memories", path / "memories_v2", path)
        files = [folder / name for folder in folders for name in ("MEMORY.md", "memory_summary.md")]
        files += [path / name for name in ("AGENTS.md", "AGENTS.override.md")]
    readers = {"MEMORY.md": _codex_handbook, "memory_summary.md": _codex_summary}
    for file in filter(Path.is_file, files):
        yield from _apart(file, readers.get(file.name, _rules_of))


def _codex_summary(file: Path) -> Reading:
    """Read what is in the summary only. Beside a handbook, its preferences restate those of the handbook."""
    wanted = set(_CODEX_SUMMARY) - ({"user preferences"} if (file.parent / "MEMORY.md").is_file() else set())
    for statement in statements(_document(file)[1]):
        section = statement.headings[-1].casefold() if len(statement.headings) == 1 else ""
        if section in wanted:
            yield Found(statement.text, statement.text, str(file), _CODEX_SUMMARY[section])


def _codex_handbook(file: Path) -> Reading:
    project = ""
    for statement in statements(_document(file)[1]):
        if statement.text.startswith(("scope:", "applies_to:")):
            match = _CWD.search(statement.text)
            project = match["folder"].strip("`'\"<>") if match else ""
            continue
        section = statement.headings[-1].casefold() if statement.headings else ""
        if len(statement.headings) > 1 and section not in _CODEX_SECTIONS:
            continue  # lists of sessions and keywords
        kind = _CODEX_SECTIONS.get(section, Kind.FACT)
        text = _TASK_REFERENCE.sub("", statement.text)
        group = statement.headings[0].removeprefix("Task Group:").strip() if statement.headings else ""
        yield Found(text, text, str(file), kind, Polarity.KNOW, project, keys=(group,) if group else ())


# Gemini: what it saved in GEMINI.md and in its private notes about projects; the rest of GEMINI.md are rules

_GEMINI_SECTION = "gemini added memories"
_POINTER = re.compile(r"(?:See\s+\S{1,400}\.md\b|\[[^\]\n]{1,200}\]\([^)\n]{1,400}\.md\))")


def read_gemini(path: Path) -> Reading:
    """Read what Gemini CLI remembered, and the rules in GEMINI.md. `path` is its folder, GEMINI.md or a project's notes."""
    if path.name == "memory" and path.is_dir():
        yield from _gemini_notes(path)
        return
    file = path if path.is_file() else path / "GEMINI.md"
    notes = sorted((path / "tmp").glob("*/memory")) if path.is_dir() else []
    if not file.is_file() and not notes:
        raise InputError(f"There is no {file}.", fix="Name GEMINI.md or the folder that contains it.")
    if file.is_file():
        yield from _apart(file, _gemini_rules)
    for folder in notes:
        yield from _gemini_notes(folder)


def _gemini_rules(file: Path) -> Reading:
    for statement in statements(_document(file)[1]):
        if statement.headings and statement.headings[-1].casefold() == _GEMINI_SECTION:
            yield Found(statement.text, statement.text, str(file), Kind.FACT)
        else:
            yield _rule(statement, file, "")


def _gemini_notes(folder: Path) -> Reading:
    """Read the notes about a project: MEMORY.md and the files beside it, without the lines that only lead to those."""
    project = folder_of(folder.parent)
    for file in sorted(folder.glob("*.md")):
        note = _note_of(file)
        if isinstance(note, LeftOut):
            yield note
            continue
        for statement in statements(note.body):
            if not _POINTER.match(statement.text):
                keys = tuple(statement.headings[-1:])
                yield Found(statement.text, f"{file.name}#{statement.text}", str(file), project=project, at=note.at, keys=keys)


# Cursor: rules in .cursor/rules/*.mdc, or .cursorrules


def read_cursor(path: Path) -> Reading:
    """Read Cursor's rules. `path` is a project's folder, its folder of rules, or one file."""
    top = path if path.is_dir() else path.parent
    while top.name in ("rules", ".cursor") and top != top.parent:
        top = top.parent
    found = [path] if path.is_file() else [*_files_ending(top / ".cursor" / "rules", ".mdc"), top / ".cursorrules"]
    for file in found:
        if file.is_symlink():
            yield LeftOut(str(file), IS_LINK)
        elif file.exists():
            yield from _apart(file, partial(_cursor_rules, top))


def _cursor_rules(top: Path, file: Path) -> Reading:
    values, body = _document(file)
    globs = tuple(part.strip() for text in _texts(values.get("globs")) for part in text.split(",") if part.strip())[:8]
    described = tuple(filter(None, [shorten(_line(values.get("description")), 300)]))
    for statement in statements(body):
        text = statement.text
        key, polarity = f"{file.name}#{text}", _polarity(Kind.RULE, text)
        keys = tuple(dict.fromkeys((*described, *statement.headings[-1:])))
        yield Found(text, key, str(file), Kind.RULE, polarity, str(top), entities=globs, keys=keys, tags=("cursor",))


# CLAUDE.md, AGENTS.md: rules that the clients give to the model themselves


def read_rules(path: Path) -> Reading:
    """Read the rules files of a project, or one such file. They are known already: sessions are not given them again."""
    found = [path] if path.is_file() else [path / name for name in RULES_FILES if (path / name).is_file()]
    if not found:
        raise InputError(f"There is no CLAUDE.md or AGENTS.md in {path}.", fix="Name the file or its project's folder.")
    for file in found:
        if file.is_symlink():
            yield LeftOut(str(file), IS_LINK)
        else:
            yield from _apart(file, _rules_of)


def _rules_of(file: Path) -> Reading:
    folder = file.parent.parent if file.parent.name == ".claude" and (file.parent.parent / ".git").exists() else file.parent
    personal = folder.name in (".claude", ".codex", ".gemini")
    for statement in statements(_document(file)[1]):
        yield _rule(statement, file, "" if personal else str(folder))


def _rule(statement: MarkdownStatement, file: Path, project: str) -> Found:
    text = statement.text
    keys = tuple(dict.fromkeys(statement.headings[-1:]))
    return Found(
        text,
        text,
        str(file),
        Kind.RULE,
        _polarity(Kind.RULE, text),
        project,
        keys=keys,
        tags=(RULES_TAG,),
        rules_file=str(file),
    )


def _polarity(kind: Kind, text: str) -> Polarity:
    if kind is not Kind.RULE:
        return Polarity.KNOW
    return Polarity.DONT if is_negative(text[:600]) else Polarity.DO


def _apart(file: Path, read: Callable[[Path], Reading]) -> Reading:
    """Read one file of several. If it can't be read, only this file is left out."""
    try:
        yield from read(file)
    except BrokenFileError as error:
        yield LeftOut(str(file), error.problem)
    except OSError as error:
        yield LeftOut(str(file), f"it can't be read: {error.strerror}")


# Values


def _line(value: Any) -> str:
    return shorten(one_line(value), MAX_STATEMENT) if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    """Return texts from a list, JSON with a list, or text with commas."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return []
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple):
        return []
    return [text for entry in value if isinstance(entry, str) and (text := one_line(entry).strip("#"))]


def _moment(value: Any) -> datetime | None:
    """Return a time from ISO text, or from seconds or milliseconds since 1970."""
    try:
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 100_000_000_000 else value, UTC)  # noqa: PLR2004
        return from_iso(str(value)) if value else None
    except (InputError, ValueError, OverflowError, OSError):
        return None


def _entries(whole: Any, name: str) -> list[dict[str, Any]]:
    found = whole.get(name) if isinstance(whole, Mapping) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_JSON:
            raise InputError(f"{path} is larger than {MAX_JSON // 1_000_000} MB.", fix="Split the file.")
        return _parsed(read_regular(path, MAX_JSON))
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.", fix="Check the path.") from error
    except ValueError as error:
        raise InputError(f"{path} can't be read as JSON: {error}", fix="Check the path and export again.") from error


def _parsed(data: bytes) -> Any:
    """Parse JSON. Half a character, or a number of any length, as other programs write them, costs only itself.

    Raises ValueError if the text is not JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        text = _ESCAPE.sub(lambda found: "\\ufffd" if found["half"] else found[0], data.decode("utf-8", "replace"))
        try:
            return json.loads(text, parse_int=_integer)
        except (ValueError, RecursionError):
            raise error from None


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def _records(path: Path) -> list[Record]:
    """Return the records of a JSON file: a list, an object with a list, or one object per line."""
    if path.suffix == ".jsonl":
        return _json_lines(path)
    whole = _json(path)
    lists = (whole.get(name) for name in _LISTS) if isinstance(whole, Mapping) else (whole,)
    found = [entries for entries in lists if isinstance(entries, list)]
    if not found:
        raise InputError(f"{path} contains no list of memories.", fix="Check the path and export again.")
    entries = next(filter(None, found), [])
    return [_record(entry, f"{path}#{number}") for number, entry in enumerate(entries, 1)]


def _record(entry: Any, where: str) -> Record:
    return entry if isinstance(entry, dict) else LeftOut(where, "it is not an object")


def _json_lines(path: Path) -> list[Record]:
    try:
        lines = read_regular(path, MAX_JSON).split(b"\n")
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.", fix="Check the path.") from error
    found = [_of_line(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    if found and all(isinstance(record, LeftOut) for record in found):
        raise InputError(f"{path} contains no JSON objects.", fix="Check the path and export again.")
    return found


def _of_line(line: bytes, where: str) -> Record:
    try:
        return _record(_parsed(line), where)
    except ValueError:
        return LeftOut(where, "it is not JSON")


# Formats


def _is_database(path: Path) -> bool:
    try:
        with open_regular(path) as stream:
            return stream.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _has_table(path: Path, table: str) -> bool:
    try:
        return _is_database(path) and bool(_columns(path, table))
    except StoreError:
        return False


def _is_basic_memory(path: Path) -> bool:
    if not path.is_dir() or (path / ".obsidian").is_dir():
        return False
    for file in _markdown_files(path)[:20]:
        note = _note_of(file)
        if isinstance(note, _Note) and any(_OBSERVATION.match(one.text) for one in statements(note.body) if one.is_bullet):
            return True
    return False


def _holds(path: Path, names: Iterable[str]) -> bool:
    return path.is_dir() and any((path / name).exists() for name in names)


def _is_json_with(path: Path, *names: str) -> bool:
    if not path.is_file() or path.suffix not in (".json", ".af"):
        return False
    whole = _json(path)
    return isinstance(whole, Mapping) and any(_entries(whole, name) for name in names)


def _is_letta(path: Path) -> bool:
    if path.is_dir():
        return any(_holds(folder, ["persona.md"]) and _holds(folder, ["human.md"]) for folder in (path, path / "system"))
    return path.suffix == ".af" or _is_json_with(path, "blocks", "core_memory", "passages")


def _is_mem0(path: Path) -> bool:
    if _is_database(path):
        with contextlib.suppress(StoreError):  # It is no SQLite database.
            return _mem0_table(path) is not None
        return False
    if not path.is_file() or path.suffix not in (".json", ".jsonl"):
        return False
    with contextlib.suppress(InputError):  # It is no JSON.
        return any(isinstance(record, dict) and "memory" in record for record in _records(path)[:20])
    return False


FORMATS: tuple[Format, ...] = (
    Format(
        "claude-mem",
        "claude-mem",
        lambda system, cwd: [system.folder("CLAUDE_MEM_DATA_DIR", ".claude-mem") / "claude-mem.db"],
        lambda path: _has_table(path, "observations"),
        read_claude_mem,
    ),
    Format(
        "codex",
        "Codex's memories",
        lambda system, cwd: [system.folder("CODEX_HOME", ".codex")],
        lambda path: _holds(path, ["memories/MEMORY.md", "memories_v2/memory_summary.md"]) or path.name == ".codex",
        read_codex,
    ),
    Format(
        "gemini",
        "Gemini's memories",
        lambda system, cwd: [system.folder("GEMINI_CLI_HOME", ".") / ".gemini"],
        lambda path: path.name in ("GEMINI.md", ".gemini") or path.name == "memory" and _holds(path.parent, [".project_root"]),
        read_gemini,
    ),
    Format(
        "cursor",
        "Cursor's rules",
        lambda system, cwd: [cwd],
        lambda path: path.suffix == ".mdc" or path.name in (".cursorrules", ".cursor"),
        read_cursor,
    ),
    Format(
        "rules",
        "CLAUDE.md and AGENTS.md",
        lambda system, cwd: [cwd],
        lambda path: path.name in ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md"),
        read_rules,
    ),
    Format(
        "obsidian", "an Obsidian vault", lambda system, cwd: [], lambda path: _holds(path, [".obsidian"]), read_obsidian
    ),
    Format(
        "letta",
        "Letta",
        lambda system, cwd: [],
        _is_letta,
        read_letta,
    ),
    Format(
        "basic-memory",
        "basic-memory",
        lambda system, cwd: [system.folder("BASIC_MEMORY_HOME", "basic-memory")],
        _is_basic_memory,
        read_basic_memory,
    ),
    Format("mem0", "mem0", lambda system, cwd: [system.folder("MEM0_DIR", ".mem0") / "history.db"], _is_mem0, read_mem0),
)  # fmt: skip
NAMES = tuple(format.name for format in FORMATS)


def format_named(name: str) -> Format:
    """Return the format with this name. Raises InputError if there is none."""
    for format in FORMATS:
        if format.name == name:
            return format
    raise InputError(f"memoryd does not read the format {name!r}.", fix=f"Name one of: {', '.join(NAMES)}.")


def recognised(path: Path) -> Format | None:
    """Return the format of a file or folder, or None if it is none of these."""
    return next((format for format in FORMATS if format.is_one(path)), None)


def usual_place(format: Format, system: System, cwd: Path) -> Path:
    """Return where the tool keeps its memories. Raises InputError if nothing is there."""
    places = format.places(system, cwd)
    for place in places:
        if place.exists():
            return place
    where = " or ".join(map(str, places)) or "a usual place"
    raise InputError(f"{format.title}: nothing was found at {where}.", fix="Name the file or folder.")
