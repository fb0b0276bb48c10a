"""Export to a single file: a `.tar.gz` with the Markdown tree, a `.jsonl` with one item per line, or Markdown for a client.

Markdown for a client is a section of a rules file such as CLAUDE.md, or the MEMORY.md that Claude Code loads itself.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from memoryd import __version__
from memoryd.core.codec import item_to_json
from memoryd.core.errors import InputError
from memoryd.core.files import read_regular, write_atomic
from memoryd.core.text import normalise, shorten
from memoryd.core.types import CONFIRMED_TAG, ExportForm, MemoryItem, Trust
from memoryd.daydream.redact import storable_text
from memoryd.language.markdown import SECTION_BEGIN, SECTION_END, statements
from memoryd.recall.governance import Governance
from memoryd.recall.prompt_block import harmless
from memoryd.service import Orchestrator

MANIFEST = "manifest.json"
FORMAT = 1


def export(service: Orchestrator, target: Path, *, project: str | None = None, force: bool = False) -> dict[str, Any]:
    """Write all memories, or those of one project, to `target`. The suffix determines the format.

    Raises:
        InputError: The file exists and `force` is not set, its folder does not exist, or the format is unknown.
    """
    if target.resolve().is_relative_to(service.folder.resolve()):
        raise InputError(f"{target} is inside the memories folder.", fix="Choose a file in another folder.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}.", fix="Create it first, or choose another file.")
    if target.exists() and not force:
        raise InputError(f"{target} already exists.", fix="Choose another file, or use --force to overwrite it.")
    items = [item for item in service.all() if project is None or item.project == project]
    if target.name.endswith(".jsonl"):
        data = b"".join(item_to_json(item) + b"\n" for item in items)
    elif target.name.endswith((".tar.gz", ".tgz")):
        data = _archive(service, items)
    else:
        raise InputError(f"{target.name}: unknown format.", fix="Name the file something.tar.gz or something.jsonl.")
    write_atomic(target, data)
    return {"path": str(target), "memories": len(items), "bytes": len(data)}


def _archive(service: Orchestrator, items: list[MemoryItem]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        manifest = {"format": FORMAT, "memoryd": __version__, "memories": len(items)}
        _add(archive, MANIFEST, orjson.dumps(manifest))
        for item in items:
            _add(archive, f"items/{item.id}.json", item_to_json(item))
            if (file := service.file_of(item.id)) is not None:
                _add(archive, f"memories/{file.path}", file.data)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = 0o600
    archive.addfile(entry, io.BytesIO(data))


# Markdown for a client

SECTION_TOKENS = 2_000
MAX_RULES_FILE = 4_000_000
# Claude Code loads the first 200 lines or 25 kB of MEMORY.md, whichever comes first.
MEMORY_LINES = 200
MEMORY_BYTES = 25_000
MEMORY_TOKENS = 6_000
MAX_STATEMENT = 500
_DONT, _DO, _KNOW = "Don't", "Do", "Know (check before relying on it)"
_ABOUT = "From memoryd. Edits between these marks are replaced by the next `memoryd export`."


def budget_of(form: ExportForm) -> int:
    """Return the number of tokens to choose memories for."""
    return SECTION_TOKENS if form is ExportForm.SECTION else MEMORY_TOKENS


def export_markdown(chosen: Governance, target: Path, form: ExportForm, title: str) -> dict[str, Any]:
    """Write memories for a client, and return the number written.

    A section replaces the earlier one in the file, or is added at its end; everything else in the file keeps its bytes. It holds
    only what the user said or confirmed, since clients follow a rules file. MEMORY.md is written whole.

    Raises:
        InputError: The folder does not exist, the file can't be read, or MEMORY.md was not written by memoryd.
    """
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}.", fix="Create it first, or name another file.")
    before = _text_of(target)
    if form is ExportForm.SECTION:
        outside = {normalise(statement.text) for statement in statements(before)}
        groups = [
            (heading, [item for item in items if _is_users(item) and normalise(item.content) not in outside])
            for heading, items in _groups(chosen)
        ]
        text, written = _with_section(before, groups), sum(len(items) for _, items in groups)
    else:
        if before and SECTION_BEGIN not in before:
            raise InputError(
                f"{target} was not written by memoryd.", fix="Import it first with --claude-memory, then move it away."
            )
        text, written = _memory_file(_groups(chosen), title)
    data = text.encode("utf-8")
    write_atomic(target, data, private=form is ExportForm.MEMORY)
    whole = len(chosen.ids) + chosen.left_out
    return {"path": str(target), "memories": written, "bytes": len(data), "left_out": max(0, whole - written)}


def _text_of(target: Path) -> str:
    if not target.exists():
        return ""
    try:
        return read_regular(target, MAX_RULES_FILE).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{target} can't be read: {reason}.", fix="Name a text file.") from error


def _is_users(item: MemoryItem) -> bool:
    return item.trust is Trust.INSTRUCTION or CONFIRMED_TAG in item.tags


def _groups(chosen: Governance) -> list[tuple[str, Sequence[MemoryItem]]]:
    return [(_DONT, chosen.dont), (_DO, chosen.do), (_KNOW, chosen.know)]


def _bullets(items: Iterable[MemoryItem]) -> list[str]:
    texts = (shorten(harmless(storable_text(item.content).text), MAX_STATEMENT) for item in items)
    return [f"- {text}" for text in texts if text]


def _with_section(before: str, groups: Sequence[tuple[str, Sequence[MemoryItem]]]) -> str:
    lines = [SECTION_BEGIN, f"<!-- {_ABOUT} -->"]
    for heading, items in groups:
        lines += ["", f"## {heading}", "", *_bullets(items)] if items else []
    newline = "\r\n" if "\r\n" in before else "\n"
    section = newline.join([*lines, "", SECTION_END])
    begin, end = before.find(SECTION_BEGIN), before.find(SECTION_END)
    if 0 <= begin < end:
        return before[:begin] + section + before[end + len(SECTION_END) :]
    gap = "" if not before else newline if before.endswith("\n") else newline * 2
    return f"{before}{gap}{section}{newline}"


def _memory_file(groups: Sequence[tuple[str, Sequence[MemoryItem]]], title: str) -> tuple[str, int]:
    """Return the text of a MEMORY.md within the client's limits, and the number of memories in it."""
    lines = [f"# {title}", "", SECTION_BEGIN, f"<!-- {_ABOUT} -->"]
    last = ["", SECTION_END, ""]
    size = sum(len(line.encode()) + 1 for line in (*lines, *last))
    written = 0
    for heading, items in groups:
        opening = ["", f"## {heading}", ""]
        for bullet in _bullets(items):
            added = [*opening, bullet]
            cost = sum(len(line.encode()) + 1 for line in added)
            if len(lines) + len(added) + len(last) > MEMORY_LINES or size + cost > MEMORY_BYTES:
                break
            lines, size, opening, written = [*lines, *added], size + cost, [], written + 1
    return "\n".join([*lines, *last]), written
