"""Single parts that differ on Windows: quoting, paths, remotes, and files that another process holds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memoryd.cli.install import without_shell
from memoryd.clients.base import Product, System, powershell_quoted
from memoryd.clients.codex import Codex
from memoryd.clients.gemini import Gemini
from memoryd.clients.mcp_clients import VSCode
from memoryd.core import files
from memoryd.core.project import normalise_remote
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.evaluate import relative

HOOKS = Path(__file__).parents[2] / "hooks"
PYTHON = "C:\\Program Files\\Python\\python.exe"
PRODUCT = Product(cast("Path", PureWindowsPath("C:\\Users\\Jo O'Neil\\memoryd")), Path("D:\\mem"), PYTHON)
WINDOWS = System(Path("home"), {}, lambda _name: None, windows=True)
QUOTES = "'\u2018\u2019\u201a\u201b"


def literals(command: str) -> list[str]:
    """Return the single-quoted literals of a PowerShell command, as its parser reads them."""
    found, at = [], 0
    while at < len(command):
        if command[at] not in QUOTES:
            at += 1
            continue
        text, at = "", at + 1
        while command[at] not in QUOTES or command[at + 1 : at + 2] and command[at + 1] in QUOTES:
            at += command[at] in QUOTES
            text, at = text + command[at], at + 1
        found.append(text)
        at += 1
    return found


@given(st.text(alphabet=st.sampled_from([*QUOTES, '"', "$", "`", "\\", "a", " ", "%", "&"])))
def test_powershell_reads_any_text_as_it_was(text: str) -> None:
    assert literals(f"& {powershell_quoted(text)} x") == [text]


def test_hooks_and_the_server_run_python_where_there_is_no_shell() -> None:
    hooks, config = Codex().changes(WINDOWS, PRODUCT)
    group = json.loads(hooks.edit(None) or b"")["hooks"]["Stop"][0]
    script = "C:\\Users\\Jo O'Neil\\memoryd\\hooks\\hook.py"
    assert literals(group["hooks"][0]["command"]) == ["codex", "D:\\mem", script, PYTHON, script]
    server = ["-I", "-S", "C:\\Users\\Jo O'Neil\\memoryd\\plugin\\stdio_proxy.py"]
    entry = tomllib.loads((config.edit(b"a = 1\r\n") or b"").decode())["mcp_servers"]["memoryd"]
    assert (entry["command"], entry["args"], entry["env"]) == (PYTHON, server, {"MEMORYD_HOME": "D:\\mem"})
    manifest = json.loads(Gemini().changes(WINDOWS, PRODUCT)[0].edit(None) or b"")
    assert manifest["mcpServers"]["memoryd"]["args"] == server
    plugin = (HOOKS.parent / "plugin" / "mcp.json").read_bytes()
    installed = json.loads(without_shell(plugin, PYTHON))["mcpServers"]["memoryd"]
    assert installed["command"] == PYTHON and installed["env"] == json.loads(plugin)["mcpServers"]["memoryd"]["env"]
    settings = VSCode().changes(replace(WINDOWS, env={"APPDATA": "roaming"}), PRODUCT)[0]
    assert settings.path.parts[0] == "roaming" and json.loads(settings.edit(None) or b"")["servers"]["memoryd"]["args"] == server


@pytest.mark.parametrize(
    ("path", "cwd", "root", "expected"),
    [
        ("C:\\work\\shop\\secrets\\a.txt", "C:\\work\\shop\\src", "C:\\work\\shop", "secrets/a.txt"),
        ("..\\secrets\\a.txt", "C:\\work\\shop\\src", "c:/work/shop", "secrets/a.txt"),
        ("/c/work/shop/a.txt", "C:\\work\\shop", "C:\\work\\shop", "a.txt"),  # as Git Bash writes it
        ("D:\\a.txt", "C:\\work\\shop", "C:\\work\\shop", "/d/a.txt"),
        ("a\\b.txt", "/work/shop", "/work/shop", "a\\b.txt"),  # a name on other systems
    ],
)
def test_rules_about_paths_hold_for_those_of_windows(path: str, cwd: str, root: str, expected: str) -> None:
    assert relative(path, ToolCall("Write", {}, cwd=cwd, root=root)) == expected


def test_a_drive_is_no_host_of_a_remote() -> None:
    assert normalise_remote("C:\\repos\\shop.git") == "C:\\repos\\shop"
    assert normalise_remote("git@c:repos/shop.git") == "c/repos/shop"


def test_a_file_that_another_process_reads_is_replaced_when_it_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, refusals = tmp_path / "a", [PermissionError(13, "in use")] * 2
    target.write_bytes(b"old")
    real = Path.replace

    def replace_file(self: Path, other: Path) -> Path:
        if refusals:
            raise refusals.pop()
        return real(self, other)

    monkeypatch.setattr(Path, "replace", replace_file)
    monkeypatch.setattr(files, "sync_dir", lambda _path: None)
    monkeypatch.setattr(sys, "platform", "win32")
    files.write_atomic(target, b"new")
    assert target.read_bytes() == b"new" and os.listdir(tmp_path) == ["a"]


def test_the_wrapper_finds_its_script_below_a_path_of_windows(tmp_path: Path) -> None:
    folder = tmp_path / "C:\\Users\\Jo O'Neil\\memoryd"  # one folder here, with a name that Git Bash would pass on
    (folder / "hooks").mkdir(parents=True)
    shutil.copy(HOOKS / "hook.sh", folder / "hooks")
    (folder / "hooks" / "hook.py").write_text("import os, sys; print(sys.argv[1:], os.environ['MEMORYD_CLIENT'])\n")
    product, system = Product(folder), System(tmp_path, {}, lambda _name: None, windows=False)
    environment: dict[str, Any] = os.environ | {"MEMORYD_PYTHON": sys.executable}
    command = product.hook_command(system, "codex", "Stop")
    assert subprocess.run(["sh", "-c", command], env=environment, capture_output=True).stdout == b"['Stop'] codex\n"
    shutil.rmtree(folder)  # memoryd was deleted: the hook must not block the session
    assert subprocess.run(["sh", "-c", command], env=environment).returncode == 0


def test_the_workflow_runs_the_tests_on_three_systems() -> None:
    workflow = yaml.safe_load((HOOKS.parent / ".github" / "workflows" / "systems.yml").read_text("utf-8"))
    job = workflow["jobs"]["tests"]
    assert {system.partition("-")[0] for system in job["strategy"]["matrix"]["system"]} == {"ubuntu", "macos", "windows"}
    named = [word for step in job["steps"] for word in step.get("run", "").split() if word.startswith("tests/")]
    assert named and all((HOOKS.parent / word).exists() for word in named)
