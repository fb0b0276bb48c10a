"""Evaluation of checks on tool calls. Nothing is run, opened or expanded."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memoryd.core.checks import Access, Check, CheckKind, Form
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.code import code_words
from memoryd.guard.shell import ShellCommand, parse_shell

# Prefixes of words that belong in comments. All other words are counted in code only.
IN_COMMENTS = (
    "@ts-",
    "eslint-",
    "noqa",
    "type: ignore",
    "# type",
    "# noqa",
    "todo",
    "fixme",
    "xxx",
    "hack",
    "pragma",
    "nosec",
    "nolint",
    "pylint:",
)
AT_END = "end"  # not a tool, but the end of the agent's answer
MAX_FORM = 150
MAX_TEXT = 200_000  # maximum number of characters of a file's new content that are examined


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a check on a call.

    Attributes:
        applies: Whether the rule covers such calls at all.
        violation: The violating part of the call; empty if there is none.
        form: The violation in general form, without details of this call, for silencing.
    """

    applies: bool
    violation: str = ""
    form: str = ""


NOTHING = Result(False)
OBEYED = Result(True)


_ON_COMMANDS = frozenset({CheckKind.COMMAND, CheckKind.COMPANION, CheckKind.MESSAGE})


def evaluate(check: Check, call: ToolCall, before: Sequence[str] = (), branch: str = "") -> Result:
    """Evaluate a check on a call.

    Args:
        check: The check.
        call: The call.
        before: Shell lines that the session has run so far, except those that failed.
        branch: The current branch, for checks that apply only on some branches.
    """
    if check.kind in _ON_COMMANDS and call.tool not in ("Bash", AT_END):
        return NOTHING
    match check.kind:
        case CheckKind.COMMAND:
            return _command(check, call, branch)
        case CheckKind.PATH:
            return _path(check, call)
        case CheckKind.CONTENT:
            return _content(check, call)
        case CheckKind.COMPANION:
            return _companion(check, call, before)
        case CheckKind.MESSAGE:
            return _message(check, call)


def _violated(check: Check, what: str, form: str) -> Result | None:
    """Return the violation, unless the user has silenced this form of it."""
    form = form[:MAX_FORM]
    if any(_same_form(form, silenced) for silenced in check.silenced):
        return None
    return Result(True, what[:MAX_FORM], form)


def _same_form(form: str, silenced: str) -> bool:
    return form.startswith(silenced[:-1]) if silenced.endswith("*") else form == silenced


def _form_of(words: Sequence[str]) -> str:
    """Return program, subcommand and flags of a command, with `*` for the rest."""
    kept = [posixpath.basename(words[0])]
    for word in words[1:]:
        if not re.fullmatch(r"--?[A-Za-z][\w-]{0,40}|[a-z][a-z-]{0,30}", word) or len(kept) == 6:
            kept.append("*")
            break
        kept.append(word)
    return " ".join(kept)


# Commands

