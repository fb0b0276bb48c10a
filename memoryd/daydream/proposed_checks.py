"""Checks that a model proposes for a rule. Only what the user's own words name can be in one, and it may not concern every call.

A model says what breaks a rule. What the user only describes ("lock files") is looked up in the vocabulary of the offline
compiler. Like every new check, an accepted one only notes, until the user raises its mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from memoryd.core.checks import (
    MAX_ALSO,
    MAX_ENTRIES,
    PROPOSED_FIELDS,
    PROPOSED_LISTS,
    Access,
    Check,
    CheckKind,
    Form,
    check_from_dict,
)
from memoryd.core.errors import InputError
from memoryd.core.text import case_folded, keywords
from memoryd.core.tool_calls import ToolCall
from memoryd.daydream.redact import redact
from memoryd.guard.compile import compile_rule
from memoryd.guard.described import (
    TESTS_IN,
    Described,
    action_described,
    code_described,
    commands_described,
    files_described,
    language_described,
    near_described,
    steps_described,
)
from memoryd.guard.evaluate import AT_END, evaluate
from memoryd.guard.gloss import EASTERN, in_english
from memoryd.guard.messages import ALTERNATIVES
from memoryd.guard.rules.words import FORBID
from memoryd.guard.vocabulary import PROGRAMS, SUBCOMMANDS
from memoryd.language import read
from memoryd.language.stems import roots

MAX_ENTRY = 80
MIN_SHARED = 0.3  # Share of a rule's words that a sentence of the user has at least if it is about the rule.
CURRENT = "<current>"  # The branch of a rule that allows no other.
# A rule that would be violated by more of the ordinary calls below than these is no rule about certain calls.
MAX_COMMANDS, MAX_EDITS = 3, 4
SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": dict(PROPOSED_FIELDS),
        "required": list(PROPOSED_FIELDS),
        "additionalProperties": False,
    },
}
# What the user must have said for a form of commit messages that no example shows.
_SAID_OF_FORM: Mapping[Form, re.Pattern[str]] = MappingProxyType(
    {
        Form.CONVENTIONAL: re.compile(r"conventional|\bfeat\b|konvention"),
        Form.EMOJI: re.compile(r"emoji|smil"),
        Form.NO_EMOJI: re.compile(r"emoji|smil"),
        Form.TICKET: re.compile(r"ticket|issue|jira|vorgang|linear"),
        Form.TICKET_IN: re.compile(r"ticket|issue|jira|vorgang|linear"),
        Form.BODY: re.compile(r"\bbody|descri|explain|\bwhy\b|beschreib|begründ|warum|erklär"),
        Form.NO_BODY: re.compile(
            r"\bbody|one[- ](?:line|liner)|single[- ]line|einzeil|(?:only|nur|just) .{0,20}(?:subject|title|betreff|titel)"
        ),
        Form.NO_PERIOD: re.compile(r"period|full stop|\bdots?\b|punkt|punto|point"),
        Form.LOWER: re.compile(r"lower|klein|min[uú]sc"),
        Form.UPPER: re.compile(r"upper|capital|groß|ma[iyjù][uú]?sc"),
        Form.IMPERATIVE: re.compile(r"imperativ|present tense|past tense|präsens|gegenwart|vergangenheit"),
    }
)
INSTEAD = r"(?<![\w-])(?:instead of|rather than|in place of|(?:an)?statt|anstelle)(?![\w-])"
_CLAUSE = re.compile(rf"[\n.!?;,:]\s|[。！？；，、：]|\bbut\b|\bsondern\b|\band\b|\bund\b|(?={INSTEAD})")
# Words that forbid without a negation. "Use pnpm without npx" forbids only what follows.
_FORBIDS_IN_PART = frozenset({"without", "ohne", "sin", "sans", "sem", "neither", "nor"})
_FORBIDDING = re.compile(rf"{INSTEAD}|(?<![\w-])(?:{'|'.join(sorted(FORBID - _FORBIDS_IN_PART))})(?![\w-])", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\b(?:it|its|them|that|this|these|those|there|existing|es|sie|ihn|davon|daran|dort|damit)\b")
# A clause that forbids without an object of its own.
_BARE = re.compile(
    r"\W{0,5}(?:(?:is|are|hands?|off|limits?|off-limits|finger|hände|weg|no|not|kein\w?|nicht|manual\w?|hand|edit\w{0,3}|chang\w{1,3}|touch\w{0,3}|allowed"
    r"|erlaubt|read-?only|frozen|forbidden|banned|verboten|taboo|tabu|gone|dead|out|history|please|pls|bitte|ever|at|all|änderungen)\W{0,5}){1,6}",
    re.IGNORECASE,
)
_WANTS = re.compile(r"\b(?:use|using|prefer|always|only|stick|switch to|go with|nutze\w?|nimm|verwende\w?|immer|nur)\b")
_FORBIDS = frozenset({CheckKind.COMMAND, CheckKind.PATH, CheckKind.CONTENT})


def accepted(proposed: Any, rule: str, said: str) -> Check | None:
    """Return the check to store with a rule, or None if there is none, or a part of it is not the user's.

    Args:
        proposed: A model's answer: objects with the keys of `PROPOSED_FIELDS`. A call that one of them matches breaks the rule.
        rule: The rule as it is kept. What the offline compiler adds to the proposal from it is stored, too.
        said: What the user said of the rule, without quotes, questions and suppositions.
    """
    if isinstance(proposed, Mapping):
        proposed = [proposed]
    if not isinstance(proposed, list | tuple) or not 1 <= len(proposed) <= MAX_ALSO + 1:
        return None
    described = Described(said)
    found: list[Check] = []
    for each in proposed:
        check = _parsed(each)
        if check is None or not _is_acceptable(check, said, described):
            return None  # A part of what a model meant may be the opposite of the whole, as with a missing exception.
        found.append(check)
    compiled = compile_rule(_own_words(rule, said)) or compile_rule(rule)
    more = [part for part in compiled.parts() if _adds_to(part, found)] if compiled else []
    return replace(found[0], also=tuple(dict.fromkeys([*found[1:], *more]))[:MAX_ALSO])


def _own_words(rule: str, said: str) -> str:
    """Return the user's sentences about the rule. A model's sentence is read less often than what the user wrote."""
    about = roots(rule)
    return " ".join(line for line in said.splitlines() if len(about & roots(line)) >= MIN_SHARED * len(about))


def _adds_to(part: Check, found: Sequence[Check]) -> bool:
    """Return whether a compiled check says the same kind of thing as a proposed one in further words.

    The compiler knows more names of what the user described. Where it understood something else, or something wider, the
    model is right more often.
    """
    if part in found or any(part.instead in check.words or check.instead in part.words for check in found):
        return False
    return any(_shape(part) == _shape(check) and not _is_wider(part, check) for check in found)


def _shape(check: Check) -> tuple[object, ...]:
    within = check.kind is not CheckKind.PATH and bool(check.paths)
    return check.kind, bool(check.unless), bool(check.branch), within, check.access, check.new, check.form, check.imports


def _is_wider(part: Check, check: Check) -> bool:
    """Return whether a compiled check lacks an exception of the proposed one, or has only the beginning of its commands."""
    begins = any(word.startswith(f"{short} ") for short in part.words for word in check.words)
    return begins or not set(check.unless) <= set(part.unless)


def _is_acceptable(check: Check, said: str, described: Described) -> bool:
    if not _is_said(check, said, described) or _is_inverted(check, described.english) or _is_too_broad(check):
        return False
    return not any(redact(entry).found for entry in _entries(check))


# What a model wrote, with descriptions looked up


def _parsed(proposed: Any) -> Check | None:
    """Return the proposed check, or None if it is malformed. It is an addition, and not worth asking the model again."""
    if not isinstance(proposed, Mapping):
        return None
    values = {name: value for name, value in proposed.items() if value not in ("", [], (), False, None)}
    if values.keys() - PROPOSED_FIELDS.keys():
        return None
    if values.pop("read", False) is True:
        values["access"] = Access.READ.value
    lists = {name: [value] if isinstance(value, str) else value for name, value in values.items() if name in PROPOSED_LISTS}
    if not all(isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value) for value in lists.values()):
        return None
    if any(len(entry) > MAX_ENTRY for value in lists.values() for entry in value):
        return None
    lists = {name: [entry for entry in value if entry.strip()] for name, value in lists.items()}
    try:
        return check_from_dict(_looked_up(values | lists))
    except InputError:
        return None


def _looked_up(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a check with what descriptions stand for."""
    kind = values.get("kind")
    out = dict(values)
    for name in {"paths", "files"} & out.keys():
        out[name] = _each(out[name], files_described)
    if kind == CheckKind.PATH:
        out = _with_places(out)
    elif kind == CheckKind.CONTENT:
        out = _with_code(out)
    elif kind == CheckKind.COMPANION:
        out["words"] = _each(out.get("words", ()), lambda text: (action_described(text) or text,))
        out["first"] = _each(out.get("first", ()), steps_described)
    elif kind == CheckKind.COMMAND:
        out["words"] = _each(out.get("words", ()), _commands)
    if kind == CheckKind.MESSAGE and out.get("form") in (Form.LANGUAGE, Form.NOT_LANGUAGE):
        out["example"] = language_described(str(out.get("example", "")))
    return {name: value for name, value in out.items() if value not in ("", [])}


