"""`claude-cli/<model>`: use `claude -p`, with the user's own client and subscription, as a plain model.

The model gets no tools, plug-ins, hooks, MCP servers, project files or memory, and leaves no transcript. The client's
own configuration is not read for any of these, and is never written. The temperature can't be set. The cost is the
one reported by the client, which is the list price even under a subscription.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from memeval import registry
from memeval.core.errors import DependencyError, ModelError
from memeval.core.protocols import Model
from memeval.models.options import check_options
from memoryd.core.types import Completion, Message
from memoryd.llm.print_mode import (
    CHILD_VARIABLES,
    Failure,
    PrintRun,
    RunOutput,
    answer_of,
    arguments,
    failure_of,
    model_of,
    split,
    usage_of,
)

# MEMORYD_INTERNAL disables the hooks of memoryd in case they run anyway.
_SET = {**CHILD_VARIABLES, "MEMORYD_INTERNAL": "1"}
_SURROUNDING = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE")
_OPTIONS: dict[str, type | tuple[type, ...]] = {"command": str, "timeout": (int, float)}


@registry.model("claude-cli")
class ClaudeCli(Model):
    """Runs the client once per completion. Concurrent runs are allowed, and no files are left behind."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        check_options(name, options, _OPTIONS)
        self._name = name
        self._model = name.partition("/")[2]
        self._command = str(options.get("command", "claude"))
        self._timeout = float(options.get("timeout", 300))

    @property
    def name(self) -> str:
        """The requested name. If it contains no slash, the client chooses the model."""
        return self._name

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return one completion. A schema is described in the prompt.

        Raises ModelError if the call fails, and DependencyError if there is no client.
        """
        system, prompt = split(messages)
        if schema is not None:
            prompt += (
                f"\n\nAnswer with one JSON object and nothing else. It follows this JSON schema:\n{json.dumps(dict(schema))}"
            )
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="memeval-claude-") as folder:
            output = self._run(arguments(self._command, self._model, system), prompt, folder, max_tokens)
        return self._completion(output, time.monotonic() - started)

    def _run(self, command: list[str], prompt: str, folder: str, max_tokens: int | None) -> RunOutput:
        env = {name: value for name, value in os.environ.items() if name not in _SURROUNDING} | _SET
        if max_tokens is not None:
            env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(max_tokens)
        try:
            return PrintRun(command, folder, env).finish(prompt, self._timeout)
        except subprocess.TimeoutExpired as error:
            raise ModelError(
                f"{self._command} did not respond within {self._timeout:g} s and was terminated.",
                fix="Raise option timeout, or check the network.",
                transient=True,
            ) from error
        except OSError as error:
            raise DependencyError(
                f"The command '{self._command}' can't be started: {error.strerror}.",
                fix="Install Claude Code, or set option command to its full path.",
            ) from error

    def _completion(self, output: RunOutput, seconds: float) -> Completion:
        report = output.report()
        if report is None:
            said = output.text()
            raise ModelError(
                f"The Claude Code client exited with code {output.code} and no result{': ' + said if said else '.'}",
                fix="Run `claude -p hello` in a terminal; update the client if it rejects an option as unknown.",
                transient=output.code < 0,  # A signal killed the client.
            )
        text = answer_of(report)
        if text is None:
            raise _failure(report)
        return Completion(text.strip(), model_of(report, self._model), usage_of(report), seconds)


def _failure(report: Mapping[str, Any]) -> ModelError:
    """Convert the client's report to an error with a suggested fix."""
    kind, reason = failure_of(report)
    message = f"The Claude Code client failed: {reason}"
    if kind is Failure.LOGIN:
        return ModelError(message, fix="Run `claude` in a terminal and log in.")
    if kind in (Failure.LIMIT, Failure.SERVER, Failure.NETWORK):
        return ModelError(message, fix="It will be retried; a subscription's limit ends at the time given.", transient=True)
    return ModelError(message, fix="Check the model's name and the message above.")
