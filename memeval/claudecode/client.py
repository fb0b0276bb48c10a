"""Finds and runs the Claude Code client."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from memeval.claudecode.contract import ErrorKind, SessionResult, SessionSpec
from memeval.claudecode.process import Finished, Processes
from memeval.claudecode.stream import FIXES, Fault, Stream, fault_of, read_stream, short
from memeval.errors import DependencyError
from memoryd.llm.claude_llm import usage_of
from memoryd.types import Usage

OLDEST = (2, 1, 300)
"""Oldest version whose flags and hooks are known to fit."""
VERSION_SECONDS = 20.0
FLAGS = ("--output-format", "stream-json", "--verbose", "--include-hook-events")


def find_client(named: str) -> str:
    """The client's full path. Raises DependencyError."""
    found = shutil.which(named)
    if found is None:
        raise DependencyError(
            f"The Claude Code client {named!r} was not found.",
            fix="Install it (npm install -g @anthropic-ai/claude-code), or name it with --claude.",
        )
    return str(Path(found).absolute())


class ClaudeCode:
    """The client at a path. `run` may be called from several threads."""

    def __init__(self, command: str, processes: Processes | None = None) -> None:
        self._command = command
        self.processes = processes or Processes()

    def version(self, environment: Mapping[str, str], cwd: Path) -> str:
        """As the client tells it. Raises DependencyError when it is too old, or no such client."""
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
        """One session. A failure is in the result, not raised; raises DependencyError when the client can't be started."""
        started = time.monotonic()
        done = self.processes.run(self.command(spec), spec.cwd, spec.environment, spec.timeout)
        stream = read_stream(done.stdout)
        fault = _fault(spec, done, stream)
        told = stream.result or {}
        result = SessionResult(
            text=str(told.get("result") or "").strip(),
            usage=usage_of(told) if told else Usage(1, cost_usd=0.0),
            seconds=round(time.monotonic() - started, 3),
            session_id=str(told.get("session_id") or stream.init.get("session_id") or ""),
            turns=int(told.get("num_turns") or 0),
            tool_calls=stream.tool_calls,
            init=_about(stream.init),
        )
        if fault is not None:
            result = replace(result, error=fault.kind, message=fault.message, fix=fault.fix)
        return result, stream

    def command(self, spec: SessionSpec) -> list[str]:
        """The command line of a session."""
        command = [self._command, "-p", spec.prompt, *FLAGS, "--model", spec.model, "--max-turns", str(spec.max_turns)]
        if spec.resume:
            command += ["--resume", spec.resume]
        elif spec.session_id:
            command += ["--session-id", spec.session_id]
        if spec.budget_usd is not None:
            command += ["--max-budget-usd", f"{spec.budget_usd:.4f}"]
        return [*command, *spec.flags]


def _fault(spec: SessionSpec, done: Finished, stream: Stream) -> Fault | None:
    if done.timed_out:
        return Fault(
            ErrorKind.TIMEOUT, f"The session did not end within {spec.timeout:g} s and was ended.", FIXES[ErrorKind.TIMEOUT]
        )
    return fault_of(stream, done.code, done.stderr)


def _about(init: Mapping[str, object]) -> dict[str, object]:
    """What is worth keeping of the init line."""
    kept = ("model", "claude_code_version", "tools", "mcp_servers", "plugins", "plugin_errors", "permissionMode")
    return {key: init[key] for key in kept if key in init}
