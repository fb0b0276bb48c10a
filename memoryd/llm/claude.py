"""Chat completions from `claude -p`, with the user's own client and login but without tools, hooks or memory.

`print_mode` defines how to run the client and parse its report.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from memoryd.core.config import Settings, child_environment
from memoryd.core.errors import ModelError
from memoryd.core.files import locked, make_private_dir
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

# Our own model runs must be distinguishable from the user's sessions, so that memory never learns from itself. There are three
# independent markers: the variable MEMORYD_INTERNAL (our hooks do nothing), the working folder, and a first line with a nonce in
# the prompt, in case a transcript is written after all.

MARKER = "memoryd-internal-run"
_MARKED = re.compile(rf"\s*<{MARKER} [0-9a-f]{{32}}>")


def mark(prompt: str) -> str:
    """Prepend the line that marks a prompt as one of our own runs."""
    return f"<{MARKER} {secrets.token_hex(16)}>\n{prompt}"


def is_internal_text(text: str) -> bool:
    """Return whether the text starts with the marker of our own runs. Merely mentioning the marker does not count."""
    return _MARKED.match(text) is not None


def extractor_folder(settings: Settings) -> Path:
    """Return the working folder for `claude` runs. Nothing else uses this folder."""
    return settings.paths.run / "extractor"


# Login variables of the client's sessions. They are kept only in this process's memory.

KEPT_SESSIONS = 64
PREFIXES = ("ANTHROPIC_", "AWS_", "GOOGLE_", "VERTEX_REGION_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_CLIENT_")
NAMES = frozenset(
    """CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_SKIP_BEDROCK_AUTH CLAUDE_CODE_SKIP_VERTEX_AUTH CLAUDE_CODE_SKIP_FOUNDRY_AUTH
    CLAUDE_CONFIG_DIR CLAUDE_CODE_EXECPATH CLOUD_ML_REGION GCLOUD_PROJECT HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy
    no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE""".split()
)
# Prefix of login variables in event records from hooks, and in the environment of a daemon started by a hook.
PREFIX = "MEMORYD_LOGIN_"


class Logins:
    """Holds the login variables of recent sessions. Thread-safe. They are never written to disk or logged."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._by_session: OrderedDict[str, Mapping[str, str]] = OrderedDict()
        self._latest: Mapping[str, str] = {}
        self._session = ""

    def note(self, session: str, variables: Mapping[str, str]) -> bool:
        """Store a session's login variables. Return whether they differ from the latest ones."""
        with self._guard:
            changed = dict(variables) != dict(self._latest)
            self._latest = dict(variables)
            self._by_session[session] = self._latest
            self._by_session.move_to_end(session)
            while len(self._by_session) > KEPT_SESSIONS:
                self._by_session.popitem(last=False)
            return changed

    def select(self, session: str) -> None:
        """Switch to the login of this session, or to the latest login if the session has none."""
        with self._guard:
            self._session = session

    def current(self) -> Mapping[str, str]:
        """Return the login variables for the next run."""
        with self._guard:
            return self._by_session.get(self._session, self._latest)

    def clear(self) -> None:
        """Forget all logins after the user has withdrawn consent."""
        with self._guard:
            self._by_session.clear()
            self._latest = {}


def is_login(name: str) -> bool:
    """Return whether a variable determines the client's login or the address of its models. Must match hooks/protocol.py."""
    return name in NAMES or name.startswith(PREFIXES)


def login_of(options: Mapping[str, str]) -> dict[str, str]:
    """Return the login variables in the header of an event record."""
    found = {name[len(PREFIX) :]: _decoded(value) for name, value in options.items() if name.startswith(PREFIX)}
    return {name: value for name, value in found.items() if is_login(name)}


