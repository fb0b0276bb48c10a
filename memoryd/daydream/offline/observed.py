"""Derive statements from the commands in a session. Pure functions.

The statements describe how things are run in the project and what this machine lacks. A command is certain evidence
only under four conditions: it succeeded, nothing in the session contradicts it, it is the only one for its slot, and
it does not depend on anything that the assistant set up in the same session. Everything else is only proposed.

This works in any language, because only the assistant's own commands and their success are used. Two things are taken
from a command's output: a name that the assistant had typed, and the port of a server that it had started.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memoryd.core.text import overlap_coefficient, shorten
from memoryd.core.tool_calls import EDITING_TOOLS
from memoryd.core.types import Kind, Polarity, Turn, TurnKind
from memoryd.daydream.secret_rules import MARK
from memoryd.language.patterns import later

_SHELLS = frozenset({"Bash", "PowerShell"})
_LONGEST_COMMAND = 2_000
_LONGEST_SHOWN = 140
_LONGEST_END = 3_000
_CUT = "[…]"
# Number of successful calls after which a way of running a program counts as usual.
OFTEN = 2


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command line with its simple commands, its output, and whether it failed."""

    line: str
    parts: tuple[tuple[str, ...], ...]
    output: str
    failed: bool
    turn: Turn
    place: int


@dataclass(frozen=True, slots=True)
class ObservedFact:
    """A statement, its kind, and the turn whose command supports it. If not `sure`, it is only proposed.

    Attributes:
        slot: A question with only one answer, such as how to run the tests or which Python is used.
        value: The command, program, host or path that fills the slot.
    """

    text: str
    kind: Kind
    turn: Turn
    polarity: Polarity = Polarity.KNOW
    reason: str = "shown by a command"
    sure: bool = True
    slot: str = ""
    value: str = ""


def observations(turns: Sequence[Turn], commands: SessionCommands | None = None) -> list[ObservedFact]:
    """Return the distinct facts demonstrated by the commands in these turns, in command order.

    `commands` are those of the whole session, which provide context. The default is the commands of the turns.
    """
    runs = list(_runs(turns))
    session = commands or SessionCommands(turns)
    edits = [n for n, turn in enumerate(turns) if turn.kind is TurnKind.TOOL_USE and turn.tool in EDITING_TOOLS]
    found = [*_missing(runs), *_works_instead(runs, edits), *_ways(runs), *_remotes(runs), *_commits(runs)]
    found = [replace(one, sure=one.sure and session.confirms(one)) for one in found]
    once = {one.text: one for one in sorted(found, key=lambda one: one.turn.line)}
    return [one for one in once.values() if MARK not in one.text and _CUT not in one.text]


def _runs(turns: Sequence[Turn]) -> Iterator[CommandRun]:
    """Yield commands with their results. Results arrive in the order of the calls."""
    waiting: deque[tuple[int, Turn]] = deque()
    for number, turn in enumerate(turns):
        if turn.sidechain or turn.tool not in _SHELLS:
            continue
        if turn.kind is TurnKind.TOOL_USE:
            waiting.append((number, turn))
        elif turn.kind is TurnKind.TOOL_RESULT and waiting:
            place, use = waiting.popleft()
            parts = tuple(_simple_commands(use.detail[:_LONGEST_COMMAND]))
            output = _ends(turn.text)
            failed = turn.error or bool(_FAILED.search(output) or _ENVIRONMENTAL.search(output))
            yield CommandRun(use.detail, parts, output, failed, use, place)


def _ends(output: str) -> str:
    """Return the beginning and end of a long output, where failures appear."""
    return output if len(output) <= 2 * _LONGEST_END else f"{output[:_LONGEST_END]}\n{output[-_LONGEST_END:]}"


