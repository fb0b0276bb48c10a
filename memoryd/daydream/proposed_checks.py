"""Checks that a model proposes for a rule. Only what the user's own words name can be in one, and it may not concern every call.

The offline compiler comes first: a proposal only counts for a rule that it can't read. Like every new check, an accepted one only
notes, until the user raises its mode.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from memoryd.core.checks import Access, Check, CheckKind, Form, check_from_dict
from memoryd.core.errors import InputError
from memoryd.core.text import keywords
from memoryd.core.tool_calls import ToolCall
from memoryd.daydream.redact import redact
from memoryd.guard.compile import compile_rule
from memoryd.guard.evaluate import AT_END, evaluate
from memoryd.guard.rules.words import code_languages, find_actions
from memoryd.language import read

MAX_ENTRY = 80
# A rule that would be violated by more of the ordinary calls below than these is no rule about certain calls.
MAX_COMMANDS, MAX_EDITS = 3, 4
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_LISTS = ("words", "unless", "first", "branch", "paths", "files")
FIELDS: dict[str, Any] = {
    "kind": {"type": "string", "enum": [kind.value for kind in CheckKind]},
    **dict.fromkeys(_LISTS, _TEXTS),
    "instead": {"type": "string"},
    "call": {"type": "boolean"},
    "imports": {"type": "boolean"},
    "read": {"type": "boolean"},
    "form": {"type": "string", "enum": ["", *(form.value for form in Form)]},
    "example": {"type": "string"},
}
SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {"type": "object", "properties": FIELDS, "required": list(FIELDS), "additionalProperties": False},
}
# What the user must have said for a form of commit messages that no example shows.
_SAID_OF_FORM: Mapping[Form, re.Pattern[str]] = MappingProxyType(
    {
        Form.CONVENTIONAL: re.compile(r"conventional|\bfeat\b"),
        Form.NO_EMOJI: re.compile(r"emoji|smil"),
        Form.TICKET: re.compile(r"ticket|issue|jira|vorgang"),
        Form.TICKET_IN: re.compile(r"ticket|issue|jira|vorgang"),
    }
)
_CLAUSE = re.compile(r"[\n.!?;,:。！？；，]\s|\bbut\b|\bsondern\b|\band\b|\bund\b")
_POINTS_BACK = re.compile(r"\b(?:it|its|them|that|this|these|those|there|es|sie|ihn|davon|daran|dort|damit)\b")
_WANTS = re.compile(r"\b(?:use|using|prefer|always|only|stick|switch to|go with|nutze\w?|nimm|verwende\w?|immer|nur)\b")
_FORBIDS = frozenset({CheckKind.COMMAND, CheckKind.PATH, CheckKind.CONTENT})


def accepted(proposed: Any, rule: str, said: str) -> Check | None:
    """Return the check to store with a rule, or None if there is none, or the offline compiler reads the rule itself.

    Args:
        proposed: A model's answer: a list of at most one object, with the keys of `FIELDS`.
        rule: The rule as it is kept.
        said: What the user said of it, without quotes, questions and suppositions.
    """
    check = _parsed(proposed)
    if check is None or compile_rule(rule) is not None:
        return None
    if not _is_said(check, said) or _is_inverted(check, said) or _is_too_broad(check):
        return None
    return None if any(redact(entry).found for entry in _entries(check)) else check


def _parsed(proposed: Any) -> Check | None:
    """Return the proposed check, or None if it is malformed. It is an addition, and not worth asking the model again."""
    if not isinstance(proposed, list | tuple) or len(proposed) != 1 or not isinstance(proposed[0], Mapping):
        return None
    values = {name: value for name, value in proposed[0].items() if value not in ("", [], (), False, None)}
    if values.keys() - FIELDS.keys():
        return None
    if values.pop("read", False) is True:
        values["access"] = Access.READ.value
    try:
        check = check_from_dict(values)
    except InputError:
        return None
    return check if all(len(entry) <= MAX_ENTRY for entry in _entries(check)) else None


def _entries(check: Check) -> Iterator[str]:
    for name in _LISTS:
        yield from getattr(check, name)
    yield from filter(None, (check.instead, check.example))


# Whether the user named it


def _is_said(check: Check, said: str) -> bool:
    """Return whether the user's words name everything in the check."""
    heard = _folded(said)
    known = frozenset(command for _, command in find_actions(said))  # "sign commits" names `git commit`
    patterns = code_languages(said)
    commands = (*check.words, *check.first, *check.unless, check.instead)
    for entry in _entries(check):
        if entry == AT_END and check.kind is CheckKind.COMPANION or entry in commands and entry in known:
            continue
        if entry in check.files and entry in patterns:
            continue
        if not all(_names_something(token) and _has(heard, token) for token in _folded(entry).split()):
            return False
    return check.form is None or _is_form_said(check, heard)


