"""Evaluation of checks on tool calls. Nothing is run, opened or expanded."""

from __future__ import annotations

import itertools
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial

from memoryd.core.checks import Access, Check, CheckKind, New
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.code import code_words, count_imports, count_piece, is_manifest, may_contain, may_import, names_of_library
from memoryd.guard.messages import has_form
from memoryd.guard.shell import ShellCommand, parse_shell
from memoryd.guard.vocabulary import NPM_COMMANDS, SAME_FLAGS
from memoryd.guard.vocabulary import WORDS as METHODS

# Prefixes of words that belong in comments. All other words are counted only in code.
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
    "rubocop:",
)
AT_END = "end"  # Not a tool, but the end of the agent's answer.; the call's input has the files `edited` since the last end
MAX_FORM = 150
MAX_TEXT = 200_000  # Maximum number of characters to examine in a file's new content.


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a check on a call.

    Attributes:
        applies: Whether the rule covers such calls at all.
        violation: The violating part of the call, or empty if there is none.
        form: The violation in general form, without details of this call. Used for silencing.
    """

    applies: bool
    violation: str = ""
    form: str = ""


NOTHING = Result(False)
OBEYED = Result(True)


_ON_COMMANDS = frozenset({CheckKind.COMMAND, CheckKind.COMPANION, CheckKind.MESSAGE, CheckKind.BRANCH})


class Earlier:
    """The commands that a session has run so far, in order. Answers are kept, since hundreds of checks may ask the same."""

    def __init__(self, lines: Sequence[str] = ()) -> None:
        self._lines = lines
        self._by_program: dict[str, list[tuple[int, ShellCommand]]] | None = None
        self._last: dict[tuple[str, ...], int] = {}
        self._branch: str | None = None

    def last(self, wanted: tuple[str, ...]) -> int:
        """Return the position of the latest command that matches one of the wanted ones, or -1."""
        if wanted not in self._last:
            self._last[wanted] = max((self._last_of(each) for each in wanted), default=-1)
        return self._last[wanted]

    def branch(self) -> str:
        """Return the branch that the session last switched to, or "" if it is unknown."""
        if self._branch is None:
            self._branch = _branch_after(self._lines)
        return self._branch

    def _last_of(self, wanted: str) -> int:
        programs = self._programs()
        name = program_wanted(wanted)
        names = programs if name is None else (name, _WRAPPERS.get(name, ""), *_RUN_OTHERS)
        found = [entry for program in names for entry in programs.get(program, ())]
        return max((at for at, command in found if _has_run(command, wanted)), default=-1)

    def _programs(self) -> dict[str, list[tuple[int, ShellCommand]]]:
        if self._by_program is None:
            self._by_program = {}
            for at, command in enumerate(command for line in self._lines for command in _parsed(line)):
                self._by_program.setdefault(program_run(command), []).append((at, command))
        return self._by_program


def evaluate(check: Check, call: ToolCall, before: Sequence[str] | Earlier = (), branch: str = "") -> Result:
    """Evaluate a check on a call.

    Args:
        check: The check.
        call: The call.
        before: Shell lines run by the session so far, except those that failed.
        branch: The current branch, for checks that apply only on some branches.
    """
    earlier = before if isinstance(before, Earlier) else Earlier(before)
    if not check.also:
        return _evaluate(check, call, earlier, branch)
    applies = False
    for part in check.parts():
        result = _evaluate(part, call, earlier, branch)
        if result.violation:
            return result
        applies = applies or result.applies
    return OBEYED if applies else NOTHING


def _evaluate(check: Check, call: ToolCall, earlier: Earlier, branch: str) -> Result:
    if check.kind in _ON_COMMANDS and call.tool not in ("Bash", AT_END):
        return NOTHING
    match check.kind:
        case CheckKind.COMMAND:
            return _command(check, call, branch or (earlier.branch() if check.branch else ""))
        case CheckKind.PATH:
            return _path(check, call)
        case CheckKind.CONTENT:
            return _content(check, call)
        case CheckKind.COMPANION:
            return _companion(check, call, earlier)
        case CheckKind.MESSAGE:
            return _message(check, call)
        case CheckKind.BRANCH:
            return _branch_names(check, call, branch or (earlier.branch() if check.branch else ""))


def _violated(check: Check, what: str, form: str) -> Result | None:
    """Return the violation, unless the user has silenced this form of it."""
    form = form[:MAX_FORM]
    if any(_same_form(form, silenced) for silenced in check.silenced):
        return None
    return Result(True, what[:MAX_FORM], form)


def _same_form(form: str, silenced: str) -> bool:
    return form.startswith(silenced[:-1]) if silenced.endswith("*") else form == silenced


def _form_of(words: Sequence[str]) -> str:
    """Return the program, subcommand and flags of a command, with `*` for the rest."""
    kept = [posixpath.basename(words[0])]
    for word in words[1:]:
        if not re.fullmatch(r"--?[A-Za-z][\w-]{0,40}|[a-z][a-z-]{0,30}", word) or len(kept) == 6:
            kept.append("*")
            break
        kept.append(word)
    return " ".join(kept)


# Commands

_GLOBAL_VALUES: Mapping[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--exec-path", "--namespace"}),
    "npm": frozenset({"--prefix", "-C", "-w", "--workspace"}),
    "pnpm": frozenset({"--dir", "-C", "--filter", "-F"}),
    "yarn": frozenset({"--cwd"}),
    "make": frozenset({"-C", "-f", "-I", "--directory", "--file"}),
    "docker": frozenset({"--context", "-c", "-H", "--host"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig"}),
}
_ANYWHERE = frozenset({"-w", "--workspace", "--prefix", "--filter"})  # Options with a value also after the subcommand.
_HELP = frozenset({"--help", "-h", "--version"})
# Options of `git commit` that take the next word as their value. The value must not be mistaken for a flag.
_COMMIT_VALUES = frozenset({"-m", "--message", "-F", "--file", "-C", "-c", "--author", "--date", "-t", "--template"})
_VERSIONED = re.compile(r"^(python|pip|node|ruby)[\d.]{1,6}$")


def _command(check: Check, call: ToolCall, branch: str) -> Result:
    result = NOTHING
    for command in _commands_within(check, call):
        if check.branch and command.program == "git":
            branch = _switched_to(command) or branch
        if any(runs(command, wanted) for wanted in check.words):
            if not check.instead and _filters_output(command):
                continue
            if check.branch and not _concerns(command, check.branch, branch):
                continue
            if any(_is_made_right(command, entry, call) for entry in check.unless) or _is_run_as_wanted(command, check.instead):
                result = OBEYED
                continue
            if violated := _violated(
                check, " ".join(command.words or command.assigned), _form_of(command.words or command.assigned)
            ):
                return violated
        if check.instead and runs(command, check.instead):
            result = OBEYED
    return result


_FILTERS = frozenset("grep egrep fgrep sed awk head tail less cat sort jq".split())
_SHOW_FILES = frozenset("cat find ls fd head tail grep rg echo printf".split()) | {""}


def _filters_output(command: ShellCommand) -> bool:
    """Return whether a command filters what another prints. A rule that wants no other program is about files."""
    return command.program in _FILTERS and command.source not in _SHOW_FILES and command.program != "sed"


def _is_run_as_wanted(command: ShellCommand, instead: str) -> bool:
    """Return whether a command is run by what the rule wants instead: pytest by `uv run pytest`, or rails as `bin/rails`."""
    if "/" in instead.partition(" ")[0] and runs(command, instead):
        return True
    return bool(command.outer and instead) and runs(replace(command, words=command.outer, outer=()), instead)


_SCRIPT_RUNNERS = frozenset("npm pnpm yarn bun composer".split())
_ALIASES = {"i": "install", "t": "test", "tst": "test", "run-script": "run", "un": "uninstall", "rm": "remove"}


def _usual(program: str, arguments: list[str]) -> list[str]:
    """Return the canonical form of arguments with several spellings, such as `npm i` and `pnpm run test`."""
    if program == "cargo" and arguments[:1] and arguments[0].startswith("+"):
        return arguments[1:]
    if program == "git" and arguments[:1] == ["stage"]:
        return ["add", *arguments[1:]]
    if program not in _SCRIPT_RUNNERS or not arguments:
        return arguments
    if program == "yarn" and arguments[0] == "workspace":
        return _usual(program, arguments[2:])
    first = _ALIASES.get(arguments[0], arguments[0])
    if first == "run" and len(arguments) > 1 and (program != "npm" or arguments[1] not in NPM_COMMANDS):
        return arguments[1:]
    return [first, *arguments[1:]]


def _is_made_right(command: ShellCommand, entry: str, call: ToolCall) -> bool:
    """Return whether a flag, command or variable accepted by the check is present. A variable may be exported earlier."""
    if entry.startswith("-"):
        return _has_flag(command, entry)
    if "=" in entry:
        return any(runs(other, entry) for other in commands_of(call))
    return runs(command, entry)


def commands_of(call: ToolCall) -> Sequence[ShellCommand]:
    """Return the commands that a call of the shell tool would run."""
    line = call.input.get("command")
    return _parsed(line) if call.tool == "Bash" and isinstance(line, str) else ()


_IN_FOLDER = frozenset(
    {
        "-C",
        "--prefix",
        "--dir",
        "--directory",
        "--cwd",
        "--work-tree",
        "--filter",
        "-F",
        "-w",
        "--workspace",
        "-p",
        "--project",
        "workspace",
    }
)


def _commands_within(check: Check, call: ToolCall) -> Sequence[ShellCommand]:
    """Return the commands of a call that run in the folders to which the check is limited."""
    commands = commands_of(call)
    if not check.paths:
        return commands
    return [
        command
        for command in commands
        if any(_is_within(folder, path) for folder in _folders_of(command, call) for path in check.paths)
        or not _packages_of(command).isdisjoint(posixpath.basename(path.rstrip("/")) for path in check.paths)
    ]


_OF_PACKAGE = frozenset({"--filter", "-F", "-w", "--workspace", "workspace"})


def _packages_of(command: ShellCommand) -> set[str]:
    """Return the packages of a monorepo that a command is about, without their scope, as in `pnpm --filter @shop/admin add`."""
    words = command.words
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if word in _OF_PACKAGE]
    named += [word.partition("=")[2] for word in words if word.partition("=")[0] in _OF_PACKAGE and "=" in word]
    return {posixpath.basename(name.strip("./{}^").rstrip(".")) for name in named}


def _folders_of(command: ShellCommand, call: ToolCall) -> Iterator[str]:
    """Yield the folders in which a command works: its own, and those of options such as `-C` and `--prefix`."""
    named = [word.partition("=")[2] for word in command.words if word.startswith("-") and "=" in word]
    named += [
        word.removesuffix("/...") for word in command.words[1:] if re.fullmatch(r"[\w@./][\w@./-]{0,200}", word) and "/" in word
    ]
    named += [command.words[at + 1] for at, word in enumerate(command.words[:-1]) if word in _IN_FOLDER]
    for folder in [".", *named] if command.folder is not None else []:
        place = relative(posixpath.join(command.folder or "", folder), call)
        if place is not None:
            yield place


@lru_cache(maxsize=1_000)  # the lines that are kept of three sessions, which a companion check looks at again at each commit
def _parsed(line: str) -> tuple[ShellCommand, ...]:
    return tuple(parse_shell(line))


# Programs that run others, which `parse_shell` leaves alone: inside a container, or from the packages of a project.
_RUN_OTHERS = (
    "docker",
    "docker-compose",
    "kubectl",
    "pnpm",
    "yarn",
    "bun",
    "sail",
    "fvm",
    "mint",
    "mise",
    "rtx",
    "nix",
    "devbox",
)
_WRAPPERS = {"gradle": "gradlew", "mvn": "mvnw", "gradlew": "gradle", "mvnw": "mvn"}


def _has_run(command: ShellCommand, wanted: str) -> bool:
    """Return whether a command ran a step, also by a wrapper or inside a container. A wrong answer would accuse the agent."""
    program, space, rest = wanted.partition(" ")
    wanted = f"{posixpath.basename(program)}{space}{rest}"  # wherever the program is
    if runs(command, wanted):
        return True
    words = command.words
    program = _program(words[0]) if words else ""
    if other := _WRAPPERS.get(program):
        return runs(replace(command, words=(other, *words[1:])), wanted)
    if program not in _RUN_OTHERS:
        return False
    name = program_wanted(wanted)
    starts = [at for at, word in enumerate(words[1:], 1) if name is not None and _program(word) == name]
    return any(runs(replace(command, words=words[at:]), wanted) for at in starts)


def program_run(command: ShellCommand) -> str:
    """Return the name of the program as `runs` compares it, or "" if the command only assigns variables."""
    words = _module(command.words)
    return _program(words[0]) if words else ""


def program_wanted(wanted: str) -> str | None:
    """Return the program that a command must run to match the wanted one, or None if any program may match."""
    pattern = _split(wanted)
    if pattern[1:2] == ("|",):
        return _program(pattern[2])
    return None if pattern[:1] == ("*",) or "=" in pattern[0] else _program(pattern[0])


def runs(command: ShellCommand, wanted: str) -> bool:
    """Return whether a command matches the wanted one: the same program and subcommands, with all its flags and arguments.

    `git -C web push -f origin` matches `git push --force`, `python3 -m pip install` matches `pip`, and `/usr/bin/npm ci` matches
    `npm`.
    """
    pattern = _split(wanted)
    if pattern[:1] == ("*",) or "=" in pattern[0]:
        return _mentions(command, pattern[-1])
    if pattern[1:2] == ("|",):  # `curl | sh`
        return command.source == pattern[0] and _program(command.program) in pattern[2:]
    words = _module(command.words)
    if words and pattern and pattern[0].endswith(".py") and _program(words[0]) == "python":
        words = words[1:]  # `python manage.py migrate`
    if not words or not pattern or _program(words[0]) != _program(pattern[0]) or not _is_at(command, words[0], pattern[0]):
        return False
    if _program(words[0]) in _CLIENTS and len(pattern) > 1 and pattern[1].isupper() and not pattern[1].startswith("-"):
        return _executes(command, " ".join(pattern[1:]))
    if _asks_for_help(words, pattern):
        return False
    words = _with_split_values(words, pattern)
    command = command if words == command.words else replace(command, words=words)
    arguments = _arguments(words)
    if _program(words[0]) == "chmod":
        arguments = [word.lstrip("0") or word if word.isdigit() else word for word in arguments]
    wanted_arguments = [word for word in pattern[1:] if not word.startswith("-")]
    program = _program(words[0])
    if program == "git" and (len(pattern) == 2 and _only_shows(words, arguments) or _is_dry_run(words, arguments, pattern)):
        return False
    arguments, wanted_arguments = _usual(program, arguments), _usual(program, wanted_arguments)
    if not _gets(words, arguments, wanted_arguments) or program == "cat" and _only_writes(command, arguments):
        return False
    flags = [part for word in pattern[1:] if word.startswith("-") for part in _single_flags(_program(pattern[0]), word)]
    meant = _flags_of_refspecs(arguments) if program == "git" else frozenset()
    return all(flag in meant or _has_flag(command, flag) for flag in flags)


def _asks_for_help(words: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a call only shows its help or version. For clients of databases, `-h` is the host."""
    asks = not _HELP.isdisjoint(words[1:]) and _HELP.isdisjoint(pattern)
    return asks and (_program(words[0]) not in _CLIENTS or "--help" in words)


