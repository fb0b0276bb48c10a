"""`memoryd connect` shows what it changes, changes it once, and can restore it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from memoryd.cli import connect, doctor
from memoryd.cli.app import lazy_app
from memoryd.cli.install import PluginFiles
from memoryd.core.config import Settings


@dataclass
class User:
    """A user with OpenCode and a home folder of their own."""

    folder: Path

    @property
    def plugin(self) -> Path:
        return self.folder / ".config" / "opencode" / "plugin" / "memoryd.js"

    def connect(self, *words: str) -> Result:
        return CliRunner().invoke(lazy_app(), ["--home", str(self.folder / "memory"), "connect", *words])

    def check(self) -> dict[str, bool]:
        return {check.name: check.ok for check in doctor._clients(Settings(home=self.folder / "memory"))}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "OPENCODE_DB", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config" / "opencode").mkdir(parents=True)
    return User(tmp_path)


def test_a_client_is_connected_once_checked_and_disconnected(user: User) -> None:
    assert user.check() == {}
    assert user.connect("opencode", "--yes").exit_code == 0
    written = user.plugin.read_bytes()
    assert str(user.folder / "memory").encode() in written
    again = user.connect("opencode", "--yes", "--json")
    assert orjson.loads(again.stdout)["steps"] == []
    assert user.check() == {"opencode": True}
    user.plugin.write_bytes(written + b"// of an older version\n")
    assert user.check() == {"opencode": False}
    user.connect("opencode", "--yes")
    assert user.plugin.read_bytes() == written
    user.connect("opencode", "--undo", "--yes")
    assert not user.plugin.exists()
    assert user.check() == {}
    assert "Nothing to undo" in user.connect("opencode", "--undo", "--yes").output


def test_a_file_that_was_there_before_is_restored_exactly(user: User) -> None:
    user.plugin.parent.mkdir()
    user.plugin.write_bytes(b"// mine, \xff\r\n")
    user.connect("opencode", "--yes")
    user.connect("opencode", "--undo", "--yes")
    assert user.plugin.read_bytes() == b"// mine, \xff\r\n"


def test_nothing_is_changed_without_consent(user: User) -> None:
    dry = user.connect("opencode", "--dry-run")
    assert dry.exit_code == 0 and "+++" in dry.output and str(user.plugin) in dry.output
    unasked = user.connect("opencode")
    assert unasked.exit_code != 0 and "--yes" in unasked.output
    assert not user.plugin.exists()


def test_only_what_is_installed_is_connected(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(user.folder))
    (user.folder / ".claude").mkdir()  # Without the program, nothing can be installed.
    shown = orjson.loads(user.connect("--yes", "--json").stdout)
    assert shown["clients"] == ["opencode"] and user.plugin.exists()


def test_missing_hooks_are_found_and_written_again(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    source = PluginFiles(user.folder / "files", {"hooks/hook.sh": b"#!/bin/sh\n"})
    monkeypatch.setattr(connect, "find_source", lambda home: source)
    monkeypatch.setattr(doctor, "find_source", lambda home: source)
    user.connect("opencode", "--yes")
    assert str(source.folder) in user.plugin.read_text() and user.check() == {"opencode": True}
    (source.folder / "hooks" / "hook.sh").unlink()
    assert user.check() == {"opencode": False}
    user.connect("opencode", "--yes")
    assert user.check() == {"opencode": True}


def test_an_unknown_client_is_refused_with_the_known_names(user: User) -> None:
    result = user.connect("emacs")
    assert result.exit_code == 2 and "opencode" in result.output


@pytest.mark.parametrize(
    ("name", "settings", "rules"),
    [
        ("cursor", ".cursor/mcp.json", ""),
        ("copilot", ".copilot/mcp-config.json", ".copilot/copilot-instructions.md"),
        ("qwen", ".qwen/settings.json", ".qwen/QWEN.md"),
    ],
)
def test_a_client_with_mcp_only_keeps_the_users_settings(user: User, name: str, settings: str, rules: str) -> None:
    file, own = user.folder / settings, user.folder / rules
    file.parent.mkdir(parents=True)
    before = b'{\n    "mcpServers": {"mine": {"command": "x"}},\n    "theme": "dark"\n}'
    file.write_bytes(before)
    if rules:
        own.write_bytes(b"Answer in French.\n")
    assert user.connect(name, "--yes").exit_code == 0
    values = orjson.loads(file.read_bytes())
    assert list(values["mcpServers"]) == ["mine", "memoryd"] and values["theme"] == "dark"
    assert values["mcpServers"]["memoryd"]["args"] == ["mcp"]
    assert not rules or own.read_bytes().startswith(b"Answer in French.\n") and b"`recall`" in own.read_bytes()
    values["theme"] = "light"  # The user continues to edit the file.
    file.write_bytes(orjson.dumps(values))
    assert user.check() == {name: True}
    user.connect(name, "--undo", "--yes")
    assert orjson.loads(file.read_bytes()) == {"mcpServers": {"mine": {"command": "x"}}, "theme": "light"}
    assert not rules or own.read_bytes() == b"Answer in French.\n"


def test_codex_gets_hooks_which_it_must_be_allowed_to_run(user: User) -> None:
    config, hooks = user.folder / ".codex" / "config.toml", user.folder / ".codex" / "hooks.json"
    config.parent.mkdir()
    before = b'model = "o1" # mine\r\n'
    config.write_bytes(before)
    assert "Trust all" in user.connect("codex", "--yes").output
    assert config.read_bytes().startswith(before)
    assert tomllib.loads(config.read_text())["mcp_servers"]["memoryd"]["env"] == {"MEMORYD_HOME": str(user.folder / "memory")}
    commands = [group["hooks"][0]["command"] for groups in orjson.loads(hooks.read_bytes())["hooks"].values() for group in groups]
    assert all("MEMORYD_CLIENT=codex" in command and str(user.folder / "memory") in command for command in commands)
    assert user.check() == {"codex": False}
    events = ("session_start", "user_prompt_submit", "pre_tool_use", "subagent_start", "stop", "pre_compact", "session_end")
    trusted = "".join(f'[hooks.state."{hooks}:{event}:0:0"]\ntrusted_hash = "sha256:1"\n' for event in events)
    config.write_bytes(config.read_bytes() + trusted.encode())
    assert user.check() == {"codex": True}
    user.connect("codex", "--undo", "--yes")
    assert not hooks.exists()
    left = tomllib.loads(config.read_text())
    assert left["model"] == "o1" and "mcp_servers" not in left and left["hooks"]


def test_gemini_gets_an_extension_that_leaves_nothing_behind(user: User) -> None:
    folder = user.folder / ".gemini" / "extensions" / "memoryd"
    folder.parent.mkdir(parents=True)
    assert user.connect("gemini", "--yes").exit_code == 0 and user.check() == {"gemini": True}
    manifest = orjson.loads((folder / "gemini-extension.json").read_bytes())
    assert manifest["mcpServers"]["memoryd"]["env"] == {"MEMORYD_HOME": str(user.folder / "memory")}
    hooks = orjson.loads((folder / "hooks" / "hooks.json").read_bytes())["hooks"]
    assert hooks["BeforeAgent"][0]["hooks"][0]["command"].endswith(" UserPromptSubmit")
    user.connect("gemini", "--undo", "--yes")
    assert not folder.exists() and folder.parent.exists() and user.check() == {}


def test_settings_with_comments_are_refused_before_anything_is_changed(user: User) -> None:
    file = user.folder / ".qwen" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(b"{\n  // mine\n}")
    result = user.connect("opencode", "qwen", "--yes")
    assert result.exit_code != 0 and "comments" in result.output
    assert file.read_bytes() == b"{\n  // mine\n}"
    assert not user.plugin.exists()
