"""`claude-cli/<model>`: answers by `claude -p`, the user's own client and subscription, as a plain model.

No tools, no plug-ins, no hooks, no MCP servers, no project files, no memory, and no transcript: the client's own
configuration is neither read for these nor written. The temperature can't be set there. The cost is what the client
reports: list price, also under a subscription.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from memeval import registry
from memeval.core.errors import DependencyError, ModelError
from memeval.core.protocols import Model
from memeval.models.options import check_options
from memoryd.core.types import Completion, Message
from memoryd.llm.claude import usage_of

FLAGS = (
    *("-p", "--output-format", "json", "--max-turns", "1", "--tools", ""),
    *("--safe-mode", "--strict-mcp-config", "--no-session-persistence"),
)
_SET = {
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",  # the runner has its own back-off
    "DISABLE_AUTOUPDATER": "1",
    "MEMORYD_INTERNAL": "1",  # should the memory's hooks run all the same, they do nothing
}
_SURROUNDING = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE")
_OPTIONS: dict[str, type | tuple[type, ...]] = {"command": str, "timeout": (int, float)}
_LOGIN = re.compile(r"not logged in|failed to authenticate|/login|invalid api key", re.IGNORECASE)
_LIMIT = re.compile(r"usage limit|limit reached|rate limit|overloaded|connection error", re.IGNORECASE)
_TRANSIENT = frozenset({408, 409, 425, 429})


@registry.model("claude-cli")
class ClaudeCli(Model):
    """One run of the client for each answer; several may run at once. Nothing of a run stays behind."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        check_options(name, options, _OPTIONS)
        self._name = name
        self._model = name.partition("/")[2]
        self._command = str(options.get("command", "claude"))
        self._timeout = float(options.get("timeout", 300))

    @property
    def name(self) -> str:
        """As it was asked for; without a slash the client chooses the model."""
        return self._name

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """One answer. A schema is told in words. Raises ModelError, DependencyError without a client."""
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        prompt = _conversation([message for message in messages if message.role != "system"])
        if schema is not None:
            prompt += (
                f"\n\nAnswer with one JSON object and nothing else. It follows this JSON schema:\n{json.dumps(dict(schema))}"
            )
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="memeval-claude-") as folder:
            stdout, stderr, code = self._run(self._arguments(system), prompt, folder, max_tokens)
        return self._completion(stdout, stderr, code, time.monotonic() - started)

    def _arguments(self, system: str) -> list[str]:
        model = ["--model", self._model] if self._model else []
        return [self._command, *FLAGS, *model, *(["--system-prompt", system] if system else [])]

    def _run(self, arguments: list[str], prompt: str, folder: str, max_tokens: int | None) -> tuple[bytes, bytes, int]:
        process = self._start(arguments, folder, max_tokens)
        try:
            stdout, stderr = process.communicate(prompt.encode("utf-8", "replace"), timeout=self._timeout)
        except subprocess.TimeoutExpired as error:
            raise ModelError(
                f"{self._command} did not answer within {self._timeout:g} s and was ended.",
                fix="Raise option timeout, or check the network.",
                transient=True,
            ) from error
        finally:
            _end(process)
        return stdout, stderr, process.returncode

    def _start(self, arguments: list[str], folder: str, max_tokens: int | None) -> subprocess.Popen[bytes]:
        env = {name: value for name, value in os.environ.items() if name not in _SURROUNDING} | _SET
        if max_tokens is not None:
            env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(max_tokens)
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(arguments, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except OSError as error:
            raise DependencyError(
                f"The command '{self._command}' can't be started: {error.strerror}.",
                fix="Install Claude Code, or set option command to its full path.",
            ) from error

    def _completion(self, stdout: bytes, stderr: bytes, code: int, seconds: float) -> Completion:
        try:
            answer = json.loads(stdout)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            said = " ".join((stderr or stdout).decode("utf-8", "replace").split())[:300]
            raise ModelError(
                f"The Claude Code client ended with code {code} and no result{': ' + said if said else '.'}",
                fix="Run `claude -p hello` in a terminal; update the client if an option is unknown to it.",
                transient=code < 0,  # killed from outside
            )
        if answer.get("is_error") or not isinstance(answer.get("result"), str):
            raise _failure(answer)
        used = next(iter(answer.get("modelUsage") or {}), self._model)
        return Completion(answer["result"].strip(), used, usage_of(answer), seconds)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of the run stays: a live group is killed and reaped. One that has ended is left alone: its id may be another's."""
    if process.returncode is None:
        if sys.platform == "win32":
            process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _conversation(messages: Sequence[Message]) -> str:
    """One prompt from several messages: the client takes a single one."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"<{message.role}>\n{message.content}\n</{message.role}>" for message in messages)


def _failure(answer: Mapping[str, Any]) -> ModelError:
    """The client's own report, with what to do about it."""
    said = " ".join(str(answer.get("result") or answer.get("errors") or answer.get("subtype") or "no reason").split())[:300]
    status = answer.get("api_error_status")
    message = f"The Claude Code client failed: {said}"
    if status in (401, 403) or _LOGIN.search(said):
        return ModelError(message, fix="Run `claude` in a terminal and log in.")
    if status in _TRANSIENT or (isinstance(status, int) and status >= 500) or _LIMIT.search(said):
        return ModelError(
            message, fix="It is tried again; a subscription's limit ends at the time that it names.", transient=True
        )
    return ModelError(message, fix="Check the model's name and the message above.")