def _with_split_values(words: tuple[str, ...], pattern: Sequence[str]) -> tuple[str, ...]:
    """Return the words with `--network=host` as `--network host`, if a check has an option with a value in that form."""
    if not any(flag.startswith("-") and not value.startswith("-") for flag, value in itertools.pairwise(pattern)):
        return words
    return tuple(part for word in words for part in (word.split("=", 1) if word.startswith("-") else (word,)))


def _is_at(command: ShellCommand, program: str, wanted: str) -> bool:
    """Return whether a program is at the wanted path, as `./bin/rails` is at `bin/rails`. A name alone stands for any path."""
    path = wanted.removeprefix("./").lstrip("/")
    return "/" not in path or f"/{posixpath.normpath(posixpath.join(command.folder or '', program))}".endswith(f"/{path}")


def _flags_of_refspecs(arguments: Sequence[str]) -> frozenset[str]:
    """Return the flags that a push has by its refspecs: `+main` forces, and `:main` deletes."""
    if arguments[:1] != ["push"]:
        return frozenset()
    forced = any(word.startswith("+") for word in arguments[1:])
    deletes = any(word.startswith(":") and len(word) > 1 for word in arguments[1:])
    return frozenset({*(("--force", "-f") if forced else ()), *(("--delete", "-d") if deletes else ())})


