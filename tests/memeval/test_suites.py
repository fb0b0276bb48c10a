"""Tests of suites: versioned lists of benchmarks that form one table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import ConfigError
from memeval.registry import Catalog
from memeval.report import load_runs
from memeval.report.boards import boards
from memeval.results.files import ResultsDir
from tests.memeval.conftest import Invoke

SUITE = """\
name: mine
version: "{version}"
entries:
  - {{name: short, benchmark: tiny, metric: session.recall_any@5, limit: 2}}
  - {{name: answered, benchmark: tiny, answers: true, metric: f1}}
"""
RUN = ("suite", "mine", "-p", "notes", "none", "-m", "parrot", "--judge", "f1")
Load = Callable[[str], Any]


@pytest.fixture
def write(folder: Path) -> Callable[[str], None]:
    def write(version: str) -> None:
        path = folder / "configs" / "suites" / "mine.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(SUITE.format(version=version))

    write("1")
    return write


def cells(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]


def test_a_suite_runs_every_entry_and_makes_one_table(memeval: Invoke, result_of: Load, write: Callable[[str], None]) -> None:
    done = memeval(*RUN, "--run-id", "g", "--markdown")
    assert done.exit_code == 0, done.output
    head, _, best, other = cells(done.stdout)
    assert head == ["provider", "answering model", "short", "answered", "mean"]
    values = [result_of(f"g.{entry}.notes")["metrics"][metric]["value"] for entry, metric in
              (("short", "session.recall_any@5"), ("answered", "f1"))]  # fmt: skip
    assert best[:2] == ["notes", "parrot"] and best[2].startswith("100.0 (") and other[:3] == ["none", "parrot", "0.0 (0.0–79.3)"]
    assert float(best[-1]) == pytest.approx(50 * sum(values), abs=0.06)
    assert result_of("g.short.notes")["totals"]["total"] == 2 and not result_of("g.short.notes")["models"]["answering"]


def test_the_same_command_does_what_is_missing(memeval: Invoke, write: Callable[[str], None], folder: Path) -> None:
    stopped = memeval(*RUN, "--run-id", "g", "--budget-usd", "0.0025", "--concurrency", "1")
    assert stopped.exit_code == 3
    ledger = folder / "results" / "ledger.jsonl"
    before = ledger.read_text()
    assert before.count("\n") == 2
    assert memeval(*RUN, "--run-id", "g", "--budget-usd", "0.0035", "--concurrency", "1").exit_code == 3, "what was spent counts"
    assert memeval(*RUN, "--run-id", "g").exit_code == 0
    assert ledger.read_text().startswith(before) and ledger.read_text().count("\n") == 4


def test_versions_never_share_a_table_or_a_board(memeval: Invoke, write: Callable[[str], None], folder: Path) -> None:
    assert memeval(*RUN, "--run-id", "first").exit_code == 0
    write("2")
    shown = memeval("suite", "mine")
    assert not shown.stdout and "from another version: mine 1 " in shown.stderr and "no finished run" in shown.stderr
    assert memeval(*RUN, "--run-id", "second").exit_code == 0
    results = ResultsDir(folder / "results")
    for board in boards(load_runs(results, ["first", "second"])):
        assert len({run.run_id.partition(".")[0] for run in board.runs}) == 1
        assert len({run.setting("suite") for run in board.runs}) == 1


def test_a_changed_file_is_another_suite_even_if_its_version_stays(folder: Path, write: Callable[[str], None]) -> None:
    catalog = Catalog.default([folder / "configs"])
    before = catalog.suite("mine").identity
    path = folder / "configs" / "suites" / "mine.yaml"
    path.write_text(path.read_text().replace("limit: 2", "limit: 3"))
    assert catalog.suite("mine").identity != before
    path.write_text(path.read_text().replace("limit: 3", "limit: 2") + "description: said in other words\n")
    assert catalog.suite("mine").identity == before


def test_runs_of_an_entry_with_different_judges_are_not_put_side_by_side(memeval: Invoke, write: Callable[[str], None]) -> None:
    assert memeval("suite", "mine", "-p", "notes", "-m", "parrot", "--judge", "f1").exit_code == 0
    done = memeval("suite", "mine", "-p", "none", "-m", "parrot", "--judge", "exact")
    assert done.exit_code == 1 and "differ in judge" in done.stderr


def test_mistakes_in_a_suite_are_named(memeval: Invoke, write: Callable[[str], None], folder: Path) -> None:
    done = memeval("suite", "mine", "-p", "notes")
    assert done.exit_code == 2 and "requires answers" in done.stderr
    assert "Did you mean mine?" in memeval("suite", "mina").stderr
    path = folder / "configs" / "suites" / "mine.yaml"
    path.write_text(path.read_text().replace("name: answered", "name: short"))
    with pytest.raises(ConfigError, match="the same as an earlier entry"):
        Catalog.default([folder / "configs"]).suite("mine")


def test_the_bundled_suites_name_benchmarks_and_metrics_that_exist() -> None:
    catalog = Catalog.default()
    assert {"quick", "retrieval", "answers"} <= set(catalog.suites())
    for name in catalog.suites():
        for entry in catalog.suite(name).entries:
            levels = catalog.benchmark(entry.benchmark).retrieval.levels
            assert not entry.metric or entry.metric == "precisionmembench_pass" or entry.metric.partition(".")[0] in levels
