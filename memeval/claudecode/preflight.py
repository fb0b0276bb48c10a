"""What has to be right before anything is spent: client, version, login, address, model. Each fault in one clear message."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from memeval.claudecode.arms import AUTO_MEMORY_OFF
from memeval.claudecode.client import ClaudeCode
from memeval.claudecode.contract import SessionSpec
from memeval.claudecode.sandbox import State
from memeval.errors import ConfigError

PROBE_SECONDS = 30.0
PROBE_FLAGS = ("--tools", "", "--system-prompt", "Answer with OK.", "--no-session-persistence")


@contextmanager
def _scratch(root: Path) -> Iterator[State]:
    state = State(root / f"probe-{secrets.token_hex(4)}").make()
    try:
        yield state
    finally:
        state.remove()


def client_version(client: ClaudeCode, environment: Mapping[str, str], root: Path) -> str:
    """Version of the client. Raises DependencyError."""
    with _scratch(root) as state:
        return client.version({**environment, **state.variables()}, state.folder)


def probe_models(client: ClaudeCode, environment: Mapping[str, str], models: Iterable[str], root: Path) -> None:
    """A session of a few tokens with each model. Raises ConfigError with what the client says."""
    for model in dict.fromkeys(models):
        with _scratch(root) as state:
            variables = {**environment, **state.variables(), AUTO_MEMORY_OFF: "1", "CLAUDE_CODE_MAX_RETRIES": "0"}
            spec = SessionSpec("OK?", state.folder, model, variables, PROBE_FLAGS, max_turns=1, timeout=PROBE_SECONDS)
            result, _ = client.run(spec)
        if not result.ok:
            raise ConfigError(f"A first session with {model} failed: {result.message}", fix=result.fix)
