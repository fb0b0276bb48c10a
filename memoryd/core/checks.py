"""Checks: the parts of rules that can be decided from a tool call alone. They are stored in the memory file.

A check forbids or requires something. It is plain data: evaluating it runs no command, opens no file and calls no
model. Words are compared literally. Regular expressions are not supported.

| kind | forbids | fields |
|---|---|---|
| command | running a command | `words`, `unless` (flags that permit it), `branch` (only these; `!x`: all others), `instead` |
| path | changing files, or also reading them (with `access: read`) | `paths`, `files`, `unless` (other places), `new` |
| content | adding words, calls or imports to files | `words`, `call`, `imports`, `near`, `files`, `paths`, `unless` |
| branch | creating branches with other names than `words`; with `access: read` also switching to others | `words` |
| companion | running a command before another command has run | `words`, `first` (one of these) |
| message | commit messages that break a form or contain a word | `form`, `example`, `words` |

Checks on commands (all but path and content) with `paths` concern only commands that run in these folders. The word `end` of a
companion stands for the end of an answer in which files were edited (of the kind `files`, in `paths`).

A rule that forbids several kinds of things has one check with further ones in `also`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from memoryd.core.errors import InputError

MAX_ENTRIES = 40
MAX_ENTRY_CHARS = 200
MAX_ALSO = 8  # further checks of one rule


class Mode(StrEnum):
    """Response to a call that violates a check."""

    OFF = "off"  # nothing
    NOTE = "note"  # The call goes ahead, and the agent is shown the rule.
    ASK = "ask"  # The user is asked for permission.
    BLOCK = "block"  # The call is refused.


class CheckKind(StrEnum):
    """Aspect of a tool call that a check examines."""

    COMMAND = "command"
    PATH = "path"
    CONTENT = "content"
    COMPANION = "companion"
    MESSAGE = "message"
    BRANCH = "branch"


class Access(StrEnum):
    """Kind of access to a path that a check forbids."""

    WRITE = "write"
    READ = "read"  # Forbids reading and writing.


class Form(StrEnum):
    """Forms of commit messages."""

    TICKET = "ticket"  # Starts with a ticket reference like the example.
    CONVENTIONAL = "conventional"  # feat: …, fix(parser)!: …
    PREFIX = "prefix"  # Starts with the example.
    LENGTH = "length"  # The first line is at most as long as the number given as the example.
    TICKET_IN = "ticket_in"  # Contains a ticket reference like the example.
    NO_EMOJI = "no_emoji"
    CONTAINS = "contains"  # Contains the example.
    BODY = "body"  # has more than the first line
    NO_BODY = "no_body"
    NO_PERIOD = "no_period"  # the first line doesn't end with a dot
    LOWER = "lower"  # the first line starts with a lower-case letter, after its type
    UPPER = "upper"
    IMPERATIVE = "imperative"  # doesn't start with "Added", "adds" or "adding"
    EMOJI = "emoji"  # starts with one
    LANGUAGE = "language"  # is in the language that the example names
    NOT_LANGUAGE = "not_language"


class New(StrEnum):
    """Whether a path check applies to new files, existing files or both."""

    ANY = "any"
    ONLY = "only"  # Only creating files is forbidden.
    EXCEPT = "except"  # Creating files is allowed.


@dataclass(frozen=True, slots=True)
class Check:
    """One check. The fields in use depend on its kind (see the module docstring).

    Attributes:
        mode: Response to a violation, or None for the configured default.
        silenced: Forms of violations that the user marked as false alarms. Calls that match one are ignored.
        also: Further checks of the same rule. A call that violates one of them violates the rule. They have no own `also`,
            and share `mode` and `silenced`.
    """

    kind: CheckKind
    words: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    instead: str = ""
    first: tuple[str, ...] = ()
    branch: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    imports: bool = False
    paths: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    call: bool = False
    access: Access = Access.WRITE
    new: New = New.ANY
    form: Form | None = None
    example: str = ""
    mode: Mode | None = None
    silenced: tuple[str, ...] = ()
    also: tuple[Check, ...] = ()

    def parts(self) -> tuple[Check, ...]:
        """Return this check without its further ones, and each of those."""
        if not self.also:
            return (self,)
        shared = (replace(each, mode=self.mode, silenced=self.silenced) for each in self.also)
        return (replace(self, also=()), *shared)


# The JSON schema of a check that a model proposes. The mode and what is silenced are the user's.

_LIST = {"type": "array", "items": {"type": "string"}}
PROPOSED_LISTS = ("words", "unless", "first", "branch", "near", "paths", "files")
PROPOSED_FIELDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "kind": {"type": "string", "enum": [kind.value for kind in CheckKind]},
        **dict.fromkeys(PROPOSED_LISTS, _LIST),
        "instead": {"type": "string"},
        "call": {"type": "boolean"},
        "imports": {"type": "boolean"},
        "read": {"type": "boolean"},
        "new": {"type": "string", "enum": ["", New.ONLY.value, New.EXCEPT.value]},
        "form": {"type": "string", "enum": ["", *(form.value for form in Form)]},
        "example": {"type": "string"},
    }
)

# Reading and writing checks

_LISTS = ("words", "unless", "first", "branch", "near", "paths", "files", "silenced")
_TEXTS = ("instead", "example")
_SWITCHES = ("call", "imports")


def check_from_dict(value: Any) -> Check:
    """Parse a check from a memory file. Raises InputError, which names the field."""
    if not isinstance(value, Mapping):
        raise InputError("check: expected a mapping.", fix="Write 'check:' with the fields of docs/guard.md, or remove it.")
    known = {each.name for each in fields(Check)}
    if unknown := sorted(map(str, set(value) - known)):
        raise InputError(f"check: unknown fields: {', '.join(unknown)[:200]}.", fix=f"Known fields: {', '.join(sorted(known))}.")
    found: dict[str, Any] = {name: _entries(name, value[name]) for name in _LISTS if name in value}
    found |= {name: _entry(name, str(value[name])) for name in _TEXTS if value.get(name)}
    found |= {name: value[name] is True for name in _SWITCHES if name in value}
    for name, choices in (("kind", CheckKind), ("access", Access), ("new", New), ("form", Form), ("mode", Mode)):
        # YAML 1.1 reads a plain `off` as false.
        given = "off" if name == "mode" and value.get(name) is False else value.get(name)
        if given is not None or name == "kind":
            found[name] = _choice(name, choices, given)
    if "also" in value:
        found["also"] = _also(value["also"])
    check = Check(**found)
    _refuse_empty(check)
    return check


def _also(value: Any) -> tuple[Check, ...]:
    entries = [value] if isinstance(value, Mapping) else value
    if not isinstance(entries, list | tuple) or len(entries) > MAX_ALSO:
        raise InputError(f"check.also: expected a list of at most {MAX_ALSO} checks.", fix="See docs/guard.md.")
    found = tuple(check_from_dict(entry) for entry in entries)
    if any(each.also or each.mode or each.silenced for each in found):
        raise InputError(
            "check.also: a further check has no `also`, `mode` or `silenced`.", fix="Write them in the rule's first check."
        )
    return found


def _choice(name: str, choices: type[StrEnum], value: Any) -> StrEnum:
    try:
        return choices(str(value))
    except ValueError as error:
        names = ", ".join(choices)
        raise InputError(f"check.{name}: not one of {names}.", fix=f"Use one of: {names}.") from error


def _entries(name: str, value: Any) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list | tuple) or len(entries) > MAX_ENTRIES:
        raise InputError(f"check.{name}: expected a list of at most {MAX_ENTRIES} texts.", fix="See docs/guard.md.")
    return tuple(_entry(name, entry) for entry in entries)


def _entry(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ENTRY_CHARS:
        raise InputError(f"check.{name}: expected a text of 1 to {MAX_ENTRY_CHARS} characters.", fix="See docs/guard.md.")
    return value.strip()


def _refuse_empty(check: Check) -> None:
    needed = {
        CheckKind.COMMAND: check.words, CheckKind.PATH: check.paths or (check.files and check.unless),
        CheckKind.BRANCH: check.words, CheckKind.CONTENT: check.words,
        CheckKind.COMPANION: check.words and check.first, CheckKind.MESSAGE: check.form is not None or check.words,
    }[check.kind]  # fmt: skip
    if not needed:
        raise InputError(
            f"check: a check of kind '{check.kind.value}' does not specify what it forbids.",
            fix="See docs/guard.md for its fields.",
        )


def check_to_dict(check: Check) -> dict[str, Any]:
    """Return a check's non-default fields as plain values."""
    out: dict[str, Any] = {"kind": check.kind.value}
    for each in fields(Check):
        value = getattr(check, each.name)
        if each.name == "also":
            out |= {"also": [check_to_dict(part) for part in value]} if value else {}
        elif each.name != "kind" and value != each.default:
            out[each.name] = list(value) if isinstance(value, tuple) else value.value if isinstance(value, StrEnum) else value
    return out