# A pipe hides the exit code, so a runner's own messages about failed or missing scripts are checked as well.
_FAILED = later(
    r"^(?:Exit code [1-9]|Error: Exit code|Command timed out)|command not found|is not recognized as|"
    r"Traceback \(most recent|[Mm]issing script|[Ss]cript not found|No rule to make target|^make(?:\[\d+\])?: \*\*\*|"
    r"ELIFECYCLE|ERR_PNPM|^npm (?:ERR!|error)|^error: (?:[Rr]ecipe|[Jj]ustfile|script)|[Cc]ouldn't find a script|"
    r"[Nn]o (?:such )?(?:task|target|command|recipe)s?\b[^\n]{0,40}(?:found|named|match)|No such file or directory|"
    r"\bBUILD FAILED\b|Build failed with|^FAIL(?:ED|URE)?\b|[Ee]xit(?:ed with)?(?: code| status)? (?:code )?[1-9]\d{0,2}\b",
    re.M,
)
# Words that indicate problems in the output of a line whose exit code does not reflect the command.
_TROUBLE = later(
    r"(?<!\b0 )(?<!\bno )\b(?:errors?|fail(?:ed|ure|s)?|not found|no such|missing|cannot|unable to|denied|fatal)\b(?!:? 0\b)",
    re.I,
)
_HIDES_EXIT = re.compile(r"\||;|\n")


def _proves(run: CommandRun) -> bool:
    """Return whether a run proves that its commands work, even if a pipe or list hides the exit code."""
    return not run.failed and not (_HIDES_EXIT.search(run.line) and _TROUBLE.search(run.output))


_NOISE = later(r"^(?:\d?>.*|\d?>&\d|<.*|2>&1|>&2)$")


