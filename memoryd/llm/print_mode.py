"""Use `claude -p` as a plain model: command-line options, single runs and reports. Shared by memoryd and memeval.

A run has no tools, hooks, plugins, MCP servers, project files, memory or transcript. Verified with 2.1.332:
`--safe-mode` excludes plugins, hooks, CLAUDE.md and MCP servers but keeps the login (which `--bare` would not read).
`--tools ""` sends an empty tool list.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from memoryd.core.openai_api import TRANSIENT_STATUSES
from memoryd.core.processes import kill_group, reap
from memoryd.core.text import one_line, shorten
from memoryd.core.types import Message, Usage

FLAGS = (
    *("-p", "--output-format", "json", "--max-turns", "1", "--tools", ""),
    *("--safe-mode", "--strict-mcp-config", "--no-session-persistence"),
)
CHILD_VARIABLES = {
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",  # Callers have their own back-off and must not block for minutes.
    "DISABLE_AUTOUPDATER": "1",
}
REASON_CHARACTERS = 300
_LOGIN = re.compile(r"not logged in|failed to authenticate|/login|invalid api key", re.IGNORECASE)
_LIMIT = re.compile(r"usage limit|limit reached|rate limit|overloaded", re.IGNORECASE)
_NETWORK = re.compile(r"connection error", re.IGNORECASE)


def arguments(command: str, model: str, system: str) -> list[str]:
    """Return the command line. Without a model, the client uses its default."""
    return [command, *FLAGS, *(["--model", model] if model else []), *(["--system-prompt", system] if system else [])]


def split(messages: Sequence[Message]) -> tuple[str, str]:
    """Return the system prompt, and all other messages joined into one prompt. The client accepts only one."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    said = [message for message in messages if message.role != "system"]
    if len(said) == 1:
        return system, said[0].content
    return system, "\n\n".join(f"<{message.role}>\n{message.content}\n</{message.role}>" for message in said)


@dataclass(frozen=True, slots=True)
class RunOutput:
    """Output and exit code of a run. A negative code is the number of the signal that terminated it."""

    stdout: bytes
    stderr: bytes
    code: int

    def report(self) -> dict[str, Any] | None:
        """The client's report, or None if the output contains no report."""
        try:
            value = orjson.loads(self.stdout)
        except orjson.JSONDecodeError:
            return None
        return value if isinstance(value, dict) else None

    def text(self) -> str:
        """The output on one line, for runs without a report."""
        return shorten(one_line((self.stderr or self.stdout).decode("utf-8", "replace")), REASON_CHARACTERS)


class PrintRun:
    """One run of the client. `kill` may be called from another thread."""

    def __init__(self, command: Sequence[str], folder: str | Path, env: Mapping[str, str]) -> None:
        """Start the client. Raises OSError."""
        pipe = subprocess.PIPE
        self._guard = threading.Lock()
        self._process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )

    def finish(self, prompt: str, seconds: float) -> RunOutput:
        """Send the prompt and wait for the client to exit.

        Raises subprocess.TimeoutExpired. In any case, no process is left behind.
        """
        try:
            stdout, stderr = self._process.communicate(prompt.encode("utf-8", "replace"), timeout=seconds)
        finally:
            self.kill()
            reap(self._process)
        return RunOutput(stdout, stderr, self._process.returncode)

    def kill(self) -> None:
        """Kill the client if it is still running. Ended processes are left alone, because their id may have been reused."""
        with self._guard:
            if self._process.returncode is None:
                kill_group(self._process)


class Failure(StrEnum):
    """Cause of an error reported by the client, classified by the required action."""

    LOGIN = "login"
    LIMIT = "limit"
    SERVER = "server"
    REQUEST = "request"
    NETWORK = "network"
    UNKNOWN = "unknown"


def answer_of(report: Mapping[str, Any]) -> str | None:
    """Return the text of the answer, or None if the report contains an error."""
    text = report.get("result")
    return None if report.get("is_error") or not isinstance(text, str) else text


def failure_of(report: Mapping[str, Any]) -> tuple[Failure, str]:
    """Return the cause of the error in a report, and the client's message."""
    said = str(report.get("result") or report.get("errors") or report.get("subtype") or "no reason")
    reason = shorten(one_line(said), REASON_CHARACTERS)
    status = report.get("api_error_status")
    if status in (401, 403) or _LOGIN.search(reason):
        return Failure.LOGIN, reason
    if status in TRANSIENT_STATUSES or _LIMIT.search(reason):
        return Failure.LIMIT, reason
    if isinstance(status, int):
        return (Failure.SERVER if status >= 500 else Failure.REQUEST), reason
    return (Failure.NETWORK if _NETWORK.search(reason) else Failure.UNKNOWN), reason


def model_of(report: Mapping[str, Any], default: str) -> str:
    """Return the model that answered."""
    return next(iter(report.get("modelUsage") or {}), default)


def usage_of(report: Mapping[str, Any]) -> Usage:
    """Return the token usage of all models in a run. Cached input counts as input. The cost may be unknown."""
    given = taken = 0
    models = report.get("modelUsage")
    for used in models.values() if isinstance(models, dict) else ():
        given += sum(_count(used, key) for key in ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"))
        taken += _count(used, "outputTokens")
    cost = report.get("total_cost_usd")
    return Usage(1, given, taken, float(cost) if isinstance(cost, int | float) else None)


def _count(used: Any, key: str) -> int:
    value = used.get(key) if isinstance(used, dict) else None
    return int(value) if isinstance(value, int | float) else 0