def _is_dry_run(words: Sequence[str], arguments: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a call of git only shows what it would do, and the pattern doesn't ask for that."""
    others = set(words) - set(pattern)
    return "--dry-run" in others or arguments[:1] == ["push"] and "-n" in others


def _only_writes(command: ShellCommand, arguments: Sequence[str]) -> bool:
    """Return whether `cat` writes a here-document or joins files, so that it shows none."""
    return bool(command.writes or command.here) and len(arguments) != 1


_SHOWING: Mapping[str, frozenset[str]] = {
    "tag": frozenset("-l --list -n --contains -v --verify --points-at --merged --no-merged".split()),
    "stash": frozenset({"list", "show"}),
    "remote": frozenset({"-v", "show", "get-url"}),
    "config": frozenset("--get --get-all --list -l --show-origin".split()),
    "worktree": frozenset({"list"}),
    "submodule": frozenset({"status", "summary"}),
    "bisect": frozenset({"log", "view"}),
}


def _only_shows(words: Sequence[str], arguments: Sequence[str]) -> bool:
    """Return whether a command of git with several uses only shows something, such as `git tag -l`."""
    known = _SHOWING.get(arguments[0] if arguments else "")
    if known is None:
        return False
    return not known.isdisjoint(words) or arguments[0] in ("tag", "remote") and len(arguments) == 1


# Programs that take several targets in any order, as in `make clean check`.
_MANY_TARGETS = frozenset(
    "make gmake just task rake gradle gradlew mvn mvnw rails artisan mix sbt lein flyway liquibase ninja tox nox turbo".split()
)


def _gets(words: Sequence[str], arguments: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether a program gets the wanted subcommands, possibly after options with values that are not known here."""
    if wanted and wanted[-1] == "*":
        return list(arguments[: len(wanted) - 1]) == list(wanted[:-1]) and len(arguments) >= len(wanted)
    if list(arguments[: len(wanted)]) == list(wanted) or _holds(arguments, wanted):
        return True
    if _program(words[0]) in _MANY_TARGETS:
        return set(arguments).issuperset(wanted)
    known = words[1] in _GLOBAL_VALUES.get(_program(words[0]), ()) if len(words) > 1 else False  # its value is no argument
    if (
        wanted and len(words) > 2 and words[1].startswith("-") and "=" not in words[1] and not known
    ):  # `helm --kube-context x upgrade`
        return list(arguments[1 : 1 + len(wanted)]) == list(wanted)
    return False


# Programs whose arguments are text or are searched for, so that naming a host or a variable there is no use of it.
_TEXTUAL = frozenset(
    "echo printf grep egrep fgrep rg ag ack cat sed awk man which type cd ls find test [ head tail less jq".split()
)


def _mentions(command: ShellCommand, name: str) -> bool:
    """Return whether a command gets a host or an assignment, in its arguments or its variables."""
    if name.startswith("-"):
        return _gets_flag(command, name)
    after = "" if name.endswith("=") else r"(?![\w-]|\.\w)"  # NAME= stands for any value
    whole = re.compile(rf"(?<![\w.-]){re.escape(name)}{after}")
    if any(whole.search(word[:2_000]) for word in command.assigned):
        return True
    if command.program in _TEXTUAL or (
        command.program == "git" and _arguments(command.words)[:1] in (["commit"], ["log"], ["grep"])
    ):
        return False
    return any(whole.search(word[:2_000]) for word in command.words[1:] if " " not in word or "=" not in name)


def _gets_flag(command: ShellCommand, flag: str) -> bool:
    """Return whether a command gets a flag: as a word, or in the value of an option or variable such as `CFLAGS`."""
    if command.program in _TEXTUAL:
        return False
    if any(word == flag or word.partition("=")[0] == flag for word in command.words[1:]):
        return True
    whole = re.compile(rf"(?<![\w-]){re.escape(flag)}(?![\w-])")
    words = [re.sub(r"^(-D\w{1,60}):[A-Z]{1,10}=", r"\1=", word) for word in command.words[1:]]  # a typed entry of CMake's cache
    if flag in words:
        return True
    values = (*command.assigned, *(word for word in command.words[1:] if re.match(r"[\w-]{1,60}=", word)))
    return any(whole.search(value.partition("=")[2][:2_000]) for value in values)


# Branches


# Clients of databases, to which statements are given as arguments, in a here-document or through a pipe.
_CLIENTS = frozenset(
    "redis-cli valkey-cli psql mysql mariadb sqlite3 sqlcmd cqlsh mongosh mongo clickhouse-client duckdb cockroach".split()
)


def _executes(command: ShellCommand, statement: str) -> bool:
    """Return whether a client of a database gets a statement."""
    text = " ".join((*command.words[1:], command.here))[:MAX_TEXT]
    parts = r"\s{1,5}".join(map(re.escape, statement.split()))
    return re.search(rf"(?<![\w-]){parts}(?![\w-])", text, re.IGNORECASE) is not None


def _is_branch(name: str, patterns: Sequence[str]) -> bool:
    def fits(pattern: str) -> bool:
        return has_style(name, pattern) if pattern in STYLES else fnmatchcase(name, pattern)

    others = [pattern[1:] for pattern in patterns if pattern.startswith("!")]  # all branches but these
    if others and name and not any(map(fits, others)):
        return True
    return any(fits(pattern) for pattern in patterns if not pattern.startswith("!"))


_STYLE_OF_PART: Mapping[str, str] = {
    "<kebab-case>": r"[a-z\d.]+(?:-[a-z\d.]+)*",
    "<snake_case>": r"[a-z\d.]+(?:_[a-z\d.]+)*|__\w+__", "<PascalCase>": r"[A-Z][a-zA-Z\d.]*",
    "<camelCase>": r"[a-z][a-zA-Z\d.]*", "<lower-case>": r"[^A-Z]+", "<no spaces>": r"\S+", "<no underscores>": r"[^_]+",
}  # fmt: skip
STYLES = frozenset({*_STYLE_OF_PART, "<no slash>", *(f"<max {number}>" for number in range(1, 200))})


def has_style(name: str, style: str) -> bool:
    """Return whether each part of a branch or path has a style. Ticket numbers such as SHOP-12 have any."""
    if style == "<no slash>":
        return "/" not in name
    if style.startswith("<max "):
        return len(name) <= int(style[5:-1])
    parts = re.sub(r"(?<![\w])[A-Z]{2,10}-\d{1,7}-?", "", name).split("/")
    return all(not part or re.fullmatch(_STYLE_OF_PART[style], part) is not None for part in parts)


_ENDS = frozenset("--abort --quit --dry-run".split())


def _concerns(command: ShellCommand, patterns: Sequence[str], current: str) -> bool:
    """Return whether a git command changes one of the branches: the current branch or, for a push, its target."""
    arguments = _arguments(command.words)
    if arguments[:1] != ["push"]:
        ends = not _ENDS.isdisjoint(command.words)  # Ends a merge or rebase without changing the branch.
        return bool(current) and not ends and _is_branch(current, patterns)
    if any(word in ("--all", "--mirror", "--branches") for word in command.words):
        return True
    targets = [word.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") for word in arguments[2:]]
    if not targets and "--tags" in command.words:
        return False
    return any(_is_branch(current if target in ("HEAD", "@") else target, patterns) for target in targets or [current])


def _created(command: ShellCommand) -> str:
    """Return the name of the branch that a git command creates, or ""."""
    words, arguments = command.words, _arguments(command.words)
    if arguments[:1] == ["branch"]:
        if any(
            re.match(r"-[dDrauv]|--(?:delete|list|remotes|all|merged|no-merged|contains|show|set|unset|edit|sort|format)", w)
            for w in words[1:]
        ):
            return ""
        moves = any(word in ("-m", "-M", "--move", "-c", "-C", "--copy") for word in words)
        return arguments[-1] if moves and len(arguments) > 1 else (arguments[1] if len(arguments) > 1 else "")
    flags = {
        "checkout": ("-b", "-B", "--orphan"),
        "switch": ("-c", "-C", "--create", "--force-create", "--orphan"),
        "worktree": ("-b", "-B"),
    }
    wanted = flags.get(arguments[0] if arguments else "", ())
    start = words.index(arguments[0]) if arguments else 0  # `git -C folder` is not a flag of the subcommand.
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if at > start and word in wanted), "")


def _branch_after(lines: Sequence[str]) -> str:
    """Return the branch that the session last switched to, or "" if unknown."""
    names = [name for line in lines for command in _parsed(line) if command.program == "git" if (name := _switched_to(command))]
    return names[-1] if names else ""


_NAMES_FILE = re.compile(
    r"\.{1,2}$|(?:.*/)?(?:Makefile|Dockerfile|LICENSE|README|Gemfile|Procfile|Justfile)$|(?:.*/)?[\w-]*\.[a-z]\w{0,5}$|[:~^]|HEAD|@"
)


def _switched_to(command: ShellCommand) -> str:
    """Return the branch that a git command switches to, or "" if there is none or it is unknown."""
    arguments = _arguments(command.words)
    if arguments[:1] not in (["checkout"], ["switch"]):
        return ""
    if name := _created(command):
        return name
    if (
        len(arguments) != 2
        or "--" in command.words
        or "$" in arguments[1]
        or _NAMES_FILE.match(arguments[1])
        or arguments[1].endswith("/")
    ):
        return ""
    return arguments[1].removeprefix("origin/")


def _started_at(command: ShellCommand, name: str, current: str) -> str:
    """Return the branch from which a command creates another one, or "" if it is unknown."""
    arguments = _arguments(command.words)
    after = arguments[arguments.index(name) + 1 :] if name in arguments else []
    if arguments[:2] == ["worktree", "add"]:
        after = [word for word in arguments[2:] if word != name][1:]  # The first one is the folder.
    if after:
        start = after[0].removeprefix("origin/").removeprefix("upstream/")
        return "" if re.search(r"[$~^@]|HEAD|^[\da-f]{7,40}$|^v?\d+\.", start) else start
    return current


def _branch_names(check: Check, call: ToolCall, current: str = "") -> Result:
    result = NOTHING
    for command in _commands_within(check, call):
        if command.program != "git":
            continue
        name = _created(command) or (_switched_to(command) if check.access is Access.READ else "")
        if not name or "$" in name:
            current = _switched_to(command) or current
            continue
        start = _started_at(command, name, current) if check.branch else ""
        wrong = bool(start) and not _is_branch(start, check.branch) or not _is_branch(name, check.words)
        if wrong and (violated := _violated(check, " ".join(command.words), _form_of(command.words))):
            return violated
        result = OBEYED
    return result


@lru_cache(maxsize=2_000)
def _split(wanted: str) -> tuple[str, ...]:
    return tuple(wanted.split())


def _single_flags(program: str, word: str) -> Sequence[str]:
    """Split a cluster of short flags such as `-rf` into `-r` and `-f`, for programs that accept clusters."""
    cluster = program in _CLUSTERS and re.fullmatch(r"-[A-Za-z]{2,6}", word)
    return [f"-{letter}" for letter in word[1:]] if cluster else [word]


_CLUSTERS = frozenset("rm ls cp mv chmod chown grep tar ps git rsync docker kubectl podman".split())


def _holds(arguments: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the subcommand matches and all other wanted words are arguments or targets of refspecs."""
    if not wanted or arguments[:1] != [wanted[0]]:
        return False
    if arguments[0] in ("add", "commit") and len(wanted) == 2 and re.search(r"[./]", wanted[1].strip(".")):
        return any(_is_within(posixpath.normpath(word), wanted[1]) for word in arguments[1:])
    if "*" in wanted[-1] and len(wanted[-1]) > 1:  # `gh api DELETE *refs/heads*` and `pnpm add react@*`
        return set(wanted[1:-1]) <= set(arguments) and any(fnmatchcase(word, wanted[-1]) for word in arguments)
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
    """Return the words, without flags and without the values of the program's global options."""
    with_value = _GLOBAL_VALUES.get(_program(words[0]), frozenset())
    out: list[str] = []
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            skip = word in with_value and (not out or word in _ANYWHERE)
        else:
            out.append(word)
    return out


def _has_flag(command: ShellCommand, flag: str) -> bool:
    words = _module(command.words)
    flag, _, value = flag.replace("=", " ", 1).partition(" ")
    subcommand = next(iter(_arguments(words)), "")
    program = _program(words[0])
    groups = (*SAME_FLAGS.get((program, subcommand), ()), *SAME_FLAGS.get((program, ""), ()))
    wanted = next((group for group in groups if flag in group), frozenset({flag}))
    if value:
        return any(
            word in (f"{name}={value}", f"{name}{value}") or word == name and words[at + 1 : at + 2] == (value,)
            for at, word in enumerate(words)
            for name in wanted
        )
    short = {name[1] for name in wanted if re.fullmatch(r"-[A-Za-z]", name)}
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
            continue
        if word.partition("=")[0] in wanted or word.startswith("--") and word[1:].partition("=")[0] in wanted:
            return True
        if re.match(r"-[A-Za-z]", word) and program not in _LONG_WITH_ONE_DASH:
            for letter in word[1:]:
                if letter in short:
                    return True
                if program == "git" and subcommand == "commit" and f"-{letter}" in _COMMIT_VALUES:
                    break  # The rest of the word is its value.
        skip = program == "git" and subcommand == "commit" and (word in _COMMIT_VALUES or _ends_with_value(word))
    return False


# Programs whose options begin with one dash and can't be joined, as in `go test -race`.
_LONG_WITH_ONE_DASH = frozenset("go terraform tofu java javac flyway find gcc clang dotnet ffmpeg openssl packer consul".split())


def _ends_with_value(word: str) -> bool:
    return re.fullmatch(r"-[A-Za-z]*[mFCct]", word) is not None


# Paths

_EDITS: Mapping[str, str] = {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_READS: Mapping[str, str] = {"Read": "file_path"}
EDITORS = frozenset(_EDITS)
# Programs that change their file arguments, grouped by which ones they change: all, only the last, or only with a flag.
_CHANGES_ALL = frozenset(
    "rm rmdir unlink shred touch chmod chown truncate tee mkdir patch trash trash-put sponge vim vi nvim nano emacs ed ex".split()
)
_DOWNLOADS = frozenset({"curl", "wget"})
_INTERPRETERS = frozenset("python python3 node ruby deno bun php".split())
# What a program's code writes or deletes: a path in quotes, or a name that the code gives to a path.
_QUOTED_OR_NAME = r"""(?:['"](?P<path>[^'"\n]{1,200})['"]|(?P<name>[A-Za-z_]\w{0,40}))"""
_CODE_WRITES = tuple(
    re.compile(pattern.replace("PATH", _QUOTED_OR_NAME))
    for pattern in (
        r"""\bopen\(\s?PATH\s?,\s?(?:mode\s?=\s?)?['"](?:[wax]|rb?\+)""",
        r"""\bPath\(\s?PATH\s?\)\.(?:write_text|write_bytes|unlink|touch|rename|replace|open\(\s?['"][wax])""",
        r"""(?<![\w.])(?P<name>[A-Za-z_]\w{0,40})(?P<path>)\.(?:write_text|write_bytes|unlink|touch|open\(\s?['"][wax])""",
        r"""\b(?:writeFileSync|writeFile|appendFileSync|appendFile|createWriteStream|unlinkSync|rmSync|truncateSync|file_put_contents|File\.write|File\.delete|os\.remove|os\.unlink|Bun\.write|Deno\.writeTextFile(?:Sync)?)\(\s?PATH\s?[,)]""",
        r"""\b(?:os\.(?:rename|replace)|shutil\.(?:copy2?|copyfile|move)|(?:copyFile|rename)Sync)\([^,()\n]{1,200},\s?PATH\s?\)""",
    )
)
_NAMES_PATH = re.compile(r"""\b([A-Za-z_]\w{0,40})\s?=\s?(?:(?:pathlib\.)?Path\(\s?)?['"]([^'"\n]{1,200})['"]""")
MAX_CODE = 5_000  # Characters of a program's code in which written files are looked for.


def _written_by_code(text: str) -> list[str]:
    """Return the files that the code of a program on the command line writes."""
    text = text[:MAX_CODE]
    named = {match[1]: match[2] for match in _NAMES_PATH.finditer(text)}
    found = (match for pattern in _CODE_WRITES for match in pattern.finditer(text))
    return [path for match in found if (path := match["path"] or named.get(match["name"] or "", ""))]


_CHANGES_LAST = frozenset("cp install ln rsync".split())
_CHANGES_IN_PLACE = re.compile(r"-[a-zA-Z\d]{0,8}i|--in-place")
_IN_PLACE = frozenset("sed perl ruby gsed yq".split())
_TEST_RUNNERS = frozenset("jest vitest".split())
_UPDATES = frozenset("-u --update --updateSnapshot --update-snapshots".split())
_FORMATTERS = frozenset("prettier black autopep8 eslint gofmt rustfmt".split())
_OPENS_FILES = re.compile(r"""(?:open|read|readFile|readFileSync|Path|File)\s{0,4}\(\s{0,4}['"]([^'"]{1,200})['"]""")
_SEARCHERS = frozenset("grep egrep fgrep rg ag ack sed awk".split())
_NAMES_ONLY = frozenset(
    "ls stat echo printf test [ type which file du find fd fdfind tree eza exa git cd pwd basename dirname realpath wc".split()
)
_VALUES_NOT_READ = frozenset(
    "--exclude --exclude-dir --exclude-from --ignore --ignore-file --env-file --include -g --glob --iglob".split()
)


def _path(check: Check, call: ToolCall) -> Result:
    places = places_of_call(call, check.access)
    for target, place, created in (*places, *outputs_of_call(call)) if check.new is New.ONLY else places:
        if place is None or not _by_age(check.new, place, created, call):
            continue
        if any(_has_styled_name(place, path) if path in STYLES else _is_within(place, path) for path in check.unless):
            continue
        if check.files and not any(_matches(place, pattern) for pattern in check.files):
            continue
        within = not check.paths or any(_is_within(place, path) for path in check.paths)
        if within and (violated := _violated(check, target, place or target)):
            return violated
    return NOTHING


def _has_styled_name(place: str, style: str) -> bool:
    """Return whether a file's name has a style. Names in capitals such as README, and those with a leading sign, have any."""
    stem = posixpath.basename(place).partition(".")[0]
    return not stem or stem.isupper() or not stem[0].isalpha() or has_style(stem, style)


def _by_age(new: New, place: str, created: bool, call: ToolCall) -> bool:
    """Return whether a check on new or existing files applies to this change. The disk shows whether the file exists."""
    if new is New.ANY:
        return True
    if posixpath.isabs(place) and new is New.ONLY:
        return False  # Outside the project.
    exists = not created or os.path.lexists(posixpath.join(call.root or call.cwd or "/", place))
    return exists is (new is New.EXCEPT)


def places_of_call(call: ToolCall, access: Access) -> Sequence[tuple[str, str | None, bool]]:
    """Return the paths that a call accesses: as written, relative to the project, and whether the call may create the file."""
    key = _EDITS.get(call.tool) or (_READS.get(call.tool) if access is Access.READ else None)
    path, line = call.input.get(key or ""), call.input.get("command")
    named = path if isinstance(path, str) else ""
    return _places_of(
        named, line if call.tool == "Bash" and isinstance(line, str) else "", access, call.cwd, call.root, call.tool == "Write"
    )


@lru_cache(maxsize=64)
def _places_of(path: str, line: str, access: Access, cwd: str, root: str, writes: bool) -> Sequence[tuple[str, str | None, bool]]:
    targets = [(path, writes)] if path else []
    commands = _parsed(line) if line else ()
    for command in commands:
        created = set(_created_by(command))
        for target in changed_by(command, reads=access is Access.READ):
            targets.append((_joined(command, target), target in created))
    targets += [(found, False) for found in _changed_by_search(commands)]
    call = ToolCall("", {}, cwd, root)
    return [(target, relative(target, call), created) for target, created in targets]


def _joined(command: ShellCommand, path: str) -> str:
    """Return a path that a command names, seen from the folder in which the line starts."""
    return posixpath.join(command.folder or "", path) if command.folder is not None else path


def outputs_of_call(call: ToolCall) -> Sequence[tuple[str, str | None, bool]]:
    """Return the files that programs write as their output. They are new files, but nobody edits them by hand."""
    found = [_joined(command, path) for command in commands_of(call) for path in _outputs(command)]
    return [(path, relative(path, call), True) for path in found]


_OUTPUT_OPTIONS = frozenset("-o --output --out --out-file --outfile --output-file -out --export-filename".split())
_OTHER_OUTPUT_OPTIONS = frozenset("grep egrep fgrep rg ag ack ssh scp rsync mount set ps kubectl aws az gh curl wget".split())
_CONVERTERS = frozenset("convert magick ffmpeg wkhtmltopdf".split())


def _outputs(command: ShellCommand) -> Iterator[str]:
    """Yield the files named as a program's output, as in `pandoc a.md -o b.docx`."""
    if not command.words or command.program in _OTHER_OUTPUT_OPTIONS:
        return
    words = command.words
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if at and word in _OUTPUT_OPTIONS]
    named += [word.partition("=")[2] for word in words[1:] if word.partition("=")[0] in _OUTPUT_OPTIONS]
    if command.program in _CONVERTERS and len(words) > 2:
        named.append(words[-1])
    yield from (name for name in named if re.search(r"/|\.\w", name))


def _created_by(command: ShellCommand) -> Iterator[str]:
    """Yield the changed files that the command may create."""
    yield from command.writes
    program, arguments = command.program, [word for word in command.words[1:] if not word.startswith("-")]
    if program in ("touch", "tee", "mkdir"):
        yield from arguments
    elif program in _DOWNLOADS or program in _INTERPRETERS:
        yield from _changed_arguments(command)
    elif program in ("mv", "cp", "install", "ln"):
        yield from _destinations(arguments)
    elif program == "git" and _arguments(command.words)[:1] == ["mv"]:
        yield from _destinations(_arguments(command.words)[1:])


def _changed_by_search(commands: Sequence[ShellCommand]) -> Iterator[str]:
    """Yield the files that `find` and `xargs` pass to a command that changes them, represented by the search pattern."""
    changes = any(
        command.program == "xargs"
        and any(
            _changes_arguments(inner)
            for inner in commands
            if inner.words and command.words[-len(inner.words) :] == inner.words and inner is not command
        )
        for command in commands
    )
    for command in commands:
        if command.program == "git" and _arguments(command.words)[:1] == ["ls-files"] and changes:
            yield from _joined_to(command, [word.strip("'") for word in _arguments(command.words)[1:]])
        if command.program != "find":
            continue
        inside = [inner for inner in commands if inner.words and "{}" in inner.words and inner.program != "find"]
        if not (changes or "-delete" in command.words or any(_changes_arguments(inner) for inner in inside)):
            continue
        words = command.words
        end = next((at for at, word in enumerate(words) if at and word.startswith(("-", "(", "!"))), len(words))
        names = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-name", "-iname")]
        yield from _joined_to(
            command, [posixpath.join(start, name) for start in words[1:end] or (".",) for name in names or [""]]
        )


def _joined_to(command: ShellCommand, paths: Sequence[str]) -> Iterator[str]:
    return (_joined(command, path) for path in paths)


def _changes_arguments(command: ShellCommand) -> bool:
    """Return whether a command would change a file appended to its words."""
    return "//file" in _changed_arguments(replace(command, words=(*command.words, "//file")))


def changed_by(command: ShellCommand, *, reads: bool = False) -> Iterator[str]:
    """Yield the files changed by a command. With `reads`, also yield the files it reads."""
    yield from command.writes
    if not command.words:
        return
    yield from _changed_arguments(command)
    if not _TEST_RUNNERS.isdisjoint(command.words[:3]) and not _UPDATES.isdisjoint(command.words):
        yield "__snapshots__/*.snap"
    if reads:
        yield from command.reads
        yield from _read_arguments(command)


def _changed_by_git(command: ShellCommand) -> Sequence[str]:
    words, arguments = command.words[1:], _arguments(command.words)
    if _created(command) or ("--staged" in words and "--worktree" not in words) or "--cached" in words or "--check" in words:
        return ()  # A branch, or only the index.
    if (
        arguments[:1] == ["checkout"]
        and len(arguments) == 2
        and "--" not in words
        and not re.search(r"/$|\.\w{1,8}$", arguments[1])
    ):
        return ()  # Rather a branch.
    if arguments[:1] == ["apply"]:
        return [*arguments[1:], *_into_folder("git", words)]
    if arguments[:1] == ["mv"]:
        return [*arguments[1:-1], *_destinations(arguments[1:])]
    return arguments[1:] if arguments[:1] in (["rm"], ["checkout"], ["restore"]) else ()


def _changed_arguments(command: ShellCommand) -> Sequence[str]:
    program, words = command.program, command.words[1:]
    if program == "git":
        return _changed_by_git(command)
    if "--dry-run" in words or program == "rsync" and "-n" in words:
        return ()
    if program in _DOWNLOADS:
        return _downloaded(words)
    if program in _INTERPRETERS:
        return [path for text in (*words, command.here) for path in _written_by_code(text)]
    unpacked = _into_folder(program, words) if program in _INTO_FOLDER else []
    arguments = [word for word in words if not word.startswith("-")]
    return [*unpacked, *_changed_by_name(program, words, arguments)]


def _changed_by_name(program: str, words: Sequence[str], arguments: Sequence[str]) -> Sequence[str]:
    """Return the files that a program changes because they are its arguments."""
    if program in _CHANGES_ALL:
        return arguments
    if program == "mv":
        return [*arguments[:-1], *_destinations(arguments)]
    if program in _CHANGES_LAST:
        return _destinations(arguments)
    if program == "sd":
        return arguments[2:]
    in_place = program in _IN_PLACE and any(_CHANGES_IN_PLACE.match(word) for word in words)
    if in_place and not any(word in ("-f", "--file") for word in words):
        return _scripts_of_sed(words)[1]
    if in_place or (program in _FORMATTERS and any(word in ("--write", "-w", "--fix", "-i") for word in words)):
        return arguments
    return [word[3:] for word in words if word.startswith("of=")] if program == "dd" else ()


# Programs that unpack or apply something into a folder, with the options that name it.
_INTO_FOLDER: Mapping[str, frozenset[str]] = {
    "tar": frozenset({"-C", "--directory", "--one-top-level"}),
    "bsdtar": frozenset({"-C", "--directory"}),
    "unzip": frozenset({"-d"}),
    "7z": frozenset({"-o"}),
    "patch": frozenset({"-d", "--directory"}),
    "git": frozenset({"--directory"}),
}


def _into_folder(program: str, words: Sequence[str]) -> list[str]:
    """Return the folders into which a program unpacks files, none if it only packs or lists them."""
    first = next(iter(words), "").lstrip("-")
    if program.endswith("tar") and not ("x" in first and not first.startswith(("e", "-")) or "--extract" in words):
        return []
    options = _INTO_FOLDER[program]
    found = [words[at + 1] for at, word in enumerate(words[:-1]) if word in options]
    return found + [word.partition("=")[2] for word in words if "=" in word and word.partition("=")[0] in options]


def _destinations(arguments: Sequence[str]) -> list[str]:
    """Return the files that `cp` and `mv` write. In a folder, they are called as before."""
    if len(arguments) < 2:
        return list(arguments)
    *sources, last = arguments
    ending = posixpath.splitext(posixpath.basename(sources[0]))[1]
    is_folder = last.endswith("/") or posixpath.basename(last) in (".", "..") or len(sources) > 1
    is_folder = is_folder or bool(ending) and "." not in posixpath.basename(last)
    return [posixpath.join(last, posixpath.basename(source.rstrip("/"))) for source in sources] if is_folder else [last]


def _downloaded(words: Sequence[str]) -> list[str]:
    """Return the files into which `curl -o` and `wget -O` write."""
    found = [word.partition("=")[2] for word in words if word.startswith(("--output=", "--output-document="))]
    for at, word in enumerate(words[:-1]):
        if (
            word in ("--output", "--output-document")
            or re.fullmatch(r"-[a-zA-Z]{0,6}[oO]", word)
            and not words[at + 1].startswith(("-", "http"))
        ):
            found.append(words[at + 1])
    return found


def _read_arguments(command: ShellCommand) -> Iterator[str]:
    program, words = command.program, command.words[1:]
    if program in _NAMES_ONLY:
        return
    arguments = [
        word for at, word in enumerate(words) if not word.startswith("-") and not (at and words[at - 1] in _VALUES_NOT_READ)
    ]
    if program in _SEARCHERS and not any(word in ("-e", "-f", "--regexp") for word in words):
        arguments = arguments[1:]  # The first argument is the search pattern.
    yield from arguments
    yield from (match[1] for word in words for match in _OPENS_FILES.finditer(word[:2_000]))


def relative(path: str, call: ToolCall) -> str | None:
    """Return a path of a call relative to the project's root, or None if unknown."""
    return _relative_to(path, call.cwd, call.root)


_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/])")


