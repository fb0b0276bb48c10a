"""Interface of a client that run_bench can drive, and what its implementations share.

A client runs one session at a time in a given state, and reports its answer, usage, tool calls and faults in the same form.
`client.py` drives Claude Code and `opencode.py` OpenCode.
"""

from __future__ import annotations

import re
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from memeval.claudecode.arms import MEANINGS
from memeval.claudecode.contract import Arm, ClientName, ErrorKind, SessionResult
from memeval.claudecode.processes import Finished, Processes
from memeval.claudecode.sandbox import State
from memeval.core.errors import ConfigError, DependencyError
from memeval.core.types import Session


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """The arguments for one start of the client. Times are in seconds.

    `tools`, `system` and `placebo` are those of the step. `resume` is the id of a session with an existing log. `session_id` is
    the id of a new session, if the client lets it be chosen.
    """

    prompt: str
    cwd: Path
    model: str
    environment: Mapping[str, str]
    state: State
    arm: Arm = Arm.OFF
    plugin: Path | None = None
    tools: tuple[str, ...] = ()
    system: str = ""
    placebo: str = ""
    resume: str = ""
    session_id: str = ""
    max_turns: int = 30
    timeout: float = 600.0
    budget_usd: float | None = None


PROBE_SECONDS = 30.0
PROBE_PROMPT = "OK?"
VERSION_SECONDS = 20.0


class BenchClient(ABC):
    """A client installed at a given path. `run` is thread-safe."""

    name: ClassVar[ClientName]
    oldest: ClassVar[tuple[int, int, int]]
    """Oldest version known to have compatible flags and events."""
    flag: ClassVar[str]
    """Flag of run_bench that names the program."""
    update: ClassVar[str]
    """Command that updates the client."""
    base_url = ""
    """Address of a gateway that the client gets in its settings instead of by a variable."""

    def __init__(self, program: str, processes: Processes | None = None) -> None:
        self.program = program
        self.processes = processes or Processes()

    def version(self, environment: Mapping[str, str], cwd: Path) -> str:
        """Return the version that the client reports. Raises DependencyError if it is too old or the program is not a client."""
        done = self.processes.run([self.program, "--version"], cwd, environment, VERSION_SECONDS)
        match = re.search(r"(\d+)\.(\d+)\.(\d+)", done.stdout)
        if done.code != 0 or match is None:
            raise DependencyError(
                f"{self.program} --version ended with code {done.code}: {short(done.stdout + done.stderr) or 'no output'}",
                fix=f"Name the {self.name.label} client with {self.flag}.",
            )
        if tuple(int(part) for part in match.groups()) < self.oldest:
            wanted = ".".join(map(str, self.oldest))
            raise DependencyError(
                f"{self.name.label} {match[0]} is too old: {wanted} is needed.", fix=f"Update it with `{self.update}`."
            )
        return match[0]

    @abstractmethod
    def run(self, spec: SessionSpec) -> SessionResult:
        """Run one session.

        The result reports any failure of the session. Raises DependencyError if the client can't be started.
        """

    @abstractmethod
    def probe(self, environment: Mapping[str, str], model: str, state: State) -> SessionResult:
        """Run a session of a few tokens."""

    @abstractmethod
    def limit_left(self, environment: Mapping[str, str], model: str, root: Path) -> float | None:
        """Return the remaining seconds of a rate limit, determined by a session of a few tokens.

        Return None if the limit is over or the server does not report its end.
        """

    @abstractmethod
    def check_plugin(self, init: Mapping[str, Any], arm: Arm) -> str:
        """Return the problem with the client's plugins, or an empty string if they match the arm."""

    @abstractmethod
    def settings_of(self, arm: Arm) -> dict[str, Any]:
        """Return the settings that differ between arms, without paths, for the result and for the key of the cache."""

    def variables(self, arm: Arm) -> dict[str, str]:
        """Return the environment variables of a session in an arm."""
        return {}

    def memory_variables(self) -> dict[str, str]:
        """Return the environment variables that the plugin needs with this client."""
        return {}

    def differences(self, arm: Arm, replayed: str) -> dict[str, Any]:
        """Describe the arm's settings for the result and for the user."""
        return {
            "memory": MEANINGS[arm],
            "built_in_memory": arm.has_builtin,
            "plugin": arm.has_plugin,
            "history": replayed,
            **self.settings_of(arm),
        }

    # Logs and notes

    @abstractmethod
    def session_id(self, own: str) -> str:
        """Return the client's form of a session id."""

    @abstractmethod
    def line_id(self, session_id: str, place: int) -> str:
        """Return the id of a line in a log that `write_log` wrote. Evidence of memories names it."""

    @abstractmethod
    def write_log(
        self,
        session: Session,
        session_id: str,
        state: State,
        cwd: Path,
        version: str,
        environment: Mapping[str, str],
        *,
        number: int = 0,
    ) -> Path:
        """Store a conversation as a session of the client that can be resumed. Return the path of its log."""

    @abstractmethod
    def transcript(self, state: State, session_id: str) -> Path | None:
        """Return the path of a session's log, as memoryd identifies it, or None if there is none."""

    @abstractmethod
    def notes_file(self, state: State) -> Path:
        """Return the file of notes that every session reads."""


# Finding and trying a client


def find_client(named: str, client: type[BenchClient], install: str) -> str:
    """Return the client's full path. Raises DependencyError."""
    found = shutil.which(named)
    if found is None:
        raise DependencyError(
            f"The {client.name.label} client {named!r} was not found.",
            fix=f"Install it ({install}), or name it with {client.flag}.",
        )
    return str(Path(found).absolute())


