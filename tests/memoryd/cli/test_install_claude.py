"""`memoryd install-claude` with a scripted `claude plugin`: what it changes, what it does not change, and what it refuses."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import memoryd
from memoryd.cli import doctor, install
from memoryd.cli.app import lazy_app
from memoryd.cli.install import PLUGIN, PluginFiles
from memoryd.core.config import Settings
from memoryd.core.errors import DependencyError

ROOT = Path(__file__).parents[3]
FAKE = """
import json, pathlib, sys
path = pathlib.Path(sys.argv[1])
state = json.loads(path.read_text())
words = sys.argv[3:]
state["calls"].append(words)
if words == ["marketplace", "list", "--json"]:
    print(json.dumps([{"name": "memoryd", "path": state["market"]}] if state["market"] else []))
elif words == ["list", "--json"]:
    own = {"id": "memoryd@memoryd", "scope": "user", "enabled": state["enabled"]}
    print(json.dumps([{"id": "other@builtin", "scope": "user"}] + ([own] if state["installed"] else [])))
elif words[:2] == ["marketplace", "add"]:
    state["market"] = words[2]
elif words[:2] == ["marketplace", "remove"]:
    state["market"] = ""
elif words[0] in ("install", "enable"):
    if state["broken"]:
        sys.exit("no such marketplace")
    state["installed"] = state["enabled"] = True
elif words[0] == "uninstall":
    state["installed"] = False
path.write_text(json.dumps(state))
"""


@dataclass
class FakeClaude:
    """The client's plugins, stored in a file, and the command under test."""

    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "fake.py").write_text(FAKE)
        script = self.folder / "claude"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{self.folder}/fake.py" "{self.folder}/state.json" "$@"\n')
        script.chmod(0o755)
        self.set(market="", installed=False, enabled=True, broken=False, calls=[])

    def set(self, **values: Any) -> None:
        path = self.folder / "state.json"
        path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | values))

    def state(self) -> Any:
        return json.loads((self.folder / "state.json").read_text())

    def changes(self) -> list[str]:
        return [" ".join(words) for words in self.state()["calls"] if "list" not in words]

    def run(self, *options: str, code: int = 0, claude: str = "") -> Any:
        env = {"MEMORYD_HOME": str(self.folder / "home"), "MEMORYD_CLAUDE_COMMAND": claude or str(self.folder / "claude")}
        result = CliRunner().invoke(lazy_app(), ["install-claude", *options, "--json"], env=env)
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)


@pytest.fixture
def claude(tmp_path: Path) -> FakeClaude:
    return FakeClaude(tmp_path)


@pytest.fixture
def package(claude: FakeClaude, monkeypatch: pytest.MonkeyPatch) -> PluginFiles:
    """Let the command find the files of an installed package."""
    source = PluginFiles(
        claude.folder / "home" / "claude-plugin", {"plugin/bin/memoryd": b"#!/bin/sh\n", "hooks/hook.py": b"pass\n"}
    )
    monkeypatch.setattr(install, "find_source", lambda home: source)
    return source


def test_a_clone_is_registered_in_place_with_the_home_folder_that_was_named(claude: FakeClaude) -> None:
    answer = claude.run()
    home = claude.folder / "home"
    assert answer["done"]
    assert claude.changes() == [f"marketplace add {ROOT}", f"install {PLUGIN} --config home={home}"]
    assert not (home / "claude-plugin").exists()


def test_a_package_writes_its_files_for_the_user_only_and_a_second_run_changes_nothing(
    claude: FakeClaude, package: PluginFiles
) -> None:
    assert len(claude.run()["steps"]) == 3
    program = package.folder / "plugin" / "bin" / "memoryd"
    assert (program.read_bytes(), program.stat().st_mode & 0o777) == (b"#!/bin/sh\n", 0o700)
    before = claude.changes()
    assert claude.run()["steps"] == []
    assert claude.changes() == before


def test_an_update_replaces_changed_files_and_removes_those_of_the_old_version(claude: FakeClaude, package: PluginFiles) -> None:
    claude.run()
    (package.folder / "hooks" / "hook.py").write_text("old\n")
    (package.folder / "hooks" / "gone.py").write_text("old\n")
    (step,) = claude.run()["steps"]
    assert step.startswith("Write the plugin's files")
    assert [path.name for path in (package.folder / "hooks").iterdir()] == ["hook.py"]
    assert (package.folder / "hooks" / "hook.py").read_text() == "pass\n"