def _unix_form(path: str) -> str:
    """Return a path of Windows as Git Bash writes it, such as /c/Users."""
    return _DRIVE.sub(lambda drive: f"/{drive[1].lower()}", path.replace("\\", "/"), count=1)


@lru_cache(maxsize=500)
def _relative_to(path: str, cwd: str, root: str) -> str | None:
    """Return a path relative to the project's root, or None if unknown. Absolute paths outside the project stay absolute."""
    if "$" in path:
        return None
    if _DRIVE.match(cwd) or _DRIVE.match(path):
        path, cwd, root = _unix_form(path), _unix_form(cwd), _unix_form(root)
    base = cwd or "/"
    whole = posixpath.normpath(posixpath.join(base, path))
    root = root or cwd
    if root and (whole == root or whole.startswith(root.rstrip("/") + "/")):
        return posixpath.relpath(whole, root)
    return whole if posixpath.isabs(path) else posixpath.normpath(path)


def _is_within(place: str, path: str) -> bool:
    """Return whether a place equals the path or is below it. A single-part path such as `.env` matches in every folder."""
    wanted = path.removeprefix("./").rstrip("/")
    if any(sign in wanted for sign in "*?"):
        return _matches(place, wanted)
    if wanted.startswith("~/"):  # anyone's home
        wanted, place = wanted[2:], place.removeprefix("~/") if place.startswith("~/") else place
        return posixpath.isabs(place) and f"{place}/".find(f"/{wanted}/") >= 0 or f"{place}/".startswith(f"{wanted}/")
    if posixpath.isabs(wanted):
        return f"{place}/".startswith(f"{wanted}/")
    if wanted in ("", "."):  # directly in the project's folder
        return "/" not in place.strip("/")
    parts, parts_wanted = place.strip("/").split("/"), wanted.split("/")
    if path.endswith("/") or "/" in wanted:
        starts = [0] if not posixpath.isabs(place) else range(len(parts))
        return any(parts[at : at + len(parts_wanted)] == parts_wanted for at in starts)
    return parts[-1] == wanted or parts[0] == wanted


