"""Run the Claude Code client, and parse its output. The parser skips unknown lines.

`claude -p --output-format stream-json --include-hook-events` of 2.1.332 prints a `system/init` line (tools, plugins,
plugin_errors), `assistant` and `user` lines with the messages, `system/hook_response` with the output of a hook, and
one `result` line at the end. That line has `is_error` set if the model gave no answer, and has no `result` text after
too many turns. `system/api_retry` contains the client's wait after a server error. `rate_limit_event` contains the
end of a subscription's usage limit. If Retry-After exceeds a minute, the client gives up at once and reports the time
only in its debug log.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memeval.claudecode.clients import (
    FIXES,
    PROBE_PROMPT,
    PROBE_SECONDS,
    BenchClient,
    Fault,
    SessionSpec,
    kind_by_status,
    kind_by_words,
    scratch,
    short,
    timeout_fault,
)
from memeval.claudecode.contract import Arm, ClientName, ErrorKind, SessionResult, ToolCall
from memeval.claudecode.processes import Finished
from memeval.claudecode.sandbox import State
from memeval.claudecode.seeding import stable_id, write_log
from memeval.core.files import json_objects
from memeval.core.types import EMPTY, Session
from memeval.providers.http_client import retry_after
from memoryd.core.types import Usage
from memoryd.llm.print_mode import usage_of

PLUGIN_TOOLS = "mcp__plugin_memoryd_memoryd__*"
AUTO_MEMORY_OFF = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_UNKNOWN_OPTION = re.compile(r"unknown option|invalid choice|error: option", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stream:
    """The parsed output lines of a run. `hooks` contains pairs of an event and the output of its hook.

    `delay` is the last wait after a server error, in seconds. `resets_at` is the end of a usage limit, in seconds
    since 1970. `works` means that a tool had not returned when the output ended.
    """

    init: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    result: Mapping[str, Any] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    hooks: tuple[tuple[str, str], ...] = ()
    delay: float | None = None
    resets_at: float | None = None
    works: bool = False


def read_stream(text: str) -> Stream:
    """Parse the output of one client run."""
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
    """Return the text in a message's content."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or [] if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


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
    kind = kind_by_words(said) or ErrorKind.CRASH
    return Fault(kind, f"The client exited with code {code} and no result{': ' + said if said else '.'}", FIXES[kind])


def _fault_of(result: Mapping[str, Any]) -> Fault:
    subtype = str(result.get("subtype") or "")
    said = short(str(result.get("result") or result.get("errors") or subtype or "no reason"))
    kind = _by_subtype(subtype) or kind_by_status(result.get("api_error_status")) or kind_by_words(said) or ErrorKind.CRASH
    return Fault(kind, f"The client failed: {said}", FIXES[kind])


def _by_subtype(subtype: str) -> ErrorKind | None:
    if "max_turns" in subtype:
        return ErrorKind.MAX_TURNS
    return ErrorKind.BUDGET if "budget" in subtype else None


def context_of(printed: str) -> str:
    """Return the text that a hook's output adds to the context."""
    try:
        value = json.loads(printed)
    except ValueError:
        return ""
    specific = value.get("hookSpecificOutput") if isinstance(value, dict) else None
    return str(specific.get("additionalContext") or "") if isinstance(specific, dict) else ""


FLAGS = ("--output-format", "stream-json", "--verbose", "--include-hook-events", "--include-partial-messages")


