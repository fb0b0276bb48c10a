"""Installing the plugin with the real client: validation, marketplace, installation.

Needs CLAUDE_BIN, but no account and no network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.hooks.fake_daemon import ROOT

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not os.environ.get("CLAUDE_BIN"), reason="CLAUDE_BIN names no client"),
]


class RealClient:
    """The client with its own configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config"
        self.config.mkdir()

    def run(self, *arguments: str) -> str:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CLAUDE_CODE_TMPDIR": str(self.folder / "tmp"),
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        command = [os.environ["CLAUDE_BIN"], *arguments]
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, env=env, cwd=self.folder, text=True, timeout=180, check=False, **options)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout
        return str(done.stdout)


@pytest.fixture
def client(tmp_path: Path) -> RealClient:
    return RealClient(tmp_path)


def copy_tracked_files(target: Path) -> Path:
    """Copy the repository as a user gets it."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in names:
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


@pytest.mark.parametrize("path", [".", "plugin.json", ".claude-plugin/plugin.json"])
def test_the_client_finds_nothing_wrong_with_the_plugin(client: RealClient, path: str) -> None:
    said = client.run("plugin", "validate", str(ROOT / path), "--strict")
    assert "Validation passed" in said
    assert "Validation passed with warnings" not in said


def test_two_commands_install_it_and_set_its_options(client: RealClient, tmp_path: Path) -> None:
    source = copy_tracked_files(tmp_path / "clone")
    client.run("plugin", "marketplace", "add", str(source))
    said = client.run("plugin", "install", "memoryd@memoryd", "--config", "session_budget=500", "--config", f"home={tmp_path}/h")
    assert "Successfully installed" in said
    settings = json.loads((client.config / "settings.json").read_text())
    assert settings["enabledPlugins"] == {"memoryd@memoryd": True}
    assert settings["pluginConfigs"]["memoryd@memoryd"]["options"]["session_budget"] == 500
    details = client.run("plugin", "details", "memoryd")
    for name in ("memory-recall", "memory-dream", "SessionStart", "SessionEnd", "memoryd"):
        assert name in details