def _each(entries: Sequence[str], look_up: Any) -> list[str]:
    found = (entry for text in entries for entry in look_up(text) or (text,))
    return list(dict.fromkeys(found))[:MAX_ENTRIES]


def _with_places(values: dict[str, Any]) -> dict[str, Any]:
    """Return a path check in which kinds of files without places where they belong are paths themselves."""
    values["unless"] = _each(values.get("unless", ()), lambda text: (text,))
    if not values["unless"] and not values.get("paths"):
        values["paths"] = values.pop("files", [])
    values.pop("instead", None)
    return values


def _with_code(values: dict[str, Any]) -> dict[str, Any]:
    words: list[str] = []
    for text in values.get("words", ()):
        found = code_described(text)
        words += found.words if found else (text,)
        if found and not values.get("files"):
            values["files"] = list(found.files[:MAX_ENTRIES])
        if found and found.near:
            values["near"] = list(found.near)
    values["words"] = words
    values["near"] = _each(values.get("near", ()), near_described)
    values["unless"] = _each(values.get("unless", ()), lambda text: TESTS_IN if _TESTS.fullmatch(text) else files_described(text))
    return values


_TESTS = re.compile(r"(?:the |in |unit )?tests?/?", re.IGNORECASE)
_HOST = re.compile(r"(?:https?://)?((?:[a-z\d][a-z\d-]{0,40}\.){1,5}[a-z]{2,12}(?::\d{2,5})?)/?", re.IGNORECASE)