@contextmanager
def scratch(root: Path) -> Iterator[State]:
    """Yield a temporary state and remove it afterwards."""
    state = State(root / f"probe-{secrets.token_hex(4)}").make()
    try:
        yield state
    finally:
        state.remove()


def client_version(client: BenchClient, environment: Mapping[str, str], root: Path) -> str:
    """Return the client's version. Raises DependencyError."""
    with scratch(root) as state:
        return client.version({**environment, **state.variables()}, state.folder)


def probe_models(
    client: BenchClient,
    environment: Mapping[str, str],
    models: Iterable[str],
    root: Path,
    wait: Callable[[SessionResult], None] | None = None,
) -> None:
    """Check that each model works by running a session of a few tokens. Raises ConfigError with the client's message.

    `wait` is called to wait for the end of a limit.
    """
    for model in dict.fromkeys(models):
        result = _probe(client, environment, model, root)
        while wait is not None and result.error is ErrorKind.RATE_LIMIT:
            left = client.limit_left(environment, model, root) if result.retry_after is None else result.retry_after
            wait(replace(result, retry_after=left))
            result = _probe(client, environment, model, root)
        if not result.ok:
            raise ConfigError(f"A first session with {model} failed: {result.message}", fix=result.fix)


def _probe(client: BenchClient, environment: Mapping[str, str], model: str, root: Path) -> SessionResult:
    with scratch(root) as state:
        return client.probe({**environment, **state.variables()}, model, state)


# Faults


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason for a failed run, in the client's words, and a fix."""

    kind: ErrorKind
    message: str
    fix: str


FIXES = {
    ErrorKind.LOGIN: "Run `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN, or give --auth api-key with ANTHROPIC_API_KEY.",
    ErrorKind.MODEL: "Correct --model; `claude -p hello --model NAME` in a terminal tells whether you have it.",
    ErrorKind.RATE_LIMIT: "Wait for the limit to end, then go on with --resume; fewer --workers help.",
    ErrorKind.NETWORK: "Check the network (or --base-url), then go on with --resume.",
    ErrorKind.SERVER: "Wait until the server works again, then go on with --resume.",
    ErrorKind.HANG: "Wait until the server answers again, then go on with --resume; raise --timeout if it is only slow.",
    ErrorKind.CLIENT: "Update the client with `claude update`, or name another with --claude.",
    ErrorKind.MAX_TURNS: "Raise --max-turns.",
    ErrorKind.BUDGET: "Raise --budget-usd.",
    ErrorKind.TIMEOUT: "Raise --timeout.",
    ErrorKind.CRASH: "Try it again with --resume.",
    ErrorKind.PLUGIN: "Run `memoryd doctor`; name the plugin's folder with --plugin-dir.",
    ErrorKind.DAYDREAM: "Correct the reader's model or login (--plugin-setting), then go on with --resume.",
}
_LOGIN = re.compile(
    r"not logged in|failed to authenticate|/login|invalid (x-)?(api.key|bearer)|oauth token|authentication", re.IGNORECASE
)
_LIMIT = re.compile(
    r"(usage|rate|session|weekly|hour) limit|limit reached|hit your limit|overloaded|too many requests", re.IGNORECASE
)
_SERVER = re.compile(r"api error: 5\d\d|server-side issue|internal server error|stream ended|incomplete", re.IGNORECASE)
_NETWORK = re.compile(
    r"connection (error|dropped|closed)|unable to connect|econnre(fused|set)|enotfound|fetch failed|network|socket|timed out",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"issue with the selected model|model.{0,40}(not exist|not found|not available|access)|not_found", re.IGNORECASE
)


def kind_by_status(status: Any) -> ErrorKind | None:
    """Return the fault that an HTTP status means, or None."""
    if not isinstance(status, int):
        return None
    if status in (401, 403):
        return ErrorKind.LOGIN
    if status == 404:
        return ErrorKind.MODEL
    if status in (429, 529):
        return ErrorKind.RATE_LIMIT
    return ErrorKind.SERVER if status >= 500 or status == 408 else None


def kind_by_words(said: str) -> ErrorKind | None:
    """Return the fault that a client's message describes, or None."""
    for kind, sign in (
        (ErrorKind.MODEL, _MODEL),
        (ErrorKind.RATE_LIMIT, _LIMIT),
        (ErrorKind.LOGIN, _LOGIN),
        (ErrorKind.SERVER, _SERVER),
        (ErrorKind.NETWORK, _NETWORK),
    ):
        if sign.search(said):
            return kind
    return None


HANG_SECONDS, HANG_SHARE = 90.0, 0.5
"""Silence, in seconds or as a share of a shorter time limit, after which a timed-out session without a running tool has hung.

Answers are streamed piece by piece, so a working model is never silent for that long.
"""


def timeout_fault(spec: SessionSpec, done: Finished, *, works: bool) -> Fault:
    """Return the fault of a session that was ended by its time limit. `works` says that a tool was running."""
    if not works and done.silent >= min(HANG_SECONDS, spec.timeout * HANG_SHARE):
        said = f"The server sent nothing for {done.silent:.0f} s, and the session was ended after {spec.timeout:g} s."
        return Fault(ErrorKind.HANG, said, FIXES[ErrorKind.HANG])
    return Fault(ErrorKind.TIMEOUT, f"The session did not end within {spec.timeout:g} s and was ended.", FIXES[ErrorKind.TIMEOUT])


SHOWN = 300


def short(text: str) -> str:
    """Shorten a text to one line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
