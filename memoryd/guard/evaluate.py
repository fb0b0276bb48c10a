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

MAX_TEXT = 200_000  # characters of a file's new content that are looked at


@dataclass(frozen=True, slots=True)
class Result:
    """What a check says of a call: whether it applies at all, and what violates it ("" if nothing does)."""

    applies: bool
    violation: str = ""


NOTHING = Result(False)
OBEYED = Result(True)


def evaluate(check: Check, call: ToolCall, before: Sequence[str] = ()) -> Result:
    """Evaluate a check on a call. `before` holds the shell lines that the session ran successfully so far."""
    match check.kind:
        case CheckKind.COMMAND:
            return _command(check, call)
        case CheckKind.PATH:
            return _path(check, call)
        case CheckKind.CONTENT:
            return _content(check, call)
        case CheckKind.COMPANION:
            return _companion(check, call, before)
        case CheckKind.MESSAGE:
            return _message(check, call)


# Commands

# Other spellings of flags, by program and subcommand. A short flag may stand in a cluster ("-aS").
_SAME_FLAGS: Mapping[tuple[str, str], tuple[frozenset[str], ...]] = {
    ("git", "push"): (frozenset({"--force", "-f"}), frozenset({"--delete", "-d"})),
    ("git", "commit"): (
        frozenset({"--gpg-sign", "-S"}), frozenset({"--signoff", "-s"}), frozenset({"--no-verify", "-n"}),
        frozenset({"--all", "-a"}),
    ),
    ("git", "clean"): (frozenset({"--force", "-f"}),),
    ("rm", ""): (frozenset({"--recursive", "-r", "-R"}), frozenset({"--force", "-f"})),
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
# Options of `git commit` whose value follows as the next word, which is no flag.
_COMMIT_VALUES = frozenset({"-m", "--message", "-F", "--file", "-C", "-c", "--author", "--date", "-t", "--template"})
_VERSIONED = re.compile(r"^(python|pip|node|ruby)[\d.]{1,6}$")


def _command(check: Check, call: ToolCall) -> Result:
    result = NOTHING
    for command in commands_of(call):
        if any(runs(command, wanted) for wanted in check.words):
            if check.unless and any(_has_flag(command, flag) for flag in check.unless):
                result = OBEYED
                continue
            return Result(True, " ".join(command.words))
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
    """Return whether a command is one of those wanted: the same program and subcommands, with all its flags and arguments.

    `git push --force` is run by `git -C web push -f origin`, `pip` by `python3 -m pip install`, `npm` by `/usr/bin/npm ci`.
    """
    words = _module(command.words)
    pattern = wanted.split()
    if not words or not pattern or _program(words[0]) != _program(pattern[0]):
        return False
    if not _HELP.isdisjoint(words[1:]) and _HELP.isdisjoint(pattern):
        return False
    arguments = _arguments(words)
    wanted_arguments = [word for word in pattern[1:] if not word.startswith("-")]
    if [word for word in arguments[: len(wanted_arguments)]] != wanted_arguments and not _holds(arguments, wanted_arguments):
        return False
    flags = [word for word in pattern[1:] if word.startswith("-")]
    return all(_has_flag(command, flag) for flag in flags)


def _holds(arguments: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the subcommand is the wanted one, and the other wanted words are among the arguments, also as a target."""
    if not wanted or arguments[:1] != [wanted[0]]:
        return False
    rest = {part for word in arguments[1:] for part in (word, word.rpartition(":")[2].removeprefix("refs/heads/"))}
    return rest.issuperset(wanted[1:])


def _program(word: str) -> str:
    name = posixpath.basename(word).removesuffix(".exe")
    found = _VERSIONED.match(name)
    return found[1] if found else name


def _module(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of `python -m pip install` as those of `pip install`."""
    if words and _program(words[0]) == "python" and "-m" in words[1:-1]:
        return words[words.index("-m") + 1 :]
    return words


def _arguments(words: Sequence[str]) -> list[str]:
    """Return the words without flags. Values of the program's global options are left out."""
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
        if word.partition("=")[0] in wanted:
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
# Programs that change the files they are given, and how: all arguments, the last one, or only with a flag.
_CHANGES_ALL = frozenset("rm rmdir unlink shred touch chmod chown truncate tee mkdir patch".split())
_CHANGES_LAST = frozenset("cp install ln rsync".split())
_CHANGES_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_IN_PLACE = frozenset("sed perl ruby gsed yq".split())
_FORMATTERS = frozenset("prettier black autopep8 eslint gofmt rustfmt".split())
_OPENS_FILES = re.compile(r"""(?:open|read|readFile|readFileSync|Path|File)\s{0,4}\(\s{0,4}['"]([^'"]{1,200})['"]""")
_NAMES_ONLY = frozenset("ls stat echo printf test [ type which file du find git cd pwd basename dirname realpath wc".split())


def _path(check: Check, call: ToolCall) -> Result:
    for target in _touched(call, check.access):
        place = _relative(target, call)
        if place is not None and any(_is_within(place, path) for path in check.paths):
            return Result(True, target)
    return NOTHING


def _touched(call: ToolCall, access: Access) -> Iterator[str]:
    key = _EDITS.get(call.tool) or (_READS.get(call.tool) if access is Access.READ else None)
    if key and isinstance(call.input.get(key), str):
        yield call.input[key]
    for command in commands_of(call):
        for target in changed_by(command, reads=access is Access.READ):
            yield posixpath.join(command.folder or "", target) if command.folder is not None else target


def changed_by(command: ShellCommand, *, reads: bool = False) -> Iterator[str]:
    """Yield the files that a command changes. With `reads`, also those whose content it reads."""
    yield from command.writes
    if reads:
        yield from command.reads
    if not command.words:
        return
    program, words = command.program, command.words[1:]
    arguments = [word for word in words if not word.startswith("-")]
    if program == "git":
        arguments = _arguments(command.words)
        if arguments[:1] in (["rm"], ["mv"], ["checkout"], ["restore"], ["apply"]):
            yield from arguments[1:]
    elif program in _CHANGES_ALL or program == "mv":
        yield from arguments
    elif program in _CHANGES_LAST:
        yield from arguments[-1:]
    elif (program in _IN_PLACE and any(_CHANGES_IN_PLACE.match(word) for word in words)) or (
        program in _FORMATTERS and any(word in ("--write", "-w", "--fix", "-i") for word in words)
    ):
        yield from arguments
    elif program == "dd":
        yield from (word[3:] for word in words if word.startswith("of="))
    if reads and program not in _NAMES_ONLY:
        yield from arguments
        yield from (match[1] for word in words for match in _OPENS_FILES.finditer(word[:2_000]))


def _relative(path: str, call: ToolCall) -> str | None:
    """Return a path relative to the project's root, or None if it is unknown. An absolute path outside stays absolute."""
    if "$" in path:
        return None
    base = call.cwd or "/"
    whole = posixpath.normpath(posixpath.join(base, path))
    root = call.root or call.cwd
    if root and (whole == root or whole.startswith(root.rstrip("/") + "/")):
        return posixpath.relpath(whole, root)
    return whole if posixpath.isabs(path) else posixpath.normpath(path)


def _is_within(place: str, path: str) -> bool:
    """Return whether a place is the path or below it. A path of one part, such as `.env`, is met in every folder."""
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
            if _count(new, word, place, call=check.call) > _count(old, word, place, call=check.call):
                return Result(True, f"{word} in {path}")
    return OBEYED if applies else NOTHING


def _edited(call: ToolCall) -> Iterator[tuple[str, str, str]]:
    """Yield path, new text and old text of each edit of a call, those of here-documents included."""
    path = call.input.get(_EDITS.get(call.tool, ""))
    if isinstance(path, str):
        edits = call.input.get("edits") if isinstance(call.input.get("edits"), list) else [call.input]
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, Mapping):
                new = edit.get("new_string") or edit.get("content") or edit.get("new_source")
                old = edit.get("old_string")
                yield path, new[:MAX_TEXT] if isinstance(new, str) else "", old[:MAX_TEXT] if isinstance(old, str) else ""
    for command in commands_of(call):
        for target in (*command.writes, *(changed_by(command) if command.program == "tee" else ())):
            text = command.here or (" ".join(command.words[1:]) if command.program in ("echo", "printf") else "")
            if text:
                yield target, text[:MAX_TEXT], ""


def _count(text: str, word: str, path: str, *, call: bool) -> int:
    """Count a word in the code of a text, outside of comments and strings."""
    if not text:
        return 0
    if not re.fullmatch(r"[\w.]+", word):
        return code_words(text, path).count(word)
    after = r"\s*\(" if call else r"(?![\w])"
    return len(re.findall(rf"(?<![\w.]){re.escape(word)}{after}", code_words(text, path)))


# Companions and messages


def _companion(check: Check, call: ToolCall, before: Iterable[str]) -> Result:
    found = [(at, command) for at, command in enumerate(commands_of(call)) if any(runs(command, word) for word in check.words)]
    if not found:
        return NOTHING
    at, command = found[0]
    earlier = [*(inner for line in before for inner in _parsed(line)), *commands_of(call)[:at]]
    done = False
    for one in earlier:  # each commit needs a run of its own
        done = runs(one, check.first) or (done and not any(runs(one, word) for word in check.words))
    return OBEYED if done else Result(True, " ".join(command.words))


_CONVENTIONAL = re.compile(r"(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([^)\n]{1,60}\))?!?: \S")


def _message(check: Check, call: ToolCall) -> Result:
    result = NOTHING
    for command in commands_of(call):
        if not runs(command, "git commit"):
            continue
        message = _message_of(command)
        if message is None:
            continue
        if not _has_form(check, message):
            return Result(True, message[:80])
        result = OBEYED
    return result


def _message_of(command: ShellCommand) -> str | None:
    """Return the first line of the message on the command line, or None if there is none or it is not known."""
    words = command.words
    for at, word in enumerate(words[:-1]):
        if word == "--message" or re.fullmatch(r"-[A-Za-z]*m", word):
            return None if "$" in words[at + 1] else words[at + 1].partition("\n")[0]
    joined = next((word.partition("=")[2] for word in words if word.startswith("--message=")), None)
    return None if joined is None or "$" in joined else joined.partition("\n")[0]


def _has_form(check: Check, message: str) -> bool:
    if check.form is Form.CONVENTIONAL:
        return _CONVENTIONAL.match(message) is not None
    key, _, number = check.example.rpartition("-")
    wanted = (
        rf"{re.escape(key)}-\d"
        if key and number.isdigit()
        else r"#?\d"
        if check.example.lstrip("#").isdigit()
        else r"[A-Z][A-Z\d]{1,9}-\d"
    )
    return re.match(rf"[\[(]?{wanted}", message) is not None
