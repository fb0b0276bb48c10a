"""Parse a shell line into the commands it runs, as words without quotes, with their redirections.

Resolves wrappers: variable assignments, `env`, `sudo`, `timeout`, `xargs`, `sh -c`, `find -exec`, substitutions and
subshells. Nothing is run or expanded. No other module imports tree-sitter.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import tree_sitter
import tree_sitter_bash

from memoryd.guard.vocabulary import NODE_TOOLS

MAX_BYTES = 20_000  # Maximum length of a line. The rest is ignored.
# The parser takes quadratic time in the number of these characters where they don't form a valid line: 20,000 take
# over two seconds.
_COSTLY = re.compile(rb"[(){}|<>&;$]")
MAX_COSTLY = 2_000
# The parser takes a line break before a backslash as part of a word, so that `\git push` would not begin a command.
_BREAK_BEFORE_BACKSLASH = re.compile(rb"(?<!\\)\n(?=\\)")
MAX_DEPTH = 4  # Maximum nesting of `sh -c`.
MAX_COMMANDS = 500
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>"})
_SHELLS = frozenset("sh bash dash zsh ksh ash fish".split())
_SHELL_SCRIPT = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


def _split_options(table: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return the options of each program as a set, from one text per program."""
    return {name: frozenset(options.split()) for name, options in table.items()}


# Programs that run their remaining words as a command, with those of their options that take a separate value.
_WRAPPERS = _split_options(
    {
        "env": "-u --unset -C --chdir -S --split-string",
        "sudo": "-u --user -g --group -h --host -p --prompt -C -r -t -T -U -D --chdir",
        "doas": "-u -C",
        "nohup": "",
        "time": "-f --format -o --output",
        "command": "",
        "builtin": "",
        "exec": "-a",
        "nice": "-n --adjustment",
        "ionice": "-c -n -p",
        "timeout": "-s --signal -k --kill-after",
        "stdbuf": "-i -o -e",
        "setsid": "",
        "chronic": "",
        "unbuffer": "",
        "watch": "-n --interval",
        "caffeinate": "-t -w",
        "xargs": "-I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --replace --arg-file",
        "npx": "-p --package -c",
        "bunx": "",
        "pnpx": "",
        "uvx": "--from --with -p --python",
        "pipx": "",
        "corepack": "",
        "cross-env": "",
        "dotenv": "-e -p -v",
        "dotenvx": "-f -e",
        "flock": "-w -E --timeout",
        "parallel": "-j -n -N --jobs --colsep",
        "gtimeout": "-s --signal -k --kill-after",
        "strace": "-e -o -p",
    }
)
_VALUE_FIRST = frozenset({"timeout", "gtimeout", "flock"})  # The first word after the options is a value, not the command.
_RUNNERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "npm": (("exec", "--"), ("exec",), ("x",)),
    "pnpm": (("dlx",), ("exec",)),
    "yarn": (("dlx",), ("exec",)),
    "uv": (("run",), ("tool", "run")),
    "poetry": (("run",),),
    "pipenv": (("run",),),
    "hatch": (("run",),),
    "pdm": (("run",),),
    "rye": (("run",),),
    "pixi": (("run",),),
    "bundle": (("exec",),),
    "dotenvx": (("run",),),
    "doppler": (("run",),),
    "op": (("run",),),
    "mise": (("exec",), ("x",)),
    "asdf": (("exec",),),
    "rbenv": (("exec",),),
    "direnv": (("exec",),),
    "aws-vault": (("exec",),),
    "heroku": (("run",),),
    "kubectl": (("exec",),),
    "docker": (("compose", "exec"), ("compose", "run"), ("container", "exec"), ("container", "run"), ("exec",), ("run",)),
    "podman": (("compose", "exec"), ("compose", "run"), ("exec",), ("run",)),
    "docker-compose": (("exec",), ("run",)),
    "busybox": ((),),
}
# Package managers that run an installed tool by its name alone, as in `pnpm eslint .`.
_RUN_TOOLS = frozenset({"pnpm", "yarn", "bun"})
# Runners that first name where the command runs: a container, an image, a service, a folder or a profile.
_RUNNER_OF_PLACE = frozenset("docker podman docker-compose kubectl direnv aws-vault".split())
_GLOBAL_OPTIONS = _split_options(
    {
        "pnpm": "--filter -F --dir -C",
        "npm": "--prefix -w --workspace",
        "yarn": "--cwd",
        "docker": "-f --file -p --project-name --profile --context -H --env-file",
        "podman": "-f --file -p --project-name",
        "docker-compose": "-f --file -p --project-name --profile --env-file",
        "kubectl": "-n --namespace --context --kubeconfig",
        "poetry": "-C --directory",
        "uv": "--directory --project",
    }
)
_RUNNER_VALUES = frozenset({"--with", "--python", "-p", "--from", "--package", "--directory", "--project", "--extra", "--group"})
_CONTAINER_VALUES = frozenset(
    "-v --volume -e --env --env-file -p --publish --name --network --net -w --workdir -u --user --entrypoint --mount --platform"
    " --device -c --container -n --namespace -l --label --add-host --memory --cpus --index".split()
)


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command that would run.

    Attributes:
        words: The program as written and its arguments, without quotes. `$` represents the value of a variable or substitution.
        writes: Files to which its output is redirected.
        reads: Files from which its input is redirected.
        here: The text of its here-document.
        assigned: Variables assigned for it or by it, such as `CI=1`.
        source: Name of the program whose output it reads through a pipe.
        folder: Folder in which it runs after any earlier `cd`. "" is the folder in which the line starts, None is unknown.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    here: str = ""
    folder: str | None = ""
    assigned: tuple[str, ...] = ()
    source: str = ""
    outer: tuple[str, ...] = ()  # the words of the command that runs it, such as `uv run pytest`

    @property
    def program(self) -> str:
        """The name of the program without its folder."""
        return posixpath.basename(self.words[0]) if self.words else ""


