"""Compile rules on new files: where they go, and how they are named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memoryd.core.checks import Check, CheckKind, New
from memoryd.guard import vocabulary as v
from memoryd.guard.rules.objects import Kind, Sense, Token, objects_named, tokenize
from memoryd.guard.rules.senses import assign_senses, find_cues
from memoryd.guard.rules.words import NEGATED, REFUSED_BEFORE, entries, style_of_names

_NEW_FILES = re.compile(
    r"\b(?:creat\w{1,4}|add(?:ing)?|put|place|new|anlegen|ablegen|lege|leg|neue\w{0,2}|write|drop|dump|generate|save|go|goes|belong\w{0,2}|gehör\w{1,3}|kommen|liegen|liegt|live|only in|only under|nur in|nur unter|anlegt|erstell\w{1,3}|store)\b",
    re.IGNORECASE,
)
_NAMES_FILES = re.compile(
    r"\bfile ?names?\b|\bnam(?:e|ed|ing)\b|\b(?:kebab|snake|pascal|camel)[- _]?case\b|\b(?:always|only|never|not|must|should|stay|reside|sit|nur|immer|nie|nicht|no)\s(?:\w{1,10}\s){0,3}?(?:in|under|inside|unter|below|next to|beside|outside)\b",
    re.IGNORECASE,
)
_ROOT_WORDS = re.compile(
    r"\b(?:project|repo|repository|repo's|top|workspace|projekt)[- ]?(?:root|top level|wurzel)\b|\btop[- ]level (?:folder|directory)\b|\b(?:keep|leave) the (?:repo(?:sitory)? |project )?root (?:clean|tidy|free|alone)\b|\b(?:in|to|into|at|im|ins) (?:the |den |dem )?(?:root|top level|projektroot|wurzelverzeichnis|hauptverzeichnis|project root|repo root)\b",
    re.IGNORECASE,
)


def places_of_new_files(rule: str) -> Check | None:
    """Compile rules about where new files go. The kind of the files and their place must both be named."""
    if not (
        _NEW_FILES.search(rule)
        or _ROOT_WORDS.search(rule)
        or _NO_ENDING.search(rule)
        or _NAMED.search(rule)
        or _NOTHING_NEW.search(rule)
        or _TEST_NAMES.search(rule)
        or _is_kind_in_place(rule)
        or _NAMES_FILES.search(rule)
        or re.match(r"\W{0,3}(?:all|alle|every|each)\b", rule, re.IGNORECASE)
    ) or re.search(r"\b(?:commit|push|import|before|after|run)\b", rule, re.IGNORECASE):
        return None
    if _ROOT_WORDS.search(rule) and (check := _not_in_root(rule)):
        return check
    tokens = tokenize(rule)
    if check := _name_patterns(rule, tokens):
        return check
    if check := _test_names(rule) or _of_endings(rule):
        return check
    subject = _kind_of_files(rule)
    return _unknown_files(rule, tokens) if subject is None else _known_files(rule, tokens, *subject)


def _is_kind_in_place(rule: str) -> bool:
    """Return whether a rule only says where a kind of files is, as in "fonts in assets/fonts"."""
    subject = _kind_of_files(rule)
    return subject is not None and _AT_PLACE.match(rule[subject[1] :]) is not None


_AT_PLACE = re.compile(
    r"\s(?:only\s|always\s|please\s|files\s){0,2}(?:in|under|inside|unter)\s[`'\"]?[\w.-]{1,40}/", re.IGNORECASE
)


def _not_in_root(rule: str) -> Check | None:
    """Compile "no new files in the project's root"."""
    before = r"\b(?:no|put|create|add|any|keine?|place) (?:new |loose |any |neuen? )?"
    files = next(
        (files for pattern, files in v.FILE_KINDS if re.search(rf"{before}(?:{pattern})(?!\w)", rule, re.IGNORECASE)), ()
    )
    named = files or re.search(
        r"\b(?:files?|dateien|datei|anything|nothing|stuff|things?|nichts|scratch|clutter|clean|tidy)\b", rule, re.IGNORECASE
    )
    return (
        Check(CheckKind.PATH, paths=(".",), files=files, new=New.ONLY)
        if named and (NEGATED.search(rule) or _TIDY.search(rule))
        else None
    )


_TIDY = re.compile(r"\b(?:clean|tidy)\b", re.IGNORECASE)


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
    if style:
        return Check(CheckKind.PATH, paths=("*",), files=files, unless=(style,), new=New.ONLY)
    return Check(CheckKind.PATH, paths=("*",), files=files, new=New.ONLY) if _NONE_OF_KIND.search(rule) else None


# "Don't create markdown files", wherever that may be.
_NONE_OF_KIND = re.compile(
    r"^\W{0,3}(?:please\s)?(?:never|don't|do not)\s(?:ever\s)?(?:create|add|generate|write)\s(?:any\s|new\s|extra\s|additional\s){0,2}[\w.*-]{2,20}\sfiles?\b(?!\s(?:in|under|into|to|outside|with|from|for|by|without)\b)",
    re.IGNORECASE,
)


def _not_there(rule: str, tokens: Sequence[Token]) -> Check | None:
    """Compile "new endpoints go in api/v2, not in api/v1": nothing new in the place that is refused."""
    if not re.search(r"\b(?:new|neue\w?|goes?|put|place|belongs?|live|kommen|gehör\w{1,3}|put)\b", rule, re.IGNORECASE):
        return None
    allowed, forbidden = _places_of_files(rule, tokens, 0)
    if any(path.strip("/") in v.WHOLE_TREES for path in forbidden) and not _ANY_FILE.search(rule):
        return None  # "generated output goes to out/, not to src/" is not about all files
    return Check(CheckKind.PATH, paths=entries(forbidden), new=New.ONLY) if allowed and forbidden else None


_ANY_FILE = re.compile(r"\b(?:files?|anything|nothing|everything|all|code|dateien|nichts|alles|stuff)\b", re.IGNORECASE)


_BESIDE = re.compile(r"\b(?:next to|beside|alongside|co-?located?|same (?:folder|directory) as|neben)\b", re.IGNORECASE)
_BEFORE_KIND = (
    r"(?:\W|\b(?:please|always|all|any|new|every|each|put|place|create|add|save|store|keep|write|bitte|alle|neue|neuen|immer|lege|leg|unit|integration|the|our|only|no|never|don't|do not|more|test|generate"
    r"|react|vue|angular|python|typescript|javascript|go|rust|java|kotlin|database|db|custom|shared|reusable|static|alembic|rails|django|generated|extra|own|design|api|app|helper|one-off|throwaway"
    r"|in|for|to|a|an|some|you|must|should|los|las|les|il|gli|le|la|el|os|as|i|de|kein\w{0,2}|nicht|keine)\b){0,10}"
)


# "Test fixtures" are no tests, and "script output" is no script.
_OF_OTHER_KIND = r"(?:fixtures?|data|helpers?|utils|utilities|factories|outputs?|results?|reports?|configs?|logs?)\b"


def _kind_of_files(rule: str) -> tuple[tuple[str, ...], int] | None:
    """Return the patterns of the kind of files that a rule begins with, and where its name ends."""
    found = [
        (match.end(), -match.start("kind"), files)
        for pattern, files in v.FILE_KINDS
        if (match := re.match(rf"{_BEFORE_KIND}(?P<kind>{pattern})(?![\w/.]|\s{_OF_OTHER_KIND})", rule, re.IGNORECASE))
    ]
    if not found:
        return None
    end, _, files = max(found, key=lambda each: each[:2])  # the longest name of a kind
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


_TEST_NAMES = re.compile(
    r"^\W{0,3}(?:please\s|name\s|all\s|our\s|the\s|unit\s){0,3}(?:tests?|test files|specs?)\b[^.;,]{0,30}?\s(?:(?:are|end|ends|ending|is|in|with|named|called|must be|like)\s){0,3}[`'\"]?"
    r"(?P<name>\*?\.(?:spec|test)\.\w{1,4}|test_\*\.\w{1,4}|\*_(?:test|spec)\.\w{1,4})",
    re.IGNORECASE,
)


def _test_names(rule: str) -> Check | None:
    """Compile "tests are named test_*.py": new tests have no other of the usual names."""
    found = _TEST_NAMES.search(rule)
    if found is None or REFUSED_BEFORE.search(rule[: found.start("name")]):
        return None
    name = found["name"] if "*" in found["name"] else f"*{found['name']}"
    ending = name.rpartition(".")[2]
    others = [f"*.test.{ending}", f"*.spec.{ending}", f"test_*.{ending}", f"*_test.{ending}", f"*_spec.{ending}"]
    return Check(CheckKind.PATH, files=entries([other for other in others if other != name]), unless=(name,), new=New.ONLY)


_NO_ENDING = re.compile(
    r"\b(?:no|never|don't|do not|not|kein\w{0,2}|nie)\s(?:(?:any|new|more|neuen?|create|add|write|make|files?|ending|with|in|a|an)\s){0,4}[`'\"]?\*?(?P<ending>\.[a-z]{1,5}|[\w-]{1,30}\.md)[`'\"]?(?:\s(?:files?|dateien)|\s?$|\s?[,.;(])",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:no|never|don't|do not)\b[^.;]{0,20}\bfiles?\s(?:called|named)\s(?P<names>[`'\"]?[\w-]{1,30}\.\w{1,5}[`'\"]?(?:\s?(?:,|or|and)\s?[`'\"]?[\w-]{1,30}\.\w{1,5}[`'\"]?){0,5})",
    re.IGNORECASE,
)


def _of_endings(rule: str) -> Check | None:
    """Compile "no .js files, only .ts", "no files called utils.ts" and "test files end in .spec.ts, not .test.ts"."""
    if found := _NAMED.search(rule):
        names = re.findall(r"[\w-]{1,30}\.\w{1,5}", found["names"])
        return Check(CheckKind.PATH, paths=entries(names), new=New.ONLY)
    if re.search(r"\b(?:edit|touch|modif|chang|read|commit|push|import|run|delet)\w{0,4}\b|/", rule, re.IGNORECASE):
        return None
    found = _NO_ENDING.search(rule)
    if found is None:
        return None
    ending = found["ending"].lower() if found["ending"].startswith(".") else found["ending"]
    return Check(CheckKind.PATH, paths=("*",), files=(f"*{ending}",), new=New.ONLY)


_FORBIDDEN_FILES = re.compile(
    r"\b(?:no|never|don't|do not|not|avoid|kein\w{0,2}|nie|niemals)\b[^.;]{0,20}?\b(?:(?:creat|add|generat|writ|put|plac|anleg|erstell)\w{0,4}|new|neue\w?)\s(?:any |a |new |additional |extra |neue )*"
    r"(?:(?P<kind>markdown|\*?\.?md|readme|documentation|doc|summary \.md)\s?-?)?(?:files?|dateien|datei|readmes?)\b",
    re.IGNORECASE,
)


_NOTHING_NEW = re.compile(
    r"\bnothing new\b|\bnew (?:code|files?|stuff|things|features?|modules?) (?:never|must not|mustn't|should not|shouldn't|may not|doesn't|don't) (?:go|goes|be|belong|land)\w{0,3}\b"
    r"|\bleg\w{0,2}\s(?:bitte\s)?keine?\s(?:neuen?\s)?dateien?\b|\bkeine neuen dateien\b",
    re.IGNORECASE,
)


def _no_new_files(rule: str, tokens: Sequence[Token]) -> Check | None:
    """Compile "no new files in src/old/" and "never create markdown files"."""
    found = _FORBIDDEN_FILES.search(rule) or _NOTHING_NEW.search(rule)
    if found is None:
        return None
    folders = [
        thing.text
        for thing in objects_named(rule, tokens)
        if thing.kind is Kind.PATH and thing.within and thing.at > found.start()
    ]
    kind = (found.groupdict().get("kind") or "").lower()
    files = ("README*",) if kind == "readme" or "readme" in found[0].lower() else ("*.md",) if kind else ()
    if not folders and not files:
        return None
    return Check(CheckKind.PATH, paths=entries(folders) or ("*",), files=files, new=New.ONLY)