def _matches(place: str, pattern: str) -> bool:
    return (
        fnmatchcase(place, pattern) or fnmatchcase(posixpath.basename(place), pattern) or fnmatchcase(f"/{place}", f"*/{pattern}")
    )


# Content of edits


def is_place(exception: str) -> bool:
    """Return whether an exception of a check on content is a place rather than a longer name."""
    return "/" in exception or exception.startswith("*.") or _FILE_NAME.fullmatch(exception) is not None


_FILE_NAME = re.compile(
    r"[\w-]{1,60}(?:\.[\w-]{1,20})?\.(?:go|tsx?|jsx?|mjs|py|rb|rs|java|kt|swift|php|cs|c|cc|cpp|h|hpp|sql|ya?ml|json|toml|s?css)"
)


def _content(check: Check, call: ToolCall) -> Result:
    applies = False
    for path, new, old in edited(call):
        place = relative(path, call)
        if place is None or not covers(check, place):
            continue
        applies = True
        word = _added_word(check, new, old, place)
        if word and (violated := _violated(check, f"{word} in {path}", f"{word} in {place}")):
            return violated
    for command in _installing(check, call) if check.imports else ():
        library = next((word for word in check.words if _installs(command, word, check.unless)), "")
        if library and (violated := _violated(check, " ".join(command.words), f"install {library}")):
            return violated
    return OBEYED if applies else NOTHING