class ClaudeCode(BenchClient):
    """Claude Code (`claude -p`)."""

    name = ClientName.CLAUDE_CODE
    oldest = (2, 1, 300)
    flag = "--claude"
    update = "claude update"

    def run(self, spec: SessionSpec) -> SessionResult:
        """Run one session. Raises DependencyError if the client can't be started."""
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
            injected=tuple((event, text) for event, printed in stream.hooks if (text := context_of(printed))),
        )
        if fault is not None:
            result = replace(result, error=fault.kind, message=fault.message, fix=fault.fix)
        return result

    def command(self, spec: SessionSpec) -> list[str]:
        """Build the command line of a session."""
        command = [*self._begin(spec.prompt, spec.model, spec.max_turns)]
        if spec.resume:
            command += ["--resume", spec.resume]
        elif spec.session_id:
            command += ["--session-id", spec.session_id]
        if spec.budget_usd is not None:
            command += ["--max-budget-usd", f"{spec.budget_usd:.4f}"]
        command += [*tool_flags(spec.tools), *placebo_flags(spec.placebo), *system_flags(spec.system, spec.state.folder)]
        return [*command, "--plugin-dir", str(spec.plugin)] if spec.plugin and spec.arm.has_plugin else command

    def _begin(self, prompt: str, model: str, turns: int) -> list[str]:
        return [self.program, "-p", prompt, *FLAGS, "--model", model, "--max-turns", str(turns)]

    def probe(self, environment: Mapping[str, str], model: str, state: State) -> SessionResult:
        """Run a session of a few tokens."""
        done, stream = self._probe({**environment, "CLAUDE_CODE_MAX_RETRIES": "0"}, model, state)
        spec = SessionSpec(PROBE_PROMPT, state.folder, model, environment, state, timeout=PROBE_SECONDS)
        fault = _fault(spec, done, stream)
        if fault is None:
            return SessionResult(str((stream.result or {}).get("result") or ""))
        return SessionResult("", error=fault.kind, message=fault.message, fix=fault.fix, retry_after=_retry_after(stream))

    def _probe(self, environment: Mapping[str, str], model: str, state: State) -> tuple[Finished, Stream]:
        command = [*self._begin(PROBE_PROMPT, model, 1), *PROBE_FLAGS]
        done = self.processes.run(command, state.folder, {**environment, AUTO_MEMORY_OFF: "1"}, PROBE_SECONDS)
        return done, read_stream(done.stdout)

    def limit_left(self, environment: Mapping[str, str], model: str, root: Path) -> float | None:
        """Return the remaining seconds of a rate limit, or None. The client reports it only in its debug log."""
        with scratch(root) as state:
            variables = {**environment, **state.variables(), "CLAUDE_CODE_MAX_RETRIES": "0", "ANTHROPIC_LOG": "debug"}
            done, stream = self._probe(variables, model, state)
        if stream.resets_at is not None:
            return max(0.0, stream.resets_at - time.time())
        said = _RETRY_AFTER.search(done.stdout + done.stderr)
        return retry_after(said[1]) if said else None

    def check_plugin(self, init: Mapping[str, Any], arm: Arm) -> str:
        """Return the problem with the client's plugins, or an empty string if they match the arm."""
        names = [str(one.get("name") if isinstance(one, dict) else one) for one in _list(init, "plugins")]
        loaded = any(name.split("@")[0] == "memoryd" for name in names)
        if not arm.has_plugin:
            return "the plugin is loaded in an arm without it" if loaded else ""
        if errors := _list(init, "plugin_errors"):
            return f"the client could not load the plugin: {errors[0]}"
        if not loaded:
            return "the client did not load the plugin"
        tools = _list(init, "tools")
        return "" if any(str(tool).startswith(PLUGIN_TOOLS[:-1]) for tool in tools) else "the plugin's tools are missing"

    def settings_of(self, arm: Arm) -> dict[str, Any]:
        """Return the variables and flags of the arm."""
        return {"variables": self.variables(arm), "flags": ["--plugin-dir", "<plugin>"] if arm.has_plugin else []}

    def variables(self, arm: Arm) -> dict[str, str]:
        """Return the environment variables of a session in an arm.

        The built-in memory is on by default. The value `0` keeps it on even if the user has disabled it.
        """
        return {AUTO_MEMORY_OFF: "0" if arm.has_builtin else "1"}

    def memory_variables(self) -> dict[str, str]:
        """Return the variable that names the client to the plugin's reader."""
        return {"MEMORYD_CLAUDE_COMMAND": self.program}

    def session_id(self, own: str) -> str:
        """Return the id itself, since the client takes any UUID."""
        return own

    def line_id(self, session_id: str, place: int) -> str:
        """Return the id of a line in a replayed log."""
        return stable_id(session_id, str(place))

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
        """Write the conversation to the client's folder of logs."""
        return write_log(session, session_id, state.project(cwd), cwd, version, number=number)

    def transcript(self, state: State, session_id: str) -> Path | None:
        """Return the log of a session in any project folder."""
        return state.transcript(session_id)

    def notes_file(self, state: State) -> Path:
        """Return the user's CLAUDE.md."""
        return state.config / "CLAUDE.md"


PROBE_FLAGS = ("--tools", "", "--system-prompt", "Answer with OK.", "--no-session-persistence")
_RETRY_AFTER = re.compile(r'"?retry-after"?: "([^"\n]{1,80})"', re.IGNORECASE)


def tool_flags(tools: Sequence[str]) -> tuple[str, ...]:
    """Return the flags for the tools of a session. Permission to use tools that an arm lacks has no effect."""
    if not tools:
        return ("--tools", "")
    allowed = ",".join([*(tool for tool in tools if tool == "Bash"), PLUGIN_TOOLS])
    return ("--tools", ",".join(tools), "--permission-mode", "acceptEdits", "--allowedTools", allowed)


def placebo_flags(text: str) -> tuple[str, ...]:
    """Return the flags for a hook that adds a text to the prompt, as the plugin's hook does with memories."""
    if not text:
        return ()
    output = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}
    hook = {"type": "command", "command": f"printf %s {shlex.quote(json.dumps(output))}"}
    return ("--settings", json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))


MAX_ARGUMENT_BYTES = 60_000
"""Longer instructions are passed in a file, since systems limit the length of an argument (to 128 KiB on Linux)."""


def system_flags(system: str, folder: Path) -> tuple[str, ...]:
    """Return the flags that append instructions to the client's system prompt. Long ones are written to `folder`."""
    if not system:
        return ()
    data = system.encode()
    if len(data) <= MAX_ARGUMENT_BYTES:
        return ("--append-system-prompt", system)
    file = folder / "instructions.txt"
    file.write_bytes(data)
    return ("--append-system-prompt-file", str(file))


def _fault(spec: SessionSpec, done: Finished, stream: Stream) -> Fault | None:
    if done.timed_out:
        return timeout_fault(spec, done, works=stream.works)
    return fault_of(stream, done.code, done.stderr)


def _retry_after(stream: Stream) -> float | None:
    """Return the wait requested by the server, in seconds from now, or else the client's own wait after the last fault."""
    return stream.delay if stream.resets_at is None else max(0.0, stream.resets_at - time.time())


def _about(init: Mapping[str, object]) -> dict[str, object]:
    """Return the relevant fields of the client's init line."""
    kept = ("model", "claude_code_version", "tools", "mcp_servers", "plugins", "plugin_errors", "permissionMode")
    return {key: init[key] for key in kept if key in init}


def _list(init: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = init.get(key)
    return value if isinstance(value, list | tuple) else ()
