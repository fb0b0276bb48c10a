"""Edits of a client's settings that preserve everything the user wrote: JSON, TOML, and sections of text files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryd.clients.base import FileChange
from memoryd.core.errors import ConfigError

_BEGIN, _END = "<!-- memoryd: begin -->", "<!-- memoryd: end -->"


def own_file(path: Path, what: str, content: bytes, folder: Path | None = None) -> FileChange:
    """Return the change that writes a file owned by memoryd. The first two lines identify the file as memoryd's own."""
    mark = b"\n".join(content.split(b"\n", 2)[:2])

    def revert(present: bytes | None) -> bytes | None:
        return None if present is None or present.startswith(mark) else present

    return FileChange(path, what, lambda _: content, revert, folder)


@dataclass(frozen=True, slots=True)
class HookGroups:
    """Hooks in the form that Claude Code introduced: under `hooks`, a list of groups for each event.

    Attributes:
        groups: The group of memoryd for each event.
        mark: Text in the command of each of these hooks that no other hook contains.
    """

    groups: Mapping[str, Mapping[str, Any]]
    mark: str

    def is_ours(self, group: Any) -> bool:
        """Return whether all hooks of a group are memoryd's."""
        hooks = group.get("hooks") if isinstance(group, dict) else None
        commands = [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
        return bool(commands) and all(isinstance(command, str) and self.mark in command for command in commands)

    def changed(self, path: Path, values: Mapping[str, Any], *, remove: bool = False) -> dict[str, Any]:
        """Return the values with these groups, or without them. An older group of memoryd is replaced where it is.

        Some clients identify a hook that the user trusts by its position, so the user's groups keep theirs.
        """
        events = values.get("hooks", {})
        if not isinstance(events, dict) or not all(isinstance(groups, list) for groups in events.values()):
            raise ConfigError(f"{path}: the hooks are not lists of groups.", fix="Correct the file, then run the command again.")
        after: dict[str, list[Any]] = {}
        for event in dict.fromkeys([*events, *self.groups]):
            wanted, present = ([] if remove else [self.groups[event]] if event in self.groups else []), events.get(event, [])
            ours = [group for group in present if self.is_ours(group)]
            kept: list[Any] = []
            for group in present:
                kept += [group] if group not in ours else wanted if group is ours[0] else []
            kept += [] if ours else wanted
            if kept or event in events and not ours:
                after[event] = kept
        rest = {key: value for key, value in values.items() if key != "hooks"}
        if not after and (events or "hooks" not in values):
            return rest
        # Keep the order of the keys.
        return {key: after if key == "hooks" else value for key, value in values.items()} | {"hooks": after}


def json_entries(path: Path, what: str, entries: Mapping[tuple[str, ...], Any], hooks: HookGroups | None = None) -> FileChange:
    """Return the change that sets entries of a JSON file, each identified by its keys from the top level down, and hooks."""

    def edit(present: bytes | None) -> bytes | None:
        values, style = _parsed(path, present)
        with_hooks = hooks.changed(path, values) if hooks else values
        if with_hooks == values and all(_at(values, keys) == value for keys, value in entries.items()):
            return present
        values = with_hooks
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
        before, style = _parsed(path, present)
        values = hooks.changed(path, before, remove=True) if hooks else before
        removed = [_remove(values, keys) for keys in [keys for keys in entries if _at(values, keys) is not None]]
        if values == before and not removed:
            return present
        return style(values) if values else None

    return FileChange(path, what, edit, revert)


def _at(values: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _remove(values: dict[str, Any], keys: tuple[str, ...]) -> bool:
    """Remove an entry and every object that becomes empty as a result."""
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
    """Return the text before and after the section. A new section is appended after an empty line."""
    content = content or b""
    before, begin, rest = content.partition(_BEGIN.encode())
    _, end, after = rest.partition(f"{_END}\n".encode())
    if begin and end:
        return before, after
    return (content.rstrip(b"\n") + b"\n\n" if content.strip() else b""), b""


_QUOTED = r"""(?:"(?:[^"\\\r\n]|\\.){0,4000}"|'[^'\r\n]{0,4000}'|[^\[\]"'\r\n])"""
_TABLE = re.compile(rf"[ \t]{{0,80}}\[\[?({_QUOTED}{{1,500}})\]\]?[ \t]{{0,80}}(?:#[^\r\n]*)?")
_KEY = re.compile(r"[ \t]{0,80}([A-Za-z0-9_-]{1,80})[ \t]{0,80}=")


def toml_table(path: Path, what: str, keys: Sequence[str], values: Mapping[str, Any]) -> FileChange:
    """Return the change that sets one table of a TOML file. Everything outside the table's lines is kept byte for byte.

    The table's subtables, in which a client may keep the user's decisions, are only removed by `revert`. Values are strings,
    lists of strings, and dictionaries of strings.
    """
    written = [f"[{'.'.join(keys)}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]

    def edit(present: bytes | None) -> bytes | None:
        text, before = _toml_text(path, present)
        held = _at(before, tuple(keys))
        if isinstance(held, dict) and all(held.get(key) == value for key, value in values.items()):
            return present
        end = "\r\n" if "\r\n" in text else "\n"
        head, *own = [f"{line}{end}" for line in written]
        blocks = list(_toml_blocks(text, keys))
        if any(name == list(keys) for name, _ in blocks):
            after = "".join(_renewed(block, own, values) if name == list(keys) else block for name, block in blocks)
        else:
            gap = "" if not text.strip() else end if text.endswith("\n") else end * 2
            after = text + gap + head + "".join(own)
        if not _differs_only_in(keys, before, after, values):
            raise ConfigError(
                f"{path}: the table can't be set without changing other lines.", fix=f"Set it by hand:\n{head}{''.join(own)}"
            )
        return after.encode()

    def revert(present: bytes | None) -> bytes | None:
        if present is None:
            return None
        text, before = _toml_text(path, present)
        if _at(before, tuple(keys)) is None:
            return present
        kept = [block if name is None else _after_table(block) for name, block in _toml_blocks(text, keys)]
        after = "".join(kept)
        if not _differs_only_in(keys, before, after, None):
            raise ConfigError(f"{path}: the table can't be removed without changing other lines.", fix=f"Remove {written[0]}.")
        return after.encode() if after.strip() else None

    return FileChange(path, what, edit, revert)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(inner)}' for key, inner in value.items())} }}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(_toml(item) for item in value)}]"


def _toml_text(path: Path, content: bytes | None) -> tuple[str, dict[str, Any]]:
    try:
        text = (content or b"").decode()
        return text, tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", fix="Correct the file, then run the command again.") from error


def _toml_blocks(text: str, keys: Sequence[str]) -> Iterator[tuple[list[str] | None, str]]:
    """Yield the text in pieces, each with the keys of its table if that is the wanted one or below it, else None.

    A line in a multi-line string may look like a header; `_differs_only_in` finds out.
    """
    name: list[str] | None = None
    block: list[str] = []
    for line in _toml_lines(text):
        if header := _TABLE.fullmatch(line.rstrip("\r\n")):
            yield name, "".join(block)
            found = _toml_key(header[1])
            name, block = (found if found[: len(keys)] == list(keys) else None), []
        block.append(line)
    yield name, "".join(block)


def _toml_key(text: str) -> list[str]:
    """Return the parts of a table's name; an empty list if it is not one."""
    try:
        table: Any = tomllib.loads(f"[{text}]")
    except tomllib.TOMLDecodeError:
        return []
    parts = []
    while table:
        part, table = next(iter(table.items()))
        parts.append(part)
    return parts


def _renewed(block: str, own: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return a table with memoryd's keys renewed, and every other line as it is."""
    head, *rest = _toml_lines(block)
    kept = [line for line in rest if (key := _KEY.match(line)) is None or key[1] not in values]
    return "".join([head, *own, *kept])


def _after_table(block: str) -> str:
    """Return the empty lines and comments after a table's last key, which belong to what follows."""
    lines = _toml_lines(block)
    last = max(number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
    return "".join(lines[last + 1 :])


def _toml_lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _differs_only_in(keys: Sequence[str], before: Mapping[str, Any], text: str, values: Mapping[str, Any] | None) -> bool:
    """Return whether the text holds these values at these keys, or without values nothing, and elsewhere what it held before."""
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    held = _at(after, tuple(keys))
    as_wanted = held is None if values is None else isinstance(held, dict) and held.items() >= values.items()
    return as_wanted and _without(after, keys) == _without(before, keys)


def _without(values: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return the values without an entry, and without objects that are empty as a result."""
    first, *rest = keys
    inner = values.get(first)
    kept = _without(inner, rest) if rest and isinstance(inner, dict) else {}
    return {key: value for key, value in values.items() if key != first} | ({first: kept} if kept else {})
