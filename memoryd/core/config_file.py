"""Edit config.toml one setting at a time, preserving comments, order and everything else.

Each edit is verified by parsing the result. Unless it contains the old values plus this one change, nothing is written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memoryd.core.config import FIX_TOML, HOME, OLD_NAMES, check_name, current_name, parse_value, problem_of
from memoryd.core.errors import ConfigError, InputError
from memoryd.core.files import locked, write_atomic

BY_HAND = "Edit the file by hand; nothing was written."


def change_file(path: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """Set values in the file and return them parsed. None removes a setting. Either all changes are written or none.

    Raises:
        ConfigError: A name or value is invalid, or the file is not valid TOML. The file is unchanged.
    """
    parsed = {current_name(name): _checked(name, value) for name, value in values.items()}
    with locked(path.with_suffix(".lock")):
        text = _read(path)
        for name, value in parsed.items():
            for old in (old for old, new in OLD_NAMES.items() if new == name):
                text = changed(text, old, None, path)
            text = changed(text, name, value, path)
        if problem := problem_of(text, str(path)):
            raise problem
        write_atomic(path, text.encode())
    return parsed


def _checked(name: str, value: Any) -> Any:
    check_name(name, "config")
    if name == HOME:
        raise InputError("The home folder can't be set in a file inside it.", fix="Use --home or MEMORYD_HOME.")
    return None if value is None else parse_value(name, value, "config")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path} can't be read: {error}", fix=FIX_TOML) from error


def changed(text: str, name: str, value: Any, path: Path) -> str:
    """Return the text with one setting changed, or removed if the value is None.

    Raises:
        ConfigError: The setting can't be changed safely.
    """
    before = _loaded(text, path)
    lines = text.splitlines(keepends=True)
    if name in before:
        start, stop = _assignment(lines, name, path)
        lines[start:stop] = _instead(lines[start:stop], name, before[name], value)
    elif value is not None:
        at = _place(lines, name)
        if at and not lines[at - 1].endswith("\n"):
            lines[at - 1] += "\n"
        lines.insert(at, f"{name} = {literal(value)}\n")
    new = "".join(lines)
    wanted = {key: old for key, old in before.items() if key != name}
    wanted |= {} if value is None else {name: list(value) if isinstance(value, tuple) else value}
    if _loaded(new, path) != wanted:
        raise _unsafe(name, path)
    return new


def literal(value: Any) -> str:
    """Format a value as TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value)


def _loaded(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} can't be read: {error}", fix=FIX_TOML) from error


def _assignment(lines: list[str], name: str, path: Path) -> tuple[int, int]:
    """Return the line range [start, stop) of the setting. Lists and multi-line strings span several lines."""
    start_of = re.compile(rf"\s*([\"']?){re.escape(name)}\1\s*=")
    for start in (number for number, line in enumerate(lines) if start_of.match(line)):
        for stop in range(start + 1, len(lines) + 1):
            if _value_in("".join(lines[start:stop])) is not None:
                return start, stop
    raise _unsafe(name, path)


def _value_in(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _instead(old: list[str], name: str, before: Any, value: Any) -> list[str]:
    """Return the replacement lines, keeping a trailing comment."""
    comment = _comment("".join(old), name, before)
    end = "\r\n" if old[-1].endswith("\r\n") else "\n"
    if value is None:
        return [comment + end] if comment else []
    return [f"{name} = {literal(value)}{'  ' if comment else ''}{comment}{end}"]


def _comment(text: str, name: str, value: Any) -> str:
    for match in re.finditer("#", text):
        if _value_in(text[: match.start()]) == {name: value}:
            return text[match.start() :].rstrip()
    return ""


def _place(lines: list[str], name: str) -> int:
    """Return the index of the line below the setting's commented-out example, or the end of the file."""
    example = re.compile(rf"\s*#\s*{re.escape(name)}\s*=")
    found = [number for number, line in enumerate(lines) if example.match(line)]
    return found[-1] + 1 if found else len(lines)


def _unsafe(name: str, path: Path) -> ConfigError:
    return ConfigError(f"'{name}' can't be changed safely in {path}.", fix=BY_HAND)
