"""Find names of things in a text: files, commands, packages, hosts, variables, flags, errors, identifiers.

Names are found by patterns, without a model. Memories about the same thing share such names. They become the entity
nodes of the graph, and the `entities` of an item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memoryd.core.text import STOP_WORDS

MAX_TEXT = 20_000
MAX_LENGTH = 120
_EXTENSIONS = """py pyi ipynb js mjs cjs ts mts tsx jsx vue svelte go rs rb ex exs erl java kt kts swift c h cc cpp hpp cs fs php
    pl lua sh bash zsh fish ps1 bat sql md mdx rst txt json jsonl json5 yaml yml toml ini cfg conf env lock xml html css scss less
    csv tsv db sqlite log proto graphql tf nix gradle plist service pem crt png jpg svg pdf zip gz whl onnx dart scala r jl
    zig""".split()
_EXTENSION = "|".join(sorted(_EXTENSIONS, key=len, reverse=True))

# At the same position, earlier patterns take precedence.
_PATTERNS = (
    ("code", r"`(?P<code>[^`\n]{2,200})`"),
    ("url", r"\b(?:https?|wss?|ssh|git|postgres(?:ql)?|redis|mysql)://(?:[^\s/@]{1,80}@)?(?P<url>[\w.-]{1,100}(?::\d{1,5})?)[^\s)>\]\"'`]*"),
    ("package", r"(?<![\w/@.])(?P<package>@[a-z0-9][\w.-]{0,60}/[a-z0-9][\w.-]{0,60})"),
    (
        "path",
        r"(?<![\w/\\.~$-])(?P<path>(?:[A-Za-z]:\\|~/|\.{1,2}/|/)?(?:[\w.@+-]{1,80}[/\\]){1,20}[\w.@+-]{1,80}/?"
        r"|~/[\w.@+-]{1,80}|/[\w.@+-]{2,80}|\.[a-z][\w-]{1,40}(?:\.[a-z]\w{0,10}){0,3})(?![\w])",
    ),
    ("file", rf"(?<![\w/\\.-])(?P<file>[\w][\w+-]{{0,80}}(?:\.[\w+-]{{1,40}}){{0,5}}\.(?:{_EXTENSION}))(?![\w/])"),
    ("named", r"\b(?P<named>Dockerfile|Makefile|Gemfile|Procfile|Jenkinsfile|Vagrantfile|LICENSE|README)\b"),
    ("flag", r"(?<![\w-])(?P<flag>--[a-z][\w-]{1,60})"),
    ("http", r"\b(?P<http>HTTP[ /]?[1-5]\d\d|(?:status|code|error)[ :]+[1-5]\d\d|exit code \d{1,3})\b"),
    (
        "version",
        r"(?<![\w.@/-])(?P<version>(?:@?[A-Za-z][\w.-]{0,60}(?:[@~^<>]=?|==)|[A-Z][\w.-]{0,60}\s+(?=v?\d+\.\d))"
        r"=?v?\d+(?:\.\d+){0,3}(?:[-+][\w.]{1,20})?)(?![\w])",
    ),
    (
        "error",
        r"\b(?P<error>(?:[A-Za-z_]\w{0,60}\.){0,4}[A-Z]\w{0,60}(?:Error|Exception|Warning|Fault)"
        r"|E[A-Z]{3,20}|ERR_[A-Z_]{2,60}|SIG[A-Z]{2,6}|TS\d{4})\b",
    ),
    ("variable", r"\$?\b(?P<variable>[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,8})\b"),
    ("ticket", r"\b(?P<ticket>[A-Z]{2,10}-\d{1,6})\b"),
    ("issue", r"(?<![\w&])(?P<issue>(?:PR|issue)\s?#?\d{1,6}|#\d{1,6})\b"),
    ("dotted", r"(?<![\w.@/-])(?P<dotted>[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{1,60}){1,6})(?:\(\))?(?![\w/@])"),
    (
        "camel",
        r"\b(?P<camel>[a-z]{1,30}[a-z0-9]*(?:[A-Z][a-z0-9]+){1,8}|(?:[A-Z][a-z0-9]+){2,8}"
        r"|[A-Z]{2,10}[a-z]+[A-Z][A-Za-z]{0,40})\b",
    ),
    ("snake", r"\b(?P<snake>_{0,2}[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,8}_{0,2})\b"),
    ("call", r"\b(?P<call>[a-z_]\w{1,60})\(\)"),
    ("product", r"(?P<product>\b[A-Z][A-Za-z0-9+]{1,30}(?:[ -][A-Z][A-Za-z0-9+]{1,30}){0,2}\b)"),
)  # fmt: skip
_FINDER = re.compile("|".join(f"(?:{pattern})" for _, pattern in _PATTERNS))
_SENTENCE_START = re.compile(r"(?:^|[.!?:。！？\n\"'“(*>#-])\s*$")
_ORDINARY = frozenset(
    """I A An The This That These Those It We You He She They If When While For From In On At To As And Or But Not No Yes Do Does
    Did Is Are Was Were Be Has Have Had Can Could Should Would Will May Must Never Always Use Using Only Also Because After Before
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September October
    November December English OK Ok API UI URL JSON CI IDE TODO NOTE FIXME
    IMPORTANT ALWAYS NEVER NOT MUST DO DONT AND OR ID IDS MVP PII""".split()
)
_TRAILING = ".,;:!?…)]}>\"'”’。，；：！？"
_LEADING = "([{<\"'“‘$"
_WORDY_DOTS = re.compile(r"^(?:e\.g|i\.e|a\.m|p\.m|vs\.|etc\.)", re.IGNORECASE)


def normalise_entity(name: str) -> str:
    """Return the name without surrounding punctuation and with single spaces. Case is preserved."""
    text = " ".join(name.split()).lstrip(_LEADING).rstrip(_TRAILING)
    return text.rstrip("/\\") or text


def _starts_sentence(text: str, start: int) -> bool:
    return _SENTENCE_START.search(text[max(0, start - 8) : start]) is not None


def _is_relative_path(name: str) -> bool:
    """Return whether the text is a path such as src/app, unlike and/or, I/O or 3/4.

    Paths have long parts, a file name, or three levels.
    """
    parts = re.split(r"[/\\\\]", name)
    wordy = any(part.casefold() in STOP_WORDS for part in parts) and "." not in parts[-1]
    return not wordy and (len(parts) > 2 or "." in parts[-1] or min(map(len, parts)) > 2) and not name.replace("/", "").isdigit()


def _is_name(kind: str, name: str, text: str, start: int) -> bool:
    if kind == "product":
        return name.split(" ")[0] not in _ORDINARY and not _starts_sentence(text, start)
    if kind == "dotted":
        return not _WORDY_DOTS.match(name) and all(len(part) > 1 for part in name.split("."))
    if kind == "path":
        return name.startswith((".", "/", "~")) or _is_relative_path(name)
    return True


def find_entities(text: str, limit: int = 12) -> tuple[str, ...]:
    """Return the first `limit` names in the text, in order of appearance and without duplicates (ignoring case).

    A URL yields only its host, and a command in backticks yields the whole command. Only the first 20,000 characters
    are searched. Never raises.
    """
    head = text[:MAX_TEXT]
    found: dict[str, str] = {}
    for match in _FINDER.finditer(head):
        if len(found) >= max(0, limit):
            break
        kind = match.lastgroup or ""
        raw = match[kind]
        name = normalise_entity(raw)
        if 1 < len(name) <= MAX_LENGTH and _is_name(kind, name, head, match.start()):
            found.setdefault(name.casefold(), name)
    return tuple(found.values())[: max(0, limit)]


# Places to which a rule may be limited

_WITHIN = re.compile(
    r"\b(?:in|inside|within|under|for|below)\s+[`\"']?(?P<folder>[\w.@-]{1,60}(?:/[\w.@-]{1,60}){0,8}/?)", re.IGNORECASE
)


# "Put migrations in sql/, not in db/" names where they go, not where the rule holds.
_PUTTING = re.compile(
    r"\b(?:put|place|stor(?:e|ed)|sav(?:e|ed)|creat(?:e|ed)|add(?:ed)?|mov(?:e|ed)|go(?:es)?|liv(?:e|es)|belongs?|kept|located)"
    r"(?:\s+[\w`'-]{1,30}){0,5}\s+$|\b(?:not|no longer|instead of|rather than) $",
    re.IGNORECASE,
)
MAX_PUTTING = 100


def named_places(text: str, entities: Sequence[str] = ()) -> Iterator[str]:
    """Yield the folders to which "in", "under" or "for" may limit a rule: paths, and names that are among the entities."""
    for folder, _ in _places(text, entities):
        yield folder


def _places(text: str, entities: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the folders with the text before them."""
    head = text[:600]
    for match in _WITHIN.finditer(head):
        folder = match["folder"].rstrip("/.").removeprefix("./")
        if ("/" in match["folder"] or folder in entities) and folder not in ("", ".", ".."):
            yield folder, head[max(0, match.start() - MAX_PUTTING) : match.start()]


def are_apart(one: str, other: str) -> bool:
    """Return whether two rules hold in different folders, or one of them everywhere, so that neither ends the other."""
    here, there = ({folder for folder, before in _places(text, ()) if not _PUTTING.search(before)} for text in (one, other))
    return here.isdisjoint(there) and bool(here or there)
