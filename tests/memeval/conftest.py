"""Fixtures: a results folder with the tiny benchmark, and the command line in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import tests.memeval.fakes as fakes
from memeval.cli.app import build
from memeval.results.files import ResultsDir
from tests.memeval.model_server import ModelServer, running

Invoke = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fakes.write_configs(tmp_path / "configs")
    return tmp_path


@pytest.fixture
def memeval(folder: Path) -> Invoke:
    """Return a function that runs a command. `Result.stdout` and `.stderr` are separate."""

    def invoke(*words: str) -> Result:
        where = [
            "--results-dir",
            str(folder / "results"),
            "--cache-dir",
            str(folder / "cache"),
            "--config-dir",
            str(folder / "configs"),
        ]
        return CliRunner().invoke(build(), [*where, *words], catch_exceptions=False, prog_name="memeval")

    return invoke


@pytest.fixture
def result_of(folder: Path) -> Callable[[str], Any]:
    """Return a function that loads the result of a run by its id."""

    return ResultsDir(folder / "results").load


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a new folder the current one, where `memeval init` and runs put their files."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running() as made:
        yield made