def _commands(text: str) -> tuple[str, ...]:
    """Return the commands that a model's entry means. Flags, variables and hosts alone are wrong with any command."""
    if found := commands_described(text):
        return found
    words = text.split()
    if len(words) == 1 and (text.startswith("-") or _HOST.fullmatch(text)):
        return (f"* {text}",)
    host = _HOST.fullmatch(words[-1]) if len(words) == 2 and words[0] in ("curl", "wget", "ssh", "psql") else None
    return (f"* {host[1]}",) if host else (text,)


def _entries(check: Check) -> Iterator[str]:
    for name in PROPOSED_LISTS:
        yield from getattr(check, name)
    yield from filter(None, (check.instead, *check.example.split(ALTERNATIVES)))


# Whether the user named it


_OTHER_BRANCHES = re.compile(
    r"\b(?:stay|switch|checkout|check out|change|bleib|wechs)\w{0,5}\b.{0,60}\b(?:branch|zweig)", re.DOTALL
)


def _is_said(check: Check, said: str, described: Described) -> bool:
    """Return whether the user's words name everything in the check."""
    heard = case_folded(f"{said}\n{described.english}")
    inflected = check.words if check.kind is CheckKind.CONTENT else ()
    for entry in _entries(check):
        if entry in described or entry == AT_END and check.kind is CheckKind.COMPANION:
            continue
        if entry == CURRENT and _OTHER_BRANCHES.search(heard):
            continue
        if entry == "*" and check.kind is CheckKind.BRANCH and check.branch:
            continue  # Branches may have any name, and only their start is given.
        if not _is_named(case_folded(entry), heard, described, entry in inflected):
            return False
    return check.form is None or _is_form_said(check, heard)


