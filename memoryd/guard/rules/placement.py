"""Compile rules on new files: where they go, and how they are named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memoryd.core.checks import Check, CheckKind, New
from memoryd.guard import vocabulary as v
from memoryd.guard.rules.objects import Kind, Sense, Token, objects_named, tokenize
from memoryd.guard.rules.senses import assign_senses, find_cues
from memoryd.guard.rules.words import NEGATED, entries, style_of_names

_NEW_FILES = re.compile(
    r"\b(?:creat\w{1,4}|add(?:ing)?|put|place|new|anlegen|ablegen|lege|leg|neue\w{0,2}|write|drop|dump|generate|save|go|goes|belong\w{0,2}|gehör\w{1,3}|kommen|live|only in|only under|nur in|nur unter|anlegt|erstell\w{1,3}|store)\b",
    re.IGNORECASE,
)
_NAMES_FILES = re.compile(
    r"\bfile ?names?\b|\bnam(?:e|ed|ing)\b|\b(?:kebab|snake|pascal|camel)[- _]?case\b|\b(?:always|only|never|not|must|should|stay|reside|sit|nur|immer|nie|nicht|no)\s(?:\w{1,10}\s){0,3}?(?:in|under|inside|unter|below|next to|beside|outside)\b",
    re.IGNORECASE,
)
_ROOT_WORDS = re.compile(
    r"\b(?:project|repo|repository|repo's|top|workspace|projekt)[- ]?(?:root|top level|wurzel)\b|\b(?:in|to|into|at|im|ins) (?:the |den |dem )?(?:root|top level|projektroot|wurzelverzeichnis|hauptverzeichnis|project root|repo root)\b",
    re.IGNORECASE,
)


def places_of_new_files(rule: str) -> Check | None:
    """Compile rules about where new files go. The kind of the files and their place must both be named."""
    if not (
        _NEW_FILES.search(rule) or _NAMES_FILES.search(rule) or re.match(r"\W{0,3}(?:all|alle|every|each)\b", rule, re.IGNORECASE)
    ) or re.search(r"\b(?:commit|push|import|before|after|run)\b", rule, re.IGNORECASE):
        return None
    if _ROOT_WORDS.search(rule):
        return _not_in_root(rule)
    tokens = tokenize(rule)
    if check := _name_patterns(rule, tokens):
        return check
    subject = _kind_of_files(rule)
    return _unknown_files(rule, tokens) if subject is None else _known_files(rule, tokens, *subject)


def _not_in_root(rule: str) -> Check | None:
    """Compile "no new files in the project's root"."""
    before = r"\b(?:no|put|create|add|any|keine?|place) (?:new |loose |any |neuen? )?"
    files = next(
        (files for pattern, files in v.FILE_KINDS if re.search(rf"{before}(?:{pattern})(?!\w)", rule, re.IGNORECASE)), ()
    )
    named = files or re.search(
        r"\b(?:files?|dateien|datei|anything|nothing|stuff|things?|nichts|scratch|clutter)\b", rule, re.IGNORECASE
    )
    return Check(CheckKind.PATH, paths=(".",), files=files, new=New.ONLY) if named and NEGATED.search(rule) else None


def _unknown_files(rule: str, tokens: Sequence[Token]) -> Check | None:
    """Compile a rule on files of no known kind: their names, or where nothing new may go."""
    style = style_of_names(rule)
    if style and re.search(r"\b(?:file ?names?|filenames?|dateinamen)\b", rule, re.IGNORECASE):
        return Check(CheckKind.PATH, paths=("*",), unless=(style,), new=New.ONLY)
    if not NEGATED.search(rule):
        return None
    if re.search(r"\bbarrels?\b", rule, re.IGNORECASE):
        return Check(CheckKind.PATH, paths=("index.ts", "index.tsx", "index.js"), new=New.ONLY)
    return _no_new_files(rule, tokens) or _not_there(rule, tokens)


def _known_files(rule: str, tokens: Sequence[Token], files: tuple[str, ...], end: int) -> Check | None:
    """Compile a rule on a known kind of files: where they go, where they don't, and how they are named."""
    style = style_of_names(rule)
    if style and files[0].startswith("[A-Z]*"):
        files = entries([f"*{pattern.removeprefix('[A-Z]*')}" for pattern in files])
    allowed, forbidden = _places_of_files(rule, tokens, end)
    if allowed:
        # Some documents belong where they are.
        more = ("README.md", "CHANGELOG.md", "CLAUDE.md", "CONTRIBUTING.md") if files == ("*.md",) else ()
        check = Check(CheckKind.PATH, files=files, unless=entries([*allowed, *more]), new=New.ONLY)
        if re.search(
            r"\b(?:ending|extension|suffix|endung)\b", rule, re.IGNORECASE
        ):  # A file without any ending has a wrong one.
            check = replace(check, also=(Check(CheckKind.PATH, paths=entries(allowed), unless=("*.*",), new=New.ONLY),))
        return check
    if forbidden:
        return Check(CheckKind.PATH, paths=entries(forbidden), files=files, new=New.ONLY)
    if files == v.TEST_FILES and _BESIDE.search(rule):
        return Check(CheckKind.PATH, paths=("tests/", "test/", "__tests__/", "*/__tests__/*", "spec/"), files=files, new=New.ONLY)
    return Check(CheckKind.PATH, paths=("*",), files=files, unless=(style,), new=New.ONLY) if style else None


def _not_there(rule: str, tokens: Sequence[Token]) -> Check | None:
    """Compile "new endpoints go in api/v2, not in api/v1": nothing new in the place that is refused."""
    if not re.search(r"\b(?:new|neue\w?|goes?|put|place|belongs?|live|kommen|gehör\w{1,3}|put)\b", rule, re.IGNORECASE):
        return None
    allowed, forbidden = _places_of_files(rule, tokens, 0)
    return Check(CheckKind.PATH, paths=entries(forbidden), new=New.ONLY) if allowed and forbidden else None


