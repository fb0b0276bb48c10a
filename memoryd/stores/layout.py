"""File layout of memories: maps scope, project and session to folders and back."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from memoryd.core.files import TEMPORARY_PREFIX
from memoryd.core.text import digest
from memoryd.core.types import MemoryItem, Scope

SUFFIX = ".md"
NO_PROJECT = "none"
MAX_NAME = 80
MAX_SLUG = 60
MAX_WORD = 30
_MAX_SLUG_BYTES = 120
_ID_AT_END = re.compile(r"(?:^|[/-])(?P<id>mem_[0-9a-f]{12})\.md$")
_WORDS = re.compile(r"[^\W_]+")
_MAX_BYTES = 200
_FORBIDDEN = re.compile(r"[^\w.@+=-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_NOT_MEMORIES = frozenset({"readme.md"})


def safe_name(text: str) -> str:
    """Return a safe file name for any text: the text itself if it is safe, otherwise a readable form with a hash.

    Different texts get different names, and no name can escape its folder.
    """
    name = _FORBIDDEN.sub("-", text).strip(".-")
    if _RESERVED.fullmatch(name):
        name = f"_{name}"
    if name and name == text and len(name) <= MAX_NAME and len(name.encode("utf-8")) <= _MAX_BYTES:
        return name
    short = name[: MAX_NAME - 9].encode("utf-8")[: _MAX_BYTES - 9].decode("utf-8", "ignore").rstrip(".-")
    return f"{short or 'x'}-{digest(text)[:8]}"


def slug(content: str) -> str:
    """Return the beginning of a statement as a part of a file name: its first words in lower case, joined by hyphens."""
    plain = unicodedata.normalize("NFC", content[:400].lower())
    name = ""
    for word in _WORDS.findall(plain):
        longer = f"{name}-{word}" if name else word[:MAX_WORD]
        if len(longer) > MAX_SLUG or len(longer.encode("utf-8")) > _MAX_SLUG_BYTES:
            break
        name = longer
    return name or "memory"


def scope_folder(item: MemoryItem) -> str:
    """Return the name of the folder: `user`, `project-<project>` or `team-<project>`."""
    if item.scope is Scope.USER:
        return "user"
    return f"{item.scope.value}-{safe_name(item.project) if item.project else NO_PROJECT}"


def home_folder(item: MemoryItem) -> str:
    """Return the folder of the item's file relative to the memories folder, with forward slashes."""
    return f"{scope_folder(item)}/{safe_name(item.session) if item.session else NO_PROJECT}"


def canonical_path(item: MemoryItem) -> str:
    """Return the path of the item's file relative to the memories folder. Its name begins with the statement's first words."""
    return f"{home_folder(item)}/{slug(item.content)}-{item.id}{SUFFIX}"


def old_path(item: MemoryItem) -> str:
    """Return the path that versions before December 2026 gave the item's file, named by its id alone."""
    return f"{home_folder(item)}/{item.id}{SUFFIX}"


def is_at_home(relative: str, item: MemoryItem) -> bool:
    """Return whether a file is where memoryd puts the item's file, whatever words its name begins with."""
    return relative.rpartition("/")[0] == home_folder(item) and id_in_name(relative) == item.id


def is_named_after(relative: str, item: MemoryItem) -> bool:
    """Return whether a file has the name that memoryd gives it, in whatever folder."""
    return relative.rpartition("/")[2] == f"{slug(item.content)}-{item.id}{SUFFIX}"


def id_in_name(relative: str) -> str:
    """Return the id at the end of a file's name, or an empty string."""
    match = _ID_AT_END.search(relative)
    return match["id"] if match else ""


def scope_of_path(relative: str) -> tuple[Scope, str, str]:
    """Return the scope, project and session encoded in a file's folders. Any other path belongs to the user's scope."""
    folders = PurePosixPath(relative).parts[:-1]
    kind, _, project = folders[0].partition("-") if folders else ("", "", "")
    if kind not in (Scope.PROJECT, Scope.TEAM) or not project:
        session = folders[1] if len(folders) > 1 and folders[0] == "user" else ""
        return Scope.USER, "", session or "manual"
    return Scope(kind), "" if project == NO_PROJECT else project, folders[1] if len(folders) > 1 else "manual"


def derived_id(relative: str) -> str:
    """Return the id of a file that contains no id. It depends only on the file's path."""
    return f"mem_{digest(relative)[:12]}"


def is_memory_path(relative: str) -> bool:
    """Return whether a relative path matches the naming scheme for memories. The file itself is not examined."""
    parts = PurePosixPath(relative).parts
    return bool(parts) and not any(map(_is_hidden, parts)) and is_memory_name(parts[-1])


def is_memory_name(name: str) -> bool:
    """Return whether a file name matches the naming scheme for memories."""
    lower = name.lower()
    return lower.endswith(SUFFIX) and lower not in _NOT_MEMORIES and not _is_hidden(name)


def _is_hidden(name: str) -> bool:
    return name.startswith((".", TEMPORARY_PREFIX))