def _is_named(entry: str, heard: str, described: Described, inflected: bool) -> bool:
    """Return whether the user said each word of an entry, and one of them has a meaning of its own."""
    tokens = entry.split()
    if tokens[:1] == ["*"]:
        tokens = tokens[1:]
    known = next((at for at in range(len(tokens), 0, -1) if " ".join(tokens[:at]) in described), 0)
    if tokens[:1] == ["git"] and len(tokens) > 1 and tokens[1] in SUBCOMMANDS["git"]:
        known = max(known, 1)  # "no checkout of other branches" can mean only this program
    names = known or any(_names_something(token) or token in PROGRAMS and not inflected for token in tokens)
    return bool(names) and all(_has(heard, token, inflected) for token in tokens[known:])


def _names_something(token: str) -> bool:
    """Return whether a word is neither a wildcard nor a word without a meaning of its own."""
    letters = re.sub(r"[\W_]", "", token)
    if re.match(r"--?[a-z]", token):
        return True
    return len(letters) > 1 and (not token.isalpha() or bool(keywords(token)) or token == "any")


def _has(heard: str, token: str, inflected: bool = False) -> bool:
    """Return whether the user said a word. Of a pattern, the user must have said each part between its stars."""
    if token.startswith("--") and token[2:].isalpha() and _has(heard, token[2:]):
        return True  # "push tags" names the flag --tags
    token = token.removeprefix("**/").removesuffix("/**").removesuffix("/*").removesuffix("/")
    ending = r"(?:e?s|'s|e?n)?" if inflected else ""
    parts = [part for part in token.split("*") if part]
    return bool(parts) and all(_is_heard(heard, part, ending, token) for part in parts)


def _is_heard(heard: str, part: str, ending: str, token: str) -> bool:
    """Return whether the user said a part of a word. It begins and ends a word of theirs, except at a sign next to a star."""
    before = "" if not part[0].isalnum() and not token.startswith(part) else WORD_START
    after = "" if not part[-1].isalnum() and not token.endswith(part) else WORD_END
    return re.search(f"{before}{re.escape(part)}{ending}{after}", heard) is not None


WORD_START, WORD_END = rf"(?<![^\W_{EASTERN}])", rf"(?![^\W_{EASTERN}])"


def _is_form_said(check: Check, heard: str) -> bool:
    if check.form is None or check.form in (Form.PREFIX, Form.CONTAINS, Form.LENGTH, Form.LANGUAGE, Form.NOT_LANGUAGE):
        return bool(check.example)
    said = _SAID_OF_FORM.get(check.form)
    return said is not None and said.search(heard) is not None


# Whether it forbids what the user wants