def test_doctor_finds_plugin_files_of_another_version(
    claude: FakeClaude, package: PluginFiles, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude.run()
    monkeypatch.setattr(doctor, "find_source", lambda home: package)
    assert [check.ok for check in doctor._plugin(settings)] == [True]
    (package.folder / "hooks" / "hook.py").write_text("old\n")
    (check,) = doctor._plugin(settings)
    assert (check.ok, check.fix) == (False, "memoryd install-claude")


def test_a_dry_run_names_the_changes_and_makes_none(claude: FakeClaude, package: PluginFiles) -> None:
    answer = claude.run("--dry-run")
    assert (len(answer["steps"]), answer["done"], claude.changes(), package.folder.exists()) == (3, False, [], False)


def test_a_plugin_that_was_switched_off_is_switched_on(claude: FakeClaude) -> None:
    claude.set(market=str(ROOT), installed=True, enabled=False)
    claude.run()
    assert claude.changes() == [f"enable {PLUGIN}"]


def test_a_marketplace_of_the_same_name_is_replaced_and_named(claude: FakeClaude) -> None:
    claude.set(market="/somewhere/else", installed=True)
    (step,) = claude.run()["steps"]
    assert "instead of /somewhere/else" in step


def test_undo_removes_the_plugin_the_marketplace_and_the_files_and_keeps_the_memories(
    claude: FakeClaude, package: PluginFiles
) -> None:
    claude.run()
    (claude.folder / "home" / "memories").mkdir()
    claude.run("--undo")
    assert claude.changes()[-2:] == [f"uninstall {PLUGIN}", "marketplace remove memoryd"]
    assert [path.name for path in (claude.folder / "home").iterdir()] == ["memories"]
    assert claude.run("--undo")["steps"] == []


def test_undo_leaves_a_plugin_from_another_folder_alone(claude: FakeClaude) -> None:
    claude.set(market="/somewhere/else", installed=True)
    error = claude.run("--undo", code=1)["error"]
    assert "/somewhere/else" in error["message"]
    assert "claude plugin uninstall" in error["fix"]
    assert claude.changes() == []


def test_without_the_client_nothing_is_written_and_the_message_says_what_to_do(claude: FakeClaude, package: PluginFiles) -> None:
    error = claude.run(code=1, claude="no-such-client")["error"]
    assert "no-such-client" in error["message"]
    assert "claude_command" in error["fix"]
    assert not package.folder.exists()


def test_the_reason_why_the_client_refused_is_shown(claude: FakeClaude) -> None:
    claude.set(broken=True)
    assert "no such marketplace" in claude.run(code=1)["error"]["message"]
    assert claude.state()["market"] == str(ROOT)
    claude.set(broken=False)
    assert len(claude.run()["steps"]) == 1


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let memoryd be an installed package with two of the plugin's files."""
    packages = tmp_path / "lib" / "site-packages"
    records = ["memoryd/__init__.py", "memoryd-1.dist-info/METADATA"]
    for name in ("plugin.json", "hooks/hook.py", "hooks/__pycache__/hook.pyc"):
        target = tmp_path / install.IN_THE_PACKAGE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(name)
        records.append(f"../../{install.IN_THE_PACKAGE}/{name}")
    (packages / "memoryd-1.dist-info").mkdir(parents=True)
    (packages / "memoryd-1.dist-info" / "RECORD").write_text("".join(f"{name},,\n" for name in records))
    distribution = importlib.metadata.PathDistribution(packages / "memoryd-1.dist-info")
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: distribution)
    monkeypatch.setattr(memoryd, "__file__", str(packages / "memoryd" / "__init__.py"))
    return packages / "memoryd"


def test_the_files_of_an_installed_package_are_found_and_its_interpreter_is_recorded(installed: Path, tmp_path: Path) -> None:
    source = install.find_source(tmp_path / "home")
    assert source.folder == tmp_path / "home" / "claude-plugin"
    assert source.files == {
        "plugin.json": b"plugin.json",
        "hooks/hook.py": b"hooks/hook.py",
        "interpreter": f"{sys.executable}\n{installed}\n".encode(),
    }


def test_an_environment_that_will_not_last_is_refused(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/cache/uv/archive-v0/x1")
    with pytest.raises(DependencyError, match="temporary") as caught:
        install.find_source(tmp_path)
    assert "uv tool install memoryd" in caught.value.fix


def test_an_installation_without_the_plugins_files_says_how_to_get_them(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "IN_THE_PACKAGE", "share/elsewhere")
    with pytest.raises(DependencyError, match="does not include the plugin's files"):
        install.find_source(tmp_path)
