"""Runs the README's command exactly as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from memeval.cli.app import build

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
ROW = re.compile(r"^([\w.@]+) +[\d.]+ \[[\d., ]+\] +\d+ +\d+ +\d+ +\d+ +\d+$", re.MULTILINE)


@pytest.mark.slow
def test_the_command_of_the_readme_gives_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BM25's numbers match exactly.

    For memoryd, only rows and counts are compared, because its numbers change with the product.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMEVAL_CACHE", str(tmp_path / "cache"))
    block = re.search(r"^```console\n\$ (memeval eval .*?)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert block is not None
    done = CliRunner().invoke(build(), block[1].split()[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    expected, actual = block[2].partition(".bm25: ")[2], done.output.rpartition(".bm25: ")[2]
    assert [line.split() for line in rows(expected)] == [line.split() for line in rows(actual)]
    assert ROW.findall(block[2]) == ROW.findall(done.output)


def rows(text: str) -> list[str]:
    return [match[0] for match in ROW.finditer(text)]
