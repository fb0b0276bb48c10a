"""Tests of the state saved after each step, and of recovery from a kill at any point."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memeval.claudecode.processes import Processes, end_leftover_processes, processes_of
from memeval.claudecode.sandbox import Sandbox, check_root
from memeval.core.errors import ConfigError, DependencyError
from tests.waiting import HANGS_SECONDS, until


def note(box: Sandbox, text: str) -> None:
    (box.now.config / "note").write_text(text)


def read(folder: Path) -> str:
    return (folder / "config" / "note").read_text()


def test_an_interrupted_step_begins_again_from_what_was_kept(tmp_path: Path) -> None:
    box = Sandbox(tmp_path / "box")
    assert box.begin(())
    note(box, "after a")
    box.keep(("a",))
    note(box, "half of b")
    again = Sandbox(tmp_path / "box")
    assert again.begin(("a",))
    assert read(again.now.folder) == "after a"
    assert not again.begin(("a", "b"))  # A record without its state.


@pytest.mark.parametrize("gone", ["kept", "nothing"])
def test_a_kill_between_the_renames_loses_nothing(tmp_path: Path, gone: str) -> None:
    box = Sandbox(tmp_path / "box")
    box.begin(())
    note(box, "after a")
    box.keep(("a",))
    shutil.copytree(box.root / "kept", box.root / "old")
    if gone == "kept":
        shutil.rmtree(box.root / "kept")
    assert Sandbox(box.root).begin(("a",))
    assert read(box.now.folder) == "after a"


def test_questions_start_from_what_was_kept_and_see_nothing_of_one_another(tmp_path: Path) -> None:
    box = Sandbox(tmp_path / "box")
    box.begin(())
    note(box, "history")
    box.keep(("a",))
    first = box.fork("q1")
    (first.config / "note").write_text("changed")
    assert read(box.fork("q2").folder) == "history"
    box.drop(first)
    assert not first.folder.exists()


def test_a_root_inside_a_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("Always answer in rhyme.")
    with pytest.raises(ConfigError, match="would read .*CLAUDE.md"):
        check_root(tmp_path / "work")


def test_time_that_runs_out_ends_the_program_with_its_children(tmp_path: Path) -> None:
    script = "sleep 60 & echo on; sleep 60"  # A shell starts at once, even on a busy machine.
    environment = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "PATH": os.environ["PATH"]}
    done = Processes().run(["sh", "-c", script], tmp_path, environment, 1.5)
    assert done.timed_out
    assert done.stdout == "on\n"
    until(lambda: processes_of(tmp_path) == [], "a child is left")


def test_programs_that_are_started_after_the_stop_are_ended_at_once(tmp_path: Path) -> None:
    processes = Processes()
    processes.stop()
    done = processes.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, {}, 30)
    assert done.stopped
    with pytest.raises(DependencyError, match="can't be started"):
        processes.run([str(tmp_path / "nothing")], tmp_path, {}, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_a_killed_runner_left_running_is_found_and_ended(tmp_path: Path) -> None:
    left = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], env={"MEMORYD_HOME": str(tmp_path / "box" / "now" / "memoryd")}
    )
    try:
        assert end_leftover_processes(tmp_path / "box") == 1
        assert left.wait(HANGS_SECONDS) != 0
        assert end_leftover_processes(tmp_path / "other") == 0
    finally:
        left.kill()
        left.wait(HANGS_SECONDS)