def _simple_commands(line: str) -> Iterator[tuple[str, ...]]:
    """Yield the simple commands of a line, each as a list of words.

    Lines with unbalanced quotes yield none. A heredoc ends the line.
    """
    lexer = shlex.shlex(line.split("<<", 1)[0].replace("\n", " ; "), posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for token in lexer:
            if set(token) <= set(";&|"):
                if words:
                    yield tuple(words)
                words = []
            elif not _NOISE.match(token):
                words.append(token)
    except ValueError:
        return
    if words:
        yield tuple(words)


_ASSIGNS = later(r"^[A-Za-z_]\w*=")
_PREFIXES = frozenset({"time", "nohup", "command", "exec", "env", "sudo"})


def _head(words: Sequence[str]) -> int:
    """Return the position of the program's name, after any assignments and prefixes."""
    index = 0
    while index < len(words) - 1:
        if _ASSIGNS.match(words[index]) or words[index] in _PREFIXES:
            index += 1
        elif words[index] == "timeout":
            index += 2
        else:
            break
    return min(index, len(words) - 1)


def _program(words: Sequence[str]) -> str:
    return words[_head(words)].replace("\\", "/").rsplit("/", 1)[-1]


def _shown(words: Sequence[str]) -> str:
    """Return the command for display, without a time limit and on at most one line."""
    kept = list(words)
    if "timeout" in kept[: _head(words)]:
        at = kept.index("timeout")
        del kept[at : at + 2]
    while kept and kept[0] in ("time", "nohup", "command", "exec"):
        kept.pop(0)
    return shorten(" ".join(word if re.fullmatch(r"[\w@%+=:,./~-]+", word) else _quoted(word) for word in kept), _LONGEST_SHOWN)


def _quoted(word: str) -> str:
    return f'"{word}"' if '"' not in word and "`" not in word else shlex.quote(word)


# Missing programs

_NOT_FOUND = later(
    r"(?:^|[\s:])(?:(?P<a>[\w.+-]{1,40}): (?:command )?not found(?!: \w)|command not found: (?P<b>[\w.+-]{1,40})|"
    r"'(?P<c>[\w.+-]{1,40})' is not recognized as|[Tt]he term '(?P<d>[\w.+-]{1,40})' is not recognized)",
    re.M,
)
_MISSING = "missing "
# "uv add pytest" and "docker exec node ls" mention a program without running it.
_DIRECT = frozenset({"npx", "bunx"})
_RUN_BY = frozenset({"run", "exec", "x", "dlx", "tool", "compose"})
_RUNNERS = frozenset({"uv", "npx", "bunx", "pnpm", "poetry", "pipenv", "conda", "mise", "hatch", "pdm", "rye", "docker"})


def _missing(runs: Sequence[CommandRun]) -> Iterator[ObservedFact]:
    """Yield programs that the shell did not find, with working alternatives. Programs found later are omitted."""
    seen: set[str] = set()
    for index, run in enumerate(runs):
        called = {_program(words) for words in run.parts}
        for match in _NOT_FOUND.finditer(run.output):
            name = next(value for value in match.groups() if value)
            if name not in called or name in seen:
                continue
            seen.add(name)
            after = [words for later_run in runs[index + 1 :] if not later_run.failed for words in later_run.parts]
            if any(_program(words) == name and words[_head(words)] == name for words in after):
                continue
            instead = next((shown for words in after if (shown := _instead(name, words))), "")
            lacks = f"`{name}` is not on the PATH of this machine (command not found)"
            text = f"{lacks}; `{instead}` works." if instead else f"{lacks}."
            yield ObservedFact(text, Kind.ENVIRONMENT, run.turn, sure=bool(instead), slot=f"{_MISSING}{name}", value=instead)


def _instead(name: str, words: Sequence[str]) -> str:
    """Return how a command calls the missing program in another way.

    This may be the program's path, another version or a runner. Returns an empty string if the command does not call the program.
    """
    at = _head(words)
    head = words[at]
    base = head.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")
    if base == name or re.fullmatch(rf"{re.escape(name)}\d[\d.]*", base):
        return head
    if base in _RUNNERS and name in words[at + 1 : at + 4]:
        end = words.index(name, at + 1)
        between = [word for word in words[at + 1 : end] if not word.startswith("-")]
        if base in _DIRECT or (between and between[0] in _RUN_BY and (base != "docker" or len(between) > 1)):
            return " ".join(words[at : end + 1])
    if re.fullmatch(r"py(?:thon)?\d?[\d.]*", base) and list(words[at + 1 : at + 3]) == ["-m", name]:
        return " ".join(words[at : at + 3])
    return ""


# Failed calls, and variants that worked

_ENVIRONMENTAL = later(
    r"[^\n]{0,60}(?:command not found|No module named|ModuleNotFoundError|ECONNREFUSED|[Cc]onnection refused|"
    r"[Pp]ermission denied|EACCES|[Uu]n(?:known|recognized|supported|expected) (?:flag|option|argument|command)|"
    r"EADDRINUSE|[Aa]ddress already in use|not authenticated|[Uu]nauthorized|requires|not supported|"
    r"externally-managed-environment|UnicodeEncodeError|UnicodeDecodeError|SyntaxError|minversion)[^\n]{0,100}"
)
_READS = frozenset(
    "ls cat grep rg find sed awk head tail echo cd wc git pwd which test tree sort uniq cut cp mv rm mkdir chmod touch kill "
    "pkill sleep for while if do done then fi read ps export source set true false".split()
)
ALIKE = 0.5


def _works_instead(runs: Sequence[CommandRun], edits: Sequence[int]) -> Iterator[ObservedFact]:
    """Yield calls that failed because of their environment.

    Each is followed by the next similar call that worked without other changes.
    """
    for index, run in enumerate(runs):
        if not run.failed or not (cause := _ENVIRONMENTAL.search(run.output)) or "not found" in cause.group():
            continue
        for other in runs[index + 1 : index + 9]:
            if other.failed or any(run.place < edit < other.place for edit in edits):
                continue
            pair = _changed_call(run, other)
            if pair:
                failed, worked = pair
                yield ObservedFact(f"`{failed}` fails here; `{worked}` works.", Kind.ENVIRONMENT, other.turn, sure=False)
                break


def _changed_call(run: CommandRun, other: CommandRun) -> tuple[str, str] | None:
    for failed in run.parts:
        for worked in other.parts:
            if {_program(failed), _program(worked)} & _READS or failed == worked:
                continue
            mine, its = set(failed), set(worked)
            shared = {word for word in mine & its if not word.startswith("-") and word not in (_program(failed), "-m")}
            if not shared or overlap_coefficient(mine, its) < ALIKE:
                continue
            new = its - mine
            by_hand = any(_ASSIGNS.match(word) or word.startswith("-") for word in new)
            if by_hand or _program(failed) != _program(worked):
                if "-c" in its | mine or "-e" in its | mine:
                    return None
                return _shown(failed), _shown(worked)
    return None


# How things are run

_WAYS: Sequence[tuple[str, re.Pattern[str]]] = (
    (
        "The tests run with",
        later(r"\b(?:pytest|unittest|jest|vitest|mocha|rspec|phpunit|ctest|tox|nox)\b|\btest(?:s|:[\w:-]+)?\b"),
    ),
    (
        "The linter runs with",
        later(r"\b(?:lint(?::[\w:-]+)?|clippy|ruff|eslint|golangci-lint|biome|mypy|typecheck|type-check)\b"),
    ),
    ("It is built with", later(r"\bbuild(?::[\w:-]+)?\b|\bxcodebuild\b|\bcmake\b")),
    ("It is started with", later(r"\b(?:dev|start|serve|runserver|uvicorn|gunicorn|streamlit|flask run)\b")),
    ("It is deployed with", later(r"\bdeploy(?::[\w:-]+)?\b|\brsync\b|\bvercel\b|\bfly(?:ctl)?\b|\bwrangler\b")),
)
# The assistant would try the tool's plain call first anyway.
_PLAIN = later(
    r"^(?:npm (?:run )?(?:test|build|lint|dev|start)|yarn \w+|pnpm (?:run )?\w+|go (?:test|build|vet)(?: -v)? \./\.\.\.|"
    r"go test(?: -\w+)* \./\S+|cargo (?:test|build|clippy|check|run)(?: --release)?|"
    r"(?:python3? -m )?pytest(?: -\w+)*(?: tests?/?)?|make(?: \w+)?|"
    r"go build(?: \.)?|npx (?:tsc|eslint|jest|vitest)(?: [\w.-]+)*)$"
)
_ONE_FILE = re.compile(r"fix\b|\w\.(?:py|[jt]sx?|rb|php|go|rs|java|sh)(?:::|$)|::|^-[kt]$|^-run$")
_BY_RUNNER = frozenset(
    "make mise just task npm pnpm yarn bun uv poetry docker docker-compose tox nox gradle gradlew mvn mvnw conda hatch pdm nx "
    "turbo bazel dotnet cargo go pytest".split()
)
# Commands of this form are clearly specific to the project, so one success is enough.
_OWN_WAY = later(
    r"^(?:[A-Z_]+=\S+ )*(?:mise|just|task|uv|poetry|pdm|hatch|tox|nox|nx|turbo|docker compose|docker-compose|conda)\b|"
    r"^\w+ (?:run )?[\w-]+:[\w:-]+|--(?:filter|prefix|workspace|project|features)\b|^[A-Z_]{3,}=\S+ \w+"
)
_PYTHON = re.compile(r"(?:[\w.~:/\\-]{0,120}[/\\])?py(?:thon)?[\d.]*(?:\.exe)?")
_BARE = re.compile(r"py(?:thon)?[\d.]*(?:\.exe)?")
# Programs found on every machine. They reveal nothing about the project.
_SYSTEM = re.compile(r"py(?:thon)?[\d.]*(?:\.exe)?$|/usr/(?:local/)?bin/|/bin/|/opt/homebrew/bin/")
_URL = later(r"\bhttps?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(?P<port>\d{2,5})\b")


def _ways(runs: Sequence[CommandRun]) -> Iterator[ObservedFact]:
    yield from _interpreters(runs)
    for lead_in, pattern in _WAYS:
        calls: Counter[tuple[str, ...]] = Counter()
        last: dict[tuple[str, ...], CommandRun] = {}
        for run in runs:
            for words in run.parts if _proves(run) else ():
                if _is_way(words, pattern):
                    calls[words] += 1
                    last[words] = run
        fit = [words for words in calls if not _PLAIN.match(_shown(words)) and len(_shown(words)) <= 90]
        often = [words for words in fit if calls[words] >= OFTEN or _OWN_WAY.match(_shown(words))]
        if often:
            words = max(often, key=lambda words: calls[words])
            port = _URL.search(last[words].output)
            where = f" and answers on port {port['port']}" if port and lead_in == "It is started with" else ""
            text = f"{lead_in} `{_shown(words)}`{where}."
            yield ObservedFact(text, Kind.ENVIRONMENT, last[words].turn, slot=lead_in, value=_shown(words))


def _is_way(words: Sequence[str], pattern: re.Pattern[str]) -> bool:
    """Return whether a command runs all tests, the whole linter or the whole build rather than a single file."""
    named = _program(words) in _BY_RUNNER or _PYTHON.fullmatch(words[_head(words)])
    call = words[_head(words) :][:6]
    return bool(named and pattern.search(" ".join(call))) and not any(_ONE_FILE.search(word) for word in words[1:])


# A script's own failure says nothing about the interpreter, unlike a missing module, file or environment.
_LACKS = later(
    r"No module named|ModuleNotFoundError|ImportError|command not found|No such file or directory|EnvironmentLocationNotFound|"
    r"[Nn]ot a conda environment|is not recognized as|Permission denied"
)


def _interpreters(runs: Sequence[CommandRun]) -> Iterator[ObservedFact]:
    """Yield the project's Python if it is repeatedly called by path or through a manager."""
    calls: Counter[str] = Counter()
    last: dict[str, CommandRun] = {}
    for run in runs:
        for words in run.parts if not run.failed else ():
            head = words[_head(words)]
            if _PYTHON.fullmatch(head) and not _SYSTEM.match(head):
                calls[head] += 1
                last[head] = run
            elif len(words) > 1 and words[0] == "conda" and words[1] == "activate" and len(words) == 3:
                calls[f"conda activate {words[2]}"] += 1
                last[f"conda activate {words[2]}"] = run
            elif words[:3] == ("conda", "run", "-n") and len(words) > 4:
                calls[f"conda run -n {words[3]}"] += 1
                last[f"conda run -n {words[3]}"] = run
    plain = sum(bool(_BARE.fullmatch(words[_head(words)])) for run in runs if not run.failed for words in run.parts)
    # Use the last one called, because earlier ones may have been wrong.
    for call in sorted(calls, key=lambda call: last[call].place)[-1:]:
        if calls[call] >= OFTEN and calls[call] > plain:
            text = f"Python is run here by `{call}`."
            wrong = [run for run in runs if run.failed and _LACKS.search(run.output)]
            tried = any(call in " ".join(words) for run in wrong for words in run.parts)
            sure = len(calls) == 1 and not tried
            yield ObservedFact(text, Kind.ENVIRONMENT, last[call].turn, sure=sure, slot=_PYTHON_SLOT, value=call)


# Other machines

_HOST = re.compile(r"(?:[\w.-]{1,40}@)?[\w-]{1,60}(?:\.[\w-]{1,60}){0,6}")
_TARGET = re.compile(rf"(?P<host>{_HOST.pattern}):(?P<path>[~/\w.-]{{1,120}})")


def _remotes(runs: Sequence[CommandRun]) -> Iterator[ObservedFact]:
    """Yield the servers and containers that the commands reach."""
    containers: Counter[str] = Counter()
    last: dict[str, CommandRun] = {}
    for run in runs:
        for words in run.parts if not run.failed else ():
            program = _program(words)
            if program == "ssh" and (host := _ssh_host(words)):
                text = f"The server is reached by `ssh {host}`."
                yield ObservedFact(text, Kind.ENVIRONMENT, run.turn, slot="ssh", value=host)
            elif program in ("scp", "rsync") and (match := _TARGET.fullmatch(words[-1])):
                text = f"Files go to the server by `{program} … {match.group()}`."
                yield ObservedFact(text, Kind.ENVIRONMENT, run.turn, slot="copy", value=match.group())
            elif words[:2] == ("docker", "exec"):
                rest = [word for word in words[2:] if not word.startswith("-")]
                if len(rest) > 1:
                    containers[rest[0]] += 1
                    last[rest[0]] = run
    for name, count in containers.items():
        if count >= OFTEN:
            text = f"What runs in the container `{name}` is reached by `docker exec {name} …`."
            yield ObservedFact(text, Kind.ENVIRONMENT, last[name].turn, slot=f"container {name}", value=name)


def _ssh_host(words: Sequence[str]) -> str:
    rest = list(words[_head(words) + 1 :])
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in ("-i", "-p", "-o", "-l", "-F", "-J") else 1]
    return rest[0] if rest and _HOST.fullmatch(rest[0]) else ""


