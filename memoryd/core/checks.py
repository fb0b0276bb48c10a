"""Checks: the part of a rule that can be decided from a tool call alone. They are stored in the memory's file.

A check forbids something or requires something. It is data: it runs nothing, opens no file and calls no model.

| kind | forbids | fields |
|---|---|---|
| command | running a command | `words`, `unless` (flags that make it right), `instead` |
| path | changing (or with `access: read` even reading) files | `paths` |
| content | adding words or calls to files | `words`, `call`, `files`, `paths` |
| companion | running a command before another one ran | `words`, `first` |
| message | commit messages that do not match | `form`, `example` |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from memoryd.core.errors import InputError

MAX_ENTRIES = 20
MAX_ENTRY_CHARS = 120


class CheckKind(StrEnum):
    """What a check looks at."""

    COMMAND = "command"
    PATH = "path"
    CONTENT = "content"
    COMPANION = "companion"
    MESSAGE = "message"


class Access(StrEnum):
    """What must not be done with a path."""

    WRITE = "write"
    READ = "read"  # neither read nor written


class Form(StrEnum):
    """Forms of commit messages."""

    TICKET = "ticket"  # begins with a ticket such as the example
    CONVENTIONAL = "conventional"  # feat: …, fix(parser)!: …


@dataclass(frozen=True, slots=True)
class Check:
    """One check. Which fields it uses depends on its kind (see the module)."""

    kind: CheckKind
    words: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    instead: str = ""
    first: str = ""
    paths: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    call: bool = False
    access: Access = Access.WRITE
    form: Form | None = None
    example: str = ""


# Reading and writing checks

_LISTS = ("words", "unless", "paths", "files")


def check_from_dict(value: Any) -> Check:
    """Read a check from a memory file. Raises InputError that names the field."""
    if not isinstance(value, Mapping):
        raise InputError("'check' must be a mapping.", fix="Write 'check:' with the fields of docs/guard.md, or remove it.")
    known = {each.name for each in fields(Check)}
    if unknown := sorted(map(str, set(value) - known - {"mode"})):
        raise InputError(f"'check' has unknown fields: {', '.join(unknown)}.", fix=f"It may have: {', '.join(sorted(known))}.")
    try:
        found: dict[str, Any] = {name: _entries(name, value[name]) for name in _LISTS if name in value}
        found |= {name: _entry(name, value[name]) for name in ("instead", "first", "example") if name in value}
        form = Form(value["form"]) if value.get("form") else None
        check = Check(CheckKind(str(value.get("kind"))), **found, call=value.get("call") is True, form=form,
                      access=Access(value.get("access", Access.WRITE)))  # fmt: skip
    except ValueError as error:
        raise InputError(f"'check': {error}.", fix="See docs/guard.md for its fields.") from error
    _refuse_empty(check)
    return check


def _entries(name: str, value: Any) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list) or len(entries) > MAX_ENTRIES:
        raise InputError(f"'check.{name}' must be a list of at most {MAX_ENTRIES} texts.", fix="See docs/guard.md.")
    return tuple(_entry(name, entry) for entry in entries)


def _entry(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ENTRY_CHARS:
        raise InputError(f"'check.{name}' must be a text of 1 to {MAX_ENTRY_CHARS} characters.", fix="See docs/guard.md.")
    return value.strip()


def _refuse_empty(check: Check) -> None:
    needed = {
        CheckKind.COMMAND: check.words, CheckKind.PATH: check.paths, CheckKind.CONTENT: check.words,
        CheckKind.COMPANION: check.words and check.first, CheckKind.MESSAGE: check.form is not None,
    }[check.kind]  # fmt: skip
    if not needed:
        raise InputError(f"A check of kind '{check.kind.value}' lacks what it forbids.", fix="See docs/guard.md for its fields.")


def check_to_dict(check: Check) -> dict[str, Any]:
    """Return the fields of a check that differ from their defaults, as plain values."""
    out: dict[str, Any] = {"kind": check.kind.value}
    for each in fields(Check):
        value = getattr(check, each.name)
        if each.name != "kind" and value != each.default:
            out[each.name] = list(value) if isinstance(value, tuple) else value.value if isinstance(value, StrEnum) else value
    return out
