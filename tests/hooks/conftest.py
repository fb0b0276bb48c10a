"""Fixtures of the hook tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hooks.fake_daemon import PATIENT, ROOT, FakeDaemon, base_env, copy_plugin, make_patient, run_hook

START_MARK = "started"


class Hooks:
    """Runs hooks of a copied plugin in its own home. The copy's launcher only leaves a mark, and its timeouts are longer."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.data = folder / "data"
        self.project = folder / "project"
        self.project.mkdir()
        self.mark = folder / START_MARK
        self.plugin = copy_plugin(folder / "the plugin", f'env > "{self.mark}.tmp"; mv "{self.mark}.tmp" "{self.mark}"\n')
        make_patient(self.plugin / "hooks" / "hook.py", PATIENT)
        self.env = base_env(self.home, self.data)

    def as_shipped(self) -> None:
        """Restore the timeouts of the real client, for tests of the timeouts."""
        shutil.copy(ROOT / "hooks" / "hook.py", self.plugin / "hooks")

    def payload(self, event: str = "Stop", **more: str) -> bytes:
        return json.dumps({"session_id": "s1", "cwd": str(self.project), "hook_event_name": event, **more}, indent=1).encode()

    def run(self, event: str, stdin: bytes | None = None, **env: str) -> bytes:
        """Return the output of the hook."""
        body = self.payload(event) if stdin is None else stdin
        return run_hook(self.plugin, event, body, {**self.env, **env}, self.project).stdout

    def spooled(self) -> list[Path]:
        return sorted((self.home / "spool").glob("*")) if (self.home / "spool").exists() else []

    def log(self) -> str:
        path = self.home / "logs" / "hooks.log"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    return Hooks(tmp_path)


@pytest.fixture
def daemon(hooks: Hooks) -> Iterator[Callable[..., FakeDaemon]]:
    """Create fake daemons in the hooks' home and close them at the end."""
    made: list[FakeDaemon] = []

    def make(**options: object) -> FakeDaemon:
        made.append(FakeDaemon(hooks.home, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        if one.listener.fileno() >= 0:
            one.close()
