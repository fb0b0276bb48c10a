"""Find, check and run the Claude Code client, and parse its output. The parser skips unknown lines.

`claude -p --output-format stream-json --include-hook-events` of 2.1.332 prints a `system/init` line (tools, plugins,
plugin_errors), `assistant` and `user` lines with the messages, `system/hook_response` with the output of a hook, and one
`result` line at the end. That line has `is_error` set if the model gave no answer, and has no `result` text after too many turns.
`system/api_retry` says how long the client waits after a fault of the server, and `rate_limit_event` when the usage limit of a
subscription ends. On a Retry-After of over a minute, the client gives up at once and reports the time only in its debug log.
"""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from memeval.claudecode.arms import AUTO_MEMORY_OFF
from memeval.claudecode.contract import ErrorKind, SessionResult, SessionSpec, ToolCall
from memeval.claudecode.processes import Finished, Processes
from memeval.claudecode.sandbox import State
from memeval.core.errors import ConfigError, DependencyError
from memeval.core.files import json_objects
from memeval.core.types import EMPTY
from memoryd.core.types import Usage
from memoryd.llm.print_mode import usage_of

SHOWN = 300
_LOGIN = re.compile(
    r"not logged in|failed to authenticate|/login|invalid (api key|bearer)|oauth token|authentication", re.IGNORECASE
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
_UNKNOWN_OPTION = re.compile(r"unknown option|invalid choice|error: option", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stream:
    """The parsed output lines of a run. `hooks` holds pairs of an event and the output of its hook.

    `delay` is the last wait after a fault of the server, in seconds. `resets_at` is the time at which a usage limit ends, in
    seconds since 1970. `works` says that a tool had not returned when the output ended.
    """

    init: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    result: Mapping[str, Any] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    hooks: tuple[tuple[str, str], ...] = ()
    delay: float | None = None
    resets_at: float | None = None
    works: bool = False


def read_stream(text: str) -> Stream:
    """Parse the output of one run of the client."""
    init: Mapping[str, Any] = EMPTY
    result: Mapping[str, Any] | None = None
    hooks: list[tuple[str, str]] = []
    calls: dict[str, ToolCall] = {}
    running: set[str] = set()
    delay: float | None = None
    resets_at: float | None = None
    for line in json_objects(text.splitlines()):
        match line:
            case {"type": "system", "subtype": "init"}:
                init = line
            case {"type": "system", "subtype": "hook_response", "hook_event": str(event)}:
                hooks.append((event, str(line.get("stdout") or line.get("output") or "")))
            case {"type": "system", "subtype": "api_retry", "retry_delay_ms": int() | float() as waited}:
                delay = waited / 1000
            case {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": int() | float() as until}}:
                resets_at = float(until)
            case {"type": "result"}:
                result = line
            case {"type": "assistant" | "user", "message": {"content": list(blocks)}}:
                _collect(calls, running, blocks)
    return Stream(init, result, tuple(calls.values()), tuple(hooks), delay, resets_at, bool(running))


def _collect(calls: dict[str, ToolCall], running: set[str], blocks: Sequence[Any]) -> None:
    for block in blocks:
        match block:
            case {"type": "tool_use", "id": str(key), "name": str(name)}:
                arguments = block.get("input")
                calls[key] = ToolCall(name, arguments if isinstance(arguments, dict) else {})
                running.add(key)
            case {"type": "tool_result", "tool_use_id": str(key)} if key in calls:
                running.discard(key)
                old = calls[key]
                calls[key] = ToolCall(old.name, old.arguments, text_of(block.get("content")), bool(block.get("is_error")))


def text_of(content: Any) -> str:
    """Return the text in the content of a message."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or [] if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


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


def fault_of(stream: Stream, code: int, stderr: str) -> Fault | None:
    """Return the fault of a run, or None if the run produced an answer."""
    result = stream.result
    if result is None:
        return _no_result(code, stderr)
    if result.get("is_error"):
        return _fault_of(result)
    return (
        None
        if isinstance(result.get("result"), str)
        else Fault(ErrorKind.CRASH, "The client gave no answer.", FIXES[ErrorKind.CRASH])
    )


def _no_result(code: int, stderr: str) -> Fault:
    said = short(stderr)
    if _UNKNOWN_OPTION.search(said):
        return Fault(ErrorKind.CLIENT, f"The Claude Code client is too old: {said}", FIXES[ErrorKind.CLIENT])
    kind = _by_words(said) or ErrorKind.CRASH
    return Fault(kind, f"The client ended with code {code} and no result{': ' + said if said else '.'}", FIXES[kind])


def _fault_of(result: Mapping[str, Any]) -> Fault:
    subtype = str(result.get("subtype") or "")
    said = short(str(result.get("result") or result.get("errors") or subtype or "no reason"))
    kind = _by_subtype(subtype) or _by_status(result.get("api_error_status")) or _by_words(said) or ErrorKind.CRASH
    return Fault(kind, f"The client failed: {said}", FIXES[kind])


def _by_subtype(subtype: str) -> ErrorKind | None:
    if "max_turns" in subtype:
        return ErrorKind.MAX_TURNS
    return ErrorKind.BUDGET if "budget" in subtype else None


def _by_status(status: Any) -> ErrorKind | None:
    if not isinstance(status, int):
        return None
    if status in (401, 403):
        return ErrorKind.LOGIN
    if status == 404:
        return ErrorKind.MODEL
    if status in (429, 529):
        return ErrorKind.RATE_LIMIT
    return ErrorKind.SERVER if status >= 500 or status == 408 else None


def _by_words(said: str) -> ErrorKind | None:
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


def short(text: str) -> str:
    """Shorten a text to one line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


HANG_SECONDS, HANG_SHARE = 90.0, 0.5
"""Silence, in seconds or as a share of a shorter time limit, after which a timed-out session without a running tool has hung.

Answers are streamed piece by piece, so a working model is never silent for that long.
"""
OLDEST = (2, 1, 300)
"""Oldest version known to have compatible flags and hooks."""
VERSION_SECONDS = 20.0
FLAGS = ("--output-format", "stream-json", "--verbose", "--include-hook-events", "--include-partial-messages")


def find_client(named: str) -> str:
    """Return the client's full path. Raises DependencyError."""
    found = shutil.which(named)
    if found is None:
        raise DependencyError(
            f"The Claude Code client {named!r} was not found.",
            fix="Install it (npm install -g @anthropic-ai/claude-code), or name it with --claude.",
        )
    return str(Path(found).absolute())


class ClaudeCode:
    """A Claude Code client installed at a given path. `run` is thread-safe."""

    def __init__(self, command: str, processes: Processes | None = None) -> None:
        self._command = command
        self.processes = processes or Processes()

    @property
    def program(self) -> str:
        """Return the path of the client."""
        return self._command

    def version(self, environment: Mapping[str, str], cwd: Path) -> str:
        """Return the version that the client reports. Raises DependencyError if it is too old or the program is not a client."""
        done = self.processes.run([self._command, "--version"], cwd, environment, VERSION_SECONDS)
        match = re.search(r"(\d+)\.(\d+)\.(\d+)", done.stdout)
        if done.code != 0 or match is None:
            raise DependencyError(
                f"{self._command} --version ended with code {done.code}: {short(done.stdout + done.stderr) or 'no output'}",
                fix="Name the Claude Code client with --claude.",
            )
        if tuple(int(part) for part in match.groups()) < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            raise DependencyError(
                f"Claude Code {match[0]} is too old: {wanted} is needed.", fix="Update it with `claude update`."
            )
        return match[0]

    def run(self, spec: SessionSpec) -> tuple[SessionResult, Stream]:
        """Run one session.

        The result reports any failure of the session. Raises DependencyError if the client can't be started.
        """
        started = time.monotonic()
        done = self.processes.run(self.command(spec), spec.cwd, spec.environment, spec.timeout)
        stream = read_stream(done.stdout)
        fault = _fault(spec, done, stream)
        response = stream.result or {}
        result = SessionResult(
            text=str(response.get("result") or "").strip(),
            usage=usage_of(response) if response else Usage(1, cost_usd=0.0),
            seconds=round(time.monotonic() - started, 3),
            session_id=str(response.get("session_id") or stream.init.get("session_id") or ""),
            turns=int(response.get("num_turns") or 0),
            retry_after=_retry_after(stream) if fault else None,
            tool_calls=stream.tool_calls,
            init=_about(stream.init),
        )
        if fault is not None:
            result = replace(result, error=fault.kind, message=fault.message, fix=fault.fix)
        return result, stream

    def command(self, spec: SessionSpec) -> list[str]:
        """Build the command line of a session."""
        command = [self._command, "-p", spec.prompt, *FLAGS, "--model", spec.model, "--max-turns", str(spec.max_turns)]
        if spec.resume:
            command += ["--resume", spec.resume]
        elif spec.session_id:
            command += ["--session-id", spec.session_id]
        if spec.budget_usd is not None:
            command += ["--max-budget-usd", f"{spec.budget_usd:.4f}"]
        return [*command, *spec.flags]


def _fault(spec: SessionSpec, done: Finished, stream: Stream) -> Fault | None:
    if not done.timed_out:
        return fault_of(stream, done.code, done.stderr)
    if not stream.works and done.silent >= min(HANG_SECONDS, spec.timeout * HANG_SHARE):
        said = f"The server sent nothing for {done.silent:.0f} s, and the session was ended after {spec.timeout:g} s."
        return Fault(ErrorKind.HANG, said, FIXES[ErrorKind.HANG])
    return Fault(ErrorKind.TIMEOUT, f"The session did not end within {spec.timeout:g} s and was ended.", FIXES[ErrorKind.TIMEOUT])


def _retry_after(stream: Stream) -> float | None:
    """Return the wait requested by the server, in seconds from now, or else the client's own wait after the last fault."""
    return stream.delay if stream.resets_at is None else max(0.0, stream.resets_at - time.time())


def _about(init: Mapping[str, object]) -> dict[str, object]:
    """Return the relevant fields of the client's init line."""
    kept = ("model", "claude_code_version", "tools", "mcp_servers", "plugins", "plugin_errors", "permissionMode")
    return {key: init[key] for key in kept if key in init}


PROBE_SECONDS = 30.0
PROBE_FLAGS = ("--tools", "", "--system-prompt", "Answer with OK.", "--no-session-persistence")


@contextmanager
def scratch(root: Path) -> Iterator[State]:
    """Yield a temporary state and remove it afterwards."""
    state = State(root / f"probe-{secrets.token_hex(4)}").make()
    try:
        yield state
    finally:
        state.remove()


def client_version(client: ClaudeCode, environment: Mapping[str, str], root: Path) -> str:
    """Return the client's version. Raises DependencyError."""
    with scratch(root) as state:
        return client.version({**environment, **state.variables()}, state.folder)


_RETRY_AFTER = re.compile(r'"?retry-after"?: "([^"\n]{1,80})"', re.IGNORECASE)


def limit_left(client: ClaudeCode, environment: Mapping[str, str], model: str, root: Path) -> float | None:
    """Return the remaining seconds of a rate limit, determined by a session of a few tokens.

    Return None if the limit is over or the server does not report its end.
    """
    with scratch(root) as state:
        variables = {**environment, **state.variables(), AUTO_MEMORY_OFF: "1", "CLAUDE_CODE_MAX_RETRIES": "0"}
        spec = SessionSpec("OK?", state.folder, model, variables | {"ANTHROPIC_LOG": "debug"}, PROBE_FLAGS, max_turns=1)
        done = client.processes.run(client.command(spec), state.folder, spec.environment, PROBE_SECONDS)
    stream = read_stream(done.stdout)
    if stream.resets_at is not None:
        return max(0.0, stream.resets_at - time.time())
    said = _RETRY_AFTER.search(done.stdout + done.stderr)
    return _seconds(said[1]) if said else None


def _seconds(text: str) -> float | None:
    """Parse a Retry-After value, which is a number of seconds or a date."""
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def probe_models(
    client: ClaudeCode,
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
            left = limit_left(client, environment, model, root) if result.retry_after is None else result.retry_after
            wait(replace(result, retry_after=left))
            result = _probe(client, environment, model, root)
        if not result.ok:
            raise ConfigError(f"A first session with {model} failed: {result.message}", fix=result.fix)


def _probe(client: ClaudeCode, environment: Mapping[str, str], model: str, root: Path) -> SessionResult:
    with scratch(root) as state:
        variables = {**environment, **state.variables(), AUTO_MEMORY_OFF: "1", "CLAUDE_CODE_MAX_RETRIES": "0"}
        spec = SessionSpec("OK?", state.folder, model, variables, PROBE_FLAGS, max_turns=1, timeout=PROBE_SECONDS)
        return client.run(spec)[0]