@dataclass(slots=True)
class _Walk:
    source: bytes
    depth: int
    folder: str | None = ""
    found: list[ShellCommand] = field(default_factory=list)
    piped: dict[int, tuple[str, str]] = field(
        default_factory=dict
    )  # program and printed text, by where the reading command starts
    redirects: dict[int, list[tree_sitter.Node]] = field(default_factory=dict)  # by the id of the node that they belong to
    variables: dict[str, str] = field(default_factory=dict)  # set earlier in the line


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse_shell(line: str, *, depth: int = 0, folder: str | None = "") -> list[ShellCommand]:
    """Return the commands of a line in the order in which they are written. Incomplete lines are parsed as far as possible."""
    source = _readable(line.encode("utf-8", "replace")[:MAX_BYTES])
    walk = _Walk(source, depth, folder)
    _visit(walk, _parser().parse(source).root_node)
    return walk.found


def _readable(source: bytes) -> bytes:
    """Return a line as the parser can read it.

    NUL bytes are left out, as by a shell, and so is all after the last character that the parser can handle quickly.
    """
    source = _BREAK_BEFORE_BACKSLASH.sub(b"\n ", source.replace(b"\0", b""))
    beyond = next(itertools.islice(_COSTLY.finditer(source), MAX_COSTLY, None), None)
    return source[: beyond.start()] if beyond else source


def _visit(walk: _Walk, root: tree_sitter.Node) -> None:
    """Collect the commands below a node. Iterative, because a line may be deeply nested."""
    pending: list[tree_sitter.Node | tuple[str | None]] = [root]
    while pending and len(walk.found) < MAX_COMMANDS:
        node = pending.pop()
        if isinstance(node, tuple):  # The end of a subshell: `cd` inside has no effect outside.
            walk.folder = node[0]
            continue
        if node.type == "pipeline":
            _note_pipes(walk, node)
        if node.type == "redirected_statement":
            redirects = [child for child in node.children if child.type.endswith("redirect")]
            owner = _redirected(node.child_by_field_name("body") or node)
            walk.redirects[owner.id] = [*redirects, *walk.redirects.get(owner.id, ())]
            if owner.id == node.id:
                _add(walk, node, redirects)
            _note_piped_text(walk, owner, redirects)
            pending += reversed(node.children)
        elif node.type == "variable_assignment":  # Outside a command, as in `export CI=1`.
            assigned = _assigned(walk, node)
            name, _, value = assigned.partition("=")
            walk.variables[name.rstrip("+")] = value
            walk.found.append(ShellCommand((), folder=walk.folder, assigned=(assigned,)))
            pending += reversed(node.children)
        elif node.type == "command":
            _add(walk, node, walk.redirects.get(node.id, ()))
            pending += _inside(node)
        else:
            if node.id in walk.redirects:  # a group of commands, which writes to the place where it starts
                _add(walk, node, walk.redirects[node.id])
            if node.type in ("subshell", "command_substitution", "process_substitution"):
                pending.append((walk.folder,))
            pending += reversed(node.children)


def _redirected(body: tree_sitter.Node) -> tree_sitter.Node:
    """Return the node that a redirection belongs to. The parser attaches one at the end of a list to the whole list."""
    while body.type in ("list", "pipeline") and body.named_children:
        body = body.named_children[-1]
    return body


def _note_pipes(walk: _Walk, pipeline: tree_sitter.Node) -> None:
    """Note for each command of a pipeline which program writes to it, and the text if that is printed."""
    parts = [child for child in pipeline.children if child.is_named]
    for writer, reader in itertools.pairwise(parts):
        if writer.type != "command":
            continue
        words = _words_of(walk, writer)
        program = posixpath.basename(words[0]) if words else ""
        walk.piped[reader.start_byte] = program, " ".join(words[1:]) if program in ("echo", "printf") else ""


