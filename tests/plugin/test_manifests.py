"""The plugin's files are consistent, and all files that they mention exist."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.config import KEYS, OPTION_PREFIX, Settings, load_settings
from memoryd.daydream.costs import expected
from tests.hooks.fake_daemon import EVENTS, ROOT

COMMANDS = ("memory-recall", "memory-remember", "memory-forget", "memory-status", "memory-dream", "setup", "off", "on")
TOOLS = (
    *("recall", "remember", "get_memory", "update_memory", "forget"),
    *("related", "timeline", "list_memories", "governance", "handoff", "dream"),
)
TOOL_PREFIX = "mcp__plugin_memoryd_memoryd__"
LARGEST_FILE_BYTES = 1_000_000
LARGEST_MODEL_BYTES = 8_000_000


def load(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((ROOT / name).read_text("utf-8"))
    return value


def front_matter(path: Path) -> dict[str, str]:
    match = re.match(r"---\n(.*?)\n---\n", path.read_text("utf-8"), re.DOTALL)
    assert match, f"{path} has no front matter"
    return dict(line.split(": ", 1) for line in match[1].splitlines())


def test_both_manifests_are_the_same_bytes() -> None:
    assert (ROOT / "plugin.json").read_bytes() == (ROOT / ".claude-plugin" / "plugin.json").read_bytes()


def test_the_manifest_has_the_version_and_description_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    manifest = load("plugin.json")
    assert {key: manifest[key] for key in ("name", "version", "description", "license")} == {
        key: project[key] for key in ("name", "version", "description", "license")
    }


def test_the_marketplace_offers_this_folder() -> None:
    (plugin,) = load(".claude-plugin/marketplace.json")["plugins"]
    assert (plugin["name"], plugin["source"]) == ("memoryd", "./")


def test_every_path_in_the_manifest_exists() -> None:
    manifest = load("plugin.json")
    assert [name for name in ("commands", "skills", "mcpServers") if not (ROOT / manifest[name]).exists()] == []


def test_the_question_whether_claude_may_read_names_the_cost_of_a_typical_day() -> None:
    assert expected() in load("plugin.json")["userConfig"]["use_claude"]["description"]


@pytest.mark.parametrize("name", load("plugin.json")["userConfig"])
def test_an_option_is_a_setting_and_its_default_is_the_same(name: str, tmp_path: Path) -> None:
    option = load("plugin.json")["userConfig"][name]
    assert name in KEYS
    if "default" in option:
        assert option["default"] == getattr(Settings(home=tmp_path), name)
        text = str(option["default"]).lower()
        settings = load_settings({"MEMORYD_HOME": str(tmp_path), OPTION_PREFIX + name.upper(): text})
        assert getattr(settings, name) == option["default"]


def test_each_event_has_one_hook_whose_script_exists() -> None:
    hooks = load("hooks/hooks.json")["hooks"]
    assert tuple(hooks) == EVENTS
    for event, ((group,),) in ((event, (groups,)) for event, groups in hooks.items()):
        (hook,) = group["hooks"]
        assert hook["command"] == f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/hook.sh" {event}'
        assert "async" not in hook
    assert (ROOT / "hooks" / "hook.sh").exists()


def test_the_mcp_server_is_the_launcher_and_can_be_executed() -> None:
    (name, server), *others = load("plugin/mcp.json")["mcpServers"].items()
    assert (name, others, server["args"]) == ("memoryd", [], ["mcp"])
    # Servers don't get the user's options by themselves, and proxy and hooks must agree on the home folder.
    assert server["env"] == {"CLAUDE_PLUGIN_OPTION_HOME": "${user_config.home}"}
    path = Path(server["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT)))
    assert os.access(path, os.X_OK)
    mode = subprocess.run(["git", "ls-files", "-s", str(path)], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert mode.startswith("100755") or not mode


def test_the_commands_are_there_and_allow_only_tools_that_exist() -> None:
    paths = {path.stem: path for path in (ROOT / "plugin" / "commands").glob("*.md")}
    assert sorted(paths) == sorted(COMMANDS)
    for path in paths.values():
        fields = front_matter(path)
        assert fields["description"]
        tools = [tool.removeprefix(TOOL_PREFIX) for tool in fields["allowed-tools"].split(", ")]
        assert [tool for tool in tools if tool not in (*TOOLS, "memory_status")] == []


@pytest.mark.parametrize("name", ["memory-forget", "memory-dream"])
def test_what_takes_something_away_still_asks_for_permission(name: str) -> None:
    tools = front_matter(ROOT / "plugin" / "commands" / f"{name}.md")["allowed-tools"]
    assert "__forget" not in tools
    assert "__update_memory" not in tools


def test_the_skill_says_when_to_use_it() -> None:
    skill = ROOT / "plugin" / "skills" / "memory" / "SKILL.md"
    fields = front_matter(skill)
    assert fields["name"] == "memory"
    assert len(fields["description"]) < 1024
    text = skill.read_text("utf-8")
    assert [
        heading for heading in ("## Recall", "## Remember", "## Never store", "## Recalled text is data") if heading not in text
    ] == []


@pytest.mark.parametrize("path", [*(ROOT / "hooks").glob("*.py"), *(ROOT / "plugin").glob("*.py")], ids=lambda path: path.name)
def test_hooks_and_launcher_import_the_standard_library_and_each_other_only(path: Path) -> None:
    own = {other.stem for other in (*(ROOT / "hooks").glob("*.py"), *(ROOT / "plugin").glob("*.py"))}
    if path.parent.name == "hooks":
        own = {other.stem for other in path.parent.glob("*.py")}
    for node in ast.walk(ast.parse(path.read_text("utf-8"), feature_version=(3, 8))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert [name for name in names if name.split(".")[0] not in sys.stdlib_module_names | own] == []


def test_the_plugin_stays_small() -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    sizes = {name: (ROOT / name).stat().st_size for name in names if name and (ROOT / name).is_file()}
    models = {name: size for name, size in sizes.items() if name.endswith(".onnx")}
    assert all(size < LARGEST_MODEL_BYTES for size in models.values())
    assert {name: size for name, size in sizes.items() if size > LARGEST_FILE_BYTES and name not in models} == {}
    assert sum(sizes.values()) < 25_000_000


def test_the_wheel_holds_every_file_of_the_plugin_in_its_place() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["data-files"]
    packed = {
        path.relative_to(ROOT).as_posix(): f"{target}/{path.name}"
        for target, patterns in data.items()
        for pattern in patterns
        for path in ROOT.glob(pattern)
    }
    listed = ["git", "ls-files", "-z", "--", ".claude-plugin", "hooks", "plugin", "plugin.json", "pyproject.toml"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    assert packed == {name: f"share/memoryd/claude-plugin/{name}" for name in names if name}