_BESIDE = re.compile(r"\b(?:next to|beside|alongside|co-?located?|same (?:folder|directory) as|neben)\b", re.IGNORECASE)
_BEFORE_KIND = (
    r"(?:\W|\b(?:please|always|all|any|new|every|each|put|place|create|add|save|store|keep|write|bitte|alle|neue|neuen|immer|lege|leg|unit|integration|the|our|only|no|never|don't|do not|more"
    r"|react|vue|angular|python|typescript|javascript|go|rust|java|kotlin|database|db|custom|shared|reusable|static|alembic|rails|django|generated|extra|own|design|api|app|helper|one-off|throwaway"
    r"|in|for|to|a|an|some|you|must|should|los|las|les|il|gli|le|la|el|os|as|i|de|kein\w{0,2}|nicht|keine)\b){0,10}"
)


def _kind_of_files(rule: str) -> tuple[tuple[str, ...], int] | None:
    """Return the patterns of the kind of files that a rule begins with, and where its name ends."""
    found = [
        (match.end(), files)
        for pattern, files in v.FILE_KINDS
        if (match := re.match(rf"{_BEFORE_KIND}(?:{pattern})(?![\w/.])", rule, re.IGNORECASE))
    ]
    if not found:
        return None
    end, files = max(found, key=lambda pair: pair[0])
    return files, end


_TO_PLACE = re.compile(
    r"\b(?:in|into|under|to|unter|nach|inside|within|below|at|inside of|im|ins|from|outside|außerhalb)\s(?:the\s|den\s|dem\s|der\s|our\s|folder\s|directory\s|ordner\s){0,2}[`'\"]?$",
    re.IGNORECASE,
)
_PLACED = re.compile(r"[`'\"]?\s(?:folder\s|directory\s)?(?:to|in|under)\b", re.IGNORECASE)


def _places_of_files(rule: str, tokens: Sequence[Token], start: int) -> tuple[list[str], list[str]]:
    """Return the folders where a rule wants files, and those where it doesn't."""
    allowed: list[str] = []
    forbidden: list[str] = []
    for thing in objects_named(rule, tokens):
        text = thing.text.removesuffix("*").removesuffix("*")
        if thing.kind is not Kind.PATH or "/" not in text or "*" in text or re.search(r"\.\w{1,5}$", text) or thing.at < start:
            continue
        at = thing.at + (rule[thing.at] in "`'\"")
        end = at + len(thing.text.rstrip("/"))
        if not (_TO_PLACE.search(rule[:at]) or _PLACED.match(rule[end:].lstrip("/"))):
            continue
        first = max((match.end() for match in _SEGMENTS.finditer(rule, 0, at)), default=0)
        last = next((match.start() for match in _SEGMENTS.finditer(rule, end)), len(rule))
        refused = NEGATED.search(rule[first:last]) or _INSTEAD.search(rule[first:at])
        outside = re.search(r"\b(?:outside|außerhalb)\b", rule[first:at], re.IGNORECASE)
        (forbidden if bool(refused) is not bool(outside) else allowed).append(text)
    return allowed, [path for path in forbidden if path not in allowed]


_SEGMENTS = re.compile(
    r"[,;:!—()]|\.(?=\s|$)|(?=\b(?:not|never|instead of|rather than|statt|anstatt|nicht|but|sondern|and not|und nicht)\s)",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"^(?:instead of|rather than|statt|anstatt)\b", re.IGNORECASE)


def _name_patterns(rule: str, tokens: Sequence[Token]) -> Check | None:
    """Compile "name tests *.spec.ts, not *.test.ts"."""
    named = [
        thing for thing in objects_named(rule, tokens) if thing.kind is Kind.PATH and "*" in thing.text and "/" not in thing.text
    ]
    if len(named) < 2 or not re.search(
        r"\b(?:nam\w{1,3}|call\w{0,2}|suffix|end\w{0,3}|tests?|files?|heiß\w{1,2}|nenn\w{1,2})\b", rule, re.IGNORECASE
    ):
        return None
    cues = find_cues(rule, tokens)
    assign_senses(rule, named, cues)
    bad = [thing.text for thing in named if thing.sense is Sense.FORBID]
    return Check(CheckKind.PATH, paths=entries(bad), new=New.ONLY) if bad and len(bad) < len(named) else None


_FORBIDDEN_FILES = re.compile(
    r"\b(?:no|never|don't|do not|not|avoid|kein\w{0,2}|nie|niemals)\b[^.;]{0,20}?\b(?:(?:creat|add|generat|writ|put|plac|anleg|erstell)\w{0,4}|new|neue\w?)\s(?:any |a |new |additional |extra |neue )*"
    r"(?:(?P<kind>markdown|\*?\.?md|readme|documentation|doc|summary \.md)\s?-?)?(?:files?|dateien|datei|readmes?)\b",
    re.IGNORECASE,
)


def _no_new_files(rule: str, tokens: Sequence[Token]) -> Check | None:
    """Compile "no new files in src/old/" and "never create markdown files"."""
    if not (found := _FORBIDDEN_FILES.search(rule)):
        return None
    folders = [
        thing.text
        for thing in objects_named(rule, tokens)
        if thing.kind is Kind.PATH and thing.within and thing.at > found.start()
    ]
    kind = (found["kind"] or "").lower()
    files = ("README*",) if kind == "readme" or "readme" in found[0].lower() else ("*.md",) if kind else ()
    if not folders and not files:
        return None
    return Check(CheckKind.PATH, paths=entries(folders) or ("*",), files=files, new=New.ONLY)
