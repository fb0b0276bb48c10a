"""Edits of a client's settings that preserve everything the user wrote: JSON, and sections of text files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memoryd.clients.base import FileChange
from memoryd.core.errors import ConfigError

_BEGIN, _END = "<!-- memoryd: begin -->", "<!-- memoryd: end -->"


def own_file(path: Path, what: str, content: bytes) -> FileChange:
    """Return the change that writes a file owned by memoryd. The first two lines identify the file as memoryd's own."""
    mark = b"\n".join(content.split(b"\n", 2)[:2])

    def revert(present: bytes | None) -> bytes | None:
        return None if present is None or present.startswith(mark) else present

    return FileChange(path, what, lambda _: content, revert)


def json_entries(path: Path, what: str, entries: Mapping[tuple[str, ...], Any]) -> FileChange:
    """Return the change that sets entries of a JSON file, each identified by its keys from the top level down."""

    def edit(present: bytes | None) -> bytes | None:
        values, style = _parsed(path, present)
        if all(_at(values, keys) == value for keys, value in entries.items()):
            return present
        for keys, value in entries.items():
            place = values
            for key in keys[:-1]:
                place = place.setdefault(key, {})
                if not isinstance(place, dict):
                    raise ConfigError(f"{path}: {key!r} is not an object.", fix="Correct the file, then run the command again.")
            place[keys[-1]] = value
        return style(values)

    def revert(present: bytes | None) -> bytes | None:
        if present is None:
            return None
        values, style = _parsed(path, present)
        if not any(_remove(values, keys) for keys in [keys for keys in entries if _at(values, keys) is not None]):
            return present
        return style(values) if values else None

    return FileChange(path, what, edit, revert)


def _at(values: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _remove(values: dict[str, Any], keys: tuple[str, ...]) -> bool:
    """Remove an entry, and every object that becomes empty as a result."""
    if len(keys) > 1:
        inner = values[keys[0]]
        _remove(inner, keys[1:])
        if inner:
            return True
    del values[keys[0]]
    return True


def _parsed(path: Path, content: bytes | None) -> tuple[dict[str, Any], Callable[[dict[str, Any]], bytes]]:
    """Return the file's values, and a function that serialises changed values in the file's style."""
    text = (content or b"").decode("utf-8", "surrogateescape")
    try:
        values = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise ConfigError(
            f"{path} is not plain JSON: {error}. It may contain comments, which would be lost.",
            fix="Add the entries by hand; 'memoryd connect --dry-run' prints them, and docs/clients.md explains them.",
        ) from error
    if not isinstance(values, dict):
        raise ConfigError(f"{path} does not contain a JSON object.", fix="Correct the file, then run the command again.")
    second = text.splitlines()[1] if text.count("\n") > 1 else "  "
    indent = second[: len(second) - len(second.lstrip())] or "  "
    end = "\n" if text.endswith("\n") or not text.strip() else ""

    def written(changed: dict[str, Any]) -> bytes:
        return (json.dumps(changed, indent=indent, ensure_ascii=False) + end).encode("utf-8", "surrogateescape")

    return values, written


def text_section(path: Path, what: str, section: str) -> FileChange:
    """Return the change that maintains one marked section of a text file. The rest of the file is not changed."""

    def edit(present: bytes | None) -> bytes | None:
        before, after = _around(present)
        return before + f"{_BEGIN}\n{section.strip()}\n{_END}\n".encode() + after

    def revert(present: bytes | None) -> bytes | None:
        if present is None or _BEGIN.encode() not in present:
            return present
        before, after = _around(present)
        return before.removesuffix(b"\n") + after if (before + after).strip() else None

    return FileChange(path, what, edit, revert)


def _around(content: bytes | None) -> tuple[bytes, bytes]:
    """Return the text before and after the section. A new section goes at the end, after an empty line."""
    content = content or b""
    before, begin, rest = content.partition(_BEGIN.encode())
    _, end, after = rest.partition(f"{_END}\n".encode())
    if begin and end:
        return before, after
    return (content.rstrip(b"\n") + b"\n\n" if content.strip() else b""), b""
