"""Tests that sessions can't reach gold answers, and that a session that does is not graded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from memeval.claudecode.arms import find_plugin
from memeval.claudecode.contract import SessionResult, ToolCall
from memeval.claudecode.sandbox import check_apart, contamination, interpreter, outside_path, stage
from memeval.core.errors import ConfigError
from tests.memeval.claudecode.conftest import ROOT


def test_the_staged_plugin_is_what_ships_and_nothing_of_the_platform(tmp_path: Path) -> None:
    staged = stage(find_plugin(None), tmp_path)
    there = {path.relative_to(staged.folder).as_posix() for path in staged.folder.rglob("*") if path.is_file()}
    assert {".claude-plugin/plugin.json", "hooks/hooks.json", "plugin/mcp.json"} <= there
    assert not [name for name in there if name.startswith(("memeval", "tests", "results", ".git/"))]
    assert os.access(staged.folder / "plugin" / "bin" / "memoryd", os.X_OK)
    assert stage(find_plugin(None), tmp_path) == staged


def test_a_changed_plugin_is_another_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / ".claude-plugin").mkdir(parents=True)
        (tmp_path / name / ".claude-plugin" / "plugin.json").write_text(name)
    one, two = (stage(tmp_path / name, tmp_path) for name in ("one", "two"))
    assert one.digest != two.digest and one.folder != two.folder


@pytest.mark.skipif(sys.platform == "win32", reason="there it is no script")
def test_the_interpreter_and_the_path_of_sessions_name_no_folder_of_the_platform(tmp_path: Path) -> None:
    assert Path(interpreter(tmp_path)).parent == tmp_path
    own = str(Path(sys.prefix) / "bin")
    kept = outside_path(os.pathsep.join([own, "/usr/bin"])).split(os.pathsep)
    assert "/usr/bin" in kept
    assert (own in kept) is (sys.prefix == sys.base_prefix)


def test_a_session_that_read_or_listed_gold_is_not_graded(tmp_path: Path) -> None:
    shown = [
        ToolCall("Read", {"file_path": str(tmp_path / "gold.json")}),
        ToolCall("Bash", {"command": "find / -name '*.toml'"}, f"{ROOT}/memeval/data/sample_code/ferry-fees.toml"),
    ]
    for call in shown:
        assert contamination(SessionResult("", tool_calls=(call,)), [tmp_path, None])
    assert not contamination(SessionResult("", tool_calls=(ToolCall("Read", {"file_path": "/else"}, "data"),)), [tmp_path])


def test_data_and_results_among_the_sandboxes_are_refused(tmp_path: Path) -> None:
    check_apart(tmp_path / "work", {"results": tmp_path / "results"})
    with pytest.raises(ConfigError, match="--work-dir"):
        check_apart(tmp_path, {"results": tmp_path / "results"})