def _is_inverted(check: Check, said: str) -> bool:
    """Return whether the user forbids something, but not what the check forbids, as in "use pnpm, never npm"."""
    if check.kind not in _FORBIDS or check.unless or check.branch:
        return False
    forbidden = check.paths or check.files if check.kind is CheckKind.PATH else check.words
    heard = case_folded(said)
    clauses = [clause for clause in _CLAUSE.split(said) if clause.strip()]
    denying = [case_folded(clause) for clause in clauses if _denies(clause)]
    wanted = [case_folded(clause) for clause in clauses if not _denies(clause)]

    def named(entries: Sequence[str], where: Sequence[str]) -> bool:
        return any(_is_named_in(entry, clause, heard) for entry in entries if entry for clause in where)

    if check.instead and named((check.instead,), denying) and not named((check.instead,), wanted):
        return True
    asked = [clause for clause in wanted if _WANTS.search(clause)]
    if not denying:
        return named(forbidden, asked) and not named((check.instead,), asked)
    if named(forbidden, denying):
        return False
    # "legacy/ belongs to others, stay away from it" and "go.sum: hands off" forbid what the clause before names
    if all(entry.startswith("* ") for entry in forbidden):
        return named(forbidden, asked)  # A host may be named in another sentence: "Never connect to production. It is at …"
    points_back = any(_POINTS_BACK.search(clause) or _BARE.fullmatch(clause) for clause in denying)
    return not points_back or named(forbidden, asked)


def _is_named_in(entry: str, clause: str, heard: str) -> bool:
    """Return whether a clause names as much of an entry as the user does anywhere, or describes it."""
    tokens = [token for token in case_folded(entry).split() if _has(heard, token)]
    matter = tokens[1:] or tokens  # The program may be named before, as in "docker: builds need --pull, never --privileged".
    return all(_has(clause, token) for token in matter) if tokens else entry in Described(clause)


def _denies(text: str) -> bool:
    return denies(text) or _FORBIDDING.search(text) is not None


def denies(text: str) -> bool:
    """Return whether a text prohibits or negates something, in any language that rules are read in."""
    if any(found.negations or found.replaced for found in map(read, {text, in_english(text)})):
        return True
    return keeps_away(text)


def keeps_away(text: str) -> bool:
    """Return whether a text forbids with an idiom, such as "hands off" and "leave it alone"."""
    return _KEEPS_AWAY.search(text) is not None


_KEEPS_AWAY = re.compile(
    r"\b(?:leave|let)\b[^.;\n]{1,60}\b(?:alone|untouched|be|as (?:it|they) (?:is|are))\b|\bhands off\b|\bsteer clear\b"
    r"|\b(?:stay|keep) (?:away|out|off)\b|\bkeep\b[^.;\n]{1,60}\b(?:out of|away from)\b|\brefrain\b|\bzero \w|\w-free\b"
    r"|\bprefer\b[^.;\n]{1,60}\bover\b|\b(?:off[- ]limits|off the table|read[- ]only|look[- ]only|forbidden|banned|taboo)\b"
    r"|\b(?:is|are) (?:auto-?)?generated\b|\bgenerated (?:code|files?)\b|\b(?:build|generator) output\b"
    r"|\b(?:is|are) (?:frozen|out|dead|gone|history|sacred|immutable|written by|built by)\b"
    r"|\b(?:stays?|remains?) (?:as (?:it|they)|untouched|unchanged)\b|\b(?:only|nur) (?:be )?(?:read|lesen|gelesen)\b"
    r"|\b(?:finger|hände) (?:weg|von)\b|\bweg mit\b|\b(?:tabu|verboten|unangetastet|in ruhe|schreibgeschützt|unerwünscht)\b"
    r"|\b(?:vermeide\w{0,2}|weglassen)\b|\bbleib\w{1,2} (?:wie|unverändert|unberührt)\b"
    r"|\b(?:zabronion\w|verboden|förbjud\w{1,2}|forbudt|yasak)\b",
    re.IGNORECASE,
)


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