def _installing(check: Check, call: ToolCall) -> Sequence[ShellCommand]:
    """Return the commands that may install a library against the rule. Only a package of a monorepo has its own dependencies."""
    of_package = bool(check.paths) and all("/" in path.strip("/") for path in check.paths)
    return _commands_within(check, call) if of_package else commands_of(call)


def _as_code(place: str) -> str:
    """Return the name of the Python file that a notebook's cells could be in."""
    return f"{place.removesuffix('.ipynb')}.py" if place.endswith(".ipynb") else place


def covers(check: Check, place: str) -> bool:
    """Return whether a content check applies to the file."""
    if (
        check.files
        and not any(_matches(name, pattern) for name in {place, _as_code(place)} for pattern in check.files)
        and not (check.imports and is_manifest(place))
    ):
        return False
    if check.paths and not any(_is_within(place, wanted) for wanted in check.paths):
        return False
    return not any(_is_within(place, path) for path in check.unless if is_place(path))


def _added_word(check: Check, new: str, old: str, place: str) -> str:
    """Return the first word added by the edit that has not been silenced, or ""."""
    for word in check.unless:
        if not is_place(word):
            new, old = new.replace(word, " "), old.replace(word, " ")
    # searching for the word is much cheaper than counting it, which keeps hundreds of checks fast
    may = partial(may_import, new.lower()) if check.imports else partial(may_contain, new)
    found = (word for word in check.words if may(word) and _count(check, new, word, place) > _count(check, old, word, place))
    return next((word for word in found if _violated(check, word, f"{word} in {place}")), "")