# Equivalent flags, by program and subcommand. A short flag may be part of a cluster ("-aS").
_SAME_FLAGS: Mapping[tuple[str, str], tuple[frozenset[str], ...]] = {
    ("git", "push"): (frozenset({"--force", "-f"}), frozenset({"--delete", "-d"})),
    ("git", "commit"): (
        frozenset({"--gpg-sign", "-S"}), frozenset({"--signoff", "-s"}), frozenset({"--no-verify", "-n"}),
        frozenset({"--all", "-a"}),
    ),
    ("git", "clean"): (frozenset({"--force", "-f"}),),
    ("rm", ""): (frozenset({"--recursive", "-r", "-R"}), frozenset({"--force", "-f"})),
    ("chmod", ""): (frozenset({"--recursive", "-R"}),),
    ("kubectl", ""): (frozenset({"--namespace", "-n"}),),
    ("docker", "system"): (frozenset({"--all", "-a"}), frozenset({"--force", "-f"})),
}  # fmt: skip
_GLOBAL_VALUES: Mapping[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--exec-path", "--namespace"}),
    "npm": frozenset({"--prefix", "-C", "-w", "--workspace"}),
    "pnpm": frozenset({"--dir", "-C", "--filter", "-F"}),
    "yarn": frozenset({"--cwd"}),
    "docker": frozenset({"--context", "-c", "-H", "--host"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig"}),
}
_HELP = frozenset({"--help", "-h", "--version"})
# Options of `git commit` that take the next word as their value, so that the value is not mistaken for a flag.
_COMMIT_VALUES = frozenset({"-m", "--message", "-F", "--file", "-C", "-c", "--author", "--date", "-t", "--template"})
_VERSIONED = re.compile(r"^(python|pip|node|ruby)[\d.]{1,6}$")


def _command(check: Check, call: ToolCall, branch: str) -> Result:
    result = NOTHING
    if check.branch and branch not in check.branch:
        return result
    for command in commands_of(call):
        if any(runs(command, wanted) for wanted in check.words):
            if check.unless and any(_has_flag(command, flag) for flag in check.unless):
                result = OBEYED
                continue
            if violated := _violated(check, " ".join(command.words), _form_of(command.words)):
                return violated
        if check.instead and runs(command, check.instead):
            result = OBEYED
    return result


def commands_of(call: ToolCall) -> Sequence[ShellCommand]:
    """Return the commands that a call of the shell tool would run."""
    line = call.input.get("command")
    return _parsed(line) if call.tool == "Bash" and isinstance(line, str) else ()


@lru_cache(maxsize=64)
def _parsed(line: str) -> tuple[ShellCommand, ...]:
    return tuple(parse_shell(line))


def runs(command: ShellCommand, wanted: str) -> bool:
    """Return whether a command matches the wanted one: the same program and subcommands, with all its flags and arguments.

    `git -C web push -f origin` matches `git push --force`, `python3 -m pip install` matches `pip`, and `/usr/bin/npm ci` matches
    `npm`.
    """
    words = _module(command.words)
    pattern = _split(wanted)
    if not words or not pattern or _program(words[0]) != _program(pattern[0]):
        return False
    if not _HELP.isdisjoint(words[1:]) and _HELP.isdisjoint(pattern):
        return False
    arguments = _arguments(words)
    wanted_arguments = [word for word in pattern[1:] if not word.startswith("-")]
    if [word for word in arguments[: len(wanted_arguments)]] != wanted_arguments and not _holds(arguments, wanted_arguments):
        return False
    flags = [part for word in pattern[1:] if word.startswith("-") for part in _single_flags(pattern[0], word)]
    forced = _program(words[0]) == "git" and arguments[:1] == ["push"] and any(word.startswith("+") for word in arguments[1:])
    return all(_has_flag(command, flag) or (forced and flag in ("--force", "-f")) for flag in flags)


@lru_cache(maxsize=2_000)
def _split(wanted: str) -> tuple[str, ...]:
    return tuple(wanted.split())


def _single_flags(program: str, word: str) -> Sequence[str]:
    """Split a cluster of short flags such as `-rf` into `-r` and `-f`, for programs that accept clusters."""
    cluster = program in _CLUSTERS and re.fullmatch(r"-[A-Za-z]{2,6}", word)
    return [f"-{letter}" for letter in word[1:]] if cluster else [word]


_CLUSTERS = frozenset("rm ls cp chmod chown grep tar ps git rsync".split())


def _holds(arguments: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the subcommand matches and all other wanted words are among the arguments, or are targets of refspecs."""
    if not wanted or arguments[:1] != [wanted[0]]:
        return False
    rest = {part for word in arguments[1:] for part in (word, word.rpartition(":")[2].removeprefix("refs/heads/"))}
    return rest.issuperset(wanted[1:])


@lru_cache(maxsize=2_000)
def _program(word: str) -> str:
    name = posixpath.basename(word).removesuffix(".exe")
    found = _VERSIONED.match(name)
    return found[1] if found else name


def _module(words: tuple[str, ...]) -> tuple[str, ...]:
    """Reduce `python -m pip install` to `pip install`."""
    if words and _program(words[0]) == "python" and "-m" in words[1:-1]:
        return words[words.index("-m") + 1 :]
    return words


def _arguments(words: Sequence[str]) -> list[str]:
    """Return the words without flags and without the values of the program's global options."""
    with_value = _GLOBAL_VALUES.get(_program(words[0]), frozenset())
    out: list[str] = []
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            skip = word in with_value and not out
        else:
            out.append(word)
    return out


def _has_flag(command: ShellCommand, flag: str) -> bool:
    words = _module(command.words)
    subcommand = next(iter(_arguments(words)), "")
    program = _program(words[0])
    groups = (*_SAME_FLAGS.get((program, subcommand), ()), *_SAME_FLAGS.get((program, ""), ()))
    wanted = next((group for group in groups if flag in group), frozenset({flag}))
    short = {name[1] for name in wanted if re.fullmatch(r"-[A-Za-z]", name)}
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
            continue
        if word.partition("=")[0] in wanted or word.startswith("--") and word[1:].partition("=")[0] in wanted:
            return True
        if re.match(r"-[A-Za-z]", word):
            for letter in word[1:]:
                if letter in short:
                    return True
                if program == "git" and subcommand == "commit" and f"-{letter}" in _COMMIT_VALUES:
                    break  # the rest of the word is its value
        skip = program == "git" and subcommand == "commit" and (word in _COMMIT_VALUES or _ends_with_value(word))
    return False


def _ends_with_value(word: str) -> bool:
    return re.fullmatch(r"-[A-Za-z]*[mFCct]", word) is not None


# Paths

_EDITS: Mapping[str, str] = {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_READS: Mapping[str, str] = {"Read": "file_path"}
EDITORS = frozenset(_EDITS)
# Programs that change their file arguments, grouped by which ones they change: all, only the last, or only with a flag.
_CHANGES_ALL = frozenset("rm rmdir unlink shred touch chmod chown truncate tee mkdir patch".split())
_CHANGES_LAST = frozenset("cp install ln rsync".split())
_CHANGES_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_IN_PLACE = frozenset("sed perl ruby gsed yq".split())
_FORMATTERS = frozenset("prettier black autopep8 eslint gofmt rustfmt".split())
_OPENS_FILES = re.compile(r"""(?:open|read|readFile|readFileSync|Path|File)\s{0,4}\(\s{0,4}['"]([^'"]{1,200})['"]""")
_SEARCHERS = frozenset("grep egrep fgrep rg ag ack sed awk".split())
_NAMES_ONLY = frozenset("ls stat echo printf test [ type which file du find git cd pwd basename dirname realpath wc".split())


def _path(check: Check, call: ToolCall) -> Result:
    for target, place in _places(call, check.access):
        within = place is not None and any(_is_within(place, path) for path in check.paths)
        if within and (violated := _violated(check, target, place or target)):
            return violated
    return NOTHING


def _places(call: ToolCall, access: Access) -> Sequence[tuple[str, str | None]]:
    """Return the paths that a call accesses, as written and relative to the project."""
    key = _EDITS.get(call.tool) or (_READS.get(call.tool) if access is Access.READ else None)
    path, line = call.input.get(key or ""), call.input.get("command")
    named = path if isinstance(path, str) else ""
    return _places_of(named, line if call.tool == "Bash" and isinstance(line, str) else "", access, call.cwd, call.root)


@lru_cache(maxsize=64)
def _places_of(path: str, line: str, access: Access, cwd: str, root: str) -> Sequence[tuple[str, str | None]]:
    targets = [path] if path else []
    for command in _parsed(line) if line else ():
        for target in changed_by(command, reads=access is Access.READ):
            targets.append(posixpath.join(command.folder or "", target) if command.folder is not None else target)
    call = ToolCall("", {}, cwd, root)
    return [(target, _relative(target, call)) for target in targets]


def changed_by(command: ShellCommand, *, reads: bool = False) -> Iterator[str]:
    """Yield the files that a command changes. With `reads`, also yield the files that it reads."""
    yield from command.writes
    if not command.words:
        return
    yield from _changed_arguments(command)
    if reads:
        yield from command.reads
        yield from _read_arguments(command)


def _changed_arguments(command: ShellCommand) -> Sequence[str]:
    program, words = command.program, command.words[1:]
    arguments = [word for word in words if not word.startswith("-")]
    if program == "git":
        arguments = _arguments(command.words)
        return arguments[1:] if arguments[:1] in (["rm"], ["mv"], ["checkout"], ["restore"], ["apply"]) else ()
    if program in _CHANGES_ALL or program == "mv":
        return arguments
    if program in _CHANGES_LAST:
        return arguments[-1:]
    in_place = program in _IN_PLACE and any(_CHANGES_IN_PLACE.match(word) for word in words)
    if in_place or (program in _FORMATTERS and any(word in ("--write", "-w", "--fix", "-i") for word in words)):
        return arguments
    return [word[3:] for word in words if word.startswith("of=")] if program == "dd" else ()


def _read_arguments(command: ShellCommand) -> Iterator[str]:
    program, words = command.program, command.words[1:]
    if program in _NAMES_ONLY:
        return
    arguments = [word for word in words if not word.startswith("-")]
    if program in _SEARCHERS and not any(word in ("-e", "-f", "--regexp") for word in words):
        arguments = arguments[1:]  # the first argument is the search pattern
    yield from arguments
    yield from (match[1] for word in words for match in _OPENS_FILES.finditer(word[:2_000]))


def _relative(path: str, call: ToolCall) -> str | None:
    return _relative_to(path, call.cwd, call.root)


@lru_cache(maxsize=500)
def _relative_to(path: str, cwd: str, root: str) -> str | None:
    """Return a path relative to the project's root, or None if unknown. Absolute paths outside the project stay absolute."""
    if "$" in path:
        return None
    base = cwd or "/"
    whole = posixpath.normpath(posixpath.join(base, path))
    root = root or cwd
    if root and (whole == root or whole.startswith(root.rstrip("/") + "/")):
        return posixpath.relpath(whole, root)
    return whole if posixpath.isabs(path) else posixpath.normpath(path)


def _is_within(place: str, path: str) -> bool:
    """Return whether a place is the path or is below it. A path with a single part, such as `.env`, matches in every folder."""
    wanted = path.removeprefix("./").rstrip("/")
    if any(sign in wanted for sign in "*?"):
        return _matches(place, wanted)
    parts, parts_wanted = place.strip("/").split("/"), wanted.split("/")
    if path.endswith("/") or "/" in wanted:
        starts = [0] if not posixpath.isabs(place) else range(len(parts))
        return any(parts[at : at + len(parts_wanted)] == parts_wanted for at in starts)
    return parts[-1] == wanted or parts[0] == wanted


def _matches(place: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(place, pattern) or fnmatchcase(posixpath.basename(place), pattern)


# Content of edits


def _content(check: Check, call: ToolCall) -> Result:
    applies = False
    for path, new, old in _edited(call):
        place = _relative(path, call)
        if place is None or (check.files and not any(_matches(place, pattern) for pattern in check.files)):
            continue
        if check.paths and not any(_is_within(place, wanted) for wanted in check.paths):
            continue
        applies = True
        for word in check.words:
            if word not in new:  # much cheaper than counting, which keeps hundreds of checks fast
                continue
            added = _count(check, new, word, place) > _count(check, old, word, place)
            if added and (violated := _violated(check, f"{word} in {path}", f"{word} in {place}")):
                return violated
    for command in commands_of(call) if check.imports else ():
        library = next((word for word in check.words if _installs(command, word)), "")
        if library and (violated := _violated(check, " ".join(command.words), f"install {library}")):
            return violated
    return OBEYED if applies else NOTHING


_INSTALLERS = frozenset("npm pnpm yarn bun pip uv poetry pdm cargo gem composer".split())


def _installs(command: ShellCommand, library: str) -> bool:
    words = _module(command.words)
    arguments = _arguments(words) if words and _program(words[0]) in _INSTALLERS else []
    if arguments[:1] not in (["install"], ["i"], ["add"], ["require"]):
        return False
    return any(re.split(r"(?<=.)[@=<>~\[]", word)[0] == library for word in arguments[1:])


def _edited(call: ToolCall) -> Iterator[tuple[str, str, str]]:
    """Yield path, new text and old text of each edit of a call, including those by here-documents."""
    path = call.input.get(_EDITS.get(call.tool, ""))
    if isinstance(path, str):
        edits = call.input.get("edits") if isinstance(call.input.get("edits"), list) else [call.input]
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, Mapping):
                new = edit.get("new_string") or edit.get("content") or edit.get("new_source")
                old = edit.get("old_string")
                yield path, new[:MAX_TEXT] if isinstance(new, str) else "", old[:MAX_TEXT] if isinstance(old, str) else ""
    line = call.input.get("command")
    if call.tool == "Bash" and isinstance(line, str):
        yield from _edited_by_shell(line)


@lru_cache(maxsize=64)
def _edited_by_shell(line: str) -> Sequence[tuple[str, str, str]]:
    found = []
    for command in _parsed(line):
        for target in (*command.writes, *(changed_by(command) if command.program == "tee" else ())):
            text = command.here or (" ".join(command.words[1:]) if command.program in ("echo", "printf") else "")
            if text:
                found.append((target, text[:MAX_TEXT], ""))
    return found


def _count(check: Check, text: str, word: str, path: str) -> int:
    """Count a word in the code of a text. Comments and strings are excluded unless the word belongs in them."""
    if not text:
        return 0
    if check.imports:
        return _imports(text, word) if code_words("x", path) else 0  # prose may quote an import
    code = text if word.lower().startswith(IN_COMMENTS) else code_words(text, path)
    if check.near:
        code = "\n".join(line for line in code.splitlines() if _names_one(line.lower(), check.near))
    if re.fullmatch(r"[\w.]+", word):
        after = r"\s{0,8}\(" if check.call else r"(?!\w)"
        before = r"(?<!\w)" if "." in word else r"(?<![\w.])"  # window.console.log also counts as console.log
        return len(re.findall(rf"{before}{re.escape(word)}{after}", code))
    return code.count(word)


def _names_one(line: str, words: Sequence[str]) -> bool:
    return any(word in line for word in words)


_IMPORT = re.compile(r"\b(?:import|from|require|use|include|using)\b[^\n]{0,300}")


def _imports(text: str, library: str) -> int:
    """Count the lines that import a library."""
    name = re.compile(rf"(?<![\w./@-]){re.escape(library)}(?![\w-])")
    return sum(name.search(match[0]) is not None for match in _IMPORT.finditer(text))


# Companions and messages


def _companion(check: Check, call: ToolCall, before: Iterable[str]) -> Result:
    if call.tool == AT_END:
        if AT_END not in check.words:
            return NOTHING
        done = any(runs(one, step) for line in before for one in _parsed(line) for step in check.first)
        step = check.first[0]
        return OBEYED if done else _violated(check, f"{step} was not run after the last edit", step) or NOTHING
    found = [(at, command) for at, command in enumerate(commands_of(call)) if any(runs(command, word) for word in check.words)]
    if not found:
        return NOTHING
    at, command = found[0]
    earlier = [*(inner for line in before for inner in _parsed(line)), *commands_of(call)[:at]]
    done = False
    for one in earlier:  # each commit requires its own run of the step
        done = any(runs(one, step) for step in check.first) or (done and not any(runs(one, word) for word in check.words))
    return OBEYED if done else _violated(check, " ".join(command.words), _form_of(command.words)) or NOTHING


_CONVENTIONAL = re.compile(r"(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([^)\n]{1,60}\))?!?: \S")


_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]|:[a-z_]{2,30}:")


def _message(check: Check, call: ToolCall) -> Result:
    result = NOTHING
    for command in commands_of(call):
        if not runs(command, "git commit"):
            continue
        message = _message_of(command)
        if not message.strip():
            continue
        if not _has_form(check, message):
            first = message.strip().partition("\n")[0]
            if violated := _violated(check, first, f"{first.split()[0]} *"):
                return violated
        result = OBEYED
    return result


def _message_of(command: ShellCommand) -> str:
    """Return the message on the command line, or "" if there is none or it is unknown."""
    words = command.words
    parts = []
    for at, word in enumerate(words):
        if word.startswith("--message="):
            parts.append(word.partition("=")[2])
        elif at + 1 < len(words) and (word == "--message" or re.fullmatch(r"-[A-Za-z]*m", word)):
            parts.append(words[at + 1])
        elif re.fullmatch(r"-[a-ln-zA-Z]{0,4}m.{1,200}", word, re.DOTALL) and not word.startswith("--"):
            parts.append(re.sub(r"^-[a-ln-zA-Z]*m", "", word))
    message = "\n\n".join(parts)
    if message == "$" or not parts and words[-1:] == ("-",):
        return command.here
    return command.here if message.startswith("$") else message


def _has_form(check: Check, message: str) -> bool:
    first, low = message.strip().partition("\n")[0], message.lower()
    if any(word.lower() in low for word in check.words):
        return False
    match check.form:
        case Form.CONVENTIONAL:
            found = _CONVENTIONAL.match(first)
            return found is not None and (check.example != "scope" or "(" in found[0])
        case Form.PREFIX:
            return first.lower().startswith(check.example.lower())
        case Form.LENGTH:
            return not check.example.isdigit() or len(first) <= int(check.example)
        case Form.NO_EMOJI:
            return _EMOJI.search(message) is None
        case Form.TICKET:
            return re.match(rf"[\[(]?{_ticket(check.example)}", first) is not None
        case None:
            return True


def _ticket(example: str) -> str:
    key, _, number = example.rpartition("-")
    if key and number.isdigit():
        return r"[A-Z][A-Z\d]{1,9}-\d" if key == "ABC" else rf"{re.escape(key)}-\d"
    return r"#?\d" if example.lstrip("#").isdigit() else r"[A-Z][A-Z\d]{1,9}-\d"
