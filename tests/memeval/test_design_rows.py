"""Runs the command of each row of the table in docs/design/memeval.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design" / "memeval.md"


def rows() -> list[str]:
    table = PAGE.read_text("utf-8").partition("| row | command |")[2].partition("\n#")[0]
    cells = (line.rsplit(" | ", 1)[-1] for line in table.splitlines() if line.startswith("| "))
    return [match[1] for cell in cells if "npx" not in cell and (match := re.match(r"`(.+)`", cell))]


@pytest.mark.slow
def test_every_command_of_the_table_runs_in_an_empty_folder(tmp_path: Path) -> None:
    commands = rows()
    assert len(commands) > 20
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": places, "HOME": str(tmp_path), "MEMEVAL_CACHE": str(tmp_path / "cache")}
    failed = []
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode:
            failed.append(f"{command}: {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    assert not failed, "\n\n".join(failed)