INSTALLERS = frozenset(
    "conan vcpkg apt apt-get brew dnf yum apk importmap"
    " npm pnpm yarn bun pip uv poetry pdm pipenv conda mamba cargo gem bundle composer go"
    " dotnet dart flutter deno expo nuget rye hatch".split()
)


_INSTALLS = (
    ["install"],
    ["i"],
    ["add"],
    ["require"],
    ["get"],
    ["pub", "add"],
    ["pip", "install"],
    ["workspace"],
    ["tool", "install"],
    ["global", "add"],
    ["pin"],
    ["add", "package"],
)
_OF_SYSTEM = frozenset("apt apt-get dnf yum apk brew".split())


def _installs(command: ShellCommand, library: str, unless: Sequence[str] = ()) -> bool:
    words = _module(command.words)
    arguments = _arguments(words) if words and _program(words[0]) in INSTALLERS else []
    if not any(arguments[: len(start)] == start for start in _INSTALLS):
        return False
    names = {name.lower() for known in names_of_library(library) for name in (known, f"{known}-es", f"@types/{known}")} - set(
        unless
    )
    program = _program(words[0])
    options = [word.partition("=")[2] for word in words if word.startswith("--requires=")] if program == "conan" else []
    found = [re.split(r"(?<=.)[@=<>~!\[]", word)[0].lower() for word in (*arguments[1:], *options)]
    if program == "conan":
        found = [name.partition("/")[0] for name in found]
    if program in _OF_SYSTEM:  # libboost-all-dev
        return any(re.match(rf"(?:lib|python3-|ruby-)?{re.escape(known)}\d*(?:-|$)", name) for name in found for known in names)
    return any(
        name in names
        or name.partition("/")[0] == f"@{library.lower()}"
        or program in ("go", "composer")
        and not names.isdisjoint(name.split("/"))
        for name in found
    )


def edited(call: ToolCall) -> Iterator[tuple[str, str, str]]:
    """Yield the path, new text and old text of each edit in a call, including edits through here-documents."""
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
    found: list[tuple[str, str, str]] = []
    for command in _parsed(line):
        edits = list(_edited_by_sed(command))
        for target in (*command.writes, *(changed_by(command) if command.program == "tee" else ())):
            text = command.here or (" ".join(command.words[1:]) if command.program in ("echo", "printf") else "")
            text = text.replace("\\n", "\n") if command.source == "printf" or command.program == "printf" else text
            edits += [(target, text[:MAX_TEXT], "")] if text else []
        found += [(_joined(command, target), new, old) for target, new, old in edits]
    return found