def _note_piped_text(walk: _Walk, owner: tree_sitter.Node, redirects: Sequence[tree_sitter.Node]) -> None:
    """Note the text of `cat <<EOF | tee file`, where the parser puts the rest of the pipeline into the here-document."""
    words = _words_of(walk, owner) if owner.type == "command" else ()
    if words[:1] != ("cat",):
        return
    for redirect in redirects:
        body = "".join(_text(walk.source, part) for part in redirect.children if part.type == "heredoc_body")
        rest = next((part for part in redirect.children if part.type in ("pipeline", "command")), None)
        first = rest.named_children[0] if rest is not None and rest.type == "pipeline" and rest.named_children else rest
        if body and first is not None:
            walk.piped[first.start_byte] = "cat", body


def _inside(command: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return the substitutions in a command's words."""
    return [
        part
        for node in reversed(command.children)
        for part in (reversed(node.children) if node.type == "variable_assignment" else [node])
        if part.children
    ]


def _assigned(walk: _Walk, node: tree_sitter.Node) -> str:
    value = node.child_by_field_name("value")
    name = _text(walk.source, node).partition("=")[0]
    return f"{name}={_word(walk, value) if value is not None else ''}"


def _add(walk: _Walk, node: tree_sitter.Node, redirects: Sequence[tree_sitter.Node]) -> None:
    words = _words_of(walk, node) if node.type == "command" else ()
    writes: list[str] = []
    reads: list[str] = []
    here = ""
    own = [child for child in node.children if child.type.endswith("redirect")] if node.type == "command" else []
    inner = [part for one in (*redirects, *own) for part in one.children if part.type == "file_redirect"]  # cat <<EOF > file
    for redirect in (*redirects, *own, *inner):
        if redirect.type == "heredoc_redirect":
            here += "".join(_text(walk.source, part) for part in redirect.children if part.type == "heredoc_body")
        elif redirect.type == "herestring_redirect":
            here += "".join(_word(walk, part) for part in redirect.named_children)
        elif redirect.type == "file_redirect":
            target = redirect.child_by_field_name("destination")
            sign = next((child.type for child in redirect.children if child.type in _WRITES or child.type == "<"), "")
            if target is not None and sign:
                (reads if sign == "<" else writes).append(_word(walk, target))
    assigned = (
        tuple(_assigned(walk, child) for child in node.children if child.type == "variable_assignment")
        if node.type == "command"
        else ()
    )
    source, printed = walk.piped.get(node.start_byte, ("", "")) if node.type == "command" else ("", "")
    command = ShellCommand(words, tuple(writes), tuple(reads), here or printed, walk.folder, assigned, source)
    walk.found += unwrap(command, walk.depth)
    if command.program in ("cd", "pushd"):
        walk.folder = _moved(walk.folder, command.words[1:])


def _words_of(walk: _Walk, command: tree_sitter.Node) -> tuple[str, ...]:
    """Return the words of a command. A variable outside quotes stands for as many words as its value has."""
    words: list[str] = []
    for node in _words(command):
        value = _known_value(walk, node) if node.type in ("simple_expansion", "expansion") else None
        words += [_word(walk, node)] if value is None else value.split()
    return tuple(words)


def _words(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the name and arguments of a command, without variable assignments and redirections."""
    for child in node.children:
        if child.type == "command_name":
            yield from child.children
        elif child.is_named and not child.type.endswith("redirect") and child.type not in ("variable_assignment", "comment"):
            yield child


def _text(source: bytes, node: tree_sitter.Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _word(walk: _Walk, node: tree_sitter.Node) -> str:
    """Return a word as the shell would pass it to the program. `$` represents values known only at run time."""
    text = _text(walk.source, node)
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "ansi_c_string":
        return text[2:-1]
    if (value := _known_value(walk, node)) is not None:
        return value
    if node.type in ("simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"):
        return "$"
    if node.type == "string":
        return _unescaped("".join(_joined(walk, node)), in_quotes=True)
    if node.type == "concatenation":
        return "".join(_word(walk, child) for child in node.children)
    return _unescaped(text, in_quotes=False)


def _joined(walk: _Walk, node: tree_sitter.Node) -> Iterator[str]:
    """Yield the parts of a double-quoted string. Whitespace at its ends is not part of any parser node."""
    source, at = walk.source, node.start_byte + 1
    for child in node.children[1:-1]:
        yield source[at : child.start_byte].decode("utf-8", "replace")
        yield _text(source, child) if child.type == "string_content" else _word(walk, child)
        at = child.end_byte
    yield source[at : node.end_byte - 1].decode("utf-8", "replace")


_VARIABLE = re.compile(r"\$(\w{1,60})|\$\{(\w{1,60})\}")
_MAX_VALUE = 500  # Characters. A longer value stays unknown, since values that contain values grow without limit.


def _known_value(walk: _Walk, node: tree_sitter.Node) -> str | None:
    """Return the value of a variable that the line sets before it is used, or None if it is unknown."""
    found = _VARIABLE.fullmatch(_text(walk.source, node)) if node.type in ("simple_expansion", "expansion") else None
    value = walk.variables.get(found[1] or found[2]) if found else None
    return value if value and "$" not in value and len(value) <= _MAX_VALUE else None


def _unescaped(text: str, *, in_quotes: bool) -> str:
    text = text.replace("\\\n", "")
    return re.sub(r'\\(["$`\\])' if in_quotes else r"\\(.)", r"\1", text)


def _moved(folder: str | None, arguments: Sequence[str]) -> str | None:
    targets = [word for word in arguments if not word.startswith("-") or word == "-"]
    if folder is None or len(targets) != 1 or "$" in targets[0] or targets[0].startswith(("-", "~")):
        return None
    return posixpath.normpath(posixpath.join(folder, targets[0]))


def unwrap(command: ShellCommand, depth: int = 0) -> list[ShellCommand]:
    """Return the command and any commands nested in it, as with `sudo`, `sh -c`, `xargs`, `find -exec` and `npx`."""
    found = [command]
    words = command.words
    for _ in range(8):
        inner = _wrapped(words)
        if not inner:
            break
        before = words[: len(words) - len(inner)]
        assigned = (*found[-1].assigned, *(word for word in before if _ASSIGNMENT.match(word)))
        found.append(replace(command, words=inner, assigned=assigned, outer=words))
        words = inner
    last = found[-1]
    program = last.program
    if depth < MAX_DEPTH:
        if program in _SHELLS or program == "eval" or (program == "env" and "-S" in last.words):
            for script in _scripts(last):
                found += parse_shell(script, depth=depth + 1, folder=command.folder)
        if program in _SHELLS and last.here:
            found += parse_shell(last.here, depth=depth + 1, folder=command.folder)
        if program == "find":
            found += [inner for words in _executed(last.words) for inner in unwrap(replace(last, words=words), depth + 1)]
    return found


def _wrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of the command run by a wrapper, or an empty tuple."""
    program = posixpath.basename(words[0]) if words else ""
    if program in _WRAPPERS:
        rest = _after_options(words[1:], _WRAPPERS[program])
        if program in _VALUE_FIRST:
            rest = rest[1:]
        if program == "pipx":
            rest = _after_options(rest[1:], frozenset({"--spec"})) if rest[:1] == ("run",) else ()
        while rest and _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        return rest
    if program in _SHELLS and len(words) > 1 and not any(_SHELL_SCRIPT.match(word) for word in words[1:]):
        script = _after_options(words[1:], frozenset({"-o", "+o", "--rcfile"}))
        return script if script and re.search(r"[./]", script[0]) else ()  # `bash scripts/check.sh` runs the script
    return _run_by(program, words) if program in _RUNNERS else ()


def _run_by(program: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of the command that a runner runs, as in `docker compose -f x.yml exec web npm ci`."""
    options = _GLOBAL_OPTIONS.get(program, frozenset())
    rest = _after_options(words[1:], options)
    if rest[:1] == ("compose",):
        rest = ("compose", *_after_options(rest[1:], options))
    for start in _RUNNERS[program]:
        if rest[: len(start)] == start:
            in_place = program in _RUNNER_OF_PLACE
            inner = _after_options(rest[len(start) :], _CONTAINER_VALUES if in_place else _RUNNER_VALUES)
            inner = inner[1:] if in_place else inner
            return inner[1:] if inner[:1] == ("--",) else inner
    if program in _RUN_TOOLS:
        rest = rest[2:] if rest[:1] == ("workspace",) else rest[1:] if rest[:1] == ("run",) else rest
        return rest if rest and rest[0] in NODE_TOOLS else ()
    return ()


def _after_options(words: tuple[str, ...], with_value: frozenset[str]) -> tuple[str, ...]:
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in with_value else 1
    return words[at:]


def _scripts(command: ShellCommand) -> Iterator[str]:
    if command.program == "eval":
        yield " ".join(command.words[1:])
        return
    words = command.words[1:]
    for at, word in enumerate(words[:-1]):
        if _SHELL_SCRIPT.match(word):
            yield words[at + 1]
            return


def _executed(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the commands in `-exec` and similar actions of find."""
    at = 0
    while at < len(words):
        if words[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((i for i in range(at + 1, len(words)) if words[i] in (";", "+")), len(words))
            if end > at + 1:
                yield tuple(words[at + 1 : end])
            at = end
        at += 1