def _names_something(token: str) -> bool:
    """Return whether a word is neither a wildcard nor a word without a meaning of its own."""
    letters = re.sub(r"[\W_]", "", token)
    return len(letters) > 1 and (not token.isalpha() or bool(keywords(token)) or token == "any") or token.startswith("-")


def _has(heard: str, token: str) -> bool:
    token = token.removeprefix("*") if token.startswith("*.") else token.removesuffix("/*").removesuffix("/**")
    return re.search(rf"(?<![^\W_]){re.escape(token)}(?![^\W_])", heard) is not None


def _is_form_said(check: Check, heard: str) -> bool:
    if check.form is None or check.form in (Form.PREFIX, Form.CONTAINS, Form.LENGTH):
        return bool(check.example)
    said = _SAID_OF_FORM.get(check.form)
    return said is not None and said.search(heard) is not None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


# Whether it forbids what the user wants


def _is_inverted(check: Check, said: str) -> bool:
    """Return whether the user forbids something, but not what the check forbids, as in "use pnpm, never npm"."""
    if check.kind not in _FORBIDS or check.unless or check.branch:
        return False
    forbidden = check.paths or check.files if check.kind is CheckKind.PATH else check.words
    clauses = [clause for clause in _CLAUSE.split(said) if clause.strip()]
    denying = [_folded(clause) for clause in clauses if _denies(clause)]
    wanted = [_folded(clause) for clause in clauses if not _denies(clause)]

    def named(entries: Sequence[str], where: Sequence[str]) -> bool:
        return any(all(_has(clause, token) for token in _folded(entry).split()) for entry in entries for clause in where)

    if check.instead and named((check.instead,), denying) and not named((check.instead,), wanted):
        return True
    if not denying or named(forbidden, denying):
        return False
    # "legacy/ belongs to others, stay away from it" forbids what the clause before names
    return not any(_POINTS_BACK.search(clause) for clause in denying) or named(forbidden, [c for c in wanted if _WANTS.search(c)])


def _denies(text: str) -> bool:
    found = read(text)
    return bool(found.negations or found.replaced)


# Whether it is about certain calls


_COMMANDS = (
    "ls -la", "cat README.md", "git status", "git diff HEAD", "git log --oneline -5", "git add -A", "git commit -m Fix",
    "git push origin topic", "git checkout -b topic", "grep -rn name src", "npm test", "npm run build", "pnpm install",
    "python -m pytest -q", "python tools/report.py", "make", "make test", "docker compose up -d", "cargo build", "go test ./...",
    "curl -s https://example.com/status", "mkdir -p build", "rm -rf build", "sed -n 1,20p src/app.py", "cd src && ls",
)  # fmt: skip
_CODE = (
    ("src/app.py", "import os\n\ndef total(items: list[float]) -> float:\n    return sum(item for item in items if item)\n"),
    ("tests/test_app.py", "from app import total\n\ndef test_total() -> None:\n    assert total([1.0]) == 1\n"),
    ("src/index.ts", 'import { run } from "./run";\nexport const main = async (): Promise<void> => { await run(); };\n'),
    ("web/app.js", "function show(value) {\n  if (value !== null) { console.log(value); }\n  return value;\n}\n"),
    ("lib/util.go", "package util\n\nfunc Add(a, b int) int {\n\tif a > 0 { return a + b }\n\treturn b\n}\n"),
    ("src/main.rs", "fn main() {\n    let value: u32 = 3;\n    for each in 0..value { println!(\"{}\", each); }\n}\n"),
    ("db/001_start.sql", "CREATE TABLE orders (id INTEGER PRIMARY KEY, at TIMESTAMP NOT NULL);\n"),
    ("config/settings.yaml", "name: app\nport: 8000\nlog: info\n"),
    ("docs/guide.md", "# Guide\n\nStart the server and open the page.\n"),
    ("package.json", '{"name": "app", "version": "1.0.0", "scripts": {"test": "vitest"}}\n'),
)  # fmt: skip


@cache
def _ordinary_calls() -> tuple[tuple[ToolCall, ...], tuple[ToolCall, ...]]:
    commands = tuple(ToolCall("Bash", {"command": line}, "/w", "/w") for line in _COMMANDS)
    edits = tuple(
        ToolCall("Edit", {"file_path": f"/w/{path}", "old_string": "", "new_string": text}, "/w", "/w") for path, text in _CODE
    )
    return commands, edits


def _is_too_broad(check: Check) -> bool:
    commands, edits = _ordinary_calls()
    return _violations(check, commands) > MAX_COMMANDS or _violations(check, edits) > MAX_EDITS


def _violations(check: Check, calls: Sequence[ToolCall]) -> int:
    return sum(bool(evaluate(check, call, (), "topic").violation) for call in calls)
