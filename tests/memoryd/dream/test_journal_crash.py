from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.slow
@pytest.mark.parametrize("what", ["sweep", "undo"])
def test_a_kill_before_any_durable_step_leaves_all_files_before_or_after(tmp_path: Path, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.memoryd.dream.dying", str(tmp_path), what, "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    whole, *kills = [json.loads(line) for line in done.stdout.splitlines()]
    before, after = whole["before"], whole["after"]["files"]
    assert before != after
    assert len(kills) == whole["count"] > 20
    sides = set()
    for kill in kills:
        assert kill["killed"], kill
        assert kill["files"] in (before, after), (kill["fatal"], kill["steps"])
        assert sorted(kill["files"]) == kill["indexed"]
        assert set(kill["steps"]) <= {"done", "rolled back"}
        assert kill["edited"] == []
        assert kill["unfinished"] == []
        if kill["files"] == before and what == "sweep":
            assert kill["times"] == kills[0]["times"], "the foreign file's date, which dates the memory, was lost"
        sides.add("before" if kill["files"] == before else "after")
    assert sides == {"before", "after"}
