"""Tests of the run from which a primed arm takes its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from memeval.claudecode.contract import Arm
from memeval.claudecode.seeding import source_cell
from memeval.core.errors import ConfigError
from memeval.results.files import ResultsDir
from memeval.run.checkpoint import Run
from memeval.run.settings import Settings


def test_memory_comes_from_the_same_arm_and_where_there_is_one_from_the_same_benchmark(tmp_path: Path) -> None:
    results = ResultsDir(tmp_path)
    for benchmark in ("a", "b"):
        for arm in ("off", "plugin"):
            Run.create(results, f"g.{benchmark}.{arm}", Settings(benchmark, "x"), {"claudecode": {"arm": arm}}).close()
    assert source_cell(results, "g", "b", Arm.PLUGIN) == "g.b.plugin"
    assert source_cell(results, "g", "c", Arm.PLUGIN) == "g.a.plugin"
    assert source_cell(results, "g.b.plugin", "a", Arm.PLUGIN) == "g.b.plugin"
    with pytest.raises(ConfigError, match="no arm builtin"):
        source_cell(results, "g", "a", Arm.BUILTIN)