# Commits that state a reason

_MESSAGE = re.compile(r"<<-?\s*['\"]?EOF['\"]?\n(?P<heredoc>.{10,1800}?)\n\s*EOF|-m\s+\"(?P<plain>[^\"$`]{10,1500})\"", re.S)
_WHY = later(
    r"\b(?:because|since|so that|otherwise|instead of|rather than|to avoid|to prevent|prevents?|caus(?:ed|es|ing)|due to|"
    r"fail(?:s|ed|ing)?|crash\w*|broke\w*|which (?:made|meant|led)|no longer|must|previously|without|only|ensures?)\b|"
    r"因为|导致|避免|而不是|防止|потому что|чтобы|"
    r"вместо|ため|때문",
    re.I,
)
_TRAILER = later(r"^(?:[A-Z][\w-]+-[Bb]y|Generated|🤖|Entire-|Closes|Refs|Fixes #)", re.M)
_TYPE = re.compile(r"^(?P<type>[a-z]{2,10})(?:\([^)\n]{1,60}\))?!?:\s+")


def _commits(runs: Sequence[CommandRun]) -> Iterator[ObservedFact]:
    """Yield the subject and first paragraph of commits that give a reason."""
    for run in runs:
        if run.failed or "git commit" not in run.line or not (match := _MESSAGE.search(run.line)):
            continue
        message = match["heredoc"] or match["plain"]
        subject, _, body = message.strip().partition("\n")
        first = " ".join(body.strip().split("\n\n", 1)[0].split())
        if not first or _TRAILER.match(first) or first.startswith(("-", "*", "•")) or not _WHY.search(first) or len(first) > 420:
            continue
        kind = _TYPE.match(subject)
        name = _TYPE.sub("", subject).strip().rstrip(".")
        fixes = (kind and kind["type"] == "fix") or name.lower().startswith("fix")
        text = f"{name[:1].upper()}{name[1:]}: {first}"
        text = text if text.endswith((".", "。", "!", ")")) else f"{text}."
        yield ObservedFact(text, Kind.FIX if fixes else Kind.DECISION, run.turn, reason="said why in a commit", sure=False)