_SUBSTITUTION = re.compile(r"s([/|#,@!])(.{0,500}?)(?<!\\)\1(.{0,500}?)(?<!\\)\1", re.DOTALL)
_INSERTION = re.compile(r"(?:\d{1,6}|\$|/[^/]{0,200}/)?\s?[iac]\\?\s?(.{1,1000})", re.DOTALL)
_SCRIPTS_OF_SED = frozenset({"-e", "--expression"})
MAX_SCRIPT = 1_500  # Characters of a script of sed in which substitutions are looked for.
_ADDRESS = re.compile(r"(?:[\d,$;\s]|/[^/\n]{0,200}/)*")


def _edited_by_sed(command: ShellCommand) -> Iterator[tuple[str, str, str]]:
    """Yield what `sed -i` or `perl -i` inserts into its files."""
    if command.program not in _IN_PLACE or not any(_CHANGES_IN_PLACE.match(word) for word in command.words[1:]):
        return
    scripts, files = _scripts_of_sed(command.words[1:])
    for script in scripts:
        plain = _ADDRESS.sub("", script, count=1)[:MAX_SCRIPT]
        found = _INSERTION.match(script)  # its text may look like a substitution
        changes = [(found[1], "")] if found else [(match[3], match[2]) for match in _SUBSTITUTION.finditer(plain)]
        yield from ((target, new, old) for target in files for new, old in changes)


def _scripts_of_sed(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the scripts and the files of a call of sed. The first argument is the script if no option gives one."""
    scripts: list[str] = []
    files: list[str] = []
    takes_script = False
    for word in words:
        if takes_script:
            scripts.append(word)
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word and not word.startswith("-"):
            files.append(word)
        takes_script = not takes_script and (word in _SCRIPTS_OF_SED or re.fullmatch(r"-[a-z]{1,4}e", word) is not None)
    return (scripts, files) if scripts else (files[:1], files[1:])


def _count(check: Check, text: str, word: str, path: str) -> int:
    """Count a word in the code of a text. Comments and strings are excluded, unless the word belongs in them."""
    if not text:
        return 0
    if check.imports:
        return count_imports(text, word, path) if is_manifest(path) or code_words("x", path) else 0  # prose may quote an import
    if (found := count_piece(_near(check, text), word, path)) is not None:
        return found
    is_flag = word.startswith("-")
    code = (
        text
        if word.lower().startswith(IN_COMMENTS)
        else code_words(text, path, strings="://" in word or is_flag or "-" in word and path.endswith(".tf"))
    )
    code = _near(check, code)
    if is_flag:
        return len(re.findall(rf"(?<![\w-]){re.escape(word)}(?![\w-])", code))
    if re.fullmatch(r"[\w.]+\*", word):  # `fmt.Print*`
        return len(re.findall(rf"(?<![\w.]){re.escape(word[:-1])}", code))
    if re.fullmatch(r"[\w.]+", word):
        after = r"\s{0,8}\(" if check.call else r"(?!\w)"
        # window.console.log also counts as console.log, and a name that begins with a dot is a method of anything.
        before = "" if word.startswith(".") else r"(?<!\w)" if "." in word or _is_member(check, word) else r"(?<![\w.])"
        return len(re.findall(rf"{before}{re.escape(word)}{after}", code))
    return code.count(word)


def _is_member(check: Check, word: str) -> bool:
    """Return whether a word may be what an object has, so that it counts after a dot, too."""
    if check.call and f".{word}()" in METHODS or _IN_CAMEL_CASE.fullmatch(word):
        return True
    known = METHODS.get(word.lower())
    return _HAS_PARTS.fullmatch(word) is not None and (known is None or "*.rb" in known)


_HAS_PARTS = re.compile(r"[a-z][a-z\d]*(?:_[a-z\d]+)+")  # such as find_by_sql, which is called on anything
_IN_CAMEL_CASE = re.compile(r"[a-z][a-z\d]*(?:[A-Z][a-zA-Z\d]*)+")  # such as innerHTML and window.setTimeout


def _near(check: Check, text: str) -> str:
    """Return the lines that have one of the check's nearby words, or the whole text if it has none."""
    if not check.near:
        return text
    return "\n".join(line for line in text.splitlines() if _names_one(line.lower(), check.near))


def _names_one(line: str, words: Sequence[str]) -> bool:
    return any(word in line for word in words)


# Companions and messages


def _companion(check: Check, call: ToolCall, earlier: Earlier) -> Result:
    if call.tool == AT_END:
        if AT_END not in check.words or not _is_about(check, call.input.get("edited", ())):
            return NOTHING
        step = check.first[0]
        return OBEYED if earlier.last(check.first) >= 0 else _missing(check, f"{step} was not run after the last edit", step)
    line, whole = str(call.input.get("command", "")), commands_of(call)
    found = _positions(line, check.words) if whole else ()
    if check.paths:
        within = _commands_within(check, call)
        found = tuple(at for at in found if whole[at] in within)
    if not found:
        return NOTHING
    at, command = found[0], whole[found[0]]
    done = 0 <= earlier.last(check.first) >= earlier.last(check.words)  # Each commit requires its own run of the step.
    done = done or any(place < at for place in _positions(line, check.first, lenient=True))
    return OBEYED if done else _missing(check, " ".join(command.words), _form_of(command.words))


@lru_cache(maxsize=300)  # hundreds of rules may be about the same command
def _positions(line: str, wanted: tuple[str, ...], lenient: bool = False) -> tuple[int, ...]:
    """Return the positions of the commands of a line that match one of the wanted ones, with `lenient` as steps that have run."""
    fits = _has_run if lenient else runs
    return tuple(at for at, command in enumerate(_parsed(line)) if any(fits(command, word) for word in wanted))


def _is_about(check: Check, edited: Sequence[str]) -> bool:
    """Return whether one of the edited files is of the kind, and in a place, that the check names."""
    kept = [place for place in edited if not check.files or any(_matches(place, pattern) for pattern in check.files)]
    return any(not check.paths or any(_is_within(place, path) for path in check.paths) for place in kept)


def _missing(check: Check, what: str, form: str) -> Result:
    return _violated(check, what, form) or NOTHING


def _message(check: Check, call: ToolCall) -> Result:
    result = NOTHING
    for command in _commands_within(check, call):
        if not runs(command, "git commit"):
            continue
        message = _message_of(command) or (_substituted(call) if "$" in command.words else "")
        if not message.strip():
            continue
        if not has_form(check, message):
            first = message.strip().partition("\n")[0]
            if violated := _violated(check, first, f"{first.split()[0]} *"):
                return violated
        result = OBEYED
    return result


def _substituted(call: ToolCall) -> str:
    """Return the text of `-m "$(cat <<EOF …)"`."""
    return next((command.here for command in commands_of(call) if command.program == "cat" and command.here), "")


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
    trailers = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "--trailer"]
    trailers += [word.partition("=")[2] for word in words if word.startswith("--trailer=")]
    from_input = words[-1] in ("-F", "--file") or any(
        word in ("-F-", "--file=-") or word == "-" and words[at - 1] in ("-F", "--file") for at, word in enumerate(words)
    )
    if from_input:
        return command.here
    message = "\n\n".join([*parts, *trailers] if parts else [])
    if message == "$" or not parts and words[-1:] == ("-",):
        return command.here
    return command.here if message.startswith("$") else message