def take_from(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Remove the login variables passed by a hook from the environment, and return them."""
    found = login_of(environ)
    for name in [name for name in environ if name.startswith(PREFIX)]:
        del environ[name]
    return found


def _decoded(value: str) -> str:
    """Unescape a one-line value, in which backslash-n is a line break and a double backslash is a backslash."""
    out, rest = [], iter(value)
    for sign in rest:
        following = next(rest, "") if sign == "\\" else ""
        out.append({"n": "\n", "\\": "\\", "": sign}.get(following, sign + following))
    return "".join(out)


TIMEOUT_SECONDS = 180.0
DEFAULT_COMMAND = "claude"


class ClaudeLLM:
    """Runs the client once per answer. Only one run per home folder is active at a time, and no process is left behind."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT_SECONDS,
        logins: Logins | None = None,
    ) -> None:
        self._command = settings.claude_command
        self._model = settings.claude_model
        self._folder = extractor_folder(settings)
        self._environ = environ
        self._logins = logins
        self._timeout = timeout
        self._guard = threading.Lock()
        self._running: PrintRun | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """The client's name for the model."""
        return self._model

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """Return one answer.

        The schema is only described in the prompt. Enforcing it in the client would cost extra turns.
        """
        system, prompt = split(messages)
        make_private_dir(self._folder)
        with locked(self._folder.with_suffix(".lock")):
            output = self._run(system, mark(prompt))
        return _parse(output, self._model)

    def close(self) -> None:
        """Kill the current run and refuse further ones. The caller gets a transient ModelError."""
        with self._guard:
            self._closed = True
            if self._running is not None:
                self._running.kill()

    def _run(self, system: str, prompt: str) -> RunOutput:
        run = self._start(system)
        try:
            return run.finish(prompt, self._timeout)
        except subprocess.TimeoutExpired as error:
            raise ModelError(
                f"{self._command} did not respond within {self._timeout:g} s and was terminated.",
                fix="It will be retried; check the network and the client's status.",
                transient=True,
            ) from error
        finally:
            with self._guard:
                self._running = None

    def _start(self, system: str) -> PrintRun:
        command = arguments(self._program(), self._model, system)
        with self._guard:
            if self._closed:
                raise ModelError("The model run was cancelled because the daemon is shutting down.", transient=True)
            try:
                self._running = PrintRun(command, self._folder, self._environment())
            except OSError as error:
                raise ModelError(
                    f"The command '{self._command}' can't be started: {error.strerror}.",
                    fix="Install Claude Code, set claude_command to its full path, or set reader to session.",
                ) from error
            return self._running

    def _environment(self) -> dict[str, str]:
        """Return this process's environment, plus the login of the session being read, if known."""
        login = self._logins.current() if self._logins else {}
        env = os.environ if self._environ is None else self._environ
        base = {name: value for name, value in env.items() if not (login and is_login(name))}
        return child_environment({**login, **CHILD_VARIABLES}, base)

    def _program(self) -> str:
        """Return the client program used by the session, unless the user has configured another one."""
        named = self._logins.current().get("CLAUDE_CODE_EXECPATH", "") if self._logins else ""
        return named if named and self._command == DEFAULT_COMMAND and os.access(named, os.X_OK) else self._command


def _parse(output: RunOutput, model: str) -> Completion:
    report = output.report()
    if report is None:
        raise _no_result(output)
    text = answer_of(report)
    if text is None:
        raise _failure(report)
    return Completion(text, model_of(report, model), usage_of(report))


def _no_result(output: RunOutput) -> ModelError:
    said = output.text()
    if "unknown option" in said:
        return ModelError(f"The Claude Code client is too old: {said}", fix="Update it with: claude update.")
    return ModelError(
        f"The Claude Code client exited with code {output.code} and no result{': ' + said if said else '.'}",
        fix="Run `claude -p hello` in a terminal to see the problem.",
        transient=output.code < 0,  # The process was killed from outside.
    )


_FIXES = {
    Failure.LOGIN: "Run `claude` in a terminal and log in. A key set only in a session arrives with the session's next prompt.",
    Failure.LIMIT: "It will be retried automatically; lower daily_token_budget to use less.",
    Failure.SERVER: "It is retried automatically.",
    Failure.REQUEST: "Check claude_model and the message above.",
    Failure.NETWORK: "Check the network; it will be retried automatically.",
    Failure.UNKNOWN: "Check the network; it will be retried automatically.",
}


def _failure(report: Mapping[str, Any]) -> ModelError:
    """Convert the client's error report to a ModelError with a fix."""
    kind, reason = failure_of(report)
    transient = kind not in (Failure.LOGIN, Failure.REQUEST)
    return ModelError(f"The Claude Code client failed: {reason}", fix=_FIXES[kind], transient=transient)