# Evidence from the whole session about an observation

_PYTHON_SLOT = "python"
# The assistant set the search path for programs, in the shell or for one command.
_SETS_PATH = later(
    r"\bPATH=|\benv -i\b|\bunset\b|\b(?:conda|mamba|micromamba|pyenv|workon|nvm|fnm|volta|asdf|module|mise) "
    r"(?:activate|deactivate|use|shell|load|local|global)\b|(?:^|[\s;&|])(?:source|\.) \S*(?:activate|nvm\.sh|env|rc|profile)\b"
)
# Program folders of environments. A program missing here means that the environment is not activated. The machine may
# still have the program.
_IN_ENVIRONMENT = re.compile(r"(?:^|/)(?:\.?v?envs?|\.?virtualenvs?|node_modules|[\w.-]{1,60}[-_.]?v?env)/")
_OF_THE_MOMENT = re.compile(r"(?:^|[\s=:\"'/])(?:tmp|temp|scratchpad)/|\$")
_CREATES = later(
    r"\b(?:venv|virtualenv|mkdir|ln|cp|mv|curl|wget|tar|unzip|git clone|docker run|docker create|docker build|"
    r"(?:conda|mamba|micromamba) create|install)\b"
)
_MANAGED = frozenset({"uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda", "mamba", "micromamba"})


class SessionCommands:
    """All commands of a session. They determine whether a fact suggested by some of them is certain."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        runs = list(_runs(turns))
        self._sets_path = any(_SETS_PATH.search(run.line[:_LONGEST_COMMAND]) for run in runs)
        self._created = [run.line[:_LONGEST_COMMAND] for run in runs if _CREATES.search(run.line[:_LONGEST_COMMAND])]
        self._worked: set[str] = set()
        self._last: dict[str, bool] = {}
        self._values: dict[str, set[str]] = {}
        for run in runs:
            self._add(run)

    def _add(self, run: CommandRun) -> None:
        for words in run.parts:
            head = words[_head(words)]
            self._last[_shown(words)] = _proves(run)
            if (python := _python_way(words)) and not _any_python(words, run):
                self._values.setdefault(_PYTHON_SLOT, set()).add(python)
            for lead_in, pattern in _WAYS:
                if _is_way(words, pattern) and _proves(run):
                    self._values.setdefault(lead_in, set()).add(_shown(words))
            if run.failed:
                continue
            self._worked.add(head)
            if _program(words) == "ssh" and (host := _ssh_host(words)):
                self._values.setdefault("ssh", set()).add(host)
            elif _program(words) in ("scp", "rsync") and (target := _TARGET.fullmatch(words[-1])):
                self._values.setdefault("copy", set()).add(target.group())

    def confirms(self, one: ObservedFact) -> bool:
        """Return whether nothing in the session contradicts an observation."""
        if _OF_THE_MOMENT.search(one.value) or self._is_created(one.value):
            return False
        if one.slot.startswith(_MISSING):
            name = one.slot.removeprefix(_MISSING)
            return not self._sets_path and name not in self._worked and not _IN_ENVIRONMENT.search(one.value)
        if not self._last.get(one.value, True):
            return False
        others = self._values.get(one.slot, set()) - {one.value}
        return not any(_differs(one.value, other) for other in others)

    def _is_created(self, value: str) -> bool:
        """Return whether the assistant created the program, environment or container that a value refers to."""
        name = value.rsplit(" ", 1)[-1]
        folder = re.sub(r"/(?:bin|Scripts)/[^/]*$", "", name)
        return len(folder) > 1 and any(_names(line, folder) for line in self._created)


def _names(line: str, name: str) -> bool:
    """Return whether a command line contains this name or path as a word."""
    return name.removeprefix("./") in {word.strip("\"';&|").removeprefix("./").rstrip("/") for word in line.split()}


_ONE_LINERS = frozenset({"-c", "-", "-V", "--version", "json.tool"})


def _any_python(words: Sequence[str], run: CommandRun) -> bool:
    """Return whether a plain `python` reveals nothing about the choice of interpreter.

    Any Python can run a one-liner. A line that activates an environment uses that environment's Python. A Python that
    failed was not a choice either.
    """
    if not _BARE.fullmatch(words[_head(words)]):
        return False
    activated = any(not _BARE.fullmatch(way) for part in run.parts if (way := _python_way(part)))
    return activated or run.failed or bool(_ONE_LINERS.intersection(words[1:4]))


def _python_way(words: Sequence[str]) -> str:
    """Return the interpreter or environment with which a command runs Python.

    Returns an empty string if the command does not run Python.
    """
    head = words[_head(words)]
    if _PYTHON.fullmatch(head):
        return head
    program = _program(words)
    if program in _MANAGED and len(words) > 2 and words[1] in ("activate", "run"):
        if words[1] == "activate":
            return f"{program} activate {words[2]}"
        named = words[2] in ("-n", "-p") and len(words) > 3
        return f"{program} run {words[2]} {words[3]}" if named else f"{program} run"
    return words[1] if program in ("source", ".") and len(words) > 1 and words[1].endswith("activate") else ""


def _differs(value: str, other: str) -> bool:
    """Return whether two commands differ in more than their options."""
    mine = {word for word in value.split() if not word.startswith("-") and not _ASSIGNS.match(word)}
    its = {word for word in other.split() if not word.startswith("-") and not _ASSIGNS.match(word)}
    return not (mine <= its or its <= mine)
